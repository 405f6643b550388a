"""Records: appended by many at once, each run once; damaged lines are passed over and named."""

import json
import multiprocessing
import os
import subprocess
import sys

import pytest

from paralesn.files import DamagedFileWarning
from paralesn.paper import fields, protocols, records, runs, strict_json
from paralesn.paper.configurations import shipped
from paralesn.paper.studies import record_checks
from stored_records import complexity, race, run, sensitivity


def _write_many(path, writer):
    for i in range(50):
        records.append(path, {"writer": writer, "i": i, "padding": "x" * 5000})


@pytest.mark.slow
def test_many_writers_spoil_no_record(tmp_path):
    path = tmp_path / "records.jsonl"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(path, w)) for w in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = {(record["writer"], record["i"]) for record in records.read(path)}
    assert found == {(w, i) for w in range(4) for i in range(50)}


def test_an_unfinished_line_spoils_no_other(tmp_path):
    path = tmp_path / "records.jsonl"
    records.append(path, {"i": 0})
    with path.open("a") as file:
        file.write('{"i": 1, "half')  # a writer was killed here
    records.append(path, {"i": 2})
    with pytest.warns(DamagedFileWarning, match="line 2 is not JSON"):
        assert [record["i"] for record in records.read(path)] == [0, 2]
    assert list(records.read(tmp_path / "none.jsonl")) == []


def test_a_ledger_adds_each_key_once_whatever_others_do_to_the_file(tmp_path):
    path = tmp_path / "records.jsonl"
    ours, theirs = (records.Ledger(path, lambda run: run.get("key")) for _ in range(2))
    assert ours.add({"key": "a", "by": 1}) == theirs.add({"key": "a", "by": 2})
    with path.open("a") as file:
        file.write('{"key": "b", "by": 3')  # a writer was killed here
    with pytest.warns(DamagedFileWarning, match="line 2 was not written to its end"):
        assert theirs.add({"key": "b", "by": 2})["by"] == 2
    records.append(path, {"of": "no concern"})
    with pytest.warns(DamagedFileWarning, match="line 2 is not JSON"):
        assert ours.add({"key": "b", "by": 1})["by"] == 2
    with pytest.warns(DamagedFileWarning, match="line 2 is not JSON"):
        assert [run.get("key") for run in records.read(path)] == ["a", "b", None]
    path.write_text("")  # somebody begins anew
    assert ours.add({"key": "b", "by": 1})["by"] == 1
    assert records.Ledger(path, lambda run: run["key"]).records == {"b": {"key": "b", "by": 1}}


# -- damaged lines -----------------------------------------------------------------------------------

DAMAGED = {
    b'{"i": 1, "text": "\xff"}': "is not UTF-8 at byte 19",
    b'{"i": 1': "is not JSON from character 8 on",
    b"[1]": "is no JSON object",
    b"1": "is no JSON object",
    b'{"i": NaN}': "has NaN",
    b'{"i": -Infinity}': "has -Infinity",
    b'{"i": 1e999}': "has a number beyond a double, '1e999'",
    b'{"i": 1%s}' % (b"0" * 400): "has a number beyond a double, of 401 digits",
    b'{"i": 1, "i": 2}': "has the key 'i' twice",
    b'{"i": %s1%s}' % (b"[" * 60, b"]" * 60): "is nested more than 50 deep",
    b'{"i": %s1%s}' % (b"[" * 10**5, b"]" * 10**5): "is nested more than 50 deep",
    b'{"i": "\\ud800"}': "has text with half a surrogate pair",
    b"\0" * 100: "is not JSON from character 1 on",
}


@pytest.mark.parametrize(("line", "reason"), DAMAGED.items(), ids=list(DAMAGED.values()))
def test_a_damaged_line_costs_no_other_and_is_named(line, reason, tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"i": 0}\n\r\n' + line + b'\n{"i": 2}\n')
    with pytest.warns(DamagedFileWarning) as warned:
        assert [record["i"] for record in records.read(path)] == [0, 2]
    assert [str(one.message) for one in warned] == [f"{path}, passed over: line 3 {reason}"] or (
        f"line 3 {reason}" in str(warned[0].message)
    )
    with pytest.warns(DamagedFileWarning, match="line 3"):
        ledger = records.Ledger(path, lambda record: str(record["i"]))
    assert list(ledger.records) == ["0", "2"]
    ledger.add({"i": 3})  # the line is not told about again
    assert list(ledger.records) == ["0", "2", "3"]


def test_what_only_looks_like_the_end_of_a_line_is_text(tmp_path):
    path = tmp_path / "records.jsonl"
    texts = [chr(code) for code in (0x0B, 0x0C, 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029)]
    lines = [
        json.dumps({"i": i, "text": f"a{t}b"}, ensure_ascii=False) for i, t in enumerate(texts)
    ]
    loose = [line for line in lines if strict_json_takes(line)]
    assert len(loose) >= 3  # U+0085, U+2028, U+2029; below U+0020 JSON escapes
    path.write_text("\n".join(loose), encoding="utf-8")
    assert [record["i"] for record in records.read(path)] == [json.loads(one)["i"] for one in loose]


def strict_json_takes(line):
    try:
        return bool(strict_json.parse(line.encode()))
    except ValueError:
        return False


def test_a_record_whose_end_of_line_is_missing_counts_once(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"i": 0}\n{"i": 1}')
    ledger = records.Ledger(path, lambda record: str(record["i"]))
    assert list(ledger.records) == ["0", "1"]
    ledger.add({"i": 1})
    ledger.add({"i": 2})
    assert [record["i"] for record in records.read(path)] == [0, 1, 2]


def test_only_some_of_many_damaged_lines_are_told(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"damaged\n" * 100)
    with pytest.warns(DamagedFileWarning, match="line 5 is not JSON .*; and 95 more"):
        assert records.read(path) == []


def test_what_cannot_be_read_again_is_not_recorded(tmp_path):
    path = tmp_path / "records.jsonl"
    for wrong in (float("nan"), float("inf"), 10**400, "\ud800"):
        with pytest.raises(ValueError, match="a record must be JSON, got one that has"):
            records.append(path, {"i": wrong})
    assert not path.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs on this system")
def test_files_without_end_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ValueError, match="records must be in files"):
            records.read(path)
        with pytest.raises(ValueError, match="records must be in files"):
            runs.known(path)


# -- records that are not whole ----------------------------------------------------------------------

WHOLE = run(shipped("narma10", "ParalESN", "paper"), 0, 0.5)
INCOMPLETE = {
    "is without metrics": {"metrics": None},
    "is without task, seed": {"task": None, "seed": None},
    "has 'first' for seed": {"seed": "first"},
    "has True for seed": {"seed": True},
    "has [] for metrics, expected an object of numbers": {"metrics": []},
    "has {'nrmse': '1'} for metrics": {"metrics": {"nrmse": "1"}},
    "has {'nrmse': 1e+200} for metrics": {"metrics": {"nrmse": 1e200}},
    "has no 'nrmse' among its metrics": {"metrics": {"mse": 1.0}},
    "has 0 for seconds, expected a positive number": {"seconds": 0},
    "has 'fast' for configuration": {"configuration": "fast"},
    "has {'python': 3} for versions": {"versions": {"python": 3}},
    "has 'much' for energy": {"energy": "much"},
    "is without kind": {"kind": 7},
}


@pytest.mark.parametrize(("reason", "change"), INCOMPLETE.items(), ids=list(INCOMPLETE))
def test_a_run_that_is_not_whole_does_not_count_and_is_named(reason, change, tmp_path):
    damaged = {name: value for name, value in (WHOLE | change).items() if value is not None}
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(damaged) + "\n" + json.dumps(WHOLE) + "\n")
    with pytest.warns(DamagedFileWarning) as warned:
        assert list(runs.known(path).values()) == [WHOLE]
    (one,) = warned
    assert f"line 1 {reason}" in str(one.message)


def test_what_is_recorded_is_whole(tmp_path):
    """The check of what is read is no stricter than what protocols record."""
    for kind in ("classification", "regression"):
        assert protocols.of_kind(kind).problem(WHOLE | {"kind": kind}) is None
    ledger = records.Ledger(tmp_path / "new.jsonl", lambda record: "one", runs.problem)
    with pytest.raises(ValueError, match="a record must be whole, got one that is without seed"):
        ledger.add({name: value for name, value in WHOLE.items() if name != "seed"})


def test_damaged_parts_of_studies_are_passed_over():
    measured = complexity()
    assert record_checks.experiment(measured) == (measured, [])
    spoiled = complexity()
    del spoiled["measurements"][3]["units"]
    spoiled["measurements"][-1]["limit_bytes"] = "much"
    intact, reasons = record_checks.experiment(spoiled)
    assert intact["measurements"] == [
        one for one in measured["measurements"][:-1] if one != measured["measurements"][3]
    ]
    assert reasons[0] == "measurement 4 is without units"
    assert "'much' for limit_bytes" in reasons[1]
    assert record_checks.experiment(measured | {"machine": None}) == (
        None, ["it is without machine"],
    )  # fmt: skip
    assert record_checks.experiment(sensitivity() | {"task": "nonesuch"})[0] is None
    assert record_checks.experiment({"experiment": "of another"})[0] == {"experiment": "of another"}
    first, _ = race()
    assert record_checks.race(first) is None
    assert record_checks.race(first | {"points": []}).startswith("has [] for points")
    settings = {"settings": {**first["settings"], "threads": "all"}}
    assert "'all' for threads" in record_checks.race(first | settings)


def test_long_values_are_shortened():
    problem = fields.problem_of({"seed": "x" * 1000}, ["seed"])
    assert len(problem) < 150


# -- several commands at once ------------------------------------------------------------------------


@pytest.mark.slow
def test_two_commands_at_once_record_each_run_once(tmp_path):
    command = [
        sys.executable, "-m", "paralesn", "reproduce", "mg", "sinmem10", "--models", "SCR",
        "--seeds", "3", "--jobs", "1", "--out", str(tmp_path),
    ]  # fmt: skip
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    for one in both:
        told, _ = one.communicate(timeout=300)
        assert one.returncode == 0, told
    keys = [runs.identity(record) for record in records.read(tmp_path / "records.jsonl")]
    assert len(keys) == len(set(keys)) >= 6
    (result, *_) = json.loads((tmp_path / "results.json").read_text())
    assert result["seeds"] == 3


def test_races_at_once_record_each_model_once(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from paralesn.paper.studies import race as racing

    (recorded, _), settings = race(), racing.Settings()
    (wanted,) = racing.plan(["smnist"], [racing.OURS], settings)
    outcome = {name: recorded[name] for name in recorded if name not in wanted}

    def while_another_is_quicker(*_):
        records.append(tmp_path / "race.jsonl", wanted | outcome | {"seconds": 1.0})
        return outcome

    monkeypatch.setattr(racing, "digits", lambda task, settings: None)
    monkeypatch.setattr(racing, "_ours", while_another_is_quicker)
    (found,) = racing.race(["smnist"], [racing.OURS], settings, tmp_path)
    assert found["seconds"] == 1.0
    assert len(records.read(tmp_path / "race.jsonl")) == 1

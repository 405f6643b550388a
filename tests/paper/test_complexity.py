"""Measured complexity: fits, counts, taking up earlier measurements, running out of memory."""

import io
import json
import os
import platform
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from paralesn import files
from paralesn.cli import app
from paralesn.paper.studies import (
    complexity,
    complexity_child,
    complexity_digits,
    complexity_report,
    complexity_table,
)
from paralesn.paper.studies.complexity import Settings, collect, ladder, tasks
from paralesn.paper.studies.complexity_fits import curve, fit_exponent, out_of_memory
from paralesn.paper.studies.complexity_models import MODELS
from paralesn.paper.studies.complexity_words import seconds as seconds_in_words
from paralesn.paper.studies.complexity_words import size as size_in_words

SMALL = Settings((8, 16), (8, 16), (), (100, 200), (8, 16), rounds=2)


def invented(task, wanted):
    """Measurements that follow the paper exactly, besides what any call costs."""
    model, units, rounds = MODELS[task["model"]], task["units"], wanted.rounds
    if task["kind"] == "digits":
        needed = complexity_digits.needed_bytes(model.kind, units)
        seconds = 1e-6 * float(model.cost(np.float64(units)))
        return {"digits": 10, "steps": 784, "needed_bytes": needed, "limit_bytes": wanted.limit} | (
            {"out_of_memory": True} if needed > wanted.limit
            else {"out_of_memory": False, "seconds": [seconds], "peak_bytes": 2 * needed}
        )  # fmt: skip
    if task["kind"] == "parameters":
        return {"parameters": 7}
    if task["kind"] == "length":
        return {"seconds": [1e-5 * task["steps"]] * rounds}
    if task["kind"] == "matrix":
        full = units > 32
        return {"matrix_bytes": 8 * units**2, "limit_bytes": 10_000, "out_of_memory": full}
    seconds = 1e-9 * float(model.cost(np.float64(units)))
    memory = {"peak_bytes": 50 * units, "parameter_bytes": 40 * units, "matrix_bytes": 8 * units**2}
    memory |= {"round_steps": 64, "parameters": units**2 if model.kind == "ESN" else 2 * units}
    memory["recurrence_bytes"] = 8e5 * units
    return memory | {"seconds_per_step": [seconds] * rounds, "out_of_memory": False}


@pytest.fixture
def calls(monkeypatch):
    """Replace what measures; the tasks it was given."""
    seen = []

    def measure(task, wanted):
        seen.append(task)
        return invented(task, wanted)

    monkeypatch.setattr(complexity, "measure", measure)
    return seen


# -- fits and counts -----------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [0.0, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("count", [2, 3, 6, 7, 9])
def test_a_known_exponent_is_found_beyond_the_overhead(exponent, count):
    sizes = [128 * 2**i for i in range(count)]
    times = [3e-7 * n**exponent for n in sizes]
    for i in range(count // 2 if count > 2 else 0):
        times[i] += 1e3  # in the smaller half anything may happen
    shuffled = np.random.default_rng(0).permutation(count)
    fit = fit_exponent(np.take(sizes, shuffled), np.take(times, shuffled))
    assert fit.exponent == pytest.approx(exponent, abs=1e-9)
    assert (fit.low, fit.high) == (sizes[count // 2 if count > 2 else 0], sizes[-1])


def test_noise_is_averaged_over(rng):
    sizes = 2.0 ** np.arange(7, 27)
    fit = fit_exponent(sizes, sizes * np.exp(0.1 * rng.normal(size=sizes.size)))
    assert fit.exponent == pytest.approx(1, abs=0.05)


def test_one_size_has_no_exponent():
    assert fit_exponent([128], [1.0]) is None


def test_ladders():
    assert ladder(128, 2, 8192) == (128, 256, 512, 1024, 2048, 4096, 8192)
    assert ladder(128, 4, 131_072) == (128, 512, 2048, 8192, 32_768, 131_072)
    assert ladder(100, 10**0.5, 1000) == (100, 316, 1000)
    assert ladder(128, 2, 300) == (128, 256)
    assert ladder(128, 2, 3) == (3,)


def test_counted_parameters_are_the_closed_forms():
    n, deep = 40, 4  # layers after the first
    expected = {
        "ESN": n * n + n,
        "ESN (deep)": n * n + n + deep * 2 * n * n,
        "SCR": 1 + n,
        "Structured RC": 3 * 64 + 1 + n,  # signs are padded to a power of two
        "ParalESN": 2 * n,
        "ParalESN (deep)": 2 * n + deep * 2 * n,
    }
    for name, count in expected.items():
        found = complexity.measure({"kind": "parameters", "model": name, "units": n}, SMALL)
        assert found == {"parameters": count}, name


def test_bytes_of_drawn_arrays():
    (layer,) = complexity_child.KINDS["ESN"](units=20).fit(np.zeros((1, 1))).layers_
    assert complexity_child.held_bytes(layer) == 8 * (20 * 20 + 20 + 20)


# -- the record ----------------------------------------------------------------------------------


def test_a_second_run_measures_nothing_again(calls, tmp_path):
    path = tmp_path / "complexity.json"
    first, taken = collect(SMALL, path)
    assert calls == tasks(SMALL)
    assert taken == 0
    calls.clear()
    second, taken = collect(SMALL, path)
    assert calls == []
    assert taken == len(tasks(SMALL))
    assert second == first == json.loads(path.read_text())
    assert collect(SMALL, path, fresh=True)[1] == 0
    assert calls == tasks(SMALL)


def test_more_sizes_are_added_and_none_are_lost(calls, tmp_path):
    path = tmp_path / "complexity.json"
    collect(SMALL, path)
    calls.clear()
    more = Settings((8, 16, 32), (8,), (), (100,), (8,), 2)
    record, _ = collect(more, path)
    assert calls == [{"kind": "size", "model": "ESN", "units": 32}]
    assert len(record["measurements"]) == len(tasks(SMALL)) + 1


OTHERWISE = {
    "versions": {"python": "other"},
    "machine": {"cores": 99},
    "rounds": 9,
    "limit_bytes": 9,
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_measurements_made_otherwise_do_not_count(name, calls, tmp_path):
    path = tmp_path / "complexity.json"
    record, _ = collect(SMALL, path)
    path.write_text(json.dumps(record | {name: OTHERWISE[name]}))
    assert collect(SMALL, path)[1] == 0


def test_an_interrupted_run_leaves_what_it_finished(monkeypatch, calls, tmp_path):
    path, measure = tmp_path / "complexity.json", complexity.measure

    def interrupted(task, wanted):
        if len(calls) == 5:
            raise KeyboardInterrupt
        return measure(task, wanted)

    with monkeypatch.context() as patch:
        patch.setattr(complexity, "measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            collect(SMALL, path)
    assert os.listdir(tmp_path) == ["complexity.json"]
    assert len(json.loads(path.read_text())["measurements"]) == 5
    assert collect(SMALL, path)[1] == 5
    assert calls == tasks(SMALL)


def test_nothing_half_written_takes_a_files_place(tmp_path):
    path = tmp_path / "x.json"
    files.save_json([1], path)

    def fail():
        with files.replacing(path) as unfinished:
            unfinished.write_text("[1, 2")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert os.listdir(tmp_path) == ["x.json"]
    assert json.loads(path.read_text()) == [1]


def test_the_record_names_neither_host_nor_folder(calls, tmp_path):
    collect(SMALL, tmp_path / "complexity.json")
    text = (tmp_path / "complexity.json").read_text()
    for secret in (platform.node(), str(tmp_path), sys.prefix, os.path.expanduser("~")):
        assert f'"{secret}' not in text


# -- running out of memory -----------------------------------------------------------------------

needs_proc = pytest.mark.skipif(
    complexity_child.available_bytes() is None, reason="needs Linux to limit memory"
)


@pytest.mark.slow
@needs_proc
def test_a_reservoir_that_does_not_fit_is_found_not_to():
    work = {"kind": "ESN", "units": 700, "rounds": 1}  # 3.9 MB of weights
    assert complexity_child.in_a_child(work, 1_000_000) == {"out_of_memory": True}
    fits = complexity_child.in_a_child(work, 1_000_000_000)
    assert not fits["out_of_memory"]
    assert fits["parameter_bytes"] == 8 * 700 * 702
    assert 8 * 700**2 < fits["peak_bytes"] < 20 * 8 * 700**2
    assert len(fits["seconds_per_step"]) == 1
    assert fits["parameters"] == 700 * 701
    assert fits["recurrence_bytes"] is None or 8 * 700**2 < fits["recurrence_bytes"] < 5e7


@pytest.mark.slow
@needs_proc
def test_a_mere_matrix_needs_its_bytes():
    tried = {
        size: complexity_child.in_a_child({"bytes": size}, 100_000_000)["out_of_memory"]
        for size in (50_000_000, 150_000_000)
    }
    assert tried == {50_000_000: False, 150_000_000: True}


@pytest.mark.slow
def test_another_failure_is_an_error():
    with pytest.raises(RuntimeError, match="units must be"):
        complexity_child.in_a_child({"kind": "ESN", "units": -1, "rounds": 1}, None)


def test_beyond_the_first_that_ran_out_none_is_tried(calls, tmp_path):
    wanted = Settings((8,), (8,), (16, 32, 64, 128), (100,), (8,), 1)
    record, _ = collect(wanted, tmp_path / "complexity.json")
    assert [task["units"] for task in calls if task["kind"] == "matrix"] == [16, 32, 64]
    assert out_of_memory(record)["units"] == 64
    assert out_of_memory(record, kinds=("digits",)) is None


# -- digits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ESN", "ParalESN"])
@pytest.mark.parametrize("units", [64, 300])
def test_the_estimate_is_what_is_held(kind, units):
    layers = complexity_child.drawn(kind, units).layers_
    held = sum(map(complexity_child.held_bytes, layers)) + 8 * complexity_digits.DIGITS * units
    assert complexity_digits.needed_bytes(kind, units) == pytest.approx(held, rel=0.01)


def test_what_cannot_fit_is_not_tried(monkeypatch):
    monkeypatch.setattr(complexity_digits, "in_a_child", None)  # would fail
    found = complexity_digits.measure("ESN", 100_000, "random", 1, 8 << 30)
    assert found["out_of_memory"]
    assert found["needed_bytes"] > 8e10  # as the paper says of 100 K neurons
    assert found["limit_bytes"] <= 8 << 30


@pytest.mark.slow
@needs_proc
def test_a_child_reads_the_batch_within_its_limit():
    fits = complexity_digits.measure("ParalESN", 2_000, "random", 2, 1 << 30)
    assert not fits["out_of_memory"]
    assert len(fits["seconds"]) == 2
    assert fits["peak_bytes"] > fits["parameter_bytes"] == 48 * 2_000 + 48
    needed = complexity_digits.needed_bytes("ParalESN", 1 << 18)
    full = complexity_digits.measure("ParalESN", 1 << 18, "random", 1, needed + 1000)
    assert full["out_of_memory"]  # the estimate lets it pass, the process does not


def test_curves_end_where_memory_does(calls, tmp_path):
    wanted = Settings((8,), (8,), (), (100,), (8, 32, 128, 512), 1, limit=100_000)
    record, _ = collect(wanted, tmp_path / "complexity.json")
    assert list(curve(record, "digits", "ESN", "units", "seconds")) == [8, 32]
    assert out_of_memory(record, "ESN", ("digits",))["units"] == 128
    assert list(curve(record, "digits", "ParalESN", "units", "seconds")) == [8, 32, 128, 512]
    assert out_of_memory(record, "ParalESN", ("digits",)) is None
    assert record["limit_bytes"] == 100_000


def test_after_a_long_run_only_what_cannot_fit_is_noted():
    slow = [{"kind": "digits", "units": 128, "seconds": [400.0]}]
    assert complexity_digits.is_pointless("ESN", 512, slow, 8 << 30, 300.0)
    assert not complexity_digits.is_pointless("ESN", 1 << 17, slow, 8 << 30, 300.0)
    assert not complexity_digits.is_pointless("ESN", 512, slow, 8 << 30, 500.0)


def test_other_digits_are_read_anew_and_nothing_else(calls, tmp_path):
    path = tmp_path / "complexity.json"
    collect(SMALL, path)
    calls.clear()
    collect(replace(SMALL, series="random"), path)
    assert {task["kind"] for task in calls} == {"digits"}
    assert {task["series"] for task in calls} == {"random"}


def test_random_series_are_as_long_as_digits():
    x = complexity_digits.batch("random")
    assert x.shape == (complexity_digits.DIGITS, 784, 1)
    assert 0 <= x.min() < 0.01 < 0.99 < x.max() <= 1


def test_the_batch_holds_digits():
    if not complexity_digits.at_hand():
        pytest.skip("needs the files of MNIST")
    x = complexity_digits.batch("mnist")
    assert x.shape == (complexity_digits.DIGITS, 784, 1)
    assert x[:, :28].sum() == 0  # margins are empty
    assert x.max() == pytest.approx(1)


# -- tables and the command ----------------------------------------------------------------------


STEPS = "Time per step by reservoir size"


def test_the_papers_table_has_claims_beside_measurements(calls, tmp_path):
    sizes = tuple(1024 * 4**i for i in range(4))
    wanted = Settings(sizes[:2], sizes, (), (100, 1000), (8,), 1)
    record, _ = collect(wanted, tmp_path / "complexity.json")
    rows = {claim.model: claim for claim in complexity_table.claims(record)}
    assert list(rows) == ["ESN", "SCR", "Structured RC", "ParalESN"]
    assert complexity_table.time_row(rows["ESN"])[1:] == ["O(N^2)", "N^2.00", "O(T N^2)", "T^1.00"]
    assert complexity_table.time_row(rows["ParalESN"])[3] == "O(N log T)"
    assert complexity_table.space_row(rows["ParalESN"]) == [
        "ParalESN", "O(N)", "N^1.00", "7", "O(TN)", "52.4 GB at 65,536 units",
    ]  # fmt: skip
    assert complexity_table.space_row(rows["ESN"])[2] == "N^2.00"
    few = {"measurements": [{"kind": "size", "model": "SCR", "units": 8, "recurrence_bytes": 9}]}
    (row,) = complexity_table.claims(few)
    assert complexity_table.space_row(row)[2:] == ["-", "-", "O(TN)", "< 100 kB at 8 units"]


def test_tables_show_exponents_beside_claims(calls, tmp_path):
    sizes = tuple(128 * 4**i for i in range(6))
    wanted = Settings(sizes[:4], sizes, (16, 64), (100, 1000, 10_000), sizes, 3, limit=10**9)
    record, _ = collect(wanted, tmp_path / "complexity.json")
    console, text, lines = Console(width=200, file=io.StringIO()), [], []
    for table in complexity_report.tables(record, taken=3):
        with console.capture() as shown:
            console.print(table)
        text.append(" ".join(shown.get().split()))
        lines.append(shown.get().splitlines())
    by_title = {table.title: i for i, table in enumerate(complexity_report.tables(record))}
    cells = [line.split("│")[1:-1] for line in lines[by_title[STEPS]] if "│" in line]
    rows = {row[0].strip(): row[1:] for row in cells}
    assert [cell.strip() for cell in rows["exponent"]] == ["2.00", "1.00", "1.10", "1.00"]
    assert rows["as exponent"] == rows["exponent"]
    assert "8192-131072" in rows["fitted over"][3]
    assert "T / log T processors" in text[by_title["Time of a series by its length, 128 units"]]
    assert "out of memory" in text[by_title["Peak memory (and drawn arrays) by reservoir size"]]
    assert (
        "out of memory (8.59G)" in text[by_title["Time and peak memory of 10 digits of 784 pixels"]]
    )
    assert all("3 of" in part for part in text)


def test_seconds_and_sizes_are_readable():
    assert seconds_in_words(1.2345e-5) == "12.3 us"
    assert seconds_in_words(0.9999) == "1 s"
    assert seconds_in_words(123.4) == "123 s"
    assert size_in_words(34_359_738_368) == "34.4G"
    assert size_in_words(17) == "17"


@pytest.mark.slow
def test_the_command_measures_prints_and_draws(tmp_path):
    pytest.importorskip("matplotlib")
    call = ["complexity", "--quick", "--random-digits", "--out", str(tmp_path / "new")]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    assert "9,438,208" in result.output
    assert "earlier run" not in result.output
    record = complexity.read(tmp_path / "new" / "complexity.json")
    pictures = ["complexity-digits.png", "complexity.png"]
    assert sorted(os.listdir(tmp_path / "new")) == sorted(["complexity.json", *pictures])
    for name in pictures:
        assert (tmp_path / "new" / name).read_bytes().startswith(b"\x89PNG")
    again = CliRunner().invoke(app, call)
    assert "are from an earlier run" in " ".join(again.output.split())
    assert complexity.read(tmp_path / "new" / "complexity.json") == record


def test_without_mnist_the_command_says_so_and_measures_the_rest(calls, tmp_path, monkeypatch):
    monkeypatch.setattr(complexity_digits, "at_hand", lambda: False)
    call = ["complexity", "--quick", "--memory-limit", "0.5", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    assert "--random-digits reads random numbers" in " ".join(result.output.split())
    assert "digits" not in {task["kind"] for task in calls}
    record = complexity.read(tmp_path / "complexity.json")
    assert record["limit_bytes"] == 1 << 29
    CliRunner().invoke(app, [*call, "--random-digits"])
    assert {task["series"] for task in calls if task["kind"] == "digits"} == {"random"}


@pytest.mark.slow
def test_ctrl_c_ends_the_command_and_keeps_what_is_finished(tmp_path):
    path = tmp_path / "complexity.json"
    command = [sys.executable, "-m", "paralesn", "complexity", "--out", str(tmp_path)]
    heeds = partial(
        signal.signal, signal.SIGINT, signal.SIG_DFL
    )  # also where it was started with &
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=heeds
    ) as process:
        for _ in range(600):
            if path.exists():
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert os.listdir(tmp_path) == ["complexity.json"]
    assert complexity.read(path)["measurements"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--largest", "0"], "--largest"),
        (["--largest-dense", "-5"], "--largest-dense"),
        (["--longest", "0"], "--longest"),
        (["--rounds", "0"], "--rounds"),
        (["--memory-limit", "0"], "--memory-limit"),
        (["--memory-limit", "nan"], "between 0.001 and"),
        (["--out", "no/such/folder"], "does not exist"),
        (["--out", "file"], "is not a folder"),
        (["--quick", "--out", "other"], "does not hold measurements"),
    ],
)
def test_wrong_arguments(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "complexity.json").write_text("{}")
    result = CliRunner().invoke(app, ["complexity", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert words in result.output

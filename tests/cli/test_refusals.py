"""What commands about data, records and studies do with places and numbers of no use."""

import json
import os
import traceback

import pytest
from typer.testing import CliRunner

from paralesn.cli import app
from stored_records import regression, write


def call(*arguments, code, **environment):
    done = CliRunner().invoke(app, [str(one) for one in arguments], env=environment)
    whole = done.output + "".join(traceback.format_exception(*(done.exc_info or (None,) * 3)))
    assert done.exit_code == code, whole
    assert isinstance(done.exception, SystemExit | None), whole
    return " ".join(done.output.replace("│", " ").split())


@pytest.mark.parametrize("place", ["absent", "file", "~nobody/absent", "relative/absent"])
@pytest.mark.parametrize("command", [("data", "list"), ("data", "check"), ("reproduce", "ucr")])
def test_a_data_folder_that_is_none_is_named(place, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    told = call(*command, code=1, PARALESN_DATA=place)
    assert f"PARALESN_DATA must name a folder, got '{place}'" in told
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["reproduce", "mg", "--jobs", "0"], 2, "--jobs"),
        (["reproduce", "mg", "--seeds", "-1"], 2, "--seeds"),
        (["reproduce", "mg", "--seeds", "1e3"], 2, "--seeds"),
        (["reproduce", "mg", "--search", "--trials", "0"], 2, "--trials"),
        (["reproduce", "mg", "--out", "file"], 2, "file is not a folder"),
        (["reproduce", "mg", "--out", "odd"], 2, "records must be in files"),
        (["reproduce", "mg", "--studies", "file"], 2, "the folder file does not exist"),
        (["search", "mg", "--seconds", "nan"], 2, "--seconds"),
        (["search", "mg", "--storage", "file", "--jobs", "1", "--trials", "1"], 1, "file"),
        (["search", "mg", "--storage", "", "--jobs", "1", "--trials", "1"], 2, "storage must be"),
        (["search", "mg", "--export", ""], 2, ". is not a file"),
        (["search", "mg", "--export", "empty"], 2, "empty is not a file"),
        (["search", "mg", "--export", "pipe"], 2, "pipe is not a file"),
        (["search", "mg", "--export", "absent/file"], 2, "the folder absent does not exist"),
        (["demo", "--out", "pipe"], 2, "pipe is not a file"),
        (["reproduce", "mg", "--seeds", "9" * 40], 2, "--seeds"),
        (["reproduce", "mg", "--jobs", "9" * 40], 2, "--jobs"),
        (["demo", "--units", "9" * 40], 2, "--units"),
        (["sensitivity", "mg", "--studies", "file"], 2, "got none in 'file'"),
        (["race", "--seconds", "0"], 2, "--seconds"),
        (["race", "--seconds", "nan"], 2, "--seconds"),
        (["race", "--seconds", "inf"], 2, "--seconds"),
        (["report", "absent"], 3, "absent, which does not exist"),
        (["report", "empty"], 3, "empty holds none"),
        (["report", "empty.jsonl"], 3, "empty.jsonl holds none"),
        (["report", "file", "--out", "file"], 2, "file is not a folder"),
        (["report", "/dev/zero"], 3, "records must be in files, got /dev/zero"),
        (["complexity", "--rounds", "0"], 2, "--rounds"),
        (["universality", "--seeds", "0"], 2, "--seeds"),
    ],
)  # fmt: skip
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs on this system")
def test_what_is_of_no_use_is_refused_at_once(arguments, code, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("empty", "odd", "odd/records.jsonl"):
        (tmp_path / folder).mkdir()
    os.mkfifo(tmp_path / "pipe")
    for file in ("file", "empty.jsonl"):
        (tmp_path / file).touch()
    before = sorted(tmp_path.rglob("*"))
    assert words in call(*arguments, code=code)
    made = set(tmp_path.rglob("*")) - set(before)
    assert made <= {tmp_path / "results"}  # a folder for what was to come


def test_damaged_records_are_named_and_all_others_reported(tmp_path):
    write(tmp_path, regression()[:2])
    with (tmp_path / "records.jsonl").open("ab") as file:
        file.write(b'{"kind": "\xff"}\n{"kind": "regression"}\n{"half')
    told = call("report", tmp_path, "--fresh-only", "--out", tmp_path / "report", "--json", code=0)
    assert "Note:" in told
    assert "line 3 is not UTF-8 at byte 11; line 4 is without task" in told
    assert "line 5 was not written to its end" in told
    found = json.loads(told[told.index('{"') :].split(" Left out")[0])
    assert {one["seeds"] for one in found["configurations"]} == {2}


def test_studies_without_a_trial_say_so(tmp_path):
    pytest.importorskip("optuna")
    told = call(
        "search", "mg", "--models", "SCR", "--spaces", "paper", "--trials", 1, "--jobs", 1,
        "--seconds", 0, "--storage", tmp_path / "studies", "--out", tmp_path / "out", code=1,
    )  # fmt: skip
    assert "no trial of mg, SCR, paper space was completed: give it more time" in told

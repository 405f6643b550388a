"""Names in files that terminals, tables, pictures and file systems could take for something else."""

import json
import os

import numpy as np
import pandas as pd
import pytest
import typer
from rich.console import Console

from cli.test_own_data import call
from paralesn.cli import console, options
from paralesn.tables.notes import shown

NAMES = ["[/nope]", "[bold]x[/bold]", "$x_{$", "red\x1b[31m", "c1\x9b31m", "=1+1", "a, b", "<b>&",
         "\\frac", "back\u202eward"]  # fmt: skip


def written(folder):
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


@pytest.mark.slow
def test_a_forecast_of_columns_with_any_names(tmp_path):
    t = np.arange(60)
    days = pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d")
    table = pd.DataFrame({"[day]": days} | {name: np.sin(t / (3 + k)).round(4)
                                            for k, name in enumerate(NAMES)})  # fmt: skip
    table.to_csv(tmp_path / "[red].csv", index=False)
    targets = [part for name in NAMES for part in ("--target", name)]
    out = tmp_path / "[out]"
    done = call("forecast", tmp_path / "[red].csv", *targets, "--horizon", 2, "--season", 1,
                "--out", out)  # fmt: skip
    assert "[/nope]" in done.stdout
    for letter in "\x1b\x9b\r\u202e":
        assert letter not in done.stdout + done.stderr
    assert {"forecast.csv", "report.html", "report.json", "model.safetensors"} <= written(out)
    record = json.loads((out / "report.json").read_text())
    assert record["data"]["targets"] == NAMES
    assert "<b>&</" not in (out / "report.html").read_text()
    done = call("predict", out / "model.safetensors", tmp_path / "[red].csv", "--json")
    assert list(json.loads(done.stdout)["predictions"][0])[:2] == ["[day]", "[/nope]"]
    assert "\x9b" not in done.stdout
    assert "[/nope]" in call("inspect", out / "model.safetensors").stdout


@pytest.mark.slow
def test_classes_with_any_names(tmp_path):
    t, rows = np.arange(30), []
    for k, name in enumerate(NAMES[:4] * 4):
        values = "\t".join(f"{v:.4f}" for v in np.sin(t / (2 + k % 4) + k))
        rows.append(f"{name}\t{values}")
    path = tmp_path / "[bold]train.tsv"
    path.write_text("\n".join(rows) + "\n")
    done = call("classify", path, "--out", tmp_path / "out", "--repeats", 1)
    assert "[bold]train.tsv" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert json.loads((tmp_path / "out" / "report.json").read_text())["classes"] == sorted(
        NAMES[:4]
    )


@pytest.mark.slow
def test_nothing_is_written_where_the_picture_fails(tmp_path, monkeypatch):
    def fail(*_):
        raise ValueError("no such font")

    monkeypatch.setattr("paralesn.workflows.forecast_picture.plot", fail)
    pd.DataFrame({"y": np.sin(np.arange(60) / 3)}).to_csv(tmp_path / "y.csv", index=False)
    done = call("forecast", tmp_path / "y.csv", "--out", tmp_path / "out", "--season", 1, code=3)
    assert "no such font" in done.stderr
    assert written(tmp_path / "out") == set()


def test_text_of_people_is_on_one_line():
    assert shown("load") == "load"
    assert shown("a\nb\x1b[31m\x9b\u202e é 日本") == r"a\nb\x1b[31m\x9b\u202e é 日本"
    target = Console(record=True, width=20)
    console.say(target, "[/nope] \x1b[31m")
    assert target.export_text() == "[/nope] \\x1b[31m\n"


def test_json_has_no_control_characters(capsys):
    value = {"a\x9b": ["\u2028", "é", "\x1b", 1.5]}
    console.print_json(value)
    text = capsys.readouterr().out
    assert json.loads(text) == value
    assert text.strip().isprintable()


LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ("forecast", "DATA", "--out", LONG),
        ("forecast", "DATA", "--out", "a\0b"),
        ("classify", "DATA", "--out", LONG),
        ("predict", "DATA", "DATA", "--out", LONG),
        ("stream", "DATA", "--resume", LONG),
        ("stream", "DATA", "--learn", "--save", LONG),
        ("inspect", "DATA", "--plot", LONG),
        ("demo", "--out", LONG),
        ("report", "--out", LONG),
        ("complexity", "--out", LONG),
        ("universality", "--out", LONG),
        ("race", "--out", LONG),
        ("sensitivity", "narma10", "--out", LONG),
        ("sensitivity", "narma10", "--studies", LONG),
        ("reproduce", "--out", LONG),
        ("reproduce", "--studies", LONG),
        ("search", "--out", LONG),
        ("search", "--storage", LONG),
        ("search", "--export", LONG + "/a"),
        ("search", "--export", LONG),
    ],
    ids=" ".join,
)
def test_names_that_cannot_be_written_are_wrong_calls(arguments, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = written(tmp_path)
    done = call(*(data if one == "DATA" else one for one in arguments), code=2)
    option = next(one for one in reversed(arguments) if one.startswith("--"))
    assert option in done.stderr
    assert written(tmp_path) == before


def test_a_path_that_is_too_long_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    deep = "/".join(["d" * 200] * 25)
    with pytest.raises(typer.BadParameter, match="cannot be written"):
        options.folder(tmp_path / deep)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_file_in_a_folder_that_cannot_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(typer.BadParameter, match="cannot be written to"):
        options.file_in_folder(tmp_path / "a", "--out")


@pytest.mark.parametrize("text", ["1_0", "\u0664", "\u00b2", "1e1", "-1", ""])
def test_a_season_is_a_number_of_rows(text):
    with pytest.raises(typer.BadParameter, match="expected auto or a number of rows"):
        options.season(text)


@pytest.mark.parametrize("text", ["a=1_0", "a=\u0664", "a=infinity"])
def test_a_weight_is_a_number(text):
    with pytest.raises(typer.BadParameter, match="expected balanced, or a label and its weight"):
        options.class_weight([text])

"""The table of the archive: which datasets, what is run, and how rivals are counted."""

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import paralesn as pe
from paralesn.cli import app
from paralesn.paper import protocols, reproduce, runs
from paralesn.paper.protocols import ucr
from paralesn.paper.results import Cell, Row
from paralesn.paper.table import as_rich

PROTOCOL = protocols.of_kind("ucr")


def write(folder, name, rng, cases=30):
    """Slow and fast waves as the archive has them."""
    (folder / name).mkdir(parents=True)
    for part in ("TRAIN", "TEST"):
        y = np.arange(cases) % 2
        t = np.arange(60) / np.where(y, 2.0, 5.0)[:, None]
        table = np.column_stack([y, np.sin(t + rng.uniform(0, 6, (cases, 1)))])
        np.savetxt(folder / name / f"{name}_{part}.tsv", table, delimiter="\t")


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    home = tmp_path / "data"
    write(home / "UCR", "Waves", rng)
    write(home / "UCR", "MoreWaves", rng)
    (home / "UCR" / "Half").mkdir()
    (home / "UCR" / "Half" / "Half_TRAIN.tsv").write_text("1\t0\t1\n")
    (home / "UCR" / "published_accuracy.csv").write_text(
        "dataset,train," + ",".join(ucr.RIVALS) + "\nWaves,30,0.9,1.0,0.8,0.7,,0.6\n"
    )
    monkeypatch.setenv("PARALESN_DATA", str(home))
    monkeypatch.setenv("PARALESN_CACHE", str(tmp_path / "cache"))
    return home


def test_datasets_at_hand_have_both_files(folder):
    assert ucr.at_hand() == ["MoreWaves", "Waves"]


def test_rivals_are_read_where_they_are(folder, monkeypatch):
    assert ucr.published()["Waves"] == {
        "MiniROCKET": 0.9, "MultiROCKET": 1.0, "Hydra": 0.8, "MR-Hydra": 0.7, "HC2": 0.6,
    }  # fmt: skip
    (folder / "UCR" / "published_accuracy.csv").unlink()
    assert set(ucr.published()) == {"FordA", "FordB", "StarLightCurves"}


def test_a_run_is_the_classifier_as_it_comes(folder):
    data = pe.datasets.load_ucr("Waves")
    chosen = PROTOCOL.shipped("Waves", ucr.MODEL, "extended")
    (first, second) = runs.plan(PROTOCOL, chosen, 2)
    expected = pe.ReservoirClassifier().fit(data.X_train, data.y_train)
    found = ucr.measure(first)
    assert found["metrics"]["accuracy"] == expected.score(data.X_test, data.y_test) == 1.0
    assert found["sizes"] == [30, 30, 60, 2]
    assert runs.identity(first) != runs.identity(second)
    assert ucr.measure(second)["metrics"]["accuracy"] > 0.9


def test_rivals_are_counted_where_they_have_a_figure():
    def row(name, mean, **published):
        fixed = ("accuracy", mean, 0.0, 1, 1.0, {"accuracy": mean}, "", None)
        return Cell("ucr", PROTOCOL.task(name), Row(ucr.MODEL), *fixed, rivals=published)

    results = [
        row("a", 0.9, Hydra=0.8, HC2=0.95),
        row("b", 0.7, Hydra=0.70003),  # published with four digits
        row("c", 0.5),
    ]
    found = ucr.comparison(results)
    assert set(found) == {"Hydra", "HC2"}
    counts = [found["Hydra"][name] for name in ("datasets", "better", "even", "worse")]
    assert counts == [2, 1, 1, 0]
    assert found["Hydra"]["ours"] == pytest.approx(0.8)
    assert found["HC2"]["worse"] == 1


def test_what_is_on_record_is_not_run_again(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(ucr, "at_hand", lambda: ["Waves"])
    found = reproduce.reproduce(["ucr"], None, tmp_path / "out")
    assert [path.name for path in found.written[:2]] == ["records.jsonl", "ucr.json"]
    monkeypatch.setattr(ucr, "measure", None)
    again = reproduce.reproduce(["ucr"], None, tmp_path / "out")
    assert again.data() == found.data()


def test_the_command_prints_the_table(folder, tmp_path):
    done = CliRunner().invoke(
        app, ["reproduce", "ucr", "--jobs", "1", "--out", str(tmp_path / "o")]
    )
    assert done.exit_code == 0, done.output
    assert "Waves" in done.output
    assert "better / even / worse" in done.output
    assert (tmp_path / "o" / "ucr.json").exists()


def test_without_any_data_the_command_says_so(tmp_path, monkeypatch):
    monkeypatch.delenv("PARALESN_DATA", raising=False)
    monkeypatch.setenv("PARALESN_CACHE", str(tmp_path / "cache"))
    done = CliRunner().invoke(app, ["reproduce", "ucr", "--out", str(tmp_path / "o")])
    assert done.exit_code == 0, done.output
    assert "Left out: the UCR archive" in done.output


def test_the_best_of_a_row_is_bold(folder, tmp_path):
    found = reproduce.reproduce(["ucr"], None, tmp_path / "out")
    cell = found.cells["Waves", Row(ucr.MODEL)]
    console = Console(record=True, width=200, force_terminal=True)
    console.print(as_rich(ucr.accuracies([replace(cell, mean=0.95)])))
    text = console.export_text(styles=True)
    assert "\x1b[1m1.0000" in text
    assert "\x1b[1m0.9500" not in text

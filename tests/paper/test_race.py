"""The race: the same budget for all, records that are not run again, table and picture."""

import io

import numpy as np
import pytest
from rich.console import Console

from paralesn.paper.studies import race as racing
from paralesn.paper.studies.race_report import first_within, plot, table

torch = pytest.importorskip("torch")

SETTINGS = racing.Settings(seconds=1.0, train=80, validation=20, test=20, threads=1)


def small(task, settings):
    """Ten classes, told apart by where a series is high."""
    rng = np.random.default_rng(0)

    def part(cases):
        y = np.arange(cases) % 10
        X = rng.normal(size=(cases, 20, 1)).astype(np.float32) * 0.1
        for shift in (0, 1):
            X[np.arange(cases), 2 * y + shift] += 1
        return X, y

    return racing.Digits(part(settings.train), part(settings.validation), part(settings.test))


@pytest.mark.slow
def test_a_race_is_run_once(tmp_path, monkeypatch):
    monkeypatch.setattr(racing, "digits", small)
    monkeypatch.setattr(racing, "STAGES", ((32, "ridge"), (32, "perceptron")))
    told = []
    found = racing.race(
        ["smnist"], [racing.OURS, "LRU"], SETTINGS, tmp_path, lambda *report: told.append(report)
    )
    ours, lru = found
    assert {what for what, *_ in told} == {"smnist ParalESN", "smnist LRU"}
    assert ours["points"][0][1] > 0.5
    assert lru["parameters"] == 159_643
    assert lru["seconds"] >= 1.0
    assert [path.name for path in tmp_path.iterdir()] == ["race.jsonl"]

    monkeypatch.setattr(racing, "digits", None)  # nothing is run again
    assert racing.race(["smnist"], [racing.OURS, "LRU"], SETTINGS, tmp_path) == found
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table(found, "smnist"))
    shown = console.export_text()
    assert "80 digits to train" in shown
    assert "159,643" in shown
    pytest.importorskip("matplotlib")
    plot(found, tmp_path / "race.png")
    assert (tmp_path / "race.png").read_bytes().startswith(b"\x89PNG")


def test_seconds_to_an_accuracy():
    record = {"points": [[1.0, 0.5], [2.0, 0.9], [3.0, 0.8], [4.0, 0.95]]}
    assert first_within(record, 0.85) == 2.0
    assert first_within(record, 0.99) is None


def test_the_subset_is_stated_and_bounded(monkeypatch):
    X, y = np.zeros((50, 784, 1), np.float32), np.arange(50) % 10

    class Few:
        X_train, y_train, X_test, y_test = X, y, X, y

    monkeypatch.setattr(racing, "load_mnist", lambda **_: Few)
    chosen = racing.digits("smnist", racing.Settings(train=30, validation=10, test=20))
    assert [len(y) for _, y in chosen] == [30, 10, 20]
    with pytest.raises(ValueError, match="train and validation must be at most 50 cases, got 60"):
        racing.digits("smnist", racing.Settings(train=50, validation=10, test=20))

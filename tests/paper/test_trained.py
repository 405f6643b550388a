"""Models trained by gradients in the table of MNIST: sweeps, whole trainings, going on after a stop."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")

from paralesn import datasets
from paralesn.baselines import training
from paralesn.cli import app
from paralesn.paper import (
    bayesian,
    catalogue,
    protocols,
    runs,
    scope,
    search,
    selection,
    spaces,
)
from paralesn.paper.protocols import classification as classify
from paralesn.paper.protocols import mnist, trained
from paralesn.paper.results import Row
from paralesn.paper.table import as_rich

pytestmark = pytest.mark.usefixtures("one_torch_thread")
PROTOCOL = protocols.of_kind("trained")
TRAINED = [name for name, model in catalogue.models().items() if model.trained]


@pytest.fixture
def digits(monkeypatch, rng):
    """Ten classes told apart by when the only bright pixels come, in series of 30."""
    parts = []
    for cases in (200, 50):
        y = np.arange(cases) % 10
        X = 0.1 * rng.random((cases, 30, 1), np.float32)
        for shift in range(3):
            X[np.arange(cases), 3 * y + shift] += 1
        parts += [X, y]
    made = classify.Cases(*parts, 10)
    monkeypatch.setattr(mnist, "data", lambda task: made)
    monkeypatch.setattr(datasets, "fetch", lambda task: [])
    asked = {"batch_size": 20, "epochs": 3, "patience": 3}
    monkeypatch.setattr(trained, "settings", lambda: asked)
    short = catalogue.read("classification.toml")["training"] | {"trial_cases": 60}
    monkeypatch.setattr(trained, "read", lambda file: {"training": short | {"trial_epochs": 1}})
    return made


def test_the_papers_sweeps():
    optuna = pytest.importorskip("optuna")
    values = {"learning_rate": 2e-3, "weight_decay": 1e-5}
    assert list(mnist.TRAINED) == TRAINED
    for name in TRAINED:
        model, told = catalogue.models()[name], dict(values)
        if name == "LRU":
            told |= {"rho max": 0.9, "rho min": 0.5, "theta_max": 0.1}
        found = spaces.suggest(optuna.trial.FixedTrial(told), model, "paper")
        sizes, asked = trained.how(found)
        assert asked == values
        ring = {"rho_min": 0.45, "rho_max": 0.9, "theta_max": 0.1} if name == "LRU" else {}
        assert sizes == pytest.approx(ring)
        assert spaces.hyperparameters(found, model, "paper") == pytest.approx(told)
        assert spaces.exists(model, "paper")
        assert not spaces.exists(model, "extended")


def test_rows_only_of_mnist_and_only_when_named():
    assert protocols.of("psmnist", "S4") is PROTOCOL
    for task in ("forda", "mg"):
        with pytest.raises(ValueError, match=f"no protocol runs S4 on {task}"):
            protocols.of(task, "S4")
    assert PROTOCOL.searched("S4") == ["paper"]
    assert not set(TRAINED) & {wanted.model for wanted in scope.resolve(["mnist"])}
    assert {wanted.model for wanted in scope.resolve(["mnist"], ["s4"])} == {"S4"}
    for name in TRAINED:
        assert PROTOCOL.shipped("smnist", name, "paper").configuration["learning_rate"] > 0
        assert PROTOCOL.shipped("smnist", name, "extended") is None


def test_a_search_trains(digits, tmp_path):
    pytest.importorskip("optuna")
    bayesian.work("smnist", "LRU", "paper", str(tmp_path), search.Budget(2))
    found = bayesian.tuned("smnist", "LRU", "paper", str(tmp_path))
    assert found.trials == 2
    assert 0 <= found.validation <= 1
    low, high = found.configuration["rho"]
    assert 0 <= low <= high <= 1


def test_a_learning_rate_that_is_too_large_is_hopeless_not_fatal(digits, monkeypatch):
    def explode(*arguments):
        raise FloatingPointError("learning_rate must be small enough")

    monkeypatch.setattr(trained, "validate", explode)
    assert (bayesian.losses("smnist", "LSTM", {"learning_rate": 1.0}, [0.0, 1.0], 0) > 1e9).all()


def test_the_command_line_trains_and_the_table_shows_it(digits, tmp_path):
    asked = ["reproduce", "smnist", "--models", "LSTM", "--seeds", "1", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*asked, "--json"])
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["results"]
    assert (row["task"], row["model"]) == ("smnist", "LSTM")
    (record,) = runs.known(tmp_path / "records.jsonl").values()
    assert record["epochs"] == 3
    assert record["trained"] == record["parameters"] > 100_000
    assert record["timing"]["total"] > record["seconds"] > 0
    assert not list((tmp_path / "checkpoints").iterdir())
    table = as_rich(mnist.table(selection.cells([(Row("LSTM"), record)]), "smnist"))
    assert "(97.5)" in str(next(iter(table.columns[2].cells)))  # ours, with the paper's beside it


@pytest.mark.slow
def test_a_training_that_was_stopped_goes_on(digits, tmp_path, monkeypatch):
    (run,) = runs.plan(PROTOCOL, PROTOCOL.shipped("smnist", "LRU", "paper"), 1)
    whole = trained.measure(run, tmp_path / "whole")
    told: list[str] = []

    def stop(text: str) -> None:
        told.append(text)
        if len(told) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(training.Settings, "checkpoint_seconds", 0.0, raising=False)
    with pytest.raises(KeyboardInterrupt):
        trained.measure(run, tmp_path / "stopped", stop)
    assert told[0].startswith("LRU on sMNIST: epoch 1, validation ")
    (left,) = (tmp_path / "stopped" / "checkpoints").iterdir()
    assert Path(left).suffix == ".pt"
    resumed = trained.measure(run, tmp_path / "stopped")
    assert resumed["metrics"] == whole["metrics"]
    assert resumed["energy"] is None

"""MNIST of 14 x 14 pixels: digits, candidates, trainings that resume, the command line, its table."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("torch")

from paralesn import datasets
from paralesn.baselines import training
from paralesn.cli import app
from paralesn.paper import catalogue, configurations, energy, protocols, runs, scope, search
from paralesn.paper.protocols import classification as classify
from paralesn.paper.protocols import mnist, small_mnist, small_mnist_candidates

pytestmark = pytest.mark.usefixtures("one_torch_thread")
PROTOCOL = protocols.of_kind("small-mnist")
DENSE = ("ESN", "ESN (deep)")


@pytest.fixture
def digits(monkeypatch, rng):
    """Ten classes told apart by when the only bright pixels come, in series of 30; small models."""
    parts = []
    for cases in (200, 50):
        y = np.arange(cases) % 10
        X = 0.1 * rng.random((cases, 30, 1), np.float32)
        for shift in range(3):
            X[np.arange(cases), 3 * y + shift] += 1
        parts += [X, y]
    made = classify.Cases(*parts, 10)
    monkeypatch.setattr(small_mnist, "data", lambda task: made)
    monkeypatch.setattr(datasets, "fetch", lambda task: [])
    known = catalogue.read(small_mnist.FILE)
    short = known | {
        "training": {"batch_size": 20, "epochs": 3, "patience": 3},
        "search": known["search"] | {"epochs": 1, "digits": 60, "near": 1, "anywhere": 1},
        "tasks": {name: task | {"units": 24} for name, task in known["tasks"].items()},
    }
    for module in (small_mnist, small_mnist_candidates):
        monkeypatch.setattr(module, "read", lambda file: short)
    monkeypatch.setattr(configurations, "shipped", _large_only)
    monkeypatch.setattr(small_mnist, "_built", _small)
    return made


def _large_only(task, model, space, found=configurations.shipped):
    return None if task.endswith("14") else found(task, model, space)


def _small(run):
    from paralesn.baselines.models import build

    return build(run["model"], run["seed"], **{"hidden": 8} if run["model"] == "LSTM" else {})


# -- data and candidates ---------------------------------------------------------------------------


def test_pixels_are_means_of_squares():
    images = np.arange(2 * 16, dtype=float).reshape(2, 16, 1)
    small = small_mnist.pooled(images, 2)
    assert small.dtype == np.float32
    first = images[0, :, 0].reshape(4, 4)
    assert small[0, :, 0].tolist() == [
        first[:2, :2].mean(), first[:2, 2:].mean(), first[2:, :2].mean(), first[2:, 2:].mean()
    ]  # fmt: skip


@pytest.mark.slow
def test_digits_are_drawn_alike_for_both_orders():
    try:
        datasets.fetch("smnist")
    except datasets.MissingFileError as error:
        pytest.skip(str(error))
    plain, permuted = small_mnist.data("smnist14"), small_mnist.data("psmnist14")
    assert plain.train.shape == plain.test.shape == (10_000, 196, 1)
    large = datasets.load_mnist(dtype=np.float32)
    shares = np.bincount(plain.y_train) - np.bincount(large.y_train) / 6
    assert np.abs(shares).max() <= 1
    np.testing.assert_array_equal(plain.y_train, permuted.y_train)
    np.testing.assert_array_equal(plain.y_test, large.y_test)
    np.testing.assert_array_equal(np.sort(plain.test[:, :, 0]), np.sort(permuted.test[:, :, 0]))
    assert (plain.test != permuted.test).any()


@pytest.mark.parametrize("task", ["smnist14", "psmnist14"])
def test_every_reservoir_has_as_many_candidates_and_they_do_not_change(task):
    counts = set()
    for name in PROTOCOL.models(task):
        model, found = catalogue.models()[name], small_mnist.candidates(task, name)
        assert found == small_mnist.candidates(task, name)
        keys = {json.dumps(candidate, sort_keys=True) for candidate in found}
        if model.trained:
            assert [candidate["learning_rate"] for candidate in found] == [3e-4, 1e-3, 3e-3]
            continue
        counts.add(len(found))
        assert len(keys) == len(found)
        assert found[0] == catalogue.read(small_mnist.FILE)["large"][task][name]
    assert counts == {10}


def test_quicker_units_forget_as_much_in_fewer_steps():
    slow = {"rho": [0.8, 0.9], "theta": [0.1, 3.0], "tau": 1.0}
    fast = small_mnist_candidates.quicker(slow | {"inter": slow}, 2)
    assert fast["rho"] == pytest.approx([0.64, 0.81])
    assert fast["theta"] == pytest.approx([0.2, 6.0])
    assert fast["inter"]["rho"] == fast["rho"]
    assert small_mnist_candidates.quicker({"rho": 0.9, "tau": 0.5}, 2) == {"rho": 0.9, "tau": 0.75}


def test_neighbours_stay_in_the_space():
    optuna = pytest.importorskip("optuna")
    from paralesn.paper import spaces

    for name in ("ESN", "ESN (deep)", "ParalESN", "ParalESN (deep)"):
        model = catalogue.models()[name]
        for candidate in small_mnist.candidates("smnist14", name)[2:]:
            told = spaces.hyperparameters(candidate, model, "extended")
            again = spaces.suggest(optuna.trial.FixedTrial(told), model, "extended")
            assert again["tau"] == pytest.approx(candidate["tau"])
            assert again["rho"] == pytest.approx(candidate["rho"])


def test_slow_models_only_when_named():
    assert set(PROTOCOL.slow) == {*mnist.TRAINED, *DENSE}
    assert {wanted.task for wanted in scope.resolve(["small-mnist"])} == {"smnist14", "psmnist14"}
    assert not {wanted.protocol for wanted in scope.resolve(None)} & {PROTOCOL}
    assert "ParalESN (pooled)" not in PROTOCOL.models("psmnist14")


# -- runs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["LSTM", "ParalESN"])
def test_a_search_judges_every_candidate_and_the_best_is_run(digits, tmp_path, model):
    study = search.Study("smnist14", model, "extended")
    told = []
    path = tmp_path / "records.jsonl"
    search.search([study], str(tmp_path), search.Budget(1), 1, records=path, tell=told.append)
    known = runs.known(path)
    assert len(known) == len(small_mnist.candidates("smnist14", model))
    assert search.outcome(PROTOCOL, study._replace(model="S4"), None, known.values()) is None
    chosen = search.outcome(PROTOCOL, study, None, known.values())
    right = {run["validation"]: run["configuration"] for run in known.values()}
    assert chosen.validation == max(right)
    assert chosen.seconds > 0
    assert [run["validation"] for run in known.values()
            if run["configuration"] == chosen.configuration] == [max(right)]  # fmt: skip
    assert bool(told) == (model == "LSTM")
    assert not list(tmp_path.glob("checkpoints/*"))


def test_the_command_line_runs_and_prints_it(digits, tmp_path):
    asked = ["reproduce", "smnist14", "--models", "ParalESN", "--models", "LSTM", "--seeds", "2"]
    done = CliRunner().invoke(app, [*asked, "--jobs", "1", "--out", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    rows = {row["model"]: row for row in json.loads(done.stdout)["small_mnist"]}
    assert set(rows) == {"LSTM", "ParalESN"}
    assert rows["ParalESN"]["mean"] > 0.5  # of ten classes
    assert "sMNIST 14 x 14, accuracy in %" in done.stderr
    for run in runs.known(tmp_path / "records.jsonl").values():
        assert run["clock"] == "processor"
        assert run["timing"]["total"] == pytest.approx(
            run["timing"]["training"] + run["timing"]["test"]
        )
        assert 0 < run["epochs"] <= 100
    assert not list(tmp_path.glob("checkpoints/*"))


def test_a_training_that_was_stopped_loses_an_epoch_at_most_and_no_energy(
    digits, tmp_path, monkeypatch
):
    tuned = PROTOCOL.shipped("smnist14", "LSTM", "extended")
    (run,) = runs.plan(PROTOCOL, tuned, 1)
    run = json.loads(json.dumps(run))
    whole = small_mnist.measure(run, tmp_path / "whole")
    epochs, given = [], []

    class Meter(energy.Spent):
        def so_far(self):
            return {"kwh": 1.0 + self.before.get("kwh", 0.0), "kg": 0.5}

    class Measured:
        def __init__(self, country, before=None, waiting=True):
            assert not waiting
            given.append(before)
            self.spent = Meter()
            self.spent.before = before or {}

        def __enter__(self):
            return self.spent

        def __exit__(self, *error):
            self.spent |= {"kwh": 2.0 + self.spent.before.get("kwh", 0.0)}

    monkeypatch.setattr(energy, "measured", Measured)
    step = training._Training.train_epoch

    def stop_in_the_third(self):
        epochs.append(self.progress.epoch)
        if len(epochs) == 3:
            raise KeyboardInterrupt
        step(self)

    monkeypatch.setattr(training._Training, "train_epoch", stop_in_the_third)
    with pytest.raises(KeyboardInterrupt):
        small_mnist.measure(run, tmp_path / "stopped")
    resumed = small_mnist.measure(run, tmp_path / "stopped")
    assert epochs == [0, 1, 2, 2]
    assert resumed["metrics"] == whole["metrics"]
    assert resumed["epochs"] == whole["epochs"] == 3
    assert given == [{}, {"kwh": 1.0, "kg": 0.5}]
    assert resumed["energy"]["kwh"] == 3.0
    PROTOCOL.clean_up(run, tmp_path / "stopped")
    assert not list(tmp_path.glob("stopped/checkpoints/*"))


def test_energy_of_an_interrupted_piece_of_work_is_added():
    pytest.importorskip("codecarbon")
    with energy.measured("ITA", {"kwh": 1.0, "kg": 2.0}) as spent:
        assert spent.so_far()["kwh"] >= 1.0
    assert spent["kwh"] >= 1.0
    assert spent["kg"] >= 2.0
    assert spent["country"] == "ITA"


def test_energy_of_memory_counts_for_as_long_as_the_processor_works(monkeypatch):
    spent = energy.Spent()
    spent.waiting, spent.began, spent.before = False, (0.0, 0.0), {"kwh": 1.0}
    monkeypatch.setattr(energy, "_clocks", lambda: (10.0, 4.0))
    assert spent._whole(8.0, 5.0, 16.0) == pytest.approx({"kwh": 1.0 + 8.0 - 3.0, "kg": 10.0})
    spent.waiting = True
    assert spent._whole(8.0, 5.0, 16.0) == {"kwh": 9.0, "kg": 16.0}

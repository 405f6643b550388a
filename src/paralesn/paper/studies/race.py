"""Every model on the same digits with the same wall-clock budget: accuracy against seconds.

Trainable models learn until their budget is spent; ParalESN draws, runs and reads out, first with
few units, then with more, then with a perceptron. Runs on record are not done again, and a model
that was interrupted resumes from its checkpoint; the seconds it used before count.
"""

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paralesn.datasets.archives.mnist import load_mnist
from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.features.pooled_states import PooledStates
from paralesn.paper import records
from paralesn.paper.catalogue import read
from paralesn.paper.records import Record
from paralesn.paper.studies import record_checks
from paralesn.readouts.mlp import MLP
from paralesn.readouts.mlp_network import require_torch
from paralesn.reservoirs.paralesn import ParalESN

TASKS = ("smnist", "psmnist")
OURS = "ParalESN"
MODELS = (OURS, "LSTM", "Transformer", "S4", "LRU", "Mamba")
_POINTS = 20  # validations within a budget, besides those after each epoch
_IDENTITY = ("kind", "task", "model", "settings")

# Chosen by hand on the whole of MNIST, for the paper's classifier of last states.
RESERVOIRS: dict[str, dict[str, Any]] = {
    "smnist": {
        "rho": (0.999, 0.9999), "theta": (0.0, math.pi / 4), "bias_scale": 0.1, "mix_scale": 0.5,
        "mix_size": 5,
    },
    "psmnist": {
        "rho": (0.999, 0.99999), "theta": (0.0, math.pi / 2), "input_scale": 2.65,
        "mix_scale": 0.3, "mix_bias_scale": 1.0,
    },
}  # fmt: skip
STAGES: tuple[tuple[int, str], ...] = ((256, "ridge"), (1024, "ridge"), (1024, "perceptron"))


@dataclass(frozen=True)
class Settings:
    """The budget of each model in seconds, the subset of digits, and the seed of all of it."""

    seconds: float = 600.0
    train: int = 10_000
    validation: int = 1_000
    test: int = 2_000
    seed: int = 0
    threads: int = 2


class Digits(NamedTuple):
    """Series (n, 784, 1) and labels (n,) to train on, to validate and to test."""

    train: tuple[np.ndarray, np.ndarray]
    validation: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]


Report = Callable[[str, float, float], None]  # what runs, seconds so far, validation accuracy


def digits(task: str, settings: Settings) -> Digits:
    """The subset: cases drawn at random from MNIST's own training and test sets."""
    data = load_mnist(permuted=task == "psmnist", dtype=np.float32)
    rng = np.random.default_rng(settings.seed)
    wanted = settings.train + settings.validation
    for name, most, asked in (
        ("train and validation", len(data.y_train), wanted),
        ("test", len(data.y_test), settings.test),
    ):
        if asked > most:
            raise ValueError(f"{name} must be at most {most} cases, got {asked}")
    chosen = rng.permutation(len(data.y_train))[:wanted]
    tested = rng.permutation(len(data.y_test))[: settings.test]
    cases = (chosen[: settings.train], chosen[settings.train :])
    learn, validate = ((data.X_train[each], data.y_train[each]) for each in cases)
    return Digits(learn, validate, (data.X_test[tested], data.y_test[tested]))


def plan(tasks: Iterable[str], models: Iterable[str], settings: Settings) -> Iterator[Record]:
    """The runs wanted, without their results."""
    models = list(models)
    for task in tasks:
        for model in models:
            yield {"kind": "race", "task": task, "model": model, "settings": asdict(settings)}


def identity(record: Record) -> str:
    """A text that is the same for records of the same run."""
    return json.dumps([record.get(name) for name in _IDENTITY], sort_keys=True)


def race(
    tasks: Iterable[str],
    models: Iterable[str],
    settings: Settings,
    out: Path,
    report: Report = lambda what, seconds, accuracy: None,
) -> list[Record]:
    """Results of all runs, from the records in `out` where they are there."""
    torch = require_torch()
    path = out / "race.jsonl"
    ledger = records.Ledger(path, _key, _problem)
    wanted = list(plan(tasks, models, settings))
    threads, data, at = torch.get_num_threads(), None, ""
    try:
        torch.set_num_threads(settings.threads)
        for run in wanted:
            if identity(run) in ledger.records:
                continue
            if data is None or at != run["task"]:
                data, at = digits(run["task"], settings), run["task"]
            carry_out = _ours if run["model"] == OURS else _trainable
            done = run | carry_out(run, data, settings, out, report) | records.surroundings()
            ledger.add(done)
    finally:
        torch.set_num_threads(threads)
    return [ledger.records[identity(run)] for run in wanted]


def _key(record: Record) -> str | None:
    return identity(record) if record.get("kind") == "race" else None


def _problem(record: Record) -> str | None:
    return record_checks.race(record) if record.get("kind") == "race" else None


def _last_states(reservoir: ParalESN) -> PooledStates:
    """The paper's features: the last state of inputs as they are."""
    return PooledStates(reservoir, pool="last", segments=1, standardize=False)


def _ours(run: Record, data: Digits, settings: Settings, out: Path, report: Report) -> Record:
    """Draw, run and read out, in stages as long as the budget lasts."""
    hyper = RESERVOIRS[run["task"]] | {"dtype": "float32", "n_jobs": settings.threads}
    # Kernels are compiled before the clock starts, as PyTorch's are.
    warm_up = ReservoirClassifier(_last_states(ParalESN(units=256, **hyper)))
    warm_up.fit(data.train[0][:100], data.train[1][:100])
    start = time.monotonic()
    points: list[list[float]] = []
    best: tuple[float, Any, int, str] | None = None
    for units, kind in STAGES:
        readout = None
        if kind == "perceptron":
            readout = MLP(150, dropout=0.3, seed=settings.seed, progress=False)
        reservoir = ParalESN(units=units, seed=settings.seed, **hyper)
        model = ReservoirClassifier(_last_states(reservoir), readout).fit(*data.train)
        accuracy = float(model.score(*data.validation))
        seconds = time.monotonic() - start
        if best is not None and seconds > settings.seconds:
            break  # too late to count
        points.append([seconds, accuracy])
        report(f"{run['task']} {OURS}", seconds, accuracy)
        if best is None or accuracy > best[0]:
            parameters = getattr(model.readout_, "n_parameters_", (units + 1) * 10)
            best = accuracy, model, parameters, f"{units} units, {kind}"
    assert best is not None
    return {
        "points": points,
        "seconds": points[-1][0],
        "accuracy": float(best[1].score(*data.test)),
        "parameters": int(best[2]),
        "configuration": best[3],
    }


def _trainable(run: Record, data: Digits, settings: Settings, out: Path, report: Report) -> Record:
    """Train a model until its budget is spent."""
    from paralesn.baselines import training
    from paralesn.baselines.models import build, count_parameters

    name = run["model"]
    model = build(name, settings.seed)
    checkpoint = out / f"{run['task']}-{name}-{settings.seconds:g}s-{settings.train}.pt"
    out.mkdir(parents=True, exist_ok=True)
    asked = training.Settings(
        learning_rate=read("classification.toml")["training"]["learning_rates"][name],
        seconds=settings.seconds,
        evaluate_seconds=settings.seconds / _POINTS,
        seed=settings.seed,
    )

    def tell(at: training.Progress) -> None:
        report(f"{run['task']} {name}", at.seconds, at.scores[-1].accuracy)

    learn, validate, test = (training.Data(*part) for part in data)
    trained = training.fit(model, learn, validate, asked, checkpoint, tell)
    _, accuracy = training.measure(model, test)
    checkpoint.unlink(missing_ok=True)  # the record is what stays
    return {
        "points": [[score.seconds, score.accuracy] for score in trained.scores],
        "seconds": trained.seconds,
        "accuracy": accuracy,
        "parameters": count_parameters(model),
        "configuration": f"learning rate {asked.learning_rate:g}, {trained.scores[-1].epoch:.2f} "
        "epochs",
    }

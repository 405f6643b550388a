"""MNIST small enough to train every model of the paper on one core: 14 x 14 pixels, 196 steps.

Pixels are means over 2 x 2 of the original ones. All models see the same 10 000 of the official
training digits, of every class alike, a tenth of which they stop by and do not learn from, and the
official 10 000 test digits. Reservoirs have 1 024 units and the paper's perceptron; the pooled one,
which is not the paper's, has its own.

A search judges three learning rates of each trained model, and as many configurations of each
reservoir as of any other, by the accuracy on the digits to stop by; test digits are looked at once
by each run. Everything is computed on one thread, and seconds are those of the processor: neither
pauses nor what else the machine does add to them.
"""

import hashlib
import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from paralesn import datasets
from paralesn.datasets.seeds import stream
from paralesn.files import save_text
from paralesn.paper import energy
from paralesn.paper.catalogue import MAIN, Task, models, read
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocol import Protocol, Tell, Work, lacks_pytorch
from paralesn.paper.protocols import classification, mnist, regression, small_mnist_table, trained
from paralesn.paper.protocols.classification import DTYPE, Cases, split
from paralesn.paper.protocols.small_mnist_candidates import FILE, SPACE, candidates
from paralesn.paper.records import Record
from paralesn.paper.results import Cells
from paralesn.paper.table import Table
from paralesn.readouts.mlp_network import require_torch

TRIAL = "small-mnist trial"
_POOLED = "ParalESN (pooled)"
_LARGE = {"smnist14": "smnist", "psmnist14": "psmnist"}  # the paper's task


# -- data ------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def data(task: str) -> Cases:
    """A task's digits, read once; whatever the seed of a run, they are the same."""
    known = read(FILE)["digits"]
    large = datasets.load_mnist(dtype=np.float32)
    share = known["train"] / len(large.y_train)
    drawn = datasets.stratified_split(large.y_train, share, known["seed"])[1]
    train, test = (
        pooled(X, known["pool"]) for X in (np.asarray(large.X_train)[drawn], large.X_test)
    )
    if _LARGE[task] == "psmnist":
        order = stream(mnist.PERMUTATION, task).permutation(train.shape[1])
        train, test = train[:, order], test[:, order]
    return Cases(train, large.y_train[drawn], test, large.y_test, len(large.classes))


def pooled(X: Any, size: int) -> np.ndarray:
    """Means over squares of pixels, (n, pixels, 1), of square images in that form."""
    side = math.isqrt(X.shape[1])
    few = side // size
    squares = np.asarray(X).reshape(-1, few, size, few, size)
    return squares.mean(axis=(2, 4)).astype(DTYPE).reshape(-1, few * few, 1)


# -- judging candidates ----------------------------------------------------------------------------


def judge(run: Record, folder: Path, tell: Tell | None = None) -> Record:
    """Accuracy on the digits to stop by, after a short training or one on fewer digits."""
    learnt, held_out = split(data(run["task"]).y_train, None, mnist.SHARE, run["seed"])
    begin = time.process_time()
    if models()[run["model"]].trained:
        fitted = _train(run, _built(run), folder, tell)
        return {"validation": fitted.best.accuracy, "seconds": fitted.core_seconds}
    few = learnt[: run["trial_cases"]]  # in the order of the file, which is none
    readout, states = _read_out(run, _reservoir(run), few, held_out)
    right = readout.score(states[few.size :], data(run["task"]).y_train[held_out])
    return {"validation": float(right), "seconds": time.process_time() - begin}


# -- runs that are reported ------------------------------------------------------------------------


def measure(run: Record, folder: Path, tell: Tell | None = None) -> Record:
    """Train on the training digits, and test."""
    work = _measure_trained if models()[run["model"]].trained else _measure_reservoir
    return work(run, folder, tell) | mnist.permutation(_LARGE[run["task"]])


def _measure_reservoir(run: Record, folder: Path, tell: Tell | None) -> Record:
    """Features, then the perceptron."""
    cases, model = data(run["task"]), models()[run["model"]]
    reservoir = _reservoir(run)
    reservoir.fit(cases.train[:1])  # drawing is no training
    require_torch()  # nor is importing
    learnt, held_out = split(cases.y_train, None, mnist.SHARE, run["seed"])
    with energy.measured(run.get("country", energy.COUNTRY), waiting=False) as spent:
        begin = time.process_time()
        readout, states = _read_out(run, reservoir, learnt, held_out)
        end = time.process_time()
    right = readout.score(classification.features(model, reservoir, cases.test), cases.y_test)
    stopped = readout.score(states[learnt.size :], cases.y_train[held_out])
    return _result(right, stopped, end - begin, time.process_time() - end) | {
        "epochs": len(readout.loss_curve_),
        "parameters": reservoir.n_parameters_,
        "trained": readout.n_parameters_,
        "energy": spent or None,
    }


def _read_out(
    run: Record, reservoir: Any, learnt: np.ndarray, held_out: np.ndarray
) -> tuple[Any, np.ndarray]:
    """A perceptron trained on some digits, which stops by others, and features of all of these."""
    cases = data(run["task"])
    both = np.concatenate([learnt, held_out])
    states = classification.features(models()[run["model"]], reservoir, cases.train[both])
    readout = mnist.perceptron(run["readout"], run["seed"])
    stop_by = states[learnt.size :], cases.y_train[held_out]
    readout.fit(states[: learnt.size], cases.y_train[learnt], validation=stop_by)
    return readout, states


def _reservoir(run: Record) -> Any:
    model, units = models()[run["model"]], run["units"]
    return regression.build(model, run["configuration"], run["seed"], units=units, dtype=DTYPE)


def _measure_trained(run: Record, folder: Path, tell: Tell | None) -> Record:
    """A whole training, resumed where there is a checkpoint."""
    from paralesn.baselines import training
    from paralesn.baselines.models import count_parameters

    cases, model, kept = data(run["task"]), _built(run), _checkpoint(run, folder)
    notes = kept.with_suffix(".json")
    before = json.loads(notes.read_text()) if kept.exists() and notes.exists() else {}
    counted = bool(before) or not kept.exists()
    with energy.measured(run.get("country", energy.COUNTRY), before, waiting=False) as spent:

        def note(text: str) -> None:
            save_text(json.dumps(spent.so_far()), notes)
            if tell is not None:
                tell(text)

        fitted = _train(run, model, folder, note)
    begin = time.process_time()
    with _one_thread():
        test = training.Data(cases.test, cases.y_test.astype(np.int64))
        _, right = training.measure(model, test)
    tested = time.process_time() - begin
    return _result(right, fitted.best.accuracy, fitted.core_seconds, tested) | {
        "epochs": fitted.epochs,
        "parameters": count_parameters(model),
        "trained": count_parameters(model),
        # Before an interruption it may have been counted without the extra.
        "energy": (spent or None) if counted else None,
    }


def _train(run: Record, model: Any, folder: Path, tell: Tell | None) -> Any:
    """Train a model as planned, with a checkpoint after every epoch."""
    from paralesn.baselines import training

    cases, title = data(run["task"]), tasks()[run["task"]].title
    learn, stop_by = (
        training.Data(cases.train[part], cases.y_train[part].astype(np.int64))
        for part in split(cases.y_train, None, mnist.SHARE, run["seed"])
    )

    def report(at: training.Progress) -> None:
        if tell is not None:
            told = f"epoch {at.epoch}, validation {at.scores[-1].accuracy:.2%}"
            tell(f"{run['model']} on {title}: {told}, {at.core_seconds / 60:.1f} min")

    settings = training.Settings(
        **trained.how(run["configuration"])[1],
        **run["readout"],
        checkpoint_seconds=math.inf,  # at ends of epochs only, where energy is noted, too
        seed=run["seed"],
    )
    checkpoint = _checkpoint(run, folder)
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    with _one_thread():
        return training.fit(model, learn, stop_by, settings, checkpoint, report)


def _built(run: Record) -> Any:
    """A model that has yet to learn; S4 and LSTM are told how long all series are."""
    from paralesn.baselines.models import build

    sizes = trained.how(run["configuration"])[0]
    if run["model"] in ("S4", "LSTM"):
        sizes["steps"] = data(run["task"]).train.shape[1]
    return build(run["model"], run["seed"], **sizes)


def _checkpoint(run: Record, folder: Path) -> Path:
    names = ("kind", "task", "model", "seed", "configuration", "readout")
    text = json.dumps([run[name] for name in names], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return folder / "checkpoints" / f"{run['task']}-{run['model']}-{run['seed']}-{digest}.pt"


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread for PyTorch, and then as many as before."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _result(right: float, stopped: float, trained_in: float, tested_in: float) -> Record:
    """What all models have on record, in seconds of the processor."""
    return {
        "metric": "accuracy",
        "metrics": {"accuracy": float(right), "validation": float(stopped)},
        "seconds": trained_in,
        "timing": {"training": trained_in, "test": tested_in, "total": trained_in + tested_in},
        "clock": "processor",
    }


# -- the protocol ----------------------------------------------------------------------------------


def tasks() -> dict[str, Task]:
    """Both orders of the pixels."""
    return {name: Task(name, **entry) for name, entry in read(FILE)["tasks"].items()}


class SmallMNIST(Protocol):
    """Every model of the paper's MNIST table, trained to its end on a core."""

    name, title, seeds = "small-mnist", "MNIST of 14 x 14 pixels", 3
    spaces = (SPACE,)
    in_paper = False
    slow = (*mnist.TRAINED, "ESN", "ESN (deep)")
    measures_energy = True

    def tasks(self) -> dict[str, Task]:
        """Both orders of the pixels."""
        return tasks()

    def models(self, task: str) -> list[str]:
        """The paper's nine; the pooled one where pixels are in order."""
        pooled_too = [_POOLED] if models()[_POOLED].only == _LARGE[task] else []
        return [*mnist.TRAINED, *MAIN, *pooled_too]

    def missing(self, task: str) -> str | None:
        """Why a task cannot be run here, or None."""
        return lacks_pytorch(self.task(task).title) or super().missing(task)

    def look_for_data(self, task: str) -> None:
        """Raise MissingFileError where MNIST is neither here nor to be had."""
        datasets.fetch(_LARGE[task])

    def shipped(self, task: str, model: str, space: str) -> Tuned | None:
        """What our own search chose; where there was none, the first candidate."""
        found = super().shipped(task, model, space)
        return found or Tuned.unsearched(task, model, SPACE, candidates(task, model)[0])

    def plan(self, tuned: Tuned, seed: int) -> Record:
        """A run, without its result."""
        return super().plan(tuned, seed) | _details(tuned.model)

    def kinds(self) -> Mapping[str, Work]:
        """Runs that are reported, and trials of a search."""
        return {self.name: self.measure, TRIAL: judge}

    def measure(self, run: Record, folder: Path, tell: Tell | None = None) -> Record:
        """Train on the training digits, and test."""
        return measure(run, folder, tell)

    def clean_up(self, run: Record, folder: Path) -> None:
        """Remove the checkpoint of a training, and what it noted of its energy."""
        if models()[run["model"]].trained:
            for suffix in (".pt", ".json"):
                _checkpoint(run, folder).with_suffix(suffix).unlink(missing_ok=True)

    def searched(self, model: str) -> list[str]:
        """The one space, of trained models as well."""
        return list(self.spaces)

    def trials(self, task: str, known: Iterable[Record], model: str | None = None) -> list[Record]:
        """Every candidate of a model."""
        return [] if model is None else trials(task, model)

    def choose(self, task: str, known: Iterable[Record], model: str | None = None) -> Tuned | None:
        """The candidate with the highest accuracy on the digits to stop by."""
        return None if model is None else chosen(task, model, known)

    def tables(self, cells: Cells) -> list[Table]:
        """A table of each task."""
        return small_mnist_table.tables(cells, self.tasks().values())


def _details(name: str, trial: bool = False) -> Record:
    """What a run says beside its configuration: units, and what the readout is given."""
    model, known = models()[name], read(FILE)
    if model.trained:
        epochs = {"epochs": known["search"]["epochs"]} if trial else {}
        return {"units": None, "readout": {**known["training"], **epochs}}
    few = {"trial_cases": known["search"]["digits"]} if trial else {}
    pool = {"pool": list(model.pool), "segments": model.segments} if model.pool else {}
    units = model.units or tasks()["smnist14"].units
    return {"units": units, "readout": mnist.settings(model, "paper"), **pool, **few}


def trials(task: str, model: str) -> list[Record]:
    """Runs that a search consists of."""
    return [
        {
            "kind": TRIAL,
            "task": task,
            "model": model,
            "space": SPACE,
            "seed": read(FILE)["search"]["seed"],
            "configuration": candidate,
            **_details(model, trial=True),
        }
        for candidate in candidates(task, model)
    ]


def chosen(task: str, model: str, known: Iterable[Record]) -> Tuned | None:
    """The best candidate, if all of its trials are known."""
    wanted = trials(task, model)
    by = {
        json.dumps(run["configuration"], sort_keys=True): run
        for run in known
        if run.get("kind") == TRIAL and (run["task"], run["model"]) == (task, model)
        and run["readout"] == wanted[0]["readout"]
    }  # fmt: skip
    keys = [json.dumps(run["configuration"], sort_keys=True) for run in wanted]
    if not all(key in by for key in keys):
        return None
    best = max((by[key] for key in keys), key=lambda run: run["validation"])
    seconds = sum(by[key]["seconds"] for key in keys)
    outcome = (best["configuration"], None, best["validation"], len(keys), seconds)
    return Tuned(task, model, SPACE, *outcome, seeds=1)

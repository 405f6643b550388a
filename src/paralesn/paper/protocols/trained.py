"""The models of the paper's MNIST table that learn by gradients: trainings, and trials of a search.

A training takes the digits that are not set aside for validation, stops by those that are, and
writes checkpoints beside the records, from which it resumes after an interruption. It uses a GPU if
there is one.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.paper import energy
from paralesn.paper.catalogue import Task, models, read, tasks, tasks_of
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocol import Judging, Protocol, Tell, lacks_pytorch
from paralesn.paper.protocols import mnist
from paralesn.paper.protocols.classification import FILE, split
from paralesn.paper.records import Record
from paralesn.paper.results import Cells
from paralesn.paper.table import Table


def how(configuration: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields of a model's configuration, and of its training."""
    sizes = dict(configuration)
    training: dict[str, Any] = {
        k: sizes.pop(k) for k in ("learning_rate", "weight_decay") if k in sizes
    }
    if "rho" in sizes:
        sizes["rho_min"], sizes["rho_max"] = sizes.pop("rho")
    return sizes, training


def device() -> str:
    """Where to train."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def validate(task: str, model: str, configuration: Mapping[str, Any], seed: int) -> float:
    """Accuracy on cases held out, after a short training on a part of the others."""
    from paralesn.baselines import training
    from paralesn.baselines.models import build

    cases, known = mnist.data(task), read(FILE)["training"]
    train, held_out = split(cases.y_train, known["trial_cases"], mnist.SHARE, seed)
    sizes, asked = how(configuration)
    settings = training.Settings(
        **asked, batch_size=known["batch_size"], epochs=known["trial_epochs"], seed=seed
    )
    learn, judge = (_data(cases.train, cases.y_train, part) for part in (train, held_out))
    fitted = training.fit(build(model, seed, **sizes), learn, judge, settings, device=device())
    return fitted.best.accuracy


def measure(run: Record, folder: Path, tell: Tell | None = None) -> Record:
    """Train on the training set, and test; `tell` is told how far it got."""
    from paralesn.baselines import training
    from paralesn.baselines.models import build, count_parameters

    cases = mnist.data(run["task"])
    model = build(run["model"], run["seed"], **how(run["configuration"])[0])
    path = _checkpoint(run, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    resumed = path.exists()
    with energy.measured(run.get("country", energy.COUNTRY)) as spent:
        fitted = _fit(run, model, path, tell)
    begin = time.perf_counter()
    _, right = training.measure(model, _data(cases.test, cases.y_test, slice(None)))
    tested = time.perf_counter() - begin
    return {
        "metric": "accuracy",
        "metrics": {"accuracy": right, "best validation": fitted.best.accuracy},
        "seconds": fitted.seconds,
        "timing": {
            "features": 0.0,
            "training": fitted.seconds,
            "test": tested,
            "total": fitted.seconds + tested,
        },
        "epochs": fitted.epochs,
        "parameters": count_parameters(model),
        "trained": count_parameters(model),
        "device": device(),
        # What an interrupted training used before is not known.
        "energy": None if resumed else spent or None,
        **mnist.permutation(run["task"]),
    }


def _fit(run: Record, model: Any, checkpoint: Path, tell: Tell | None) -> Any:
    """Train a model as planned; cases set aside say when to stop."""
    from paralesn.baselines import training

    cases = mnist.data(run["task"])
    parts = split(cases.y_train, None, mnist.SHARE, run["seed"])
    learn, judge = (_data(cases.train, cases.y_train, part) for part in parts)

    def report(at: training.Progress) -> None:
        if tell is not None:
            told = f"epoch {at.epoch}, validation {at.scores[-1].accuracy:.2%}"
            tell(f"{run['model']} on {tasks()[run['task']].title}: {told}")

    asked = how(run["configuration"])[1]
    settings = training.Settings(**asked, **run["readout"], seed=run["seed"])
    return training.fit(model, learn, judge, settings, checkpoint, report, device())


def settings() -> dict[str, Any]:
    """How whole trainings are done."""
    return {k: read(FILE)["training"][k] for k in ("batch_size", "epochs", "patience")}


def _data(X: np.ndarray, y: np.ndarray, part: Any) -> Any:
    from paralesn.baselines.training import Data

    return Data(X[part], y[part].astype(np.int64))


def _checkpoint(run: Record, folder: Path) -> Path:
    """Where a training that is under way keeps its state."""
    known = [run[name] for name in ("task", "model", "seed", "configuration", "readout")]
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:12]
    return folder / "checkpoints" / f"{run['task']}-{run['model']}-{run['seed']}-{digest}.pt"


# -- the protocol ----------------------------------------------------------------------------------


class Trained(Protocol):
    """Sequence models that learn by gradients, in the table of sequential MNIST."""

    name, title, seeds = "trained", "Trained models on sequential MNIST", 3
    spaces = ("paper",)
    judging = Judging(seeds=1, finalists=2, final_seeds=1, random=6)
    on_request = True  # hours, where there is no GPU
    uses_every_core = True
    measures_energy = True
    failures = (FloatingPointError,)  # too large a learning rate

    def tasks(self) -> dict[str, Task]:
        """Those of sequential MNIST."""
        return tasks_of("mnist")

    def models(self, task: str) -> list[str]:
        """All that learn by gradients."""
        return [name for name, model in models().items() if model.trained]

    def groups(self) -> Sequence[str]:
        """Both tasks, by the names that they have anyway."""
        return ("mnist", "classification")

    def missing(self, task: str) -> str | None:
        """Why a task cannot be run here, or None."""
        return lacks_pytorch(self.task(task).title) or super().missing(task)

    def shipped(self, task: str, model: str, space: str) -> Tuned | None:
        """The outcome of a search if there was one, else a learning rate set by hand."""
        chosen = super().shipped(task, model, space)
        if chosen is not None or space not in self.spaces:
            return chosen
        rate = read(FILE)["training"]["learning_rates"][model]
        return Tuned.unsearched(task, model, space, {"learning_rate": rate})

    def plan(self, tuned: Tuned, seed: int) -> Record:
        """A training, without its result."""
        return super().plan(tuned, seed) | {"alpha": None, "readout": settings()}

    def measure(self, run: Record, folder: Path, tell: Tell | None = None) -> Record:
        """Train on the training set, and test."""
        return measure(run, folder, tell)

    def clean_up(self, run: Record, folder: Path) -> None:
        """Remove the checkpoint of a training."""
        _checkpoint(run, folder).unlink(missing_ok=True)

    def validate(
        self,
        task: str,
        model: str,
        configuration: Mapping[str, Any],
        penalties: Sequence[float],
        seed: int,
        final: bool = False,
    ) -> np.ndarray:
        """Accuracy after a short training; there is no penalty to choose."""
        return np.full(len(penalties), validate(task, model, configuration, seed))

    def tables(self, cells: Cells) -> list[Table]:
        """None of its own: the models stand in the table of sequential MNIST."""
        return []

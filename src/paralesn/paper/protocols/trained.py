"""The models of the paper's MNIST table that learn by gradients: trainings, and trials of a search.

A training takes the digits that are not set aside for validation, stops by those that are, and
writes checkpoints beside the records: one that was killed goes on where it stood. On a GPU if there
is one.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.paper import energy
from paralesn.paper.catalogue import read, tasks
from paralesn.paper.protocols import classification
from paralesn.paper.records import Record

Tell = Callable[[str], Any]


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
    """Accuracy on cases held out, after a short training on some."""
    from paralesn.baselines import training
    from paralesn.baselines.models import build

    cases, known = classification.data(task), read(classification.FILE)["training"]
    share = classification.VALIDATION[tasks()[task].kind]
    kept, held = classification.parts(cases.y_train, known["trial_cases"], share, seed)
    sizes, asked = how(configuration)
    settings = training.Settings(
        **asked, batch_size=known["batch_size"], epochs=known["trial_epochs"], seed=seed
    )
    learn, judge = (_data(cases.train, cases.y_train, part) for part in (kept, held))
    fitted = training.fit(build(model, seed, **sizes), learn, judge, settings, device=device())
    return fitted.best.accuracy


def measure(run: Record, folder: Path, tell: Tell | None = None) -> Record:
    """Train on the training set, and test; `tell` hears how far it got."""
    from paralesn.baselines import training
    from paralesn.baselines.models import build, count_parameters

    task, cases = run["task"], classification.data(run["task"])
    kept, held = classification.parts(
        cases.y_train, None, classification.VALIDATION[tasks()[task].kind], run["seed"]
    )
    learn, judge = (_data(cases.train, cases.y_train, part) for part in (kept, held))
    sizes, asked = how(run["configuration"])
    model = build(run["model"], run["seed"], **sizes)
    path = _checkpoint(run, folder)
    resumed = path.exists()

    def report(at: training.Progress) -> None:
        if tell is not None:
            told = f"epoch {at.epoch}, validation {at.scores[-1].accuracy:.2%}"
            tell(f"{run['model']} on {tasks()[task].title}: {told}")

    with energy.measured(run.get("country", energy.COUNTRY)) as spent:
        settings = training.Settings(**asked, **run["readout"], seed=run["seed"])
        fitted = training.fit(model, learn, judge, settings, path, report, device())
    begin = time.perf_counter()
    _, right = training.measure(model, _data(cases.test, cases.y_test, slice(None)))
    tested = time.perf_counter() - begin
    path.unlink()  # the record is what stays
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
        **({"permutation_seed": classification.PERMUTATION} if task == "psmnist" else {}),
    }


def settings() -> dict[str, Any]:
    """How whole trainings are done."""
    return {
        k: read(classification.FILE)["training"][k] for k in ("batch_size", "epochs", "patience")
    }


def _data(X: np.ndarray, y: np.ndarray, part: Any) -> Any:
    from paralesn.baselines.training import Data

    return Data(X[part], y[part].astype(np.int64))


def _checkpoint(run: Record, folder: Path) -> Path:
    """Where a training that is under way keeps its state."""
    known = [run[name] for name in ("task", "model", "seed", "configuration", "readout")]
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:12]
    folder = folder / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{run['task']}-{run['model']}-{run['seed']}-{digest}.pt"

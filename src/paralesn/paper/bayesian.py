"""Bayesian search for configurations by Optuna: resumable, by many workers, on validation data.

A study is a task, a model and a space. Its trials live in an Optuna storage: a file of its own by
default, or whatever a storage URL names, which any number of machines may share. A study that was
stopped resumes; a configuration drawn twice takes its earlier result, if it was judged by all
seeds.
"""

import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from paralesn.files import require
from paralesn.paper import proposals, protocols, spaces
from paralesn.paper.catalogue import models, tasks
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocol import Judging

if TYPE_CHECKING:
    import optuna
    from optuna import Trial

FIRST_SEED = 1000  # of data and reservoirs in searches; runs that are reported begin at zero
HOPELESS = 1e12  # loss of what cannot be computed


class Study(NamedTuple):
    """What a search looks for: a configuration of a model for a task, in a space."""

    task: str
    model: str
    space: str

    def __str__(self) -> str:
        return f"{self.task}, {self.model}, {self.space} space"


@dataclass(frozen=True)
class Budget:
    """When a study is done: after so many finished trials, or so many seconds of a worker."""

    trials: int = 200
    seconds: float = float("inf")


def judging(task: str, model: str) -> Judging:
    """How a model is judged on a task."""
    thoroughly = protocols.of(task, model).judging
    if thoroughly is None:
        raise ValueError(f"{model} on {task} is not searched by studies")
    return thoroughly


def open_study(task: str, model: str, space: str, storage: str) -> "optuna.Study":
    """Open a study, or begin it. `storage` is a folder, or an Optuna storage URL."""
    optuna = require("optuna", "search", purpose="a search")
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    random = judging(task, model).random
    opened: Any = storage
    if "://" not in storage:
        file = study_file(task, model, space, storage)
        file.parent.mkdir(parents=True, exist_ok=True)
        opened = optuna.storages.JournalStorage(JournalFileBackend(str(file)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.create_study(
            study_name=str(Study(task, model, space)),
            storage=opened,
            load_if_exists=True,
            direction="minimize",
            sampler=optuna.samplers.TPESampler(multivariate=True, n_startup_trials=random),
            # Only what is among the better half so far deserves another seed.
            pruner=optuna.pruners.PercentilePruner(50.0, n_startup_trials=8),
        )


def study_file(task: str, model: str, space: str, folder: str) -> Path:
    """Where a study lives in a folder of studies."""
    return Path(folder) / f"{task}--{model.replace(' ', '_')}--{space}.log"


def finished(study: "optuna.Study") -> int:
    """Number of trials that are done, or were given up."""
    from optuna.trial import TrialState

    done = (TrialState.COMPLETE, TrialState.PRUNED)
    return len(study.get_trials(deepcopy=False, states=done))


def work(task: str, model: str, space: str, storage: str, budget: Budget) -> None:
    """Do trials of a study until its budget is spent. Several workers may do so at once."""
    study = open_study(task, model, space, storage)
    penalties, random = spaces.alphas(space), judging(task, model).random
    for known in _starts(task, model, space, storage):
        study.enqueue_trial(known, skip_if_exists=True)
    rng = np.random.default_rng()
    begin = time.monotonic()
    while (done := finished(study)) < budget.trials and time.monotonic() - begin < budget.seconds:
        if done > random and done % 2 and (near := proposals.neighbour(study, rng)):
            study.enqueue_trial(near, skip_if_exists=True)
        study.optimize(
            lambda trial: _objective(trial, study, task, model, space, penalties), n_trials=1
        )
    if "tuned" not in study.user_attrs or study.user_attrs["tuned"]["trials"] < finished(study):
        study.set_user_attr("tuned", asdict(_final(study, task, model, space, penalties)))


def _starts(task: str, model: str, space: str, storage: str) -> list[dict[str, Any]]:
    """Hyperparameters to begin with, from what other studies chose, if they are there.

    The model's own for other tasks and in the paper's space; for a deep model the best of its
    shallow form.
    """
    protocol = protocols.of(task, model)
    elsewhere = [(other, space) for other in protocol.tasks() if other != task]
    if space != "paper":
        elsewhere.insert(0, (task, "paper"))
    chosen = [tuned(other, model, where, storage) for other, where in elsewhere]
    own, shallow = proposals.given(task, model, space), []
    own += [study.configuration for study in chosen if study is not None]
    if models()[model].deep:
        below = model.removesuffix(" (deep)")
        if tuned(task, below, space, storage) is not None:
            study = open_study(task, below, space, storage)
            shallow = proposals.various(study, proposals.SHALLOW)
    return proposals.starts(model, space, own, shallow)


def _objective(
    trial: "Trial",
    study: "optuna.Study",
    task: str,
    model: str,
    space: str,
    penalties: Sequence[float],
) -> float:
    """Mean validation loss over seeds, of the best penalty."""
    import optuna

    start = time.monotonic()
    configuration = spaces.suggest(trial, models()[model], space)
    trial.set_user_attr("configuration", configuration)
    complete = (optuna.trial.TrialState.COMPLETE,)
    for other in study.get_trials(deepcopy=False, states=complete):
        if other.params == trial.params:
            for name in ("alpha", "total"):
                trial.set_user_attr(name, other.user_attrs.get(name))
            return float(other.value)  # type: ignore[arg-type]
    total = np.zeros(len(penalties))
    value, seeds = HOPELESS, judging(task, model).seeds
    for i in range(seeds):
        total += losses(task, model, configuration, penalties, FIRST_SEED + i)
        best = int(total.argmin())
        value = float(total[best]) / (i + 1)
        trial.report(value, i)
        trial.set_user_attr("alpha", penalties[best])
        trial.set_user_attr("seconds", time.monotonic() - start)
        if i + 1 < seeds and trial.should_prune():
            raise optuna.TrialPruned
    trial.set_user_attr("total", total.tolist())
    return value


def losses(
    task: str,
    model: str,
    configuration: dict[str, Any],
    penalties: Sequence[float],
    seed: int,
    final: bool = False,
) -> np.ndarray:
    """Validation loss of every penalty with one seed of data and reservoir.

    `final`: as the finalists of a study are judged, where that takes another readout.
    """
    protocol = protocols.of(task, model)
    try:
        with np.errstate(all="ignore"):
            scores = protocol.validate(task, model, configuration, penalties, seed, final)
    except protocol.failures:  # states without variance, overflow
        return np.full(len(penalties), HOPELESS)
    each = np.array([tasks()[task].loss(float(score)) for score in scores])
    return np.where(np.isfinite(each), each, HOPELESS)


def _final(
    study: "optuna.Study", task: str, model: str, space: str, penalties: Sequence[float]
) -> Tuned:
    """Judge the best configurations again with further seeds, and choose among them."""
    thoroughly = judging(task, model)
    best: tuple[float, Any, float] | None = None
    seen: list[Any] = []
    for trial in _ranked(study):
        configuration = trial.user_attrs["configuration"]
        if configuration in seen:
            continue
        seen.append(configuration)
        mean = _judged_again(study, trial, task, model, penalties)
        least = int(mean.argmin())
        if best is None or mean[least] < best[0]:
            best = float(mean[least]), configuration, penalties[least]
        if len(seen) == thoroughly.finalists:
            break
    if best is None:
        raise RuntimeError(f"no trial of {study.study_name} was completed: give it more time")
    times = [trial.user_attrs.get("seconds", 0.0) for trial in study.get_trials(deepcopy=False)]
    return Tuned(
        task=task,
        model=model,
        space=space,
        configuration=best[1],
        alpha=best[2],
        validation=tasks()[task].loss(best[0]),  # its own inverse
        trials=finished(study),
        seconds=round(sum(times), 1),
        seeds=thoroughly.final_seeds,
    )


def _ranked(study: "optuna.Study") -> list[Any]:
    """Trials that were completed, the best first."""
    from optuna.trial import TrialState

    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return sorted(complete, key=lambda trial: trial.value or 0.0)


def _judged_again(
    study: "optuna.Study", trial: Any, task: str, model: str, penalties: Sequence[float]
) -> np.ndarray:
    """Mean loss of a finalist for every penalty, remembered for later budgets."""
    thoroughly, configuration = judging(task, model), trial.user_attrs["configuration"]
    judge = partial(losses, final=True) if thoroughly.anew else losses
    finals: dict[str, list[float]] = study.user_attrs.get("finals", {})
    key = json.dumps(configuration, sort_keys=True)
    if key not in finals:
        total, judged = np.zeros(len(penalties)), 0
        if not thoroughly.anew and trial.user_attrs.get("total") is not None:
            total, judged = np.array(trial.user_attrs["total"]), thoroughly.seeds
        for seed in range(FIRST_SEED + judged, FIRST_SEED + thoroughly.final_seeds):
            total += judge(task, model, configuration, penalties, seed)
        finals[key] = (total / thoroughly.final_seeds).tolist()
        study.set_user_attr("finals", finals)
    return np.array(finals[key])


def tuned(task: str, model: str, space: str, storage: str) -> Tuned | None:
    """What a study chose, if it is there and done."""
    if "://" not in storage and not study_file(task, model, space, storage).exists():
        return None
    chosen = open_study(task, model, space, storage).user_attrs.get("tuned")
    return None if chosen is None else Tuned(**chosen)

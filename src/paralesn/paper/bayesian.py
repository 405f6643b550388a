"""Bayesian search for configurations by Optuna: resumable, by many workers, on validation data.

A study is a task, a model and a space. Its trials live in an Optuna storage: a file of its own by
default, or whatever a storage URL names, which any number of machines may share. A study that was
stopped resumes, and the trial of a worker that was killed is done by another one; a configuration
drawn twice takes its earlier result, if it was judged by all seeds.
"""

import json
import time
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from paralesn.paper import finalists, proposals, protocols, spaces
from paralesn.paper.catalogue import models, tasks
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocol import Judging
from paralesn.workflows import study_storage
from paralesn.workflows.trial_claims import Claims
from paralesn.workflows.worker_signs import SIGNS, Signs

if TYPE_CHECKING:
    import optuna
    from optuna import Trial

FIRST_SEED = 1000  # of data and reservoirs in searches; runs that are reported begin at zero
HOPELESS = 1e12  # loss of what cannot be computed


class NoTrialError(RuntimeError):
    """A study was over before any trial was."""


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


def open_study(
    task: str, model: str, space: str, storage: str, signs: Signs = SIGNS
) -> "optuna.Study":
    """Open a study, or begin it. `storage` is a folder, or a URL: see `study_storage`."""
    opened = study_storage.opened(storage, study_file(task, model, space, ".").name, signs)
    assert opened is not None
    return study_storage.create_study(
        opened, str(Study(task, model, space)), **_methods(task, model)
    )


def existing_study(task: str, model: str, space: str, storage: str) -> "optuna.Study | None":
    """Open a study to read it, if it is there; nothing is made."""
    file = study_file(task, model, space, ".").name
    opened = study_storage.opened(storage, file, create=False)
    return study_storage.load_study(opened, str(Study(task, model, space)))


def _methods(task: str, model: str) -> dict[str, Any]:
    """How a study proposes configurations and gives them up."""
    import optuna

    return {
        "sampler": _sampler(task, model, 0),
        # Only what is among the better half so far deserves another seed.
        "pruner": optuna.pruners.PercentilePruner(50.0, n_startup_trials=8),
    }


def _sampler(task: str, model: str, seed: int) -> "optuna.samplers.BaseSampler":
    """What suggests configurations."""
    import optuna

    random = judging(task, model).random
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.TPESampler(multivariate=True, n_startup_trials=random, seed=seed)


def study_file(task: str, model: str, space: str, folder: str) -> Path:
    """Where a study lives in a folder of studies."""
    return Path(folder) / f"{task}--{model.replace(' ', '_')}--{space}.log"


def finished(study: "optuna.Study") -> int:
    """Number of trials that are done, or were given up."""
    from optuna.trial import TrialState

    done = (TrialState.COMPLETE, TrialState.PRUNED)
    return len(study.get_trials(deepcopy=False, states=done))


def work(
    task: str, model: str, space: str, storage: str, budget: Budget, signs: Signs = SIGNS
) -> None:
    """Do trials of a study until its budget is spent, then judge its finalists.

    Any number of workers may do so at once, on any number of machines.
    """
    study = open_study(task, model, space, storage, signs)
    claims = Claims(study, signs)
    penalties, random = spaces.alphas(space), judging(task, model).random
    for known in _starts(task, model, space, storage):
        claims.enqueue(_key(known), known)
    begin = time.monotonic()

    def propose() -> None:
        # By the number of the trial, so that a study that resumes goes on as if it had not stopped.
        number = len(study.get_trials(deepcopy=False))
        rng = np.random.default_rng([zlib.crc32(study.study_name.encode()), number])
        study.sampler = _sampler(task, model, int(rng.integers(2**31)))
        done = finished(study)
        if done > random and done % 2 and (near := proposals.neighbour(study, rng)):
            claims.enqueue(_key(near), near)

    def is_over() -> bool:
        return time.monotonic() - begin >= budget.seconds

    for trial, _ in claims.until_settled(budget.trials, is_over, propose):
        claims.run(trial, lambda one: _objective(one, study, task, model, space, penalties))
    if "tuned" not in study.user_attrs or study.user_attrs["tuned"]["trials"] < finished(study):
        study.set_user_attr("tuned", asdict(_final(study, task, model, space, penalties, signs)))


def _key(params: dict[str, Any]) -> str:
    """What a trial with these hyperparameters is known by, whichever worker enqueues it."""
    return json.dumps(params, sort_keys=True)


def _starts(task: str, model: str, space: str, storage: str) -> list[dict[str, Any]]:
    """Hyperparameters to begin with: what other studies chose, then what comes with the package.

    Of the model, for the task in the paper's space and for other tasks like it; for a deep model
    the best of its shallow form. A shipped configuration stands in for a study that is not there.
    """
    protocol = protocols.of(task, model)
    known = protocol.tasks()
    alike = [name for name in known if known[name].wanders == known[task].wanders]
    elsewhere = [(other, space) for other in alike if other != task]
    if space != "paper":
        elsewhere.insert(0, (task, "paper"))
    own, shallow = proposals.given(task, model, space), []
    shipped = [protocol.shipped(task, model, space)]
    for at, where in elsewhere:
        found = tuned(at, model, where, storage)
        own += [] if found is None else [found.configuration]
        shipped += [protocol.shipped(at, model, where)] if found is None else []
    stacked = []
    if models()[model].deep:
        below = model.removesuffix(" (deep)")
        study = existing_study(task, below, space, storage)
        if study is not None and "tuned" in study.user_attrs:
            shallow = proposals.various(study, proposals.SHALLOW)
        elif (layer := protocol.shipped(task, below, space)) is not None:
            stacked = [layer.configuration]
    as_shipped = [one.configuration for one in shipped if one is not None]
    return [
        *proposals.starts(task, model, space, own, shallow),
        *proposals.starts(task, model, space, as_shipped, stacked),
    ]


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
    configuration = spaces.suggest(trial, models()[model], space, tasks()[task])
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
    study: "optuna.Study",
    task: str,
    model: str,
    space: str,
    penalties: Sequence[float],
    signs: Signs,
) -> Tuned:
    """Judge the best configurations again with further seeds, and choose among them."""
    thoroughly = judging(task, model)
    wanted = finalists.best(study, thoroughly.finalists)
    if not wanted:
        raise NoTrialError(f"no trial of {study.study_name} was completed: give it more time")

    def judge(trial: "Trial") -> float:
        spaces.suggest(
            trial, models()[model], space, tasks()[task]
        )  # so that they are seen beside the result
        return _judge_again(trial, task, model, penalties)

    means = finalists.judged(study, wanted, judge, signs)
    chosen = min(means, key=lambda number: min(means[number]))
    configuration = wanted[chosen].user_attrs["configuration"]
    times = [trial.user_attrs.get("seconds", 0.0) for trial in study.get_trials(deepcopy=False)]
    return Tuned(
        task=task,
        model=model,
        space=space,
        configuration=configuration,
        alpha=penalties[int(np.argmin(means[chosen]))],
        validation=tasks()[task].loss(min(means[chosen])),  # its own inverse
        trials=finished(study),
        seconds=round(sum(times), 1),
        seeds=thoroughly.final_seeds,
    )


def _judge_again(trial: "Trial", task: str, model: str, penalties: Sequence[float]) -> float:
    """Mean loss of a finalist over all final seeds, of the best penalty; of every one on record."""
    thoroughly, configuration = judging(task, model), trial.user_attrs["configuration"]
    judge = partial(losses, final=True) if thoroughly.anew else losses
    total, judged = np.zeros(len(penalties)), 0
    if not thoroughly.anew and trial.user_attrs.get("total") is not None:
        total, judged = np.array(trial.user_attrs["total"]), thoroughly.seeds
    for seed in range(FIRST_SEED + judged, FIRST_SEED + thoroughly.final_seeds):
        total += judge(task, model, configuration, penalties, seed)
    mean = total / thoroughly.final_seeds
    trial.set_user_attr(finalists.MEANS, mean.tolist())
    return float(mean.min())


def tuned(task: str, model: str, space: str, storage: str) -> Tuned | None:
    """What a study chose, if it is there and done."""
    study = existing_study(task, model, space, storage)
    chosen = None if study is None else study.user_attrs.get("tuned")
    return None if chosen is None else Tuned(**chosen)

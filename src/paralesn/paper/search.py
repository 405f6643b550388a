"""The search for configurations: Bayesian, resumable, by many workers, judged on validation data.

A study is a task, a model and a space. Its trials live in an Optuna storage: a file of its own by
default, or whatever a storage URL names, which any number of machines may share. What was finished
is never repeated: a study goes on where it stands, and a configuration drawn twice takes its
earlier result, if it was judged by all seeds.
"""

import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import LinAlgError

from paralesn.files import require
from paralesn.paper import proposals, spaces, workers
from paralesn.paper.catalogue import models, tasks, tasks_of
from paralesn.paper.protocols import classification, regression, trained

if TYPE_CHECKING:
    from optuna import Study, Trial

FIRST_SEED = 1000  # of data and reservoirs in searches; runs that are reported begin at zero
_HOPELESS = 1e12  # loss of what cannot be computed


@dataclass(frozen=True)
class Judging:
    """How thoroughly a study judges."""

    seeds: int  # of a configuration, unless it is given up before
    finalists: int  # best configurations, judged again
    final_seeds: int  # by so many seeds in all
    random: int  # trials before the sampler learns from what it saw


# A trial of classification takes seconds, not milliseconds; one of MNIST's finalists minutes.
JUDGING = {
    "regression": Judging(seeds=3, finalists=6, final_seeds=9, random=24),
    "classification": Judging(seeds=2, finalists=3, final_seeds=4, random=8),
    "mnist": Judging(seeds=1, finalists=2, final_seeds=1, random=6),
}


@dataclass(frozen=True)
class Budget:
    """When a study is done: after so many finished trials, or so many seconds of a worker."""

    trials: int = 200
    seconds: float = float("inf")


@dataclass(frozen=True)
class Tuned:
    """The configuration a study chose, and what is known of how it was found."""

    task: str
    model: str
    space: str
    configuration: dict[str, Any]
    alpha: float
    validation: float  # the metric, mean over the seeds of the final
    trials: int
    seconds: float
    seeds: int


def open_study(task: str, model: str, space: str, storage: str) -> "Study":
    """Open a study, or begin it. `storage` is a folder, or an Optuna storage URL."""
    optuna = require("optuna", "search", purpose="a search")
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    name, random = f"{task}, {model}, {space} space", JUDGING[tasks()[task].kind].random
    place: Any = storage
    if "://" not in storage:
        file = study_file(task, model, space, storage)
        file.parent.mkdir(parents=True, exist_ok=True)
        place = optuna.storages.JournalStorage(JournalFileBackend(str(file)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.create_study(
            study_name=name,
            storage=place,
            load_if_exists=True,
            direction="minimize",
            sampler=optuna.samplers.TPESampler(multivariate=True, n_startup_trials=random),
            # Only what is among the better half so far deserves another seed.
            pruner=optuna.pruners.PercentilePruner(50.0, n_startup_trials=8),
        )


def study_file(task: str, model: str, space: str, folder: str) -> Path:
    """Where a study lives in a folder of studies."""
    return Path(folder) / f"{task}--{model.replace(' ', '_')}--{space}.log"


def finished(study: "Study") -> int:
    """Number of trials that are done, or were given up."""
    from optuna.trial import TrialState

    done = (TrialState.COMPLETE, TrialState.PRUNED)
    return len(study.get_trials(deepcopy=False, states=done))


def work(task: str, model: str, space: str, storage: str, budget: Budget) -> None:
    """Do trials of a study until its budget is spent. Several workers may do so at once."""
    study = open_study(task, model, space, storage)
    penalties, random = spaces.alphas(space), JUDGING[tasks()[task].kind].random
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
    elsewhere = [(other, space) for other in tasks_of(tasks()[task].kind) if other != task]
    if space != "paper":
        elsewhere.insert(0, (task, "paper"))
    found = [tuned(other, model, where, storage) for other, where in elsewhere]
    own, shallow = proposals.given(task, model, space), []
    own += [one.configuration for one in found if one is not None]
    if models()[model].deep:
        below = model.removesuffix(" (deep)")
        if tuned(task, below, space, storage) is not None:
            study = open_study(task, below, space, storage)
            shallow = proposals.various(study, proposals.SHALLOW)
    return proposals.starts(model, space, own, shallow)


def _objective(
    trial: "Trial",
    study: "Study",
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
    value, seeds = _HOPELESS, JUDGING[tasks()[task].kind].seeds
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
    if models()[model].trained:
        return np.full(len(penalties), _training_loss(task, model, configuration, seed))
    if tasks()[task].kind == "regression":
        reservoir = regression.build(models()[model], configuration, seed)
        judge = regression.validate
    else:
        reservoir = classification.build(models()[model], configuration, seed, task)
        judging = classification.validate_finalist if final else classification.validate
        judge = partial(judging, model=models()[model])
    try:
        with np.errstate(all="ignore"):
            scores = judge(task, reservoir=reservoir, penalties=penalties, seed=seed)
    except (LinAlgError, FloatingPointError, ValueError):  # states without variance, overflow
        return np.full(len(penalties), _HOPELESS)
    found = np.array([tasks()[task].loss(float(score)) for score in scores])
    return np.where(np.isfinite(found), found, _HOPELESS)


def _training_loss(task: str, model: str, configuration: dict[str, Any], seed: int) -> float:
    """Validation loss of a short training; there is no penalty to choose."""
    try:
        return tasks()[task].loss(trained.validate(task, model, configuration, seed))
    except FloatingPointError:  # too large a learning rate
        return _HOPELESS


def _final(study: "Study", task: str, model: str, space: str, penalties: Sequence[float]) -> Tuned:
    """Judge the best configurations again with further seeds, and choose among them."""
    from optuna.trial import TrialState

    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    ranked = sorted(complete, key=lambda trial: trial.value or 0.0)
    judging = JUDGING[tasks()[task].kind]
    judge = partial(losses, final=True) if tasks()[task].kind == "mnist" else losses
    best: tuple[float, Any, float] | None = None
    seen: list[Any] = []
    finals: dict[str, list[float]] = study.user_attrs.get("finals", {})  # of earlier budgets
    for trial in ranked:
        configuration = trial.user_attrs["configuration"]
        if configuration in seen:
            continue
        seen.append(configuration)
        key = json.dumps(configuration, sort_keys=True)
        if key not in finals:
            total, judged = np.zeros(len(penalties)), 0
            if tasks()[task].kind != "mnist" and trial.user_attrs.get("total") is not None:
                total, judged = np.array(trial.user_attrs["total"]), judging.seeds
            for seed in range(FIRST_SEED + judged, FIRST_SEED + judging.final_seeds):
                total += judge(task, model, configuration, penalties, seed)
            finals[key] = (total / judging.final_seeds).tolist()
            study.set_user_attr("finals", finals)
        mean = np.array(finals[key])
        place = int(mean.argmin())
        if best is None or mean[place] < best[0]:
            best = float(mean[place]), configuration, penalties[place]
        if len(seen) == judging.finalists:
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
        seeds=judging.final_seeds,
    )


def tuned(task: str, model: str, space: str, storage: str) -> Tuned | None:
    """What a study chose, if it is there and done."""
    if "://" not in storage and not study_file(task, model, space, storage).exists():
        return None
    found = open_study(task, model, space, storage).user_attrs.get("tuned")
    return None if found is None else Tuned(**found)


def search(
    wanted: Sequence[tuple[str, str, str]],
    storage: str,
    budget: Budget,
    jobs: int,
    progress: Any = None,
) -> None:
    """Do studies (task, model, space) with `jobs` processes; several to each where jobs abound.

    `progress` is called with a study each time a worker is done with it.
    """
    each = max(1, jobs // max(1, len(wanted)))
    # Shallow models first, in the paper's space first: later studies begin with what they found.
    wanted = sorted(wanted, key=lambda one: (spaces.SPACES.index(one[2]), models()[one[1]].deep))
    studies = [study for study in wanted for _ in range(each)]
    calls = [(*study, storage, budget) for study in studies]
    for number, _ in workers.each(work, calls, jobs):
        if progress is not None:
            progress(studies[number])

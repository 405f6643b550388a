"""What each hyperparameter does to the validation error, from the trials on record."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from paralesn.files import machine, save_figure, versions
from paralesn.paper.bayesian import HOPELESS, existing_study
from paralesn.paper.catalogue import Task, tasks
from paralesn.workflows.study_storage import hidden

_BINS = 6  # of hyperparameters drawn from a range


@dataclass(frozen=True)
class Effect:
    """One hyperparameter: its values, and the metric of the trials with each of them.

    Attributes
    ----------
    name : str
    labels : tuple of str
        Values, or the middle of a range of them.
    scores : tuple of arrays
        The validation metric of the trials, for each of the labels.
    share : float
        How much of the variance of the metric's ranks it explains alone.
    """

    name: str
    labels: tuple[str, ...]
    scores: tuple[np.ndarray, ...]
    share: float


@dataclass(frozen=True)
class Effects:
    """All hyperparameters of a study, the most important first."""

    task: Task
    model: str
    space: str
    trials: int
    effects: tuple[Effect, ...]


class TooFewTrialsError(ValueError):
    """There is no study, or too little of one."""


def effects(task: str, model: str, space: str, storage: str) -> Effects:
    """Effects from the trials of a study, those given up early included."""
    from optuna.trial import TrialState

    study = existing_study(task, model, space, storage)
    if study is None:
        raise TooFewTrialsError(
            f"studies must hold one of {task}, {model}, {space} space, got none in "
            f"{hidden(storage)!r}"
        )
    states = (TrialState.COMPLETE, TrialState.PRUNED)
    trials = [
        trial
        for trial in study.get_trials(deepcopy=False, states=states)
        if trial.intermediate_values and trial.intermediate_values[0] < HOPELESS
    ]
    if len(trials) < 10:
        raise TooFewTrialsError(
            f"studies must hold at least 10 trials of {task}, {model}, {space} space, got "
            f"{len(trials)}"
        )
    # Every trial was judged by the first seed, only those not given up by further ones.
    losses = np.array([trial.intermediate_values[0] for trial in trials])
    ranks = losses.argsort().argsort()
    scores = np.array([tasks()[task].loss(loss) for loss in losses])
    every = []
    for name in trials[0].params:
        groups = _groups([trial.params[name] for trial in trials])
        means = [(ranks[rows].mean(), len(rows)) for _, rows in groups]
        between = sum(n * (mean - ranks.mean()) ** 2 for mean, n in means)
        share = between / max(((ranks - ranks.mean()) ** 2).sum(), 1e-300)
        shown = tuple(scores[rows] for _, rows in groups)
        every.append(Effect(name, tuple(label for label, _ in groups), shown, float(share)))
    every.sort(key=lambda effect: -effect.share)
    return Effects(tasks()[task], model, space, len(trials), tuple(every))


def _groups(values: list[Any]) -> list[tuple[str, np.ndarray]]:
    """Labels and rows of equal values, or of each sixth of them where they are continuous."""
    array = np.array(values)
    kinds = sorted(set(values), key=lambda v: (isinstance(v, str), v))
    if len(kinds) <= 12:
        return [
            (f"{kind:.3g}" if isinstance(kind, float) else str(kind), np.flatnonzero(array == kind))
            for kind in kinds
        ]
    bins = np.array_split(array.argsort(), _BINS)
    return [(f"{np.median(array[rows]):.3g}", rows) for rows in bins]


def as_record(measured: Effects) -> dict[str, Any]:
    """Effects summed up, with what is needed to draw them again."""
    best = max if measured.task.better == "higher" else min
    return {
        "experiment": "sensitivity",
        "task": measured.task.name,
        "model": measured.model,
        "space": measured.space,
        "trials": measured.trials,
        "effects": [
            {
                "name": effect.name,
                "share": effect.share,
                "values": [
                    {
                        "value": label,
                        "trials": len(scores),
                        "best": float(best(scores)),
                        "quartiles": [float(q) for q in np.percentile(scores, (25, 50, 75))],
                    }
                    for label, scores in zip(effect.labels, effect.scores, strict=True)
                ],
            }
            for effect in measured.effects
        ],
        "versions": versions("optuna"),
        "machine": machine(),
    }


def table(measured: Effects) -> Table:
    """The best and the median of each value, the most important hyperparameter first."""
    shown = Table(
        title=f"{measured.task.title}, {measured.model}, {measured.space} space, "
        f"{measured.trials} trials",
        title_justify="left",
    )
    for column in ("hyperparameter", "share of variance", "value", "trials", "best", "median"):
        shown.add_column(column, justify="left" if column == "hyperparameter" else "right")
    best = max if measured.task.better == "higher" else min
    for effect in measured.effects:
        rows = zip(effect.labels, effect.scores, strict=True)
        for i, (label, scores) in enumerate(rows):
            name, share = (effect.name, f"{effect.share:.0%}") if i == 0 else ("", "")
            numbers = f"{best(scores):.4g}", f"{np.median(scores):.4g}"
            shown.add_row(name, share, label, str(len(scores)), *numbers)
    return shown


def plot(measured: Effects, path: Path) -> None:
    """Box plots of the metric, one panel for each hyperparameter."""
    from matplotlib.figure import Figure

    columns = 4
    rows = -(-len(measured.effects) // columns)
    figure = Figure(figsize=(3.2 * columns, 2.6 * rows), layout="constrained")
    panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for panel, effect in zip(panels, measured.effects, strict=False):
        panel.boxplot(effect.scores, tick_labels=effect.labels, showfliers=False, widths=0.6)
        panel.set_title(f"{effect.name} ({effect.share:.0%})", fontsize="medium")
        panel.tick_params(axis="x", labelsize="small", rotation=30 if len(effect.labels) > 5 else 0)
        if measured.task.better == "lower" and all((s > 0).all() for s in effect.scores):
            panel.set_yscale("log")
        panel.grid(axis="y", color="0.9")
    for panel in panels[len(measured.effects) :]:
        panel.remove()
    figure.suptitle(
        f"{measured.model} on {measured.task.title}: validation metric by hyperparameter (share of "
        f"the ranks' variance), {measured.trials} trials"
    )
    save_figure(figure, path)

"""Models compared over all benchmarks: trade-off of score and time, ranks, critical differences.

Trade-off, as the paper defines it: a model's improvement over the ESN on every benchmark, in
percent of the ESN's figure, averaged over benchmarks; the averages are mapped to [0, 1], 0 being
the worst model and 1 the best. Done once with scores and once with seconds of training.

Critical differences, as `aeon.visualisation.plot_critical_difference` finds them: if Friedman's
test sees no difference between the models at all, all are one clique. Otherwise each model is
compared with those of a worse average rank by Wilcoxon's signed-rank test, one-sided, at a level
divided by the number of models less one (Holm). A clique is a run of neighbours none of which is
told apart from the first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from paralesn.files import require, save_figure
from paralesn.paper.catalogue import Task, tasks

LEVEL = 0.05
LEAST_TASKS, LEAST_MODELS = 5, 3  # for tests to mean anything
BASELINE = "ESN"
Table = Mapping[tuple[str, str], float]  # a figure by task and model


@dataclass(frozen=True)
class TradeOff:
    """Average improvements over the ESN in percent, and the same mapped to [0, 1]."""

    tasks: tuple[str, ...]
    improvement: dict[str, float]
    time_saved: dict[str, float]
    score: dict[str, float]
    speed: dict[str, float]


@dataclass(frozen=True)
class Ranking:
    """Average ranks, best first, and which models cannot be told apart.

    `p_values[i, j]` with i < j belongs to "model i does better than model j"; NaN elsewhere.
    `friedman`, `p_values` and `cliques` are None where there is too little to test.
    """

    tasks: tuple[str, ...]
    models: tuple[str, ...]
    ranks: tuple[float, ...]
    friedman: float | None
    p_values: np.ndarray | None
    cliques: tuple[tuple[str, ...], ...] | None


def shared(
    figures: Table, names: Sequence[str], catalogue: Mapping[str, Task] | None = None
) -> tuple[list[str], list[str], list[str]]:
    """Models among `names` with any figure, tasks that all of these have, and other tasks.

    Tasks are those of a `catalogue`, by default the paper's.
    """
    measured = {model for _, model in figures}
    models = [model for model in names if model in measured]
    any_model = {task for task, model in figures if model in models}
    known = [task for task in catalogue or tasks() if task in any_model]
    complete = [task for task in known if all((task, model) in figures for model in models)]
    return models, complete, [task for task in known if task not in complete]


def trade_off(
    scores: Table,
    seconds: Table,
    names: Sequence[str],
    catalogue: Mapping[str, Task] | None = None,
) -> TradeOff | None:
    """Improvements over the ESN, or None where there is nothing to compare."""
    known = catalogue or tasks()
    models, over, _ = shared(scores, names, known)
    if BASELINE not in models or len(models) < 2:
        return None
    over = [task for task in over if scores[task, BASELINE] != 0]  # there are no percents of zero
    if not over:
        return None
    better, faster = {}, {}
    for model in models:
        gains, saved = [], []
        for task in over:
            base, own = (known[task].loss(scores[task, name]) for name in (BASELINE, model))
            gains.append(100 * (base - own) / abs(base))
            spent = seconds[task, model] / seconds[task, BASELINE]
            saved.append(100 * (1 - spent))
        better[model], faster[model] = float(np.mean(gains)), float(np.mean(saved))
    return TradeOff(tuple(over), better, faster, _between(better), _between(faster))


def _between(values: dict[str, float]) -> dict[str, float]:
    """Values mapped linearly to [0, 1]."""
    low, high = min(values.values()), max(values.values())
    return {
        name: (value - low) / (high - low) if high > low else 1.0 for name, value in values.items()
    }


def ranking(scores: Table, names: Sequence[str]) -> Ranking | None:
    """Average ranks and cliques, or None where there is nothing to rank."""
    models, over, _ = shared(scores, names)
    if len(models) < 2 or not over:
        return None
    losses = np.array([[tasks()[t].loss(scores[t, m]) for m in models] for t in over])
    ranks = rankdata(losses, axis=1)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    ordered = tuple(models[i] for i in order)
    average = tuple(float(rank) for rank in ranks.mean(axis=0)[order])
    if len(over) < LEAST_TASKS or len(models) < LEAST_MODELS:
        return Ranking(tuple(over), ordered, average, None, None, None)
    losses = losses[:, order]
    alike = (ranks == ranks[:, :1]).all()  # all models the same everywhere: Friedman has no answer
    friedman = 1.0 if alike else float(friedmanchisquare(*losses.T).pvalue)
    p_values = pairwise(losses)
    cliques = (ordered,) if friedman >= LEVEL else _cliques(ordered, p_values)
    return Ranking(tuple(over), ordered, average, friedman, p_values, cliques)


def pairwise(losses: np.ndarray) -> np.ndarray:
    """P-values (models, models) of "i has smaller losses than j", i < j; losses (tasks, models)."""
    count = losses.shape[1]
    p_values = np.full((count, count), np.nan)
    for i in range(count):
        for j in range(i + 1, count):
            same = (losses[:, i] == losses[:, j]).all()
            test = None if same else wilcoxon(losses[:, i], losses[:, j], alternative="less")
            p_values[i, j] = 1.0 if test is None else float(test.pvalue)
    return p_values


def _cliques(names: tuple[str, ...], p_values: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """Runs of neighbours that the first is not told apart from, none within another."""
    level, reach, cliques = LEVEL / (len(names) - 1), 0, []
    for first in range(len(names)):
        last = first
        while last + 1 < len(names) and p_values[first, last + 1] > level:
            last += 1
        if last > max(first, reach):
            cliques.append(names[first : last + 1])
            reach = last
    return tuple(cliques)


def as_data(result: TradeOff | Ranking | None) -> dict[str, Any] | None:
    """A result as plain data, for scripts."""
    if isinstance(result, TradeOff):
        names = ("improvement", "time_saved", "score", "speed")
        by_model = {m: {name: getattr(result, name)[m] for name in names} for m in result.score}
        return {"tasks": list(result.tasks), "models": by_model}
    if isinstance(result, Ranking):
        pairs = {}
        if result.p_values is not None:
            for i, better in enumerate(result.models):
                for j in range(i + 1, len(result.models)):
                    pairs[f"{better} < {result.models[j]}"] = float(result.p_values[i, j])
        return {
            "tasks": list(result.tasks),
            "average_ranks": dict(zip(result.models, result.ranks, strict=True)),
            "friedman": result.friedman,
            "wilcoxon": pairs,
            "level": LEVEL,
            "cliques": None if result.cliques is None else [list(c) for c in result.cliques],
        }
    return None


def draw(scores: Table, names: Sequence[str], path: Path) -> None:
    """Have aeon draw the critical-difference diagram, as PNG."""
    require("aeon", "aeon,plot", purpose="the diagram")
    require("matplotlib", "aeon,plot", purpose="the diagram").use("Agg")
    from aeon.visualisation import plot_critical_difference
    from matplotlib import pyplot as plt

    models, over, _ = shared(scores, names)
    losses = np.array([[tasks()[t].loss(scores[t, m]) for m in models] for t in over])
    room = {"width": 9, "textspace": 2.9}  # inches; names are long
    figure, _axes = plot_critical_difference(losses, models, lower_better=True, alpha=LEVEL, **room)
    try:
        save_figure(figure, path)
    finally:
        plt.close(figure)

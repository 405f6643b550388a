"""What each hyperparameter does to the validation error, from trials on record."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, rankdata

from paralesn.paper.catalogue import Task, tasks
from paralesn.paper.records import Record
from paralesn.paper.studies.published_sensitivity import claims, groups
from paralesn.paper.studies.sensitivity_trials import Trials

_BINS = 6  # of hyperparameters drawn from a range
_ANGLES = {np.pi / 2: "π/2", np.pi: "π", 2 * np.pi: "2π"}


@dataclass(frozen=True)
class Explained:
    """How much of the variance of the metric's ranks is between the values of a hyperparameter.

    Attributes
    ----------
    share : float
        Eta squared of a one-way analysis of variance.
    chance : float
        What it would be on average if nothing depended on the hyperparameter.
    p : float or None
        How often it would be as large then (Kruskal-Wallis); None where trials depend on earlier
        ones.
    """

    share: float
    chance: float
    p: float | None


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
    explained : Explained
        By this hyperparameter alone.
    """

    name: str
    labels: tuple[str, ...]
    scores: tuple[np.ndarray, ...]
    explained: Explained


@dataclass(frozen=True)
class Effects:
    """All hyperparameters of a study, the most important first.

    Attributes
    ----------
    trials : Trials
    effects : tuple of Effect
        Minimum and maximum of a pair apart.
    pairs : dict of str to Explained
        What minimum and maximum explain together.
    """

    trials: Trials
    effects: tuple[Effect, ...]
    pairs: dict[str, Explained]

    @property
    def task(self) -> Task:
        """The task of the study."""
        return tasks()[self.trials.study.task]

    @property
    def groups(self) -> dict[str, list[Effect]]:
        """Effects by the panel of the paper's figures that shows them."""
        by_name = {effect.name: effect for effect in self.effects}
        return {title: [by_name[n] for n in names] for title, names in groups(by_name).items()}


def effects(trials: Trials) -> Effects:
    """Effects of all hyperparameters."""
    ranks = rankdata([tasks()[trials.study.task].loss(score) for score in trials.scores])
    kinds = {name: _kinds(name, values) for name, values in trials.columns.items()}
    every = []
    for name, of_name in kinds.items():
        scores = tuple(trials.scores[rows] for _, rows in of_name)
        found = _explained(ranks, [rows for _, rows in of_name], trials.source)
        every.append(Effect(name, tuple(label for label, _ in of_name), scores, found))
    every.sort(key=lambda effect: -effect.explained.share)
    pairs = {
        pair: _explained(ranks, _crossed(kinds[f"{pair} min"], kinds[name]), trials.source)
        for name in kinds
        if (pair := name.removesuffix(" max")) != name and f"{pair} min" in kinds
    }
    return Effects(trials, tuple(every), pairs)


def _explained(ranks: np.ndarray, groups: Sequence[np.ndarray], source: str) -> Explained:
    between = sum(len(rows) * (ranks[rows].mean() - ranks.mean()) ** 2 for rows in groups)
    share = float(between / max(((ranks - ranks.mean()) ** 2).sum(), 1e-300))
    freedom, most = len(groups) - 1, len(ranks) - 1
    p = float(chi2.sf(most * share, freedom)) if source == "random" and freedom else None
    return Explained(share, freedom / most, p)


Kinds = list[tuple[str, np.ndarray]]  # labels of values, and the rows of the trials with each


def _kinds(name: str, values: Sequence[Any]) -> Kinds:
    """Equal values, or each sixth of them where they are continuous."""
    array = np.array(values)
    kinds = sorted(set(values), key=lambda v: (isinstance(v, str), v))
    if len(kinds) <= 12:
        return [(_label(name, kind), np.flatnonzero(array == kind)) for kind in kinds]
    bins = np.array_split(array.argsort(), _BINS)
    return [(f"{np.median(array[rows]):.3g}", rows) for rows in bins]


def _label(name: str, value: Any) -> str:
    """A value as it stands below a box; phases of the paper's space as multiples of π."""
    if not isinstance(value, float):
        return str(value)
    angle = _ANGLES.get(value) if "theta" in name else None
    return angle or f"{value:.3g}"


def _crossed(one: Kinds, other: Kinds) -> list[np.ndarray]:
    """Rows of the trials with each combination of values that there is."""
    each = (np.intersect1d(rows, others) for _, rows in one for _, others in other)
    return [rows for rows in each if len(rows)]


def as_record(measured: Effects) -> Record:
    """Effects summed up, with what is needed to draw them again."""
    best = max if measured.task.better == "higher" else min
    trials = measured.trials
    record: Record = {
        "experiment": "sensitivity",
        **trials.study._asdict(),
        "source": trials.source,
        "shipped": trials.is_shipped,
        "trials": len(trials.scores),
        "seeds": trials.seeds,
        "effects": [
            {
                "name": effect.name,
                **asdict(effect.explained),
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
        "pairs": [{"name": name, **asdict(both)} for name, both in measured.pairs.items()],
    }
    return record | {"claims": [asdict(one) for one in claims(record)]} | trials.surroundings

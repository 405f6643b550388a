"""What each hyperparameter does to the validation error, from trials on record."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.table import Table
from scipy.stats import chi2, rankdata

from paralesn.paper.catalogue import Task, tasks
from paralesn.paper.fields import is_number
from paralesn.paper.records import Record
from paralesn.paper.studies.published_sensitivity import Claim, claims, groups
from paralesn.paper.studies.sensitivity_trials import Trials

_BINS = 6  # of hyperparameters drawn from a range
_ANGLES = {np.pi / 2: "π/2", np.pi: "π", 2 * np.pi: "2π"}
SOURCES = {"random": "random trials", "search": "trials of a search"}


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
    chance : float
        What it would explain on average if it did nothing.
    p : float or None
        How often it would explain so much if it did nothing (Kruskal-Wallis); None where trials
        depend on earlier ones.
    """

    name: str
    labels: tuple[str, ...]
    scores: tuple[np.ndarray, ...]
    share: float
    chance: float
    p: float | None


@dataclass(frozen=True)
class Effects:
    """All hyperparameters of a study, the most important first."""

    trials: Trials
    effects: tuple[Effect, ...]

    @property
    def task(self) -> Task:
        """The task of the study."""
        return tasks()[self.trials.study.task]

    @property
    def groups(self) -> dict[str, list[Effect]]:
        """Effects by the panel of the paper's figures that shows them."""
        by_name = {effect.name: effect for effect in self.effects}
        return {title: [by_name[n] for n in names] for title, names in groups(by_name).items()}

    @property
    def claims(self) -> list[Claim]:
        """What the paper says matters most and least, beside the shares."""
        study = self.trials.study
        return claims(study.task, study.model, {one.name: one.share for one in self.effects})


def effects(trials: Trials) -> Effects:
    """Effects of all hyperparameters."""
    losses = [tasks()[trials.study.task].loss(score) for score in trials.scores]
    ranks = rankdata(losses)
    every = [_effect(name, values, trials, ranks) for name, values in trials.columns.items()]
    every.sort(key=lambda effect: -effect.share)
    return Effects(trials, tuple(every))


def _effect(name: str, values: Sequence[Any], trials: Trials, ranks: np.ndarray) -> Effect:
    """The share is that of a one-way analysis of variance of the ranks, eta squared."""
    kinds = _kinds(name, values)
    means = [(ranks[rows].mean(), len(rows)) for _, rows in kinds]
    between = sum(number * (mean - ranks.mean()) ** 2 for mean, number in means)
    share = float(between / max(((ranks - ranks.mean()) ** 2).sum(), 1e-300))
    freedom, most = len(kinds) - 1, len(ranks) - 1
    p = float(chi2.sf(most * share, freedom)) if trials.source == "random" and freedom else None
    labels, scores = zip(*((label, trials.scores[rows]) for label, rows in kinds), strict=True)
    return Effect(name, labels, scores, share, freedom / most, p)


def _kinds(name: str, values: Sequence[Any]) -> list[tuple[str, np.ndarray]]:
    """Labels and rows of equal values, or of each sixth of them where they are continuous."""
    array = np.array(values)
    kinds = sorted(set(values), key=lambda v: (isinstance(v, str), v))
    if len(kinds) <= 12:
        return [(_label(name, kind), np.flatnonzero(array == kind)) for kind in kinds]
    bins = np.array_split(array.argsort(), _BINS)
    return [(f"{np.median(array[rows]):.3g}", rows) for rows in bins]


def _label(name: str, value: Any) -> str:
    """A value as it stands below a box; phases that the space names by π as shares of it."""
    if not isinstance(value, float):
        return str(value)
    angle = _ANGLES.get(value) if "theta" in name else None
    return angle or f"{value:.3g}"


# -- what is kept and printed ----------------------------------------------------------------------


def title(record: Record) -> str:
    """Which trials a record of a study sums up; of earlier ones, those of a search."""
    source = SOURCES.get(record.get("source", "search"), SOURCES["search"])
    seeds = record.get("seeds", 1)
    judged = "one seed" if seeds == 1 else f"{seeds} seeds each"
    return (
        f"{tasks()[record['task']].title}, {record['model']}, {record['space']} space: "
        f"{record['trials']} {source}, {judged}"
    )


def as_record(measured: Effects) -> Record:
    """Effects summed up, with what is needed to draw them again."""
    best = max if measured.task.better == "higher" else min
    trials = measured.trials
    return {
        "experiment": "sensitivity",
        **trials.study._asdict(),
        "source": trials.source,
        "shipped": trials.is_shipped,
        "trials": len(trials.scores),
        "seeds": trials.seeds,
        "effects": [
            {
                "name": effect.name,
                "share": effect.share,
                "chance": effect.chance,
                "p": effect.p,
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
        "claims": [asdict(claim) | {"holds": claim.holds} for claim in measured.claims],
        **trials.surroundings,
    }


def file_name(record: Record) -> str:
    """How files about a record are called."""
    model = record["model"].replace(" (deep)", "-deep").replace(" ", "-")
    ending = "-random" if record["source"] == "random" else ""
    return f"{record['task']}-{model}-{record['space']}{ending}"


def origin(record: Record) -> str:
    """Where trials are from, with what and on which machine they were done."""
    used = ", ".join(f"{name} {number}" for name, number in record.get("versions", {}).items())
    machine = record.get("machine", {})
    on = ", ".join(str(machine.get(name, "?")) for name in ("system", "processor"))
    whose = "come with the package, done" if record.get("shipped") else "were done"
    return f"The trials {whose} with {used or 'unknown versions'} on {on}."


def shares(record: Record) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of a table of shares, the largest first, beside what the paper says."""
    said = {name: claim.says for claim in _claims(record) for name in claim.names}
    where = groups(effect["name"] for effect in record["effects"])
    panel = {name: title for title, names in where.items() for name in names}
    every = sorted(record["effects"], key=lambda effect: -effect["share"])
    columns = ["Place", "Hyperparameter", "Panel", "Share", "By chance", "p"]
    rows = [
        [
            str(place), one["name"], panel[one["name"]], f"{one['share']:.1%}",
            f"{one['chance']:.1%}" if is_number(one.get("chance")) else "", _chance(one.get("p")),
            *([said.get(one["name"], "")] if said else []),
        ]
        for place, one in enumerate(every, 1)
    ]  # fmt: skip
    return [*columns, *(["Paper"] if said else [])], rows


def _chance(p: Any) -> str:
    """A probability as it stands in a table."""
    if not isinstance(p, float):
        return ""
    return "<0.001" if p < 1e-3 else f"{p:.2g}"


def _claims(record: Record) -> list[Claim]:
    """The paper's claims beside the shares of a record."""
    measured = {effect["name"]: effect["share"] for effect in record["effects"]}
    return claims(record["task"], record["model"], measured)


def verdicts(record: Record) -> list[str]:
    """What the paper claims, and what was found, a line for each claim."""
    return [
        f"The paper: {', '.join(claim.names)} matter {claim.says}. Found: places "
        f"{', '.join(map(str, claim.places))} of {claim.of} by share, "
        f"{'as' if claim.holds else 'not as'} the paper says."
        for claim in _claims(record)
    ]


def tables(record: Record) -> list[Table]:
    """Shares, and the best and the median of each value, the most important first."""
    columns, rows = shares(record)
    first = Table(title=title(record), title_justify="left")
    for column in columns:
        is_text = column in ("Hyperparameter", "Panel", "Paper")
        first.add_column(column, justify="left" if is_text else "right")
    for row in rows:
        first.add_row(*row)
    second = Table(title="Validation metric by value", title_justify="left")
    for column in ("Hyperparameter", "Value", "Trials", "Best", "Median"):
        second.add_column(column, justify="left" if column == "Hyperparameter" else "right")
    for effect in record["effects"]:
        for i, value in enumerate(effect["values"]):
            numbers = f"{value['best']:.4g}", f"{value['quartiles'][1]:.4g}"
            name = effect["name"] if i == 0 else ""
            second.add_row(name, value["value"], str(value["trials"]), *numbers)
    return [first, second]

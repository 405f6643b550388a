"""Tasks for regressors of whole series: a number for every series of real data.

Two datasets come with aeon. Others are made of real series whose target is known: the oil
temperature of a transformer, from its loads or a day ahead; by which factor a series was played
faster (the length of its period); where in a longer record it starts (the position of an event);
and classes of the archive that have an order. Training and test parts are the archive's; every
third week of a transformer is held out.
"""

import csv
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.archive import cases

FASTER = ("CricketX", "ECG5000", "FacesUCR", "Fish")
PLACED = ("Lightning7", "MedicalImages", "ToeSegmentation1", "Wafer")
ORDERED = ("ChlorineConcentration", "DistalPhalanxTW")
MOST = 400  # cases of a part
WEEK = 168  # hours; every third week of a transformer is held out


Change = Callable[[np.ndarray, np.random.Generator], tuple[np.ndarray, float]]


class Task(NamedTuple):
    """Series (cases, time, channels) and their targets (cases,)."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def tasks(folder: Path) -> Iterator[Task]:
    """All tasks; `folder` holds the benchmark files."""
    yield from _aeons()
    for name in ("ETTh1", "ETTh2"):
        yield _transformer(folder, name, ahead=False)
        yield _transformer(folder, name, ahead=True)
    for name in FASTER:
        yield _derived(folder, name, f"{name}, pace", _played)
    for name in PLACED:
        yield _derived(folder, name, f"{name}, start", _embedded)
    for name in ORDERED:
        yield _derived(folder, name, f"{name}, grade", None)


def _aeons() -> Iterator[Task]:
    """The datasets for regression that aeon's package holds."""
    from aeon.datasets import load_cardano_sentiment, load_covid_3month

    for name, load in (
        ("Covid3Month", load_covid_3month),
        ("CardanoSentiment", load_cardano_sentiment),
    ):
        (X, y), (X_test, y_test) = load(split="train"), load(split="test")
        yield Task(name, X.transpose(0, 2, 1), y, X_test.transpose(0, 2, 1), y_test)


def _transformer(folder: Path, name: str, ahead: bool) -> Task:
    """Two days of a transformer: the mean oil temperature from the six loads, or of the next day.

    The next day's temperature is asked for from all seven series.
    """
    with gzip.open(folder / "ETT" / f"{name}.csv.gz", "rt") as file:
        rows = np.array([row[1:] for row in list(csv.reader(file))[1:]], float)
    rng, steps, later = np.random.default_rng(0), 48, 24 if ahead else 0
    starts = np.arange(len(rows) - WEEK + 1)
    starts = starts[starts % WEEK <= WEEK - steps - later]  # a case stays within its week
    parts = []
    for held_out in (False, True):
        of_part = starts[(starts // WEEK % 3 == 2) == held_out]
        chosen = rng.choice(of_part, MOST, replace=False)
        X = np.stack([rows[s : s + steps] for s in chosen])
        oil = np.stack([rows[s + later : s + steps + later, -1] for s in chosen])
        parts += [X if ahead else X[..., :-1], oil[:, -24 if ahead else 0 :].mean(axis=1)]
    title = f"{name}, oil tomorrow" if ahead else f"{name}, oil from loads"
    return Task(title, *parts)


def _derived(folder: Path, name: str, title: str, change: Change | None) -> Task:
    """A dataset of the archive, every series changed by an amount that is to be told."""
    rng, parts = np.random.default_rng(0), []
    for part in ("TRAIN", "TEST"):
        X, y = cases(folder / "UCR" / name, part)
        chosen = rng.permutation(len(X))[:MOST]
        X, y = X[chosen], y[chosen]
        if change is not None:
            changed, amounts = zip(*(change(x, rng) for x in X), strict=True)
            X, y = np.array(changed), np.array(amounts)
        parts += [X[:, :, None], y]
    return Task(title, *parts)


def _played(x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """The series, repeated, from anywhere and at another pace, which is the target."""
    pace = float(np.exp(rng.uniform(np.log(0.6), np.log(1.5))))
    at = rng.uniform(0, len(x)) + pace * np.arange(len(x))
    return np.interp(at % len(x), np.arange(len(x) + 1), np.append(x, x[0])), pace


def _embedded(x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """The series somewhere in a record of noise twice as long; its place is the target."""
    place = int(rng.integers(0, len(x) + 1))
    record = np.pad(x, (place, len(x) - place), mode="edge")
    return record + 0.3 * x.std() * rng.normal(size=len(record)), place / len(x)

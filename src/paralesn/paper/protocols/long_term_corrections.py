"""Corrections of a shared readout for each series: what the others must not share with it.

A readout that all features share cannot know that one of them behaves otherwise. A second one for
each feature, with a penalty of its own, learns what the shared one leaves of its targets: ridge
regression towards the shared coefficients instead of towards zero.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.estimators.state_forecaster.windows import as_series
from paralesn.moments import measured
from paralesn.readouts.ridge import Ridge


class Lesson(NamedTuple):
    """States (n, units), and what the shared readout leaves of targets (n, horizon)."""

    states: np.ndarray
    wanted: np.ndarray
    rest: np.ndarray


def lessons(model: StateForecaster, rows: np.ndarray, seen: int) -> Iterator[Lesson]:
    """For each series of `rows` (time, series), every origin after which all targets follow.

    The first `seen` rows are read, and those of them that are learnt from are left out; with
    ``seen=0``, the lessons are those that a fit to `rows` learns from.
    """
    windows = model.fitted_.windows
    panel = windows.panel(rows)
    for number in range(len(panel)):
        own = panel[number : number + 1]
        z, _ = model.reservoir_.run(as_series(windows.inputs(own)))
        if seen:
            first = seen - 1  # the newest row known, whose targets are the first that are new
            states = z[0, first:]
            wanted = windows.wanted(own, slice(first, z.shape[1]))
        else:
            states, wanted = windows.lesson(own, z, 0)
        yield Lesson(states, wanted, wanted - model.readout_.predict(states))


def corrections(
    model: StateForecaster, rows: np.ndarray, penalties: Sequence[float]
) -> list[Ridge]:
    """A correction of each series (time, series) that the model was fitted to."""
    found = []
    for lesson in lessons(model, rows, 0):
        found.append(Ridge(list(penalties)).fit(lesson.states, lesson.rest))
    return found


def validation_scores(
    model: StateForecaster, seen: np.ndarray, new: np.ndarray, penalties: Sequence[float]
) -> np.ndarray:
    """Squared errors on `new` rows by penalty (penalties,), after the shared readout's own.

    In units of the variance of what is to be predicted, each step of the horizon counting the
    same: as a `Ridge` judges its penalties by data that it has not learnt from.
    """
    corrected = corrections(model, seen, penalties)
    everything = np.concatenate([seen, new])
    squares: np.ndarray | float = 0.0
    count, moments = 0, None
    for lesson, own in zip(lessons(model, everything, len(seen)), corrected, strict=True):
        left = [lesson.rest, *(lesson.rest - p for p in own.path_.predictions(lesson.states))]
        squares = squares + np.array([(rest**2).sum(axis=0) for rest in left])
        count += len(lesson.wanted)
        here = measured(lesson.wanted)
        moments = here if moments is None else moments.merged(here)
    assert moments is not None
    return np.asarray((squares / count / moments.variance).mean(axis=1))


def errors(
    model: StateForecaster, seen: np.ndarray, split: np.ndarray, corrected: Sequence[Ridge] | None
) -> dict[str, float]:
    """Errors of forecasts of a split (time, series) that continues what was seen.

    `corrected` has a correction of each series, if there are any.
    """
    squares = absolutes = count = 0.0
    everything = np.concatenate([seen, split])
    for number, lesson in enumerate(lessons(model, everything, len(seen))):
        off = lesson.rest
        if corrected is not None:
            off = off - corrected[number].predict(lesson.states)
        squares += float((off**2).sum())
        absolutes += float(np.abs(off).sum())
        count += off.size
    return {"mse": squares / count, "mae": absolutes / count}

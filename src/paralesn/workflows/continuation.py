"""Forecast from a newer file with a saved forecaster: what it has not seen, it reads on from."""

from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.estimators.forecaster import following, relearning
from paralesn.estimators.forecaster.estimator import Forecaster
from paralesn.estimators.forecaster.fitted import FittedForecaster
from paralesn.runtime.memory import require_room
from paralesn.tables.cleaning import Cleaning
from paralesn.tables.clock import format_times
from paralesn.tables.errors import TableError
from paralesn.tables.file_panel import read_panel
from paralesn.tables.notes import Note, counted, merge_notes
from paralesn.tables.observations import Observations, read_observations
from paralesn.tables.reading import Reading
from paralesn.workflows.file_series import FileSeries
from paralesn.workflows.forecast import predict_series
from paralesn.workflows.forecast_report import forecast_columns
from paralesn.workflows.naive_intervals import naive_with_interval
from paralesn.workflows.trained_file import Training, known_names
from paralesn.workflows.yardsticks import MODEL

ROW_BYTES = 1 << 7  # of a forecast as it is written: numbers and their text


@dataclass(frozen=True)
class Continuation:
    """What to do with a newer file.

    Attributes
    ----------
    steps : int, optional
        Steps to forecast. Default: the model's horizon.
    interval : float
    follow : bool
        Whether rows without times follow on those the model has seen.
    fresh : bool
        Whether the rows are series of their own, whatever their times.
    """

    steps: int | None = None
    interval: float = 0.9
    follow: bool = False
    fresh: bool = False


def read_newer(
    path: Path, training: Training, cleaning: Cleaning | None, reading: Reading | None
) -> FileSeries:
    """Read a newer file as the one of training, but for what is given."""
    known, tidy = training.reading, cleaning or training.cleaning
    if reading is not None:
        known = replace(known, **{name: value for name, value in vars(reading).items() if value})
    if known.by:
        return FileSeries.of(read_panel(path, known.by, cleaning=tidy, reading=known))
    return FileSeries.of(read_observations(path, cleaning=tidy, reading=known))


def continue_forecast(
    model: Forecaster, series: FileSeries, training: Training, request: Continuation
) -> tuple[dict[str, list[Any]], list[str]]:
    """Forecasts as columns, and what to know about them; the model stays as it is."""
    notes = list(series.notes)
    if request.fresh or (training.last is None and not request.follow):
        if not request.fresh:
            notes.append(
                "rows are taken as series of their own; `follow` continues those the model has seen"
            )
        return _of_new_series(model, series, training, request), notes
    at = {key: j for j, key in enumerate(training.keys)}
    seen = [j for j, key in enumerate(series.keys) if key in at]
    new = [j for j, key in enumerate(series.keys) if key not in at]
    pieces = []
    if seen:
        newer, last = series.subset(seen), None
        if training.last is not None and not request.follow:
            last = training.last[[at[series.keys[j]] for j in seen]]
            newer, said = _newer(newer, training, last)
            notes += said
        pieces.append(_of_known_series(model, newer, training, last, request))
    if new:
        notes.append(f"{len(new)} of {len(series.keys)} series are new to the model")
        pieces.append(_of_new_series(model, series.subset(new), training, request))
    left = len(training.keys) - len(seen)
    if left and series.is_long:
        notes.append(f"{counted(left, 'known series')} not in the file: not forecast")
    columns = {name: [v for piece in pieces for v in piece[name]] for name in pieces[0]}
    return columns, notes


# -- series the model has seen ---------------------------------------------------------------------


def _newer(
    series: FileSeries, training: Training, last: np.ndarray
) -> tuple[FileSeries, list[str]]:
    """The rows after the last times of training, with rows put in for those missing between."""
    parts, notes = [], []
    for part, key, end in zip(series.parts, series.keys, last, strict=True):
        newer, said = _after(part, end, training)
        parts.append(newer)
        notes.append(("/".join(key), said))
    said_once = notes[0][1] if len(notes) == 1 else merge_notes(notes)
    return replace(series, parts=tuple(parts)), list(said_once)


def _after(part: Observations, last: Any, training: Training) -> tuple[Observations, list[str]]:
    """The rows of a part after a time."""
    times, clock, notes = part.times, training.clock, list[str]()
    end = format_times(np.array([last]))[0]
    if times is None or (times.dtype.kind == "M") != isinstance(last, np.datetime64):
        raise TableError(
            f"{part.path.name} has no times like those of training, which end at {end}; `fresh` "
            "takes its rows as a series of its own",
            parameter="fresh",
        )
    first = int(np.searchsorted(times, last, side="right"))
    skipped = min(first, part.rows)
    if skipped == part.rows:
        notes.append(Note("old", f"no row after {end}: the forecast is that of training"))
    elif skipped:
        seen = counted(skipped, "row")
        notes.append(Note("seen", f"{seen} up to {end}, where training ended: left out"))
    future = len(times) - max(first, part.rows)
    newer = replace(part, values=part.values[first:], times=times[first:], future=future,
                    clock=clock or part.clock)  # fmt: skip
    if not newer.rows or clock is None or clock.kind == "irregular":
        return newer, notes
    when = format_times(times[first : first + 1])[0]
    gap = clock.steps(np.array([last, times[first]]))[0]
    if np.isnan(gap):
        raise TableError(
            f"{part.path.name} goes on at {when}, which is not on the grid of training ({clock}, "
            f"up to {end}); `fresh` takes its rows as a series of its own",
            parameter="fresh",
        )
    if gap > 1:
        where = f"{counted(int(gap) - 1, 'row')} missing ({clock}) between {end} and {when}"
        if training.cleaning.gaps == "keep":
            notes.append(Note("gap", f"{where}: rows are taken as equal steps"))
        else:
            newer = _with_rows_before(newer, clock.after(last, int(gap) - 1), where)
            notes.append(Note("gap", f"{where}: put in, their values missing"))
    return newer, notes


def _with_rows_before(part: Observations, times: np.ndarray, where: str) -> Observations:
    """A part with missing rows put in before it."""
    assert part.times is not None
    if len(times) > 10 * max(part.rows, 100):
        raise TableError(
            f"{part.path.name}: {where}, too many to go on from training; `fresh` takes the rows "
            "as a series of its own",
            parameter="fresh",
        )
    empty = np.full((len(times), part.values.shape[1]), np.nan)
    whole = np.concatenate([times.astype(part.times.dtype), part.times])
    return replace(part, values=np.concatenate([empty, part.values]), times=whole)


def _of_known_series(
    model: Forecaster, series: FileSeries, training: Training, last: np.ndarray | None,
    request: Continuation,
) -> dict[str, list[Any]]:  # fmt: skip
    """Forecasts of series the model has seen, after their new rows."""
    known = bool(known_names(model))
    steps = _steps(model, series, training, request)
    model = copy(model)
    grown = [j for j, part in enumerate(series.parts) if part.rows]
    if grown:
        given = series.subset(grown).fit_arguments(known, int(model.fitted_.ends.counts[0]))
        model.update(_renamed(model, given.y, series), _renamed(model, given.X, series),
                     past=_renamed(model, given.past, series))  # fmt: skip
    ahead = series.inputs_ahead(steps) if known else None
    place = {str(name): i for i, name in enumerate(model.names_)}
    rows = [place[name] for name in series.names]
    if rows != list(range(len(place))):
        model.fitted_ = following.part_of(_members(model), rows)
    values, lower, upper = predict_series(model, _renamed(model, ahead, series), steps,
                                          request.interval)  # fmt: skip
    for i, row in enumerate(rows):
        method = training.methods[i % len(series.targets)]
        if method != MODEL:
            season, history = training.seasons[row], _members(model).observed()[i]
            naive = naive_with_interval(method, history, steps, season, request.interval)
            values[i], lower[i], upper[i] = naive
    whole, every = _with_ends(series, last), range(len(series.parts))
    return forecast_columns(whole, every, values, lower, upper, training.methods)


def _members(model: Forecaster) -> FittedForecaster:
    """What a forecaster learnt whose strategy is not the closed loop."""
    if not isinstance(model.fitted_, FittedForecaster):
        raise TableError("this needs a model with strategy='auto', got the closed loop")
    return model.fitted_


def _renamed(model: Forecaster, frame: Any, series: FileSeries) -> Any:
    """A long frame with the names that the model knows series by, which need not be text."""
    if frame is None or not series.is_long:
        return frame
    id, names = series.column_names["id"], {str(name): name for name in model.names_}
    return frame.assign(**{id: [names[name] for name in frame[id]]})


def _with_ends(series: FileSeries, last: np.ndarray | None) -> FileSeries:
    """The series, with the last row of training where a part has no new rows."""
    if last is None:
        return series
    parts = []
    for part, end in zip(series.parts, last, strict=True):
        if part.rows == 0 and part.times is not None:
            values = np.concatenate([np.full((1, part.values.shape[1]), np.nan), part.values])
            times = np.concatenate([np.array([end], part.times.dtype), part.times])
            part = replace(part, values=values, times=times)
        parts.append(part)
    return replace(series, parts=tuple(parts))


def _steps(model: Forecaster, series: FileSeries, training: Training, request: Continuation) -> int:
    """Steps to forecast; inputs known in advance must reach as far."""
    steps, known = request.steps or training.horizon, known_names(model)
    if known and series.future < steps:
        if request.steps is None and series.future:
            return series.future
        raise TableError(
            f"{', '.join(known)} must be known for {steps} rows after the last target, got "
            f"{series.future}",
            parameter="steps",
        )
    require_room("steps", steps, ROW_BYTES * steps * len(series.names))
    return steps


# -- series of their own ---------------------------------------------------------------------------


def _of_new_series(
    model: Forecaster, series: FileSeries, training: Training, request: Continuation
) -> dict[str, list[Any]]:
    """Forecasts of series that the model has not seen, by what it learnt from others."""
    fitted, steps = _members(model), request.steps or training.horizon
    require_room("steps", steps, ROW_BYTES * steps * len(series.names))
    given = series.fit_arguments(known=False)
    past = given.past if fitted.past.names else None
    reader = copy(model)
    reader.fitted_, _ = relearning.of_new_series(fitted, given.y, None, past, None, steps)
    values, lower, upper = predict_series(reader, None, steps, request.interval)
    every, methods = range(len(series.parts)), (MODEL,) * len(series.targets)
    return forecast_columns(series, every, values, lower, upper, methods)

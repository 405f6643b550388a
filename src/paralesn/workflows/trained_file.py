"""What a saved forecaster remembers of its file, so that a newer one is read the same way."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.estimators.forecaster.estimator import Forecaster
from paralesn.estimators.forecaster.fitted import Ends, FittedLoop
from paralesn.estimators.forecaster.panel import COLUMN, LONG, WIDE
from paralesn.persistence import load_metadata, save
from paralesn.tables.cleaning import Cleaning
from paralesn.tables.clock import Clock
from paralesn.tables.errors import TableError
from paralesn.tables.reading import Reading
from paralesn.workflows.forecast import ForecastResult
from paralesn.workflows.yardsticks import MODEL

_KEY = "training"


@dataclass(frozen=True, eq=False)
class Training:
    """How the file was read, where its series end, and what forecast them best.

    Attributes
    ----------
    reading : Reading
    cleaning : Cleaning
    keys : tuple of tuple of str
        Of the parts of a long table; one empty key for others.
    last : array (parts,) or None
        Times of the last rows with targets; None without times.
    clock : Clock or None
    methods : tuple of str
        What forecasts each target.
    seasons : tuple of int
        Of the seasonal naive forecasts of all series; 1: none.
    horizon : int
        Steps that were forecast.
    """

    reading: Reading
    cleaning: Cleaning
    keys: tuple[tuple[str, ...], ...]
    last: np.ndarray | None
    clock: Clock | None
    methods: tuple[str, ...]
    seasons: tuple[int, ...]
    horizon: int

    @classmethod
    def of(cls, result: ForecastResult, cleaning: Cleaning) -> "Training":
        """What to remember of a forecast."""
        series, last = result.series, None
        if series.time is not None:
            last = np.array([part.times[part.rows - 1] for part in series.parts])  # type: ignore[index]
        seasons = tuple(result.test.season_of(i) for i in range(len(series)))
        return cls(
            series.reading, cleaning, series.keys, last, series.clock, result.methods, seasons,
            result.horizon,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it; dates are nanoseconds since 1970."""
        last = None
        if self.last is not None:
            is_date = self.last.dtype.kind == "M"
            numbers = self.last.astype("M8[ns]").astype(np.int64) if is_date else self.last
            last = {"dates" if is_date else "numbers": numbers.tolist()}
        cleaning = {name: getattr(self.cleaning, name) for name in _CLEANING}
        return {
            "reading": self.reading.to_dict(), "cleaning": cleaning,
            "keys": [list(key) for key in self.keys], "last": last,
            "clock": None if self.clock is None else list(self.clock),
            "methods": list(self.methods), "seasons": list(self.seasons),
            "horizon": self.horizon,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Training":
        """What `to_dict` made."""
        last = record["last"]
        if last is not None:
            dates = np.array(last.get("dates", []), np.int64).astype("M8[ns]")
            last = dates if "dates" in last else np.array(last["numbers"], float)
        clock = None if record["clock"] is None else Clock(*record["clock"])
        return cls(
            Reading.from_dict(record["reading"]), Cleaning(**record["cleaning"]),
            tuple(tuple(key) for key in record["keys"]), last, clock, tuple(record["methods"]),
            tuple(int(m) for m in record["seasons"]), int(record["horizon"]),
        )  # fmt: skip


_CLEANING = ("missing", "gaps", "duplicates")


def save_forecaster(result: ForecastResult, cleaning: Cleaning, path: Path) -> None:
    """Write the model of a forecast, and with it what it remembers of its file."""
    save(result.model, path, metadata={_KEY: Training.of(result, cleaning).to_dict()})


def load_training(path: Path) -> Training | None:
    """What was saved with a model; None with one that was not made from a file."""
    record = load_metadata(path).get(_KEY)
    try:
        return None if record is None else Training.from_dict(record)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} cannot be used: what it remembers of training is damaged"
        ) from error


def training_of(model: Forecaster) -> Training:
    """What a forecaster that was fitted to frames knows by itself."""
    fitted = model.fitted_
    layout = fitted.layout
    past = () if isinstance(fitted, FittedLoop) else tuple(fitted.past.names)
    exog = (*known_names(model), *past)
    if layout.kind in (WIDE, COLUMN) and layout.backend is not None:
        targets = tuple(str(name) for name in layout.names)
        reading = Reading(time=layout.index.name, targets=targets, exog=exog)
        keys: tuple[tuple[str, ...], ...] = ((),)
    elif layout.kind == LONG and len(layout.columns) > 1:
        id, time, target = fitted.columns
        has_time = time in layout.columns
        reading = Reading(
            time=time if has_time else None, targets=(target,), exog=exog, by=(id,)
        )  # fmt: skip
        keys = tuple((str(name),) for name in layout.names)
    else:
        raise TableError(
            "the model does not know the names of its columns: fit it to pandas frames"
        )
    cleaning, ends = Cleaning(gaps="auto"), fitted.ends
    is_timed = bool(ends.kind) and (ends.is_date or reading.time is not None)
    methods, seasons = (MODEL,) * len(reading.targets), (1,) * len(ends.counts)
    return Training(
        reading, cleaning, keys, _last(ends)[: len(keys)] if is_timed else None, ends.clock,
        methods, seasons, model.horizon_,
    )  # fmt: skip


def known_names(model: Forecaster) -> tuple[str, ...]:
    """Names of the inputs that a forecaster must know in advance."""
    fitted = model.fitted_
    if isinstance(fitted, FittedLoop):
        return tuple(fitted.loop.known_names_ or ())
    return tuple(fitted.known.names)


def _last(ends: Ends) -> np.ndarray:
    return ends.last.astype("M8[ns]") if ends.is_date else ends.last.astype(float)

"""Frames of pandas, polars and pyarrow: columns and times out of them, and frames like them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn.persistence import register
from paralesn.tables.clock import Clock

_DAY = 86_400 * 10**9


def backend_of(data: Any) -> str | None:
    """The library that a frame or a series of it comes from, or None for arrays and lists."""
    module = type(data).__module__.partition(".")[0]
    if module == "pandas" and hasattr(data, "index") and hasattr(data, "iloc"):
        return "pandas"
    if module in ("polars", "pyarrow"):
        if type(data).__name__ == "LazyFrame":
            raise TypeError(
                "frames must be collected first, got a polars.LazyFrame: call collect()"
            )
        return module
    return None


def is_frame(data: Any) -> bool:
    """Whether data is a table with names, not a single column."""
    return backend_of(data) is not None and np.ndim(data) != 1 and hasattr(data, "columns")


def columns_of(frame: Any, name: str) -> dict[str, np.ndarray]:
    """The columns of a frame, by name; the index of a pandas frame is not among them."""
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    names = list(table.columns)
    twice = sorted({str(n) for n in names if names.count(n) > 1})
    if twice:
        raise ValueError(f"{name} must have columns of different names, got {twice[0]!r} twice")
    return {str(n): as_array(table[n]) for n in names}


def as_array(column: Any) -> np.ndarray:
    """A column of narwhals as an array: times as datetime64[ns], UTC where they have a zone."""
    import narwhals as nw

    if column.dtype == nw.Datetime or isinstance(column.dtype, nw.Datetime):
        if column.dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return np.asarray(column.to_numpy()).astype("M8[ns]")
    if column.dtype == nw.Date:
        return np.asarray(column.to_numpy()).astype("M8[ns]")
    array = np.asarray(column.to_numpy())
    return array.astype("M8[ns]") if array.dtype.kind == "M" else array


@register
@dataclass(frozen=True)
class Index:
    """What the times of a frame are like, so that they can be continued.

    Attributes
    ----------
    kind : "none", "numbers", "dates" or "periods"
    name : str or None
        Of the index, or of the column of times.
    zone : str or None
        Time zone.
    frequency : str or None
        That pandas knows the index by.
    is_whole : bool
        Whether numbers are whole.
    """

    kind: str = "none"
    name: str | None = None
    zone: str | None = None
    frequency: str | None = None
    is_whole: bool = True


def read_pandas_index(index: Any) -> tuple[np.ndarray | None, Index]:
    """Times of a pandas index: datetime64[ns], or numbers, or None; and what they are like."""
    import pandas as pd

    name = None if index.name is None else str(index.name)
    if isinstance(index, pd.MultiIndex):
        raise ValueError(
            "y must have one index of times, got several levels; give a long frame, with columns "
            "for series and time"
        )
    if isinstance(index, pd.PeriodIndex):
        times = index.to_timestamp().to_numpy().astype("M8[ns]")
        return times, Index("periods", name, frequency=index.freqstr)
    if isinstance(index, pd.DatetimeIndex):
        zone = None if index.tz is None else str(index.tz)
        frequency = index.freqstr if index.freq is not None else None
        return times_of_zone(index), Index("dates", name, zone, frequency)
    if pd.api.types.is_numeric_dtype(index.dtype):
        numbers = index.to_numpy().astype(float)
        return numbers, Index("numbers", name, is_whole=bool((numbers == np.round(numbers)).all()))
    return None, Index("none", name)


def times_of_zone(index: Any) -> np.ndarray:
    """Times of an index without its zone: clock times for days and longer steps, else UTC."""
    if index.tz is None:
        return np.asarray(index.to_numpy()).astype("M8[ns]")
    clock_times = np.asarray(index.tz_localize(None).to_numpy()).astype("M8[ns]")
    steps = np.diff(clock_times.astype(np.int64))
    if steps.size and np.median(steps) >= _DAY:
        return clock_times
    return np.asarray(index.tz_convert("UTC").tz_localize(None).to_numpy()).astype("M8[ns]")


def period_rows(times: np.ndarray, frequency: str | None) -> np.ndarray:
    """How many periods after the first one each begins."""
    import pandas as pd

    periods = pd.PeriodIndex(times, freq=frequency)
    return np.asarray((periods.asi8 - periods.asi8[0]) / periods.freq.n)


def periods_from(first: np.datetime64, count: int, frequency: str | None) -> np.ndarray:
    """Beginnings of so many periods, from the one that begins first."""
    import pandas as pd

    every = pd.period_range(pd.Period(pd.Timestamp(first), frequency), periods=count)
    return np.asarray(every.to_timestamp().to_numpy()).astype("M8[ns]")


def continued(index: Index, clock: Clock | None, last: Any, count: int, seen: int) -> Any:
    """The pandas index of the `count` steps after the time `last`, the `seen`-th."""
    import pandas as pd

    if index.kind == "none" or clock is None:
        return pd.RangeIndex(seen, seen + count, name=index.name)
    if index.kind == "periods":
        first = pd.Period(pd.Timestamp(last), freq=index.frequency)
        return pd.period_range(first + 1, periods=count, freq=index.frequency, name=index.name)
    if index.kind == "numbers":
        numbers = clock.after(float(last), count)
        if index.is_whole and clock.step == int(clock.step):
            first, step = int(numbers[0]), int(clock.step)
            return pd.RangeIndex(first, first + step * count, step, name=index.name)
        return pd.Index(numbers, name=index.name)
    last = np.datetime64(last, "ns")
    if index.frequency is not None:
        start = pd.Timestamp(last)
        if index.zone is not None:
            is_utc = clock.kind == "dates" and clock.step < _DAY
            start = start.tz_localize("UTC").tz_convert(index.zone) if is_utc else \
                start.tz_localize(index.zone)  # fmt: skip
        return pd.date_range(start, periods=count + 1, freq=index.frequency, name=index.name)[1:]
    times = pd.DatetimeIndex(clock.after(last, count), name=index.name)
    if index.zone is not None:
        is_utc = clock.kind == "dates" and clock.step < _DAY
        times = times.tz_localize("UTC").tz_convert(index.zone) if is_utc else \
            times.tz_localize(index.zone)  # fmt: skip
    return times


def make_frame(columns: Mapping[str, Any], backend: str) -> Any:
    """A frame of columns."""
    if backend == "pandas":
        import pandas as pd

        return pd.DataFrame(dict(columns))
    if backend == "polars":
        import polars as pl

        return pl.DataFrame({k: v.tolist() if v.dtype == object else v for k, v in columns.items()})
    import pyarrow as pa

    return pa.table(
        {k: pa.array(v.tolist() if v.dtype == object else v) for k, v in columns.items()}
    )

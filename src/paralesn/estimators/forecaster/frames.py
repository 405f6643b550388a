"""Frames of pandas, polars and pyarrow: columns and times out of them, and frames like them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.persistence import register
from paralesn.tables.clock import Clock
from paralesn.tables.date_parts import to_nanoseconds


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


def columns_of(frame: Any, name: str, is_local: bool = True) -> dict[str, np.ndarray]:
    """The columns of a frame, by name; the index of a pandas frame is not among them.

    Times that have a zone come as those of the clock on the wall or, not `is_local`, as UTC.
    """
    import narwhals as nw

    if backend_of(frame) == "pandas":
        frame = frame.set_axis([str(n) for n in frame.columns], axis=1)
    names = [str(n) for n in (frame.column_names if hasattr(frame, "column_names") else
                              frame.columns)]  # fmt: skip
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ValueError(f"{name} must have columns of different names, got {twice[0]!r} twice")
    table = nw.from_native(frame, eager_only=True)
    return {n: as_array(table[n], is_local) for n in names}


def as_array(column: Any, is_local: bool = True) -> np.ndarray:
    """A column of narwhals as an array: times in their own unit, of the wall clock or UTC."""
    import narwhals as nw

    native = column.to_native()
    if getattr(getattr(native, "dtype", None), "tz", None) is not None:
        # pandas: narwhals does not know zones such as America/New_York
        native = native if is_local else native.dt.tz_convert("UTC")
        return np.asarray(native.dt.tz_localize(None).to_numpy())
    if isinstance(column.dtype, nw.Datetime) and column.dtype.time_zone is not None:
        column = column if is_local else column.dt.convert_time_zone("UTC")
        column = column.dt.replace_time_zone(None)
    return np.asarray(column.to_numpy())


def zone_of(frame: Any, label: str) -> str | None:
    """The time zone of a column, or None."""
    import narwhals as nw

    if backend_of(frame) == "pandas":
        zone = getattr(frame[label].dtype, "tz", None)
        return None if zone is None else str(zone)
    column = nw.from_native(frame, eager_only=True)[label]
    return getattr(column.dtype, "time_zone", None)


def is_in_days(times: np.ndarray) -> bool:
    """Whether steps are days or longer: then a day is one of the clock on the wall."""
    steps = np.diff(np.unique(times))
    return not steps.size or bool(np.median(steps / np.timedelta64(1, "D")) >= 1)


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
    is_local : bool
        Whether times are those of the clock on the wall in the zone, as for days, or else UTC.
    """

    kind: str = "none"
    name: str | None = None
    zone: str | None = None
    frequency: str | None = None
    is_whole: bool = True
    is_local: bool = True

    def __post_init__(self) -> None:
        checks.choice("kind of an index", self.kind, ("none", "numbers", "dates", "periods"))


def read_pandas_index(
    index: Any, name: str = "y", is_local: bool | None = None
) -> tuple[np.ndarray | None, Index]:
    """Times of a pandas index: datetime64[ns], or numbers, or None; and what they are like.

    `is_local` says which times are wanted where there is a zone; None: by how far apart they are.
    """
    import pandas as pd

    label = None if index.name is None else str(index.name)
    if isinstance(index, pd.MultiIndex):
        raise ValueError(
            f"{name} must have one index of times, got several levels; give a long frame, with "
            "columns for series and time"
        )
    is_number = pd.api.types.is_numeric_dtype(index.dtype)
    if not (is_number or isinstance(index, pd.PeriodIndex | pd.DatetimeIndex)):
        return None, Index("none", label)
    if index.hasnans:
        raise ValueError(
            f"{name} must have a time in every row of its index, got none in row "
            f"{int(index.isna().argmax())}"
        )
    if isinstance(index, pd.PeriodIndex):
        times = to_nanoseconds(np.asarray(index.to_timestamp().to_numpy()), name)
        return times, Index("periods", label, frequency=index.freqstr)
    if isinstance(index, pd.DatetimeIndex):
        frequency = index.freqstr if index.freq is not None else None
        clock_times = to_nanoseconds(np.asarray(index.tz_localize(None).to_numpy()), name)
        if index.tz is None:
            return clock_times, Index("dates", label, None, frequency)
        is_local = is_in_days(clock_times) if is_local is None else is_local
        utc = np.asarray(index.tz_convert("UTC").tz_localize(None).to_numpy())
        kind = Index("dates", label, str(index.tz), frequency, is_local=is_local)
        return (clock_times if is_local else to_nanoseconds(utc, name)), kind
    numbers = as_exact(index.to_numpy(), name)
    return numbers, Index("numbers", label, is_whole=bool((numbers == np.round(numbers)).all()))


def as_exact(times: np.ndarray, name: str) -> np.ndarray:
    """Times that are numbers as floats; ValueError for whole ones that floats cannot tell apart."""
    numbers = times.astype(float)
    wrong = np.flatnonzero((times > 2**53) | (times < -(2**53)))
    if times.dtype.kind in "iu" and wrong.size:
        raise ValueError(
            f"times of {name} must be at most 2**53 as numbers, got {times[wrong[0]]} in row "
            f"{wrong[0]}; give dates, or count from a later time"
        )
    return numbers


def in_pandas(index: Index, times: np.ndarray) -> Any:
    """Times as a pandas index of the kind that they came in."""
    import pandas as pd

    if index.kind == "periods":
        return pd.PeriodIndex(times, freq=index.frequency, name=index.name)
    if index.kind == "numbers":
        return pd.Index(times.astype(np.int64) if index.is_whole else times, name=index.name)
    dates = pd.DatetimeIndex(times, name=index.name)
    if index.zone is None:
        return dates
    if index.is_local:  # of an hour that comes twice the first, of one that is skipped the end
        twice = np.ones(len(dates), bool)
        return dates.tz_localize(index.zone, ambiguous=twice, nonexistent="shift_forward")
    return dates.tz_localize("UTC").tz_convert(index.zone)


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
        start = in_pandas(index, np.array([last]))[0]
        try:
            every = pd.date_range(start, periods=count + 1, freq=index.frequency, name=index.name)
        except pd.errors.OutOfBoundsDatetime:
            raise ValueError(
                f"{count} steps ({index.frequency}) after {start} go beyond the latest time that "
                "nanoseconds since 1970 can hold"
            ) from None
        return every[1:]
    return in_pandas(index, clock.after(last, count))


def make_frame(columns: Mapping[str, Any], backend: str, index: Index | None = None) -> Any:
    """A frame of columns; `index` says what the times in one of them are like."""
    zone = None if index is None or index.name not in columns else index.zone
    if backend == "pandas":
        import pandas as pd

        frame = pd.DataFrame(dict(columns))
        if zone is not None and index is not None:
            frame[index.name] = in_pandas(index, frame[index.name].to_numpy())
        return frame
    plain = {k: v.tolist() if v.dtype == object else v for k, v in columns.items()}
    if backend == "polars":
        import polars as pl

        table = pl.DataFrame(plain)
        if zone is None or index is None:
            return table
        when = pl.col(str(index.name)).dt
        if index.is_local:
            return table.with_columns(when.replace_time_zone(zone, ambiguous="earliest"))
        return table.with_columns(when.replace_time_zone("UTC").dt.convert_time_zone(zone))
    import pyarrow as pa

    arrays = {k: pa.array(v) for k, v in plain.items()}
    if zone is not None and index is not None:
        import pyarrow.compute as pc

        when, assumed = arrays[str(index.name)], zone if index.is_local else "UTC"
        when = pc.assume_timezone(when, assumed, ambiguous="earliest", nonexistent="latest")
        arrays[str(index.name)] = when.cast(pa.timestamp("ns", zone))
    return pa.table(arrays)

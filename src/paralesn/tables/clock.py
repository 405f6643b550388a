"""The time column of a table: when its rows are, how far apart, and which times come next."""

from typing import Any, NamedTuple

import numpy as np

from paralesn.tables.reader import Table, TableError

_SECOND = 10**9  # in the nanoseconds of datetime64[ns]
_DAY = 86_400 * _SECOND
_UNITS = ((7 * _DAY, "week"), (_DAY, "day"), (3600 * _SECOND, "hour"), (60 * _SECOND, "minute"),
          (_SECOND, "second"))  # fmt: skip


class Clock(NamedTuple):
    """How far apart the rows of a table are.

    Attributes
    ----------
    kind : "dates", "numbers", "months" (counted by the calendar), "workdays" or "irregular"
    step : float
        In nanoseconds, units of the column, months or working days; the median where irregular.
    at_end : bool
        Whether every time is on the last day of its month.
    """

    kind: str
    step: float
    at_end: bool = False

    def steps(self, times: np.ndarray) -> np.ndarray:
        """Steps between neighbouring times: 1 where regular, NaN where not a whole number."""
        if self.kind == "irregular":
            return np.ones(len(times) - 1)
        if self.kind == "months":
            return np.diff(times.astype("M8[M]").astype(np.int64)) / self.step
        if self.kind == "workdays":
            days = times.astype("M8[D]")
            return np.busday_count(days[:-1], days[1:]).astype(float)
        steps = _differences(times) / self.step
        is_whole = np.abs(steps - np.round(steps)) < 1e-3
        return np.where(is_whole, np.round(steps), np.nan)

    def after(self, last: Any, count: int) -> np.ndarray:
        """The next `count` times after the last one."""
        ahead = np.arange(1, count + 1)
        if self.kind == "numbers" or not isinstance(last, np.datetime64):
            return last + self.step * ahead
        if self.kind == "months":
            months = last.astype("M8[M]") + (ahead * int(self.step)).astype("m8[M]")
            ends = (months + 1).astype("M8[D]") - 1 + (last - last.astype("M8[D]"))
            same = months.astype("M8[ns]") + (last - last.astype("M8[M]"))
            return ends if self.at_end else np.minimum(same, ends)
        if self.kind == "workdays":
            day = last.astype("M8[D]")
            return np.busday_offset(day, ahead) + (last - day)
        return last + (ahead * round(self.step)).astype("m8[ns]")

    def season(self, rows: int) -> int | None:
        """Steps of a day, week or year that fits at least twice into so many rows, or None."""
        seasons: list[float] = []
        if self.kind == "workdays":
            seasons = [5]
        elif self.kind == "months":
            seasons = [12 / self.step]
        elif self.kind == "dates" and self.step < _DAY:
            seasons = [span * _SECOND / self.step for span in (86_400, 3600, 60)]
        elif self.kind == "dates":
            seasons = [7 * _DAY / self.step, round(52 * 7 * _DAY / self.step)]
        whole = [int(m) for m in seasons if m == int(m) and 1 < m <= rows / 2]
        return whole[0] if whole else None

    def __str__(self) -> str:
        if self.kind == "irregular":
            return "irregular"
        if self.kind == "numbers":
            return f"every {self.step:g}"
        if self.kind == "workdays":
            return "every working day"
        if self.kind == "months":
            return "every month" if self.step == 1 else f"every {self.step:g} months"
        size, name = next((u for u in _UNITS if self.step % u[0] == 0), (1, "nanosecond"))
        many = self.step / size
        return f"every {name}" if many == 1 else f"every {many:g} {name}s"


def clock_of(times: np.ndarray) -> Clock:
    """Find out how far apart sorted, distinct times are."""
    differences = _differences(times)
    if differences.size == 0:
        return Clock("irregular", 1.0)
    sizes, counts = np.unique(np.round(differences, 9), return_counts=True)
    usual, share = float(sizes[counts.argmax()]), counts.max() / differences.size
    if not np.issubdtype(times.dtype, np.datetime64):
        return Clock("numbers" if share >= 0.5 else "irregular", usual)
    if np.median(differences) >= 28 * _DAY and (monthly := _by_month(times)) is not None:
        return monthly
    weekdays = (times.astype("M8[D]").astype(np.int64) + 3) % 7  # 1970 began on a Thursday
    if usual == _DAY and differences.size >= 10 and weekdays.max() < 5:
        return Clock("workdays", 1.0)
    if share < 0.5:
        return Clock("irregular", float(np.median(differences)))
    return Clock("dates", usual)


def _by_month(times: np.ndarray) -> Clock | None:
    """A clock of months, where all times are on the same day of the month, or on its last."""
    months = times.astype("M8[M]")
    days = times.astype("M8[D]")
    is_end = ((days + 1).astype("M8[M]") > months).all()
    if not is_end and np.unique(days - months.astype("M8[D]")).size > 1:
        return None
    sizes, counts = np.unique(np.diff(months.astype(np.int64)), return_counts=True)
    return Clock("months", float(sizes[counts.argmax()]), bool(is_end))


def _differences(times: np.ndarray) -> np.ndarray:
    """Differences of neighbouring times, of dates in nanoseconds."""
    if np.issubdtype(times.dtype, np.datetime64):
        return np.diff(times.astype("M8[ns]").astype(np.int64)).astype(float)
    return np.diff(times)


def find_time_column(table: Table) -> str | None:
    """The first column of dates, or of text whose first row is an ISO date; None without one."""
    import pandas as pd

    for name in table.frame.columns:
        column = table.frame[name]
        if pd.api.types.is_datetime64_any_dtype(column):
            return str(name)
        first = column.iloc[0]
        if isinstance(first, str) and len(first) >= 8:
            try:
                pd.to_datetime(first, format="ISO8601")
            except ValueError:
                continue
            return str(name)
    return None


def read_times(table: Table, name: str, pattern: str | None = None) -> np.ndarray:
    """Read a time column as datetime64[ns], or as floats where it holds numbers.

    Dates are ISO (2016-07-01 13:00), or follow `pattern` in the notation of strptime. Nothing else
    is guessed, as 01/02/2016 is ambiguous. Times with an offset are converted to UTC.
    """
    import pandas as pd

    column = table.frame[name]
    empty = column.isna().to_numpy()
    if empty.any():
        row = int(np.flatnonzero(empty)[0])
        raise TableError(f"{table.location(row)}: the time ({name!r}) is missing")
    if pd.api.types.is_numeric_dtype(column) and pattern is None:
        return table.numbers(name)
    if not pd.api.types.is_datetime64_any_dtype(column):
        column = column.astype(str)
    try:
        times = pd.to_datetime(column, format=pattern or "ISO8601", utc=True, errors="coerce")
    except ValueError as error:
        raise TableError(
            f"`time_format={pattern!r}` is no pattern of dates: {error}", parameter="time_format"
        ) from error
    wrong = np.flatnonzero(times.isna().to_numpy())
    if wrong.size:
        expected = f"as {pattern}" if pattern else "such as 2016-07-01 or 2016-07-01 13:00"
        hint = "" if pattern else "; for another notation give `time_format`, such as %d.%m.%Y"
        raise TableError(
            f"{table.location(int(wrong[0]))}: the time ({name!r}) is "
            f"{str(table.frame[name].iloc[wrong[0]])!r}, expected a date {expected}{hint}",
            parameter="time_format",
        )
    return times.dt.tz_localize(None).to_numpy().astype("M8[ns]")


def format_times(times: np.ndarray) -> list[str]:
    """Times as text, without the time of day where all are at midnight."""
    if not np.issubdtype(times.dtype, np.datetime64):
        return [f"{value:.12g}" for value in times]
    seconds = times.astype("M8[s]")
    if (times != seconds).any():
        return [str(value).replace("T", " ") for value in times]
    if (seconds == seconds.astype("M8[D]")).all():
        return [str(value) for value in seconds.astype("M8[D]")]
    return [str(value).replace("T", " ") for value in seconds]

"""The time column of a table: when its rows are, how far apart, and which times come next."""

from typing import Any, NamedTuple

import numpy as np

from paralesn.tables.date_parts import LATEST
from paralesn.tables.errors import TableError

_END = np.datetime64(LATEST) + 1
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
        """Steps between neighbouring times: 1 where regular, NaN where not a number from 1 on."""
        if self.kind == "irregular":
            return np.ones(len(times) - 1)
        if self.kind == "months":
            steps = np.diff(times.astype("M8[M]").astype(np.int64)) / self.step
        elif self.kind == "workdays":
            days = times.astype("M8[D]")
            steps = np.busday_count(days[:-1], days[1:]).astype(float)
        else:
            steps = _differences(times) / self.step
        is_whole = (np.abs(steps - np.round(steps)) < 1e-3) & (np.round(steps) >= 1)
        return np.where(is_whole, np.round(steps), np.nan)

    def after(self, last: Any, count: int) -> np.ndarray:
        """The next `count` times after the last one; TableError for any that cannot be held."""
        ahead = np.arange(1, count + 1)
        if self.kind == "numbers" or not isinstance(last, np.datetime64):
            numbers = last + self.step * ahead
            if count and not (numbers > np.concatenate([[last], numbers[:-1]])).all():
                raise TableError(
                    f"times {self} after {last:g} cannot be told apart as numbers of 64 bits"
                )
            return np.asarray(numbers)
        if count and not self._can_hold(last, count):
            raise TableError(
                f"{count} steps ({self}) after {format_times(np.array([last]))[0]} go beyond "
                f"{LATEST}, the last day of which times can be held"
            )
        if self.kind == "months":
            months = last.astype("M8[M]") + (ahead * int(self.step)).astype("m8[M]")
            ends = (months + 1).astype("M8[D]") - 1 + (last - last.astype("M8[D]"))
            same = months.astype("M8[ns]") + (last - last.astype("M8[M]"))
            return ends if self.at_end else np.minimum(same, ends)
        if self.kind == "workdays":
            day = last.astype("M8[D]")
            return np.busday_offset(day, ahead) + (last - day)
        return last + (ahead * round(self.step)).astype("m8[ns]")

    def _can_hold(self, last: np.datetime64, count: int) -> bool:
        """Whether `count` steps after a date are dates that nanoseconds can hold."""
        if self.kind == "months":
            end = int(last.astype("M8[M]").astype(np.int64)) + count * int(self.step)
            return end < int(_END.astype("M8[M]").astype(np.int64))
        if self.kind == "workdays":
            day, latest = last.astype("M8[D]"), _END.astype("M8[D]")
            return count < int((latest - day).astype(np.int64)) and \
                bool(np.busday_offset(day, count) < latest)  # fmt: skip
        end = int(last.astype("M8[ns]").astype(np.int64)) + count * round(self.step)
        return end < int(_END.astype("M8[ns]").astype(np.int64))

    def season(self, rows: int) -> int | None:
        """Steps of a day, week or year that fits at least twice into so many rows, or None.

        Of several that fit, the one to compare with first: a day, or else an hour or a minute.
        """
        seasons: list[float] = []
        if self.kind == "workdays":
            seasons = [5]
        elif self.kind == "months":
            seasons = [12 / self.step]
        elif self.kind == "dates" and self.step < _DAY:
            seasons = [span * _SECOND / self.step for span in (86_400, 3600, 60)]
        elif self.kind == "dates":
            seasons = [7 * _DAY / self.step, round(52 * 7 * _DAY / self.step)]
        return next(iter(_whole(seasons, rows)), None)

    def seasons(self, rows: int) -> tuple[int, ...]:
        """All plausible seasons in steps, from short to long, that fit twice into so many rows.

        Examples
        --------
        >>> from paralesn.tables.clock import Clock
        >>> hourly = Clock("dates", 3600e9)
        >>> hourly.seasons(1000), hourly.seasons(100)
        ((24, 168), (24,))
        """
        day, week, year = _DAY / self.step, 7 * _DAY / self.step, 365 * _DAY / self.step
        seasons: list[float] = []
        if self.kind == "workdays":
            seasons = [5, 260]
        elif self.kind == "months":
            seasons = [12 / self.step]
        elif self.kind == "dates" and self.step < _DAY:
            # Rows of minutes and less may repeat with the hour; longer steps hardly do.
            fine = 60 * _SECOND
            hours = [fine / self.step, 60 * fine / self.step] if self.step <= fine else []
            seasons = [*hours, day, week]
        elif self.kind == "dates":
            seasons = [week, round(year)]
        return tuple(sorted(set(_whole(seasons, rows))))

    def __str__(self) -> str:
        if self.kind == "irregular":
            return "irregular"
        if self.kind == "numbers":
            return f"every {self.step:g}"
        if self.kind == "workdays":
            return "every working day"
        if self.kind == "months":
            size, name = (3, "quarter") if self.step == 3 else (1, "month")
            size, name = (12, "year") if self.step % 12 == 0 else (size, name)
        else:
            size, name = next((u for u in _UNITS if self.step % u[0] == 0), (1, "nanosecond"))
        many = self.step / size
        return f"every {name}" if many == 1 else f"every {many:g} {name}s"


def _whole(seasons: list[float], rows: int) -> list[int]:
    """Seasons of whole steps that fit twice into so many rows."""
    return [int(m) for m in seasons if m == int(m) and 1 < m <= rows / 2]


def clock_of(times: np.ndarray) -> Clock:
    """Find out how far apart sorted, distinct times are."""
    differences = _differences(times)
    if differences.size == 0:
        return Clock("irregular", 1.0)
    relative = np.round(differences / np.median(differences), 9)
    _, first, counts = np.unique(relative, return_index=True, return_counts=True)
    usual, share = float(differences[first[counts.argmax()]]), counts.max() / differences.size
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
    """Differences of neighbouring times in order, of dates in nanoseconds."""
    if np.issubdtype(times.dtype, np.datetime64):
        numbers = times.astype("M8[ns]").astype(np.int64)
        differences = np.diff(numbers)  # of more than 292 years wrap
        return np.where(differences < 0, np.diff(numbers.astype(float)), differences)
    return np.diff(times)


def format_times(times: np.ndarray) -> list[str]:
    """Times as text, without the time of day where all are at midnight."""
    if not np.issubdtype(times.dtype, np.datetime64):
        return [f"{value:.15g}" for value in times]
    seconds = times.astype("M8[s]")
    if (times != seconds).any():
        return [str(value).replace("T", " ") for value in times]
    if (seconds == seconds.astype("M8[D]")).all():
        return [str(value) for value in seconds.astype("M8[D]")]
    return [str(value).replace("T", " ") for value in seconds]

"""Inputs from the times of a series: hour, weekday, month and the like."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.tables.clock import Clock

_DAY = 86_400 * 10**9
# Name: number of values, and how to get them from datetime64[ns].
_PARTS: dict[str, tuple[int, Any]] = {
    "hour": (24, lambda t: (t - t.astype("M8[D]")).astype("m8[h]").astype(int)),
    "weekday": (7, lambda t: (t.astype("M8[D]").astype(int) + 3) % 7),
    "month": (12, lambda t: t.astype("M8[M]").astype(int) % 12),
    "quarter": (4, lambda t: t.astype("M8[M]").astype(int) % 12 // 3),
    "day": (31, lambda t: (t.astype("M8[D]") - t.astype("M8[M]").astype("M8[D]")).astype(int)),
    "week": (
        53,
        lambda t: (t.astype("M8[D]") - t.astype("M8[Y]").astype("M8[D]")).astype(int) // 7,
    ),
    "weekend": (2, lambda t: ((t.astype("M8[D]").astype(int) + 3) % 7 > 4).astype(int)),
}


def check_calendar(calendar: Any, clock: Clock | None) -> tuple[str, ...]:
    """Parts of the calendar to read, "auto" being those that steps are shorter than."""
    if calendar is None:
        return ()
    if clock is None or clock.kind == "numbers":
        raise ValueError(f"calendar={calendar!r} needs dates, which y does not have")
    if calendar == "auto":
        if clock.kind == "months":
            return ("month",) if clock.step < 12 else ()
        step = _DAY if clock.kind == "workdays" else clock.step
        if step < _DAY:
            return ("hour", "weekday")
        return ("weekday", "month") if step < 7 * _DAY else ("month",)
    names: Sequence[str] = [calendar] if isinstance(calendar, str) else list(calendar)
    for name in names:
        checks.choice("calendar", name, ("auto", *_PARTS))
    return tuple(dict.fromkeys(names))


def calendar_columns(times: np.ndarray, parts: Sequence[str]) -> np.ndarray:
    """Zeros and ones (n, columns): for every part, a column for each of its values but the first.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.estimators.forecaster.calendar import calendar_columns
    >>> days = np.array(["2024-01-05", "2024-01-06"], "M8[ns]")
    >>> calendar_columns(days, ["weekend"]).ravel()
    array([0., 1.])
    """
    columns = [np.zeros((len(times), 0))]
    for part in parts:
        count, value_of = _PARTS[part]
        columns.append((value_of(times)[:, None] == np.arange(1, count)).astype(float))
    return np.hstack(columns)

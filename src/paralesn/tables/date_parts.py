"""Parts of dates that were read from text, put together: days, times of day, centuries."""

from datetime import date
from typing import Any

import numpy as np

from paralesn.tables.months import month_number
from paralesn.tables.zones import offset_minutes

FIRST_YEAR, LAST_YEAR = 1678, 2261  # that nanoseconds can hold
EARLIEST, LATEST = f"{FIRST_YEAR}-01-01", f"{LAST_YEAR}-12-31"


def to_nanoseconds(times: np.ndarray, who: str) -> np.ndarray:
    """Times of any unit as datetime64[ns]; ValueError for the first that this cannot hold.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.tables.date_parts import to_nanoseconds
    >>> to_nanoseconds(np.array(["2024-01-01", "9999-12-31"], "M8[D]"), "y")
    Traceback (most recent call last):
    ValueError: times of y must be from 1678-01-01 to 2261-12-31, got 9999-12-31 in row 1
    """
    if np.datetime_data(times.dtype)[0] == "ns":
        return times
    is_late = times >= np.datetime64(LATEST) + 1
    wrong = np.flatnonzero(is_late | (times < np.datetime64(EARLIEST)))
    if wrong.size:
        raise ValueError(
            f"times of {who} must be from {EARLIEST} to {LATEST}, got {times[wrong[0]]} in row "
            f"{wrong[0]}"
        )
    return times.astype("M8[ns]")


def in_nanoseconds(times: np.ndarray) -> np.ndarray:
    """Times of a coarser unit in nanoseconds; NaT where these cannot hold them."""
    years = times.astype("M8[Y]").astype(np.int64) + 1970
    can_hold = (years >= FIRST_YEAR) & (years <= LAST_YEAR)
    return np.where(can_hold, times, np.datetime64("NaT")).astype("M8[ns]")


Parts = list[dict[str, str | None]]  # by the names of groups in the patterns of `dates`


def can_hold(times: Any) -> bool:
    """Whether nanoseconds can hold all times of a pandas series."""
    return bool(times.dt.year.between(FIRST_YEAR, LAST_YEAR).all())


def days_of(parts: Parts, years: np.ndarray, notation: str) -> np.ndarray:
    """Days of dates, NaT where there is no such day."""

    def number(key: str, default: int) -> np.ndarray:
        return np.array([int(part.get(key) or default) for part in parts])

    if notation == "weeks":
        # The first week of a year has its 4th of January; 1970 began on a Thursday.
        fourth = (years - 1970).astype("M8[Y]").astype("M8[D]") + 3
        monday = fourth - (fourth.astype(np.int64) + 3) % 7
        weeks = number("w", 1)
        days = monday + 7 * (weeks - 1) + number("k", 1) - 1
        days[(weeks < 1) | (weeks > 53)] = np.datetime64("NaT")
        return days
    months = number("m", 1)
    for k, part in enumerate(parts):
        if part.get("q"):
            months[k] = 3 * int(part["q"] or 1) - 2
        elif part.get("b"):
            months[k] = month_number(part["b"] or "")
    day = number("d", 1)
    starts = ((years - 1970) * 12 + months - 1).astype("M8[M]")
    days = starts.astype("M8[D]") + (day - 1)
    is_wrong = (months < 1) | (months > 12) | (day < 1) | (days.astype("M8[M]") != starts)
    days[is_wrong] = np.datetime64("NaT")
    return days


def time_of_day(parts: Parts, notes: list[str]) -> np.ndarray:
    """Nanoseconds since midnight, in UTC where a zone is given; NaT for no time of day."""
    nanoseconds = np.zeros(len(parts), "m8[ns]")
    zones = set()
    for k, part in enumerate(parts):
        if not part.get("H"):
            continue
        hour, minute, second = (int(part.get(key) or 0) for key in "HMS")
        if part["p"]:
            if not 1 <= hour <= 12:
                hour = 99
            hour = hour % 12 + (12 if part["p"] in "pP" else 0) if hour < 99 else hour
        if hour > 24 or minute > 59 or second > 59 or (hour == 24 and minute + second > 0):
            nanoseconds[k] = np.timedelta64("NaT")
            continue
        zone = (part["z"] or "").strip()
        offset = offset_minutes(zone) if zone else 0
        if zone:
            zones.add(zone)
        fraction = int((part["f"] or "0").ljust(9, "0"))
        total = (hour * 60 + minute - offset) * 60 + second
        nanoseconds[k] = np.timedelta64(total * 10**9 + fraction, "ns")
    notes += zone_notes(zones)
    return nanoseconds


def zone_notes(zones: set[str]) -> list[str]:
    """That times were converted to UTC, where they were given in other zones."""
    if not zones - {"Z", "UTC", "GMT", "+00:00", "+0000", "+00"}:
        return []
    return [f"times have a zone ({', '.join(sorted(zones)[:3])}): converted to UTC"]


def with_century(years: np.ndarray) -> np.ndarray | None:
    """Years of two digits, in the order of the file, as years that follow each other.

    A step of more than 50 years is one across a turn of the century, and the latest century in
    which the years are not to come is taken. None where that may be wrong: where they span a
    century; or where rows do not run one way, and the years span 50, or more than 20 of which each
    one alone would not be in the same century.
    """
    steps = np.diff(years)
    turns = np.where(steps < -50, 100, 0) - np.where(steps > 50, 100, 0)
    unrolled = years + np.r_[0, turns.cumsum()]
    span, now = unrolled.max() - unrolled.min(), date.today().year
    if span >= 100:
        return None
    century = 2100
    while unrolled.min() + century > now + 1 or unrolled.max() + century > now + 10:
        century -= 100
    read, steps = unrolled + century, np.diff(unrolled)
    alone = years + 100 * ((now + 1 - years) // 100)
    is_one_way = (steps >= 0).all() or (steps <= 0).all()
    if is_one_way or span <= 20 or (span < 50 and (read == alone).all()):
        return np.asarray(read)
    return None

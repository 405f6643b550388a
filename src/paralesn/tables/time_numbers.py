"""Times written as numbers: years, epochs, Excel's days, dates as whole numbers."""

import re
from typing import NamedTuple

import numpy as np

from paralesn.tables.date_parts import FIRST_YEAR, LAST_YEAR, in_nanoseconds

# Names of columns that hold times, in the languages that tables often come in.
TIME_NAME = re.compile(
    r"(?:^|[^a-z])(?:date|datetime|time|timestamp|day|month|year|yr|week|quarter|period|epoch|unix|"
    r"utc|ds|ts|datum|zeit|zeitpunkt|tag|monat|jahr|woche|quartal|fecha|hora|mes|ano|fecha|annee|mois|"
    r"jour|heure|data|anno|mese|when)(?:$|[^a-z])|date|time|year|jahr"
)
_EPOCHS = {"epoch seconds": 1e9, "epoch milliseconds": 1e6, "epoch microseconds": 1e3,
           "epoch nanoseconds": 1.0}  # fmt: skip
_FIRST, _LAST = 1e8, 4.2e9  # 1973 and 2103 in seconds
NUMBER_NOTATIONS = ("years", "decimal years", "Excel days", "yyyymmdd", "yyyymm", *_EPOCHS)
_SECONDS = [float(np.datetime64(f"{year}-01-01", "s").astype(np.int64))
            for year in (FIRST_YEAR, LAST_YEAR + 1)]  # fmt: skip
# Numbers that are dates which nanoseconds can hold: from, and less than.
_RANGES = {
    "years": (FIRST_YEAR, LAST_YEAR + 1),
    "decimal years": (FIRST_YEAR, LAST_YEAR + 1),
    "Excel days": (0.0, _SECONDS[1] / 86_400 + 25_569),
    "yyyymmdd": (FIRST_YEAR * 10_000, (LAST_YEAR + 1) * 10_000),
    "yyyymm": (FIRST_YEAR * 100, (LAST_YEAR + 1) * 100),
} | {
    notation: (_SECONDS[0] * 1e9 / ticks, _SECONDS[1] * 1e9 / ticks)
    for notation, ticks in _EPOCHS.items()
}


class NumberTimes(NamedTuple):
    """Times read from numbers: datetime64[ns], the notation, and what to say about it."""

    times: np.ndarray
    notation: str
    note: str


def is_time_name(name: str) -> bool:
    """Whether a column is called like a time."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    return TIME_NAME.search(plain) is not None


def notation_of_numbers(values: np.ndarray, name: str, *, is_given: bool) -> str | None:
    """The notation of numbers that are times, or None where they may be any numbers.

    `name` is that of the column, `is_given` says that somebody called it the time column.
    """
    if not values.size or not np.isfinite(values).all():
        return None
    is_called_so = is_time_name(name)
    low, high = float(values.min()), float(values.max())
    if (values % 1).any():
        if is_called_so and low >= 1700 and high < 2200 and _per_year(values):
            return "decimal years"
        is_epoch = (is_called_so or is_given) and low >= _FIRST and high < _LAST
        return "epoch seconds" if is_epoch else None
    if low >= 1700 and high < 2200 and (is_called_so or _follow(values)):
        return "years"
    if not (is_called_so or is_given):
        return None
    if low >= 19_000_101 and high < 22_000_101 and _are_dates(values):
        return "yyyymmdd"
    if low >= 170_001 and high < 220_001 and ((values % 100 >= 1) & (values % 100 <= 12)).all():
        return "yyyymm"
    for notation, unit in _EPOCHS.items():
        if _FIRST * 1e9 / unit <= low and high < _LAST * 1e9 / unit:
            return notation
    if is_called_so and low >= 15_000 and high < 75_000 and _is_one_way(values):
        return "Excel days"
    return None


def times_of_numbers(values: np.ndarray, notation: str, name: str) -> NumberTimes:
    """Read numbers as times; NaT where they are none of the notation, or cannot be held."""
    low, high = _RANGES[notation]
    can_be = (values >= low) & (values < high)
    values = np.where(can_be, values, np.asarray(max(low, 0)).astype(values.dtype))
    read = _times_of_numbers(values, notation, name)
    return read._replace(times=np.where(can_be, read.times, np.datetime64("NaT", "ns")))


def _times_of_numbers(values: np.ndarray, notation: str, name: str) -> NumberTimes:
    """Read numbers that are in the range of a notation."""
    if notation in _EPOCHS:
        unit, ticks = notation.split()[1], int(_EPOCHS[notation])
        note = f"{name!r} counts {unit} since 1970 (UTC)"
        if values.dtype.kind in "iu":
            return NumberTimes((values.astype(np.int64) * ticks).astype("M8[ns]"), notation, note)
        whole = np.floor(values)
        # Fractions are rounded to microseconds, as floats have no more digits.
        fraction = np.round((values - whole) * ticks / 1000) * 1000
        times = whole.astype(np.int64) * ticks + fraction.astype(np.int64)
        return NumberTimes(times.astype("M8[ns]"), notation, note)
    if notation == "Excel days":
        since = np.round(values * 86_400_000.0).astype("m8[ms]")
        days = np.datetime64("1899-12-30", "ms") + since
        return NumberTimes(days.astype("M8[ns]"), notation, f"{name!r} counts days as Excel does")
    if notation == "decimal years":
        steps = _per_year(values) or 12
        months = np.round(values * steps) * (12 // steps) - 1970 * 12
        note = f"{name!r} holds years with fractions: read as {_PARTS[steps]}"
        return NumberTimes(in_nanoseconds(months.astype("M8[M]")), notation, note)
    return _of_digits(values.astype(np.int64), notation, name)


def _of_digits(whole: np.ndarray, notation: str, name: str) -> NumberTimes:
    """Times of which the digits are years, or years and months, and days."""
    if notation == "years":
        times = in_nanoseconds((whole - 1970).astype("M8[Y]"))
        return NumberTimes(times, notation, f"{name!r} holds years")
    day = whole % 100 if notation == "yyyymmdd" else np.ones_like(whole)
    month = whole // 100 % 100 if notation == "yyyymmdd" else whole % 100
    year = whole // (10_000 if notation == "yyyymmdd" else 100)
    starts = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    days = starts.astype("M8[D]") + (day - 1)
    is_wrong = (month < 1) | (month > 12) | (day < 1) | (days.astype("M8[M]") != starts)
    days[is_wrong] = np.datetime64("NaT")
    return NumberTimes(
        in_nanoseconds(days), notation, f"{name!r} is read as {notation}: {whole[0]} is {days[0]}"
    )


_PARTS = {12: "months", 4: "quarters"}


def _per_year(values: np.ndarray) -> int | None:
    """Whether fractions of years are months (12) or quarters (4); None where neither."""
    for steps in (4, 12):
        parts = values * steps
        # Files have two to four digits of a fraction.
        if values.size > 1 and (np.abs(parts - np.round(parts)) < 0.01 * steps).all():
            rounded = np.round(parts)
            if np.unique(rounded).size == np.unique(values).size:
                return steps
    return None


def _is_one_way(values: np.ndarray) -> bool:
    steps = np.diff(values)
    return bool((steps >= 0).all() or (steps <= 0).all())


def _follow(values: np.ndarray) -> bool:
    """Whether whole numbers count up or down by one, for at least five rows."""
    steps = np.diff(values)
    return values.size >= 5 and bool((steps == 1).all() or (steps == -1).all())


def _are_dates(values: np.ndarray) -> bool:
    """Whether whole numbers such as 20120131 are dates."""
    whole = np.unique(values.astype(np.int64))
    year, month, day = whole // 10_000, whole // 100 % 100, whole % 100
    if ((month < 1) | (month > 12) | (day < 1)).any():
        return False
    starts = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    return bool(((starts.astype("M8[D]") + (day - 1)).astype("M8[M]") == starts).all())

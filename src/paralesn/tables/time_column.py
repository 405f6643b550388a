"""The time column of a table: which it is, and the times in it."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from paralesn.tables.date_parts import FIRST_YEAR, LAST_YEAR, with_century
from paralesn.tables.dates import EXAMPLES, TEXT_NOTATIONS, AmbiguousDateError, parse_dates
from paralesn.tables.dates import notation_of as notation_of_text
from paralesn.tables.errors import TableError
from paralesn.tables.notes import listed
from paralesn.tables.reader import Table, read_table
from paralesn.tables.time_numbers import (
    NUMBER_NOTATIONS,
    is_time_name,
    notation_of_numbers,
    times_of_numbers,
)  # fmt: skip
from paralesn.tables.zones import ENDS_WITH_ZONE

NOTATIONS = tuple(dict.fromkeys((*TEXT_NOTATIONS, *NUMBER_NOTATIONS)))
_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([AaPp])\.?[Mm]\.?)?")


class Times(NamedTuple):
    """Times of the rows of a table.

    Attributes
    ----------
    values : array (rows,)
        datetime64[ns], or floats where the column holds numbers that are no dates.
    format : str or None
        How they are written: a format of strptime or one of `NOTATIONS`.
    notes : list of str
    columns : tuple of str
        Columns that were read for them besides the time column.
    """

    values: np.ndarray
    format: str | None
    notes: list[str]
    columns: tuple[str, ...] = ()


# -- which column ----------------------------------------------------------------------------------


def find_time_column(
    table: Table, others: Iterable[str] = (), time_format: str | None = None
) -> tuple[str | None, list[str]]:
    """The time column, and what to say about it; None without one.

    The first column of dates or of text with dates, else the first of numbers that are years or
    an epoch. With `time_format`, the first column that has it. `others` have another role.
    """
    import pandas as pd

    taken = set(others)
    names = [str(name) for name in table.frame.columns if name not in taken]
    if time_format is not None:
        return _column_with_format(table, names, time_format)
    texts: list[str] = []
    numbers: list[str] = []
    for name in names:
        column = table.frame[name]
        if pd.api.types.is_datetime64_any_dtype(column):
            return name, [f"{name!r} is taken for the time of rows"]
        (numbers if pd.api.types.is_numeric_dtype(column) else texts).append(name)
    for name in texts:
        sample = [text.strip() for text in table.texts(name)[:1000] if text is not None]
        if notation_of_text(sample) is not None:
            return name, [f"{name!r} is taken for the time of rows"]
    for name in sorted(numbers, key=is_time_name, reverse=True):  # keeps the order of the file
        values = table.frame[name].to_numpy(float, na_value=np.nan)
        if notation_of_numbers(values, name, is_given=False) is not None:
            return name, [f"{name!r} is taken for the time of rows"]
    unread = [name for name in texts if not table.is_numeric(name)]
    if not unread:
        return None, []
    tried = listed([f"{name!r} ({_first(table, name)!r})" for name in unread], 5)
    return None, [
        f"no time column: {tried} holds no dates such as {EXAMPLES}; rows are taken in the order "
        "of the file (`time` and `time_format` say otherwise)"
    ]


def _column_with_format(table: Table, names: list[str], time_format: str) -> tuple[str, list[str]]:
    """The first column whose times have a format."""
    begun: TableError | None = None
    for name in names:
        try:
            read_times(table, name, time_format)
        except TableError as error:
            if "no pattern" in str(error):
                raise
            if begun is None and not str(error).startswith(f"{table.location(0)}: "):
                begun = error  # its first rows have the format
            continue
        return name, [f"{name!r} is taken for the time of rows"]
    if begun is not None:
        raise begun
    tried = listed([f"{name!r} ({_first(table, name)!r})" for name in names], 5)
    raise TableError(
        f"{table.path.name} has no column of times as `time_format={time_format!r}`; tried: "
        f"{tried or 'none'}",
        parameter="time_format",
    )


def _first(table: Table, name: str) -> str:
    """The first value of a column, as text."""
    return next((text for text in table.texts(name) if text is not None), "")


# -- its times -------------------------------------------------------------------------------------


def read_times(table: Table, name: str, time_format: str | None = None) -> Times:
    """Read a time column as datetime64[ns], or as floats where it holds numbers that are no dates.

    Times are in UTC where zones are given. `time_format` is in the notation of strptime, or one of
    `NOTATIONS`; without it, the notation that fits the column is taken.
    """
    import pandas as pd

    column = table.column(name)
    empty = column.isna().to_numpy()
    if empty.any():
        row = int(np.flatnonzero(empty)[0])
        raise TableError(f"{table.location(row)}: the time ({name!r}) is missing")
    if pd.api.types.is_datetime64_any_dtype(column):
        return _of_datetimes(table, name)
    if time_format is not None and "%" in time_format:
        return _by_pattern(table, name, time_format)
    if time_format is not None and time_format not in NOTATIONS:
        raise TableError(
            f"`time_format={time_format!r}` is no pattern of dates such as %d.%m.%Y, nor one of "
            f"{', '.join(NOTATIONS)}",
            parameter="time_format",
        )
    if pd.api.types.is_numeric_dtype(column):
        return _of_numbers(table, name, time_format)
    return _with_time_of_day(table, name, _of_text(table, name, time_format))


def _of_datetimes(table: Table, name: str) -> Times:
    """Times that a format of files knows as such."""
    notes, column = [], table.column(name)
    wrong = ~column.dt.year.between(FIRST_YEAR, LAST_YEAR).to_numpy()
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise TableError(
            f"{table.location(row)}: the time ({name!r}) is {column.iloc[row]}, expected a year "
            f"from {FIRST_YEAR} to {LAST_YEAR}"
        )
    if getattr(column.dt, "tz", None) is not None:
        if str(column.dt.tz) != "UTC":
            notes.append(f"times have a zone ({column.dt.tz}): converted to UTC")
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return Times(column.to_numpy().astype("M8[ns]"), None, notes)


def _of_numbers(table: Table, name: str, notation: str | None) -> Times:
    """Times written as numbers."""
    values = table.numbers(name)
    column = table.column(name)
    if column.dtype.kind in "iu":  # nanoseconds since 1970 have more digits than floats
        values = column.to_numpy()
    if notation not in NUMBER_NOTATIONS:
        notation = notation_of_numbers(values, name, is_given=True)
    if notation is None:
        return Times(_as_floats(table, name, values), None, [])
    times = times_of_numbers(values, notation, name)
    wrong = np.flatnonzero(np.isnat(times.times))
    if wrong.size:
        raise TableError(
            f"{table.location(int(wrong[0]))}: the time ({name!r}) is {values[wrong[0]]}, expected "
            f"a date ({notation}) from {FIRST_YEAR} to {LAST_YEAR}",
            parameter="time_format",
        )
    return Times(times.times, times.notation, [times.note])


def _as_floats(table: Table, name: str, values: np.ndarray) -> np.ndarray:
    """Times that are numbers and no dates; whole ones that floats cannot tell apart are refused."""
    floats = values.astype(float)
    wrong = np.flatnonzero((values > 2**53) | (values < -(2**53)))
    if values.dtype.kind in "iu" and wrong.size:
        raise TableError(
            f"{table.location(int(wrong[0]))}: the time ({name!r}) is {values[wrong[0]]}, expected "
            "a number up to 2**53; `time_format` says which dates such numbers are",
            parameter="time_format",
        )
    return floats


def _of_text(table: Table, name: str, notation: str | None) -> Times:
    """Times written as text."""
    texts = [(text or "").strip() for text in table.texts(name)]
    try:
        dates = parse_dates(texts, notation if notation in TEXT_NOTATIONS else None)
    except AmbiguousDateError as error:
        readings = " or ".join(
            f"{reading} (`time_format={format!r}`)" for format, reading in error.readings.items()
        )
        raise TableError(
            f"{table.location(texts.index(error.text))}: the time ({name!r}) is {error.text!r}, "
            f"which may be {readings}",
            parameter="time_format",
        ) from None
    wrong = [0] if dates is None else np.flatnonzero(np.isnat(dates.times)).tolist()
    if wrong or dates is None:
        notation = f"a date ({dates.notation})" if dates else f"a date such as {EXAMPLES}"
        year = re.search(r"(?<!\d)\d{4}(?!\d)", texts[wrong[0]])
        if year and not FIRST_YEAR <= int(year[0]) <= LAST_YEAR:
            notation += f" from {FIRST_YEAR} to {LAST_YEAR}"
        elif re.search(r"(?<!\d)\d{2}(?!\d)", texts[wrong[0]]) and not re.search(
            r"\d{4}", texts[wrong[0]]
        ):
            notation += ", with a year of four digits where two may be of several centuries"
        if any(map(ENDS_WITH_ZONE.search, texts)) and not ENDS_WITH_ZONE.search(texts[wrong[0]]):
            notation += " with a zone, as other rows have"
        raise TableError(
            f"{table.location(wrong[0])}: the time ({name!r}) is {texts[wrong[0]]!r}, expected "
            f"{notation}; for another notation give `time_format`, such as %d.%m.%Y",
            parameter="time_format",
        )
    return Times(dates.times, dates.notation, dates.notes)


def _by_pattern(table: Table, name: str, pattern: str) -> Times:
    """Times in a format of strptime."""
    import pandas as pd

    column = table.column(name)
    if pd.api.types.is_float_dtype(column) and not (column % 1).any():
        column = column.astype("int64")
    texts = column.astype(str).str.strip()
    try:
        times = pd.to_datetime(texts, format=pattern, utc=True, errors="coerce")
    except ValueError as error:
        raise TableError(
            f"`time_format={pattern!r}` is no pattern of dates: {error}", parameter="time_format"
        ) from error
    wrong = np.flatnonzero(~times.dt.year.between(FIRST_YEAR, LAST_YEAR).to_numpy())
    if wrong.size:
        raise TableError(
            f"{table.location(int(wrong[0]))}: the time ({name!r}) is "
            f"{str(texts.iloc[wrong[0]])!r}, expected a date as {pattern} from {FIRST_YEAR} to "
            f"{LAST_YEAR}",
            parameter="time_format",
        )
    notes = ["times have a zone: converted to UTC"] if re.search("%[zZ]", pattern) else []
    values = times.dt.tz_localize(None).to_numpy().astype("M8[ns]")
    if "%y" in pattern:
        values, note = _in_their_centuries(table, name, values)
        notes.append(note)
    return Times(values, pattern, notes)


def _in_their_centuries(table: Table, name: str, times: np.ndarray) -> tuple[np.ndarray, str]:
    """Times whose years were written with two digits, and which years these are."""
    months, first = times.astype("M8[M]"), np.datetime64(0, "Y")
    years = (times.astype("M8[Y]") - first).astype(np.int64) + 1970
    full = with_century(years % 100)
    if full is None:
        raise TableError(
            f"{table.path.name}: years of {name!r} have two digits and may be of several "
            "centuries, expected years of four digits",
            parameter="time_format",
        )
    moved = months + 12 * (full - years)
    days = (times.astype("M8[D]") - months.astype("M8[D]")) + moved.astype("M8[D]")
    wrong = np.flatnonzero(days.astype("M8[M]") != moved)
    if wrong.size:
        raise TableError(
            f"{table.location(int(wrong[0]))}: the time ({name!r}) is the 29th of February of "
            f"{full[wrong[0]]}, which had none, expected years of four digits",
            parameter="time_format",
        )
    values = days.astype("M8[ns]") + (times - times.astype("M8[D]"))
    return values, f"years of two digits are read as {full.min()} to {full.max()}"


def _with_time_of_day(table: Table, name: str, times: Times) -> Times:
    """Add the time of day where dates repeat and another column has it."""
    days = times.values
    if len(np.unique(days)) == len(days) or (days != days.astype("M8[D]")).any():
        return times
    if len(table.frame.columns) < len(table.names):
        table = read_table(table.file)
    for other in table.frame.columns:
        texts = [(text or "").strip() for text in table.texts(str(other))[:20]]
        if other == name or not all(_TIME_OF_DAY.fullmatch(text) for text in texts):
            continue
        seconds = [_seconds(text) for text in table.texts(str(other))]
        if None not in seconds:
            values = days + np.array(seconds, float).astype("m8[s]")
            return times._replace(
                values=values,
                notes=[*times.notes, f"{str(other)!r} is taken for the time of day of {name!r}"],
                columns=(str(other),),
            )
    return times


def _seconds(text: str | None) -> int | None:
    """Seconds since midnight, None for what is no time of day."""
    match = _TIME_OF_DAY.fullmatch((text or "").strip())
    if match is None:
        return None
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    if match[4]:
        hour = hour % 12 + (12 if match[4] in "pP" else 0)
    return (60 * hour + minute) * 60 + second if hour <= 24 and minute < 60 else None

"""Dates in text: which notation a column has, and its times.

A notation must fit all of a column. Where day and month can be told apart by no value, the order
that makes times follow each other decides, and where both do, that is an error.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from paralesn.tables.clock import clock_of, format_times
from paralesn.tables.date_parts import (
    FIRST_YEAR,
    LAST_YEAR,
    can_hold,
    days_of,
    in_nanoseconds,
    time_of_day,
    with_century,
    zone_notes,
)
from paralesn.tables.months import MONTH, month_number
from paralesn.tables.zones import ENDS_WITH_ZONE, ZONE

_CLOCK = (
    r"(?:(?:T|,? +)(?P<H>\d{1,2})"
    r"(?::(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,](?P<f>\d{1,9}))?)?|(?= ?[AaPp]))"
    rf"(?: ?(?P<p>[AaPp])\.?[Mm]\.?)?(?P<z> ?{ZONE})?)?"
)
_YEAR = r"(?P<y>\d{4}|'?\d{2})"
_WEEKDAY = r"(?:(?:[Mm]on|[Tt]ue|[Ww]ed|[Tt]hu|[Ff]ri|[Ss]at|[Ss]un)[a-z]*\.?,? +)?"

# Names by which notations are recorded, with what they look like.
_PATTERNS: dict[str, tuple[str, ...]] = {
    "ISO": (rf"(?P<y>\d{{4}})-(?P<m>\d{{1,2}})(?:-(?P<d>\d{{1,2}}){_CLOCK})?",),
    "year first": (
        rf"(?P<y>\d{{4}})(?P<s>[/. ])(?P<m>\d{{1,2}})(?P=s)(?P<d>\d{{1,2}}){_CLOCK}",
        rf"(?P<y>\d{{4}})(?P<m>\d{{2}})(?P<d>\d{{2}}){_CLOCK}",
    ),
    "months": (
        r"(?P<y>\d{4})[/.Mm:](?P<m>\d{1,2})",
        r"(?P<m>\d{1,2})[-/.](?P<y>\d{4})",
    ),
    "quarters": (
        r"(?P<y>\d{4})[-:./]? ?[Qq](?P<q>[1-4])",
        rf"[Qq](?P<q>[1-4])[-:./]? ?{_YEAR}",
    ),
    "weeks": (r"(?P<y>\d{4})-? ?[Ww](?P<w>\d{1,2})(?:-(?P<k>[1-7]))?",),
    "month names": (
        rf"(?P<b>{MONTH})\.?[-/ ,]*{_YEAR}",
        rf"(?P<y>\d{{4}})[-/ ]?(?P<b>{MONTH})\.?",
        rf"{_WEEKDAY}(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?[-/ ]*(?P<b>{MONTH})[-/ .,]*"
        rf"{_YEAR}{_CLOCK}",
        rf"{_WEEKDAY}(?P<b>{MONTH})\.?[- ]*(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? +{_YEAR}{_CLOCK}",
        rf"(?P<y>\d{{4}})[-/ ](?P<b>{MONTH})[-/ ](?P<d>\d{{1,2}}){_CLOCK}",
    ),
    "years": (r"(?P<y>\d{4})",),
    "day first": (rf"(?P<d>\d{{1,2}})(?P<s>[-/.])(?P<m>\d{{1,2}})(?P=s){_YEAR}{_CLOCK}",),
    "month first": (rf"(?P<m>\d{{1,2}})(?P<s>[-/.])(?P<d>\d{{1,2}})(?P=s){_YEAR}{_CLOCK}",),
    "short year first": (rf"(?P<y>\d{{2}})(?P<s>-)(?P<m>\d{{2}})-(?P<d>\d{{2}}){_CLOCK}",),
}  # fmt: skip
_COMPILED = {name: [re.compile(p) for p in patterns] for name, patterns in _PATTERNS.items()}
_NUMERIC_DATES = ("day first", "month first")
_ORDERS = {"day first": "dmy", "month first": "mdy", "short year first": "ymd"}
TEXT_NOTATIONS = tuple(_PATTERNS)
EXAMPLES = "2012-01-31, 31.01.2012, 01/31/2012, Jan-49, 1960Q1, 2012-W05"


class AmbiguousDateError(ValueError):
    """Dates of which day and month cannot be told apart; `readings` by format of strptime."""

    def __init__(self, text: str, readings: dict[str, str]) -> None:
        super().__init__(text)
        self.text, self.readings = text, readings


class Dates(NamedTuple):
    """Dates read from text.

    Attributes
    ----------
    times : array (rows,) of datetime64[ns]
        In UTC where zones are given; NaT where the text is no date of the notation.
    notation : str
    notes : list of str
    """

    times: np.ndarray
    notation: str
    notes: list[str]


def notation_of(texts: Sequence[str]) -> str | None:
    """The notation that fits nine of ten texts, or the first and most others; None without one.

    Examples
    --------
    >>> from paralesn.tables.dates import notation_of
    >>> notation_of(["1960Q1", "1960Q2"]), notation_of(["Jan-49"]), notation_of(["north"])
    ('quarters', 'month names', None)
    """
    texts = texts[:200]
    counts = {name: sum(_match(text, name) is not None for text in texts) for name in _COMPILED}
    for name, count in counts.items():
        if count >= 0.9 * len(texts) > 0:
            return name
    # Most are dates: better an error at the others than no times at all.
    best = max(counts, key=counts.__getitem__)
    is_likely = counts[best] > 0.5 * len(texts) and _match(texts[0], best) is not None
    return best if is_likely else None


def parse_dates(texts: Sequence[str], notation: str | None = None) -> Dates | None:
    """Read dates in the order of the file; None where no notation fits.

    Parameters
    ----------
    texts : sequence of str
    notation : str, optional
        One of `TEXT_NOTATIONS`. Default: the one that fits.

    Examples
    --------
    >>> from paralesn.tables.dates import parse_dates
    >>> dates = parse_dates(["Dec-99", "Jan-00"])
    >>> dates.times.astype("M8[D]").tolist()
    [datetime.date(1999, 12, 1), datetime.date(2000, 1, 1)]
    >>> dates.notes
    ['years of two digits are read as 1999 to 2000']
    """
    is_given = notation is not None
    notation = notation or notation_of(texts)
    if notation is None:
        return None
    if notation == "ISO" and (dates := _parse_iso(texts)) is not None:
        return dates
    if notation not in _NUMERIC_DATES or is_given:
        return _parse(texts, notation)
    return _in_some_order(texts)


def _parse_iso(texts: Sequence[str]) -> Dates | None:
    """Read ISO dates with pandas, which is fast; None where it cannot read all, or zones vary."""
    import pandas as pd

    times = pd.to_datetime(pd.Series(texts), format="ISO8601", utc=True, errors="coerce")
    if times.isna().any() or not can_hold(times):
        return None
    zones = {match[1] if (match := ENDS_WITH_ZONE.search(text)) else "" for text in texts}
    if "" in zones and len(zones) > 1:
        return None
    values = times.dt.tz_localize(None).to_numpy().astype("M8[ns]")
    return Dates(values, "ISO", zone_notes(zones - {""}))


def _match(text: str, notation: str) -> re.Match[str] | None:
    """The match of the first pattern of a notation that a text has."""
    for pattern in _COMPILED[notation]:
        match = pattern.fullmatch(text)
        if match and ("b" not in pattern.groupindex or month_number(match["b"])):
            return match
    return None


def _in_some_order(texts: Sequence[str]) -> Dates:
    """Decide on the order of day, month and a short year by the data."""
    orders = [name for name in _ORDERS if _match(texts[0], name) or name in _NUMERIC_DATES]
    every = [_parse(texts, name) for name in orders]
    unread = [int(np.isnat(dates.times).sum()) for dates in every]
    best = [dates for dates, count in zip(every, unread, strict=True) if count == min(unread)]
    if len(best) == 1 or min(unread):
        return best[0]._replace(
            notes=[*best[0].notes, f"dates are read with the {best[0].notation}"]
        )
    differing = [best[0], *(d for d in best[1:] if (d.times != best[0].times).any())]
    if len(differing) == 1:
        return best[0]
    example = int(np.flatnonzero(differing[0].times != differing[1].times)[0])
    readings = [format_times(dates.times[example : example + 1])[0] for dates in differing]
    ranks = [_order(dates.times) for dates in differing]
    leading = [
        k for k, own in enumerate(ranks)
        if all(a >= b for rank in ranks for a, b in zip(own, rank, strict=True))
    ]  # fmt: skip
    with_first = [f"dates are read with the {dates.notation}: {texts[example]!r} is {reading}"
                  for dates, reading in zip(differing, readings, strict=True)]  # fmt: skip
    if len(leading) == 1:
        k = leading[0]
        note = f"{with_first[k]}, as rows then follow each other"
        return differing[k]._replace(notes=[*differing[k].notes, note])
    if "." in texts[example].split(" ")[0]:  # with points, nobody writes the month first
        return differing[0]._replace(notes=[*differing[0].notes, with_first[0]])
    formats = [_strptime(texts[example], dates.notation) for dates in differing]
    raise AmbiguousDateError(texts[example], dict(zip(formats, readings, strict=True)))


def _order(times: np.ndarray) -> tuple[bool, bool]:
    """Whether times run one way in the file, and whether they are regular once sorted."""
    later, earlier = times[1:], times[:-1]
    is_one_way = bool((later >= earlier).all() or (later <= earlier).all())
    distinct = np.unique(times)
    clock = clock_of(distinct)
    is_regular = clock.kind != "irregular" and bool((clock.steps(distinct) == 1).all())
    return is_one_way, is_regular


def _strptime(text: str, notation: str) -> str:
    """The format of strptime of a date of numbers."""
    match = _match(text, notation)
    assert match is not None
    year = "%Y" if len(match["y"]) == 4 else "%y"
    codes = {"d": "%d", "m": "%m", "y": year}
    clock = ""
    if match["H"]:
        clock = " %I" if match["p"] else " %H"
        clock += (":%M" if match["M"] else "") + (":%S" if match["S"] else "")
        clock += " %p" if match["p"] else ""
    return match["s"].join(codes[part] for part in _ORDERS[notation]) + clock


def _parse(texts: Sequence[str], notation: str) -> Dates:
    """Read texts in a notation; NaT where they do not have it."""
    codes: dict[str, int] = {}
    rows = np.array([codes.setdefault(text.strip(), len(codes)) for text in texts])
    matches = [_match(text, notation) for text in codes]
    is_read = np.array([match is not None for match in matches])
    parts = [{} if match is None else match.groupdict() for match in matches]
    notes: list[str] = []
    years = np.array([int((part.get("y") or "0").lstrip("'")) for part in parts])
    is_short = np.array([len((part.get("y") or "0000").lstrip("'")) == 2 for part in parts])
    if is_short.any():
        in_order = rows[is_short[rows]]
        full = with_century(years[in_order])
        if full is None:
            is_read &= ~is_short
        else:
            years[in_order] = full
            notes.append(
                f"years of two digits are read as {years[is_short].min()} to "
                f"{years[is_short].max()}"
            )
    days = days_of(parts, years, notation)
    times = in_nanoseconds(days) + time_of_day(parts, notes)
    is_read &= (years >= FIRST_YEAR) & (years <= LAST_YEAR)
    zoned = {bool(part.get("z")) for part, read in zip(parts, is_read, strict=True) if read}
    if zoned == {True, False}:  # times without a zone cannot be placed among the others
        is_read &= np.array([bool(part.get("z")) for part in parts])
    times[~is_read] = np.datetime64("NaT")
    return Dates(times[rows], notation, notes)

"""Numbers in text: decimal commas, thousands separators, marks of missing values."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

_SIGNS = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2212": "-", "\u2019": "'"})
_MISSING = frozenset({"", "-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "?", "*", ":"})
_NUMERIC = re.compile(r"[+-]?[\d.,' ]*\d[\d.,' ]*(?:[eE][+-]?\d+)?", re.ASCII)
_UNIT = re.compile(r"[+-]?([$€£¥]) ?[\d.,' +-]+$|[\d.,' +-]+?([$€£¥%])$", re.ASCII)
_WORDS = {",": "comma", ".": "point", " ": "blank", "'": "apostrophe"}


class NumberFormat(NamedTuple):
    """Which characters mark decimals and thousands; `thousands` is "" where there are none."""

    decimal: str
    thousands: str

    def pattern(self, strict: bool = True) -> re.Pattern[str]:
        """What a number looks like; if `strict`, all digits are in groups (1234 is not)."""
        whole = r"\d+"
        if self.thousands:
            grouped = rf"(?:[1-9]\d{{0,2}}(?:{re.escape(self.thousands)}\d{{3}})+|\d{{1,3}})"
            whole = grouped if strict else rf"(?:{grouped}|\d+)"
        decimal = re.escape(self.decimal)
        number = rf"[+-]?(?:{whole}(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?"
        return re.compile(number, re.ASCII)

    def value(self, text: str) -> float:
        """The number in a text that has the pattern."""
        if self.thousands:
            text = text.replace(self.thousands, "")
        return float(text.replace(self.decimal, "."))

    def words(self) -> str:
        """The format in words: decimal commas, points between thousands."""
        parts = ["decimal commas"] if self.decimal == "," else []
        if self.thousands:
            parts.append(f"{_WORDS[self.thousands]}s between thousands")
        return " and ".join(parts)


PLAIN = NumberFormat(".", "")
_FORMATS = (PLAIN, *(NumberFormat(d, t) for t in ("", ",", ".", " ", "'") for d in (".", ",")
                     if d != t and (d, t) != PLAIN))  # fmt: skip


class AmbiguousNumberError(ValueError):
    """Numbers that have two readings; `text` is one of them, `formats` are the readings."""

    def __init__(self, text: str, formats: Sequence[NumberFormat]) -> None:
        super().__init__(text)
        self.text, self.formats = text, formats


class Numerals(NamedTuple):
    """Numbers read from text.

    Attributes
    ----------
    values : array (rows,)
        NaN where the text is empty, a mark of missing values, or no number.
    is_wrong : array (rows,) of bool
        Where the text is no number.
    marks : dict of str to int
        Marks of missing values, and how often each came.
    format : NumberFormat
    unit : str
        The sign that all numbers have, of a currency or %, or "".
    """

    values: np.ndarray
    is_wrong: np.ndarray
    marks: dict[str, int]
    format: NumberFormat
    unit: str = ""


def parse_numbers(
    texts: Sequence[str | None],
    decimal: str | None = None,
    thousands: str | None = None,
    usual: str | None = None,
) -> Numerals:
    """Read a column of text as numbers, in the one notation that fits all of it.

    Parameters
    ----------
    texts : sequence of str or None
    decimal, thousands : str, optional
        Set the notation. Default: what fits.
    usual : str, optional
        The decimal separator of other columns, which decides where two notations fit.

    Examples
    --------
    >>> from paralesn.tables.numerals import parse_numbers
    >>> parse_numbers(["1.234,5", "7"]).values.tolist()
    [1234.5, 7.0]
    """
    cleaned = ["" if text is None else text.translate(_SIGNS).strip() for text in texts]
    unit = _unit_of(cleaned)
    if unit:
        cleaned = [text.replace(unit, "").strip() for text in cleaned]
    distinct = dict.fromkeys(text for text in cleaned if text not in _MISSING)  # in order
    chosen = _choose(distinct, decimal, thousands, usual)
    pattern = chosen.pattern(strict=False)
    numbers = {text: chosen.value(text) for text in distinct if pattern.fullmatch(text)}
    values = np.array([numbers.get(text, np.nan) for text in cleaned])
    is_wrong = np.array([text in distinct and text not in numbers for text in cleaned], bool)
    marks: dict[str, int] = {}
    for text in cleaned:
        if text and text in _MISSING:
            marks[text] = marks.get(text, 0) + 1
    return Numerals(values, is_wrong, marks, chosen, unit)


def _unit_of(texts: Iterable[str]) -> str:
    """The sign of a currency or % that all texts have once, at an end; "" without one."""
    signs = {
        match[1] or match[2] if (match := _UNIT.match(text)) else ""
        for text in texts
        if text not in _MISSING
    }
    return signs.pop() if len(signs) == 1 else ""


def _choose(
    distinct: Mapping[str, object], decimal: str | None, thousands: str | None, usual: str | None
) -> NumberFormat:
    """The notation that fits all texts, or most of them where none does."""
    allowed = [
        one for one in _FORMATS
        if decimal in (None, one.decimal) and thousands in (None, one.thousands)
    ]  # fmt: skip
    fits: list[tuple[NumberFormat, int]] = []
    for strict in (True, False):
        fits = [(one, _matches(distinct, one.pattern(strict))) for one in allowed]
        fitting = [one for one, count in fits if count == len(distinct)]
        if fitting:
            break
    else:
        return max(fits, key=lambda fit: fit[1])[0]
    for text in distinct:
        if len({one.value(text) for one in fitting}) > 1:
            preferred = [one for one in fitting if one.decimal == usual]
            if preferred:
                return preferred[0]
            readings = {one.value(text): one for one in reversed(fitting)}
            raise AmbiguousNumberError(text, list(readings.values()))
    return fitting[0]


def _matches(texts: Iterable[str], pattern: re.Pattern[str]) -> int:
    return sum(pattern.fullmatch(text) is not None for text in texts)


def is_numeral(text: str) -> bool:
    """Whether a text is a number in some notation.

    Examples
    --------
    >>> from paralesn.tables.numerals import is_numeral
    >>> [is_numeral(text) for text in ("-1.234,5", "+2e3", "-1-2", "")]
    [True, True, False, False]
    """
    return _NUMERIC.fullmatch(text) is not None


def plain_numbers(texts: Sequence[str]) -> list[float]:
    """Numbers with decimal points, nan or inf; ValueError for what only Python takes for one.

    Examples
    --------
    >>> from paralesn.tables.numerals import plain_numbers
    >>> plain_numbers(["-1.5", " 2e3 ", "nan"])
    [-1.5, 2000.0, nan]
    >>> plain_numbers(["1", "1_0"])
    Traceback (most recent call last):
    ValueError: could not convert string to float: '1_0'
    """
    together = "".join(texts)
    if "_" in together or not together.isascii():
        wrong = next(text for text in texts if "_" in text or not text.isascii())
        raise ValueError(f"could not convert string to float: {wrong!r}")
    return list(map(float, texts))


def are_numbers(texts: Iterable[str | None]) -> bool:
    """Whether texts look like numbers in some notation."""
    cleaned = [text.translate(_SIGNS).strip() for text in texts if text is not None]
    unit = _unit_of(cleaned)
    filled = [text.replace(unit, "").strip() for text in cleaned if text not in _MISSING]
    return bool(filled) and all(_NUMERIC.fullmatch(text) for text in filled)


def decimal_of(columns: Iterable[Sequence[str | None]]) -> str | None:
    """The decimal separator of the first column that can be read in one way only, or None."""
    for texts in columns:
        if not are_numbers(texts):
            continue
        try:
            numerals = parse_numbers(texts)
        except AmbiguousNumberError:
            continue
        if not numerals.is_wrong.any() and (numerals.format.decimal == ","):
            return ","
    return None

"""Names of cases and series, and labels: text as it came, or the whole numbers that it is."""

import re
from collections.abc import Container, Iterable
from decimal import Decimal

_WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_DIGITS = 40  # beyond these, no text is a whole number that 64 bits hold
_LARGEST = 2**63 - 1


def whole_number(text: str) -> int | None:
    """The whole number that a text is in plain notation, exactly; None for any other text.

    01 is none, as zeros before a number belong to codes; nor is what 64 bits cannot hold.

    Examples
    --------
    >>> from paralesn.tables.labels import whole_number
    >>> [whole_number(text) for text in ("7", "7.0", "7e0", "9007199254740993", "07", "7.5", "x")]
    [7, 7, 7, 9007199254740993, None, None, None]
    """
    if len(text) > _DIGITS or _WHOLE.fullmatch(text) is None:
        return None
    number = Decimal(text)
    if abs(number) > _LARGEST or number != number.to_integral_value():
        return None
    return int(number)


def whole_numbers(texts: Iterable[str]) -> list[int] | None:
    """The whole numbers that all texts are; None where one of them is no such number."""
    known: dict[str, int] = {}
    numbers = []
    for text in texts:
        if text not in known:
            number = whole_number(text)
            if number is None:
                return None
            known[text] = number
        numbers.append(known[text])
    return numbers


def free_name(name: str, taken: Container[str]) -> str:
    """The name of a column that is added to others: with underscores behind it where it is taken.

    Examples
    --------
    >>> from paralesn.tables.labels import free_name
    >>> free_name("step", {"y"}), free_name("step", {"step", "step_"})
    ('step', 'step__')
    """
    while name in taken:
        name += "_"
    return name


def as_names(texts: list[str]) -> list[str]:
    """Names in one notation: those of whole numbers without a point where all are, else as given.

    Examples
    --------
    >>> from paralesn.tables.labels import as_names
    >>> as_names(["1.0", "2"]), as_names(["1.0", "01"])
    (['1', '2'], ['1.0', '01'])
    """
    numbers = whole_numbers(texts)
    return texts if numbers is None else list(map(str, numbers))

"""Fields of records: what each must hold, wherever a record has it.

Records are checked against this once, where they are read, so that whatever sums them up, tabulates
or draws them can rely on it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

_MOST = 1e100  # of a figure: its square can be computed
_LEAST = 1e-100  # of what is drawn on a logarithmic axis


class Field(NamedTuple):
    """What a field must hold: a check, and the same in words."""

    holds: Callable[[Any], bool]
    expected: str


def is_text(value: Any) -> bool:
    """Whether it is text."""
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    """Whether it is a number that can be computed with and drawn."""
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return is_one and (value == 0 or _LEAST <= abs(value) <= _MOST)


def is_positive(value: Any) -> bool:
    """Whether it is a number above zero."""
    return is_number(value) and value > 0


def is_count(value: Any) -> bool:
    """Whether it is a whole number that counts something."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def is_list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A check of lists."""
    return lambda value: isinstance(value, list) and all(map(check, value))


def is_object_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A check of objects by their values."""
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _is_energy(value: Any) -> bool:
    return isinstance(value, dict) and all(
        is_number(value[name]) for name in ("kwh", "kg") if value.get(name) is not None
    )


TEXT = Field(is_text, "text")
NUMBER = Field(is_number, "a number")
POSITIVE = Field(is_positive, "a positive number")
COUNT = Field(is_count, "a whole number, not negative")
NUMBERS = Field(is_object_of(is_number), "an object of numbers")
OBJECT = Field(lambda value: isinstance(value, dict), "an object")
SURROUNDINGS = {"versions": Field(is_object_of(is_text), "an object of texts"), "machine": OBJECT}

OF_RUNS: Mapping[str, Field] = {
    **SURROUNDINGS,
    **dict.fromkeys(("kind", "task", "model", "space", "metric"), TEXT),
    **dict.fromkeys(("alpha", "validation", "parameters", "trained"), NUMBER),
    "seed": COUNT,
    "configuration": OBJECT,
    "metrics": NUMBERS,
    "seconds": POSITIVE,
    "timing": NUMBERS,
    "energy": Field(_is_energy, "an object with numbers kwh and kg"),
}
_MAY_BE_NULL = ("alpha", "validation", "parameters", "trained", "energy", "machine")


def problem_of(
    record: Mapping[str, Any],
    needed: Iterable[str],
    fields: Mapping[str, Field] = OF_RUNS,
    optional: Iterable[str] = _MAY_BE_NULL,
) -> str | None:
    """Why a record cannot be used, or None.

    Parameters
    ----------
    record : mapping
    needed : iterable of str
        Fields that it must have; they are not null.
    fields : mapping of str to Field
        What fields must hold, as far as the record has them.
    optional : iterable of str
        Fields that may be null where they are not needed.

    Returns
    -------
    problem : str or None
        The end of a sentence that begins with the record.

    Examples
    --------
    >>> problem_of({"task": "mg", "seed": "first"}, ["task", "seed"])
    "has 'first' for seed, expected a whole number, not negative"
    >>> problem_of({"seed": 1}, ["task", "seed"])
    'is without task'
    """
    needed = tuple(needed)
    lacking = [name for name in needed if record.get(name) is None]
    if lacking:
        return f"is without {', '.join(lacking)}"
    for name, field in fields.items():
        value = record.get(name)
        if name not in record or (value is None and name in optional) or field.holds(value):
            continue
        return f"has {short(value)} for {name}, expected {field.expected}"
    if "metric" in needed and record["metric"] not in record["metrics"]:
        return f"has no {short(record['metric'])} among its metrics"
    return None


def short(value: Any) -> str:
    """A value as it may stand in a sentence."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."

"""Whether labels of cases are classes or numbers to predict."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from paralesn.tables.cases import LabelledCases
from paralesn.tables.errors import TableError
from paralesn.tables.numerals import AmbiguousNumberError, parse_numbers, plain_numbers

_FEW = 10  # different numbers that may well be classes


class Recognised(NamedTuple):
    """Whether labels are numbers to predict, and what is to be said about that."""

    is_number: bool
    note: str | None = None


def recognise_numbers(cases: LabelledCases) -> Recognised:
    """Tell classes from numbers to predict.

    Labels are numbers to predict where the file declares it; or where all are numbers, more than
    ten of them different, and either some are not whole or more than half of the cases have one of
    their own. Whole numbers otherwise are classes, as in the archives.

    Examples
    --------
    >>> from paralesn.tables.cases import LabelledCases
    >>> from paralesn.tables.case_targets import recognise_numbers
    >>> series, names = [[[0.0]]] * 20, [str(k) for k in range(20)]
    >>> recognise_numbers(LabelledCases(series, names, ["1", "2"] * 10))
    Recognised(is_number=False, note=None)
    >>> recognise_numbers(LabelledCases(series, names, [str(k / 8) for k in range(20)])).is_number
    True
    """
    if cases.labels is None:
        return Recognised(cases.is_target)
    if cases.is_target:
        return Recognised(True, "labels are numbers to predict, as the file declares them")
    numbers = _numbers(cases.labels)
    if numbers is None or not np.isfinite(numbers).all():
        return Recognised(False)
    distinct, whole = np.unique(numbers).size, bool((numbers == np.round(numbers)).all())
    if distinct <= _FEW:
        note = (
            f"labels are {distinct} different numbers: taken as classes; `regress=True` predicts "
            "numbers"
        )
        return Recognised(False, None if whole else note)
    if whole and distinct <= len(numbers) / 2:
        return Recognised(False)
    why = f"for {len(numbers)} cases" if whole else "not all of them whole"
    return Recognised(
        True,
        f"labels are {distinct} different numbers, {why}: taken as numbers to predict; "
        "`regress=False` takes them as classes",
    )


def target_numbers(labels: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Labels as numbers (cases,); the first case without one is named."""
    numbers = _numbers(labels)
    if numbers is None:
        numbers = np.array([_number(label) for label in labels])
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        case, label = names[wrong[0]], labels[wrong[0]]
        raise TableError(
            f"the label of case {case} is {label!r}, expected a number to predict",
            parameter="label",
        )
    return numbers


def _number(text: str) -> float:
    try:
        return plain_numbers([text])[0]
    except ValueError:
        return float("nan")


def _numbers(labels: Sequence[str]) -> np.ndarray | None:
    """Labels as floats, in any notation that fits all of them; None where there is none."""
    try:
        return np.array(plain_numbers(labels))
    except ValueError:
        pass
    try:
        numerals = parse_numbers(labels, usual=",")
    except AmbiguousNumberError:
        return None
    return None if numerals.is_wrong.any() or numerals.marks else numerals.values

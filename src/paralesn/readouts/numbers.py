"""Checks of numbers among the parameters of a readout."""

from numbers import Integral, Real
from typing import Any

import numpy as np


def check_whole(name: str, value: Any, least: int, more: str = "") -> None:
    """Refuse what is no whole number of at least `least`; `more` says what else may be given."""
    message = f"{name} must be a whole number of at least {least}{more}, got {value!r}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(message)
    if value < least:
        raise ValueError(message)


def check_number(name: str, value: Any, most: float, positive: bool = False) -> None:
    """Refuse what is no number from 0 (or above it) to below `most`."""
    message = f"{name} must be a number in {'(' if positive else '['}0, {most:g}), got {value!r}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(message)
    if not 0 <= float(value) < most or (positive and value == 0):
        raise ValueError(message)

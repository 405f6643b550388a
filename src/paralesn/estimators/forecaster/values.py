"""Numbers and times of single columns, as people hold them."""

import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from paralesn import checks, series
from paralesn.estimators.forecaster.frames import Index, as_exact
from paralesn.tables.date_parts import to_nanoseconds

LARGEST = 1e300  # value that is read: sums of larger ones may be infinite


def refuse_large(values: np.ndarray, name: str) -> None:
    """Raise for values, finite or NaN, whose sums may be beyond double precision."""
    large = np.abs(values) > LARGEST
    if large.any():
        row = int(np.argwhere(large)[0, 0])
        raise ValueError(
            f"{name} must be within -{LARGEST:g} and {LARGEST:g}, got {values[row]} at step {row}"
        )


def numbers(data: Any, name: str) -> np.ndarray:
    """An array of floats; None and masked values become NaN."""
    data = checks.masked_as_nan(data)
    with suppress(TypeError, ValueError, OverflowError):
        array = np.asarray(data)
        array = array.astype(float) if array.dtype == object else array
        return series.numeric(array, name).astype(float)
    return series.numeric(data, name).astype(float)  # says what is wrong


def is_number(column: Any) -> bool:
    """Whether a column of pandas holds numbers, perhaps with missing ones."""
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(column.dtype))


def times_of(column: np.ndarray, label: str, name: str) -> tuple[np.ndarray, Index]:
    """Times of a column: dates, numbers, or text that is ISO."""
    if column.dtype.kind == "M":
        if np.isnat(column).any():
            raise ValueError(f"{name}[{label!r}] must hold times, got none in row "
                             f"{int(np.isnat(column).argmax())}")  # fmt: skip
        return to_nanoseconds(column, f"{name}[{label!r}]"), Index("dates", label)
    if column.dtype.kind in "biuf":
        numbers = as_exact(column, f"{name}[{label!r}]")
        if not np.isfinite(numbers).all():
            raise ValueError(
                f"{name}[{label!r}] must hold times, got {numbers[~np.isfinite(numbers)][0]}"
            )
        return numbers, Index("numbers", label, is_whole=bool((numbers == np.round(numbers)).all()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # NumPy's, that zones become UTC
            dates = [np.datetime64(str(t)) for t in column]
    except ValueError as error:
        raise ValueError(
            f"{name}[{label!r}] must hold dates, numbers or ISO text, got {column[0]!r}: {error}"
        ) from None
    seconds = np.array([date.astype("M8[s]") for date in dates])  # of whatever unit they are
    to_nanoseconds(seconds, f"{name}[{label!r}]")
    return times_of(np.array(dates, "M8[ns]"), label, name)

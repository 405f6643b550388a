"""Tokens as input: whole numbers, each standing for the one-hot row that it names.

A token drives a unit with the one weight that its number selects, so the one-hot rows never exist.
Tokens travel to the engines in one column of the states' own precision, which holds them exactly.
"""

from typing import Any

import numpy as np

from paralesn import checks
from paralesn.engines.torch import tensors
from paralesn.series import BATCH, RAGGED, Series

PADDING = -1  # what may fill a batch up after the end of a series
LARGEST = 1 << 24  # float32 holds all whole numbers up to it


def vocabulary(size: Any) -> int | None:
    """Check the number of different tokens; None where inputs are numbers."""
    return None if size is None else checks.integer("vocabulary", size, 2, LARGEST)


def read(data: Series, size: int, first_step: int, allow_ended: bool) -> Series:
    """Series of tokens without the padding at their end, every token a whole number below `size`.

    A padded batch becomes what a list of its series would be.
    """
    rows: Any = data.rows[:, 0]
    values = rows.detach().cpu().numpy() if tensors.is_tensor(rows) else rows
    wrong = (values < PADDING) | (values >= size) | (values != np.floor(values))
    if wrong.any():
        raise _refuse(data, int(wrong.argmax()), values, size, first_step)
    is_token = values >= 0
    if is_token.all():
        return data
    of = np.repeat(np.arange(data.lengths.size), data.lengths)
    lengths = np.bincount(of[is_token], minlength=data.lengths.size)
    late = is_token & (np.arange(values.size) - data.starts()[of] >= lengths[of])
    if late.any():
        b, step = _locate(data, int(late.argmax()), first_step)
        raise ValueError(
            f"X must hold padding ({PADDING}) at the end of a series only, got token "
            f"{values[late.argmax()]:.0f} after it at series {b}, step {step}"
        )
    if not (allow_ended or lengths.all()):
        b = int(lengths.argmin())
        raise ValueError(f"X must hold at least one token of each series, got none in series {b}")
    rows = data.rows[np.flatnonzero(is_token)]
    return Series(rows, lengths, RAGGED if data.kind == BATCH else data.kind)


def check_step(x: Any, size: int) -> None:
    """Check the tokens of one time step."""
    values = np.asarray(x.detach().cpu() if tensors.is_tensor(x) else x)
    known = values.dtype.kind in "biuf" and ((values >= 0) & (values < size)).all()
    if not known or (values != np.floor(values)).any():
        raise ValueError(f"x must be a token, a whole number from 0 to {size - 1}, got {x!r}")


def _locate(data: Series, row: int, first_step: int) -> tuple[int, int]:
    """Series and time step of a row."""
    b = int(np.searchsorted(np.cumsum(data.lengths), row, side="right"))
    return b, first_step + row - int(data.starts()[b])


def _refuse(data: Series, row: int, values: np.ndarray, size: int, first_step: int) -> ValueError:
    b, step = _locate(data, row, first_step)
    return ValueError(
        f"X must hold tokens, whole numbers from 0 to {size - 1}, and {PADDING} as padding, got "
        f"{values[row]:g} at series {b}, step {step}"
    )

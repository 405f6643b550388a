"""Numbers too large for the precision of a reservoir: where an engine has to look, and the error.

A state that is not finite stays so, and the last one of a series tells about all of them. A
product of inputs, or a unit that no other one reads, may be infinite for a step and finite again.
That takes numbers near the largest one: below `largest_input`, and from states below `LIMIT`, it
does not happen, and an engine need not look at what it wrote.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from paralesn.engines.base import Batch, Layer, States
from paralesn.layers.delays import DelayLayer
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.operators import Operator
from paralesn.layers.recurrent import RecurrentLayer

LIMIT = 1e18  # far from the largest number of either precision
_ROWS = 1 << 14  # rows of states that are looked at together
_BLOCK = 4096  # steps that are run again together


class Overflow(ValueError):
    """The states of a series became too large for their precision, or NaN because of that.

    Parameters
    ----------
    dtype : str
    largest, state : float
        The largest absolute value of the input, and of the state it began from.
    series : int or None
        None for a single one.
    step : int or None
        By which it happened, counted as `series` in the call of the engine; None for live data.
    """

    def __init__(
        self, dtype: str, largest: float, state: float, series: int | None, step: int | None
    ) -> None:
        super().__init__(dtype, largest, state, series, step)
        self.dtype, self.largest, self.state = dtype, largest, state
        self.series, self.step = series, step

    def placed(self, series: int | None, step: int | None) -> "Overflow":
        """The same error where series and steps are counted otherwise."""
        return Overflow(self.dtype, self.largest, self.state, series, step)

    def live(self, is_single: bool) -> "Overflow":
        """The same error of a step of live data."""
        return self.placed(None if is_single else self.series, None)

    def __str__(self) -> str:
        wider = " or take dtype='float64'" if self.dtype == "float32" else ""
        name, where = ("x", "") if self.step is None else ("X", f" at or before step {self.step}")
        where += "" if self.series is None else f" of series {self.series}"
        values = f"values up to {self.largest:.6g}"
        if self.state > self.largest and self.state >= LIMIT:
            values += f" after a state up to {self.state:.6g}"
        return (
            f"{name} must be small enough for states in {self.dtype}, got {values} and states that "
            f"are not finite{where}: scale the inputs{wider}"
        )


def refuse_not_finite(
    x: np.ndarray,
    batch: Batch,
    before: States,
    after: States,
    out: np.ndarray | None = None,
    last_only: bool = False,
) -> None:
    """Raise `Overflow` for the first series with a state or an output that is not finite.

    Arguments are those of an engine's `run`, and what it returned; without `out`, only states are
    looked at.
    """
    if not all(np.isfinite(h).all() for h in before):
        raise ValueError("state must be finite, got NaN or infinity")
    for b, (start, target, steps) in enumerate(batch.each()):
        wrong = None if all(np.isfinite(h[b]).all() for h in after) else steps - 1
        if out is not None and steps:
            row = _first_not_finite(out[target : target + (1 if last_only else steps)])
            wrong = wrong if row is None else row + (steps - 1 if last_only else 0)
        if wrong is not None:
            raise _overflow(x[start : start + steps], before, b, max(wrong, 0))


def refuse_pooled(x: np.ndarray, batch: Batch, before: States, out: np.ndarray) -> None:
    """Raise `Overflow` for the first series whose states, pooled to a row of `out`, are too large.

    Sums and squares may be where states are not.
    """
    for b, (start, target, steps) in enumerate(batch.each()):
        if not np.isfinite(out[target]).all():
            raise _overflow(x[start : start + steps], before, b, steps - 1)


def _overflow(x: np.ndarray, before: States, series: int, step: int) -> Overflow:
    """The error for a series with inputs `x`."""
    largest = float(np.abs(x).max(initial=0.0))
    state = max(float(np.abs(h[series]).max(initial=0.0)) for h in before)
    return Overflow(x.dtype.name, largest, state, series, step)


def _first_not_finite(rows: np.ndarray) -> int | None:
    """The first row that holds NaN or infinity."""
    for first in range(0, len(rows), _ROWS):
        finite = np.isfinite(rows[first : first + _ROWS]).all(axis=1)
        if not finite.all():
            return first + int(finite.argmin())
    return None


def look_at_states(
    run: Callable[..., States], program: Any, x: np.ndarray, batch: Batch, state: States,
    columns: int,
) -> None:  # fmt: skip
    """Raise where states that were pooled are not finite, which not every pool shows.

    `run` is that of an engine, which refuses them, and `columns` are those of its output.
    """
    for b, (start, _, steps) in enumerate(batch.each()):
        h = tuple([of_layer[b : b + 1] for of_layer in state])
        for t0 in range(0, steps, _BLOCK):
            count = min(_BLOCK, steps - t0)
            piece = Batch(np.array([start + t0]), np.zeros(1, np.int64), np.array([count]))
            try:
                h = run(program, x, piece, h, np.empty((count, columns), x.dtype))
            except Overflow as error:
                raise error.placed(b, t0 + (error.step or 0)) from None


def is_large(largest: float, x: Any, state: Sequence[Any]) -> bool:
    """Whether inputs or states, arrays or tensors, are so large that one has to look at outputs.

    `largest` is the `largest_input` of the layers.
    """
    return not (bool((abs(x) < largest).all()) and all(bool((abs(h) < LIMIT).all()) for h in state))


def largest_input(layers: Sequence[Layer], dtype: np.dtype) -> float:
    """Absolute value of inputs below which outputs are finite, from states below `LIMIT`.

    Upper layers are looked at, too: 0 where what they read may be too much for one of them.
    """
    largest = float(np.finfo(dtype).max) / 16  # room for how sums are rounded
    first, *upper = (_largest_read(layer, largest) for layer in layers)
    # A layer of tanh hands on what is at most 1, any other one its states.
    handed = [1.0 if isinstance(layer, DiagonalLayer) else LIMIT for layer in layers]
    if any(read < given for read, given in zip(upper, handed, strict=False)):
        return 0.0
    return max(first, 0.0)


def _largest_read(layer: Layer, largest: float) -> float:
    """What a layer may read so that none of its sums or products exceeds `largest`."""
    with np.errstate(over="ignore"):
        if isinstance(layer, DelayLayer):
            return float(largest ** (1 / max(1, int(layer.orders[-1]))))
        weights = np.abs(layer.w_in if layer.w_in.ndim == 2 else layer.w_in[:, None])
        gain = float((weights.max(axis=1) if _reads_tokens(layer) else weights.sum(axis=1)).max())
        bias = float(np.abs(layer.bias).max(initial=0.0))
        if isinstance(layer, DiagonalLayer):
            memory = 1.0 / (1.0 - float(np.abs(layer.eigenvalues).max()))
            seen = max(1.0, float(np.abs(layer.mix_kernel).sum()))
            room = largest / seen - abs(layer.mix_bias) - LIMIT - memory * bias
            if layer.tokens:  # numbers of columns, whatever they are
                return np.inf if room > memory * gain else 0.0
            return float(room / max(memory * gain, 1.0))
        return _read_by_recurrent(layer, largest, gain, bias)


def _read_by_recurrent(layer: RecurrentLayer, largest: float, gain: float, bias: float) -> float:
    """A bound for a single step; a linear layer has room to grow from step to step."""
    weights = sum(_largest_number(operator) for operator in (layer.recurrent, layer.branch))
    room = largest**0.75 if layer.linear else largest
    return float((room - bias - layer.units * weights * LIMIT) / max(gain, 1.0))


def _largest_number(operator: Operator) -> float:
    """The largest absolute value among the numbers that states are multiplied by."""
    names = ("matrix", "values", "weight", "scale")
    values = [getattr(operator, name) for name in names if hasattr(operator, name)]
    return max(float(np.abs(value).max(initial=0.0)) for value in values)


def _reads_tokens(layer: Layer) -> bool:
    return isinstance(layer, DiagonalLayer) and layer.tokens

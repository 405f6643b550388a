"""The specification: plain NumPy that reads like the paper. Every other engine must agree with it.

What its functions take and return is documented in `paralesn.engines.base.Engine`.
"""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.base import Batch, Layer, States
from paralesn.engines.feed_back import feed_back
from paralesn.engines.overflow import Overflow, refuse_not_finite, refuse_pooled
from paralesn.layers.delays import DelayLayer
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.operators import Cycle, Dense, Identity, Operator, Sparse
from paralesn.layers.recurrent import RecurrentLayer


class Program(NamedTuple):
    """Layers, and which of their states are wanted."""

    layers: tuple[Layer, ...]
    concat: bool
    mixing: bool
    dtype: np.dtype


def prepare(
    layers: tuple[Layer, ...], concat: bool, mixing: bool, dtype: np.dtype, device: Any = None
) -> Program:
    """Make a program; the reference needs no preparation."""
    return Program(layers, concat, mixing, dtype)


def advance(layer: Layer, h: np.ndarray, x: np.ndarray) -> np.ndarray:
    """One step of the recurrence.

    Diagonal layers: ``h = eigenvalues h + tau (W_in x + b)``; recurrent ones:
    ``h = branch h + gain tanh(recurrent h + W_in x + b)``, without tanh where they are linear;
    delays: the window ``h`` of the latest inputs takes x in at its front.
    """
    if isinstance(layer, DelayLayer):
        return np.concatenate([x, h[: h.size - x.size]])
    if isinstance(layer, DiagonalLayer):
        return layer.eigenvalues * h + layer.tau * drive(layer, x)
    driven = drive(layer, x) + multiply(layer.recurrent, h)
    return multiply(layer.branch, h) + layer.gain * (driven if layer.linear else np.tanh(driven))


def drive(layer: DiagonalLayer | RecurrentLayer, x: np.ndarray) -> np.ndarray:
    """``W_in x + b``."""
    if isinstance(layer, DiagonalLayer) and layer.tokens:  # x names the column of W_in
        return layer.w_in[:, int(x[0])] + layer.bias
    if layer.w_in.ndim == 2:
        return layer.w_in @ x + layer.bias
    # ring: unit i reads x[(i - 1) mod width]
    return layer.w_in * x[(np.arange(layer.w_in.size) - 1) % x.size] + layer.bias


def multiply(operator: Operator, h: np.ndarray) -> np.ndarray:
    """Product of an operator and a state."""
    if isinstance(operator, Dense):
        return operator.matrix @ h
    if isinstance(operator, Sparse):
        return (operator.values * h[operator.columns]).sum(axis=1)
    if isinstance(operator, Cycle):
        return operator.weight * np.roll(h, 1)
    if isinstance(operator, Identity):
        return operator.scale * h
    size = operator.signs.shape[1]
    padded = np.concatenate([h, np.zeros(size - h.size)])
    for signs in operator.signs[::-1]:
        padded = walsh_hadamard(signs * padded) / np.sqrt(size)
    return operator.scale * padded[: h.size]


def walsh_hadamard(x: np.ndarray) -> np.ndarray:
    """Product of the Hadamard matrix of +-1 and x, whose size is a power of two."""
    if x.size == 1:
        return x
    first, second = np.split(x, 2)
    return np.concatenate([walsh_hadamard(first + second), walsh_hadamard(first - second)])


def mix(layer: Layer, h: np.ndarray) -> np.ndarray:
    """``tanh(Re(kernel * h + bias))`` with zero padding to the same size; recurrent layers: h.

    Delays: products of the values that the window h holds at the layer's lags.

    Orientation: ``out[i] = sum_j kernel[j] h[i + j - (k - 1) // 2]``; an even kernel reaches one
    unit further to the right.
    """
    if isinstance(layer, DelayLayer):
        values = h[layer.positions()]
        products = [values[layer.factors(order)].prod(axis=1) for order in layer.orders.tolist()]
        return np.concatenate(products)
    if not isinstance(layer, DiagonalLayer):
        return h
    k = layer.mix_kernel.size
    left = (k - 1) // 2
    padded = np.concatenate([np.zeros(left, h.dtype), h, np.zeros(k - 1 - left, h.dtype)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, k)
    return np.tanh((windows @ layer.mix_kernel + layer.mix_bias).real)


def run(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: States,
    out: np.ndarray,
    last_only: bool = False,
    n_jobs: int | None = None,
    check: bool = True,
) -> States:
    """Run every series, write its states to `out`, return the states to continue from."""
    with np.errstate(over="ignore", invalid="ignore"):  # reported below, with its position
        after = _run(program, x, batch, state, out, last_only)
    if check:
        refuse_not_finite(x, batch, state, after, out, last_only)
    return after


def _run(
    program: Program, x: np.ndarray, batch: Batch, state: States, out: np.ndarray, last_only: bool
) -> States:
    """The same, whatever comes of it."""
    after = tuple(h.copy() for h in state)
    for b, (start, target, steps) in enumerate(batch.each()):
        for t in range(steps):
            z = x[start + t]
            wanted = []
            for layer, h in zip(program.layers, after, strict=True):
                h[b] = advance(layer, h[b], z)
                z = mix(layer, h[b])
                raw = np.concatenate([h[b].real, h[b].imag]) if np.iscomplexobj(h) else h[b]
                wanted.append(z if program.mixing else raw)
            if last_only and t < steps - 1:
                continue
            row = target if last_only else target + t
            out[row] = np.concatenate(wanted) if program.concat else wanted[-1]
    return after


def step(
    program: Program, x: np.ndarray, state: States, out: np.ndarray, check: bool = True
) -> States:
    """Advance every series, a row of `x` and of `out`, by one step."""
    return run(program, x, Batch.single_steps(x.shape[0]), state, out, check=check)


def last(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: States,
    out: np.ndarray,
    n_jobs: int | None = None,
) -> None:
    """Write the last states of every series to its row of `out`."""
    run(program, x, batch, state, out, last_only=True)


STATISTICS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "last": lambda z: z[-1],
    "mean": lambda z: z.mean(axis=0),
    "std": lambda z: z.std(axis=0),
    "max": lambda z: z.max(axis=0),
    "min": lambda z: z.min(axis=0),
    "ppv": lambda z: (z > 0).mean(axis=0),
}


def pool(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: States,
    out: np.ndarray,
    pools: tuple[str, ...],
    segments: int,
    n_jobs: int | None = None,
) -> None:
    """Write the states of every series, pooled over time, to its row of `out`."""
    columns = out.shape[1] // (segments * len(pools))
    for b, (start, target, steps) in enumerate(batch.each()):
        states = np.empty((steps, columns), program.dtype)
        single = Batch(np.array([start]), np.array([0]), np.array([steps]))
        try:
            run(program, x, single, tuple(h[b : b + 1] for h in state), states)
        except Overflow as error:
            raise error.placed(b, error.step) from None
        cuts = [steps * s // segments for s in range(segments + 1)]
        parts = [states[begin:end] for begin, end in itertools.pairwise(cuts)]
        with np.errstate(over="ignore", invalid="ignore"):  # reported below
            pooled = [STATISTICS[name](part) for part in parts for name in pools]
        out[target] = np.concatenate(pooled)
    refuse_pooled(x, batch, state, out)


def loop(
    program: Program,
    inputs: np.ndarray,
    state: States,
    weights: np.ndarray,
    intercept: np.ndarray,
    difference: bool,
    n_jobs: int | None = None,
    which: np.ndarray | None = None,
    after: States | None = None,
) -> np.ndarray:
    """Feed a linear readout's predictions back as the next step's input."""
    call = (program, inputs, state, weights, intercept, difference, which, after)
    return feed_back(step, *call)


def empty(shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    """Array for states."""
    return np.empty(shape, dtype)

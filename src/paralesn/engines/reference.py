"""The specification: plain NumPy that reads like the paper. Every other engine must agree with it.

A program is run over flat rows: `series` lists, for each series, its first row in `x`, its first
row in `out` and its number of steps, so that one series, a batch and a ragged collection are the
same thing to an engine.
"""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Program(NamedTuple):
    """Drawn layers and what is asked of them."""

    layers: tuple[Any, ...]
    concat: bool
    mixing: bool
    dtype: np.dtype


def prepare(layers: tuple[Any, ...], concat: bool, mixing: bool, dtype: np.dtype) -> Program:
    """Make a program; the reference needs no preparation."""
    return Program(layers, concat, mixing, dtype)


def advance(layer: Any, h: np.ndarray, x: np.ndarray) -> np.ndarray:
    """One step of the recurrence.

    Diagonal layers: ``h = eigenvalues h + tau (W_in x + b)``; recurrent ones:
    ``h = branch h + gain tanh(recurrent h + W_in x + b)``, without tanh where they are linear.
    """
    if getattr(layer, "tokens", False):  # x is the number of the one input that is 1
        driven = layer.w_in[:, int(x[0])] + layer.bias
    elif layer.w_in.ndim == 2:
        driven = layer.w_in @ x + layer.bias
    else:  # ring: unit i reads x[(i - 1) mod width]
        driven = layer.w_in * x[(np.arange(layer.w_in.size) - 1) % x.size] + layer.bias
    if hasattr(layer, "eigenvalues"):
        return layer.eigenvalues * h + layer.tau * driven
    driven = driven + multiply(layer.recurrent, h)
    return multiply(layer.branch, h) + layer.gain * (driven if layer.linear else np.tanh(driven))


def multiply(operator: Any, h: np.ndarray) -> np.ndarray:
    """Product of an operator and a state."""
    if operator.kind == "dense":
        return operator.matrix @ h
    if operator.kind == "sparse":
        return (operator.values * h[operator.columns]).sum(axis=1)
    if operator.kind == "cycle":
        return operator.weight * np.roll(h, 1)
    if operator.kind == "identity":
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


def mix(layer: Any, h: np.ndarray) -> np.ndarray:
    """``tanh(Re(kernel * h + bias))`` with zero padding to the same size; recurrent layers: h.

    Orientation: ``out[i] = sum_j kernel[j] h[i + j - (k - 1) // 2]``; an even kernel reaches one
    unit further to the right.
    """
    if not hasattr(layer, "mix_kernel"):
        return h
    k = layer.mix_kernel.size
    left = (k - 1) // 2
    padded = np.concatenate([np.zeros(left, h.dtype), h, np.zeros(k - 1 - left, h.dtype)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, k)
    return np.tanh((windows @ layer.mix_kernel + layer.mix_bias).real)


def run(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    out: np.ndarray,
    last_only: bool = False,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, ...]:
    """Run every series, write its states to `out`, return the states to go on from.

    Parameters
    ----------
    x : (rows, F); out : (rows, columns)
    series : (3, B)
        First rows in `x`, first rows in `out`, steps.
    state : per layer (B, N)
    last_only : bool
        Write only the last step of each series, to its first row in `out`.
    """
    after = tuple(h.copy() for h in state)
    for b, (start, to, steps) in enumerate(series.T):
        for t in range(steps):
            z = x[start + t]
            collected = []
            for layer, h in zip(program.layers, after, strict=True):
                h[b] = advance(layer, h[b], z)
                z = mix(layer, h[b])
                raw = np.concatenate([h[b].real, h[b].imag]) if np.iscomplexobj(h) else h[b]
                collected.append(z if program.mixing else raw)
            if last_only and t < steps - 1:
                continue
            row = to if last_only else to + t
            out[row] = np.concatenate(collected) if program.concat else collected[-1]
    return after


def step(
    program: Program, x: np.ndarray, state: tuple[np.ndarray, ...], out: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Advance every series, a row of `x` and of `out`, by one step."""
    rows = np.arange(x.shape[0])
    return run(program, x, np.stack([rows, rows, np.ones_like(rows)]), state, out)


def last(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    out: np.ndarray,
    n_jobs: int | None = None,
) -> None:
    """Write the last states of series b to row b of `out`, without the states to go on from."""
    run(program, x, series, state, out, last_only=True)


POOLS = {
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
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    out: np.ndarray,
    pools: tuple[str, ...],
    segments: int,
    n_jobs: int | None = None,
) -> None:
    """Write the states of every series, pooled over time, to its row of `out`.

    A series of T steps has the segments ``T s // segments`` to ``T (s + 1) // segments``, and a row
    of `out` holds, for each of them, one value per unit for each of `pools`, in this order.
    """
    columns = out.shape[1] // (segments * len(pools))
    for b, (start, to, steps) in enumerate(series.T):
        states = np.empty((steps, columns), program.dtype)
        here = np.array([[start], [0], [steps]])
        run(program, x, here, tuple(h[b : b + 1] for h in state), states)
        cuts = [steps * s // segments for s in range(segments + 1)]
        parts = [states[a:b] for a, b in itertools.pairwise(cuts)]
        out[to] = np.concatenate([POOLS[name](part) for part in parts for name in pools])


def loop(
    program: Program,
    inputs: np.ndarray,
    state: tuple[np.ndarray, ...],
    weights: np.ndarray,
    intercept: np.ndarray,
    difference: bool,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Feed a linear readout's predictions back as the next step's input.

    Parameters
    ----------
    inputs : (steps, B, F)
        The first D features are the fed-back ones, given for the first step; the others are known.
    state : per layer (B, N)
    weights : (D, columns); intercept : (D,)
    difference : bool
        Whether the readout predicts what is to be added to the fed-back features.

    Returns
    -------
    predictions : (steps, B, D)
    """
    return feed_back(step, program, inputs, state, weights, intercept, difference)


def feed_back(
    step: Callable[..., tuple[np.ndarray, ...]],
    program: Any,
    inputs: np.ndarray,
    state: tuple[np.ndarray, ...],
    weights: np.ndarray,
    intercept: np.ndarray,
    difference: bool,
) -> np.ndarray:
    """Close the loop around any engine's `step`."""
    outputs, columns = weights.shape
    predicted = np.empty((*inputs.shape[:2], outputs))
    z = np.empty((inputs.shape[1], columns), program.dtype)
    x = inputs[0].copy()
    for t in range(inputs.shape[0]):
        x[:, outputs:] = inputs[t, :, outputs:]
        state = step(program, x, state, z)
        predicted[t] = z @ weights.T + intercept + (x[:, :outputs] if difference else 0.0)
        x[:, :outputs] = predicted[t]
    return predicted


def empty(shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    """Array for states."""
    return np.empty(shape, dtype)

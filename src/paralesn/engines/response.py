"""Last states of many series through one layer, as a matrix product.

The recurrence is linear, so a series' last state is a weighted sum of its inputs,

    h_T = lambda^T h_0 + sum_age lambda^age tau (W_in x_(T-1-age) + b),

and what the mixing takes of it before its tanh is linear too. So the weights, kernel folded in,
form a real matrix (age and feature by unit) that one product applies to a whole batch: no scan,
and no complex arithmetic. The matrix is made and used in pieces that bound memory, and rows are
handed to BLAS in pieces of fixed shape, one thread each, so that the number of threads does not
change a bit.
"""

from typing import Any

import numpy as np

from paralesn.engines import threads

LEAST_SERIES = 64  # below, making the matrix costs more than running the recurrence
_ROWS = 512  # series in one call of BLAS
_ENTRIES = 1 << 21  # numbers in one piece of the matrix


def last(
    layer: Any,
    x: np.ndarray,
    series: np.ndarray,
    state: np.ndarray,
    out: np.ndarray,
    mixing: bool,
    workers: int,
) -> None:
    """Write the last mixed (or raw) states of series b to row b of `out`.

    Parameters are those of `paralesn.engines.cpu.run`, with the state of the one layer, (B, N).
    """
    units, features = layer.w_in.shape
    steps, longest = series[2], int(series[2].max())
    ages = max(1, min(longest, _ENTRIES // (features * min(units, 1024))))
    chunk = max(1, min(units, _ENTRIES // (features * ages)))
    # (series, parts, units): one part with mixing, real and imaginary part of raw complex states
    result = out.reshape(series.shape[1], -1, units)
    result[:] = 0
    with threads.single_threaded_blas():
        for youngest in range(0, longest, ages):
            window = _window(x, series, youngest, min(ages, longest - youngest))
            for first in range(0, units, chunk):
                stop = min(first + chunk, units)
                _add_chunk(layer, window, steps, youngest, first, stop, result, mixing, workers)

    started = state.any()

    def finish(row: int) -> None:
        rows = slice(row, row + _ROWS)
        if started:
            faded = layer.eigenvalues ** steps[rows, None] * state[rows]
            result[rows] += _observe(layer, faded, 0, units, mixing).reshape(result[rows].shape)
        if mixing:
            result[rows] += result.dtype.type(layer.mix_bias.real)
            np.tanh(result[rows], out=result[rows])

    threads.for_each(finish, range(0, result.shape[0], _ROWS), workers)


def _window(x: np.ndarray, series: np.ndarray, youngest: int, ages: int) -> np.ndarray:
    """Inputs of age youngest .. youngest + ages of each series, oldest first: (B, ages * F)."""
    starts, _, steps = series
    count, features = steps.size, x.shape[1]
    end = steps - youngest
    if steps.min() == steps.max() and np.array_equal(starts, starts[0] + np.arange(count) * steps):
        batch = x[starts[0] : starts[0] + count * steps[0]].reshape(count, -1)
        return batch[:, (end[0] - ages) * features : end[0] * features]
    window = np.zeros((count, ages, features), x.dtype)
    for b in range(count):
        taken = min(ages, max(0, int(end[b])))
        if taken:
            window[b, ages - taken :] = x[starts[b] + end[b] - taken : starts[b] + end[b]]
    return window.reshape(count, -1)


def _add_chunk(
    layer: Any,
    window: np.ndarray,
    steps: np.ndarray,
    youngest: int,
    first: int,
    stop: int,
    result: np.ndarray,
    mixing: bool,
    workers: int,
) -> None:
    """Add what inputs and biases in the window contribute to units first .. stop."""
    ages = window.shape[1] // layer.w_in.shape[1]
    left, right = _reach(layer, mixing)
    lo, hi = max(0, first - left), min(layer.eigenvalues.size, stop + right)
    powers = _powers(layer.eigenvalues[lo:hi], youngest, ages)
    target = result[:, :, first:stop]

    def pick(weighted: np.ndarray) -> np.ndarray:
        return _observe(layer, weighted, first - lo, stop - first, mixing)

    # Rows of the matrix run from the oldest input to the youngest, as the window does.
    drive = layer.tau * layer.w_in[lo:hi]
    matrix = np.stack([pick(powers[::-1] * drive[:, f]) for f in range(drive.shape[1])], axis=1)
    matrix = matrix.reshape(window.shape[1], -1).astype(result.dtype, copy=False)

    def multiply(row: int) -> None:
        rows = slice(row, row + _ROWS)
        product = window[rows] @ matrix
        target[rows] += product.reshape(product.shape[0], *target.shape[1:])

    threads.for_each(multiply, range(0, window.shape[0], _ROWS), workers)

    if layer.bias.any():
        bias = pick(np.cumsum(powers, axis=0) * (layer.tau * layer.bias[lo:hi]))
        reached = np.clip(steps - youngest, 0, ages)
        alive = reached > 0
        target[alive] += bias[reached[alive] - 1].reshape(-1, *target.shape[1:])


def _powers(eigenvalues: np.ndarray, youngest: int, ages: int) -> np.ndarray:
    """lambda^age for age = youngest .. youngest + ages, by doubling: (ages, n)."""
    powers = np.empty((ages, eigenvalues.size), eigenvalues.dtype)
    powers[0] = eigenvalues**youngest
    done = 1
    while done < ages:
        more = min(done, ages - done)
        np.multiply(powers[:more], eigenvalues**done, out=powers[done : done + more])
        done += more
    return powers


def _reach(layer: Any, mixing: bool) -> tuple[int, int]:
    size = layer.mix_kernel.size if mixing else 1
    return (size - 1) // 2, size // 2


def _observe(layer: Any, h: np.ndarray, offset: int, count: int, mixing: bool) -> np.ndarray:
    """What the output sees of states `h` (rows, n) at `count` units from `offset` on.

    With mixing Re(kernel * h); otherwise the parts of h side by side.
    """
    if not mixing:
        return np.hstack([h.real, h.imag]) if np.iscomplexobj(h) else h
    left, _ = _reach(layer, mixing)
    seen = np.zeros((h.shape[0], count))
    for j, tap in enumerate(layer.mix_kernel):
        shift = offset + j - left
        lo, hi = max(0, -shift), min(count, h.shape[1] - shift)
        if lo < hi:
            piece = h[:, shift + lo : shift + hi]
            seen[:, lo:hi] += tap.real * piece.real
            if np.iscomplexobj(h):
                seen[:, lo:hi] -= tap.imag * piece.imag
    return seen

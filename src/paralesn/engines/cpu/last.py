"""Last states of many series through one layer, as a matrix product.

The recurrence is linear, so a series' last state is a weighted sum of its inputs,

    h_T = lambda^T h_0 + sum_age lambda^age tau (W_in x_(T-1-age) + b),

and so is what the mixing takes of it before its tanh, or the real and the imaginary part of it.
All of these are real parts of ``sum_j c_j lambda_j^age`` with coefficients c that hold weights and
mixing kernel. So the weights form a real matrix (age and feature by output) that one product
applies to a whole batch: no scan, and no complex arithmetic. The matrix is made and used in pieces
that bound memory, and rows are handed to BLAS in pieces of fixed shape, one thread each, so that
the number of threads does not change a bit.
"""

from typing import NamedTuple

import numpy as np

from paralesn.engines.base import Batch
from paralesn.engines.cpu.kernels.tanh import tanh
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.runtime import threads
from paralesn.runtime.blas import single_threaded_blas
from paralesn.runtime.compiler import kernel

LEAST_SERIES = 64  # below, making the matrix costs more than running the recurrence
_ROWS = 512  # series in one call of BLAS
_ENTRIES = 1 << 21  # numbers in one piece of the matrix


class _Outputs(NamedTuple):
    """A range of output columns, and how they depend on the units' states."""

    first: int
    stop: int
    eigenvalues: np.ndarray  # (n + k - 1,): of the units seen, zero where there is none
    seen: np.ndarray  # (k, n): output i is the real part of sum_j seen[j, i] h[i + j]
    units: slice  # the units seen
    pad: int  # zeros before the first of their eigenvalues

    def coefficients(self, weights: np.ndarray) -> np.ndarray:
        """(k, n) coefficients of an input that enters the units with `weights` (N,)."""
        padded = np.zeros(self.eigenvalues.size, complex)
        padded[self.pad : self.pad + self.units.stop - self.units.start] = weights[self.units]
        return self.seen * np.lib.stride_tricks.sliding_window_view(padded, self.seen.shape[1])


def last(
    layer: DiagonalLayer,
    x: np.ndarray,
    batch: Batch,
    state: np.ndarray,
    out: np.ndarray,
    mixing: bool,
    workers: int,
) -> None:
    """Write the last mixed (or raw) states of series b to row b of `out`.

    Parameters are those of `paralesn.engines.base.Engine.last`, with the layer's state, (B, N).
    """
    features, longest = x.shape[1], batch.longest
    ages = max(1, min(longest, _ENTRIES // (features * min(out.shape[1], 1024))))
    widest = max(1, _ENTRIES // (features * ages))
    views = list(_views(layer, out.shape[1], mixing, widest))
    with single_threaded_blas():
        for youngest in range(0, longest, ages):
            window = _window(x, batch, youngest, min(ages, longest - youngest))
            for view in views:
                _add_window(layer, view, window, batch.steps, youngest, out, workers)
    bias = out.dtype.type(layer.mix_bias.real)

    def finish(row: int) -> None:
        rows = slice(row, row + _ROWS)
        if started:
            faded = layer.eigenvalues ** batch.steps[rows, None] * state[rows]
            for view in views:
                out[rows, view.first : view.stop] += _observe(view, faded)
        if mixing:
            _squash(out[rows], bias)

    started = state.any()
    threads.for_each(finish, range(0, out.shape[0], _ROWS), workers)


def _views(layer: DiagonalLayer, columns: int, mixing: bool, widest: int) -> list[_Outputs]:
    """Cut the output into pieces of at most `widest` columns."""
    units, kernel_ = layer.units, layer.mix_kernel if mixing else np.ones(1)
    left, right = (kernel_.size - 1) // 2, kernel_.size // 2
    views = []
    for part in range(columns // units):  # Im h = Re(-i h)
        taps = kernel_ if part == 0 else -1j * kernel_
        for first in range(0, units, widest):
            stop = min(first + widest, units)
            seen_units = slice(max(0, first - left), min(units, stop + right))
            pad = seen_units.start - (first - left)
            eigenvalues = np.zeros(stop - first + left + right, complex)
            eigenvalues[pad : pad + seen_units.stop - seen_units.start] = layer.eigenvalues[
                seen_units
            ]
            seen = np.repeat(taps.astype(complex)[:, None], stop - first, axis=1)
            offset = part * units
            views.append(
                _Outputs(offset + first, offset + stop, eigenvalues, seen, seen_units, pad)
            )
    return views


def _window(x: np.ndarray, batch: Batch, youngest: int, ages: int) -> np.ndarray:
    """Inputs of age youngest .. youngest + ages of each series, oldest first: (B, ages * F)."""
    starts, _, steps = batch
    count, features = steps.size, x.shape[1]
    end = steps - youngest
    if steps.min() == steps.max() and np.array_equal(starts, starts[0] + np.arange(count) * steps):
        rows = x[starts[0] : starts[0] + count * steps[0]].reshape(count, -1)
        return rows[:, (end[0] - ages) * features : end[0] * features]
    window = np.zeros((count, ages, features), x.dtype)
    for b in range(count):
        taken = min(ages, max(0, int(end[b])))
        if taken:
            window[b, ages - taken :] = x[starts[b] + end[b] - taken : starts[b] + end[b]]
    return window.reshape(count, -1)


def _add_window(
    layer: DiagonalLayer,
    view: _Outputs,
    window: np.ndarray,
    steps: np.ndarray,
    youngest: int,
    out: np.ndarray,
    workers: int,
) -> None:
    """Add what the inputs and biases in a window contribute to outputs, or set it if youngest."""
    features = layer.w_in.shape[1]
    ages, count = window.shape[1] // features, view.stop - view.first
    powers = view.eigenvalues**youngest
    matrix = np.empty((ages, features, count), out.dtype)
    for f in range(features):
        coefficients = view.coefficients(layer.tau * layer.w_in[:, f])
        _respond(view.eigenvalues, powers, coefficients, matrix[::-1, f])
    matrix = matrix.reshape(ages * features, count)

    biases = np.zeros((1, count), out.dtype)  # row n: what n steps of bias contribute
    reached = np.zeros_like(steps)
    if layer.bias.any():
        single = np.empty((ages, count))
        _respond(view.eigenvalues, powers, view.coefficients(layer.tau * layer.bias), single)
        biases = np.vstack([biases, np.cumsum(single, axis=0)]).astype(out.dtype)
        reached = np.clip(steps - youngest, 0, ages)

    def multiply(row: int) -> None:
        rows = slice(row, row + _ROWS)
        target = out[rows, view.first : view.stop]
        if youngest == 0:
            np.matmul(window[rows], matrix, out=target)
        else:
            target += window[rows] @ matrix
        if biases.shape[0] > 1:
            target += biases[reached[rows]]

    threads.for_each(multiply, range(0, window.shape[0], _ROWS), workers)


def _observe(view: _Outputs, h: np.ndarray) -> np.ndarray:
    """Contribution of states `h` (rows, N) to outputs."""
    count = view.stop - view.first
    padded = np.zeros((h.shape[0], view.eigenvalues.size), complex)
    padded[:, view.pad : view.pad + view.units.stop - view.units.start] = h[:, view.units]
    return sum((taps * padded[:, j : j + count]).real for j, taps in enumerate(view.seen))  # type: ignore[return-value]


@kernel
def _respond(eigenvalues, powers, coefficients, out):  # type: ignore[no-untyped-def]
    """out[age, i] = Re(sum_j coefficients[j, i] powers[i + j] eigenvalues[i + j]**age)."""
    taps, count = coefficients.shape
    re, im = powers.real.copy(), powers.imag.copy()
    lambda_re, lambda_im = eigenvalues.real.copy(), eigenvalues.imag.copy()
    by_re, by_im = coefficients.real.copy(), coefficients.imag.copy()
    total = np.empty(count)
    for age in range(out.shape[0]):
        total[:] = 0.0
        for j in range(taps):
            seen_re, seen_im = re[j : j + count], im[j : j + count]
            tap_re, tap_im = by_re[j], by_im[j]
            for i in range(count):
                total[i] += tap_re[i] * seen_re[i] - tap_im[i] * seen_im[i]
        for i in range(count):
            out[age, i] = total[i]
        for i in range(re.size):
            rotated = lambda_re[i] * re[i] - lambda_im[i] * im[i]
            im[i] = lambda_re[i] * im[i] + lambda_im[i] * re[i]
            re[i] = rotated


@kernel
def _squash(rows, bias):  # type: ignore[no-untyped-def]
    """rows = tanh(rows + bias), in place."""
    for b in range(rows.shape[0]):
        row = rows[b]
        for i in range(row.size):
            row[i] = tanh(row[i] + bias)

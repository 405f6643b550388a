"""Selective state spaces, forwards and backwards, fused; Gu and Dao, 2024.

For a channel d and a state n, with the step delta_t, the input x_t and the maps B_t and C_t,

    h_t = exp(delta_t A) h_(t-1) + delta_t B_t x_t,    y_t = sum_n C_t h_t + D x_t.

States of a time step exist side by side in the cache, channels along vector registers, and never in
memory for all steps. On the way back they are computed anew, some steps at a time, from the states
that the way forth left at the beginning of each stretch of `STRETCH` steps.

Sums over channels, which the slopes of B and C are, are kept in `LANES` parts, so that LLVM can
use vectors without reordering anything; channels are padded with zeros to a multiple of that.
"""

from typing import Any

from numba import types
from numba.extending import overload

from paralesn.engines.cpu.kernels.exp import exp
from paralesn.engines.cpu.kernels.room import clear, empty_rows
from paralesn.engines.cpu.kernels.simd import load, multiply, multiply_add, store
from paralesn.runtime.compiler import FASTMATH, called, inlined, kernel

LANES = 16
STRETCH = 28  # steps whose states fit into the cache together


def padded(channels: int) -> int:
    """Channels up to whole vectors."""
    return -(-channels // LANES) * LANES


def stretches(steps: int) -> int:
    """Stretches that so many steps are cut into."""
    return -(-steps // STRETCH)


@inlined
def _enter(source, row):
    """A row of channels; beyond them it holds zeros."""
    for d in range(source.shape[0]):
        row[d] = source[d]


@called
def _drive(x, delta, rows):
    """Rows of steps and of steps times inputs."""
    _enter(delta, rows[0])
    for d in range(x.shape[0]):
        rows[1, d] = delta[d] * x[d]


@called
def _advance(factors, h, new, A, delta, driven, B):
    """Factors = exp(delta A) and new = factors h + B delta x, for all (N, D)."""
    for n in range(A.shape[0]):
        a, before, after, level, b = factors[n], h[n], new[n], A[n], B[n]
        for d in range(delta.shape[0]):
            grown = exp(delta[d] * level[d])
            a[d] = grown
            after[d] = grown * before[d] + driven[d] * b


@called
def _advance_and_read(h, A, delta, driven, B, C, y):
    """New states in place of h, and y = sum_n C h."""
    for d in range(y.shape[0]):
        y[d] = 0
    for n in range(A.shape[0]):
        state, level, b, c = h[n], A[n], B[n], C[n]
        for d in range(delta.shape[0]):
            after = exp(delta[d] * level[d]) * state[d] + driven[d] * b
            state[d] = after
            y[d] += c * after


def _summed(a: Any, b: Any, parts: Any) -> Any:
    """Sum over channels of a b, added up in an order that depends on their number alone."""
    raise RuntimeError("it is compiled into kernels")


def _summed_singly(a, b, parts):
    for k in range(LANES):
        parts[k] = a[k] * b[k]
    for first in range(LANES, a.shape[0], LANES):
        for k in range(LANES):
            parts[k] += a[first + k] * b[first + k]
    return _total(parts)


def _summed_by_vectors(a, b, parts):
    one, other = multiply(load(a, 0), load(b, 0)), multiply(load(a, 8), load(b, 8))
    for i in range(LANES, a.shape[0], LANES):
        one = multiply_add(load(a, i), load(b, i), one)
        other = multiply_add(load(a, i + 8), load(b, i + 8), other)
    store(parts, 0, one)
    store(parts, 8, other)
    return _total(parts)


@inlined
def _total(parts):
    """Sum of `LANES` numbers."""
    for k in range(8):
        parts[k] += parts[k + 8]
    for k in range(4):
        parts[k] += parts[k + 4]
    return (parts[0] + parts[1]) + (parts[2] + parts[3])


@overload(_summed, jit_options={"fastmath": FASTMATH, "error_model": "numpy"})
def _compiled_sum(a, b, parts):
    return _summed_by_vectors if a.dtype == types.float32 else _summed_singly


@called
def _return(back, factors, before, A, rows, B, C, by_A, by_B, parts):
    """A step back for all (N, D).

    `back` holds the slopes by the states after the step, without what y adds to them, and then by
    those before it. Rows are delta, delta x, slopes of y, of delta, of delta x, and room for g.
    """
    delta, gy, by_delta, by_driven, g = rows[0], rows[2], rows[3], rows[4], rows[5]
    for n in range(A.shape[0]):
        slope, a, h, level, by_level = back[n], factors[n], before[n], A[n], by_A[n]
        b, c = B[n], C[n]
        for d in range(delta.shape[0]):
            own = slope[d] + gy[d] * c
            g[d] = own
            by_driven[d] += own * b
            kept = own * a[d]
            by_exponent = kept * h[d]
            by_delta[d] += by_exponent * level[d]
            by_level[d] += by_exponent * delta[d]
            slope[d] = kept
        by_B[n] = _summed(g, rows[1], parts)


@kernel
def scan_forwards(x, delta, A, B, C, D, y, starts, first, stop):
    """Outputs of series first .. stop, and their states before each stretch.

    x, delta, y (B, T, D); A (N, P), P padded channels; B, C (B, T, N); D (D,); starts (B, S, N, P).
    """
    states, width = A.shape
    channels = x.shape[2]
    h, rows = empty_rows(A, states, width), empty_rows(A, 3, width)
    clear(rows)
    for s in range(first, stop):
        clear(h)
        for t in range(x.shape[1]):
            if t % STRETCH == 0:
                kept = starts[s, t // STRETCH]
                for n in range(states):
                    _enter(h[n], kept[n])
            _drive(x[s, t], delta[s, t], rows)
            _advance_and_read(h, A, rows[0], rows[1], B[s, t], C[s, t], rows[2])
            for d in range(channels):
                y[s, t, d] = rows[2, d] + D[d] * x[s, t, d]


@kernel
def scan_backwards(
    x, delta, A, B, C, D, starts, gy, by_x, by_delta, by_A, by_B, by_C, by_D, first, stop
):
    """Slopes by everything, from those by the outputs, for series first .. stop.

    by_A (B, N, P) and by_D (B, D) are those of each series, for whoever calls to add up.
    """
    states, width = A.shape
    steps, channels = x.shape[1], x.shape[2]
    back, rows = empty_rows(A, states, width), empty_rows(A, 6, width)
    parts = empty_rows(A, 1, LANES)[0]
    factors, h = (
        empty_rows(A, STRETCH * states, width),
        empty_rows(A, (STRETCH + 1) * states, width),
    )
    clear(rows)
    for s in range(first, stop):
        clear(back)
        clear(by_A[s])
        clear(by_D[s : s + 1])
        for stretch in range((steps - 1) // STRETCH, -1, -1):
            begin, end = stretch * STRETCH, min((stretch + 1) * STRETCH, steps)
            for n in range(states):
                _enter(starts[s, stretch, n], h[n])
            for t in range(begin, end):
                here = (t - begin) * states
                _drive(x[s, t], delta[s, t], rows)
                _advance(
                    factors[here : here + states], h[here : here + states],
                    h[here + states : here + 2 * states], A, rows[0], rows[1], B[s, t],
                )  # fmt: skip
            for t in range(end - 1, begin - 1, -1):
                here = (t - begin) * states
                _drive(x[s, t], delta[s, t], rows)
                _enter(gy[s, t], rows[2])
                clear(rows[3:5])
                after = h[here + states : here + 2 * states]
                for n in range(states):
                    by_C[s, t, n] = _summed(rows[2], after[n], parts)
                _return(
                    back, factors[here : here + states], h[here : here + states], A, rows,
                    B[s, t], C[s, t], by_A[s], by_B[s, t], parts,
                )  # fmt: skip
                for d in range(channels):
                    by_delta[s, t, d] = rows[3, d] + rows[4, d] * x[s, t, d]
                    by_x[s, t, d] = rows[4, d] * delta[s, t, d] + gy[s, t, d] * D[d]
                    by_D[s, d] += gy[s, t, d] * x[s, t, d]

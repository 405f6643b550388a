"""The fused kernel of one diagonal layer: projection, recurrence, mixing convolution, tanh.

Units are cut into *slices* of neighbours, and a slice is all a kernel works on at a time: its
parameters and states fit the L1 cache, loops over it have constant trip counts, and slices are
what threads share out. The mixing kernel looks over a slice's edge, so a slice carries a halo
of its neighbours' units and advances them too; slices then never talk to each other. Where slices
begin depends on nothing but the number of units, so neither threads nor blocks change a bit.

A slice's arrays are rows of one scratch array whose row length is a compile-time constant: LLVM
sees constant distances between rows and vectorises without run-time alias checks.
"""

from functools import cache
from typing import Any

import numpy as np

from paralesn.engines.cpu.kernels.magnitude import beyond
from paralesn.engines.cpu.kernels.output_memory import fetch_ahead, share_pages
from paralesn.engines.cpu.kernels.projection import AHEAD, pack_weights, project
from paralesn.engines.cpu.kernels.room import clear, empty_rows
from paralesn.engines.cpu.kernels.tanh import tanh
from paralesn.runtime.compiler import called, inlined, kernel

HALO = 64  # room for halo and padding beside the units of a slice
# What a layer reads: one feature, several or many through dense weights, the layer below through a
# ring, or a column of whole numbers, tokens, each naming a column of the weights.
INPUTS = ONE, SEVERAL, WIDE, RING, TOKEN = range(5)
TAPS = 3  # taps of the mixing kernel that one pass over a slice applies
LONGEST_KERNEL = HALO // TAPS * TAPS

# Rows of the scratch array. Input weights follow from _WEIGHTS on, a row per feature and part.
_STATE_RE, _STATE_IM, _DRIVE_RE, _DRIVE_IM, _SOURCE, _MIXED = range(6)
_LAMBDA_RE, _LAMBDA_IM, _BIAS_RE, _BIAS_IM, _WEIGHTS = range(6, 11)
_PARAMETERS = _LAMBDA_RE


def slice_width(units: int) -> int:
    """Units of a slice: wide ones are a tenth faster, narrow ones give threads more to share."""
    return 128 if units >= 512 else 64


def pack(
    eigenvalues: np.ndarray, w_in: np.ndarray, bias: np.ndarray, tau: float, size: int, dtype: Any,
    wide: bool = False,
) -> np.ndarray:  # fmt: skip
    """Lay out a layer's parameters by slices: ``(slices, 4 + 2 F, row)``, tau folded in.

    Rows are the real and imaginary parts of the eigenvalues, of the bias and of each column of
    `w_in` (one column for ring weights). Places outside the reservoir hold zeros: such units stay
    at zero, which is the convolution's padding. For a `wide` kernel weights are in panels.
    """
    units = eigenvalues.shape[0]
    left = (size - 1) // 2
    columns = np.column_stack([eigenvalues, tau * bias, tau * w_in]).astype(complex)
    rows = np.stack([columns.real, columns.imag], axis=-1).reshape(units, -1).T
    width = slice_width(units)
    slices = -(-units // width)
    padded = np.zeros((rows.shape[0], left + slices * width + size), dtype)
    padded[:, left : left + units] = rows
    packed = np.zeros((slices, rows.shape[0], width + HALO), dtype)
    for s in range(slices):
        packed[s, :, : width + size - 1] = padded[:, s * width : (s + 1) * width + size - 1]
    return pack_weights(packed, _WEIGHTS - _PARAMETERS) if wide else packed


@called
def _gather_ring(row, x, unit, reach, units):
    """Unit u reads z[(u - 1) mod width] of the layer below; place i of the row is unit + i."""
    width = x.shape[0]
    i = max(0, -unit)
    end = min(reach, units - unit)
    while i < end:
        j = (unit + i - 1) % width
        run = min(end - i, width - j)
        piece = x[j : j + run]
        target = row[_SOURCE, i : i + run]
        for q in range(run):
            target[q] = piece[q]
        i += run


@inlined
def _project(row, x, reach, is_complex):
    """Drive = tau (W x + b) for several features, four at a time."""
    features = x.shape[0]
    for i in range(reach):
        row[_DRIVE_RE, i] = row[_BIAS_RE, i]
        if is_complex:
            row[_DRIVE_IM, i] = row[_BIAS_IM, i]
    f = 0
    while f + 4 <= features:
        w = _WEIGHTS + 2 * f
        x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
        for i in range(reach):
            drive = row[_DRIVE_RE, i] + row[w, i] * x0 + row[w + 2, i] * x1
            row[_DRIVE_RE, i] = drive + row[w + 4, i] * x2 + row[w + 6, i] * x3
            if is_complex:
                drive = row[_DRIVE_IM, i] + row[w + 1, i] * x0 + row[w + 3, i] * x1
                row[_DRIVE_IM, i] = drive + row[w + 5, i] * x2 + row[w + 7, i] * x3
        f += 4
    while f < features:
        w = _WEIGHTS + 2 * f
        x0 = x[f]
        for i in range(reach):
            row[_DRIVE_RE, i] += row[w, i] * x0
            if is_complex:
                row[_DRIVE_IM, i] += row[w + 1, i] * x0
        f += 1


@called
def _look_up(row, weights, reach, is_complex):
    """Drive = tau (W e + b) for a token: its two rows of weights, which stay where they are."""
    for i in range(reach):
        row[_DRIVE_RE, i] = row[_BIAS_RE, i] + weights[0, i]
        if is_complex:
            row[_DRIVE_IM, i] = row[_BIAS_IM, i] + weights[1, i]


@inlined
def _advance_driven(row, reach, is_complex):
    """h = lambda h + drive."""
    for i in range(reach):
        re, im = row[_STATE_RE, i], row[_STATE_IM, i]
        if is_complex:
            rotated = row[_LAMBDA_RE, i] * re - row[_LAMBDA_IM, i] * im
            row[_STATE_RE, i] = rotated + row[_DRIVE_RE, i]
            rotated = row[_LAMBDA_RE, i] * im + row[_LAMBDA_IM, i] * re
            row[_STATE_IM, i] = rotated + row[_DRIVE_IM, i]
        else:
            row[_STATE_RE, i] = row[_LAMBDA_RE, i] * re + row[_DRIVE_RE, i]


@inlined
def _advance(row, x0, reach, is_complex, is_ring):
    """h = lambda h + tau (w x + b), with one input for all units or one each from a ring."""
    for i in range(reach):
        re, im = row[_STATE_RE, i], row[_STATE_IM, i]
        u = row[_SOURCE, i] if is_ring else x0
        if is_complex:
            rotated = row[_LAMBDA_RE, i] * re - row[_LAMBDA_IM, i] * im
            row[_STATE_RE, i] = rotated + (row[_WEIGHTS, i] * u + row[_BIAS_RE, i])
            rotated = row[_LAMBDA_RE, i] * im + row[_LAMBDA_IM, i] * re
            row[_STATE_IM, i] = rotated + (row[_WEIGHTS + 1, i] * u + row[_BIAS_IM, i])
        else:
            driven = row[_WEIGHTS, i] * u + row[_BIAS_RE, i]
            row[_STATE_RE, i] = row[_LAMBDA_RE, i] * re + driven


@inlined
def _convolve(row, taps, mix_bias, width, is_complex):
    """Mixed = Re(kernel * h + bias), `TAPS` taps a pass; the first one starts from the bias."""
    k0, k1, k2 = taps[0, 0], taps[0, 1], taps[0, 2]
    l0, l1, l2 = taps[1, 0], taps[1, 1], taps[1, 2]
    re, im = row[_STATE_RE], row[_STATE_IM]
    for i in range(width):
        total = mix_bias + k0 * re[i] + k1 * re[i + 1] + k2 * re[i + 2]
        if is_complex:
            total = total - l0 * im[i] - l1 * im[i + 1] - l2 * im[i + 2]
        row[_MIXED, i] = total
    for j in range(TAPS, taps.shape[1], TAPS):
        k0, k1, k2 = taps[0, j], taps[0, j + 1], taps[0, j + 2]
        l0, l1, l2 = taps[1, j], taps[1, j + 1], taps[1, j + 2]
        re, im = row[_STATE_RE, j:], row[_STATE_IM, j:]
        for i in range(width):
            total = row[_MIXED, i] + k0 * re[i] + k1 * re[i + 1] + k2 * re[i + 2]
            if is_complex:
                total = total - l0 * im[i] - l1 * im[i + 1] - l2 * im[i + 2]
            row[_MIXED, i] = total


@inlined
def _squash(row, z, width):
    """z = tanh(mixed), in a loop of its own: with the convolution it would run out of registers."""
    own = z.shape[0]
    if own == width:
        for i in range(width):
            z[i] = tanh(row[_MIXED, i])
    else:
        for i in range(min((own + 15) // 16 * 16, width)):
            row[_MIXED, i] = tanh(row[_MIXED, i])
        for i in range(own):
            z[i] = row[_MIXED, i]


@called
def _write_raw(state, z):
    """z = one part of the raw states."""
    for i in range(z.shape[0]):
        z[i] = state[i]


@called
def _copy(target, rows):
    """Copy rows to the first rows of `target`."""
    for j in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            target[j, i] = rows[j, i]


@called
def _load(states, state, begin, reach):
    """Load the states of a slice and its halo, units begin .. begin + reach."""
    for i in range(max(0, -begin), min(reach, state.size - begin)):
        states[0, i] = state[begin + i].real
        states[1, i] = state[begin + i].imag


@cache
def layer_kernel(is_complex: bool, reads: int, width: int) -> Any:
    """Kernel for complex or real layers that read one of `INPUTS`, by slices of `width` units.

    A kernel for each kind of input: compiling what a layer never runs would double its first use.

    Arguments of the kernel (`B` series, `N` units)::

        source (rows, columns)   input; the layer's features are columns column .. column + features
        starts, targets, steps_of (B,)   first rows in source and out, and number of steps
        state, state_after (B, N)   complex, or real for real layers
        out (rows, columns)      mixed states from out_column on; raw: real parts, then imaginary
        packed (slices, 4 + 2 F, row)   from `pack`
        taps (2, K), mix_bias    the mixing kernel, K a multiple of TAPS; K = 0 means raw states
        left                     units the convolution reaches to the left
        every_step               write every step; else only the last one, to the first row
        block                    steps after which the next slice has its turn
        first .. stop, first_slice .. stop_slice    the series and slices to run
        part, parts              which of the ranges of slices this is, and how many there are

    It returns how many numbers of the states, first or last ones, are too large not to look at what
    came of them.
    """

    length = width + HALO
    is_ring, is_token, wide = reads == RING, reads == TOKEN, reads == WIDE
    is_single = is_ring or reads == ONE  # one input for each unit

    @kernel
    def run_layer(
        source, starts, column, features, steps_of, state, state_after, out, targets,
        out_column, packed, taps, mix_bias, left, every_step, block, first, stop, first_slice,
        stop_slice, part, parts,
    ):  # fmt: skip
        units = state.shape[1]
        size = taps.shape[1]
        # Units advanced per slice: its own and the halo, in whole vectors.
        reach = min((width + max(size - 1, left) + 7) // 8 * 8, length)
        held = _WEIGHTS - _PARAMETERS if is_token or wide else packed.shape[1]
        row = empty_rows(packed, _PARAMETERS + held, length)
        clear(row)
        drives = empty_rows(packed, AHEAD, 2 * length) if wide else row
        # Two rows for each slice: real and imaginary parts.
        states = empty_rows(packed, 2 * (stop_slice - first_slice), length)
        clear(states)
        loaded, large = -1, 0
        data, pitch = out.ctypes.data, out.shape[1] * out.itemsize
        for b in range(first, stop):
            start, to, steps = starts[b], targets[b], steps_of[b]
            for s in range(first_slice, stop_slice):
                here = 2 * (s - first_slice)
                _load(states[here : here + 2], state[b], s * width - left, reach)
                large += beyond(states[here, :reach]) + beyond(states[here + 1, :reach])
            for t0 in range(0, steps, block):
                if every_step and parts > 1:
                    stop_at = min(t0 + block, steps) * pitch
                    share_pages(data + to * pitch, steps * pitch, t0 * pitch, stop_at, part, parts)
                for s in range(first_slice, stop_slice):
                    a = s * width
                    own = min(width, units - a)
                    if loaded != s:
                        loaded = s
                        _copy(row[_PARAMETERS:], packed[s, :held])
                    here = 2 * (s - first_slice)
                    _copy(row, states[here : here + 2])
                    t1 = min(t0 + block, steps)
                    # The convolution's loads straddle vectors of states just stored, which the
                    # processor cannot hand over before they reach the cache. So the tanh of the
                    # step before is taken while it would wait: up to half the time was lost there.
                    for t in range(t0, t1 + 1):
                        if t < t1:
                            if is_ring:
                                x = source[start + t, column : column + features]
                                _gather_ring(row, x, a - left, reach, units)
                            if is_token:
                                w = held + 2 * int(source[start + t, column])
                                _look_up(row, packed[s, w : w + 2], reach, is_complex)
                                _advance_driven(row, reach, is_complex)
                            elif wide:
                                ahead = (t - t0) % AHEAD
                                if ahead == 0:
                                    stop_t = min(t + AHEAD, t1)
                                    x2 = source[start + t : start + stop_t, column:]
                                    project(x2, packed[s, held:], row[_BIAS_RE:], drives, reach,
                                            is_complex)  # fmt: skip
                                _copy(row[_DRIVE_RE:], drives[ahead].reshape(2, length))
                                _advance_driven(row, reach, is_complex)
                            elif is_single:
                                _advance(row, source[start + t, column], reach, is_complex, is_ring)
                            else:
                                x = source[start + t, column : column + features]
                                _project(row, x, reach, is_complex)
                                _advance_driven(row, reach, is_complex)
                        if size and t > t0 and (every_step or t == steps):
                            r = to + t - 1 if every_step else to
                            z = out[r, out_column + a : out_column + a + own]
                            if every_step:
                                fetch_ahead(z, pitch)
                            _squash(row, z, width)
                        if t == t1 or not (every_step or t == steps - 1):
                            continue
                        if size:
                            _convolve(row, taps, mix_bias, width, is_complex)
                        else:
                            r = to + t if every_step else to
                            z = out[r, out_column + a : out_column + a + own]
                            _write_raw(row[_STATE_RE, left:], z)
                            if is_complex:
                                imaginary = out_column + units + a
                                z = out[r, imaginary : imaginary + own]
                                _write_raw(row[_STATE_IM, left:], z)
                    _copy(states[here : here + 2], row[: _STATE_IM + 1])
            for s in range(first_slice, stop_slice):
                here = 2 * (s - first_slice)
                own_states = states[here : here + 2]
                large += beyond(own_states[0, :reach]) + beyond(own_states[1, :reach])
                for i in range(min(width, units - s * width)):
                    if is_complex:
                        state_after[b, s * width + i] = complex(
                            own_states[0, left + i], own_states[1, left + i]
                        )
                    else:
                        state_after[b, s * width + i] = own_states[0, left + i]
        return large

    return run_layer

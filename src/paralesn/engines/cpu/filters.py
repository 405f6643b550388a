"""Filter banks: complex diagonal filters of a series' differences, and statistics of their output.

Filters come in chunks of 64, eight vectors of eight lanes, small enough for the L1 cache. A chunk
works through a series in blocks of steps: it advances all filters through the block, mixes each
with its next two neighbours (the chunk is a ring), then counts and sums one vector of responses
after the other, with its accumulators in registers. Sums grow step by step in the same order
whatever the threads and whoever else is in the batch.

A chunk's eight vectors are also the eight members of its groups: at every step the members in the
same lane compete, the largest response is added to its filter's score, the smallest is counted.
"""

from typing import Any

import numpy as np

from paralesn.engines.cpu.filter_inputs import NormalisedSeries
from paralesn.engines.cpu.filter_layout import (
    BENDS,
    CHANGES,
    CHUNK,
    KINDS,
    PARTS,
    ROWS,
    RUN,
    TAPS,
    chunk_orders,
    chunks_in_parts,
)
from paralesn.engines.cpu.kernels.simd import (
    LANES,
    add_where_equal,
    count_above,
    count_equal,
    larger,
    load,
    load_counts,
    multiply,
    multiply_add,
    multiply_subtract,
    smaller,
    splat,
    store,
    store_counts,
)
from paralesn.runtime import threads
from paralesn.runtime.compiler import called, kernel

_RUNS = CHUNK // RUN
_VECTORS = CHUNK // LANES
_RING = CHUNK + LANES  # a ring, with its beginning once more at its end
_STEPS = 32  # of a block
_MOST_STEPS = 1 << 20  # of a chunk of filters in one call of a kernel: some tenths of a second
_EPS = float(np.finfo(np.float64).eps)

# Rows of a chunk's parameters; a row for each tap follows, real parts and then imaginary ones.
_LAMBDA_RE, _LAMBDA_IM, _WEIGHT_RE, _WEIGHT_IM, _MIX_RE, _MIX_IM = 0, 1, 2, 3, 4, 4 + TAPS


def pack(
    eigenvalues: np.ndarray, weights: np.ndarray, mix: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Parameters (chunks, ROWS, 64), float32, of filters (chunks, 64) and mixing (chunks, TAPS)."""
    packed = np.empty((len(eigenvalues), ROWS, CHUNK), np.float32)
    packed[:, _LAMBDA_RE], packed[:, _LAMBDA_IM] = eigenvalues.real, eigenvalues.imag
    packed[:, _WEIGHT_RE], packed[:, _WEIGHT_IM] = weights.real, weights.imag
    mixed = mix[:, :, None] * scale[:, None]
    packed[:, _MIX_RE:_MIX_IM], packed[:, _MIX_IM:] = mixed.real, mixed.imag
    return packed


@called
def _clear(rows):
    """Rows of zeros; an assignment to a slice takes many times as long to compile as loops do."""
    for r in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            rows[r, c] = 0


@called
def _drive(x, calm, combination, order, t0, steps, drive):
    """Drive (steps, runs) of a block: differences of each run's combination of channels of x.

    order      0 for the values themselves, 1 for changes, 2 for changes of changes
    calm (f,)  what changes of changes are multiplied by
    """
    for t in range(steps):
        for r in range(_RUNS):
            drive[t, r] = 0.0
        s = t0 + t
        if s < order:
            continue
        for f in range(x.shape[1]):
            d = x[s, f]
            if order >= CHANGES:
                d -= x[s - 1, f]
            if order == BENDS:
                d = (d - (x[s - 1, f] - x[s - 2, f])) * calm[f]
            for r in range(_RUNS):
                drive[t, r] += combination[r, f] * d


@called
def _advance(drive, steps, rows, re, im):
    """h[t + 1] = lambda h[t] + w drive[t], from the state in the last row of re and im."""
    for j in range(0, CHUNK, LANES):
        store(re[0], j, load(re[_STEPS], j))
        store(im[0], j, load(im[_STEPS], j))
    for t in range(steps):
        for j in range(0, CHUNK, LANES):
            d = splat(drive[t, j // RUN])
            a, b = load(re[t], j), load(im[t], j)
            lambda_re, lambda_im = load(rows[_LAMBDA_RE], j), load(rows[_LAMBDA_IM], j)
            driven = multiply(load(rows[_WEIGHT_RE], j), d)
            driven = multiply_add(lambda_re, a, multiply_subtract(lambda_im, b, driven))
            store(re[t + 1], j, driven)
            driven = multiply(load(rows[_WEIGHT_IM], j), d)
            driven = multiply_add(lambda_re, b, multiply_add(lambda_im, a, driven))
            store(im[t + 1], j, driven)
        store(re[t + 1], CHUNK, load(re[t + 1], 0))
        store(im[t + 1], CHUNK, load(im[t + 1], 0))
    if steps < _STEPS:  # the state is looked for in the last row
        for j in range(0, CHUNK, LANES):
            store(re[_STEPS], j, load(re[steps], j))
            store(im[_STEPS], j, load(im[steps], j))


@called
def _mix(re, im, steps, rows, u):
    """u[t] = real part of the mixture of h[t + 1] and its next neighbours."""
    for j in range(0, CHUNK, LANES):
        k0, k1, k2 = load(rows[_MIX_RE], j), load(rows[_MIX_RE + 1], j), load(rows[_MIX_RE + 2], j)
        l0, l1, l2 = load(rows[_MIX_IM], j), load(rows[_MIX_IM + 1], j), load(rows[_MIX_IM + 2], j)
        for t in range(steps):
            total = multiply(k0, load(re[t + 1], j))
            total = multiply_add(k1, load(re[t + 1], j + 1), total)
            total = multiply_add(k2, load(re[t + 1], j + 2), total)
            total = multiply_subtract(l0, load(im[t + 1], j), total)
            total = multiply_subtract(l1, load(im[t + 1], j + 1), total)
            store(u[t], j, multiply_subtract(l2, load(im[t + 1], j + 2), total))


@called
def _count(u, steps, thresholds, counts):
    """Count the steps of every filter above each of its thresholds, four of them at a time."""
    q = 0
    while q < thresholds.shape[0]:
        several = q + 4 <= thresholds.shape[0]
        for j in range(0, CHUNK, LANES):
            if several:
                a, b = load(thresholds[q], j), load(thresholds[q + 1], j)
                c, d = load(thresholds[q + 2], j), load(thresholds[q + 3], j)
                k, m = load_counts(counts[q], j), load_counts(counts[q + 1], j)
                n, o = load_counts(counts[q + 2], j), load_counts(counts[q + 3], j)
                for t in range(steps):
                    v = load(u[t], j)
                    k, m = count_above(k, v, a), count_above(m, v, b)
                    n, o = count_above(n, v, c), count_above(o, v, d)
                store_counts(counts[q], j, k)
                store_counts(counts[q + 1], j, m)
                store_counts(counts[q + 2], j, n)
                store_counts(counts[q + 3], j, o)
            else:
                a, k = load(thresholds[q], j), load_counts(counts[q], j)
                for t in range(steps):
                    k = count_above(k, load(u[t], j), a)
                store_counts(counts[q], j, k)
        q += 4 if several else 1


@called
def _compete(u, steps, extremes, peaks, troughs):
    """Add up what each filter wins in its group as the largest, and count when it is the least."""
    for t in range(steps):
        most = least = load(u[t], 0)
        for j in range(LANES, CHUNK, LANES):
            v = load(u[t], j)
            most, least = larger(v, most), smaller(v, least)
        store(extremes[t], 0, most)
        store(extremes[t], LANES, least)
    for j in range(0, CHUNK, LANES):
        high, lows = load(peaks, j), load_counts(troughs, j)
        for t in range(steps):
            v = load(u[t], j)
            high = add_where_equal(high, v, load(extremes[t], 0))
            lows = count_equal(lows, v, load(extremes[t], LANES))
        store(peaks, j, high)
        store_counts(troughs, j, lows)


@kernel
def _features(x, calm, starts, lengths, combinations, packed, thresholds, chunk, order, parts, out):
    """Features of all series by one chunk of filters, which hears differences of an order.

    x (rows, channels)     normalised series, end to end, beginning at `starts`
    calm (series, channels)   what changes of changes are multiplied by
    combinations (chunks, runs, channels), packed (chunks, ROWS, 64), thresholds (chunks, Q, 64)
    parts                  in how many parts of a series to count; 1 leaves no columns of parts
    out (series, columns)  Q + KINDS columns of each filter; then Q for each part, of the filters
                           of those chunks that count in parts
    """
    rows, limits = packed[chunk], thresholds[chunk]
    drive = np.empty((_STEPS, _RUNS), np.float32)
    re = np.empty((_STEPS + 1, _RING), np.float32)
    im = np.empty((_STEPS + 1, _RING), np.float32)
    u = np.empty((_STEPS, CHUNK), np.float32)
    extremes = np.empty((_STEPS, 2 * LANES), np.float32)
    levels, units = limits.shape[0], packed.shape[0] * CHUNK
    counts = np.empty((levels + 1, CHUNK), np.int32)
    before = np.empty((levels, CHUNK), np.int32)
    peaks, troughs = np.empty(CHUNK, np.float32), counts[levels]
    first, later = chunk * CHUNK, units * (levels + KINDS)
    apart = (out.shape[1] - later) // (PARTS * levels)
    for i in range(starts.size):
        length = lengths[i]
        series = x[starts[i] : starts[i] + length]
        for c in range(_RING):
            re[_STEPS, c] = im[_STEPS, c] = 0.0
        for c in range(CHUNK):
            peaks[c] = 0.0
            for q in range(levels + 1):
                counts[q, c] = 0
        for p in range(parts):
            begin, end = length * p // parts, length * (p + 1) // parts
            for q in range(levels):
                for c in range(CHUNK):
                    before[q, c] = counts[q, c]
            for t0 in range(begin, end, _STEPS):
                steps = min(_STEPS, end - t0)
                _drive(series, calm[i], combinations[chunk], order, t0, steps, drive)
                _advance(drive, steps, rows, re, im)
                _mix(re, im, steps, rows, u)
                _count(u, steps, limits, counts)
                _compete(u, steps, extremes, peaks, troughs)
            if parts > 1:
                per_step = np.float32(1.0) / np.float32(max(end - begin, 1))
                for q in range(levels):
                    at = later + (p * levels + q) * apart + first
                    for c in range(CHUNK):
                        out[i, at + c] = np.float32(counts[q, c] - before[q, c]) * per_step
        per_step = np.float32(1.0) / np.float32(length)
        for q in range(levels):
            for c in range(CHUNK):
                out[i, q * units + first + c] = np.float32(counts[q, c]) * per_step
        for c in range(CHUNK):  # roots, since most filters win seldom
            high = max(peaks[c] * per_step, np.float32(0.0))
            out[i, levels * units + first + c] = np.sqrt(high)
            low = np.float32(troughs[c]) * per_step
            out[i, (levels + 1) * units + first + c] = np.sqrt(low)


@kernel
def _calibrate(
    x, calm, starts, lengths, combinations, packed, chunk, order, picks, power, squares, picked
):
    """Look at a chunk's filters and responses on some series.

    power, squares (64,)   sums over all steps of abs(h)^2 and of the squared responses
    picked (picks, 64)     responses at the steps `picks`, ascending, counted through all series
    """
    rows = packed[chunk]
    drive = np.empty((_STEPS, _RUNS), np.float32)
    re = np.empty((_STEPS + 1, _RING), np.float32)
    im = np.empty((_STEPS + 1, _RING), np.float32)
    u = np.empty((_STEPS, CHUNK), np.float32)
    seen, pick = 0, 0
    for i in range(starts.size):
        series = x[starts[i] : starts[i] + lengths[i]]
        for c in range(_RING):
            re[_STEPS, c] = im[_STEPS, c] = 0.0
        for t0 in range(0, lengths[i], _STEPS):
            steps = min(_STEPS, lengths[i] - t0)
            _drive(series, calm[i], combinations[chunk], order, t0, steps, drive)
            _advance(drive, steps, rows, re, im)
            _mix(re, im, steps, rows, u)
            for t in range(steps):
                for c in range(CHUNK):
                    a, b, v = re[t + 1, c], im[t + 1, c], u[t, c]
                    power[c] += a * a + b * b
                    squares[c] += v * v
            while pick < picks.size and picks[pick] < seen + steps:
                for c in range(CHUNK):
                    picked[pick, c] = u[picks[pick] - seen, c]
                pick += 1
            seen += steps


def features(
    series: NormalisedSeries,
    combinations: np.ndarray,
    packed: np.ndarray,
    thresholds: np.ndarray,
    n_jobs: int | None,
) -> np.ndarray:
    """Features (series, columns) of normalised series, float32; see `_features`."""
    x, calm, starts, lengths = series
    count, levels = len(packed), thresholds.shape[1]
    orders, apart = chunk_orders(count), chunks_in_parts(count)
    columns = (count * (levels + KINDS) + apart * PARTS * levels) * CHUNK
    out = np.empty((starts.size, columns), np.float32)
    workers = threads.count(n_jobs)
    # A few series at a time for each chunk of filters: enough work for every thread.
    size = max(1, -(-starts.size * count // max(64, 8 * workers)))
    size = max(1, min(size, _MOST_STEPS // max(1, int(lengths.max()))))
    jobs = [(c, i) for i in range(0, starts.size, size) for c in range(count)]

    def work(job: tuple[int, int]) -> None:
        chunk, first = job
        cut, parts = slice(first, first + size), PARTS if chunk < apart else 1
        _features(
            x, calm[cut], starts[cut], lengths[cut], combinations, packed, thresholds, chunk,
            orders[chunk], parts, out[cut],
        )  # fmt: skip

    threads.for_each(work, jobs, workers)
    return out


def calibrate(
    series: NormalisedSeries,
    combinations: np.ndarray,
    packed: np.ndarray,
    picks: np.ndarray,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean square of filters and of responses (chunks, 64), and responses (chunks, picks, 64)."""
    count = len(packed)
    power, squares = np.zeros((count, CHUNK)), np.zeros((count, CHUNK))
    picked = np.empty((count, picks.size, CHUNK), np.float32)
    orders = chunk_orders(count)

    def work(c: int) -> None:
        given: Any = (*series, combinations, packed, c, orders[c], picks)
        _calibrate(*given, power[c], squares[c], picked[c])

    threads.for_each(work, range(count), threads.count(n_jobs))
    steps = int(series.lengths.sum())
    return power / steps, squares / steps, picked

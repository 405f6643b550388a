"""States pooled over time: each block of states is digested while it sits in the cache.

A series is cut into `segments` equal parts; in each part every unit's states are summed up by one
number per statistic. Mean and variance come from sums of differences to the part's first state, in
double precision: one pass, exact for states that do not change. Sums grow step by step, whatever
the blocks, so block sizes do not change a bit.
"""

from typing import Any

import numpy as np

from paralesn.engines import deep, threads
from paralesn.engines.compiler import called, inlined, kernel
from paralesn.engines.memory import empty
from paralesn.engines.packed import Program

STATISTICS = ("last", "mean", "std", "max", "min", "ppv")
_LAST, _MEAN, _STD, _MAX, _MIN, _PPV = range(6)
_FIRST = _MEAN  # the row of `marks` that holds a segment's first state
_WIDTH = 128  # columns whose accumulators stay in the L1 cache
_ROWS = 4  # rows digested at a time, while an accumulator is in a register


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
    """Write the pooled states of series b to row ``series[1, b]`` of `out`.

    `out` is (rows, segments * pools * columns of the states), in this order.
    """
    workers = threads.count(n_jobs)
    count, longest = series.shape[1], int(series[2].max())
    columns = out.shape[1] // (segments * len(pools))
    size, block = deep.portions(program, count, longest, workers)
    inside = workers if count == 1 else 1  # a single series: threads share its units
    wanted = np.array([name in pools for name in STATISTICS])
    order = np.array([STATISTICS.index(name) for name in pools])

    def work(first: int) -> None:
        cut = slice(first, first + size)
        some = np.ascontiguousarray(series[:, cut])
        here, steps = some.shape[1], some[2]
        rows = np.arange(here) * block
        before = tuple(h[cut] for h in state)
        states = empty((here * block, columns), program.dtype)
        marks = empty((here * segments * 5, columns), program.dtype)
        marks = marks.reshape(here, segments, 5, columns)
        sums = np.zeros((here, segments, 2, columns))
        positive = np.zeros((here, segments, columns), np.int32)
        job = deep.Job(
            x=x,
            series=np.stack([some[0], rows, steps]),
            state=before,
            after=tuple([np.empty_like(h) for h in before]),
            spare=tuple([np.empty_like(h) for h in before]),
            out=states,
            last_only=False,
            block=block,
            in_place=True,
        )
        for k in deep.blocks(program, job, inside):
            _digest(states, rows, steps, k * block, block, wanted, marks, sums, positive)
        _finish(marks, sums, positive, steps, order, out, some[1])

    threads.for_each(work, range(0, count, size), workers if count > 1 else 1)


@called
def _digest_sums(rows, first, sums):
    """Add rows (m, w) to the sums of differences to the first state, and of their squares."""
    plain, squares = sums
    whole = rows.shape[0] - rows.shape[0] % _ROWS
    for t in range(0, whole, _ROWS):
        z0, z1, z2, z3 = rows[t], rows[t + 1], rows[t + 2], rows[t + 3]
        for i in range(rows.shape[1]):
            origin = np.float64(first[i])
            d0, d1, d2, d3 = z0[i] - origin, z1[i] - origin, z2[i] - origin, z3[i] - origin
            plain[i] = (((plain[i] + d0) + d1) + d2) + d3
            squares[i] = (((squares[i] + d0 * d0) + d1 * d1) + d2 * d2) + d3 * d3
    for t in range(whole, rows.shape[0]):
        z = rows[t]
        for i in range(rows.shape[1]):
            d = z[i] - np.float64(first[i])
            plain[i] += d
            squares[i] += d * d


def _extreme(highest: bool) -> Any:
    """Make the function that moves `extreme` (w,) to the highest or lowest of the rows (m, w)."""

    @inlined
    def further(a, b):
        return a if (a > b if highest else a < b) else b

    @called
    def digest(rows, extreme):
        whole = rows.shape[0] - rows.shape[0] % _ROWS
        for t in range(0, whole, _ROWS):
            z0, z1, z2, z3 = rows[t], rows[t + 1], rows[t + 2], rows[t + 3]
            for i in range(rows.shape[1]):
                of_four = further(further(z0[i], z1[i]), further(z2[i], z3[i]))
                extreme[i] = further(of_four, extreme[i])
        for t in range(whole, rows.shape[0]):
            z = rows[t]
            for i in range(rows.shape[1]):
                extreme[i] = further(z[i], extreme[i])

    return digest


_digest_max, _digest_min = _extreme(True), _extreme(False)


@called
def _digest_positive(rows, positive):
    """Count what is positive in the rows (m, w)."""
    whole = rows.shape[0] - rows.shape[0] % _ROWS
    for t in range(0, whole, _ROWS):
        z0, z1, z2, z3 = rows[t], rows[t + 1], rows[t + 2], rows[t + 3]
        for i in range(rows.shape[1]):
            two = np.int32(z0[i] > 0) + np.int32(z1[i] > 0)
            positive[i] += two + (np.int32(z2[i] > 0) + np.int32(z3[i] > 0))
    for t in range(whole, rows.shape[0]):
        z = rows[t]
        for i in range(rows.shape[1]):
            positive[i] += np.int32(z[i] > 0)


@kernel
def _digest(states, rows, steps_of, t0, block, wanted, marks, sums, positive):
    """Digest steps t0 .. t0 + block of every series; `states` holds them from `rows` on.

    marks (series, segments, 5, columns)   last, first, unused, highest and lowest states
    sums (series, segments, 2, columns)    of differences to the first state, of their squares
    positive (series, segments, columns)   how many states were positive
    """
    series, segments, _, columns = sums.shape
    for b in range(series):
        steps = steps_of[b]
        for s in range(segments):
            begin, end = steps * s // segments, steps * (s + 1) // segments
            a, e = max(begin, t0), min(end, t0 + block)
            if a >= e:
                continue
            found = states[rows[b] + a - t0 : rows[b] + e - t0]
            mark = marks[b, s]
            mark[_LAST] = found[found.shape[0] - 1]
            if a == begin:
                mark[_FIRST] = found[0]
                mark[_MAX] = found[0]
                mark[_MIN] = found[0]
            for c in range(0, columns, _WIDTH):
                w = min(_WIDTH, columns - c)
                part = found[:, c : c + w]
                if wanted[_MEAN] or wanted[_STD]:
                    _digest_sums(part, mark[_FIRST, c : c + w], sums[b, s, :, c : c + w])
                if wanted[_MAX]:
                    _digest_max(part, mark[_MAX, c : c + w])
                if wanted[_MIN]:
                    _digest_min(part, mark[_MIN, c : c + w])
                if wanted[_PPV]:
                    _digest_positive(part, positive[b, s, c : c + w])


@kernel
def _finish(marks, sums, positive, steps_of, order, out, out_rows):
    """Turn accumulators into statistics, in the order asked for."""
    series, segments, _, columns = sums.shape
    for b in range(series):
        steps = steps_of[b]
        for s in range(segments):
            length = steps * (s + 1) // segments - steps * s // segments
            for p in range(order.size):
                kind = order[p]
                first = (s * order.size + p) * columns
                target = out[out_rows[b], first : first + columns]
                for i in range(columns):
                    mean = sums[b, s, 0, i] / length
                    if kind == _MEAN:
                        target[i] = marks[b, s, _FIRST, i] + mean
                    elif kind == _STD:
                        target[i] = np.sqrt(max(sums[b, s, 1, i] / length - mean * mean, 0.0))
                    elif kind == _PPV:
                        target[i] = positive[b, s, i] / length
                    else:
                        target[i] = marks[b, s, kind, i]

"""Statistics of states over time, gathered while a block of states sits in the cache.

A series is cut into `segments` equal parts; in each part every unit's states are summed up by one
number per statistic. Mean and variance come from sums of differences to the part's first state, in
double precision: one pass, exact for states that do not change. They are put together from groups
of 16 steps, whose sums of differences to the group's first state are taken in the precision of the
states: within a group states differ little, so little is lost, and single precision is faster.
Groups are counted from the part's first step and grow step by step, whatever the blocks, so block
sizes do not change a bit.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.cpu.kernels.simd import LANES, add, load, multiply_add, store, subtract
from paralesn.runtime.buffers import empty
from paralesn.runtime.compiler import called, inlined

_LAST, _MEAN, _STD, _MAX, _MIN, _PPV = range(6)
STATISTICS = {"last": _LAST, "mean": _MEAN, "std": _STD, "max": _MAX, "min": _MIN, "ppv": _PPV}
_FIRST, _ORIGIN = _MEAN, _STD  # rows of `marks`: the first states of a segment and of a group
_WIDTH = 128  # columns whose accumulators stay in the L1 cache
_ROWS = 4  # rows digested at a time, while an accumulator is in a register
_GROUP = 16  # steps of a group


class Gathered(NamedTuple):
    """Statistics so far of P series, or of P slices of one series."""

    marks: np.ndarray  # (P, segments, 5, columns): last, first, group's first, highest, lowest
    partial: np.ndarray  # (P, 2, columns): sums of a group that is not finished
    sums: np.ndarray  # (P, segments, 2, columns): of differences to the first, of squares
    positive: np.ndarray  # (P, segments, columns): how many states were positive


def gather(count: int, segments: int, columns: int, dtype: np.dtype) -> Gathered:
    """Make room for the statistics of `count` series or slices, uninitialised."""
    marks = empty((count * segments * 5, columns), dtype)
    return Gathered(
        marks.reshape(count, segments, 5, columns),
        empty((count * 2, columns), dtype).reshape(count, 2, columns),
        np.empty((count, segments, 2, columns)),
        np.empty((count, segments, columns), np.int32),
    )


@cache
def _sum(single: bool) -> Any:
    """Make the function that adds columns a .. e of rows to sums of differences, and of squares.

    For single precision it keeps the sums in vector registers, which LLVM does not find by itself.
    """

    @called
    def add_rows(rows, a, e, origin, plain, squares):
        for t in range(rows.shape[0]):
            z, o, p, q = rows[t, a:e], origin[a:e], plain[a:e], squares[a:e]
            for i in range(e - a):
                d = z[i] - o[i]
                p[i] += d
                q[i] += d * d

    @called
    def add_vectors(rows, a, e, origin, plain, squares):
        whole = e - (e - a) % LANES
        for i in range(a, whole, LANES):
            o, p, q = load(origin, i), load(plain, i), load(squares, i)
            for t in range(rows.shape[0]):
                d = subtract(load(rows[t], i), o)
                p, q = add(p, d), multiply_add(d, d, q)
            store(plain, i, p)
            store(squares, i, q)
        add_rows(rows, whole, e, origin, plain, squares)

    return add_vectors if single else add_rows


@called
def _close_group(steps, origin, first, partial_plain, partial_squares, plain, squares):
    """Add the sums of a group of `steps` steps to the sums of its segment."""
    for i in range(first.shape[0]):
        shift = np.float64(origin[i]) - np.float64(first[i])
        p, q = np.float64(partial_plain[i]), np.float64(partial_squares[i])
        plain[i] += steps * shift + p
        squares[i] += (steps * shift * shift + (shift + shift) * p) + q


def _extreme(highest: bool) -> Any:
    """Make the function that moves `extreme` to the highest or lowest of columns a .. e of rows."""

    @inlined
    def further(a, b):
        return a if (a > b if highest else a < b) else b

    @called
    def digest(rows, a, e, extreme):
        x = extreme[a:e]
        whole = rows.shape[0] - rows.shape[0] % _ROWS
        for t in range(0, whole, _ROWS):
            z0, z1, z2, z3 = rows[t, a:e], rows[t + 1, a:e], rows[t + 2, a:e], rows[t + 3, a:e]
            for i in range(e - a):
                of_four = further(further(z0[i], z1[i]), further(z2[i], z3[i]))
                x[i] = further(of_four, x[i])
        for t in range(whole, rows.shape[0]):
            z = rows[t, a:e]
            for i in range(e - a):
                x[i] = further(z[i], x[i])

    return digest


_digest_max, _digest_min = _extreme(True), _extreme(False)


@called
def _digest_positive(rows, a, e, positive):
    """Count what is positive in columns a .. e of the rows."""
    count = positive[a:e]
    whole = rows.shape[0] - rows.shape[0] % _ROWS
    for t in range(0, whole, _ROWS):
        z0, z1, z2, z3 = rows[t, a:e], rows[t + 1, a:e], rows[t + 2, a:e], rows[t + 3, a:e]
        for i in range(e - a):
            two = np.int32(z0[i] > 0) + np.int32(z1[i] > 0)
            count[i] += two + (np.int32(z2[i] > 0) + np.int32(z3[i] > 0))
    for t in range(whole, rows.shape[0]):
        z = rows[t, a:e]
        for i in range(e - a):
            count[i] += np.int32(z[i] > 0)


@cache
def digester(single: bool) -> Any:
    """Make the function that digests a block of states, of single or double precision."""
    add_rows = _sum(single)

    @called
    def digest_sums(states, a, e, done, last, mark, partial, sums):
        """Sum up steps of a segment after `done` of them; `last` says that it ends with them."""
        steps, t = states.shape[0], 0
        origin, plain, squares = mark[_ORIGIN], partial[0], partial[1]
        while t < steps:
            before = (done + t) % _GROUP
            run = min(steps - t, _GROUP - before)
            if before == 0:
                origin[a:e] = states[t, a:e]
                plain[a:e] = 0
                squares[a:e] = 0
            add_rows(states[t : t + run], a, e, origin, plain, squares)
            t += run
            if before + run == _GROUP or (last and t == steps):
                _close_group(
                    before + run, origin[a:e], mark[_FIRST, a:e], plain[a:e], squares[a:e],
                    sums[0, a:e], sums[1, a:e],
                )  # fmt: skip

    @called
    def digest(states, steps, t0, wanted, marks, partial, sums, positive):
        """Digest `states`, which begin at step t0 of a series of `steps` steps."""
        segments, _, columns = sums.shape
        for s in range(segments):
            begin, end = steps * s // segments, steps * (s + 1) // segments
            a, e = max(begin, t0), min(end, t0 + states.shape[0])
            if a >= e:
                continue
            rows = states[a - t0 : e - t0]
            mark, total, count = marks[s], sums[s], positive[s]
            mark[_LAST] = rows[rows.shape[0] - 1]
            if a == begin:
                mark[_FIRST] = rows[0]
                mark[_MAX] = rows[0]
                mark[_MIN] = rows[0]
                total[:] = 0
                count[:] = 0
            for c in range(0, columns, _WIDTH):
                d = min(c + _WIDTH, columns)
                if wanted[_MEAN] or wanted[_STD]:
                    digest_sums(rows, c, d, a - begin, e == end, mark, partial, total)
                if wanted[_MAX]:
                    _digest_max(rows, c, d, mark[_MAX])
                if wanted[_MIN]:
                    _digest_min(rows, c, d, mark[_MIN])
                if wanted[_PPV]:
                    _digest_positive(rows, c, d, count)

    return digest


@called
def finish(marks, sums, positive, steps, order, out, column, every):
    """Turn what was gathered of a series' units into statistics, in the order asked for.

    The units' first statistic goes to `column` of `out`, the others `every` columns apart.
    """
    units = min(sums.shape[2], every - column)
    for s in range(sums.shape[0]):
        length = steps * (s + 1) // sums.shape[0] - steps * s // sums.shape[0]
        for p in range(order.size):
            kind = order[p]
            first = column + (s * order.size + p) * every
            target = out[first : first + units]
            for i in range(units):
                mean = sums[s, 0, i] / length
                if kind == _MEAN:
                    target[i] = marks[s, _FIRST, i] + mean
                elif kind == _STD:
                    target[i] = np.sqrt(max(sums[s, 1, i] / length - mean * mean, 0.0))
                elif kind == _PPV:
                    target[i] = positive[s, i] / length
                else:
                    target[i] = marks[s, kind, i]

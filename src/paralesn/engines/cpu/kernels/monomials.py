"""The kernel of delays and products: no step waits for another, so any rows may be computed apart.

Products of p values, sorted, come in runs that share their first p - 1 factors, the last one going
through all values from the latest of them on. A run is one number times a stretch of the values.
"""

from typing import NamedTuple

import numpy as np

from paralesn.runtime.compiler import called, kernel


class Runs(NamedTuple):
    """Products as runs, R of them: the product of ``values[heads[r]]`` times ``values[first[r]:]``.

    A head that is shorter than the longest one is filled up with -1. `first` is the number of
    values where a run is the product of none: one column, the constant 1.
    """

    heads: np.ndarray  # (R, longest)
    first: np.ndarray  # (R,)


@called
def _gather(source, row, column, features, before, t, lags, values):
    """The delayed values of step t: from the input where it reaches so far, else from the state."""
    for k in range(lags.shape[0]):
        lag = lags[k]
        if lag <= t:
            for f in range(features):
                values[k * features + f] = source[row - lag, column + f]
        else:
            place = (lag - t - 1) * features
            for f in range(features):
                values[k * features + f] = before[place + f]


@called
def _multiply(values, heads, first, out):
    """Write the products of the values to `out`, run by run."""
    o, count = 0, values.shape[0]
    for r in range(first.shape[0]):
        begin = first[r]
        if begin == count:
            out[o] = 1.0
            o += 1
            continue
        rest = values[begin:]
        to = out[o : o + rest.shape[0]]
        if heads.shape[1] == 0 or heads[r, 0] < 0:
            for i in range(rest.shape[0]):
                to[i] = rest[i]
        else:
            head = values[heads[r, 0]]
            for k in range(1, heads.shape[1]):
                if heads[r, k] >= 0:
                    head *= values[heads[r, k]]
            for i in range(rest.shape[0]):
                to[i] = head * rest[i]
        o += rest.shape[0]


@kernel
def run_rows(
    source, starts, column, features, steps_of, ends, lags, heads, first, before, after, out,
    targets, out_column, every_step, begin, stop,
):  # fmt: skip
    """Steps `begin` to before `stop` of all series laid end to end.

    source (rows, columns)   input; the layer's features are columns column .. column + features
    starts, targets, steps_of (B,)   first rows in source and out, and number of steps
    ends (B,)                number of steps up to the end of each series
    lags, heads, first       delays, and the fields of `Runs`
    before, after (B, N)     windows of the latest inputs, newest first
    out (rows, columns)      products from out_column on
    every_step               write every step; else only the last one, to the first row
    """
    values = np.empty(lags.shape[0] * features, out.dtype)
    b = 0
    for r in range(begin, stop):
        while ends[b] <= r:
            b += 1
        t = r - (ends[b] - steps_of[b])
        is_last = r == ends[b] - 1
        if every_step or is_last:
            _gather(source, starts[b] + t, column, features, before[b], t, lags, values)
            to = targets[b] + t if every_step else targets[b]
            _multiply(values, heads, first, out[to, out_column:])
        if is_last:
            window = before.shape[1] // features
            for lag in range(window):
                for f in range(features):
                    if lag <= t:
                        after[b, lag * features + f] = source[starts[b] + t - lag, column + f]
                    else:
                        after[b, lag * features + f] = before[b, (lag - t - 1) * features + f]

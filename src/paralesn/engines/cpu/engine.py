"""The fast engine: fused Numba kernels, shared out over threads by series, slices and layers.

See `paralesn.engines.reference` for what a program and its arguments mean.
"""

from functools import lru_cache

import numpy as np

from paralesn.engines.cpu import deep
from paralesn.engines.cpu import last as response
from paralesn.engines.cpu import loop as loops
from paralesn.engines.cpu.diagonal_layer import PackedDiagonal
from paralesn.engines.cpu.packed import Program, advance_layer, buffers, prepare
from paralesn.engines.cpu.place import Place
from paralesn.engines.cpu.pooling import pool
from paralesn.engines.reference import feed_back
from paralesn.runtime import threads
from paralesn.runtime.buffers import empty

__all__ = ["Program", "empty", "last", "loop", "pool", "prepare", "run", "step"]


def run(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    out: np.ndarray,
    last_only: bool = False,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, ...]:
    """Run every series, write its states to `out`, return the states to go on from."""
    after = tuple([np.empty_like(h) for h in state])
    workers = threads.count(n_jobs)
    if len(program.layers) > 1:
        deep.run(program, x, series, state, after, out, last_only, workers)
    else:  # straight into the output
        target = Place(out, series[1], 0)
        advance_layer(
            program, 0, Place(x, series[0], 0), series[2], state[0], after[0], target, last_only,
            target, workers,
        )  # fmt: skip
    return after


def last(
    program: Program,
    x: np.ndarray,
    series: np.ndarray,
    state: tuple[np.ndarray, ...],
    out: np.ndarray,
    n_jobs: int | None = None,
) -> None:
    """Write the last states of series b to row b of `out`, without the states to go on from.

    One diagonal layer is linear up to its mixing, so the last states of many series are a product;
    not those of tokens, whose one-hot rows it would have to hold.
    """
    is_linear = len(program.layers) == 1 and isinstance(program.layers[0], PackedDiagonal)
    is_linear = is_linear and not program.drawn[0].tokens
    if is_linear and series.shape[1] >= response.LEAST_SERIES:
        workers = threads.count(n_jobs)
        response.last(program.drawn[0], x, series, state[0], out, program.mixing, workers)
    else:
        run(program, x, series, state, out, last_only=True, n_jobs=n_jobs)


def step(
    program: Program, x: np.ndarray, state: tuple[np.ndarray, ...], out: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Advance every series, a row of `x` and of `out`, by one step on the calling thread."""
    after = tuple([np.empty_like(h) for h in state])
    count = x.shape[0]
    rows, ones = _one_step(count)
    source, target = Place(x, rows, 0), Place(out, rows, 0)
    if len(program.layers) == 1:
        call = (source, x.shape[1], ones, state[0], after[0], target)
        program.layers[0].run(*call, True, program.mixing, 1, 1)
        return after
    spare = buffers(program, count, 1, 2)
    for depth in range(len(program.layers)):
        source = advance_layer(
            program, depth, source, ones, state[depth], after[depth], target, False,
            spare[depth % 2], 1,
        )  # fmt: skip
    return after


@lru_cache(maxsize=8)
def _one_step(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(count), np.ones(count, np.int64)


def loop(
    program: Program,
    inputs: np.ndarray,
    state: tuple[np.ndarray, ...],
    weights: np.ndarray,
    intercept: np.ndarray,
    difference: bool,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Feed a linear readout's predictions back as the next step's input."""
    arguments = (program, inputs, state, weights, intercept, difference)
    if not loops.can_run(program):
        return feed_back(step, *arguments)
    return loops.run(*arguments, threads.count(n_jobs))

"""The fast engine: fused Numba kernels, shared out over threads by series, slices and layers.

What its functions take and return is documented in `paralesn.engines.base.Engine`.
"""

import numpy as np

from paralesn.engines.base import Batch, States
from paralesn.engines.cpu import closed_loop, deep
from paralesn.engines.cpu import last as response
from paralesn.engines.cpu.layer_pass import Pass
from paralesn.engines.cpu.pooling import pool
from paralesn.engines.cpu.program import Block, Buffer, Program, advance_layer, prepare
from paralesn.engines.cpu.stepping import Steps, single_steps
from paralesn.engines.feed_back import feed_back
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.runtime import threads
from paralesn.runtime.buffers import empty

__all__ = ["Program", "empty", "last", "loop", "pool", "prepare", "run", "step", "steps"]


def run(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: States,
    out: np.ndarray,
    last_only: bool = False,
    n_jobs: int | None = None,
) -> States:
    """Run every series, write its states to `out`, return the states to continue from."""
    after = tuple([np.empty_like(h) for h in state])
    workers = threads.count(n_jobs)
    if len(program.layers) > 1:
        deep.run(program, x, batch, state, after, out, last_only, workers)
    else:  # straight into the output
        block = Block(batch, x, 0, out, last_only)
        unused = Buffer(out, batch.targets)
        advance_layer(program, 0, block, state[0], after[0], unused, workers)
    return after


def last(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: States,
    out: np.ndarray,
    n_jobs: int | None = None,
) -> None:
    """Write the last states of series b to row b of `out`, without the states to continue from.

    A single diagonal layer is linear up to its mixing, so the last states of many series are a
    matrix product; not those of tokens, whose one-hot rows it would have to hold.
    """
    layer, is_single = program.drawn[0], len(program.drawn) == 1
    many = batch.size >= response.LEAST_SERIES
    if is_single and many and isinstance(layer, DiagonalLayer) and not layer.tokens:
        workers = threads.count(n_jobs)
        response.last(layer, x, batch, state[0], out, program.mixing, workers)
    else:
        run(program, x, batch, state, out, last_only=True, n_jobs=n_jobs)


def step(program: Program, x: np.ndarray, state: States, out: np.ndarray) -> States:
    """Advance every series, a row of `x` and of `out`, by one step on the calling thread."""
    if len(program.layers) > 1 and len(x) == 1:
        return _prepared_step(program, x, state, out)
    after = tuple([np.empty_like(h) for h in state])
    batch = single_steps(x.shape[0])
    if len(program.layers) == 1:
        work = Pass(
            batch, x, 0, x.shape[1], state[0], after[0], out, 0, True, program.mixing
        )  # fmt: skip
        program.layers[0].run(work, 1, 1)
        return after
    block, shape = Block(batch, x, 0, out, False), (x.shape[0], program.widest)
    spare = [Buffer(empty(shape, program.dtype), batch.starts) for _ in range(2)]
    for depth in range(len(program.layers)):
        block = advance_layer(
            program, depth, block, state[depth], after[depth], spare[depth % 2], 1
        )
    return after


def _prepared_step(program: Program, x: np.ndarray, state: States, out: np.ndarray) -> States:
    """One step of one series through several layers, by steps prepared for an earlier call.

    Popping from a deque and appending to it are atomic: every thread has steps of its own.
    """
    try:
        prepared = program.spare.pop()
        prepared.start_from(state)
    except IndexError:
        prepared = Steps(program, x.shape[1], out.shape[1], tuple([h.copy() for h in state]))
    after: States = prepared.taken(x, out)
    program.spare.append(prepared)
    return after


def steps(program: Program, n_features: int, columns: int, state: States) -> Steps:
    """Steps that begin at `state`, one after the other; see `paralesn.engines.stepping`."""
    return Steps(program, n_features, columns, state)


def loop(
    program: Program,
    inputs: np.ndarray,
    state: States,
    weights: np.ndarray,
    intercept: np.ndarray,
    difference: bool,
    n_jobs: int | None = None,
    which: np.ndarray | None = None,
    after: States | None = None,
) -> np.ndarray:
    """Feed a linear readout's predictions back as the next step's input."""
    arguments = (program, inputs, state, weights, intercept, difference, which, after)
    if not closed_loop.can_run(program):
        return feed_back(step, *arguments)
    return closed_loop.run(*arguments, threads.count(n_jobs))

"""The fast engine: fused Numba kernels, shared out over threads by series, slices and layers.

What its functions take and return is documented in `paralesn.engines.base.Engine`.
"""

import numpy as np

from paralesn.engines.base import Batch, States
from paralesn.engines.cpu import closed_loop, deep, pooling
from paralesn.engines.cpu import last as response
from paralesn.engines.cpu.kernels.magnitude import any_beyond
from paralesn.engines.cpu.layer_pass import Pass
from paralesn.engines.cpu.program import Block, Buffer, Program, advance_layer, prepare
from paralesn.engines.cpu.stepping import Steps, single_steps
from paralesn.engines.feed_back import feed_back
from paralesn.engines.overflow import LIMIT, look_at_states, refuse_not_finite, refuse_pooled
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
        large = deep.run(program, x, batch, state, after, out, last_only, workers)
    else:  # straight into the output
        block = Block(batch, x, 0, out, last_only)
        unused = Buffer(out, batch.targets)
        _, large = advance_layer(program, 0, block, state[0], after[0], unused, workers)
    if large or any_beyond(x, program.largest):
        refuse_not_finite(x, batch, state, after, out, last_only)
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
    is_linear = isinstance(layer, DiagonalLayer) and not layer.tokens
    if is_single and many and is_linear and not _is_large(program, x, state):
        assert isinstance(layer, DiagonalLayer)
        workers = threads.count(n_jobs)
        response.last(layer, x, batch, state[0], out, program.mixing, workers)
    else:
        run(program, x, batch, state, out, last_only=True, n_jobs=n_jobs)


def _is_large(program: Program, x: np.ndarray, state: States) -> bool:
    """Whether inputs or states are so large that somebody has to look at what comes of them."""
    if any_beyond(x, program.largest):
        return True
    return any(h.any() and any_beyond(h.view(program.dtype), LIMIT) for h in state)


def pool(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: States,
    out: np.ndarray,
    pools: tuple[str, ...],
    segments: int,
    n_jobs: int | None = None,
) -> None:
    """Write the pooled states of every series to its row of `out`."""
    large = pooling.pool(program, x, batch, state, out, pools, segments, n_jobs)
    if large or any_beyond(x, program.largest):
        columns = out.shape[1] // (segments * len(pools))
        look_at_states(run, program, x, batch, state, columns)
        refuse_pooled(x, batch, state, out)
    elif not (program.mixing and isinstance(program.drawn[-1], DiagonalLayer)):
        refuse_pooled(x, batch, state, out)  # states without a tanh, whose sums may be large


def step(
    program: Program, x: np.ndarray, state: States, out: np.ndarray, check: bool = True
) -> States:
    """Advance every series, a row of `x` and of `out`, by one step on the calling thread."""
    if len(program.layers) > 1 and len(x) == 1:
        return _prepared_step(program, x, state, out, check)
    after = tuple([np.empty_like(h) for h in state])
    batch = single_steps(x.shape[0])
    if len(program.layers) == 1:
        work = Pass(
            batch, x, 0, x.shape[1], state[0], after[0], out, 0, True, program.mixing
        )  # fmt: skip
        if program.layers[0].run(work, 1, 1) and check:
            refuse_not_finite(x, batch, state, after, out)
        return after
    block, shape = Block(batch, x, 0, out, False), (x.shape[0], program.widest)
    spare = [Buffer(empty(shape, program.dtype), batch.starts) for _ in range(2)]
    large = False
    for depth in range(len(program.layers)):
        reads = (block, state[depth], after[depth], spare[depth % 2])
        block, is_large = advance_layer(program, depth, *reads, 1)
        large = large or is_large
    if large and check:
        refuse_not_finite(x, batch, state, after, out)
    return after


def _prepared_step(
    program: Program, x: np.ndarray, state: States, out: np.ndarray, check: bool
) -> States:
    """One step of one series through several layers, by steps prepared for an earlier call.

    Popping from a deque and appending to it are atomic: every thread has steps of its own.
    """
    try:
        prepared = program.spare.pop()
        prepared.start_from(state)
    except IndexError:
        prepared = Steps(program, x.shape[1], out.shape[1], tuple([h.copy() for h in state]))
    after: States = prepared.taken(x, out, check)
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

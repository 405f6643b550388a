"""Equal reservoirs on the patches of a field: series of patches, run by any other engine.

A field (rows, features) becomes a series for each patch, and their states stand side by side: those
of patch g in the columns from ``g * columns`` on. What the functions take and return is otherwise
that of `paralesn.engines.base.Engine`.
"""

from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.base import Batch, Engine, States
from paralesn.engines.feed_back import keep_ends, read_out
from paralesn.layers.patches import Patches
from paralesn.runtime.blas import single_threaded_blas
from paralesn.runtime.buffers import empty

__all__ = ["Program", "empty", "last", "loop", "pool", "run", "step"]


class Program(NamedTuple):
    """The program of one patch, and where the patches lie."""

    engine: Engine
    program: Any
    patches: Patches
    where: np.ndarray  # (patches, width): what each of them reads


def run(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: States,
    out: np.ndarray,
    last_only: bool = False,
    n_jobs: int | None = None,
) -> States:
    """Run every patch of every series, write its states to `out`, return those to go on from."""
    of_patches = _spread_states(program, state)
    written = batch.targets if last_only else _rows(batch)
    inner = np.empty((program.patches.count * len(written), _columns(program, out)), out.dtype)
    steps = np.ones_like(batch.steps) if last_only else batch.steps
    targets = np.cumsum(steps) - steps
    series = _spread_batch(program, batch, len(x), targets, len(written))
    call = (program.program, _spread(program, x), series, of_patches, inner)
    after = program.engine.run(*call, last_only=last_only, n_jobs=n_jobs)
    _side_by_side(program, inner, out, written)
    return _joined_states(program, after)


def last(
    program: Program,
    x: np.ndarray,
    batch: Batch,
    state: States,
    out: np.ndarray,
    n_jobs: int | None = None,
) -> None:
    """Write the states of the last step of series b to row b of `out`."""
    inner = np.empty((program.patches.count * batch.size, _columns(program, out)), out.dtype)
    series = _spread_batch(program, batch, len(x), np.arange(batch.size), batch.size)
    call = (program.program, _spread(program, x), series, _spread_states(program, state), inner)
    program.engine.last(*call, n_jobs=n_jobs)
    _side_by_side(program, inner, out, batch.targets)


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
    """Write states pooled over time, in each segment and pool those of all patches."""
    count, rows = program.patches.count, np.arange(batch.size)
    inner = np.empty((count * batch.size, _columns(program, out)), out.dtype)
    series = _spread_batch(program, batch, len(x), rows, batch.size)
    call = (program.program, _spread(program, x), series, _spread_states(program, state), inner)
    program.engine.pool(*call, pools, segments, n_jobs=n_jobs)
    parts = inner.reshape(count, batch.size, segments * len(pools), -1).transpose(1, 2, 0, 3)
    out[batch.targets] = parts.reshape(batch.size, -1)


def step(
    program: Program, x: np.ndarray, state: States, out: np.ndarray, check: bool = True
) -> States:
    """Advance the patches of B series by one step, from `x` (B, features) to `out`."""
    inner = np.empty((program.patches.count * len(x), _columns(program, out)), out.dtype)
    before = _spread_states(program, state)
    after = program.engine.step(program.program, _spread(program, x), before, inner, check)
    _side_by_side(program, inner, out, np.arange(len(x)))
    return _joined_states(program, after)


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
    """Feed back what one readout, `weights` (size, columns), predicts for each patch."""
    patches, batch = program.patches, inputs.shape[1]
    predicted = np.empty(inputs.shape)
    z = np.empty((patches.count * batch, weights.shape[-1]), inputs.dtype)
    readouts = None if which is None else np.tile(which, patches.count)
    of_patches, x = _spread_states(program, state), inputs[0].copy()
    # One thread: the same bits for any number of them. Whoever asked looks at the result.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        for t in range(len(inputs)):
            rows = _spread(program, x)
            of_patches = program.engine.step(program.program, rows, of_patches, z, check=False)
            own = read_out(z, weights, intercept, readouts)
            own = own.reshape(patches.count, batch, patches.size)
            predicted[t] = patches.joined(own.swapaxes(0, 1))
            if difference:
                predicted[t] += x
            x[...] = predicted[t]
    if after is not None:
        keep_ends(after, _joined_states(program, of_patches))
    return predicted


def _columns(program: Program, out: np.ndarray) -> int:
    """Columns of `out` that belong to one patch."""
    return int(out.shape[1]) // program.patches.count


def _rows(batch: Batch) -> np.ndarray:
    """Rows of the output that a run writes."""
    pieces = [np.arange(target, target + steps) for _, target, steps in batch.each()]
    return np.concatenate(pieces) if pieces else np.zeros(0, int)


def _spread(program: Program, x: np.ndarray) -> np.ndarray:
    """Rows (n, features) of fields as rows (patches * n, width), patch by patch."""
    rows = x[:, program.where].swapaxes(0, 1)
    return np.ascontiguousarray(rows).reshape(-1, program.patches.width)


def _spread_batch(
    program: Program, batch: Batch, rows: int, targets: np.ndarray, written: int
) -> Batch:
    """The series of all patches in `rows` input rows and `written` output rows of each."""
    patch = np.repeat(np.arange(program.patches.count), batch.size)
    count = program.patches.count
    return Batch(
        np.tile(batch.starts, count) + patch * rows,
        np.tile(targets, count) + patch * written,
        np.tile(batch.steps, count),
    )


def _spread_states(program: Program, state: States) -> States:
    """States (B, patches * units) as (patches * B, units)."""
    count = program.patches.count
    return tuple(
        np.ascontiguousarray(h.reshape(len(h), count, -1).swapaxes(0, 1)).reshape(
            len(h) * count, h.shape[1] // count
        )
        for h in state
    )


def _joined_states(program: Program, state: States) -> States:
    """States (patches * B, units) as (B, patches * units)."""
    count = program.patches.count
    return tuple(
        np.ascontiguousarray(h.reshape(count, len(h) // count, -1).swapaxes(0, 1)).reshape(
            len(h) // count, count * h.shape[1]
        )
        for h in state
    )


def _side_by_side(
    program: Program, inner: np.ndarray, out: np.ndarray, written: np.ndarray
) -> None:
    """Put states (patches * n, columns) into the n rows `written` of `out`."""
    states = inner.reshape(program.patches.count, len(written), -1).swapaxes(0, 1)
    out[written] = states.reshape(len(written), out.shape[1])

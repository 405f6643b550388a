"""A recurrent layer packed for its kernel, and how threads share it out."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.cpu.kernels.recurrent import (
    KINDS,
    Parameters,
    pack_parameters,
    run_cut,
    run_together,
)
from paralesn.engines.cpu.place import Place
from paralesn.runtime import threads
from paralesn.runtime.buffers import empty

_DENSE_ROWS = 48  # series for which a matrix is read once
_OTHER_ROWS = 4
_LEAST_WORK = 1 << 17  # multiplications worth a task of their own: some ten microseconds
_LEAST_STEP = 1 << 15  # multiplications worth sharing out a single step among threads


class PackedRecurrent(NamedTuple):
    """A layer as its kernel wants it."""

    parameters: Parameters
    units: int
    column: int
    together: int  # series run side by side
    work: int  # multiplications in a step of a series

    def run(
        self,
        source: Place,
        features: int,
        steps: np.ndarray,
        before: np.ndarray,
        after: np.ndarray,
        target: Place,
        everything: bool,
        mixing: bool,
        block: int,
        workers: int,
    ) -> None:
        """See `paralesn.engines.cpu.packed.Layer`; states are the same mixed or raw."""
        count = steps.size
        shareable = workers > 1 and int(steps.sum()) * self.work >= 2 * _LEAST_WORK
        if not shareable:
            workers = 1
        elif count < workers and self.work * count >= _LEAST_STEP and self._can_be_cut():
            self._run_cut(source, features, steps, before, after, target, everything, workers)
            return
        order = _ONE if count == 1 else np.argsort(-steps, kind="stable")
        size = min(self.together, -(-count // workers))

        def work(first: int) -> None:
            run_together(
                *self.parameters, source.array, source.rows, source.column, features, steps,
                order[first : first + size], before, after, target.array, target.rows,
                target.column, everything,
            )  # fmt: skip

        threads.for_each(work, range(0, count, size), workers)

    def _can_be_cut(self) -> bool:
        """Whether all that is expensive can be computed for some of the units alone."""
        recurrent, inputs, branch = (KINDS[kind] for kind in self.parameters.kinds[:3])
        can_be = {"dense", "sparse"}
        return recurrent in can_be and inputs == "dense" and branch in can_be | {"identity"}

    def _run_cut(
        self,
        source: Place,
        features: int,
        steps: np.ndarray,
        before: np.ndarray,
        after: np.ndarray,
        target: Place,
        everything: bool,
        workers: int,
    ) -> None:
        """Few series: threads share out the units, and meet after every single step."""
        units, width = self.units, self.parameters.bias.size
        # Who meets after every step must have a core, and work enough.
        workers = min(workers, threads.available(), max(1, self.parameters.inputs.shape[0] // 4))
        counter = np.zeros(1, np.int64)
        for b in range(steps.size):
            buffers = empty((4, width), before.dtype)
            buffers[:] = 0.0
            buffers[0, :units] = before[b]
            both, drive, carried = buffers[:2, None], buffers[2:3], buffers[3:]
            call = (
                *self.parameters, source.array, source.rows[b], source.column, features, steps[b],
                both, drive, carried, target.array, target.rows[b], target.column, everything,
                units, counter,
            )  # fmt: skip
            counter[0] = 0
            threads.together(partial(run_cut, *call), workers, partial(counter.fill, 1 << 62))
            after[b] = both[steps[b] % 2, 0, :units]


_ONE = np.zeros(1, np.int64)


def pack_recurrent(layer: Any, column: int, dtype: np.dtype) -> PackedRecurrent:
    """Pack a drawn layer whose states begin at `column` of the output."""
    parameters = pack_parameters(layer, dtype)
    dense = "dense" in (layer.recurrent.kind, layer.branch.kind)
    weights = (parameters.recurrent, parameters.inputs, parameters.branch)
    work = sum(panels.size for panels in weights) + 8 * layer.units
    together = _DENSE_ROWS if dense else _OTHER_ROWS
    return PackedRecurrent(parameters, layer.units, column, together, work)

"""A recurrent layer packed for its kernel, and how threads share it out."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.cpu.kernels import operators as kernels
from paralesn.engines.cpu.kernels.product import LINE, pack_panels
from paralesn.engines.cpu.kernels.recurrent import (
    Parameters,
    Reading,
    Shared,
    Writing,
    cut_kernel,
    together_kernel,
)
from paralesn.engines.cpu.layer_pass import Pass, call_each
from paralesn.engines.overflow import LIMIT
from paralesn.layers.operators import Cycle, Dense, Hadamard, Identity, Operator, Sparse
from paralesn.layers.recurrent import RecurrentLayer
from paralesn.runtime import threads
from paralesn.runtime.buffers import empty

_DENSE_SERIES = 48  # for which a matrix is read once
_OTHER_SERIES = 4
_LEAST_WORK = 1 << 17  # multiplications worth a task of their own: some ten microseconds
_MOST_WORK = 1 << 28  # multiplications in one call of a kernel: some tenths of a second
_LEAST_STEP = 1 << 15  # multiplications worth sharing out a single step among threads
_FIRST_SERIES = np.zeros(1, np.int64)


class PackedRecurrent(NamedTuple):
    """A recurrent layer as its kernel takes it; see `paralesn.engines.cpu.layer_pass`."""

    parameters: Parameters
    kinds: tuple[int, int, int]  # of recurrent, inputs and branch
    kernel: Any  # that runs series side by side
    units: int
    column: int
    together: int  # series run side by side
    work: int  # multiplications in a step of a series

    def run(self, work: Pass, block: int, workers: int) -> bool:
        """Advance all series of `work` and write their states, which are the same mixed or raw."""
        if len(work.source) * self.work * work.batch.steps.size <= _MOST_WORK:  # at the very most
            return self._run(work, workers)
        most = max(1, _MOST_WORK // (self.work * min(self.together, work.batch.size)))
        return max([self._run(part, workers) for part in work.stretches(most)])

    def _run(self, work: Pass, workers: int) -> bool:
        """The same in one call of a kernel for each portion of the series."""
        starts, targets, steps = work.batch
        count = steps.size
        shareable = workers > 1 and int(steps.sum()) * self.work >= 2 * _LEAST_WORK
        if not shareable:
            workers = 1
        elif count < workers and self.work * count >= _LEAST_STEP and self._can_be_cut():
            self._run_cut(work, workers)
            return not all((np.abs(h) < LIMIT).all() for h in (work.before, work.after))
        order = _FIRST_SERIES if count == 1 else np.argsort(-steps, kind="stable")
        size = min(self.together, -(-count // workers))

        def run_portion(first: int) -> int:
            large: int = self.kernel(
                *self.parameters, work.source, starts, work.column, work.features, steps,
                order[first : first + size], work.before, work.after, work.target, targets,
                work.target_column, work.every_step,
            )  # fmt: skip
            return large

        if count <= size:
            return run_portion(0) > 0
        large: list[int] = []
        portions = range(0, count, size)
        threads.for_each(lambda first: large.append(run_portion(first)), portions, workers)
        return any(large)

    def prepared(self, work: Pass) -> Callable[[], int]:
        """The same for a pass that is made again and again, on the calling thread."""
        starts, targets, steps = work.batch
        count = steps.size
        order = np.argsort(-steps, kind="stable")
        portions = [order[k : k + self.together] for k in range(0, count, self.together)]
        calls = [
            partial(
                self.kernel, *self.parameters, work.source, starts, work.column, work.features,
                steps, portion, work.before, work.after, work.target, targets, work.target_column,
                work.every_step,
            )
            for portion in portions
        ]  # fmt: skip
        if len(calls) == 1:
            return calls[0]
        return partial(call_each, calls)

    def _can_be_cut(self) -> bool:
        """Whether everything expensive can be computed for a few of the units alone."""
        recurrent, inputs, branch = self.kinds
        matrices = {kernels.DENSE, kernels.SPARSE}
        return (
            recurrent in matrices
            and inputs == kernels.DENSE
            and branch in matrices | {kernels.IDENTITY}
        )

    def _run_cut(self, work: Pass, workers: int) -> None:
        """Few series: threads share out the units, and meet after every single step."""
        units, width = self.units, self.parameters.bias.size
        # Threads that meet after every step must have a core each, and work enough.
        workers = min(workers, threads.available(), max(1, self.parameters.inputs.shape[0] // 4))
        for b, (start, target, steps) in enumerate(work.batch.each()):
            buffers = empty((4, width), work.before.dtype)
            buffers[:] = 0.0
            buffers[0, :units] = work.before[b]
            counter = np.zeros(1, np.int64)
            shared = Shared(buffers[:2, None], buffers[2:3], buffers[3:], counter)
            call = (
                self.parameters,
                Reading(work.source, start, work.column, work.features, steps),
                Writing(work.target, target, work.target_column, work.every_step),
                shared,
                units,
            )
            threads.together(
                partial(cut_kernel(*self.kinds), *call), workers, partial(counter.fill, 1 << 62)
            )
            work.after[b] = shared.both[steps % 2, 0, :units]


def pack_recurrent(layer: RecurrentLayer, column: int, dtype: np.dtype) -> PackedRecurrent:
    """Pack a layer whose states begin at `column` of the output."""
    parameters = _pack_parameters(layer, dtype)
    weights = (parameters.recurrent, parameters.inputs, parameters.branch)
    work = sum(panels.size for panels in weights) + 8 * layer.units
    has_matrix = isinstance(layer.recurrent, Dense) or isinstance(layer.branch, Dense)
    together = _DENSE_SERIES if has_matrix else _OTHER_SERIES
    recurrent, inputs, branch = parameters.kinds[:3].tolist()
    kinds = (recurrent, inputs, branch)
    return PackedRecurrent(
        parameters, kinds, together_kernel(*kinds), layer.units, column, together, work
    )


def _pack_parameters(layer: RecurrentLayer, dtype: np.dtype) -> Parameters:
    lanes = LINE // dtype.itemsize
    recurrent, branch = (_pack_operator(given, dtype) for given in (layer.recurrent, layer.branch))
    is_dense = layer.w_in.ndim == 2
    inputs = pack_panels(layer.w_in if is_dense else layer.w_in[:, None], dtype)
    bias = np.zeros(-(-layer.units // lanes) * lanes, dtype)
    bias[: layer.units] = layer.bias
    reads = kernels.DENSE if is_dense else kernels.RING
    return Parameters(
        kinds=np.array([recurrent.kind, reads, branch.kind, layer.linear], np.int64),
        numbers=np.array([recurrent.scale, branch.scale, layer.gain], dtype),
        recurrent=recurrent.panels,
        recurrent_columns=recurrent.columns,
        signs=recurrent.signs,
        inputs=inputs,
        single=inputs.ravel() if inputs.shape[1] == 1 else inputs[:0].ravel(),
        branch=branch.panels,
        branch_columns=branch.columns,
        branch_signs=branch.signs,
        bias=bias,
    )


def _pack_operator(operator: Operator, dtype: np.dtype) -> kernels.Operator:
    lanes = LINE // dtype.itemsize
    nothing = kernels.Operator(
        kind=kernels.IDENTITY,
        scale=1.0,
        panels=np.empty((0, 0, lanes), dtype),
        columns=np.empty((0, 0, lanes), np.int32),
        signs=np.empty((3, 0), dtype),
    )
    if isinstance(operator, Dense):
        return nothing._replace(kind=kernels.DENSE, panels=pack_panels(operator.matrix, dtype))
    if isinstance(operator, Sparse):
        panels = pack_panels(operator.values, dtype)
        units, inputs = operator.columns.shape
        padded = np.zeros((panels.shape[0] * lanes, inputs), np.int32)
        padded[:units] = operator.columns
        columns = np.ascontiguousarray(padded.reshape(-1, lanes, inputs).transpose(0, 2, 1))
        return nothing._replace(kind=kernels.SPARSE, panels=panels, columns=columns)
    if isinstance(operator, Cycle):
        return nothing._replace(kind=kernels.CYCLE, scale=operator.weight)
    if isinstance(operator, Identity):
        return nothing._replace(scale=operator.scale)
    assert isinstance(operator, Hadamard)
    signs = operator.signs.astype(dtype)
    scale = operator.scale / signs.shape[1] ** 1.5
    return nothing._replace(kind=kernels.HADAMARD, scale=scale, signs=signs)

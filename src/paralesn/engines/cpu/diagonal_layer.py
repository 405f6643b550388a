"""A diagonal layer packed for its kernel, and how threads share it out."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.cpu.kernels.diagonal import (
    ONE,
    RING,
    SEVERAL,
    TAPS,
    TOKEN,
    WIDE,
    layer_kernel,
    pack,
    slice_width,
)
from paralesn.engines.cpu.kernels.projection import is_wide
from paralesn.engines.cpu.layer_pass import Pass
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.runtime import threads

_LEAST_WORK = 1 << 17  # unit-steps worth a task of their own: a fraction of a millisecond
MOST_WORK = 1 << 26  # unit-steps in one call of a kernel: some tenths of a second
_FEATURES = 16  # that take about as long as all else of a unit-step


class PackedDiagonal(NamedTuple):
    """A diagonal layer as its kernel takes it; see `paralesn.engines.cpu.layer_pass`."""

    kernel: Any
    packed: np.ndarray
    taps: np.ndarray
    no_taps: np.ndarray
    mix_bias: Any
    left: int
    units: int
    column: int
    weight: int  # of a unit-step: so many times the work of one with few features
    most: int  # steps of all series in one call of the kernel
    together: int = 1  # a series has slices enough

    def run(self, work: Pass, block: int, workers: int) -> bool:
        """Advance all series of `work` and write their states."""
        count = work.batch.steps.size
        if len(work.source) * count <= self.most:  # so many steps at the very most
            if workers > 1:
                return self._run(work, block, workers, 1)
            whole = (0, count, 0, self.packed.shape[0], 0, 1)
            return bool(self.kernel(*self._arguments(work, block), *whole))
        longest = work.batch.longest
        most = max(block, self.most)
        pieces = -(-count * min(longest, most) // most)
        large = [self._run(part, block, workers, pieces) for part in work.stretches(most)]
        return any(large)

    def _run(self, work: Pass, block: int, workers: int, pieces: int) -> bool:
        """The same in at least so many pieces, where there are as many series."""
        arguments, large = self._arguments(work, block), list[int]()

        def run_task(task: tuple[int, ...]) -> None:
            large.append(self.kernel(*arguments, *task))

        threads.for_each(run_task, self._share_out(work.batch.steps, workers, pieces), workers)
        return any(large)

    def prepared(self, work: Pass) -> Callable[[], int]:
        """The same for a pass that is made again and again, on the calling thread."""
        task = (0, work.batch.steps.size, 0, self.packed.shape[0], 0, 1)
        return partial(self.kernel, *self._arguments(work, 1), *task)

    def _arguments(self, work: Pass, block: int) -> tuple[Any, ...]:
        """Arguments of the kernel but for the series and slices to run."""
        batch = work.batch
        return (
            work.source, batch.starts, work.column, work.features, batch.steps, work.before,
            work.after, work.target, batch.targets, work.target_column, self.packed,
            self.taps if work.mixed else self.no_taps, self.mix_bias, self.left, work.every_step,
            block,
        )  # fmt: skip

    def _share_out(self, steps: np.ndarray, workers: int, pieces: int) -> list[tuple[int, ...]]:
        """Cut the series into several tasks a worker, and the slices too where series are too few.

        Of many series there are at least `pieces` tasks.

        Slices are cut no finer than that: neighbours belong to one task, which then writes whole
        stretches of each row. A task is a range of series, a range of slices, and which of how
        many ranges of slices it is.
        """
        count, slices = steps.size, self.packed.shape[0]
        total = int(steps[0] if count == 1 else steps.sum())
        worth = max(1, total * self.units * self.weight // _LEAST_WORK)
        by_series = min(count, max(pieces, min(worth, 4 * workers if workers > 1 else 1)))
        by_slice = min(slices, worth, -(-workers // by_series))
        return [
            (*_piece(count, by_series, i), *_piece(slices, by_slice, j), j, by_slice)
            for i in range(by_series)
            for j in range(by_slice)
        ]


def _piece(total: int, pieces: int, i: int) -> tuple[int, int]:
    return total * i // pieces, total * (i + 1) // pieces


def _reads(layer: DiagonalLayer) -> int:
    """Which kind of input a layer has."""
    if layer.tokens:
        return TOKEN
    if layer.w_in.ndim == 1:
        return RING
    if is_wide(layer.w_in):
        return WIDE
    return ONE if layer.w_in.shape[1] == 1 else SEVERAL


def pack_diagonal(layer: DiagonalLayer, column: int, dtype: np.dtype) -> PackedDiagonal:
    """Pack a layer whose states begin at `column` of the output."""
    size, units = layer.mix_kernel.size, layer.units
    taps = np.zeros((2, -(-size // TAPS) * TAPS), dtype)
    taps[:, :size] = layer.mix_kernel.real, layer.mix_kernel.imag
    reads = _reads(layer)
    weight = 1 if reads == RING or layer.tokens else 1 + layer.w_in.shape[1] // _FEATURES
    return PackedDiagonal(
        kernel=layer_kernel(layer.is_complex, reads, slice_width(units)),
        packed=pack(
            layer.eigenvalues, layer.w_in, layer.bias, layer.tau, size, dtype, reads == WIDE
        ),
        taps=taps,
        no_taps=taps[:, :0].copy(),
        mix_bias=dtype.type(layer.mix_bias.real),
        left=(size - 1) // 2,
        units=units,
        column=column,
        weight=weight,
        most=max(1, MOST_WORK // (units * weight)),
    )

"""The closed loop: a linear readout's predictions are fed back as the next step's input."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.base import States
from paralesn.engines.cpu.diagonal_layer import PackedDiagonal
from paralesn.engines.cpu.program import Program
from paralesn.engines.feed_back import keep_ends
from paralesn.runtime import threads
from paralesn.runtime.compiler import called, kernel

_LEAST_SERIES = 8  # worth a thread of their own
_MOST_WORK = 1 << 25  # unit-steps in one call of the kernel: some tenths of a second


class _Layers(NamedTuple):
    """Packed layers as the loop's kernel takes them (L layers)."""

    packed: tuple[np.ndarray, ...]
    taps: tuple[np.ndarray, ...]
    no_taps: tuple[np.ndarray, ...]
    mix_bias: np.ndarray  # (L,)
    shape: np.ndarray  # (L, 3): left reach, units and output column of each layer


class _Room(NamedTuple):
    """Arrays that the loop works in (B series)."""

    states: States
    spare: States
    out: np.ndarray  # (B, columns): the wanted states
    buffers: np.ndarray  # (2, B, widest): states handed upwards


class _Constants(NamedTuple):
    """Arguments of layer kernels that never change; literals would compile these kernels anew."""

    rows: np.ndarray  # (B,): 0 .. B - 1
    ones: np.ndarray  # (B,)
    zero: int
    one: int
    yes: bool


class _Layer(NamedTuple):
    """One of `_Layers`, its taps mixing or raw."""

    packed: np.ndarray
    taps: np.ndarray
    mix_bias: Any
    left: int


class _Columns(NamedTuple):
    """Columns of an array (B, columns): `width` of them from `first` on."""

    array: np.ndarray
    first: int
    width: int


def can_run(program: Program) -> bool:
    """Whether layers are diagonal and all after the first use the same kernel, as drawn ones do."""
    layers = [layer for layer in program.layers if isinstance(layer, PackedDiagonal)]
    same = len({id(layer.kernel) for layer in layers[1:]}) <= 1
    return same and len(layers) == len(program.layers)


def run(
    program: Program,
    inputs: np.ndarray,
    state: States,
    weights: np.ndarray,
    intercept: np.ndarray,
    difference: bool,
    which: np.ndarray | None,
    after: States | None,
    workers: int,
) -> np.ndarray:
    """Predictions (steps, B, D); see `paralesn.engines.base.Engine.loop`."""
    layers: tuple[Any, ...] = program.layers
    outputs, columns = weights.shape[-2:]
    weights, intercept = weights.reshape(-1, outputs, columns), intercept.reshape(-1, outputs)
    later = layers[-1].kernel
    loop = loop_kernel(layers[0].kernel, later if len(layers) > 1 else None)
    steps, count, _ = inputs.shape
    predicted = np.empty((steps, count, outputs))
    readout_of = np.zeros(count, np.int64) if which is None else which
    pieces = max(1, min(workers, count // _LEAST_SERIES))
    packed = _Layers(
        tuple([layer.packed for layer in layers]),
        tuple([layer.taps for layer in layers]),
        tuple([layer.no_taps for layer in layers]),
        np.array([layer.mix_bias for layer in layers], program.dtype),
        np.array([[layer.left, layer.units, layer.column] for layer in layers]),
    )

    of_step = sum([layer.units * layer.weight for layer in layers]) + outputs * columns

    def work(piece: int) -> None:
        series = slice(count * piece // pieces, count * (piece + 1) // pieces)
        here = series.stop - series.start
        now = tuple([h[series].copy() for h in state])
        spare = tuple([np.empty_like(h) for h in now])
        out = np.empty((here, columns), program.dtype)
        buffers = np.empty((2, here, program.widest), program.dtype)
        constants = _Constants(np.arange(here), np.ones(here, np.int64), 0, 1, True)
        most = max(1, _MOST_WORK // (here * of_step))
        for first in range(0, steps, most):
            stretch = slice(first, min(first + most, steps))
            fed = inputs[stretch, series].copy()  # the loop fills in what it predicts
            if first:
                fed[0, :, :outputs] = predicted[first - 1, series]
            result = np.empty((len(fed), here, outputs))
            room = _Room(now, spare, out, buffers)
            loop(
                fed, packed, room, constants, program.concat, program.mixing, weights, intercept,
                readout_of[series], difference, result,
            )  # fmt: skip
            predicted[stretch, series] = result
            if len(fed) % 2:
                now, spare = spare, now
        if after is not None:
            keep_ends(tuple([h[series] for h in after]), now)

    threads.for_each(work, range(pieces), workers)
    return predicted


@called
def _read_out(z, weights, intercept):
    """weights · z + intercept, in four sums so that they need not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = z.shape[0] - z.shape[0] % 4
    for i in range(0, whole, 4):
        a += weights[i] * z[i]
        b += weights[i + 1] * z[i + 1]
        c += weights[i + 2] * z[i + 2]
        d += weights[i + 3] * z[i + 3]
    for i in range(whole, z.shape[0]):
        a += weights[i] * z[i]
    return intercept + ((a + b) + (c + d))


@cache
def loop_kernel(first_layer: Any, later_layers: Any) -> Any:
    """Kernel for a first layer and, unless None, later ones that all use the same layer kernel.

    Arguments of the kernel (`B` series)::

        inputs (steps, B, F)     the first D features of every step but the first are filled in
        layers, room, constants  `_Layers`, `_Room` and `_Constants`
        concat, mixing           as in a program
        weights (R, D, columns), intercept (R, D), difference   the readouts
        readout_of (B,)          which of them a series has
        predicted (steps, B, D)  the result
    """

    @called
    def advance(depth, layer, source, before, after, target, constants):
        """One step of all series through a layer."""
        rows, ones, zero, one, yes = constants
        count, slices = rows.shape[0], layer.packed.shape[0]
        # Of several series, a slice's parameters are loaded once for all.
        group = one if count > one else slices
        for s in range(zero, slices, group):
            if depth == 0:
                first_layer(
                    source.array, rows, source.first, source.width, ones, before, after,
                    target.array, rows, target.first, layer.packed, layer.taps, layer.mix_bias,
                    layer.left, yes, one, zero, count, s, s + group, zero, one,
                )  # fmt: skip
            elif later_layers is not None:
                later_layers(
                    source.array, rows, source.first, source.width, ones, before, after,
                    target.array, rows, target.first, layer.packed, layer.taps, layer.mix_bias,
                    layer.left, yes, one, zero, count, s, s + group, zero, one,
                )  # fmt: skip

    @kernel
    def loop(
        inputs, layers, room, constants, concat, mixing, weights, intercept, readout_of, difference,
        predicted,
    ):  # fmt: skip
        states, spare, out, buffers = room
        zero = constants.zero
        steps, outputs, top = inputs.shape[0], weights.shape[1], len(layers.packed) - 1
        for t in range(steps):
            source = _Columns(inputs[t], zero, inputs.shape[2])
            for depth in range(len(layers.packed)):
                left, units, column = layers.shape[depth]
                wanted = depth == top or (concat and mixing)
                handed = _Columns(
                    out if wanted else buffers[depth % 2], column if wanted else zero, units
                )
                # Raw states of all layers are wanted besides the mixed ones handed upwards. One
                # place that calls the layer keeps compilation short.
                for extra in range(2 if concat and not wanted else 1):
                    raw = extra == 1 or (depth == top and not mixing)
                    layer = _Layer(
                        layers.packed[depth],
                        layers.no_taps[depth] if raw else layers.taps[depth],
                        layers.mix_bias[depth],
                        left,
                    )
                    target = _Columns(
                        out if extra else handed.array, column if extra else handed.first, units
                    )
                    advance(depth, layer, source, states[depth], spare[depth], target, constants)
                source = handed
            states, spare = spare, states
            for b in range(constants.rows.shape[0]):
                r = readout_of[b]
                for d in range(outputs):
                    value = _read_out(out[b], weights[r, d], intercept[r, d])
                    if difference:
                        value += inputs[t, b, d]
                    predicted[t, b, d] = value
                    if t + 1 < steps:
                        inputs[t + 1, b, d] = value

    return loop

"""The closed loop: a linear readout's predictions are fed back as the next step's input."""

from functools import cache
from typing import Any

import numpy as np

from paralesn.engines.cpu.diagonal_layer import PackedDiagonal
from paralesn.engines.cpu.packed import Program
from paralesn.runtime import threads
from paralesn.runtime.compiler import called, kernel

_LEAST_SERIES = 8  # worth a thread of their own


def can_run(program: Program) -> bool:
    """Whether layers are diagonal and all after the first use the same kernel, as drawn ones do."""
    layers = [layer for layer in program.layers if isinstance(layer, PackedDiagonal)]
    same = len({id(layer.kernel) for layer in layers[1:]}) <= 1
    return same and len(layers) == len(program.layers)


def run(
    program: Program,
    inputs: np.ndarray,
    state: tuple[np.ndarray, ...],
    weights: np.ndarray,
    intercept: np.ndarray,
    difference: bool,
    workers: int,
) -> np.ndarray:
    """Predictions (steps, B, D); see `paralesn.engines.reference.loop`."""
    layers: tuple[Any, ...] = program.layers
    columns = weights.shape[1]
    later = layers[-1].kernel
    loop = loop_kernel(layers[0].kernel, later if len(layers) > 1 else None)
    steps, count, _ = inputs.shape
    predicted = np.empty((steps, count, weights.shape[0]))
    pieces = max(1, min(workers, count // _LEAST_SERIES))

    def work(piece: int) -> None:
        cut = slice(count * piece // pieces, count * (piece + 1) // pieces)
        fed = inputs[:, cut].copy()  # the loop fills in what it predicts
        before, spare = (tuple([h[cut].copy() for h in state]) for _ in range(2))
        here = fed.shape[1]
        result = np.empty((steps, here, weights.shape[0]))
        loop(
            fed, before, spare, np.empty((here, columns), program.dtype),
            np.empty((2, here, program.widest), program.dtype),
            tuple([layer.packed for layer in layers]), tuple([layer.taps for layer in layers]),
            tuple([layer.no_taps for layer in layers]),
            np.array([layer.mix_bias for layer in layers], program.dtype),
            np.array([[layer.left, layer.units, layer.column] for layer in layers]),
            program.concat, program.mixing, np.arange(here), np.ones(here, np.int64),
            weights, intercept, difference, result, 0, 1, True,
        )  # fmt: skip
        predicted[:, cut] = result

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

    Arguments of the kernel (`B` series, `L` layers)::

        inputs (steps, B, F)     the first D features of every step but the first are filled in
        states, spare            per layer (B, N)
        out (B, columns), buffers (2, B, widest)   states asked for, and handed upwards
        packed, taps, no_taps    per layer, as the layer kernels take them
        mix_bias (L,), shape (L, 3)   left reach, units and output column of each layer
        rows, ones (B,)          0 .. B - 1, and ones
        weights (D, columns), intercept (D,)   the readout
        predicted (steps, B, D)  the result
        zero, one, yes           0, 1 and True: as literals they would compile the layers anew
    """

    @called
    def advance(depth, source, column, features, before, after, target, to, packed, taps, mix_bias,
                left, rows, ones, zero, one, yes):  # fmt: skip
        count, slices = rows.shape[0], packed.shape[0]
        if depth == 0:
            first_layer(
                source, rows, column, features, ones, before, after, target, rows, to, packed, taps,
                mix_bias, left, yes, one, zero, count, zero, slices,
            )  # fmt: skip
        elif later_layers is not None:
            later_layers(
                source, rows, column, features, ones, before, after, target, rows, to, packed, taps,
                mix_bias, left, yes, one, zero, count, zero, slices,
            )  # fmt: skip

    @kernel
    def loop(
        inputs, states, spare, out, buffers, packed, taps, no_taps, mix_bias, shape, concat, mixing,
        rows, ones, weights, intercept, difference, predicted, zero, one, yes,
    ):  # fmt: skip
        steps, outputs, top = inputs.shape[0], weights.shape[0], len(packed) - 1
        for t in range(steps):
            source, column, features = inputs[t], zero, inputs.shape[2]
            for depth in range(len(packed)):
                left, units, place = shape[depth]
                asked = depth == top or (concat and mixing)
                handed = out if asked else buffers[depth % 2]
                to = place if asked else zero
                # Raw states of all layers are asked for besides the mixed ones handed upwards. One
                # place that calls the layer keeps compilation short.
                for extra in range(2 if concat and not asked else 1):
                    raw = extra == 1 or (depth == top and not mixing)
                    advance(depth, source, column, features, states[depth], spare[depth],
                            out if extra else handed, place if extra else to, packed[depth],
                            no_taps[depth] if raw else taps[depth], mix_bias[depth], left, rows,
                            ones, zero, one, yes)  # fmt: skip
                source, column, features = handed, to, units
            states, spare = spare, states
            for b in range(rows.shape[0]):
                for d in range(outputs):
                    value = _read_out(out[b], weights[d], intercept[d])
                    if difference:
                        value += inputs[t, b, d]
                    predicted[t, b, d] = value
                    if t + 1 < steps:
                        inputs[t + 1, b, d] = value

    return loop

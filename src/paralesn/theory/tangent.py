"""Derivatives of layers and closed loops along a trajectory, without a Jacobian being formed.

Values stand in the last axis, behind any number of others: a layer's states are (patches, units),
and k directions next to them (k, patches, units). So a step and its derivative read alike.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from paralesn.engines.base import Layer
from paralesn.layers.delays import DelayLayer
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.operators import Cycle, Dense, Identity, Operator, Sparse
from paralesn.layers.recurrent import RecurrentLayer
from paralesn.reservoirs.autonomous import ClosedLoop

_ROUNDING = 16 * float(np.finfo(float).eps)


class Tangent(Protocol):
    """A layer and its derivative; `slope` is what the derivative takes from the trajectory."""

    def advance(self, h: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """The states after reading x, what the layer hands on, and the slope there."""

    def push(self, dh: np.ndarray, dx: np.ndarray, slope: Any) -> tuple[np.ndarray, np.ndarray]:
        """Directions of the states and of what the layer hands on."""


def tangent(layer: Layer) -> Tangent:
    """The derivative of a layer."""
    if isinstance(layer, DelayLayer):
        return DelayTangent(layer)
    if isinstance(layer, DiagonalLayer):
        return DiagonalTangent(layer)
    return RecurrentTangent(layer)


class DiagonalTangent:
    """``dh = eigenvalues dh + tau w_in dx``, ``dz = (1 - z^2) Re(mix_kernel * dh)``."""

    def __init__(self, layer: DiagonalLayer) -> None:
        self.layer = layer
        self.drive = _Drive(layer.tau * layer.w_in)
        self.bias = layer.tau * layer.bias

    def advance(self, h: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """The states after reading x, their mixture, and the slope of tanh."""
        h = self.layer.eigenvalues * h + self.drive(x) + self.bias
        z = np.tanh(self._convolve(h) + np.real(self.layer.mix_bias))
        return h, z, 1.0 - z * z

    def push(self, dh: np.ndarray, dx: np.ndarray, slope: Any) -> tuple[np.ndarray, np.ndarray]:
        """Directions of the states and of their mixture."""
        dh = self.layer.eigenvalues * dh + self.drive(dx)
        return dh, slope * self._convolve(dh)

    def _convolve(self, h: np.ndarray) -> np.ndarray:
        """``Re(mix_kernel * h)``, tap by tap, zero outside the layer."""
        kernel, units = self.layer.mix_kernel, h.shape[-1]
        left = (kernel.size - 1) // 2
        out = np.zeros(h.shape)
        for shift, tap in enumerate(kernel, -left):
            reached = slice(max(0, -shift), min(units, units - shift))
            read = h[..., max(0, shift) : max(0, units + min(0, shift))]
            out[..., reached] += tap.real * read.real
            if np.iscomplexobj(h):
                out[..., reached] -= tap.imag * read.imag
        return out


class RecurrentTangent:
    """``dh = branch dh + gain (1 - f^2) (recurrent dh + w_in dx)``, f what tanh gave."""

    def __init__(self, layer: RecurrentLayer) -> None:
        self.layer = layer
        self.drive = _Drive(layer.w_in)

    def advance(self, h: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """The states after reading x, twice, and the slope of tanh times the gain."""
        layer = self.layer
        f = multiply(layer.recurrent, h) + self.drive(x) + layer.bias
        f = f if layer.linear else np.tanh(f)
        h = multiply(layer.branch, h) + layer.gain * f
        return h, h, layer.gain if layer.linear else layer.gain * (1.0 - f * f)

    def push(
        self, dh: np.ndarray, dx: np.ndarray | None, slope: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Directions of the states, twice; None is an input that does not vary."""
        driven = multiply(self.layer.recurrent, dh)
        if dx is not None:
            driven = driven + self.drive(dx)
        dh = multiply(self.layer.branch, dh) + slope * driven
        return dh, dh


class DelayTangent:
    """Directions move through the window; a product turns by each factor times the others."""

    def __init__(self, layer: DelayLayer) -> None:
        self.positions = layer.positions()
        self.factors = [layer.factors(order) for order in layer.orders.tolist()]

    def advance(self, h: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """The window with x at its front, products of its values, and their derivatives."""
        h = _shift(h, x)
        values = h[..., self.positions]
        chosen = [values[..., factors] for factors in self.factors]  # (…, products, order)
        z = np.concatenate([factors.prod(axis=-1) for factors in chosen], axis=-1)
        return h, z, [_products_of_others(factors) for factors in chosen]

    def push(self, dh: np.ndarray, dx: np.ndarray, slope: Any) -> tuple[np.ndarray, np.ndarray]:
        """Directions of the window and of the products."""
        dh = _shift(dh, dx)
        values = dh[..., self.positions]
        turned = [
            (others * values[..., factors]).sum(axis=-1)
            for factors, others in zip(self.factors, slope, strict=True)
        ]
        return dh, np.concatenate(turned, axis=-1)


class _Drive:
    """Input weights (N, F) dense or (N,) ring, multiplied by real inputs."""

    def __init__(self, w_in: np.ndarray) -> None:
        self.is_ring = w_in.ndim == 1
        self.dtype = w_in.dtype
        # Complex weights as twice as many real ones: the inputs are real.
        self.weights = w_in if self.is_ring else np.ascontiguousarray(w_in.T).view(float)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """``w_in x``."""
        if self.is_ring:
            return self.weights * x[..., (np.arange(self.weights.size) - 1) % x.shape[-1]]
        return (x @ self.weights).view(self.dtype)


def multiply(operator: Operator, h: np.ndarray) -> np.ndarray:
    """Product of an operator and any number of states (…, N)."""
    if isinstance(operator, Dense):
        return h @ operator.matrix.T
    if isinstance(operator, Sparse):
        return np.einsum("...nk,nk->...n", h[..., operator.columns], operator.values)
    if isinstance(operator, Cycle):
        return operator.weight * np.roll(h, 1, axis=-1)
    if isinstance(operator, Identity):
        return operator.scale * h
    units, size = h.shape[-1], operator.signs.shape[1]
    padded = np.zeros((*h.shape[:-1], size))
    padded[..., :units] = h
    for signs in operator.signs[::-1]:
        padded = _walsh_hadamard(signs * padded) / np.sqrt(size)
    return operator.scale * padded[..., :units]


def _walsh_hadamard(x: np.ndarray) -> np.ndarray:
    """Product of the Hadamard matrix of +-1 and x (…, n), n being a power of two."""
    width = 1
    while width < x.shape[-1]:
        pairs = x.reshape(*x.shape[:-1], -1, 2, width)
        first, second = pairs[..., 0, :], pairs[..., 1, :]
        x = np.stack([first + second, first - second], axis=-2).reshape(x.shape)
        width *= 2
    return x


def _shift(h: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A window (…, steps F) that took x in at its front."""
    return np.concatenate([x, h[..., : h.shape[-1] - x.shape[-1]]], axis=-1)


def _products_of_others(factors: np.ndarray) -> np.ndarray:
    """For each factor (…, products, order) the product of the other ones."""
    others = np.ones_like(factors)
    for place in range(factors.shape[-1]):
        others[..., np.arange(factors.shape[-1]) != place] *= factors[..., place, None]
    return others


# -- closed loops ------------------------------------------------------------------------------


class Point(NamedTuple):
    """A state of a closed loop, or k directions next to one with an axis (k, …) more."""

    layers: tuple[np.ndarray, ...]  # of each layer (patches, units)
    x: np.ndarray  # (F,), what is read next

    def flat(self) -> np.ndarray:
        """All of it as real numbers (…, dimension), complex ones as pairs."""
        lead = self.x.shape[:-1]
        reals = [np.ascontiguousarray(h).view(float).reshape(*lead, -1) for h in self.layers]
        return np.concatenate([*reals, self.x], axis=-1)

    def like(self, flat: np.ndarray) -> "Point":
        """Real numbers (…, dimension) as directions next to this state."""
        lead, first, layers = flat.shape[:-1], 0, []
        for h in self.layers:
            width = h.view(float).size
            numbers = np.ascontiguousarray(flat[..., first : first + width])
            layers.append(numbers.view(h.dtype).reshape(*lead, *h.shape))
            first += width
        return Point(tuple(layers), flat[..., first:])


class TangentLoop:
    """A closed loop in double precision, and its derivative."""

    def __init__(self, loop: ClosedLoop) -> None:
        reservoir = loop.reservoir
        patches = reservoir.patches_
        self.loop = loop
        self.layers = [tangent(layer) for layer in reservoir.layers_]
        self.concat, self.mixing = reservoir.concat, reservoir.mixing
        self.where = np.arange(loop.newest.shape[1])[None] if patches is None else patches.columns()
        self.weights = np.ascontiguousarray(loop.weights.T, float)
        self.intercept = np.asarray(loop.intercept, float)

    def start(self, series: int) -> Point:
        """Where one of the loop's series begins."""
        layers = []
        for h in self.loop.state.layers:
            dtype = complex if np.iscomplexobj(h) else float
            layers.append(np.array(h[series], dtype).reshape(len(self.where), -1))
        return Point(tuple(layers), np.array(self.loop.newest[series], float))

    def step(self, point: Point) -> tuple[Point, list[Any]]:
        """The next state, and what directions need of it."""
        x = point.x[self.where]
        after, outputs, slopes = [], [], []
        for layer, h in zip(self.layers, point.layers, strict=True):
            h, x, slope = layer.advance(h, x)
            after.append(h)
            outputs.append(x if self.mixing else _raw(h))
            slopes.append(slope)
        return Point(tuple(after), self._predict(outputs, point.x, self.intercept)), slopes

    def push(self, directions: Point, slopes: Sequence[Any]) -> Point:
        """Directions after the step that gave the slopes."""
        dx: np.ndarray = directions.x[..., self.where]
        after, outputs = [], []
        for layer, dh, slope in zip(self.layers, directions.layers, slopes, strict=True):
            dh, dx = layer.push(dh, dx, slope)
            after.append(dh)
            outputs.append(dx if self.mixing else _raw(dh))
        return Point(tuple(after), self._predict(outputs, directions.x, 0.0))

    def _predict(self, outputs: list[np.ndarray], x: np.ndarray, intercept: Any) -> np.ndarray:
        """What the readout makes of the states of all layers, or of the last."""
        z = np.concatenate(outputs, axis=-1) if self.concat else outputs[-1]
        predicted = (z @ self.weights + intercept).reshape(x.shape)
        return predicted + x if self.loop.difference else predicted


def _raw(h: np.ndarray) -> np.ndarray:
    """States as a readout reads them without mixing: real, then imaginary parts."""
    return np.concatenate([h.real, h.imag], axis=-1) if np.iscomplexobj(h) else h


def orthonormalise(directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (k, n) made orthonormal one after the other, and logarithms (k,) of their lengths.

    The length of a row is what is left of it across the rows before it. Where that is no more than
    rounding error, the row lies in their span, and its logarithm is -infinity.
    """
    turned, lengths = np.linalg.qr(directions.T)
    left = np.abs(np.diag(lengths))
    rounding = _ROUNDING * len(directions) * np.linalg.norm(lengths, axis=0)
    with np.errstate(divide="ignore"):
        return turned.T, np.log(np.where(left > rounding, left, 0.0))

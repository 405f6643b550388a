r"""Layers as a graph whose length is left open, for compilers and exporters.

The chunks of `scan` are loops that a tracer would unroll for one length. Here the recurrence
:math:`h_t = \lambda h_{t-1} + u_t` is a product with a matrix of powers,

.. math:: h_c = \lambda^{c+1} h_{-1} + \sum_{j \le c} \lambda^{c-j} u_j,

for chunks of `RADICES[0]` steps. What chunks add to the state obeys the same recurrence with
:math:`\lambda^R`: it is cut into chunks of `RADICES[1]`, and so on; the last level is one product
whatever its length. The operations are the same for every number of steps, so one graph is right
for all of them, and work grows with T as long as T is below some 10**8.

No number is complex: planes of real and imaginary parts are kept apart, and powers come from
radius and phase. Phases are counted in turns, of which whole ones are dropped without rounding.
Arrays are (units, batch, time), so that every product is one of ordinary matrices.
"""

from collections.abc import Sequence
from math import pi
from typing import NamedTuple

from paralesn.runtime.pytorch import torch

RADICES = (32, 8, 8, 8)  # powers of two: turns are multiplied by them without rounding

Planes = tuple[torch.Tensor, ...]  # real and imaginary parts, or one plane of real numbers


class Spectrum(NamedTuple):
    """Eigenvalues ``exp(log_radius + 2 pi i turns)``, each (N,)."""

    log_radius: torch.Tensor
    turns: torch.Tensor
    is_complex: bool

    def raised(self, power: int) -> "Spectrum":
        """The powers of all eigenvalues, `power` being a power of two."""
        turns = power * self.turns
        return self._replace(log_radius=power * self.log_radius, turns=turns - torch.floor(turns))

    def kernel(self, steps: int) -> Planes:
        """Planes (N, steps + 1, steps): what the state before and the steps add to each state."""
        source = torch.arange(steps + 1, device=self.turns.device, dtype=self.turns.dtype)
        lag = source[1:] - source.unsqueeze(1)
        past = lag.clamp(min=0)
        radius = torch.exp(past * self.log_radius.view(-1, 1, 1)) * (lag >= 0)
        turns = past * self.turns.view(-1, 1, 1)
        angle = full_turn(turns) * (turns - torch.floor(turns))
        if not self.is_complex:
            return (radius * torch.cos(angle),)
        return radius * torch.cos(angle), radius * torch.sin(angle)


def full_turn(like: torch.Tensor) -> torch.Tensor:
    """2 pi in the precision of `like`: exporters of graphs take plain numbers for float32."""
    return like.new_tensor(2 * pi)


class PlaneLayer(NamedTuple):
    """A diagonal layer in planes, with tau in the weights."""

    spectrum: Spectrum
    w_in: torch.Tensor  # (F, p N) planes of a unit in turn, or (N, p) for a ring
    bias: torch.Tensor  # (p N,), or (N, p) for a ring
    ring: torch.Tensor | None  # (N,): which input each unit reads
    taps: torch.Tensor  # (p, k)
    mix_bias: torch.Tensor  # ()

    @property
    def n_planes(self) -> int:
        """Two of complex numbers, one of real ones."""
        return 2 if self.spectrum.is_complex else 1

    def driven(self, x: torch.Tensor) -> Planes:
        """``w_in x + bias``, (N, B, T), of inputs (F, B, T)."""
        count = self.n_planes
        bias = self.bias.reshape(-1, count)
        if self.ring is not None:
            heard = x.index_select(0, self.ring)
            return tuple(
                heard * self.w_in[:, p].view(-1, 1, 1) + bias[:, p].view(-1, 1, 1)
                for p in range(count)
            )
        weights = self.w_in.reshape(x.shape[0], -1, count)
        return tuple(
            torch.tensordot(weights[..., p].T, x, 1) + bias[:, p].view(-1, 1, 1)
            for p in range(count)
        )

    def mixed(self, h: Planes) -> torch.Tensor:
        """``tanh(Re(kernel * h + bias))`` over units, (N, B, T)."""
        units, size = h[0].shape[0], self.taps.shape[1]
        left = (size - 1) // 2
        total = self.mix_bias
        for plane, taps in zip(h, self.taps.unbind(), strict=True):
            padded = torch.nn.functional.pad(plane, (0, 0, 0, 0, left, size - 1 - left))
            for j, tap in enumerate(taps.unbind()):
                total = total + tap * padded[j : j + units]
        return torch.tanh(total)


def advance(
    layers: Sequence[PlaneLayer],
    x: torch.Tensor,
    state: Sequence[torch.Tensor],
    concat: bool,
    mixing: bool,
) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """Take inputs (B, T, F) through all layers: the wanted states (B, T, columns), and the ends.

    `state` and the ends hold a tensor for each layer, (B, N, 2) where complex and else (B, N).
    """
    steps = torch.arange(x.shape[1], device=x.device)
    x = filled(x.permute(2, 0, 1), RADICES[0])
    wanted: list[torch.Tensor] = []
    after = []
    for layer, before in zip(layers, state, strict=True):
        h = scan(layer.spectrum, layer.driven(x), planes(before, layer.spectrum.is_complex))
        after.append(joined(tuple(plane.index_select(-1, steps[-1:])[..., 0] for plane in h)))
        is_top = layer is layers[-1]
        if mixing or not is_top:
            x = layer.mixed(h)
        if concat or is_top:
            wanted.extend((x,) if mixing else h)
    z = wanted[0] if len(wanted) == 1 else torch.cat(wanted)
    return z.permute(1, 2, 0).index_select(1, steps), tuple(after)


def filled(x: torch.Tensor, radix: int) -> torch.Tensor:
    """Fill chunks, two at least, with the last step of x (…, T), which no earlier state sees.

    By indices, not by padding: a tracer need not prove that there is something to pad.
    """
    steps = x.shape[-1]
    indices = torch.arange((steps // radix + 2) * radix, device=x.device)
    return x.index_select(-1, indices.clamp(max=steps - 1))


def planes(state: torch.Tensor, is_complex: bool) -> Planes:
    """States (B, N, 2) or (B, N) as planes (N, B)."""
    return tuple(part.T for part in (state.unbind(-1) if is_complex else (state,)))


def joined(parts: Planes) -> torch.Tensor:
    """Planes (N, B) as states (B, N, 2) or (B, N)."""
    return parts[0].T if len(parts) == 1 else torch.stack([part.T for part in parts], -1)


def scan(spectrum: Spectrum, u: Planes, before: Planes, level: int = 0) -> Planes:
    """States (N, B, T) of a recurrence driven by `u` (N, B, T) from `before` (N, B).

    T is a multiple of the level's radix, see `filled`.
    """
    units, count, steps = u[0].shape
    if level == len(RADICES):
        return _product(_led(before, u), spectrum.kernel(steps))
    radix = RADICES[level]
    n_chunks = steps // radix
    chunks = tuple(plane.reshape(units, count * n_chunks, radix) for plane in u)
    kernel = spectrum.kernel(radix)
    sums = _product(chunks, tuple(plane[:, 1:, -1:] for plane in kernel))
    sums = tuple(plane.reshape(units, count, n_chunks) for plane in sums)
    if level + 1 < len(RADICES):
        sums = tuple(filled(plane, RADICES[level + 1]) for plane in sums)
    ends = scan(spectrum.raised(radix), sums, before, level + 1)
    of_chunks = torch.arange(n_chunks, device=u[0].device)
    starts = tuple(plane.index_select(-1, of_chunks) for plane in _led(before, ends))
    starts = tuple(plane.reshape(units, count * n_chunks) for plane in starts)
    h = _product(_led(starts, chunks), kernel)
    return tuple(plane.reshape(units, count, steps) for plane in h)


def _led(first: Planes, rest: Planes) -> Planes:
    """Put `first` (…) before `rest` (…, T) along time."""
    return tuple(torch.cat([a.unsqueeze(-1), b], -1) for a, b in zip(first, rest, strict=True))


def _product(rows: Planes, kernel: Planes) -> Planes:
    """Products (N, …, columns) of planes, complex where there are two of them."""
    if len(rows) == 1:
        return (rows[0] @ kernel[0],)
    (a, b), (c, d) = rows, kernel
    return a @ c - b @ d, a @ d + b @ c

"""The echo state property at work: trajectories from different states, and a bound on them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from paralesn import checks
from paralesn.engines.base import n_columns
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.reservoirs.base import Reservoir
from paralesn.reservoirs.esn import ESN
from paralesn.reservoirs.paralesn import ParalESN
from paralesn.theory.contraction import Recurrence, contraction, input_norm, mixing_norm
from paralesn.theory.echo import layers_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ENTRIES = 1 << 22  # numbers of a block of states


@dataclass(frozen=True, eq=False)
class ForgettingCurve:
    """How far apart trajectories are that started in different states.

    Attributes
    ----------
    distance : array (T, L)
        Largest distance between two trajectories after each time step, for each layer: the 2-norm
        of the difference of raw states.
    bound : array (T, L)
        What theory allows, in exact arithmetic; infinity where a layer, or one below it, was not
        shown to contract.
    initial : array (L,)
        Largest distance before the first step.
    rate : tuple of float
        Factor of the bound from one step to the next, for each layer on its own.
    """

    distance: np.ndarray
    bound: np.ndarray
    initial: np.ndarray
    rate: tuple[float, ...]

    def plot(self, path: Any = None) -> "Figure":
        """Draw distances and bounds over time; with `path`, to a file as well."""
        from paralesn.theory.plots import plot_forgetting

        return plot_forgetting(self, path)


def forgetting_curve(
    reservoir: Any, X: Any, trajectories: int = 8, scale: float = 1.0, seed: Any = 0
) -> ForgettingCurve:
    r"""Run one input from several random states and see them meet.

    For the first layer of a `ParalESN` the bound is that of the theorem,

    .. math:: \|h_t - h'_t\|_2 \le (\max_i |\bar\lambda_i|)^t\, \|h_0 - h'_0\|_2.

    A layer above another is driven by states that still differ, so its distance obeys

    .. math:: d_l(t) \le r_l\, d_l(t - 1) + g_l\, d_{l-1}(t),

    r its contraction (see `echo_state_property`) and g the norm of its input weights, times tau or
    gain, times the Lipschitz constant of the mixing below: the largest absolute value of the
    kernel's Fourier transform. Where a recurrent layer contracts in a scaled norm only, the
    recursion is run in that norm.

    Parameters
    ----------
    reservoir : reservoir
        One that was never fitted is drawn for X, in a copy.
    X : array-like (T, features), or (T,)
        One series.
    trajectories : int
        How many initial states, at least 2.
    scale : float
        They are uniform on [-scale, scale], in both parts if complex.
    seed : int, None or numpy.random.Generator

    Returns
    -------
    ForgettingCurve

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> from paralesn.theory import forgetting_curve
    >>> curve = forgetting_curve(pe.ParalESN(units=50, layers=2), np.sin(np.arange(200) / 9))
    >>> bool((curve.distance <= curve.bound + 1e-12).all())
    True
    >>> bool((curve.distance[-1] < 1e-7 * curve.initial).all())
    True
    """
    trajectories = checks.integer("trajectories", trajectories, 2)
    scale = checks.number("scale", scale, 0.0)
    rng = checks.generator(seed)
    raw, layers, series = raw_reservoir(reservoir, X)
    starts = [_start(rng, layer, trajectories, scale) for layer in layers]
    batch = np.broadcast_to(series, (trajectories, *series.shape))
    distance = np.concatenate(
        [spreads(states) for states in raw_blocks(raw, layers, batch, starts)]
    )
    bound, rate = _bound(layers, starts, len(distance))
    initial = spreads([h[:, None] for h in starts])[0]
    return ForgettingCurve(distance, bound, initial, rate)


def raw_states(reservoir: Any, X: Any) -> tuple[tuple[Recurrence, ...], list[np.ndarray]]:
    """Layers of a reservoir, and the raw states (T, columns) of each, driven by one series."""
    raw, layers, series = raw_reservoir(reservoir, X)
    return layers, _split(raw.run(series)[0], layers)


def raw_blocks(
    raw: Any, layers: tuple[Recurrence, ...], batch: np.ndarray, starts: list[np.ndarray]
) -> Iterator[list[np.ndarray]]:
    """Raw states (K, block, columns) of each layer, driven by a batch (K, T, features)."""
    columns = n_columns(layers, concat=True, mixing=False)
    block = max(1, _ENTRIES // (columns * len(batch)))
    for states in raw.stream(batch, block=block, state=starts):
        yield _split(states, layers)


def spreads(states: list[np.ndarray]) -> np.ndarray:
    """Largest distances (T, L) between two of the trajectories (K, T, columns) of each layer."""
    return np.stack([_spread(of_layer) for of_layer in states], axis=-1)


def raw_reservoir(reservoir: Any, X: Any) -> tuple[Any, tuple[Recurrence, ...], np.ndarray]:
    """A reservoir in double precision that gives the raw states of all layers, and one series."""
    if not isinstance(reservoir, Reservoir):
        raise checks.fail("reservoir", reservoir, "a reservoir", TypeError)
    if reservoir.is_local:
        expected = "one that is not local (take its reservoir_, and what one patch reads)"
        raise checks.fail("reservoir", reservoir, expected)
    series = np.asarray(X)
    if series.ndim == 1:
        series = series[:, None]
    if series.ndim != 2:
        raise ValueError(f"X must be one series, (time, features), got shape {series.shape}")
    if not hasattr(reservoir, "layers_"):
        reservoir = clone(reservoir).fit(series)
    layers = layers_of(reservoir)
    call: dict[str, Any] = {"engine": reservoir.engine, "n_jobs": reservoir.n_jobs}
    if isinstance(layers[0], DiagonalLayer):
        raw: Any = ParalESN.from_layers(layers, concat=True, mixing=False, **call)  # type: ignore[arg-type]
    else:
        raw = ESN.from_layers(layers, concat=True, **call)  # type: ignore[arg-type]
    return raw, layers, series


def _start(rng: np.random.Generator, layer: Recurrence, count: int, scale: float) -> np.ndarray:
    """Random states (count, units)."""
    planes = rng.uniform(-scale, scale, (2 if layer.is_complex else 1, count, layer.units))
    return planes[0] + 1j * planes[1] if layer.is_complex else planes[0]


def _split(states: np.ndarray, layers: tuple[Recurrence, ...]) -> list[np.ndarray]:
    """States (K, T, columns) layer by layer."""
    widths = [layer.n_columns(mixing=False) for layer in layers]
    return np.split(states, np.cumsum(widths)[:-1], axis=-1)


def _spread(states: np.ndarray) -> np.ndarray:
    """Largest distance between two of (K, T, columns): (T,)."""
    return np.max([np.linalg.norm(a - b, axis=-1) for a, b in combinations(states, 2)], axis=0)


def _bound(
    layers: tuple[Recurrence, ...], starts: list[np.ndarray], steps: int
) -> tuple[np.ndarray, tuple[float, ...]]:
    """The recursion of the bounds (steps, L), each layer in its own norm, and their rates."""
    rates, bounds = [], []
    driven, below = np.zeros(steps), np.ones(layers[0].w_in.shape[1])
    handed = 1.0
    for depth, (layer, start) in enumerate(zip(layers, starts, strict=True)):
        rate, scaling = contraction(layer)
        gain = handed * input_norm(layer, below.size, scaling, below) if depth else 0.0
        d, here = float(_spread((scaling * start)[:, None])[0]), np.full(steps, np.inf)
        if rate < 1 and np.isfinite(driven).all():
            for t in range(steps):
                d = here[t] = rate * d + gain * driven[t]
        rates.append(rate)
        bounds.append(here / scaling.min())
        driven, below, handed = here, scaling, mixing_norm(layer)
    return np.stack(bounds, axis=-1), tuple(rates)

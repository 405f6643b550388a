"""Generalised synchronisation: whether replicas of a reservoir agree on what drives them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from paralesn import checks
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.theory.contraction import Recurrence
from paralesn.theory.forgetting import raw_blocks, raw_reservoir, spreads

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FLOOR = 1e-11  # distances relative to the states, below which rounding error has a say
_MET = 1e-3  # relative distance of replicas that count as synchronised
_CONSTANT = 1e-12  # relative deviation of a unit that does not move


@dataclass(frozen=True, eq=False)
class Consistency:
    """How well replicas of a reservoir agree that read the same input.

    Attributes
    ----------
    correlation : float
        Mean over all units of all layers: 1 where replicas are synchronised, about 0 where each
        goes its own way.
    per_unit : tuple of arrays (units,)
        For each layer.
    distance : array (T, L)
        Largest distance between two replicas after each time step, for each layer: the 2-norm of
        the difference of raw states.
    size : array (L,)
        Root mean square of the norm of driven states, which distances compare with.
    rate : array (L,)
        Of the exponential that fits the distance of each layer, per time step: the largest
        conditional Lyapunov exponent where it is negative. Distances cannot grow beyond the size
        of states, so where replicas part it is near 0; `edge_of_stability` has the exponents there.
    synchronises : bool
        Whether replicas met: in the last tenth of the steps no two of them are apart by more than
        a thousandth of `size`, in any layer. A slow reservoir may need a longer input to.
    """

    correlation: float
    per_unit: tuple[np.ndarray, ...] = field(repr=False)
    distance: np.ndarray = field(repr=False)
    size: np.ndarray
    rate: np.ndarray
    synchronises: bool

    def __str__(self) -> str:
        verdict = "replicas synchronise" if self.synchronises else "replicas do not synchronise"
        lines = [f"{verdict}, consistency {self.correlation:.4g}"]
        for depth, (units, rate, distance, size) in enumerate(
            zip(self.per_unit, self.rate, self.distance[-1], self.size, strict=True), 1
        ):
            left = 0.0 if distance < _FLOOR * size else distance / size
            lines.append(
                f"  layer {depth}: consistency {units.mean():.4g}, last distance {left:.2g} of the "
                f"states, rate {rate:.3g} a step"
            )
        return "\n".join(lines)

    def plot(self, path: Any = None) -> "Figure":
        """Draw distances over time; with `path`, to a file as well."""
        from paralesn.theory.plots import plot_consistency

        return plot_consistency(self, path)


def consistency(
    reservoir: Any,
    X: Any,
    replicas: int = 8,
    *,
    washout: int = 100,
    noise: float = 0.0,
    seed: Any = 0,
) -> Consistency:
    r"""Whether a reservoir's states are a function of its input: the replica test.

    Copies of the reservoir start in different random states, as large as its states are, and read
    the same X (the *auxiliary system* method). If they end up in the same states, these depend on
    the input only: *generalised synchronisation*, without which a readout cannot learn anything
    that lasts. The consistency of unit i among K replicas is the correlation

    .. math:: C_i = \frac{\frac{1}{K (K - 1)} \sum_{a \ne b} \langle (h_i^a - \mu_i)
              (h_i^b - \mu_i) \rangle}{\frac{1}{K} \sum_a \langle (h_i^a - \mu_i)^2 \rangle},

    the mean going over the steps after the washout and :math:`\mu_i` over all replicas as well, so
    that replicas that rest in different places do not agree. A unit that never moves, in any
    replica, has consistency 1.

    A layer of a `ParalESN` forgets its start like :math:`(\max_i |\bar\lambda_i|)^t` whatever it
    reads, and so always synchronises. An `ESN` may do so under one input and not under another:
    `echo_state_property` says what holds for all of them, this function what happens here.

    Parameters
    ----------
    reservoir : reservoir with diagonal or recurrent layers
        One that was never fitted is drawn for X, in a copy.
    X : array-like (T, features), or (T,)
        One series.
    replicas : int
        Number K, at least 2.
    washout : int
        First steps, which correlations leave out.
    noise : float
        Standard deviation of Gaussian noise that is added to the input of each replica, different
        for each, in standard deviations of the features. Shows how reliably a reservoir responds to
        an input that is not known exactly; replicas then never meet entirely.
    seed : int, None or numpy.random.Generator

    Returns
    -------
    Consistency

    References
    ----------
    Abarbanel, Rulkov, Sushchik. Generalized synchronization of chaos: the auxiliary system
    approach. Physical Review E, 1996.
    Uchida, McAllister, Roy. Consistency of nonlinear system response to complex drive signals.
    Physical Review Letters, 2004.
    Lymburn, Khor, Stemler, Correa, Small, Juengling. Consistency in echo-state networks. Chaos,
    2019.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> x = np.random.default_rng(0).uniform(-1, 1, 1000)
    >>> print(pe.theory.consistency(pe.ESN(units=50, rho=0.9), x))
    replicas synchronise, consistency 1
      layer 1: consistency 1, last distance 0 of the states, rate -0.274 a step
    >>> pe.theory.consistency(pe.ESN(units=50, rho=3.0), 0.01 * x).synchronises
    False
    """
    replicas = checks.integer("replicas", replicas, 2)
    washout, noise = checks.integer("washout", washout, 0), checks.number("noise", noise, 0.0)
    rng = checks.generator(seed)
    raw, layers, series = raw_reservoir(reservoir, X)
    if len(series) <= washout:
        raise ValueError(f"X must be longer than washout ({washout} steps), got {len(series)}")
    if noise and isinstance(layers[0], DiagonalLayer) and layers[0].tokens:
        raise checks.fail("noise", noise, "0 for a reservoir that reads tokens")
    centres, scales = _driven(raw, layers, series, washout)
    starts = [_start(rng, *of, replicas) for of in zip(layers, scales, strict=True)]
    batch = np.broadcast_to(series, (replicas, *series.shape))
    if noise:
        batch = batch + noise * series.std(axis=0) * rng.normal(size=batch.shape)
    moments = [_Moments(centre) for centre in centres]
    measured, step = [], 0
    for states in raw_blocks(raw, layers, batch, starts):
        measured.append(spreads(states))
        for of_layer, moment in zip(states, moments, strict=True):
            moment.add(of_layer[:, max(0, washout - step) :])
        step += len(measured[-1])
    distance = np.concatenate(measured)
    size = np.array([s * np.sqrt(c.size) for s, c in zip(scales, centres, strict=True)])
    per_unit = tuple(
        moment.correlations(layer.units, scale)
        for moment, layer, scale in zip(moments, layers, scales, strict=True)
    )
    return Consistency(
        correlation=float(np.concatenate(per_unit).mean()),
        per_unit=per_unit,
        distance=distance,
        size=size,
        rate=np.array(
            [_rate(d, floor) for d, floor in zip(distance.T, _FLOOR * size, strict=True)]
        ),
        synchronises=bool((distance[-max(1, len(distance) // 10) :] < _MET * size).all()),
    )


def _driven(
    raw: Any, layers: tuple[Recurrence, ...], series: np.ndarray, washout: int
) -> tuple[list[np.ndarray], list[float]]:
    """Means (columns,) of the raw states of each layer after the washout, and their size."""
    start = [np.zeros((1, layer.units), complex if layer.is_complex else float) for layer in layers]
    count = len(series) - washout
    sums: list[Any] = [0.0] * len(layers)
    squares, step = [0.0] * len(layers), 0
    for states in raw_blocks(raw, layers, series[None], start):
        for depth, of_layer in enumerate(states):
            kept = of_layer[0, max(0, washout - step) :]
            sums[depth] = sums[depth] + kept.sum(axis=0)
            squares[depth] += float((kept**2).sum())
        step += states[0].shape[1]
    centres = [total / count for total in sums]
    # States that rest at zero have no size, and replicas must start apart.
    sizes = [np.sqrt(s / (count * c.size)) for s, c in zip(squares, centres, strict=True)]
    return centres, [float(size) if size > 0 else 1.0 for size in sizes]


def _start(rng: np.random.Generator, layer: Recurrence, scale: float, count: int) -> np.ndarray:
    """Random states (count, units) of the size of driven ones."""
    planes = scale * rng.normal(size=(2 if layer.is_complex else 1, count, layer.units))
    return planes[0] + 1j * planes[1] if layer.is_complex else planes[0]


class _Moments:
    """Sums over time and replicas that correlations are made of, of states less `centre`."""

    def __init__(self, centre: np.ndarray) -> None:
        self.centre = centre
        self.replicas, self.steps = 0, 0
        self.total, self.squares, self.of_sums = (np.zeros(centre.size) for _ in range(3))

    def add(self, states: np.ndarray) -> None:
        """Take in states (K, T, columns)."""
        states = states - self.centre
        self.replicas, self.steps = len(states), self.steps + states.shape[1]
        self.total += states.sum(axis=(0, 1))
        self.squares += (states**2).sum(axis=(0, 1))
        self.of_sums += (states.sum(axis=0) ** 2).sum(axis=0)

    def correlations(self, units: int, scale: float) -> np.ndarray:
        """Of replicas (units,); real and imaginary parts of a unit count together."""
        k, n = self.replicas, self.replicas * self.steps
        mean_square = (self.total / n) ** 2
        variance = (self.squares / n - mean_square).reshape(-1, units).sum(axis=0)
        among = (self.of_sums - self.squares) / (n * (k - 1)) - mean_square
        moves = variance > (_CONSTANT * scale) ** 2
        ratio = np.ones(units)
        np.divide(among.reshape(-1, units).sum(axis=0), variance, out=ratio, where=moves)
        return np.minimum(ratio, 1.0)


def _rate(distance: np.ndarray, floor: float) -> float:
    """Slope of the logarithm of distances (T,), over the later half before rounding error rules."""
    below = np.flatnonzero(distance <= floor)
    end = int(below[0]) if below.size else len(distance)
    if end < 2:
        return -np.inf
    first = min(end // 2, end - 2)
    return float(np.polyfit(np.arange(first, end), np.log(distance[first:end]), 1)[0])

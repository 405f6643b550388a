"""The default reservoir of a forecaster: linear units that remember changes and ring with seasons."""

from math import pi

import numpy as np

from paralesn.layers.diagonal import DiagonalLayer
from paralesn.reservoirs.paralesn import ParalESN

_UNITS = 64
_HARMONICS = 24  # of a season, at most


def seasonal_reservoir(seasons: tuple[int, ...], length: int, inputs: int = 1) -> ParalESN:
    """A linear reservoir with poles for the seasons and length of the series it will read.

    Real poles forget changes after 1, 2, 4, … steps, up to a third of the series. A pair of poles
    rings with every harmonic of every season, forgetting after two and after six of them. The
    remaining units are drawn: any frequency, memories spread evenly on a logarithmic scale.

    Examples
    --------
    >>> from paralesn.estimators.forecaster.poles import seasonal_reservoir
    >>> layer = seasonal_reservoir((12,), 400).layers_[0]
    >>> layer.units, bool((abs(layer.eigenvalues) < 1).all())
    (64, True)
    """
    memories = 2.0 ** np.arange(9)
    chosen = [np.exp(-1 / memories[memories < max(length / 3, 2)]).astype(complex)]
    for m in seasons:
        count = m // 2
        harmonics = np.unique(np.concatenate(
            [np.arange(1, min(count, _HARMONICS // 2) + 1),
             np.linspace(1, max(count, 1), min(count, _HARMONICS)).astype(int)]
        ))  # fmt: skip
        for memory in (2.0 * m, 6.0 * m):
            if memory < length:
                chosen.append(np.exp(-1 / memory + 2j * pi * harmonics / m))
    poles = np.concatenate(chosen)
    rng = np.random.default_rng(0)
    free = max(_UNITS - poles.size, _UNITS // 4)
    longest = max(min(length / 6, 4 * max(seasons, default=8)), 8.0)
    memory = np.exp(rng.uniform(0, np.log(longest), free))
    poles = np.concatenate([poles, np.exp(-1 / memory + 1j * rng.uniform(0, pi, free))])
    phases = np.exp(2j * pi * rng.uniform(0, 1, (poles.size, inputs)))
    weights = np.sqrt(1 - np.abs(poles) ** 2)[:, None] * phases
    layer = DiagonalLayer(poles, weights, np.zeros(poles.size), 1.0, np.ones(1), 0.0)
    return ParalESN.from_layers([layer], mixing=False)

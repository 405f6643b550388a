"""The Mackey-Glass series: a differential equation with a delay."""

import numpy as np

from paralesn import checks
from paralesn.datasets.generated.ieee import strict

_SUBSTEPS = 10  # integration steps per unit of time


@strict
def _production(lagged):  # type: ignore[no-untyped-def]
    """0.2 f / (1 + f^10), the power by products: libraries round theirs differently."""
    square = lagged * lagged
    fourth = square * square
    return 0.2 * lagged / (1.0 + fourth * fourth * square)


@strict
def _integrate_mackey_glass(history, out, delay, substeps):  # type: ignore[no-untyped-def]
    """Runge-Kutta of order four; delayed values between grid points by cubic interpolation.

    history (delay * substeps + 1,): values before time 0, the last being the one at time 0
    out (steps,): values at times 1, 2, ...
    """
    lag = delay * substeps
    size = lag + 1
    ring = history.copy()  # the latest `size` grid values, the newest at `newest`
    newest = lag
    h = 1.0 / substeps
    for n in range(out.size):
        for _ in range(substeps):
            x = ring[newest]
            # grid values at t - delay + (0, 1, 2, 3) h; the oldest is the one a delay ago
            d0 = ring[(newest + 1) % size]
            d1 = ring[(newest + 2) % size]
            d2 = ring[(newest + 3) % size]
            d3 = ring[(newest + 4) % size]
            middle = 0.3125 * d0 + 0.9375 * d1 - 0.3125 * d2 + 0.0625 * d3
            k1 = _production(d0) - 0.1 * x
            production = _production(middle)
            k2 = production - 0.1 * (x + 0.5 * h * k1)
            k3 = production - 0.1 * (x + 0.5 * h * k2)
            k4 = _production(d1) - 0.1 * (x + h * k3)
            newest = (newest + 1) % size
            ring[newest] = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        out[n] = ring[newest]


def mackey_glass(
    steps: int, seed: int | np.random.Generator | None = 0, transient: int = 1000
) -> np.ndarray:
    """Mackey-Glass series with delay 17, sampled once per unit of time, as tanh(f - 1).

    ``f' = 0.2 f(t - 17) / (1 + f(t - 17)^10) - 0.1 f``, chaotic. The centred form tanh(f - 1) is
    the one the reservoir computing literature uses. Integrated in steps of 0.1.

    Parameters
    ----------
    steps : int
        Number of samples.
    seed : int, Generator or None
        The history before time 0 is 1.2 plus a little noise.
    transient : int
        Samples discarded before the first.

    Returns
    -------
    array (steps, 1)

    Examples
    --------
    >>> mackey_glass(3).shape
    (3, 1)
    """
    steps, transient = checks.integer("steps", steps, 0), checks.integer("transient", transient, 0)
    delay = 17
    rng = np.random.default_rng(seed)
    history = 1.2 + 0.2 * (rng.random(delay * _SUBSTEPS + 1) - 0.5)
    out = np.empty(transient + steps)
    _integrate_mackey_glass(history, out, delay, _SUBSTEPS)
    return np.tanh(out[transient:, None] - 1.0)

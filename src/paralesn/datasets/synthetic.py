"""Generators of synthetic series, compiled where loops are slow."""

import numpy as np

from paralesn.engines.compiler import kernel

_SUBSTEPS = 10  # integration steps per unit of time


@kernel
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
            k1 = 0.2 * d0 / (1.0 + d0**10) - 0.1 * x
            production = 0.2 * middle / (1.0 + middle**10)
            k2 = production - 0.1 * (x + 0.5 * h * k1)
            k3 = production - 0.1 * (x + 0.5 * h * k2)
            k4 = 0.2 * d1 / (1.0 + d1**10) - 0.1 * (x + h * k3)
            newest = (newest + 1) % size
            ring[newest] = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        out[n] = ring[newest]


def mackey_glass(steps: int, seed: int | None = 0, transient: int = 1000) -> np.ndarray:
    """Mackey-Glass series with delay 17, sampled once per unit of time, as tanh(f - 1).

    ``f' = 0.2 f(t - 17) / (1 + f(t - 17)^10) - 0.1 f``, chaotic. The centred form tanh(f - 1) is
    the one the reservoir computing literature uses.

    Parameters
    ----------
    steps : int
        Number of samples.
    seed : int or None
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
    delay = 17
    rng = np.random.default_rng(seed)
    history = 1.2 + 0.2 * (rng.random(delay * _SUBSTEPS + 1) - 0.5)
    out = np.empty(transient + steps)
    _integrate_mackey_glass(history, out, delay, _SUBSTEPS)
    return np.tanh(out[transient:, None] - 1.0)


@kernel
def _integrate_lorenz63(start, out, dt, substeps):  # type: ignore[no-untyped-def]
    """Runge-Kutta of order four from `start` (3,): out (steps, 3) at times dt, 2 dt, ..."""
    u, k, probe = start.copy(), np.zeros((5, 3)), np.zeros(3)
    h = dt / substeps
    reach = np.array([0.0, 0.5 * h, 0.5 * h, h])
    for n in range(out.shape[0]):
        for _ in range(substeps):
            for stage in range(4):
                for i in range(3):
                    probe[i] = u[i] + reach[stage] * k[stage, i]  # k[0] is zero
                k[stage + 1, 0] = 10.0 * (probe[1] - probe[0])
                k[stage + 1, 1] = probe[0] * (28.0 - probe[2]) - probe[1]
                k[stage + 1, 2] = probe[0] * probe[1] - 8.0 / 3.0 * probe[2]
            for i in range(3):
                u[i] += h / 6.0 * (k[1, i] + 2.0 * k[2, i] + 2.0 * k[3, i] + k[4, i])
        out[n] = u


def lorenz63(
    steps: int, dt: float = 0.02, seed: int | None = 0, transient: int = 1000
) -> np.ndarray:
    """Lorenz's system of 1963, chaotic, with its classical parameters 10, 28 and 8/3.

    Its largest Lyapunov exponent is about 0.906 per unit of time: a small error grows e-fold in
    1.1 units, 55 samples at the default `dt`.

    Parameters
    ----------
    steps : int
        Number of samples.
    dt : float
        Time between samples; integrated in steps of at most 0.005.
    seed : int or None
        The start is (1, 1, 1) plus noise.
    transient : int
        Samples discarded before the first.

    Returns
    -------
    array (steps, 3)

    Examples
    --------
    >>> lorenz63(5).shape
    (5, 3)
    """
    start = 1.0 + np.random.default_rng(seed).normal(size=3)
    out = np.empty((transient + steps, 3))
    _integrate_lorenz63(start, out, dt, max(1, int(np.ceil(dt / 0.005))))
    return out[transient:]

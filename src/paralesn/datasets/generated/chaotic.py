"""Chaotic systems: Mackey-Glass, Lorenz 1963 and Lorenz 1996."""

import numpy as np

from paralesn import checks
from paralesn.datasets.generated.ieee import strict

_SUBSTEPS = 10  # integration steps per unit of time


def _positive(name: str, value: float) -> None:
    """Refuse anything but a positive finite number."""
    if not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")


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


def mackey_glass(steps: int, seed: int | None = 0, transient: int = 1000) -> np.ndarray:
    """Mackey-Glass series with delay 17, sampled once per unit of time, as tanh(f - 1).

    ``f' = 0.2 f(t - 17) / (1 + f(t - 17)^10) - 0.1 f``, chaotic. The centred form tanh(f - 1) is
    the one the reservoir computing literature uses. Integrated in steps of 0.1.

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
    steps, transient = checks.integer("steps", steps, 0), checks.integer("transient", transient, 0)
    delay = 17
    rng = np.random.default_rng(seed)
    history = 1.2 + 0.2 * (rng.random(delay * _SUBSTEPS + 1) - 0.5)
    out = np.empty(transient + steps)
    _integrate_mackey_glass(history, out, delay, _SUBSTEPS)
    return np.tanh(out[transient:, None] - 1.0)


@strict
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
    steps, transient = checks.integer("steps", steps, 0), checks.integer("transient", transient, 0)
    _positive("dt", dt)
    start = 1.0 + np.random.default_rng(seed).normal(size=3)
    out = np.empty((transient + steps, 3))
    _integrate_lorenz63(start, out, dt, max(1, int(np.ceil(dt / 0.005))))
    return out[transient:]


@strict
def _integrate_lorenz96(start, out, forcing, dt, substeps):  # type: ignore[no-untyped-def]
    """Runge-Kutta of order four from `start` (B, N): out (B, steps, N) at times 0, dt, ..."""
    n = start.shape[1]
    k, probe = np.zeros((5, n)), np.zeros(n)
    h = dt / substeps
    reach = np.array([0.0, 0.5 * h, 0.5 * h, h])
    for b in range(out.shape[0]):
        f = start[b].copy()
        out[b, 0] = f
        for t in range(1, out.shape[1]):
            for _ in range(substeps):
                for stage in range(4):
                    for i in range(n):
                        probe[i] = f[i] + reach[stage] * k[stage, i]  # k[0] is zero
                    for i in range(n):
                        advection = probe[i - 1] * (probe[(i + 1) % n] - probe[i - 2])
                        k[stage + 1, i] = advection - probe[i] + forcing
                for i in range(n):
                    f[i] += h / 6.0 * (k[1, i] + 2.0 * k[2, i] + 2.0 * k[3, i] + k[4, i])
            out[b, t] = f


def lorenz96(
    steps: int,
    series: int = 1,
    dims: int = 5,
    forcing: float = 8.0,
    dt: float = 0.01,
    seed: int | np.random.Generator | None = 0,
) -> np.ndarray:
    """Lorenz's system of 1996, independent series from random starts.

    ``f_i' = f_{i-1} (f_{i+1} - f_{i-2}) - f_i + F`` on a ring of `dims` values [1]_, each series
    started at F + U(-0.5, 0.5); the start is the first sample and no transient is discarded.

    Parameters
    ----------
    steps : int
        Samples of every series.
    series : int
        Number of series; the first ones do not depend on it.
    dims : int
        At least 4.
    forcing : float
        F; chaotic at 8.
    dt : float
        Time between samples; integrated in steps of at most 0.0005.
    seed : int, Generator or None

    Returns
    -------
    array (series, steps, dims)

    References
    ----------
    .. [1] E. N. Lorenz, "Predictability: a problem partly solved", ECMWF seminar, 1996.

    Examples
    --------
    >>> lorenz96(400, series=3).shape
    (3, 400, 5)
    """
    steps, series, dims = (
        checks.integer("steps", steps, 1),
        checks.integer("series", series, 1),
        checks.integer("dims", dims, 4),
    )
    _positive("dt", dt)
    if not np.isfinite(forcing):
        raise ValueError(f"forcing must be finite, got {forcing!r}")
    start = forcing + np.random.default_rng(seed).uniform(-0.5, 0.5, (series, dims))
    out = np.empty((series, steps, dims))
    _integrate_lorenz96(start, out, float(forcing), float(dt), max(1, int(np.ceil(dt / 0.0005))))
    return out

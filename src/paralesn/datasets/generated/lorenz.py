"""Lorenz's chaotic systems of 1963 and 1996."""

import numpy as np

from paralesn import checks
from paralesn.datasets.generated import equations
from paralesn.datasets.generated.ieee import slope, strict
from paralesn.datasets.generated.runge_kutta import integrate


def _positive(name: str, value: float) -> None:
    """Refuse anything but a positive finite number."""
    if not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")


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
    integrate(slope(equations.lorenz63), start, out, float(dt), max(1, int(np.ceil(dt / 0.005))))
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

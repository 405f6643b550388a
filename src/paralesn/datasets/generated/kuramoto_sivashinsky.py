"""The Kuramoto-Sivashinsky equation: chaos in space and time, in as many dimensions as wanted.

The equation is stiff but linear where it is: exponential time differencing solves its linear part
exactly, mode by mode, and the nonlinear part by a Runge-Kutta method of order four.
"""

import math

import numpy as np

from paralesn import checks
from paralesn.datasets.generated.elementary import cosine, exponential, sine
from paralesn.datasets.generated.fourier import transform, twiddles
from paralesn.datasets.generated.ieee import strict

_STEP = 0.0125  # longest step of the integration
_CONTOUR = 32  # points of the half circle over which coefficients are averaged


@strict
def _coefficients(linear, h):  # type: ignore[no-untyped-def]
    """Coefficients of a step h for the linear factors (modes,): (6, modes).

    exp(h L), exp(h L / 2), and the weights of the half steps, of the first, middle and last slope.
    The formulas cancel badly near L = 0; as means over a circle around h L they do not.
    """
    rows = np.zeros((6, linear.size))
    for mode in range(linear.size):
        center = h * linear[mode]
        rows[0, mode] = exponential(center)
        rows[1, mode] = exponential(0.5 * center)
        for j in range(_CONTOUR):
            angle = math.pi * (j + 0.5) / _CONTOUR
            real, imag = center + cosine(angle), sine(angle)
            z = complex(real, imag)
            inverse = complex(real, -imag) * (1.0 / (real * real + imag * imag))
            cube = inverse * inverse * inverse
            half = exponential(0.5 * real) * complex(cosine(0.5 * imag), sine(0.5 * imag))
            whole = half * half
            rows[2, mode] += ((half - 1.0) * inverse).real
            rows[3, mode] += ((-4.0 - z + whole * (4.0 - 3.0 * z + z * z)) * cube).real
            rows[4, mode] += ((4.0 + 2.0 * z + whole * (-4.0 + 2.0 * z)) * cube).real
            rows[5, mode] += ((-4.0 - 3.0 * z - z * z + whole * (4.0 - z)) * cube).real
        for row in range(2, 6):
            rows[row, mode] *= h / _CONTOUR
    return rows


@strict
def _values(v, full, spare, roots):  # type: ignore[no-untyped-def]
    """From modes v (2, points / 2 + 1) to values on the grid, times `points`, in full[0]."""
    points = full.shape[1]
    for mode in range(v.shape[1]):
        full[1, mode] = v[0, mode]  # real and imaginary parts swapped: the inverse transform
        full[0, mode] = v[1, mode]
    for mode in range(1, points // 2):
        full[1, points - mode] = v[0, mode]
        full[0, points - mode] = -v[1, mode]
    transform(full, spare, roots)
    for i in range(points):
        full[0, i] = full[1, i]


@strict
def _nonlinear(v, out, wave, full, spare, roots):  # type: ignore[no-untyped-def]
    """Modes of -(u^2)_x / 2 into out (2, points / 2 + 1)."""
    points = full.shape[1]
    _values(v, full, spare, roots)
    scale = 1.0 / points
    for i in range(points):
        u = full[0, i] * scale
        full[0, i] = u * u
        full[1, i] = 0.0
    transform(full, spare, roots)
    for mode in range(v.shape[1]):
        out[0, mode] = 0.5 * wave[mode] * full[1, mode]
        out[1, mode] = -0.5 * wave[mode] * full[0, mode]


@strict
def _integrate(start, out, wave, rows, substeps, roots):  # type: ignore[no-untyped-def]
    """Exponential time differencing of order four.

    start (2, points / 2 + 1): real and imaginary parts of the modes at time 0
    out (steps, points): values after every `substeps` steps
    wave (points / 2 + 1,): wave numbers of the derivative; rows: see `_coefficients`
    """
    points, modes = out.shape[1], start.shape[1]
    full, spare = np.zeros((2, points)), np.zeros((2, points))
    v, a, b = start.copy(), np.zeros((2, modes)), np.zeros((2, modes))
    slope = np.zeros((4, 2, modes))
    for n in range(out.shape[0]):
        for _ in range(substeps):
            _nonlinear(v, slope[0], wave, full, spare, roots)
            for part in range(2):
                for m in range(modes):
                    a[part, m] = rows[1, m] * v[part, m] + rows[2, m] * slope[0, part, m]
            _nonlinear(a, slope[1], wave, full, spare, roots)
            for part in range(2):
                for m in range(modes):
                    b[part, m] = rows[1, m] * v[part, m] + rows[2, m] * slope[1, part, m]
            _nonlinear(b, slope[2], wave, full, spare, roots)
            for part in range(2):
                for m in range(modes):
                    change = 2.0 * slope[2, part, m] - slope[0, part, m]
                    b[part, m] = rows[1, m] * a[part, m] + rows[2, m] * change
            _nonlinear(b, slope[3], wave, full, spare, roots)
            for part in range(2):
                for m in range(modes):
                    v[part, m] = (
                        rows[0, m] * v[part, m]
                        + rows[3, m] * slope[0, part, m]
                        + rows[4, m] * (slope[1, part, m] + slope[2, part, m])
                        + rows[5, m] * slope[3, part, m]
                    )
        _values(v, full, spare, roots)
        for i in range(points):
            out[n, i] = full[0, i] / points


def _start(length: float, points: int, rng: np.random.Generator) -> np.ndarray:
    """Draw modes (2, points / 2 + 1) of a smooth start: those that grow are filled, the mean is 0.

    What is drawn does not depend on `points`.
    """
    growing = max(1, int(length / (2.0 * math.pi)))
    modes = np.zeros((2, points // 2 + 1))
    modes[:, 1 : growing + 1] = 0.1 * points * rng.normal(size=(growing, 2)).T
    return modes


def _solve(start: np.ndarray, out: np.ndarray, length: float, dt: float, step: float) -> None:
    """Fill out (steps, points) with the solution from modes `start` at dt, 2 dt, ..."""
    points = out.shape[1]
    wave = 2.0 * math.pi / length * np.arange(points // 2 + 1)
    square = wave * wave
    linear = square - square * square
    wave[-1] = 0.0  # the derivative of the highest mode vanishes on the grid
    substeps = max(1, math.ceil(dt / step))
    rows = _coefficients(linear, dt / substeps)
    _integrate(start, out, wave, rows, substeps, twiddles(points))


def kuramoto_sivashinsky(
    steps: int,
    *,
    length: float = 22.0,
    points: int = 64,
    dt: float = 0.25,
    seed: int | np.random.Generator | None = 0,
    transient: int = 2000,
) -> np.ndarray:
    """Kuramoto-Sivashinsky equation on a circle, chaotic in space and time.

    ``u_t = -u u_x - u_xx - u_xxxx`` on [0, length), periodic [1]_ [2]_, in Fourier modes by
    exponential time differencing of order four [3]_. The mean of u over space stays 0.

    Parameters
    ----------
    steps : int
        Number of samples.
    length : float
        Length of the circle; the longer, the more dimensions the attractor has. The largest
        Lyapunov exponent is about 0.048 per unit of time at 22, and 0.095 at 200.
    points : int
        Grid points, a power of two of at least 8, and at least `length`.
    dt : float
        Time between samples; integrated in steps of at most 0.0125.
    seed : int, Generator or None
        The start is a random sum of the waves that grow; it does not depend on `points`.
    transient : int
        Samples discarded before the first.

    Returns
    -------
    array (steps, points)

    References
    ----------
    .. [1] Y. Kuramoto and T. Tsuzuki, "Persistent propagation of concentration waves in dissipative
           media far from thermal equilibrium", Progress of Theoretical Physics 55, 1976.
    .. [2] G. I. Sivashinsky, "Nonlinear analysis of hydrodynamic instability in laminar flames",
           Acta Astronautica 4, 1977.
    .. [3] A.-K. Kassam and L. N. Trefethen, "Fourth-order time-stepping for stiff PDEs", SIAM
           Journal on Scientific Computing 26, 2005.

    Examples
    --------
    >>> kuramoto_sivashinsky(3, points=32).shape
    (3, 32)
    """
    steps, transient = checks.integer("steps", steps, 0), checks.integer("transient", transient, 0)
    length = checks.number("length", length, 0.0, open_left=True)
    dt = checks.number("dt", dt, 0.0, open_left=True)
    points = checks.integer("points", points, 8)
    if points & (points - 1):
        raise checks.fail("points", points, "a power of two")
    if points < length:
        raise checks.fail(
            "points", points, f"at least the length, {length:g}, to resolve the waves"
        )
    start = _start(length, points, checks.generator(seed))
    out = np.empty((transient + steps, points))
    _solve(start, out, length, dt, _STEP)
    return out[transient:]

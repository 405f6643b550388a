"""Catalogue of chaotic systems with published parameters, for benchmarks of forecasts.

The exponents were computed over 50 000 Lyapunov times or more, from two trajectories brought
back together again and again (Benettin et al., 1980); the slow tests repeat this in short. Systems
are dissipative, and perturbed starts end on the same attractor.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from paralesn import checks
from paralesn.datasets.generated import equations
from paralesn.datasets.generated.ieee import slope
from paralesn.datasets.generated.lorenz import lorenz96
from paralesn.datasets.generated.mackey_glass import mackey_glass
from paralesn.datasets.generated.runge_kutta import integrate

Draw = Callable[[int, float, np.random.Generator], np.ndarray]  # steps, dt, rng -> (steps, dims)


@dataclass(frozen=True)
class ChaoticSystem:
    """A chaotic system of the catalogue: :func:`chaotic_system` gives it by name.

    Attributes
    ----------
    name : str
    title : str
        The name for tables.
    dims : int
        Number of observed variables.
    dt : float
        Time between samples: about 30 of them in a dominant period.
    exponent : float
        Largest Lyapunov exponent, per unit of time.
    reference : str
        Where the system and its parameters were published.

    Examples
    --------
    >>> from paralesn import datasets
    >>> rossler = datasets.chaotic_system("rossler")
    >>> round(rossler.lyapunov_steps)
    70
    >>> rossler.generate(1000, seed=1).shape
    (1000, 3)
    """

    name: str
    title: str
    dims: int
    dt: float
    exponent: float
    reference: str
    _draw: Draw = field(repr=False, compare=False)

    @property
    def lyapunov_steps(self) -> float:
        """Samples in a Lyapunov time, in which a small error grows e-fold: 1 / (exponent dt)."""
        return 1.0 / (self.exponent * self.dt)

    def generate(
        self,
        steps: int,
        *,
        dt: float | None = None,
        seed: int | np.random.Generator | None = 0,
        transient: int = 3000,
    ) -> np.ndarray:
        """Integrate the system; the same arguments give the same series on every machine.

        Parameters
        ----------
        steps : int
            Number of samples.
        dt : float or None
            Time between samples, the one of the system by default. A whole number for
            ``mackey_glass``.
        seed : int, Generator or None
            Decides the start, near the attractor.
        transient : int
            Samples discarded before the first: long enough by default for seeds to give unrelated
            series.

        Returns
        -------
        array (steps, dims)
        """
        steps = checks.integer("steps", steps, 0)
        transient = checks.integer("transient", transient, 0)
        dt = self.dt if dt is None else checks.number("dt", dt, 0.0, open_left=True)
        return self._draw(transient + steps, dt, checks.generator(seed))[transient:]


def _flow(
    equation: Callable[..., None],
    title: str,
    reference: str,
    *,
    dt: float,
    exponent: float,
    start: tuple[float, ...],
    step: float,
) -> ChaoticSystem:
    """Differential equations, integrated in steps of at most `step` from near `start`."""
    dims = len(start)

    def draw(steps: int, dt: float, rng: np.random.Generator) -> np.ndarray:
        perturbed = np.array(start) * (1.0 + 0.01 * rng.normal(size=dims))
        out = np.empty((steps, dims))
        substeps = max(1, math.ceil(dt / step - 1e-9))  # 0.3 / 0.1 is above 3
        integrate(slope(equation), perturbed, out, dt, substeps)
        return out

    return ChaoticSystem(equation.__name__, title, dims, dt, exponent, reference, draw)


def _draw_lorenz96(steps: int, dt: float, rng: np.random.Generator) -> np.ndarray:
    """Draw one series after its start."""
    return lorenz96(steps + 1, dt=dt, seed=rng)[0, 1:]


def _draw_mackey_glass(steps: int, dt: float, rng: np.random.Generator) -> np.ndarray:
    """Draw every dt-th value of the series, whose delay is a whole number of samples."""
    if dt != int(dt):
        raise checks.fail("dt", dt, "a whole number for mackey_glass")
    every = int(dt)
    return mackey_glass(steps * every, seed=rng, transient=0)[every - 1 :: every]


# Parameters are those of the paper named, or the usual ones of later literature. Where Gilpin's
# collection dysts (2021) has others, these are the classical ones: Burke-Shaw, Chua, the finance
# and the Halvorsen system, Hindmarsh-Rose, Lorenz 1984 and 1996, Lu, Shimizu-Morioka and Thomas.
# Thomas' system has b = 0.18: at b = 0.208186, where chaos sets in, its exponent is only 0.004.
_SYSTEMS: Mapping[str, ChaoticSystem] = MappingProxyType(
    {
        system.name: system
        for system in (
            _flow(equations.blasius, "Blasius", "B. Blasius, A. Huppert and L. Stone, 1999",
                  dt=0.2, exponent=0.0598, start=(3.96, 5.3, 0.016), step=0.004),
            _flow(equations.burke_shaw, "Burke-Shaw", "R. Shaw, 1981",
                  dt=0.04, exponent=0.697, start=(-0.29, -0.54, -0.96), step=0.0008),
            _flow(equations.chen, "Chen", "G. Chen and T. Ueta, 1999",
                  dt=0.02, exponent=2.03, start=(10.7, 9.8, 25.2), step=0.0004),
            # Short steps: the method is of order two where the slope of the diode jumps.
            _flow(equations.chua, "Chua", "T. Matsumoto, L. O. Chua and M. Komuro, 1985",
                  dt=0.07, exponent=0.326, start=(1.12, -0.24, -1.35), step=0.0001),
            _flow(equations.dadras, "Dadras", "S. Dadras and H. R. Momeni, 2009",
                  dt=0.06, exponent=0.372, start=(-5.3, 2.74, -1.55), step=0.001),
            _flow(equations.double_scroll, "Double scroll",
                  "D. J. Gauthier, E. Bollt, A. Griffith and W. A. S. Barbosa, 2021",
                  dt=0.25, exponent=0.0916, start=(-1.57, -0.68, -0.61), step=0.005),
            _flow(equations.finance, "Finance", "J. Ma and Y. Chen, 2001",
                  dt=0.2, exponent=0.0800, start=(-0.3, 1.06, -0.12), step=0.005),
            _flow(equations.genesio_tesi, "Genesio-Tesi", "R. Genesio and A. Tesi, 1992",
                  dt=0.2, exponent=0.103, start=(0.59, -0.4, -0.43), step=0.008),
            _flow(equations.halvorsen, "Halvorsen", "J. C. Sprott, 2003",
                  dt=0.05, exponent=0.790, start=(2.5, -10.8, -6.6), step=0.0005),
            _flow(equations.hastings_powell, "Hastings-Powell", "A. Hastings and T. Powell, 1991",
                  dt=2.0, exponent=0.00682, start=(0.78, 0.116, 8.75), step=0.025),
            _flow(equations.hindmarsh_rose, "Hindmarsh-Rose",
                  "J. L. Hindmarsh and R. M. Rose, 1984",
                  dt=0.6, exponent=0.0128, start=(1.6, -4.16, 3.37), step=0.001),
            _flow(equations.hyper_rossler, "Hyperchaotic Rössler", "O. E. Rössler, 1979",
                  dt=0.2, exponent=0.112, start=(-18.9, -17.1, 0.152, 23.4), step=0.0005),
            _flow(equations.liu, "Liu", "C. Liu, T. Liu, L. Liu and K. Liu, 2004",
                  dt=0.03, exponent=1.65, start=(-4.8, -9.9, 18.8), step=0.0006),
            _flow(equations.lorenz63, "Lorenz 1963", "E. N. Lorenz, 1963",
                  dt=0.02, exponent=0.906, start=(-9.7, -14.0, 22.1), step=0.0005),
            _flow(equations.lorenz84, "Lorenz 1984", "E. N. Lorenz, 1984",
                  dt=0.05, exponent=0.167, start=(1.3, 1.42, 0.33), step=0.0005),
            ChaoticSystem("lorenz96", "Lorenz 1996", 5, 0.05, 0.471, "E. N. Lorenz, 1996",
                          _draw_lorenz96),
            _flow(equations.lorenz_stenflo, "Lorenz-Stenflo", "L. Stenflo, 1996",
                  dt=0.06, exponent=0.382, start=(3.4, -2.8, 28.7, -2.2), step=0.0012),
            _flow(equations.lu, "Lü", "J. Lü and G. Chen, 2002",
                  dt=0.02, exponent=1.33, start=(17.8, 16.9, 29.3), step=0.0005),
            ChaoticSystem("mackey_glass", "Mackey-Glass", 1, 1.0, 0.00514,
                          "M. C. Mackey and L. Glass, 1977", _draw_mackey_glass),
            _flow(equations.rikitake, "Rikitake", "T. Rikitake, 1958",
                  dt=0.15, exponent=0.127, start=(-1.75, -1.53, 4.1), step=0.003),
            _flow(equations.rossler, "Rössler", "O. E. Rössler, 1976",
                  dt=0.2, exponent=0.0715, start=(1.23, 6.91, 0.18), step=0.0025),
            _flow(equations.rucklidge, "Rucklidge", "A. M. Rucklidge, 1992",
                  dt=0.1, exponent=0.192, start=(-2.15, -1.59, 2.01), step=0.0025),
            _flow(equations.shimizu_morioka, "Shimizu-Morioka", "T. Shimizu and N. Morioka, 1980",
                  dt=0.3, exponent=0.0643, start=(0.77, 0.31, 0.63), step=0.01),
            _flow(equations.sprott_b, "Sprott B", "J. C. Sprott, 1994",
                  dt=0.25, exponent=0.210, start=(0.45, 2.05, -2.93), step=0.005),
            _flow(equations.sprott_s, "Sprott S", "J. C. Sprott, 1994",
                  dt=0.1, exponent=0.188, start=(-3.93, 0.26, -0.19), step=0.004),
            _flow(equations.thomas, "Thomas",
                  "R. Thomas, 1999, and J. C. Sprott and K. E. Chlouverakis, 2007",
                  dt=1.0, exponent=0.0349, start=(1.26, 0.11, -1.33), step=0.005),
            _flow(equations.vallis, "Vallis", "G. K. Vallis, 1988",
                  dt=0.04, exponent=0.555, start=(-3.15, -0.13, 0.24), step=0.0016),
        )
    }
)  # fmt: skip


def chaotic_systems() -> tuple[str, ...]:
    """Names of the chaotic systems that :func:`chaotic_system` gives.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> chaotic_systems()[:4]
    ('blasius', 'burke_shaw', 'chen', 'chua')
    """
    return tuple(_SYSTEMS)


def chaotic_system(name: str) -> ChaoticSystem:
    """Chaotic system with published parameters, by name.

    Differential equations ``u' = f(u)``, integrated in steps so short that solutions are accurate
    to about 1e-8 over a Lyapunov time, but for ``mackey_glass``, which is the series of
    :func:`mackey_glass`, accurate to 1e-5. Many are known from the collection dysts [1]_.

    Parameters
    ----------
    name : str
        One of :func:`chaotic_systems`.

    Returns
    -------
    ChaoticSystem

    References
    ----------
    .. [1] W. Gilpin, "Chaos as an interpretable benchmark for forecasting and data-driven
           modelling", NeurIPS Datasets and Benchmarks, 2021.

    Examples
    --------
    >>> thomas = chaotic_system("thomas")
    >>> thomas.title, thomas.dims, thomas.exponent
    ('Thomas', 3, 0.0349)
    >>> thomas.generate(200).shape
    (200, 3)
    """
    return _SYSTEMS[checks.choice("name", name, _SYSTEMS)]

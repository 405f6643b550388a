"""Lyapunov exponents of a trained closed loop: whether it is as chaotic as what it learnt."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from paralesn import checks
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.reservoirs.autonomous import ClosedLoop
from paralesn.runtime.blas import single_threaded_blas
from paralesn.theory.tangent import Point, TangentLoop, orthonormalise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLOCKS = 20  # of a trajectory, whose means tell how far the exponents can be trusted


@dataclass(frozen=True, eq=False)
class LyapunovExponents:
    """Leading Lyapunov exponents of a closed loop.

    Attributes
    ----------
    exponents : array (count,)
        Largest first, per unit of time. -infinity for directions that vanish within a step, or
        so fast that double precision cannot follow them beside the others.
    standard_error : array (count,)
        From the exponents of 20 successive parts of the trajectory; NaN where it is too short, or
        where an exponent is not finite.
    running : array (n, count)
        Estimates from the first part of the trajectory up to each of `times`.
    times : array (n,)
        In units of time.
    dimension : float
        Kaplan-Yorke (Lyapunov) dimension of the attractor; NaN where the exponents that were
        computed add up to more than zero, and there are others.
    dt : float
        Time of a step.
    """

    exponents: np.ndarray
    standard_error: np.ndarray
    running: np.ndarray = field(repr=False)
    times: np.ndarray = field(repr=False)
    dimension: float
    dt: float

    def __str__(self) -> str:
        lines = [
            f"exponent {k}: {exponent:.4g} +- {error:.2g}"
            for k, (exponent, error) in enumerate(
                zip(self.exponents, self.standard_error, strict=True), 1
            )
        ]
        known = "not known from so few exponents"
        dimension = known if np.isnan(self.dimension) else f"{self.dimension:.4g}"
        return "\n".join([*lines, f"Kaplan-Yorke dimension: {dimension}"])

    def plot(self, path: Any = None) -> "Figure":
        """Draw how the estimates settle over time; with `path`, to a file as well."""
        from paralesn.theory.plots import plot_lyapunov

        return plot_lyapunov(self, path)


def lyapunov_exponents(
    loop: Any,
    steps: int = 10_000,
    *,
    count: int = 3,
    washout: int = 1000,
    dt: float = 1.0,
    every: int = 1,
    series: int = 0,
    seed: Any = 0,
) -> LyapunovExponents:
    r"""Lyapunov exponents of a trained closed loop.

    Once its loop is closed, a reservoir with its readout is a dynamical system of its own, with the
    state :math:`s = (h, x)`, h being the states of all layers (a complex number counts as two), and
    the step

    .. math:: h_t = F(h_{t-1}, x_t), \qquad x_{t+1} = W z_t + b \;(+\, x_t).

    Small differences follow its Jacobian J along the trajectory. With Q orthonormal, R upper
    triangular and :math:`J_t Q_{t-1} = Q_t R_t`,

    .. math:: \lambda_i = \lim_{T \to \infty} \frac{1}{T\, dt} \sum_{t=1}^T \log |(R_t)_{ii}|.

    A good model has the exponents of the system that it was trained on, and only negative ones
    besides. Those are the reservoir's own, near :math:`\log |\bar\lambda| / dt` for a `ParalESN`,
    and where they are closer to zero than a negative one of the system, they come before it.

    The Kaplan-Yorke dimension is :math:`j + \sum_{i \le j} \lambda_i / |\lambda_{j+1}|` for the
    largest j whose sum is not negative. Exponents that cannot be told from zero, by two standard
    errors, count as zero there.

    The Jacobian of a `ParalESN` is diagonal plus low rank, and like all others it is never formed:
    a step costs :math:`O(N k)` for k directions and N units, where an `ESN` with a full matrix
    takes :math:`O(N^2 k)`; making them orthonormal again costs :math:`O(N k^2)`.

    Parameters
    ----------
    loop : ClosedLoop, or a fitted model with one as ``closed_loop_``
    steps : int
        Over which stretching is averaged.
    count : int
        Number k of exponents; at most as many as the state has real numbers.
    washout : int
        Steps before those: the trajectory reaches the attractor, and directions turn to where they
        are stretched most.
    dt : float
        Time of a step, for exponents per unit of time.
    every : int
        Steps between two times that directions are made orthonormal. More are faster where k is
        large; but exponents that lie more than about ``32 / (every * dt)`` below the largest are
        then lost, and come as -infinity.
    series : int
        Which series of the loop's batch the trajectory starts from.
    seed : int, None or numpy.random.Generator
        Of the directions to start from.

    Returns
    -------
    LyapunovExponents

    References
    ----------
    Benettin, Galgani, Giorgilli, Strelcyn. Lyapunov characteristic exponents for smooth dynamical
    systems and for Hamiltonian systems. Meccanica, 1980.
    Pathak, Lu, Hunt, Girvan, Ott. Using machine learning to replicate chaotic attractors and
    calculate Lyapunov exponents from data. Chaos, 2017.

    Examples
    --------
    A readout of x and its square that is the logistic map :math:`4 x (1 - x)`, whose exponent is
    log 2:

    >>> import numpy as np, paralesn as pe
    >>> from paralesn.reservoirs.autonomous import ClosedLoop
    >>> reservoir = pe.NVAR(delay=1, order=2).fit(np.zeros((1, 1)))
    >>> _, state = reservoir.run(np.zeros((1, 1, 1)))
    >>> loop = ClosedLoop(reservoir, weights=np.array([[4.0, -4.0]]), intercept=np.zeros(1),
    ...                   difference=False, state=state, newest=np.array([[0.3]]),
    ...                   mean=np.zeros(1), scale=np.ones(1))
    >>> found = pe.theory.lyapunov_exponents(loop, count=2)
    >>> found.exponents.round(2), found.dimension  # x is all that counts of the state (h, x)
    (array([0.69, -inf]), 1.0)
    """
    found = loop if isinstance(loop, ClosedLoop) else getattr(loop, "closed_loop_", None)
    if not isinstance(found, ClosedLoop):
        expected = "a ClosedLoop, or a fitted model that has one as closed_loop_"
        raise checks.fail("loop", loop, expected, TypeError)
    first = found.reservoir.layers_[0]
    if isinstance(first, DiagonalLayer) and first.tokens:
        raise checks.fail("loop", loop, "one whose reservoir reads numbers, not tokens")
    steps, washout = checks.integer("steps", steps, 1), checks.integer("washout", washout, 0)
    count, every = checks.integer("count", count, 1), checks.integer("every", every, 1)
    dt = checks.number("dt", dt, 0.0, open_left=True)
    series = checks.integer("series", series, 0, len(found.newest) - 1)
    system = TangentLoop(found)
    point = system.start(series)
    dimension = point.flat().size
    flat = checks.generator(seed).normal(size=(min(count, dimension), dimension))
    walk = _Walk(system, point, orthonormalise(flat)[0])
    with single_threaded_blas():
        walk.advance(washout, every)
        lengths, logs = walk.advance(steps, every)
    return _estimate(lengths * dt, logs, dt, is_complete=len(flat) == dimension)


class _Walk:
    """A trajectory of a closed loop, and orthonormal directions (k, dimension) next to it."""

    def __init__(self, system: TangentLoop, point: Point, directions: np.ndarray) -> None:
        self.system, self.point, self.directions = system, point, directions
        self.step = 0

    def advance(self, steps: int, every: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of steps (n,) between two times, and logarithms (n, k) of the stretching."""
        rounds = np.full(-(-steps // every), every)
        rounds[-1:] = steps - every * (len(rounds) - 1)
        logs = np.empty((len(rounds), len(self.directions)))
        with np.errstate(over="ignore", invalid="ignore"):  # a loop that diverges is an error below
            for n, length in enumerate(rounds.tolist()):
                directions = self.point.like(self.directions)
                for _ in range(length):
                    self.point, slopes = self.system.step(self.point)
                    directions = self.system.push(directions, slopes)
                self.step += length
                flat = directions.flat()
                if not (np.isfinite(flat).all() and np.isfinite(self.point.x).all()):
                    raise ValueError(f"the closed loop diverged within {self.step} steps")
                self.directions, logs[n] = orthonormalise(flat)
        return rounds, logs


def _estimate(
    lengths: np.ndarray, logs: np.ndarray, dt: float, is_complete: bool
) -> LyapunovExponents:
    """Exponents and their errors from logarithms (n, k) of stretching over times (n,)."""
    times = lengths.cumsum()
    running = logs.cumsum(axis=0) / times[:, None]
    order = np.argsort(-running[-1], kind="stable")
    exponents = running[-1, order]
    errors = np.full(len(exponents), np.nan)
    if len(logs) >= _BLOCKS:
        cuts = len(logs) * np.arange(_BLOCKS) // _BLOCKS
        spans = np.add.reduceat(lengths, cuts)[:, None]
        with np.errstate(invalid="ignore"):
            parts = np.add.reduceat(logs[:, order], cuts) / spans
            errors = parts.std(axis=0, ddof=1) / np.sqrt(_BLOCKS)
    # The error of an exponent falls like one over the time, even where nothing fluctuates.
    is_zero = np.abs(exponents) <= np.fmax(2 * errors, 1 / times[-1])
    dimension = _kaplan_yorke(np.where(is_zero, 0.0, exponents), is_complete)
    return LyapunovExponents(exponents, errors, running[:, order], times, dimension, dt)


def _kaplan_yorke(exponents: np.ndarray, is_complete: bool) -> float:
    """Kaplan-Yorke dimension from exponents that fall, all of them or the leading ones."""
    sums = exponents.cumsum()
    negative = np.flatnonzero(sums < 0)
    if not negative.size:
        return float(len(exponents)) if is_complete else np.nan
    j = int(negative[0])
    return j + float(sums[j - 1] / -exponents[j]) if j else 0.0

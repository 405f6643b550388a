"""What a reservoir's states are good for: memory of past inputs, and telling inputs apart."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from paralesn import checks
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.base import Reservoir

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ALPHAS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)


@dataclass(frozen=True, eq=False)
class MemoryCapacity:
    """How much of its past input a reservoir can recall.

    Attributes
    ----------
    total : float
        Sum over delays.
    per_delay : array (delays,)
        Squared correlation of the input and its recollection, delay 0 first.
    bound : int
        Number of state columns, which no reservoir's capacity exceeds. An estimate may, by chance:
        a delay that is forgotten still correlates by about one over the number of test steps.
    """

    total: float
    per_delay: np.ndarray
    bound: int

    def plot(self, path: Any = None) -> "Figure":
        """Draw the forgetting curve over delays; with `path`, to a file as well."""
        from paralesn.theory.plots import plot_memory

        return plot_memory(self, path)


@dataclass(frozen=True, eq=False)
class KernelQuality:
    """How many inputs a reservoir's states tell apart, and how many it should not.

    Attributes
    ----------
    kernel_rank : int
        Rank of the states of different inputs: high is good separation.
    generalisation_rank : int
        Rank of the states of nearly equal inputs: low is good generalisation.
    streams : int
        Number of inputs, which is the largest possible rank if there are as many columns.
    kernel_values, generalisation_values : arrays
        Singular values the ranks were counted from, relative to the largest.
    """

    kernel_rank: int
    generalisation_rank: int
    streams: int
    kernel_values: np.ndarray = field(repr=False)
    generalisation_values: np.ndarray = field(repr=False)


def memory_capacity(
    reservoir: Any,
    delays: int | None = None,
    steps: int | None = None,
    washout: int = 500,
    seed: Any = 0,
) -> MemoryCapacity:
    r"""Short-term memory capacity: how well past inputs can be read out of the states.

    For independent inputs, uniform on [-1, 1], and for each delay k a ridge regression of its own
    from the state to :math:`x_{t-k}`, trained on the first half of the steps,

    .. math:: MC = \sum_{k \ge 0} \mathrm{corr}^2(x_{t-k}, \hat x^{(k)}_t) \le \text{columns},

    the correlation taken on the second half. Delay 0, the input itself, counts; Jaeger begins with
    delay 1, which is ``per_delay[1:].sum()``.

    Parameters
    ----------
    reservoir : reservoir for one feature
        One that was never fitted is drawn, in a copy.
    delays : int, optional
        Number of delays, from 0 on; twice the number of state columns by default.
    steps : int, optional
        Time steps, half of them for training; by default 20 for each state column, at least 10,000.
    washout : int
        Steps before those.
    seed : int, None or numpy.random.Generator

    Returns
    -------
    MemoryCapacity

    References
    ----------
    Jaeger. Short term memory in echo state networks. GMD report 152, 2001.

    Examples
    --------
    A cycle without tanh recalls as many inputs as it has units.

    >>> import paralesn as pe
    >>> from paralesn.theory import memory_capacity
    >>> memory = memory_capacity(pe.SCR(units=10, linear=True))
    >>> round(memory.total, 1), memory.bound
    (9.9, 10)
    """
    drawn = _drawn(reservoir)
    columns = int(drawn.n_features_out_)
    delays = checks.integer("delays", 2 * columns if delays is None else delays, 1)
    steps = checks.integer("steps", max(10_000, 20 * columns) if steps is None else steps, 4)
    washout = checks.integer("washout", washout, 0)
    first = max(washout, delays - 1)
    x = checks.generator(seed).uniform(-1.0, 1.0, first + steps)
    states = drawn.run(x)[0][first:]
    # (steps, delays): row t holds x_t, x_{t-1}, ...
    past = np.lib.stride_tricks.sliding_window_view(x, delays)[first - delays + 1 :, ::-1]
    half = steps // 2
    readout = Ridge(_ALPHAS, per_target=True).fit(states[:half], past[:half])
    recalled = readout.predict(states[half:])
    correlations = _squared_correlation(past[half:], recalled)
    return MemoryCapacity(float(correlations.sum()), correlations, columns)


def kernel_quality(
    reservoir: Any,
    streams: int | None = None,
    steps: int = 200,
    jitter: float = 0.01,
    tolerance: float = 0.01,
    seed: Any = 0,
) -> KernelQuality:
    r"""Kernel quality and generalisation: ranks of final states.

    The *kernel rank* is that of the matrix of final states, one row for each of m independent
    inputs, uniform on [-1, 1]: how many of them a linear readout can tell apart. The
    *generalisation rank* is that for m inputs that are one and the same up to uniform noise on
    [-jitter, jitter]: what a readout would make of noise. A good reservoir has much of the first
    and little of the second. Singular values below `tolerance` times the largest do not count.

    Parameters
    ----------
    reservoir : reservoir for one feature
        One that was never fitted is drawn, in a copy.
    streams : int, optional
        Number m of inputs, by default the number of state columns.
    steps : int
        Length of the inputs.
    jitter : float
        Size of the noise, at least 0.
    tolerance : float
        In (0, 1).
    seed : int, None or numpy.random.Generator

    Returns
    -------
    KernelQuality

    References
    ----------
    Legenstein, Maass. Edge of chaos and prediction of computational performance for neural circuit
    models. Neural Networks, 2007.

    Examples
    --------
    >>> import paralesn as pe
    >>> from paralesn.theory import kernel_quality
    >>> quality = kernel_quality(pe.ParalESN(units=50, mix_scale=1.0))
    >>> quality.kernel_rank > 10 * quality.generalisation_rank
    True
    """
    drawn = _drawn(reservoir)
    columns = int(drawn.n_features_out_)
    streams = checks.integer("streams", columns if streams is None else streams, 1)
    steps = checks.integer("steps", steps, 1)
    jitter = checks.number("jitter", jitter, 0.0)
    tolerance = checks.number("tolerance", tolerance, 0.0, 1.0, open_left=True, open_right=True)
    rng = checks.generator(seed)
    different = rng.uniform(-1.0, 1.0, (streams, steps, 1))
    alike = different[:1] + rng.uniform(-jitter, jitter, (streams, steps, 1))
    values = [_relative_singular_values(drawn.last(X)) for X in (different, alike)]
    ranks = [int((value > tolerance).sum()) for value in values]
    return KernelQuality(ranks[0], ranks[1], streams, values[0], values[1])


def _drawn(reservoir: Any) -> Any:
    """A reservoir for one feature, drawn without altering the caller's."""
    if not isinstance(reservoir, Reservoir):
        raise checks.fail("reservoir", reservoir, "a reservoir", TypeError)
    if not hasattr(reservoir, "layers_"):
        if reservoir.adapts:
            raise checks.fail("reservoir", reservoir, "fitted: it adapts to its input")
        return clone(reservoir).fit(np.zeros((1, 1)))
    if reservoir.n_features_in_ != 1:
        features = reservoir.n_features_in_
        raise ValueError(f"reservoir must be one for 1 feature, got one for {features}")
    return reservoir


def _squared_correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of corresponding columns; zero where one of them is constant."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    product, sizes = (a * b).sum(axis=0) ** 2, (a**2).sum(axis=0) * (b**2).sum(axis=0)
    return np.divide(product, sizes, out=np.zeros_like(product), where=sizes > 0)


def _relative_singular_values(states: np.ndarray) -> np.ndarray:
    values = np.linalg.svd(states, compute_uv=False)
    return values / values[0] if values[0] > 0 else values

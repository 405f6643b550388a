"""The NARMA system: a nonlinear moving average of its inputs, fed back."""

from typing import NamedTuple

import numpy as np

from paralesn import checks
from paralesn.datasets.generated.ieee import strict
from paralesn.datasets.seeds import entropy, stream

_TRANSIENT = 200  # steps discarded: the system starts from zero
_ATTEMPTS = 100
_BOUND = 1.0  # 1000 series of 10 000 steps stayed below 0.75; beyond 2 nothing returns


@strict
def _run(x, order, y):  # type: ignore[no-untyped-def]
    """y (T,) from x (T,), both zero before; returns the step at which it left its bounds, or T."""
    y[:order] = 0.0
    for t in range(order, y.size):
        total = 0.0
        for i in range(1, order + 1):
            total += y[t - i]
        y[t] = 0.3 * y[t - 1] + 0.01 * y[t - 1] * total + 1.5 * x[t - order] * x[t - 1] + 0.1
        if not abs(y[t]) <= _BOUND:
            return t
    return y.size


class Narma(NamedTuple):
    """Inputs (steps, 1), targets (steps, 1) and the number of redraws."""

    inputs: np.ndarray
    targets: np.ndarray
    redraws: int


def narma(steps: int = 10_000, order: int = 10, seed: int | None = 0) -> Narma:
    """Nonlinear autoregressive moving average of order d, to be predicted one step ahead.

    ``y(t) = 0.3 y(t-1) + 0.01 y(t-1) sum_{i=1..d} y(t-i) + 1.5 x(t-d) x(t-1) + 0.1`` with x uniform
    on [0, 0.5). The paper uses these coefficients for every order; some libraries use others.

    Row t holds the input x(t) and the target y(t + 1), which the inputs up to x(t) determine: it is
    made of x(t) and x(t - d + 1) [1]_. The first 200 steps from zero are discarded. A series that
    exceeds 1 in absolute value diverges, and is redrawn from the next stream of the seed.

    Parameters
    ----------
    steps : int
        Number of rows.
    order : int
        d, at least 1; from about 60 on, most series diverge.
    seed : int or None

    Returns
    -------
    Narma
        Named tuple of inputs (steps, 1), targets (steps, 1) and redraws, the number of series
        thrown away.

    References
    ----------
    .. [1] A. F. Atiya and A. G. Parlos, "New results on recurrent network training", IEEE
       Transactions on Neural Networks 11, 2000.

    Examples
    --------
    >>> x, y, redraws = narma(1000, order=10)
    >>> x.shape, y.shape, redraws
    ((1000, 1), (1000, 1), 0)
    >>> t = 500
    >>> ar = 0.3 * y[t - 1] + 0.01 * y[t - 1] * y[t - 10 : t].sum()
    >>> bool(np.isclose(y[t], ar + 1.5 * x[t - 9] * x[t] + 0.1)[0])
    True
    """
    steps, order = checks.integer("steps", steps, 1), checks.integer("order", order, 1)
    seed = entropy(seed)
    first = order + _TRANSIENT
    total = first + steps + 1
    y = np.empty(total)
    for redraws in range(_ATTEMPTS):
        x = stream(seed, "narma", redraws).uniform(0.0, 0.5, total)
        if _run(x, order, y) == total:
            return Narma(x[first:-1, None], y[first + 1 :, None], redraws)
    raise ValueError(
        f"order must be one for which the system stays bounded; with order={order} and "
        f"steps={steps}, {_ATTEMPTS} series out of {_ATTEMPTS} diverged"
    )

"""How long a forecast of a chaotic system stays valid."""

from typing import Any

import numpy as np

from paralesn import checks


def valid_prediction_time(
    predicted: Any,
    truth: Any,
    *,
    threshold: float = 0.4,
    scale: Any = None,
    lyapunov_time: float = 1.0,
) -> Any:
    r"""Time until the error of a forecast reaches a threshold.

    With D components and their standard deviations :math:`\sigma`, the error of step t is

    .. math:: e_t = \Big(\frac{1}{D} \sum_{i=1}^D
              \Big(\frac{\hat x_{t,i} - x_{t,i}}{\sigma_i}\Big)^2\Big)^{1/2},

    and the valid prediction time is the number of steps before the first whose error is not below
    `threshold`. Predictions that are not finite are wrong. If no step is wrong, the time is the
    whole length: a lower bound.

    Parameters
    ----------
    predicted, truth : array-like (time,), (time, D) or (batch, time, D)
        Of the same shape; step 0 is the first one that was predicted.
    threshold : float
        In standard deviations; positive.
    scale : number or array-like (D,), optional
        The standard deviations. Default: those of `truth`, over all series of a batch. Those of a
        series much longer than a forecast are better.
    lyapunov_time : float
        Steps in a Lyapunov time, ``1 / (largest exponent * dt)``, for a time in these units.

    Returns
    -------
    float, or array (batch,)

    References
    ----------
    Vlachas, Pathak, Hunt, Sapsis, Girvan, Ott, Koumoutsakos. Backpropagation algorithms and
    reservoir computing in recurrent neural networks for the forecasting of complex spatiotemporal
    dynamics. Neural Networks, 2020.

    Examples
    --------
    An error that grows e-fold in ten steps, from a thousandth of a standard deviation:

    >>> import numpy as np, paralesn as pe
    >>> truth = np.sin(np.arange(200) / 7)
    >>> predicted = truth + truth.std() * 0.001 * np.exp(np.arange(200) / 10)
    >>> pe.theory.valid_prediction_time(predicted, truth, lyapunov_time=10)  # log(400) is 5.99
    6.0
    """
    threshold = checks.number("threshold", threshold, 0.0, open_left=True)
    lyapunov_time = checks.number("lyapunov_time", lyapunov_time, 0.0, open_left=True)
    there, ours = np.asarray(truth, float), np.asarray(predicted, float)
    if there.ndim not in (1, 2, 3) or not there.size:
        expected = "(time,), (time, D) or (batch, time, D), not empty"
        raise ValueError(f"truth must be {expected}, got shape {there.shape}")
    if ours.shape != there.shape:
        raise ValueError(f"predicted must have the shape of truth {there.shape}, got {ours.shape}")
    if not np.isfinite(there).all():
        raise ValueError("truth must be finite, got NaN or infinity")
    if there.ndim == 1:
        there, ours = there[:, None], ours[:, None]
    spread = deviations(there) if scale is None else _checked(scale, there.shape[-1])
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is wrong
        errors = np.sqrt((((ours - there) / spread) ** 2).mean(axis=-1))
    wrong = ~(errors < threshold)
    steps = np.where(wrong.any(axis=-1), wrong.argmax(axis=-1), wrong.shape[-1])
    return steps / lyapunov_time if steps.ndim else float(steps / lyapunov_time)


def deviations(values: np.ndarray) -> np.ndarray:
    """Standard deviations (D,) of values (…, D); 1 where nothing varies."""
    spread = values.reshape(-1, values.shape[-1]).std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def _checked(scale: Any, width: int) -> np.ndarray:
    """Given standard deviations."""
    spread = np.asarray(scale, float)
    if spread.shape not in ((), (1,), (width,)):
        raise ValueError(f"scale must be a number or ({width},), got shape {spread.shape}")
    if not (np.isfinite(spread) & (spread > 0)).all():
        raise checks.fail("scale", scale, "finite and positive")
    return spread

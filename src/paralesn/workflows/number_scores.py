"""How good predicted numbers are: R2, mean absolute error, root of the mean squared error."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class NumberScores:
    r"""Measures of predicted numbers, each the mean over repeats.

    Attributes
    ----------
    r2 : float
        :math:`1 - \sum_i (y_i - p_i)^2 / \sum_i (y_i - \bar y)^2`; NaN where all targets are equal.
    mae, rmse : float
        Mean absolute error, and root of the mean squared error.
    spread : float
        Standard deviation of R2 over repeats; NaN with one.
    """

    r2: float
    mae: float
    rmse: float
    spread: float


def score_numbers(truth: np.ndarray, predicted: np.ndarray) -> NumberScores:
    """Measure predictions (repeats, n) of numbers (n,); NaN where a case was not asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.workflows.number_scores import score_numbers
    >>> score_numbers(np.array([1.0, 2.0, 3.0]), np.array([[1.0, 2.0, 4.0]]))
    NumberScores(r2=0.5, mae=0.3333333333333333, rmse=0.5773502691896257, spread=nan)
    """
    rows = []
    for answers in predicted:
        asked = np.isfinite(answers)
        y, off = truth[asked], answers[asked] - truth[asked]
        squares, total = float(np.mean(off**2)), float(np.var(y))
        r2 = 1 - squares / total if total > 0 else np.nan
        rows.append([r2, float(np.abs(off).mean()), np.sqrt(squares)])
    r2, mae, rmse = np.mean(rows, axis=0).tolist()
    spread = float(np.std([row[0] for row in rows], ddof=1)) if len(rows) > 1 else float("nan")
    return NumberScores(r2, mae, rmse, spread)

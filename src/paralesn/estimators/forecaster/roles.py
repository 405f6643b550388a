"""Which of two arguments is the series: scikit-learn calls fit(X, y), a forecaster fit(y, X)."""

import sys
from typing import Any

import numpy as np

_NOT_A_TARGET = (
    "X must hold inputs (time, inputs) that go with the series y, got one value for each row of a "
    "table y. Was it called as fit(X, y), as scikit-learn's searches do? A forecaster takes "
    "fit(y, X): use paralesn.backtest and paralesn.tune, or give X as (time, 1)"
)
_NOT_A_SEARCH = (
    "a forecaster is fitted by fit(y, X), and scikit-learn's searches and cross-validation call "
    "fit(X, y): the target would be taken for an input. Use paralesn.tune and paralesn.backtest"
)


def check_roles(y: Any, X: Any) -> None:
    """Raise where X seems to be the target, as in fit(X, y)."""
    if X is None:
        return
    if _is_called_by_search():  # with frames, nothing else tells (X, y) from (y, X)
        raise TypeError(_NOT_A_SEARCH)
    if getattr(X, "ndim", 0) == 1 and np.ndim(y) == 2 and not hasattr(y, "columns"):
        raise ValueError(_NOT_A_TARGET)


def _is_called_by_search() -> bool:
    """Whether one of the callers is a search or a cross-validation of scikit-learn."""
    frame = sys._getframe(1).f_back
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("sklearn.model_selection"):
            return True
        frame = frame.f_back
    return False

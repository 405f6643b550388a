"""Types of what `fit` was given, for type checkers: forecasts come back in the same form.

``ReservoirForecaster[np.ndarray]`` forecasts arrays, ``ReservoirForecaster[pd.DataFrame]`` frames.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    class Estimator:
        """What forecasters have of scikit-learn, which tells type checkers nothing itself."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Parameters by name."""

        def set_params(self, **parameters: Any) -> Self:
            """Change parameters by name."""

    Given = TypeVarWithDefault("Given", covariant=True, default=Any)
    Values = TypeVarWithDefault("Values", default=np.ndarray)
else:
    from sklearn.base import BaseEstimator

    Estimator = BaseEstimator
    Given = TypeVar("Given", covariant=True)
    Values = TypeVar("Values")
Data = TypeVar("Data")

Level = float | Sequence[float] | np.ndarray
Numbers = np.ndarray | Sequence[float]
Several = Sequence[np.ndarray]


class Untold:
    """Nothing is of this type, so that only data whose type is not known passes for it."""

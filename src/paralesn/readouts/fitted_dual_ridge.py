"""What a dual ridge regression has learnt, as one state that never changes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn.persistence import register
from paralesn.persistence.fields import Counts, Floats, Names, OpenFloats
from paralesn.readouts import inputs


@register
@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions for training rows, each by the model fitted to all rows but that one.

    Attributes
    ----------
    rows : array (m,) of int
        Numbers of the training rows, ascending: all of positive weight, or a random sample.
    predictions : array (m, targets)
    """

    rows: Counts
    predictions: Floats

    def fits(self, targets: int) -> bool:
        """Whether the arrays are of one size, with so many targets."""
        return self.rows.ndim == 1 and self.predictions.shape == (self.rows.size, targets)


@register
@dataclass(frozen=True, eq=False)
class FittedDualRidge:
    """Everything a `DualRidge` has learnt.

    Attributes
    ----------
    coef : array (features,) or (targets, features)
    intercept : float or array (targets,)
    alpha : float
        The chosen penalty per feature.
    scores : array (alphas,)
    feature_names : array (features,) or None
    left_out : LeftOut
    """

    coef: Floats
    intercept: float | Floats
    alpha: float
    scores: OpenFloats
    feature_names: Names | None
    left_out: LeftOut

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.coef.shape[-1]

    def check(self, model: Any) -> None:
        """Raise unless everything fits together, and the parameters of `model`."""
        model.check_parameters()
        right = (
            self.coef.ndim in (1, 2)
            and np.shape(self.intercept) == self.coef.shape[:-1]
            and np.shape(self.scores) == (len(model.alphas),)
            and self.alpha in list(model.alphas)
            and inputs.names_fit(self.feature_names, self.n_features)
            and self.left_out.fits(self.coef.size // self.n_features)
        )
        if not right:
            raise ValueError("the arrays of a DualRidge do not fit together")

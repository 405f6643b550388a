"""What a ridge regression has learnt, as one state that never changes."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from paralesn.persistence import register
from paralesn.readouts import inputs
from paralesn.readouts.ridge_path import RidgePath
from paralesn.readouts.ridge_statistics import RidgeStatistics
from paralesn.readouts.validation import ValidationErrors


@register
@dataclass(frozen=True, eq=False)
class RidgeSolution:
    """Solutions for all alphas, and which of them was chosen.

    Attributes
    ----------
    path : RidgePath
    scores : array (alphas, targets)
        Errors that the alphas were chosen by.
    best : array (targets,) of int
        Number of the alpha chosen for each target.
    """

    path: RidgePath
    scores: np.ndarray
    best: np.ndarray

    @property
    def coef(self) -> np.ndarray:
        """Coefficients (features, targets) of the chosen alphas."""
        return self._chosen(self.path.coefs)

    @property
    def intercept(self) -> np.ndarray:
        """Intercepts (targets,) of the chosen alphas."""
        return self._chosen(self.path.intercepts[:, None])[0]

    def _chosen(self, values: np.ndarray) -> np.ndarray:
        """Of (alphas, k, targets) what belongs to each target's alpha: (k, targets)."""
        return np.stack([values[a, :, t] for t, a in enumerate(self.best)], axis=-1)

    def fits(self, alphas: int, features: int, targets: int) -> bool:
        """Whether the arrays fit together."""
        return (
            self.path.fits(alphas, features, targets)
            and self.scores.shape == (alphas, targets)
            and self.best.shape == (targets,)
            and all(0 <= best < alphas for best in self.best)
        )


@register
@dataclass(frozen=True, eq=False)
class FittedRidge:
    """Everything a `Ridge` has learnt.

    Attributes
    ----------
    statistics : RidgeStatistics
        What it knows of the rows it has seen.
    flat : bool
        Targets came as (n,), and predictions are returned as such.
    feature_names : array (features,) or None
    validation : ValidationErrors or None
        Errors of the alphas, where validation data were given.
    solution : RidgeSolution or None
        None until it is asked for.
    """

    statistics: RidgeStatistics
    flat: bool
    feature_names: np.ndarray | None
    validation: ValidationErrors | None = None
    solution: RidgeSolution | None = None

    @property
    def n_features(self) -> int:
        """Number of states."""
        return self.statistics.n_features

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return self.statistics.n_targets

    def unsolved(self, **changes: Any) -> Self:
        """The state with some fields changed, to be solved anew."""
        return replace(self, solution=None, **changes)

    def solved(self, path: RidgePath, per_target: bool) -> Self:
        """The state with solutions, and the alpha of the least error chosen."""
        scores = path.gcv if self.validation is None else self.validation.scores()
        if per_target:
            best = scores.argmin(axis=0)
        else:
            best = np.full(self.n_targets, scores.mean(axis=1).argmin())
        return replace(self, solution=RidgeSolution(path, scores, best))

    def check(self, ridge: Any) -> None:
        """Raise unless everything fits together, and the parameters of `ridge`."""
        ridge.check_parameters()
        p, m, alphas = self.n_features, self.n_targets, len(ridge.alphas)
        right = (
            self.statistics.fits()
            and isinstance(self.flat, bool)
            and (m == 1 or not self.flat)
            and inputs.names_fit(self.feature_names, p)
            and (self.validation is None or self.validation.fits(alphas, m))
            and (self.solution is None or self.solution.fits(alphas, p, m))
        )
        if not right:
            raise ValueError("the arrays of a Ridge do not fit together")

"""What a ridge regression has learnt, as one state that never changes."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from paralesn.persistence import register
from paralesn.persistence.fields import Count, Counts, Floats, Names, OpenFloats
from paralesn.readouts import inputs
from paralesn.readouts.recursive_solution import RecursiveSolution, follow
from paralesn.readouts.ridge_path import RidgePath, ridge_path
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
    scores: OpenFloats
    best: Counts

    @property
    def coef(self) -> np.ndarray:
        """Coefficients (features, targets) of the chosen alphas."""
        return self._chosen(self.path.coefs)

    @property
    def intercept(self) -> np.ndarray:
        """Intercepts (targets,) of the chosen alphas."""
        return self._chosen(self.path.intercepts[:, None])[0]

    @property
    def choice(self) -> "AlphaChoice":
        """The alphas chosen, without their solutions."""
        return AlphaChoice(self.scores, self.best, self.path.alphas[self.best])

    def _chosen(self, values: np.ndarray) -> np.ndarray:
        """Of (alphas, k, targets) what belongs to each target's alpha: (k, targets)."""
        return np.stack([values[a, :, t] for t, a in enumerate(self.best)], axis=-1)

    def fits(self, alphas: int, features: int, targets: int) -> bool:
        """Whether the arrays fit together."""
        right = self.path.fits(alphas, features, targets) and all(self.best < alphas)
        return right and self.choice.fits(alphas, targets)


@register
@dataclass(frozen=True, eq=False)
class AlphaChoice:
    """The alphas chosen for each target, and by what: `scores` and `best` as in `RidgeSolution`."""

    scores: OpenFloats
    best: Counts
    alphas: Floats

    def fits(self, alphas: int, targets: int) -> bool:
        """Whether the arrays fit together."""
        return (
            self.scores.shape == (alphas, targets)
            and self.best.shape == self.alphas.shape == (targets,)
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
    recursion : RecursiveSolution or None
        In place of it, where a few rows were added to a solution.
    choice : AlphaChoice or None
        What alphas it is of; None where they are to be chosen.
    choosing : RidgeStatistics or None
        What they are to be chosen by, if not by all statistics.
    added : int
        Rows added since then.
    """

    statistics: RidgeStatistics
    flat: bool
    feature_names: Names | None
    validation: ValidationErrors | None = None
    solution: RidgeSolution | None = None
    recursion: RecursiveSolution | None = None
    choice: AlphaChoice | None = None
    choosing: RidgeStatistics | None = None
    added: Count = 0

    @property
    def n_features(self) -> int:
        """Number of states."""
        return self.statistics.n_features

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return self.statistics.n_targets

    def unsolved(self, **changes: Any) -> Self:
        """The state with some fields changed, to be solved anew, and alphas chosen."""
        blank = {"solution": None, "recursion": None, "choice": None, "choosing": None, "added": 0}
        return replace(self, **(blank | changes))

    def merged(self, other: Self) -> Self:
        """Everything that both have learnt, to be solved anew."""
        errors, further = self.validation, other.validation
        if errors is not None and further is not None:
            errors = errors.merged(further)
        return self.unsolved(
            statistics=self.statistics.merged(other.statistics),
            validation=further if errors is None else errors,
        )

    def with_rows(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, alphas: np.ndarray
    ) -> Self:
        """Add rows: a few to the solution there is, many so that it must be found anew."""
        before = self.statistics
        with np.errstate(over="ignore", invalid="ignore"):  # who solves looks at what came of it
            after = before.with_rows(X, y, weight, float(alphas.min()))
        added = self.added + X.shape[0]
        is_due = self._chooses(alphas) and 3 * added >= after.effective_samples
        if not (before.n_samples and before.is_few(X.shape[0])) or is_due:
            return self.unsolved(statistics=after)
        kept = replace(self._kept(alphas), statistics=after, added=added)
        if self.recursion is not None:
            blocks = before.blocks(X, y, weight)
            return replace(kept, recursion=self.recursion.with_rows(before, after, blocks))
        if kept.choice is not None:
            return replace(kept, recursion=follow(after, kept.choice.alphas))
        return kept

    def forgotten(self, factor: float, alphas: np.ndarray) -> Self:
        """Multiply the weight of every row by `factor`; alphas stay as they were chosen."""
        kept, recursion = self._kept(alphas), self.recursion
        if recursion is None and kept.choice is not None:
            recursion = follow(self.statistics, kept.choice.alphas)
        return replace(
            kept,
            statistics=self.statistics.forgotten(factor),
            recursion=None if recursion is None else recursion.forgotten(factor),
        )

    def _chooses(self, alphas: np.ndarray) -> bool:
        """Whether the choice of alphas depends on what is learnt."""
        return len(alphas) > 1 and self.validation is None

    def _kept(self, alphas: np.ndarray) -> Self:
        """The state without its solution, but with the choice it was of, or what it is to be by."""
        choice = self.choice if self.solution is None else self.solution.choice
        choosing = None
        if choice is None and self._chooses(alphas):
            choosing = self.statistics if self.choosing is None else self.choosing
        return replace(self, solution=None, recursion=None, choice=choice, choosing=choosing)

    def solved(self, path: RidgePath, per_target: bool) -> Self:
        """The state with solutions, and the alpha of the least error chosen."""
        choice = self._best_of(path, per_target)
        return self.unsolved(solution=RidgeSolution(path, choice.scores, choice.best))

    def chosen(self, alphas: np.ndarray, per_target: bool, gamma: float) -> Self:
        """The state with all solutions, for alphas that were chosen before if they were."""
        path, choice = ridge_path(self.statistics, alphas.tolist(), gamma), self.choice
        if choice is None:
            by = (
                path if self.choosing is None else ridge_path(self.choosing, alphas.tolist(), gamma)
            )
            choice = self._best_of(by, per_target)
        solution = RidgeSolution(path, choice.scores, choice.best)
        return replace(self, solution=solution, recursion=None, choice=None, choosing=None)

    def _best_of(self, path: RidgePath, per_target: bool) -> AlphaChoice:
        scores = path.gcv if self.validation is None else self.validation.scores()
        if per_target:
            best = scores.argmin(axis=0)
        else:
            best = np.full(self.n_targets, scores.mean(axis=1).argmin())
        return AlphaChoice(scores, best, path.alphas[best])

    def _is_like(self, other: RidgeStatistics) -> bool:
        """Whether statistics are of the same features and targets."""
        sizes = other.n_features, other.n_targets, other.groups
        return other.fits() and sizes == (self.n_features, self.n_targets, self.statistics.groups)

    def check(self, ridge: Any) -> None:
        """Raise unless everything fits together, and the parameters of `ridge`."""
        ridge.check_parameters()
        p, m, alphas = self.n_features, self.n_targets, len(ridge.alphas)
        right = (
            self.statistics.fits()
            and (m == 1 or not self.flat)
            and inputs.names_fit(self.feature_names, p)
            and (self.validation is None or self.validation.fits(alphas, m))
            and (self.solution is None or self.solution.fits(alphas, p, m))
            and (self.recursion is None or self.recursion.fits(p, m, self.statistics.groups))
            and (self.choice is None or self.choice.fits(alphas, m))
            and (self.choosing is None or self._is_like(self.choosing))
        )
        if not right:
            raise ValueError("the arrays of a Ridge do not fit together")

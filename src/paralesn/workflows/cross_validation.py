"""Which cases are held out together: stratified folds, dealt anew in every repeat."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from paralesn import checks
from paralesn.tables.errors import TableError

_SMALL = 100  # cases below which ten folds leave more to learn from
_SECONDS = 20.0  # of fitting that repeats may take, about, on two cores
_PATIENCE = 300.0  # of fitting that one round of folds may take, about
_REPEATS = 10


class FoldPlan(NamedTuple):
    """How often cases are split into how many folds.

    Attributes
    ----------
    folds : int
        Parts that cases are dealt into; each is held out in turn.
    repeats : int
        How often they are dealt anew.
    held_out : int
        How many folds of a repeat are held out: all, or one where there are very many cases.
    """

    folds: int
    repeats: int
    held_out: int

    def words(self) -> str:
        """The plan in words."""
        times = "once" if self.repeats == 1 else f"{self.repeats} times"
        if self.held_out < self.folds:
            return f"1 of {self.folds} folds held out, {times}"
        return f"{self.folds}-fold cross-validation, {times}"


def plan_folds(
    counts: np.ndarray, values: int, folds: int | None = None, repeats: int | None = None
) -> FoldPlan | None:
    """Folds and repeats for cases of strata of sizes `counts`; None where nothing can be held out.

    Ten folds for less than 100 cases and five for more, but no more than cases of the largest
    stratum; up to ten repeats as far as they take some twenty seconds. That is decided by sizes and
    not by a clock, so that results do not depend on the machine.

    Parameters
    ----------
    counts : array of int
        Cases of every class, or the number of cases where there are no classes.
    values : int
        Numbers in all series together.
    folds, repeats : int, optional
        Wanted by the caller; 0 repeats: hold out nothing.

    Examples
    --------
    >>> from paralesn.workflows.cross_validation import plan_folds
    >>> plan_folds([10, 10], values=20 * 150)
    FoldPlan(folds=10, repeats=10, held_out=10)
    >>> plan_folds([1846, 1755], values=3601 * 500)
    FoldPlan(folds=5, repeats=1, held_out=5)
    """
    cases, most = int(np.sum(counts)), int(np.max(counts))
    if folds is not None:
        folds = checks.integer("folds", folds, 2)
        if folds > most:
            raise TableError(
                f"`folds={folds}` is more than the {most} cases of the largest class",
                parameter="folds",
            )
    if repeats is not None:
        repeats = checks.integer("repeats", repeats, 0)
    if most < 2 or repeats == 0:
        return None
    chosen = folds or min(10 if cases < _SMALL else 5, most)
    seconds = chosen * fit_seconds(cases * (chosen - 1) // chosen, values)
    held_out = 1 if folds is None and seconds > _PATIENCE else chosen
    return FoldPlan(chosen, repeats or int(np.clip(_SECONDS // seconds, 1, _REPEATS)), held_out)


def fit_seconds(cases: int, values: int) -> float:
    """About how long the default classifier learns from so many cases on two cores, in seconds."""
    return 0.01 + 4e-7 * values + 4e-10 * cases**2 * min(cases, 11_264)


def deal_classes(codes: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """The fold (n,) of every case, those of a class spread evenly.

    -1 is a case that is never held out: the only one of its class.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.workflows.cross_validation import deal_classes
    >>> codes = np.array([0, 0, 0, 0, 1, 1, 2])
    >>> dealt = deal_classes(codes, 2, np.random.default_rng(0))
    >>> [np.bincount(dealt[codes == k] + 1, minlength=3).tolist() for k in range(3)]
    [[0, 2, 2], [0, 1, 1], [1, 0, 0]]
    """
    dealt, offset = np.full(codes.size, -1), 0
    for code in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == code))
        if members.size > 1:
            dealt[members] = (offset + np.arange(members.size)) % folds
            offset += members.size  # so that folds are of equal size
    return dealt


def deal_numbers(targets: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """The fold (n,) of every case, small and large targets spread evenly."""
    dealt = np.empty(targets.size, int)
    order = rng.permutation(targets.size)
    order = order[np.argsort(targets[order], kind="stable")]
    for first in range(0, order.size, folds):
        block = order[first : first + folds]
        dealt[block] = rng.permutation(folds)[: block.size]
    return dealt


def splits(dealt: np.ndarray, plan: FoldPlan) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Cases to learn from and cases that are held out, for every fold that holds any."""
    for fold in range(plan.held_out):
        held_out = np.flatnonzero(dealt == fold)
        if held_out.size:
            yield np.flatnonzero(dealt != fold), held_out

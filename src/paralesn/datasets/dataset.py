"""Datasets: frozen records of arrays with their splits, washout, metric and citation."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paralesn.datasets import metrics
from paralesn.datasets.seeds import entropy, stream


@dataclass(frozen=True, eq=False)
class Split:
    """Inputs and targets, row by row.

    Attributes
    ----------
    inputs : array (T, F), or (B, T, F) for B independent series
    targets : array (T, D) or (B, T, D)
        Row t is to be predicted from the inputs up to and including row t.
    """

    inputs: np.ndarray
    targets: np.ndarray

    def __post_init__(self) -> None:
        if self.inputs.ndim not in (2, 3) or self.inputs.shape[:-1] != self.targets.shape[:-1]:
            raise ValueError(
                "inputs and targets must have the same rows, (T, F) and (T, D) or (B, T, F) and "
                f"(B, T, D), got shapes {self.inputs.shape} and {self.targets.shape}"
            )


@dataclass(frozen=True, eq=False)
class Dataset:
    """A regression task.

    A model starts every split from a zero state, and the first `washout` rows of each split (of
    each of its series) are neither fitted nor scored.

    Attributes
    ----------
    name : str
    train, validation, test : Split
    washout : int
    metric : str
        Name of the function in `paralesn.datasets.metrics` that the task is scored by.
    citation : str
    meta : dict
        Further facts: the seed, normalisation coefficients, redrawn series.
    """

    name: str
    train: Split
    validation: Split
    test: Split
    washout: int
    metric: str
    citation: str
    meta: dict[str, Any] = field(default_factory=dict)

    def evaluate(self, prediction: np.ndarray, split: str = "test") -> dict[str, float]:
        """Score the prediction of a whole split, without its washout, by every metric.

        Parameters
        ----------
        prediction : array of the shape of the split's targets
        split : {"train", "validation", "test"}

        Returns
        -------
        dict of str to float
            The task's own metric comes first; the others are `nrmse`, `nrmse_std`, `rmse`, `mse`
            and `mae`.

        Examples
        --------
        >>> from paralesn.datasets import load
        >>> task = load("sinmem10")
        >>> round(task.evaluate(0 * task.test.targets)["nrmse"], 12)
        1.0
        """
        if split not in ("train", "validation", "test"):
            raise ValueError(f"split must be 'train', 'validation' or 'test', got {split!r}")
        targets = getattr(self, split).targets
        prediction = np.asarray(prediction)
        if prediction.shape != targets.shape:
            raise ValueError(
                f"prediction must have the shape of the {split} targets, {targets.shape}, "
                f"got {prediction.shape}"
            )
        rows = (..., slice(self.washout, None), slice(None))
        names = dict.fromkeys((self.metric, *metrics.ERRORS))
        return {name: metrics.METRICS[name](targets[rows], prediction[rows]) for name in names}


@dataclass(frozen=True, eq=False)
class ClassificationDataset:
    """A classification task with its official split.

    Attributes
    ----------
    name : str
    X_train, X_test : array (cases, time, features), or list of arrays (time_i, features)
        A list where series differ in length.
    y_train, y_test : array (cases,)
        Labels as in the file: whole numbers where all of them are, else strings.
    classes : array
        The labels that occur, sorted.
    validation_fraction : float
        Share of the training set that the paper holds out (see `stratified_split`).
    metric : str
    citation : str
    meta : dict
        Further facts, such as test cases that also occur in the training set.
    """

    name: str
    X_train: np.ndarray | list[np.ndarray]
    y_train: np.ndarray
    X_test: np.ndarray | list[np.ndarray]
    y_test: np.ndarray
    classes: np.ndarray
    validation_fraction: float = 0.3
    metric: str = "accuracy"
    citation: str = ""
    meta: dict[str, Any] = field(default_factory=dict)


def stratified_split(
    y: np.ndarray, fraction: float = 0.3, seed: int | None = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Hold out a share of the cases, class by class.

    Of n cases, round(fraction * n) are held out (halves up). Each class gives the whole part of
    its share; the remaining cases come from the classes with the largest remainders.

    Parameters
    ----------
    y : array (cases,)
        Labels.
    fraction : float
        Share held out, between 0 and 1: 0.3 for the paper's 70-30 split.
    seed : int or None

    Returns
    -------
    rest, held : arrays of indices, both sorted

    Examples
    --------
    >>> rest, held = stratified_split(["a"] * 7 + ["b"] * 3, fraction=0.3)
    >>> rest.size, held.size, int((held >= 7).sum())
    (7, 3, 1)
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"y must be a sequence of labels, got shape {labels.shape}")
    if not 0.0 < fraction < 1.0:
        raise ValueError(f"fraction must be between 0 and 1, got {fraction!r}")
    _, members = np.unique(labels, return_inverse=True)
    counts = np.bincount(members)
    shares = fraction * counts
    held_counts = np.floor(shares + 1e-9).astype(int)
    missing = int(np.floor(fraction * labels.size + 0.5)) - held_counts.sum()
    remainders = np.round(shares - held_counts, 9)  # equal remainders must compare as equal
    held_counts[np.argsort(-remainders, kind="stable")[:missing]] += 1
    seed = entropy(seed)
    held = np.zeros(labels.size, dtype=bool)
    for k, count in enumerate(held_counts):
        order = stream(seed, "stratified split", k).permutation(np.flatnonzero(members == k))
        held[order[:count]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)

"""Labels and numbers as targets of a network, and back."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from paralesn import checks
from paralesn.readouts.inputs import refuse_merged
from paralesn.readouts.training_rows import Moments, moments


def labels_or_targets(y: Any, rows: int, task: str | None) -> tuple[np.ndarray, bool]:
    """Labels (n,) or targets (n,) or (n, targets), and whether they are labels."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    # Made here: scikit-learn would make floats of the nullable integers of pandas.
    y = np.asarray(checks.unmasked("y", y))
    array = check_array(y, ensure_2d=False, allow_nd=True, dtype=None, input_name="y")
    classify = task == "classification" or (task is None and array.dtype.kind != "f")
    wide = array.ndim > 2 or (classify and array.ndim == 2 and array.shape[1] != 1)
    if wide or array.shape[0] != rows:
        expected = f"({rows},)" if classify else f"({rows},) or ({rows}, targets)"
        expected += f", as many rows as X ({rows})"
        raise ValueError(f"y must be {expected}, got shape {array.shape}")
    if not classify:
        return check_array(array, ensure_2d=False, dtype=float, input_name="y"), False
    array = column_or_1d(array, warn=True)
    refuse_merged(array)
    try:
        check_classification_targets(array)
    except TypeError as error:
        raise ValueError(f"y must hold labels of one type: {error}") from error
    return array, True


def label_codes(y: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Classes among the labels of the rows used, sorted, and the class of each row (n,)."""
    codes = np.zeros(y.shape[0], int)
    classes, codes[used] = np.unique(y[used], return_inverse=True)
    if classes.size < 2:
        raise ValueError("y must hold at least two classes, got only 1 class")
    return classes, codes


class TargetCoding(NamedTuple):
    """What a network's outputs stand for: classes, or standardised numbers."""

    classes: np.ndarray | None
    moments: Moments | None
    flat: bool

    @classmethod
    def of_numbers(cls, y: np.ndarray, rows: np.ndarray, weight: np.ndarray) -> Self:
        """Standardisation of targets (n,) or (n, targets) over some rows."""
        columns = y.reshape(y.shape[0], -1)
        return cls(None, moments(columns, rows, weight, "y"), y.ndim == 1)

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        if self.classes is not None:
            return self.classes.size
        assert self.moments is not None
        return self.moments.mean.size

    def standardised(self, y: np.ndarray) -> np.ndarray:
        """Targets (n, targets) of a network for numbers (n,) or (n, targets)."""
        assert self.moments is not None
        return self.moments.standardised(y.reshape(y.shape[0], -1))

    def of_validation(self, y: Any, rows: int) -> np.ndarray:
        """Targets of a network for the y of validation data."""
        if self.classes is not None:
            labels = column_or_1d(np.asarray(checks.unmasked("validation's y", y)))
            unknown = set(labels.tolist()) - set(self.classes.tolist())
            if unknown:
                raise ValueError(f"validation must hold labels of y, got {unknown.pop()!r}")
            targets = np.searchsorted(self.classes, labels)
        else:
            y = checks.unmasked("validation's y", y)
            y = check_array(y, ensure_2d=False, dtype=float, input_name="validation's y")
            width = y.reshape(y.shape[0], -1).shape[1]
            if width != self.outputs:
                raise ValueError(
                    f"validation must hold {self.outputs} targets as y does, got {width}"
                )
            targets = self.standardised(y)
        if targets.shape[0] != rows:
            raise ValueError(
                f"validation must hold {rows} rows of y as of X, got {targets.shape[0]}"
            )
        return targets

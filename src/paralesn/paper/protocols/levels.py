"""Tasks whose level wanders, put to a model as they are or in changes.

A level that the training rows never had leads every reservoir astray. With changes for inputs it
does not see the level, with changes for targets it need not know it. Either is a choice about the
task, the same for every model; errors are those of the values all the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn.datasets.dataset import Split

KEY = "protocol"  # of a configuration: what is not the reservoir's
VALUES, CHANGES = "values", "changes"


@dataclass(frozen=True)
class Levels:
    """What a model is given, and what it is to predict: values or changes of them.

    Attributes
    ----------
    inputs : {"values", "changes"}
        Changes are those from the row before, and zero in the first row of each series.
    targets : {"values", "changes"}
        Changes are those from the inputs of the same row, the last values that are known by then;
        only for targets that are later values of the inputs.
    """

    inputs: str = VALUES
    targets: str = VALUES

    def __post_init__(self) -> None:
        for name in ("inputs", "targets"):
            if (value := getattr(self, name)) not in (VALUES, CHANGES):
                raise ValueError(f"{name} must be {VALUES!r} or {CHANGES!r}, got {value!r}")

    @classmethod
    def of(cls, configuration: Mapping[str, Any]) -> "Levels":
        """As a configuration says; values where it says nothing."""
        return cls(**configuration.get(KEY, {}))

    def given(self, split: Split) -> np.ndarray:
        """Inputs of a split as the model is given them."""
        x = split.inputs
        return x if self.inputs == VALUES else np.diff(x, axis=-2, prepend=x[..., :1, :])

    def known(self, split: Split) -> np.ndarray | float:
        """What is to be added to what a model predicts, so that it is a value."""
        if self.targets == VALUES:
            return 0.0
        if split.inputs.shape != split.targets.shape:
            raise ValueError(
                "targets must be later values of the inputs to be predicted as changes, got "
                f"inputs {split.inputs.shape} and targets {split.targets.shape}"
            )
        return split.inputs

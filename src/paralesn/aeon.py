"""The classifier for aeon: shapes (cases, channels, time), aeon's conventions and checks.

Needs the extra ``aeon``: ``pip install 'paralesn[aeon]'``.
"""

from typing import Any

import numpy as np

from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.features.filter_bank import FilterBank
from paralesn.files import require

require("aeon", "aeon", purpose="paralesn.aeon")
from aeon.classification.base import BaseClassifier  # noqa: E402
from aeon.utils.validation import check_n_jobs  # noqa: E402


class ParalESNClassifier(BaseClassifier):
    """Classify series by a filter bank and a ridge readout: `ReservoirClassifier` for aeon.

    Parameters
    ----------
    units : int
        Number of filters, a multiple of 64.
    thresholds : int
        Thresholds of each filter's response.
    class_weight : None, "balanced" or dict
        Weights of the classes.
    n_jobs : int
        Threads; -1 is every core.
    random_state : int or None
        Seed of the filters.

    Examples
    --------
    >>> import numpy as np
    >>> from paralesn.aeon import ParalESNClassifier  # doctest: +SKIP
    >>> X = np.random.default_rng(0).normal(size=(20, 1, 50))  # (cases, channels, time)
    >>> ParalESNClassifier().fit(X, [0, 1] * 10).predict(X)  # doctest: +SKIP
    """

    _tags = {  # noqa: RUF012
        "capability:multivariate": True,
        "capability:unequal_length": True,
        "capability:multithreading": True,
        "algorithm_type": "convolution",
        "X_inner_type": ["np-list", "numpy3D"],
    }

    def __init__(
        self,
        units: int = 1024,
        thresholds: int = 8,
        class_weight: Any = None,
        n_jobs: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.units = units
        self.thresholds = thresholds
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        super().__init__()

    def _fit(self, X: Any, y: np.ndarray) -> "ParalESNClassifier":
        self._n_jobs = check_n_jobs(self.n_jobs)
        bank = FilterBank(
            self.units,
            thresholds=self.thresholds,
            n_jobs=self._n_jobs,
            seed=self.random_state,
        )
        model = ReservoirClassifier(bank, class_weight=self.class_weight)
        self.model_ = model.fit(_time_first(X), y)
        return self

    def _predict(self, X: Any) -> np.ndarray:
        return self.model_.predict(_time_first(X))

    def _predict_proba(self, X: Any) -> np.ndarray:
        """One for the class predicted: a ridge readout knows no probabilities."""
        predicted = self.model_.predict(_time_first(X))
        return (predicted[:, None] == self.classes_).astype(float)

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        return {"units": 64, "thresholds": 2}


def _time_first(X: Any) -> Any:
    """Series (channels, time) as (time, channels), whether stacked or in a list."""
    if isinstance(X, np.ndarray):
        return X.transpose(0, 2, 1)
    return [np.asarray(x).T for x in X]

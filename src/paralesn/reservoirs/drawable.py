"""The part of the reservoir contract that draws: parameters, input features, layers from a seed."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from threading import RLock
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from paralesn import checks, series
from paralesn.engines.base import Layer, engine_names, has_devices, n_columns, takes_tensors
from paralesn.engines.torch import tensors
from paralesn.layers.patches import Patches
from paralesn.layers.state import fingerprint
from paralesn.persistence import register
from paralesn.persistence.fields import Names
from paralesn.runtime.process import PerProcess
from paralesn.scaling import Scaling
from paralesn.series import Series
from paralesn.sources import Source

_ROWS = 1 << 16  # time steps checked at a time
_drawing = PerProcess(RLock)
_PRECISIONS = {name: np.dtype(name) for name in ("float32", "float64")}


@register
@dataclass(frozen=True, eq=False)
class Drawn:
    """What a reservoir holds once it is drawn, or made from given layers."""

    layers: tuple[Any, ...]
    feature_names: Names | None
    given: bool


class Drawable(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Layers drawn once, from a seed, for a number of input features.

    A subclass has the parameters below and implements `check_hyperparameters`, `draw_layers` and
    `count_parameters`; it may override `check_precision` and `parse`.
    """

    dtype: Any
    engine: str
    device: Any
    n_jobs: int | None
    seed: Any
    concat: bool
    mixing: bool
    layers_: tuple[Any, ...]
    n_parameters_: int
    n_features_in_: int
    fingerprint_: str
    _plans: dict[Any, Any]
    adapts: bool = False  # whether `fit` learns from the values of its input, not only their number
    is_local: bool = False  # whether it reads patches of a field, for which one readout may serve
    patches_: Patches | None = None  # the patches, where it is local

    # -- what a subclass says --------------------------------------------------------------------

    @abstractmethod
    def check_hyperparameters(self) -> None:
        """Raise an error that names the first hyperparameter with a wrong value."""

    @abstractmethod
    def draw_layers(self, n_features: int, rng: np.random.Generator) -> tuple[Layer, ...]:
        """Draw the layers for inputs with `n_features` features."""

    @abstractmethod
    def count_parameters(self) -> int:
        """Number of parameters of the drawn recurrence, as the paper counts them."""

    def check_precision(self, dtype: np.dtype) -> None:
        """Raise where rounding the drawn layers to `dtype` would break the reservoir."""

    def _check_runner(self) -> None:
        """Check the parameters that say how layers are run."""
        checks.choice("engine", self.engine, engine_names())
        if self.device is not None and not has_devices(self.engine):
            raise checks.fail("device", self.device, f"None with engine={self.engine!r}")
        checks.jobs(self.n_jobs)
        _ = self.real_dtype  # refuses other types

    # -- drawing ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the reservoir for inputs like X, of which only the number of features matters.

        Parameters
        ----------
        X : array-like (time, features) or (batch, time, features), list of arrays, or Series
        y : ignored
        """
        self.check_hyperparameters()
        self.check_names(X, reset=True)
        if isinstance(X, Series):  # checked when it was made
            n_features = X.rows.shape[1]
        else:
            n_features = 0
            for t0, block in series.blocks(X, block=_ROWS, numeric=self._numeric()):
                n_features = self.parse(block, None, t0, allow_ended=True).rows.shape[1]
        self._draw_for(n_features)
        return self

    def fit_to(self, source: Source, scaling: Scaling | None) -> Self:
        """Draw the reservoir for series that it will read scaled, and show it these if it adapts.

        Parameters
        ----------
        source : Source
        scaling : Scaling or None
            How the series will be scaled.
        """
        if not self.adapts:
            return self.fit(source.first_row())
        if scaling is None:
            return self.fit(source.read(self.real_dtype))
        return self.fit(scaling.apply_to(source.read(check=False)))

    def _draw_for(self, n_features: int) -> None:
        self.layers_ = self.draw_layers(n_features, checks.generator(self.seed))
        self.n_features_in_ = n_features
        self._settle()

    def _settle(self) -> None:
        """Derive what follows from the layers; plans come last, as a sign that all is there."""
        self.n_parameters_ = self.count_parameters()
        self.fingerprint_ = fingerprint(self._parts())
        self._plans = {}

    def _parts(self) -> tuple[Any, ...]:
        """What states belong to: arrays that tell this model from another one."""
        return self.layers_

    def _ensure_drawn(self, n_features: int) -> None:
        if hasattr(self, "_plans"):
            return
        with _drawing.value:  # a first use may be that of several threads
            if not hasattr(self, "_plans"):
                self.check_hyperparameters()
                self._draw_for(n_features)

    @property
    def n_features_out_(self) -> int:
        """Columns of the states, for the present values of `concat` and `mixing`."""
        return n_columns(self.layers_, self.concat, self.mixing)

    @property
    def _n_features_out(self) -> int:
        """The same, by the name scikit-learn's mixin looks for."""
        return self.n_features_out_

    @property
    def real_dtype(self) -> np.dtype:
        """Floating-point type of inputs and of mixed states."""
        if isinstance(self.dtype, str) and (known := _PRECISIONS.get(self.dtype)) is not None:
            return known  # NumPy takes microseconds to name a dtype, and every call asks
        name = checks.dtype_name(self.dtype)
        return np.dtype(checks.choice("dtype", name, _PRECISIONS))

    # -- input -----------------------------------------------------------------------------------

    def check_names(self, X: Any, reset: bool) -> None:
        """Compare the column names of a table with those of `fit`; `reset` learns them."""
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _restore_names(self, names: np.ndarray | None) -> None:
        """Take over the names of the features from a file."""
        if names is None:
            return
        if np.shape(names) != (self.n_features_in_,):
            raise checks.fail("feature_names_in_", names, f"{self.n_features_in_} names")
        self.feature_names_in_ = names

    def read(self, X: Any, first_step: int = 0, allow_ended: bool = False) -> Series:
        """Parse and check X once, for any number of calls that take a Series.

        Parameters
        ----------
        X : as in `run`
            A reservoir that was never fitted is drawn for the number of features of X.
        first_step : int
            Number of the first time step, for error messages.
        allow_ended : bool
            Whether series of a collection may be empty, as in a block after their end.
        """
        data = self.parse(X, getattr(self, "n_features_in_", None), first_step, allow_ended)
        self._ensure_drawn(data.rows.shape[1])
        return data

    def parse(
        self, X: Any, n_features: int | None, first_step: int = 0, allow_ended: bool = False
    ) -> Series:
        """X as a Series of this reservoir's precision with `n_features` features, if given.

        A Series was checked before; a subclass with an input of its own kind overrides this.
        """
        if isinstance(X, Series):
            return X.require(self.real_dtype, n_features, type(self).__name__)
        call = (self.real_dtype, n_features, type(self).__name__, "X", first_step, allow_ended)
        if takes_tensors(self.engine) and tensors.are_tensors(X):
            return tensors.read(X, *call, device=self.device)
        return series.read(X, *call)

    def _numeric(self) -> Any:
        """What makes arrays of input that is cut before it is parsed."""
        return tensors.tensor_or_numeric if takes_tensors(self.engine) else series.numeric

    # -- scikit-learn ----------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = [checks.dtype_name(self.dtype)]
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_plans" in state:
            state["_plans"] = {}  # compiled kernels do not travel
        return state

"""Reservoirs on the patches of a field, for systems that extend in space."""

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from paralesn import checks, series
from paralesn.engines import local
from paralesn.engines.base import Layer
from paralesn.layers.patches import Patches
from paralesn.persistence import register
from paralesn.persistence.fields import Names
from paralesn.reservoirs.base import Plan, Reservoir
from paralesn.reservoirs.paralesn import ParalESN
from paralesn.series import Series
from paralesn.tunable import TunableDefaults


@register
@dataclass(frozen=True, eq=False)
class FittedLocal:
    """What local reservoirs hold once they are drawn.

    Attributes
    ----------
    reservoir : Reservoir
        Drawn for what one patch reads.
    patches : Patches
    feature_names : array or None
    """

    reservoir: Reservoir
    patches: Patches
    feature_names: Names | None


@register
class LocalReservoirs(TunableDefaults, Reservoir):
    r"""One reservoir on every patch of a field, for systems that extend in space.

    A field of F values on a ring, such as a chemical concentration or a height of the surface, is
    cut into patches of `size` values. Every patch has a reservoir that reads these and `overlap`
    values on either side; all of them are copies of one drawn reservoir. What happens at a place
    depends on its neighbourhood only, and the same law holds everywhere. So in closed loop
    (``ReservoirForecaster(LocalReservoirs(), strategy="closed-loop")``) **one readout serves all
    patches**: it learns from each of them, predicts the values that a patch owns, and the field of
    all predictions is what the patches read next. A system of ten times the size takes ten times
    as many patches, but no larger reservoir, no larger readout and no longer training series.

    For anything else it is a reservoir: the states of all patches stand side by side,
    ``states[:, g * units : (g + 1) * units]`` being those of patch g.

    Parameters
    ----------
    reservoir : reservoir, optional
        What is drawn for a patch. Default: a `ParalESN` of 512 units.
    size : int
        Values that a patch owns; divides the number of features.
    overlap : int
        Values that it reads on either side. As far as the field acts within a few time steps:
        too few leave a patch blind, too many are features that tell nothing.

    Attributes
    ----------
    reservoir_ : Reservoir
        Drawn for ``size + 2 * overlap`` features.
    patches_ : Patches
        Which values each patch owns and reads.
    layers_ : tuple
        Of the reservoir of a patch.
    n_parameters_ : int
        Of the reservoir of a patch, which all share.
    n_features_in_ : int

    References
    ----------
    Pathak, Hunt, Girvan, Lu, Ott. Model-free prediction of large spatiotemporally chaotic systems
    from data: a reservoir computing approach. Physical Review Letters, 2018.

    Examples
    --------
    Waves that travel around a ring of 32 places, and a patch for every four of them:

    >>> import numpy as np, paralesn as pe
    >>> t, place = np.arange(600)[:, None], 2 * np.pi * np.arange(32) / 32
    >>> field = np.sin(place - 0.05 * t) + 0.5 * np.sin(3 * place + 0.11 * t)
    >>> local = pe.LocalReservoirs(pe.ParalESN(units=100), size=4, overlap=2)
    >>> model = pe.ReservoirForecaster(local, strategy="closed-loop").fit(field[:500])
    >>> model.readout_.coef_.shape  # four values from a hundred units, for any size of the ring
    (4, 100)
    >>> bool(np.abs(model.forecast(100) - field[500:]).max() < 0.05)
    True
    """

    DEFAULT_COMPONENTS: ClassVar = {"reservoir": lambda model: default_reservoir()}
    is_local = True
    reservoir_: Reservoir

    def __init__(self, reservoir: Any = None, *, size: int = 8, overlap: int = 8) -> None:
        self.reservoir = reservoir
        self.size = size
        self.overlap = overlap

    # -- parameters of the reservoir that say how it is run --------------------------------------

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        """Of the reservoir."""
        return self._of_reservoir("dtype")

    @property
    def engine(self) -> str:  # type: ignore[override]
        """Of the reservoir."""
        return str(self._of_reservoir("engine"))

    @property
    def device(self) -> Any:  # type: ignore[override]
        """Of the reservoir."""
        return self._of_reservoir("device")

    @property
    def n_jobs(self) -> int | None:  # type: ignore[override]
        """Of the reservoir."""
        jobs: int | None = self._of_reservoir("n_jobs")
        return jobs

    @property
    def seed(self) -> Any:  # type: ignore[override]
        """Of the reservoir."""
        return self._of_reservoir("seed")

    @property
    def concat(self) -> bool:  # type: ignore[override]
        """Of the reservoir."""
        return bool(self._of_reservoir("concat"))

    @property
    def mixing(self) -> bool:  # type: ignore[override]
        """Of the reservoir."""
        return bool(self._of_reservoir("mixing"))

    def _of_reservoir(self, name: str) -> Any:
        return getattr(self.reservoir_ if hasattr(self, "reservoir_") else self._given(), name)

    def _given(self) -> Reservoir:
        """The reservoir that was given, or the default one."""
        reservoir = self.component("reservoir")
        if not isinstance(reservoir, Reservoir) or reservoir.is_local:
            raise checks.fail("reservoir", reservoir, "None or a reservoir that is not local")
        return reservoir

    # -- drawing ---------------------------------------------------------------------------------

    def check_hyperparameters(self) -> None:
        """Raise an error that names the first hyperparameter with a wrong value."""
        reservoir = self._given()
        if reservoir.adapts or getattr(reservoir, "vocabulary", None) is not None:
            expected = "a reservoir that does not adapt to its input and reads numbers"
            raise checks.fail("reservoir", reservoir, expected)
        reservoir.check_hyperparameters()
        checks.integer("size", self.size, 1)
        checks.integer("overlap", self.overlap, 0)

    def draw_layers(self, n_features: int, rng: np.random.Generator) -> tuple[Layer, ...]:
        """Draw the reservoir of a patch for a field of `n_features` values; return its layers."""
        self.patches_ = Patches(n_features, self.size, self.overlap)
        self.reservoir_ = clone(self.component("reservoir"))
        self.reservoir_.fit(np.zeros((1, self.patches_.width)))
        return self.reservoir_.layers_

    def _parts(self) -> tuple[Any, ...]:
        """Layers, and where patches lie."""
        return (*self.layers_, self.patches_)

    def on_field(self, n_features: int) -> "LocalReservoirs":
        """Copies of the same drawn reservoir on a field of another size."""
        check_is_fitted(self, "reservoir_")
        other = copy(self)
        other.__dict__.pop("feature_names_in_", None)
        other.patches_ = Patches(n_features, self.size, self.overlap)
        other.n_features_in_ = n_features
        other._settle()
        return other

    def count_parameters(self) -> int:
        """Number of parameters of the reservoir that all patches share."""
        return self.reservoir_.n_parameters_

    @property
    def n_features_out_(self) -> int:
        """Columns of the states of all patches."""
        check_is_fitted(self, "reservoir_")
        assert self.patches_ is not None
        return self.patches_.count * self.reservoir_.n_features_out_

    @property
    def fitted_(self) -> FittedLocal:
        """The reservoir of a patch and the patches: all that a file holds besides parameters."""
        if not hasattr(self, "reservoir_") or self.patches_ is None:
            raise AttributeError(f"this {type(self).__name__} was not drawn yet")
        names = getattr(self, "feature_names_in_", None)
        return FittedLocal(self.reservoir_, self.patches_, names)

    @fitted_.setter
    def fitted_(self, fitted: FittedLocal) -> None:
        """Check what a file said, and derive the rest from it."""
        self.check_hyperparameters()
        patches, reservoir = fitted.patches, fitted.reservoir
        if not isinstance(reservoir, type(self.component("reservoir"))):
            raise TypeError(f"the reservoir of a patch is a {type(reservoir).__name__}")
        if (patches.size, patches.overlap) != (self.size, self.overlap):
            raise ValueError("the patches of a file do not fit size and overlap")
        if reservoir.n_features_in_ != patches.width:
            raise ValueError("the reservoir of a patch does not fit what a patch reads")
        self.reservoir_, self.patches_ = reservoir, patches
        self.layers_, self.n_features_in_ = reservoir.layers_, patches.features
        self._restore_names(fitted.feature_names)
        self._settle()

    # -- running ---------------------------------------------------------------------------------

    def plan(self) -> Plan:
        """Engine, program, dtypes and shapes: those of a patch, spread over all patches."""
        inner, patches = self.reservoir_.plan(), self.patches_
        plan: Plan | None = self._plans.get("local")
        if plan is None or plan.program.program is not inner.program:
            assert patches is not None
            plan = self._plans["local"] = inner._replace(
                engine=local,  # type: ignore[arg-type]  # it prepares nothing
                program=local.Program(inner.engine, inner.program, patches, patches.columns()),
                widths=tuple(width * patches.count for width in inner.widths),
                outputs=inner.outputs * patches.count,
                takes_tensors=False,
            )
        return plan

    def parse(
        self, X: Any, n_features: int | None, first_step: int = 0, allow_ended: bool = False
    ) -> Series:
        """X as a Series of this reservoir's precision; tensors are not run as they are."""
        if isinstance(X, Series):
            return X.require(self.real_dtype, n_features, type(self).__name__)
        call = (self.real_dtype, n_features, type(self).__name__, "X", first_step, allow_ended)
        return series.read(X, *call)

    def _numeric(self) -> Any:
        return series.numeric


def default_reservoir() -> ParalESN:
    """The reservoir of a patch that was given none, found on the Kuramoto-Sivashinsky equation.

    It has hardly any memory: the next field follows from the present one.
    """
    return ParalESN(units=512, rho=(0.0, 0.3), input_scale=0.07, bias_scale=1.0, mix_scale=1.0)

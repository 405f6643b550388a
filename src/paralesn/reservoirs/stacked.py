"""Layers on top of each other: how they are sized, drawn one by one, or given."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from paralesn import checks
from paralesn.reservoirs.base import Reservoir
from paralesn.reservoirs.drawable import Drawn
from paralesn.runtime.memory import require_room

_LAYER_BYTES = 1 << 11  # that a layer takes at least, as objects


class Stacked(Reservoir):
    """Layers on top of each other, each drawn from hyperparameters of its own.

    A subclass names the hyperparameters of a layer in `LAYER_PARAMETERS`, which `inter` may set
    anew for the layers after the first, those that all layers share in `SHARED_PARAMETERS`, and its
    parameters that are True or False in `FLAGS`. It says how one layer is checked and drawn:
    `check_layer`, `draw_layer`. For layers that are given, not drawn, it implements `check_layers`
    and `implied_parameters`.
    """

    LAYER_PARAMETERS: ClassVar[tuple[str, ...]]
    SHARED_PARAMETERS: ClassVar[tuple[str, ...]] = ()
    FLAGS: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        units: int = 128,
        *,
        layers: int = 1,
        inter: Mapping[str, Any] | None = None,
        concat: bool = False,
        dtype: Any = "float64",
        engine: str = "auto",
        device: Any = None,
        n_jobs: int | None = None,
        seed: Any = 0,
    ) -> None:
        self.units = units
        self.layers = layers
        self.inter = inter
        self.concat = concat
        self.dtype = dtype
        self.engine = engine
        self.device = device
        self.n_jobs = n_jobs
        self.seed = seed

    @abstractmethod
    def check_layer(self, hyper: Mapping[str, Any], prefix: str) -> None:
        """Check the hyperparameters of a layer; error messages call them ``prefix + name``."""

    @abstractmethod
    def draw_layer(
        self,
        rng: np.random.Generator,
        width: int,
        below: int,
        is_first: bool,
        hyper: Mapping[str, Any],
    ) -> Any:
        """Draw a layer of `width` units above `below` units or, the first one, features."""

    @staticmethod
    @abstractmethod
    def check_layers(layers: Any) -> tuple[Any, ...]:
        """Check given layers."""

    @staticmethod
    @abstractmethod
    def implied_parameters(layers: tuple[Any, ...]) -> dict[str, Any]:
        """Parameters that given layers imply."""

    # -- drawing ---------------------------------------------------------------------------------

    def check_hyperparameters(self) -> None:
        """Raise an error that names the first hyperparameter with a wrong value."""
        checks.integer("units", self.units, 1)
        checks.integer("layers", self.layers, 1)
        for name in self.FLAGS:
            checks.flag(name, getattr(self, name))
        if self.concat and self.units < self.layers:
            raise checks.fail("units", self.units, f"at least layers ({self.layers}) with concat")
        self._check_runner()
        given = self._given()
        if given is not None:
            self._check_given(given)
            return
        first, later = self._hyperparameters()
        self.check_layer(first, "")
        self.check_layer(later, "inter ")

    def _hyperparameters(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Hyperparameters of the first layer, and of the later ones."""
        first = {name: getattr(self, name) for name in self.LAYER_PARAMETERS}
        inter = self.inter
        if inter is None:
            return first, first
        if not isinstance(inter, Mapping):
            raise checks.fail("inter", inter, "None or a dict", TypeError)
        unknown = sorted(set(map(str, inter)) - set(self.LAYER_PARAMETERS))
        if unknown:
            expected = "a dict with keys among " + ", ".join(self.LAYER_PARAMETERS)
            raise ValueError(f"inter must be {expected}, got the unknown {unknown[0]!r}")
        return first, first | dict(inter)

    def draw_layers(self, n_features: int, rng: np.random.Generator) -> tuple[Any, ...]:
        """Draw the layers one by one, or return the given ones if they fit."""
        given = self._given()
        if given is not None:
            features = given[0].n_inputs
            if features != n_features:
                raise ValueError(
                    f"X has {n_features} features, but {type(self).__name__} is expecting "
                    f"{features} features as input"
                )
            return given
        require_room("layers", self.layers, _LAYER_BYTES * self.layers)
        require_room("units", self.units, 8 * self.units)
        weights = f"{n_features} features for {self.units} units"
        require_room("X", weights, 8 * self.units * n_features)
        widths = [self.units] * self.layers
        if self.concat:
            share, rest = divmod(self.units, self.layers)
            widths = [share + rest] + [share] * (self.layers - 1)
        first, later = self._hyperparameters()
        drawn, below = [], n_features
        for depth, width in enumerate(widths):
            hyper = later if depth else first
            drawn.append(self.draw_layer(rng, width, below, depth == 0, hyper))
            below = width
        return tuple(drawn)

    @property
    def fitted_(self) -> Drawn:
        """The layers with the names of the features: all that a file holds besides parameters."""
        given = self._given()
        layers = getattr(self, "layers_", given)
        if layers is None:
            raise AttributeError(f"this {type(self).__name__} was not drawn yet")
        return Drawn(layers, getattr(self, "feature_names_in_", None), given is not None)

    @fitted_.setter
    def fitted_(self, drawn: Drawn) -> None:
        """Check layers from a file as given ones are, and derive the rest from them."""
        layers = self.check_layers(drawn.layers)
        if drawn.given:
            self._given_layers = layers
        self.check_hyperparameters()
        self.layers_, self.n_features_in_ = layers, layers[0].n_inputs
        self._restore_names(drawn.feature_names)
        self._settle()

    # -- from given arrays -----------------------------------------------------------------------

    @classmethod
    def _from_layers(
        cls, layers: Sequence[Any], concat: bool, parameters: Mapping[str, Any]
    ) -> Self:
        """Build a reservoir from given layers; parameters that describe a draw keep defaults."""
        checked = cls.check_layers(layers)
        widths = [layer.units for layer in checked]
        made = cls(
            units=sum(widths) if concat else widths[-1],
            layers=len(checked),
            concat=concat,
            **cls.implied_parameters(checked),
            **parameters,
        )
        made._given_layers = checked
        made.check_hyperparameters()
        made._draw_for(checked[0].n_inputs)
        return made

    def _given(self) -> tuple[Any, ...] | None:
        return getattr(self, "_given_layers", None)

    def _check_given(self, given: tuple[Any, ...]) -> None:
        fresh = type(self)()
        for name in (*self.LAYER_PARAMETERS, *self.SHARED_PARAMETERS, "inter", "seed"):
            if getattr(self, name) != getattr(fresh, name):
                raise ValueError(
                    f"{name} must be left alone in a reservoir made by from_layers, whose arrays "
                    f"are given, got {getattr(self, name)!r}"
                )
        if self.layers != len(given):
            raise checks.fail("layers", self.layers, f"{len(given)}, as given to from_layers")

    def __sklearn_clone__(self) -> Self:
        fresh: Self = super().__sklearn_clone__()
        given = self._given()
        if given is not None:
            fresh._given_layers = given
        return fresh

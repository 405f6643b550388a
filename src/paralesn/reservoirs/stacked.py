"""Layers on top of each other: how they are sized, drawn one by one, or given."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from paralesn import checks
from paralesn.engines.base import engine_names, has_devices
from paralesn.persistence import register
from paralesn.reservoirs.base import Reservoir


@register
@dataclass(frozen=True, eq=False)
class Drawn:
    """What a reservoir holds once it is drawn, or made from given layers."""

    layers: tuple[Any, ...]
    feature_names: np.ndarray | None
    given: bool


class Stacked(Reservoir):
    """What all reservoirs made of layers share.

    A subclass names the hyperparameters of a layer, which `inter` may set anew for the layers after
    the first, and says how one layer is checked and drawn.
    """

    OF_A_LAYER: ClassVar[tuple[str, ...]]
    FLAGS: ClassVar[tuple[str, ...]]
    units: int
    layers: int
    inter: Mapping[str, Any] | None

    @abstractmethod
    def _check_layer(self, hyper: Mapping[str, Any], prefix: str) -> None:
        """Check the hyperparameters of one layer."""

    @abstractmethod
    def _draw_layer(
        self,
        rng: np.random.Generator,
        width: int,
        below: int,
        is_first: bool,
        hyper: Mapping[str, Any],
    ) -> Any:
        """Draw a layer of `width` units that reads `below` features, or units."""

    @staticmethod
    @abstractmethod
    def _checked(layers: Any) -> tuple[Any, ...]:
        """Check given layers."""

    @staticmethod
    @abstractmethod
    def _said_of(layers: tuple[Any, ...]) -> dict[str, Any]:
        """Hyperparameters that given layers imply."""

    # -- drawing ---------------------------------------------------------------------------------

    def _check_hyperparameters(self) -> None:
        checks.integer("units", self.units, 1)
        checks.integer("layers", self.layers, 1)
        for name in self.FLAGS:
            checks.flag(name, getattr(self, name))
        if self.concat and self.units < self.layers:
            raise checks.fail("units", self.units, f"at least layers ({self.layers}) with concat")
        checks.choice("engine", self.engine, engine_names())
        if self.device is not None and not has_devices(self.engine):
            raise checks.fail("device", self.device, f"None with engine={self.engine!r}")
        checks.jobs(self.n_jobs)
        _ = self.real_dtype  # refuses other types
        given = self._given()
        if given is not None:
            self._check_given(given)
            return
        first, later = self._hyperparameters()
        self._check_layer(first, "")
        self._check_layer(later, "inter ")

    def _hyperparameters(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Hyperparameters of the first layer, and of the later ones."""
        first = {name: getattr(self, name) for name in self.OF_A_LAYER}
        inter = self.inter
        if inter is None:
            return first, first
        if not isinstance(inter, Mapping):
            raise checks.fail("inter", inter, "None or a dict", TypeError)
        unknown = sorted(set(map(str, inter)) - set(self.OF_A_LAYER))
        if unknown:
            expected = "a dict with keys among " + ", ".join(self.OF_A_LAYER)
            raise ValueError(f"inter must be {expected}, got the unknown {unknown[0]!r}")
        return first, first | dict(inter)

    def _draw(self, n_features: int, rng: np.random.Generator) -> tuple[Any, ...]:
        given = self._given()
        if given is not None:
            features = given[0].n_inputs
            if features != n_features:
                raise ValueError(
                    f"X has {n_features} features, but {type(self).__name__} is expecting "
                    f"{features} features as input"
                )
            return given
        widths = [self.units] * self.layers
        if self.concat:
            share, rest = divmod(self.units, self.layers)
            widths = [share + rest] + [share] * (self.layers - 1)
        first, later = self._hyperparameters()
        drawn, below = [], n_features
        for depth, width in enumerate(widths):
            hyper = later if depth else first
            drawn.append(self._draw_layer(rng, width, below, depth == 0, hyper))
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
        layers = self._checked(drawn.layers)
        if drawn.given:
            self._given_layers = layers
        self._check_hyperparameters()
        self.layers_, self.n_features_in_ = layers, layers[0].n_inputs
        if drawn.feature_names is not None:
            if np.shape(drawn.feature_names) != (self.n_features_in_,):
                raise checks.fail(
                    "feature_names_in_", drawn.feature_names, f"{self.n_features_in_} names"
                )
            self.feature_names_in_ = drawn.feature_names
        self._settle()

    # -- from given arrays -----------------------------------------------------------------------

    @classmethod
    def _from_layers(cls, layers: Sequence[Any], concat: bool, **parameters: Any) -> Self:
        """Build a reservoir from given layers; parameters that describe a draw keep defaults."""
        checked = cls._checked(layers)
        widths = [layer.units for layer in checked]
        made = cls(
            units=sum(widths) if concat else widths[-1],  # type: ignore[call-arg]
            layers=len(checked),
            concat=concat,
            **cls._said_of(checked),
            **parameters,
        )
        made._given_layers = checked
        made._check_hyperparameters()
        made._draw_for(checked[0].n_inputs)
        return made

    def _given(self) -> tuple[Any, ...] | None:
        return getattr(self, "_given_layers", None)

    def _check_given(self, given: tuple[Any, ...]) -> None:
        fresh = type(self)()
        for name in (*self.OF_A_LAYER, "inter", "seed"):
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

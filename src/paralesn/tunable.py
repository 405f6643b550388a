"""Components that were not given can be tuned by name, as if they had been."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self


class TunableDefaults:
    """Mixin of estimators whose components may be None, which stands for a default.

    `get_params` lists the parameters of a default as well, although what is stored stays None, and
    `set_params(reservoir__units=50)` makes the default, sets its parameter and stores it. So do
    searches, which call these two. Put the mixin first among the bases.

    Attributes
    ----------
    DEFAULT_COMPONENTS : dict of str to function
        For each argument that may be None, what makes its default; the function is given the
        estimator. An argument comes after those whose components its default depends on.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from sklearn.linear_model import Ridge
    >>> class Model(TunableDefaults, BaseEstimator):
    ...     DEFAULT_COMPONENTS = {"readout": lambda model: Ridge()}
    ...     def __init__(self, readout=None):
    ...         self.readout = readout
    >>> model = Model()
    >>> model, model.get_params()["readout__alpha"]
    (Model(), 1.0)
    >>> model.set_params(readout__alpha=5.0)
    Model(readout=Ridge(alpha=5.0))
    """

    DEFAULT_COMPONENTS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    def component(self, name: str) -> Any:
        """The component that was given, or a new default."""
        given = getattr(self, name)
        return self.DEFAULT_COMPONENTS[name](self) if given is None else given

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` adds those of components, given or default.

        Parameters
        ----------
        deep : bool

        Returns
        -------
        params : dict
        """
        params: dict[str, Any] = super().get_params(deep)  # type: ignore[misc]
        for name in self.DEFAULT_COMPONENTS if deep else ():
            if getattr(self, name) is None:
                nested = self.component(name).get_params()
                params |= {f"{name}__{key}": value for key, value in nested.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, such as ``reservoir__units=50`` for one of a component.

        A component is set before its parameters, whatever the order. Where it is None, its default
        is made, and stored with the parameters set.

        Returns
        -------
        self
        """
        whole = {name: value for name, value in params.items() if "__" not in name}
        if whole:
            super().set_params(**whole)  # type: ignore[misc]
        rest = {name: value for name, value in params.items() if "__" in name}
        for name in self.DEFAULT_COMPONENTS:
            nested = {key: value for key, value in rest.items() if key.startswith(f"{name}__")}
            if nested and getattr(self, name) is None:
                made = self.component(name)
                made.set_params(**{key[len(name) + 2 :]: nested[key] for key in nested})
                setattr(self, name, made)
                rest = {key: value for key, value in rest.items() if key not in nested}
        if rest:
            super().set_params(**rest)  # type: ignore[misc]
        return self

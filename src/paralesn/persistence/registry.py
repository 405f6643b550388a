"""The classes that may be saved, and how their instances are taken apart and rebuilt."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import UnionType
from typing import Any, NamedTuple, TypeVar, get_args

from paralesn import checks
from paralesn.persistence.fields import check_fields
from paralesn.persistence.saved_classes import MODULES

Class = TypeVar("Class", bound=type)


class Entry(NamedTuple):
    """How instances of a class become named values, and values that were checked an instance."""

    cls: type
    take_apart: Callable[[Any], dict[str, Any]]
    rebuild: Callable[[dict[str, Any]], Any]


_registry: dict[str, Entry] = {}


def register(cls: Class) -> Class:
    """Class decorator: let instances of a class be saved and loaded.

    Two kinds of class can be registered:

    - A frozen dataclass is saved by its fields. Loading calls its constructor, so what
      ``__post_init__`` refuses is refused in a file as well.
    - A class with scikit-learn's `get_params` is saved as its parameters and, once it is fitted,
      its attribute ``fitted_``: one registered frozen dataclass with everything that was learnt,
      named in the class's annotation of ``fitted_``. After loading, ``fitted_.check(model)`` is
      called where that method exists; it raises ValueError or TypeError unless the state is whole
      and fits the model's parameters. Attributes besides ``fitted_`` are not saved: derive them
      from it, as properties.

    Values may be numbers, strings, None, NumPy arrays and random generators, instances of
    registered classes, and lists, tuples and dicts of these. A file names classes by their bare
    names, so two registered classes cannot share one; import the module that defines yours before
    loading.

    Parameters
    ----------
    cls : type

    Returns
    -------
    cls : type
        The class itself.

    Examples
    --------
    A readout that predicts the mean of the targets:

    >>> import tempfile
    >>> from dataclasses import dataclass
    >>> import numpy as np, paralesn as pe
    >>> from sklearn.base import BaseEstimator, RegressorMixin
    >>> @pe.register
    ... @dataclass(frozen=True)
    ... class FittedMean:
    ...     mean: np.ndarray
    ...     n_features: int
    ...
    ...     def check(self, model):
    ...         if self.mean.ndim != 1:
    ...             raise ValueError(f"mean must be (targets,), got shape {self.mean.shape}")
    >>> @pe.register
    ... class MeanReadout(RegressorMixin, BaseEstimator):
    ...     fitted_: FittedMean
    ...
    ...     @property
    ...     def n_features_in_(self):
    ...         return self.fitted_.n_features
    ...
    ...     def fit(self, X, y):
    ...         y = np.asarray(y).reshape(len(y), -1)
    ...         self.fitted_ = FittedMean(y.mean(axis=0), X.shape[1])
    ...         return self
    ...
    ...     def predict(self, X):
    ...         return np.tile(self.fitted_.mean, (len(X), 1))
    >>> model = MeanReadout().fit(np.zeros((4, 2)), [1.0, 2.0, 3.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pe.save(model, folder + "/mean.safetensors")
    ...     pe.load(folder + "/mean.safetensors").predict(np.zeros((1, 2)))
    array([[2.5]])
    """
    if not isinstance(cls, type):
        raise TypeError(f"register must decorate a class, got {cls!r}")
    if is_dataclass(cls):
        return _enter(cls, *_of_dataclass(cls))
    if hasattr(cls, "get_params"):
        return _enter(cls, *_of_estimator(cls))
    raise TypeError(
        "register must decorate a frozen dataclass or a class with scikit-learn's get_params, got "
        f"{cls.__name__}"
    )


def entry_of(value: Any) -> Entry | None:
    """The entry of exactly the class of `value`, if it is registered."""
    entry = _registry.get(type(value).__name__)
    return entry if entry is not None and entry.cls is type(value) else None


def entry_named(name: str) -> Entry:
    """The entry of a name in a file; the module of a class of the package is imported."""
    if name not in _registry and name in MODULES:
        import_module(f"paralesn.{MODULES[name]}")
    if name not in _registry:
        raise ValueError(
            f"no class {name!r} is registered: if it is yours, import its module before loading"
        )
    return _registry[name]


def names_of_models() -> list[str]:
    """Names of the registered classes that have parameters, those of the package included."""
    for module in sorted(set(MODULES.values())):
        import_module(f"paralesn.{module}")
    return [name for name, entry in _registry.items() if hasattr(entry.cls, "get_params")]


def _enter(cls: Class, take_apart: Callable[..., Any], rebuild: Callable[..., Any]) -> Class:
    before = _taken_by(cls.__name__)
    if before is not None and before != _full_name(cls):  # a cell may run again
        raise ValueError(
            f"register must decorate a class of a name of its own, got {_full_name(cls)}: "
            f"{before} is registered"
        )
    _registry[cls.__name__] = Entry(cls, take_apart, rebuild)
    return cls


def _taken_by(name: str) -> str | None:
    """The full name of the class that has a name, be it imported yet or not."""
    if name in MODULES:
        return f"paralesn.{MODULES[name]}.{name}"
    return _full_name(_registry[name].cls) if name in _registry else None


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _of_dataclass(cls: type) -> tuple[Callable[..., Any], Callable[..., Any]]:
    if not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise TypeError(f"register must decorate a frozen dataclass, got {cls.__name__}")
    names = [field.name for field in fields(cls) if field.init]
    is_ours = cls.__name__ in MODULES  # annotations of others are theirs to choose

    def take_apart(instance: Any) -> dict[str, Any]:
        values = {name: getattr(instance, name) for name in names}
        if is_ours:
            check_fields(cls, values)
        return values

    def rebuild(values: dict[str, Any]) -> Any:
        if is_ours:
            check_fields(cls, values)
        return cls(**values)

    return take_apart, rebuild


def _of_estimator(cls: type) -> tuple[Callable[..., Any], Callable[..., Any]]:
    states, is_ours = _names_of_states(cls), cls.__name__ in MODULES

    def take_apart(model: Any) -> dict[str, Any]:
        return {
            "parameters": model.get_params(deep=False),
            "fitted": getattr(model, "fitted_", None),
            **output_of(model),
        }

    def rebuild(values: dict[str, Any]) -> Any:
        if is_ours:
            _check_complete(cls, values["parameters"])
        model, fitted = cls(**values["parameters"]), values["fitted"]
        set_output(model, values.get("output", {}))
        if fitted is None:
            return model
        if entry_of(fitted) is None or type(fitted).__name__ not in states:
            expected = " or ".join(states)
            raise TypeError(
                f"fitted_ of {cls.__name__} must be a {expected}, got {type(fitted).__name__}"
            )
        model.fitted_ = fitted
        if hasattr(fitted, "check"):
            fitted.check(model)
        return model

    return take_apart, rebuild


def _check_complete(cls: Any, parameters: Any) -> None:
    """Refuse a file without a parameter: it would have another value than when it was saved."""
    missing = sorted(set(cls._get_param_names()) - set(parameters))
    if missing:
        raise ValueError(f"{cls.__name__} must have the parameter {missing[0]}")


def output_of(model: Any) -> dict[str, Any]:
    """What `set_output` of scikit-learn was told, where it was."""
    told = getattr(model, "_sklearn_output_config", None)
    return {"output": dict(told)} if told else {}


def set_output(model: Any, told: Any) -> None:
    """Tell it again, once it was checked."""
    for kind, container in dict(told).items():
        checks.choice("set_output", kind, ("transform",))
        checks.choice("set_output", container, ("default", "pandas", "polars"))
        model.set_output(transform=container)


def _names_of_states(cls: type) -> tuple[str, ...]:
    """Names of the classes that `fitted_` may have, from its annotation."""
    attribute = inspect.getattr_static(cls, "fitted_", None)
    if isinstance(attribute, property) and attribute.fget is not None:
        hint = attribute.fget.__annotations__.get("return")
    else:
        annotations = [inspect.get_annotations(base) for base in cls.__mro__]
        hint = next((names["fitted_"] for names in annotations if "fitted_" in names), None)
    if isinstance(hint, str):  # as postponed annotations are
        return tuple(name.strip() for name in hint.split("|"))
    if isinstance(hint, UnionType):
        return tuple(kind.__name__ for kind in get_args(hint))
    if not isinstance(hint, type):
        raise TypeError(
            f"{cls.__name__} must annotate fitted_ with the frozen dataclass of what it learns, "
            f"such as 'fitted_: Fitted{cls.__name__}', got {hint!r}"
        )
    return (hint.__name__,)

"""What is inside a fitted model, as plain data: settings, sizes, eigenvalues, classes, columns."""

from typing import Any

import numpy as np

from paralesn.reservoirs.base import Reservoir
from paralesn.theory.contraction import spectrum

_COMPONENTS = ("features", "reservoir", "readout")


def describe(model: Any) -> dict[str, Any]:
    """Everything about an estimator, reservoir, filter bank or readout, as JSON can hold it.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> from paralesn.workflows.describe import describe
    >>> model = pe.ReservoirRegressor(pe.ParalESN(units=20)).fit(np.ones((200, 1)), np.ones(200))
    >>> describe(model)["reservoir"]["states"]
    20
    """
    record: dict[str, Any] = {"kind": type(model).__name__}
    if not hasattr(model, "get_params"):  # the state of a stream
        return record | {"lines": getattr(model, "lines", None)}
    components = {
        name: component
        for name in _COMPONENTS
        if (component := getattr(model, f"{name}_", None)) is not None
    }
    settings = model.get_params(deep=False)
    record["settings"] = {
        name: plain(value) for name, value in settings.items() if name not in components
    }
    if "readout" in components:  # an estimator
        record |= {name: describe(component) for name, component in components.items()}
        return record | {"learnt": _learnt(model)}
    return record | _sizes(model) | {name: describe(part) for name, part in components.items()}


def drawn_reservoir(model: Any) -> Any:
    """The reservoir with layers that is inside a model, or is the model; None without one."""
    if model is None or hasattr(model, "layers_"):
        return model
    inner = getattr(model, "features_", None) or getattr(model, "reservoir_", None)
    return drawn_reservoir(inner)


def learnt_columns(forecaster: Any) -> tuple[list[str] | None, list[str]]:
    """Names of the targets, None where they had none, and of inputs known in advance."""
    return forecaster.target_names_, forecaster.known_names_ or []


def _sizes(component: Any) -> dict[str, Any]:
    """Numbers of inputs, outputs and parameters, where they are known."""
    record: dict[str, Any] = {}
    if hasattr(component, "n_features_in_"):
        record["inputs"] = int(component.n_features_in_)
    if hasattr(component, "n_features_out_"):
        name = "states" if isinstance(component, Reservoir) else "features"
        record[name] = int(component.n_features_out_)
    if hasattr(component, "layers_"):
        record["parameters"] = int(component.n_parameters_)
        record["layers"] = [_layer(layer) for layer in component.layers_]
    if hasattr(component, "alpha_"):
        record["alpha"] = plain(component.alpha_)
    if hasattr(component, "coef_"):
        record["coefficients"] = int(np.size(component.coef_))
    return record


def _layer(layer: Any) -> dict[str, Any]:
    """Units of a layer, and the radii of its eigenvalues."""
    radii = np.abs(spectrum(layer))
    summary = {"smallest": radii.min(), "median": np.median(radii), "largest": radii.max()}
    return {
        "units": int(layer.units),
        "radii": {name: float(radius) for name, radius in summary.items()},
    }


def _learnt(model: Any) -> dict[str, Any]:
    """What is known of the data a model learnt from."""
    record: dict[str, Any] = {"inputs": int(model.n_features_in_)}
    if hasattr(model, "classes_"):
        record["classes"] = [str(label) for label in model.classes_.tolist()]
    if hasattr(model, "horizon_"):
        targets, inputs = learnt_columns(model)
        record |= {
            "horizon": model.horizon_, "columns": targets,
            "known_in_advance": inputs or model.n_known_,
            "intervals": model.has_intervals_,
        }  # fmt: skip
    if hasattr(model, "feature_names_in_"):
        record["columns"] = [str(name) for name in model.feature_names_in_]
    if getattr(model, "scaling_", None) is not None:
        record["mean"] = plain(model.scaling_.mean)
        record["scale"] = plain(model.scaling_.scale)
    return record


def plain(value: Any) -> Any:
    """A value that JSON can hold."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)

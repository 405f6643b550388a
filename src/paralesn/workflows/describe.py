"""What is inside a fitted model, as plain data: settings, sizes, eigenvalues, classes, columns."""

from typing import Any

import numpy as np

from paralesn.estimators.forecaster.estimator import Forecaster
from paralesn.estimators.forecaster.fitted import FittedLoop
from paralesn.layers.delays import DelayLayer
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.reservoirs.base import Reservoir
from paralesn.tables.clock import format_times
from paralesn.theory.contraction import radius, spectrum

_COMPONENTS = ("features", "reservoir", "readout")
_LISTED = 50  # series
_EIGENVALUES = 4096  # units of a recurrent layer up to which all of them are computed


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
    if isinstance(model, Forecaster):
        return record | _forecaster(model)
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


def _forecaster(model: Forecaster) -> dict[str, Any]:
    """Settings of a forecaster, its members and what it knows of its series."""
    settings = {name: plain(value) for name, value in model.get_params(deep=False).items()}
    record: dict[str, Any] = {"settings": settings}
    if not hasattr(model, "fitted_"):
        return record
    fitted = model.fitted_
    if isinstance(fitted, FittedLoop):
        record |= {name: describe(getattr(fitted.loop, f"{name}_")) for name in
                   ("reservoir", "readout")}  # fmt: skip
    for member in getattr(getattr(fitted, "ensemble", None), "shared", ()):
        name = "reservoir of logarithms" if member.log else "reservoir"
        record |= {
            name: describe(member.reservoir),
            f"readout of the {name}": describe(member.readout),
        }
    columns, known = learnt_columns(model)
    learnt: dict[str, Any] = {
        "series": len(model.names_), "steps": int(fitted.ends.counts.sum()),
        "horizon": model.horizon_, "columns": columns and columns[:_LISTED],
        "known_in_advance": known,
    }  # fmt: skip
    if fitted.ends.kind:
        last = fitted.ends.last.astype("M8[ns]") if fitted.ends.is_date else fitted.ends.last
        learnt |= {
            "clock": str(fitted.ends.clock),
            "last": format_times(last.max(keepdims=True))[0],
        }
    if not isinstance(fitted, FittedLoop):
        every = [model.weights_] if len(model.names_) == 1 else model.weights_[:_LISTED]
        names = [str(name) for name in model.names_[:_LISTED]]
        learnt |= {
            "seasons": {n: list(m) for n, m in zip(names, fitted.seasons, strict=False)},
            "weights": dict(zip(names, every, strict=False)),
        }  # fmt: skip
    return record | {"learnt": learnt | {"notes": model.notes_}}


def drawn_reservoir(model: Any) -> Any:
    """The reservoir with eigenvalues inside a model, or that is the model; None without one."""
    if hasattr(model, "layers_"):
        return None if isinstance(model.layers_[0], DelayLayer) else model
    if model is None:
        return None
    if isinstance(model, Forecaster) and hasattr(model, "fitted_"):
        if isinstance(model.fitted_, FittedLoop):
            return model.fitted_.loop.reservoir_
        shared = model.fitted_.ensemble.shared
        return shared[0].reservoir if shared else None
    inner = getattr(model, "features_", None) or getattr(model, "reservoir_", None)
    return drawn_reservoir(inner)


def learnt_columns(forecaster: Any) -> tuple[list[str] | None, list[str]]:
    """Names of what a row holds, None where they had none, and of inputs known in advance."""
    if isinstance(forecaster, Forecaster):
        fitted = forecaster.fitted_
        known, past = (getattr(getattr(fitted, kind, None), "names", []) for kind in
                       ("known", "past"))  # fmt: skip
        if fitted.layout.backend is None:
            return None, list(known)
        return [str(name) for name in (*fitted.layout.names, *past)], list(known)
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
    """Units of a layer and, where it has eigenvalues, what they are known to be like."""
    record: dict[str, Any] = {"units": int(layer.units)}
    if isinstance(layer, DelayLayer):
        return record | {"lags": layer.lags.tolist(), "orders": layer.orders.tolist()}
    if isinstance(layer, DiagonalLayer) or layer.units <= _EIGENVALUES:
        radii = np.abs(spectrum(layer))
        summary = {"smallest": radii.min(), "median": np.median(radii), "largest": radii.max()}
    else:
        summary = {"largest": radius(layer)}
    known = {name: float(size) for name, size in summary.items() if np.isfinite(size)}
    return record | ({"radii": known} if known else {})


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

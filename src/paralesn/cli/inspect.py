"""The command `inspect`: what is inside a saved model."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from paralesn.cli.shared import (
    Json,
    ModelFile,
    app,
    failing,
    load_model,
    picture,
    print_json,
    stderr,
)


@app.command()
def inspect(
    model: ModelFile,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the eigenvalues to this file.", dir_okay=False)
    ] = None,
    json: Json = False,
) -> None:
    """Show what is inside a saved model: its settings, sizes and eigenvalues."""
    from paralesn.theory import plot_spectrum

    if plot is not None and not plot.parent.is_dir():
        raise typer.BadParameter(f"the folder {plot.parent} does not exist", param_hint="--plot")
    with failing():
        loaded = load_model(model)
        found = {"file": model.name, "bytes": model.stat().st_size, **_contents(loaded)}
        if json:
            print_json(found)
        else:
            _tell(found)
        reservoir = getattr(loaded, "reservoir_", loaded)
        if plot is not None:
            console = stderr() if json else Console()
            if not hasattr(reservoir, "layers_"):
                console.print("No picture: there is no drawn reservoir in this file.")
            else:
                picture(console, plot, partial(plot_spectrum, reservoir))


def _contents(model: Any) -> dict[str, Any]:
    """Everything about a model, as plain data."""
    found: dict[str, Any] = {"kind": type(model).__name__}
    if not hasattr(model, "get_params"):  # where a stream stands
        return found | {"lines": getattr(model, "lines", None)}
    reservoir = getattr(model, "reservoir_", None)
    if reservoir is None:
        found["settings"] = _plain(model.get_params(deep=False))
        return found | (_of_reservoir(model) if hasattr(model, "layers_") else {})
    own = model.get_params(deep=False)
    found["settings"] = {
        name: _plain(value) for name, value in own.items() if name not in ("reservoir", "readout")
    }
    readout = model.readout_
    found["reservoir"] = {
        "kind": type(reservoir).__name__, "settings": _plain(reservoir.get_params(deep=False)),
        **_of_reservoir(reservoir),
    }  # fmt: skip
    found["readout"] = {
        "kind": type(readout).__name__, "settings": _plain(readout.get_params(deep=False)),
        "inputs": getattr(readout, "n_features_in_", None),
    }  # fmt: skip
    if hasattr(readout, "alpha_"):
        found["readout"]["alpha"] = _plain(readout.alpha_)
        found["readout"]["coefficients"] = int(readout.coef_.size)
    found["learnt"] = _learnt(model)
    return found


def _learnt(model: Any) -> dict[str, Any]:
    """What is known of the data a model learnt from."""
    found: dict[str, Any] = {"inputs": int(model.n_features_in_)}
    if hasattr(model, "classes_"):
        found["classes"] = [str(one) for one in model.classes_.tolist()]
    if hasattr(model, "horizon_"):
        found |= {
            "horizon": model.horizon_, "columns": model._names["y"],
            "known_in_advance": model._names["X"] or model.n_known_,
            "intervals": model._calibration is not None,
        }  # fmt: skip
    if hasattr(model, "feature_names_in_"):
        found["columns"] = [str(name) for name in model.feature_names_in_]
    if getattr(model, "_scaling", None) is not None:
        found["mean"] = _plain(model._scaling["mean"])
        found["scale"] = _plain(model._scaling["scale"])
    return found


def _of_reservoir(reservoir: Any) -> dict[str, Any]:
    """Sizes of a drawn reservoir, and the radii of its eigenvalues."""
    import numpy as np

    from paralesn.theory.contraction import spectrum

    layers = []
    for layer in reservoir.layers_:
        radii = np.abs(spectrum(layer))
        shown = {"smallest": radii.min(), "median": np.median(radii), "largest": radii.max()}
        layers.append(
            {"units": int(layer.units), "radii": {key: float(r) for key, r in shown.items()}}
        )
    return {
        "inputs": int(reservoir.n_features_in_), "states": int(reservoir.n_features_out_),
        "parameters": int(reservoir.n_parameters_), "layers": layers,
    }  # fmt: skip


def _plain(value: Any) -> Any:
    """A value that JSON can hold."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return str(value)


def _tell(found: dict[str, Any]) -> None:
    table = Table(show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _lines(found):
        table.add_row(name, value)
    Console().print(table)


def _lines(found: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Names and values, one line each."""
    lines: list[tuple[str, str]] = []
    for name, value in found.items():
        label = f"{prefix}{name}".replace("_", " ")
        if isinstance(value, dict):
            lines += _lines(value, f"{label}: " if name != "settings" else prefix)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for number, one in enumerate(value, 1):
                lines += _lines(one, f"{prefix}layer {number}: ")
        elif isinstance(value, list):
            lines.append((label, ", ".join(_text(one) for one in value)))
        else:
            lines.append((label, _text(value)))
    return lines


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

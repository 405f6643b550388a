"""Picture of the measured complexity, like the paper's, from the record alone."""

from pathlib import Path
from typing import Any

from paralesn.files import require, save_figure
from paralesn.paper.studies.complexity import LENGTH_UNITS
from paralesn.paper.studies.complexity_fits import curve, fit_exponent, out_of_memory
from paralesn.paper.studies.complexity_models import BY_LENGTH, BY_SIZE, MODELS, ON_DIGITS
from paralesn.paper.studies.complexity_words import cores_words, digits_words

COLORS = {
    "ESN": "tab:red",
    "SCR": "tab:green",
    "StructuredRC": "tab:purple",
    "ParalESN": "tab:blue",
}
MARKERS = {"ESN": "s", "SCR": "^", "StructuredRC": "D", "ParalESN": "o"}


def plot(record: dict[str, Any], path: Path) -> None:
    """Save time by length, time per step by size, and memory by size, side by side."""
    require("matplotlib", "plot", purpose="a picture").use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.8), layout="constrained")
    _lengths(left, record)
    _times(middle, record)
    _memory(right, record)
    _finish(figure, (left, middle, right), path)


def plot_digits(record: dict[str, Any], path: Path) -> None:
    """Save time and peak memory of a batch of digits by size, side by side."""
    require("matplotlib", "plot", purpose="a picture").use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.6), layout="constrained")
    for name in ON_DIGITS:
        _line(left, name, curve(record, "digits", name, "units", "seconds"), "N")
        peaks = curve(record, "digits", name, "units", "peak_bytes")
        _line(right, name, {units: peak / 1e6 for units, peak in peaks.items() if peak > 0})
        full = out_of_memory(record, name, ("digits",))
        if full:
            color = COLORS[MODELS[name].kind]
            words = f"{name}: out of memory"
            left.axvline(full["units"], color=color, linestyle=":", linewidth=1.4, label=words)
            _cross(right, full["units"], full["needed_bytes"] / 1e6, color)
    left.set_title(f"Time of {digits_words(record)}")
    left.set_ylabel("seconds")
    right.set_title("Peak memory, idle process subtracted")
    right.set_ylabel("MB")
    for axes in (left, right):
        axes.set_xlabel("reservoir size N")
    _finish(figure, (left, right), path)


def _finish(figure: Any, panels: tuple[Any, ...], path: Path) -> None:
    """Logarithmic axes, legends, and the file."""
    from matplotlib import pyplot as plt

    for axes in panels:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.margins(x=0.06, y=0.08)
        axes.grid(color="0.9", linewidth=0.6)
        axes.legend(loc="upper left", fontsize="small")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high * (high / low) ** 0.3)  # room for the legend
    try:
        save_figure(figure, path)
    finally:
        plt.close(figure)


def _line(axes: Any, name: str, values: dict[int, float], power: str | None = None) -> None:
    """A line of one model; `power` names x in the legend, with the fitted exponent."""
    model = MODELS[name]
    label, fit = name, fit_exponent(list(values), list(values.values()))
    if power and fit:
        label += rf": ${power}^{{{fit.exponent:.2f}}}$"
    axes.plot(
        list(values), list(values.values()), label=label, color=COLORS[model.kind],
        marker=MARKERS[model.kind], markersize=4.5, linewidth=1.4,
        linestyle="-" if model.layers == 1 else "--",
        markerfacecolor=COLORS[model.kind] if model.layers == 1 else "white",
    )  # fmt: skip


def _lengths(axes: Any, record: dict[str, Any]) -> None:
    for name in BY_LENGTH:
        _line(axes, name, curve(record, "length", name, "steps", "seconds"), "T")
    axes.set_title(f"Time of a series, {LENGTH_UNITS} units, {cores_words(record)}")
    axes.set_xlabel("sequence length T")
    axes.set_ylabel("seconds")


def _times(axes: Any, record: dict[str, Any]) -> None:
    for name in BY_SIZE:
        _line(axes, name, curve(record, "size", name, "units", "seconds_per_step"), "N")
    axes.set_title("Time of a step")
    axes.set_xlabel("reservoir size N")
    axes.set_ylabel("seconds")


def _memory(axes: Any, record: dict[str, Any]) -> None:
    for name in BY_SIZE:
        peaks = curve(record, "size", name, "units", "peak_bytes")
        _line(axes, name, {units: peak / 1e6 for units, peak in peaks.items() if peak > 0})
    axes.set_title("Peak memory, idle process subtracted")
    axes.set_xlabel("reservoir size N")
    axes.set_ylabel("MB")
    full = out_of_memory(record)
    matrices = curve(record, "matrix", "ESN", "units", "matrix_bytes")
    tried = {u: b / 1e6 for u, b in matrices.items() if not full or u < full["units"]}
    if tried:
        axes.plot(
            list(tried), list(tried.values()), color=COLORS["ESN"], marker="s", markersize=4.5,
            markerfacecolor="white", linestyle=":", linewidth=1.4, label="ESN: matrix fits",
        )  # fmt: skip
    if full:
        _cross(axes, full["units"], full["matrix_bytes"] / 1e6, COLORS["ESN"])


def _cross(axes: Any, units: int, needed: float, color: str) -> None:
    """Mark the size that ran out of memory at what it needs."""
    axes.plot([units], [needed], "X", color=color, markersize=10, linestyle="none")
    axes.annotate(
        "out of memory", (units, needed), xytext=(-9, 0), textcoords="offset points",
        ha="right", va="center", color=color, fontsize="small",
    )  # fmt: skip

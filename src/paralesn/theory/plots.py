"""Pictures of what theory says. Matplotlib, an extra, is loaded when one is drawn."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paralesn.files import require, save_figure
from paralesn.theory.contraction import spectrum
from paralesn.theory.echo import layers_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from paralesn.theory.consistency import Consistency
    from paralesn.theory.forgetting import ForgettingCurve
    from paralesn.theory.lyapunov import LyapunovExponents
    from paralesn.theory.quality import MemoryCapacity

_FLOOR = 1e-18  # distances are zero where trajectories are the same to the bit, and logs are not
_MANY = 8  # layers beyond which a legend names only the first and the last


def plot_spectrum(reservoir: Any, path: Any = None) -> "Figure":
    """Draw the eigenvalues of every layer and the unit circle.

    Recurrent layers are linearised at the origin: eigenvalues of ``branch + gain recurrent``.

    Parameters
    ----------
    reservoir : fitted reservoir, layer, or sequence of layers
    path : path, optional
        Write the figure to this file; its ending says in which format, png without one.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> from paralesn.theory import plot_spectrum
    >>> reservoir = pe.ParalESN(units=200, layers=2).fit(np.zeros((2, 1)))
    >>> figure = plot_spectrum(reservoir)  # doctest: +SKIP
    """
    layers = layers_of(reservoir)
    figure, axes = _figure(5.2, 5.6 + 0.2 * (min(len(layers), _MANY) // 3))
    angle = np.linspace(0.0, 2 * np.pi, 400)
    axes.plot(np.cos(angle), np.sin(angle), color="0.35", linewidth=1.0, zorder=3)
    axes.axhline(0.0, color="0.88", linewidth=0.8, zorder=0)
    axes.axvline(0.0, color="0.88", linewidth=0.8, zorder=0)
    most = max(layer.units for layer in layers)
    size, reach = float(np.clip(2500 / most, 3, 30)), 1.1
    for depth, (layer, color) in enumerate(zip(layers, _colors(len(layers)), strict=True), 1):
        values = spectrum(layer)
        radius = f"{np.abs(values).max():.3g}"
        axes.scatter(
            values.real, values.imag, s=size, color=color, alpha=0.75, linewidths=0,
            label=_label(depth, len(layers), f"spectral radius {radius}"), zorder=2,
        )  # fmt: skip
        reach = max(reach, 1.1 * float(np.abs(values).max()))
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.set(xlabel="real part", ylabel="imaginary part", title="Eigenvalues and the unit circle")
    axes.locator_params(nbins=7, steps=[1, 2, 5, 10])
    legend = figure.legend(
        loc="outside lower center", ncols=min(len(layers), 2), frameon=False, fontsize="small"
    )
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set(sizes=[24.0], alpha=1.0)
    return _finished(figure, path)


def plot_forgetting(curve: "ForgettingCurve", path: Any = None) -> "Figure":
    """Draw distances of trajectories over time, and their bounds, dashed."""
    figure, axes = _figure(7.0, 4.2)
    steps, depth = curve.distance.shape
    t = np.arange(steps + 1)
    distance = np.vstack([curve.initial, curve.distance])
    bound = np.vstack([curve.initial, curve.bound])
    is_bounded = np.isfinite(bound).all(axis=0)
    for k, color in enumerate(_colors(depth)):
        detail = f"rate {curve.rate[k]:.3g}" if is_bounded[k] else "no bound known"
        label = _label(k + 1, depth, detail)
        shown = np.where(distance[:, k] > _FLOOR, distance[:, k], np.nan)
        axes.semilogy(t, shown, color=color, label=label)
        if is_bounded[k]:
            dashed = np.maximum(bound[:, k], _FLOOR)
            axes.semilogy(t, dashed, color=color, linestyle="--", linewidth=1.0)
    if is_bounded.any():
        axes.plot([], [], color="0.4", linestyle="--", linewidth=1.0, label="bound")
    seen = distance[distance > _FLOOR]
    if seen.size:  # at least three decades: the ticks of fewer are hard to read
        axes.set_ylim(bottom=max(_FLOOR, min(seen.min() / 3, seen.max() / 1000)))
    axes.margins(x=0.01)
    axes.set(xlabel="time step", ylabel="largest distance")
    axes.set_title("Trajectories from different states under the same input")
    axes.legend(loc="lower left", frameon=False, fontsize="small")
    return _finished(figure, path)


def plot_consistency(consistency: "Consistency", path: Any = None) -> "Figure":
    """Draw distances of replicas over time, in sizes of the states, and the fitted rates."""
    figure, axes = _figure(7.0, 4.2)
    distance = consistency.distance / consistency.size
    depth = distance.shape[1]
    for k, color in enumerate(_colors(depth)):
        label = _label(k + 1, depth, f"rate {consistency.rate[k]:.3g}")
        shown = np.where(distance[:, k] > _FLOOR, distance[:, k], np.nan)
        axes.semilogy(np.arange(1, len(shown) + 1), shown, color=color, label=label)
    axes.margins(x=0.01)
    axes.set(xlabel="time step", ylabel="largest distance, relative to the states")
    verdict = "synchronise" if consistency.synchronises else "do not synchronise"
    axes.set_title(f"Replicas {verdict}: consistency {consistency.correlation:.3g}")
    axes.legend(loc="best", frameon=False, fontsize="small")
    return _finished(figure, path)


def plot_lyapunov(found: "LyapunovExponents", path: Any = None) -> "Figure":
    """Draw how the estimates of Lyapunov exponents settle over time."""
    figure, axes = _figure(7.0, 4.2)
    axes.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
    for k, color in enumerate(_colors(len(found.exponents))):
        label = f"{found.exponents[k]:.4g}"
        axes.plot(found.times, found.running[:, k], color=color, linewidth=1.4, label=label)
    axes.margins(x=0.01)
    axes.set(xlabel="time", ylabel="Lyapunov exponent", title="Exponents of the closed loop")
    axes.legend(loc="best", frameon=False, fontsize="small")
    return _finished(figure, path)


def plot_memory(capacity: "MemoryCapacity", path: Any = None) -> "Figure":
    """Draw how well each delay is recalled."""
    figure, axes = _figure(7.0, 3.6)
    delays = np.arange(len(capacity.per_delay))
    axes.fill_between(delays, capacity.per_delay, color="tab:blue", alpha=0.2, linewidth=0)
    axes.plot(delays, capacity.per_delay, color="tab:blue", linewidth=1.4)
    if capacity.bound <= delays[-1]:
        axes.axvline(capacity.bound, color="0.4", linestyle=":", linewidth=1.0)
        axes.annotate(
            "state columns", (capacity.bound, 0.97), xytext=(4, 0), textcoords="offset points",
            color="0.35", fontsize="small", va="top",
        )  # fmt: skip
    axes.set_ylim(0.0, 1.03)
    axes.margins(x=0.01)
    axes.set(xlabel="delay in time steps", ylabel="squared correlation")
    axes.set_title(f"Memory capacity {capacity.total:.1f} of at most {capacity.bound}")
    return _finished(figure, path)


def _figure(width: float, height: float) -> "tuple[Figure, Axes]":
    """A figure of its own: no backend, nothing global."""
    require("matplotlib", "plot", purpose="a plot")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _colors(count: int) -> list[Any]:
    """Ten distinct colours, or a gradual change if there are more layers."""
    from matplotlib import colormaps

    if count <= 10:
        return [colormaps["tab10"](k) for k in range(count)]
    return [colormaps["viridis"](k / (count - 1)) for k in range(count)]


def _label(depth: int, count: int, detail: str) -> str:
    """A layer's entry in the legend; an underscore leaves it out."""
    hidden = "_" if count > _MANY and 1 < depth < count else ""
    return f"{hidden}layer {depth} ({detail})" if count > 1 else detail


def _finished(figure: "Figure", path: Any) -> "Figure":
    """Write to a file aside and rename, so an interruption leaves what was there before."""
    if path is not None:
        path = Path(path)
        save_figure(figure, path, path.suffix.lstrip(".") or "png")
    return figure

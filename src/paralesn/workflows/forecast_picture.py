"""A picture of a forecast: the end of each series, the forecast, and the test of the end."""

from pathlib import Path
from typing import Any

import numpy as np

from paralesn.files import require, save_figure
from paralesn.tables.notes import shown
from paralesn.workflows.forecast import ForecastResult
from paralesn.workflows.yardsticks import MODEL

_SHOWN = 6  # series in a picture


def plot(result: ForecastResult, path: Path) -> None:
    """Draw the end of the series, the forecast, and what the tested model said of the end."""
    require("matplotlib", "plot", purpose="a picture")
    from matplotlib.figure import Figure

    names = result.series.names[:_SHOWN]
    figure = Figure(figsize=(9, 1.2 + 2.4 * len(names)), layout="constrained")
    grid = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for i, axes in enumerate(grid):
        _plot_series(axes, result, i)
    if result.series.time is None:
        grid[-1].set_xlabel("row")
    omitted = len(result.series) - len(names)
    more = f" (and {omitted} more)" if omitted else ""
    title = f"{', '.join(names)}{more}: {result.horizon} steps ahead"
    figure.suptitle(shown(title), parse_math=False)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize="small"
    )
    save_figure(figure, path)


def _plot_series(axes: Any, result: ForecastResult, i: int) -> None:
    """Draw one series."""
    h = result.horizon
    before, after = time_axis(result, i)
    marker = "." if h == 1 else None
    y = result.series.values[i][-len(before) :]
    axes.plot(before, y, color="0.25", linewidth=1.1, label="observed")
    tested = latest_test(result, i)
    if tested is not None:
        axes.plot(
            before[-h:], tested, color="tab:orange", linewidth=1.2, linestyle="--",
            label="test forecast of the last steps", marker=marker,
        )  # fmt: skip
    axes.fill_between(
        after, result.lower[i], result.upper[i], color="tab:blue", alpha=0.18, linewidth=0,
        label=f"{result.request.interval:.0%} interval",
    )  # fmt: skip
    by = result.method_of(i)
    label = "forecast" if by == MODEL else f"forecast by the {by}"
    axes.plot(after, result.values[i], color="tab:blue", linewidth=1.6, label=label, marker=marker)
    axes.set_ylabel(shown(result.series.names[i]), parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.01)


def latest_test(result: ForecastResult, i: int) -> np.ndarray | None:
    """What the method that is written forecast of the last steps in the test, if it was tested."""
    test = result.test
    if test.result is None or i not in test.row_of:
        return None
    latest: np.ndarray = test.result.paths[result.method_of(i)].values[-1, test.row_of[i]]
    return latest


def time_axis(result: ForecastResult, i: int, least: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Times, or numbers, of the last rows that are shown, and of the steps to come."""
    part, h = result.series.part_of(i), result.horizon
    end = part.rows
    count = min(end, max(4 * h, 2 * (result.season or 1), least))
    if part.times is None:
        return np.arange(end - count, end) + 1, np.arange(end, end + h) + 1
    return part.times[end - count : end], result.series.ahead(i, h)

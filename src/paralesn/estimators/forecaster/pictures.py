"""A picture of a forecast: the end of the series, the forecast, the interval."""

from typing import Any

import numpy as np

from paralesn import checks
from paralesn.estimators.forecaster.fitted import FittedLoop
from paralesn.files import require
from paralesn.tables import notes


def plot(
    model: Any,
    steps: int | None,
    X: Any,
    interval: float,
    series: Any,
    history: int | None,
    ax: Any,
) -> Any:
    """Draw one series and its forecast; see `ReservoirForecaster.plot`."""
    pyplot = require("matplotlib.pyplot", "plot", purpose="a picture")
    fitted = model.fitted_
    if isinstance(fitted, FittedLoop):
        raise ValueError("plot needs strategy='auto'")
    names = fitted.layout.names
    if series is not None and series not in names:
        raise ValueError(f"series must be one of {names[:8]}, got {series!r}")
    i = 0 if series is None else names.index(series)
    from paralesn.estimators.forecaster import following

    steps = model.horizon_ if steps is None else checks.integer("steps", steps, 1)
    values, bounds = following.ahead(fitted, X, steps)
    lower, upper = bounds(
        checks.number("interval", interval, 0, 1, open_left=True, open_right=True)
    )
    past = fitted.observed()[i]
    shown = min(past.size, checks.integer("history", history, 1) if history else 5 * steps)
    when, later = _axes(fitted, i, shown, steps)
    if ax is None:
        _, ax = pyplot.subplots(figsize=(9, 3.2), layout="constrained")
    ax.plot(when, past[-shown:], color="0.35", linewidth=1.2, label="observed")
    ax.fill_between(later, lower[i], upper[i], color="C0", alpha=0.2, linewidth=0,
                    label=f"{100 * interval:g} % interval")  # fmt: skip
    ax.plot(later, values[i], color="C0", linewidth=1.8, label="forecast")
    title = "" if len(names) == 1 and names[0] in (0, "y") else str(names[i])
    ax.set_title(notes.shown(title), parse_math=False)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper left", fontsize="small")
    return ax


def _axes(fitted: Any, i: int, shown: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Times of what is shown, or numbers of steps."""
    count, times = int(fitted.ends.counts[i]), fitted.times(i)
    if times is None:
        return np.arange(count - shown, count), np.arange(count, count + steps)
    return times[-shown:], np.asarray(fitted.times_ahead(i, steps))

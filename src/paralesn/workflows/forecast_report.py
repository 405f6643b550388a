"""A forecast as people and scripts want it: a table, plain data, a CSV file, a picture."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from paralesn.files import replacing, require, save_figure
from paralesn.tables.clock import written
from paralesn.tables.observations import Observed
from paralesn.workflows.backtest import MODEL
from paralesn.workflows.forecast import Made, Wanted
from paralesn.workflows.tune import Tuned

_SHOWN = 6  # targets in a picture


def table(observed: Observed, made: Made) -> Table:
    """Errors of the test, beside naive ones."""
    steps = f"{made.test.origins} forecasts of {len(made.values)} steps"
    found = Table(title=f"Test on the last {observed.rows - made.first} rows: {steps}")
    for name in ("target", "forecast by"):
        found.add_column(name)
    for name in ("MAE", "RMSE", "MASE"):
        found.add_column(name, justify="right")
    for k, target in enumerate(observed.targets):
        for name, errors in made.test.errors.items():
            shown = [f"{float(part[k]):.4g}" for part in errors]
            best = all(float(errors.mae[k]) <= other.mae[k] for other in made.test.errors.values())
            label = f"{name} ({made.season})" if name.startswith("seasonal") else name
            found.add_row(target, label, *shown, style="bold" if best else None)
        found.add_section()
    return found


def verdict(made: Made) -> str:
    """Whether the model is worth anything."""
    test, naive = made.test, made.test.naive()
    ours, theirs = test.overall(MODEL), test.overall(naive)
    measure = "MASE" if np.isfinite(test.errors[MODEL].mase).all() else "MAE"
    compared = f"{measure} {ours:.4g} against {theirs:.4g}"
    if test.beats_naive():
        better = f" ({1 - ours / theirs:.0%} less)" if theirs > 0 else ""
        return f"The model beats the {naive} forecast: {compared}{better}."
    advice = "use that one" if made.tuned is not None else "use that one, or try --search 60s"
    return f"The model does NOT beat the {naive} forecast: {compared}; {advice}."


def searched(tuned: Tuned) -> str:
    """What a search was worth."""
    return (
        f"Search: tried {tuned.trials} in {tuned.seconds:.0f} s; error on validation data "
        f"{tuned.error:.4g}, that of the defaults {tuned.untuned:.4g}."
    )


def covered(made: Made, wanted: Wanted) -> str | None:
    """What intervals were worth in the test."""
    if made.test.inside is None:
        return None
    share = float(made.test.inside.mean())
    return f"Intervals meant to hold {wanted.interval:.0%} held {share:.1%} of the test values."


def as_data(observed: Observed, made: Made, wanted: Wanted, notes: list[str]) -> dict[str, Any]:
    """Everything, for scripts."""
    test, tuned = made.test, made.tuned
    return {
        "data": {
            "file": observed.path.name, "rows": observed.rows, "future_rows": observed.future,
            "targets": list(observed.targets), "exog": list(observed.exog),
            "exog_known_in_advance": made.known, "time": observed.time,
            "interval_of_rows": None if observed.clock is None else str(observed.clock),
        },
        "notes": notes,
        "horizon": wanted.horizon,
        "season": made.season,
        "test": {
            "rows": observed.rows - made.first, "forecasts": test.origins,
            "errors": {
                target: {
                    name: {m: _number(getattr(errors, m)[k]) for m in errors._fields}
                    for name, errors in test.errors.items()
                }
                for k, target in enumerate(observed.targets)
            },
            "beats_naive": test.beats_naive(), "best_naive": test.naive(),
            "interval": wanted.interval,
            "share_inside": None if test.inside is None else _number(test.inside.mean()),
        },
        "search": None if tuned is None else {
            "trials": tuned.trials, "seconds": round(tuned.seconds, 2),
            "error": _number(tuned.error), "error_of_defaults": _number(tuned.untuned),
        },
        "settings": made.settings,
        "seed": wanted.seed,
        "seconds": round(made.seconds, 2),
    }  # fmt: skip


def _number(value: Any) -> float | None:
    """A float that JSON can hold."""
    return float(value) if np.isfinite(value) else None


def columns(names: tuple[str, ...], values: Any, lower: Any = None, upper: Any = None) -> Any:
    """Forecasts (steps, targets) as columns by name: each target, then the ends of its interval."""
    found = {}
    for k, name in enumerate(names):
        found[name] = values[:, k]
        if lower is not None and upper is not None:
            found[f"{name}_lower"], found[f"{name}_upper"] = lower[:, k], upper[:, k]
    return found


def write_csv(path: Path, observed: Observed, made: Made) -> None:
    """The forecast, a row for each step."""
    import pandas as pd

    when = observed.ahead(len(made.values))
    first = {observed.time or "step": written(when)}
    found = columns(observed.targets, made.values, made.lower, made.upper)
    with replacing(path) as unfinished:
        pd.DataFrame(first | found).to_csv(unfinished, index=False)


def plot(path: Path, observed: Observed, made: Made, wanted: Wanted) -> None:
    """Draw the end of the series, the forecast, and what the tested model said of the end."""
    require("matplotlib", "plot", purpose="a picture")
    from matplotlib.figure import Figure

    h = len(made.values)
    shown = min(observed.rows, max(4 * h, 2 * (made.season or 1), 60))
    names = observed.targets[:_SHOWN]
    figure = Figure(figsize=(9, 1.2 + 2.4 * len(names)), layout="constrained")
    grid = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    before, after = _axis(observed, shown, h)
    for k, (axes, name) in enumerate(zip(grid, names, strict=True)):
        y = observed.y[-shown:, k]
        axes.plot(before, y, color="0.25", linewidth=1.1, label="observed")
        axes.plot(
            before[-h:], made.test.newest[:, k], color="tab:orange", linewidth=1.2,
            linestyle="--", label="test forecast of the last steps",
            marker="." if h == 1 else None,
        )  # fmt: skip
        if made.lower is not None and made.upper is not None:
            axes.fill_between(
                after, made.lower[:, k], made.upper[:, k], color="tab:blue", alpha=0.18,
                linewidth=0, label=f"{wanted.interval:.0%} interval",
            )  # fmt: skip
        axes.plot(
            after, made.values[:, k], color="tab:blue", linewidth=1.6, label="forecast",
            marker="." if h == 1 else None,
        )  # fmt: skip
        axes.set_ylabel(name)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.01)
    if observed.time is None:
        grid[-1].set_xlabel("row")
    left = len(observed.targets) - len(names)
    more = f" (and {left} more)" if left else ""
    figure.suptitle(f"{', '.join(names)}{more}: {h} steps ahead")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize="small"
    )
    save_figure(figure, path)


def _axis(observed: Observed, shown: int, h: int) -> tuple[Any, Any]:
    """Where the shown rows are, and the steps to come."""
    if observed.times is None:
        end = observed.rows
        return np.arange(end - shown, end) + 1, np.arange(end, end + h) + 1
    return observed.times[observed.rows - shown : observed.rows], observed.ahead(h)

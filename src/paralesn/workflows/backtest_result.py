"""What a backtest found: errors by method, series and step, in numbers, frames and pictures."""

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from paralesn import checks
from paralesn.files import require
from paralesn.tables.notes import shown
from paralesn.workflows.scores import METRICS, Paths, score
from paralesn.workflows.yardsticks import LAST, MODEL, SEASONAL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_SHOWN = ("mase", "mae", "rmse", "smape", "bias", "coverage", "msis", "crps")


@dataclass(frozen=True, eq=False, repr=False)
class Backtest:
    """Errors of a model and of simple methods, from the same origins; see `backtest`.

    Attributes
    ----------
    names : list
        Of the series.
    y : list of arrays (time,)
        The series.
    origins : array (origins, series)
        Steps that were known to each forecast.
    horizon : int
    season : array (series,)
        Of the seasonal naive and of MASE; 1: none.
    scale : array (series,)
        Mean absolute change over a season before the first origin, which MASE is measured in.
    paths : dict of str to Paths
        Forecasts, (origins, series, horizon), by method.
    interval : float or None
        Share of values that intervals should hold.
    refit : bool
    notes : tuple of str
    times : list of arrays (time,) or None
        When the steps were.
    """

    names: list[Any]
    y: list[np.ndarray]
    origins: np.ndarray
    horizon: int
    season: np.ndarray
    scale: np.ndarray
    paths: dict[str, Paths]
    interval: float | None
    refit: bool
    notes: tuple[str, ...] = ()
    times: list[np.ndarray] | None = None

    @property
    def methods(self) -> list[str]:
        """Names of the methods, the model first."""
        return list(self.paths)

    @cached_property
    def truth(self) -> np.ndarray:
        """What came, (origins, series, horizon)."""
        ahead = np.arange(self.horizon)
        every = [y[at[:, None] + ahead] for y, at in zip(self.y, self.origins.T, strict=True)]
        return np.stack(every, axis=1)

    @cached_property
    def errors(self) -> dict[str, dict[str, np.ndarray]]:
        """Every metric of every method, by series: ``errors["model"]["mase"]`` is (series,).

        ``mase``: mean absolute error in units of the mean absolute change over a season before the
        first origin, NaN for a series without change. ``mae``, ``rmse``. ``smape``: mean of
        ``200 |e| / (|y| + |forecast|)``. ``wape``: sum of absolute errors in percent of that of
        values. ``bias``: forecast minus value. Of intervals the ``coverage``, the mean ``width``
        and the scaled interval score ``msis``. ``crps``: the continuous ranked probability score
        from the quantiles .05, .15, …, .95, which is the absolute error for methods without these.
        """
        return {name: self._score(path, (0, 2)) for name, path in self.paths.items()}

    def _score(self, path: Paths, axis: tuple[int, ...]) -> dict[str, np.ndarray]:
        return score(self.truth, path, self.scale, self.interval, axis)

    # -- which is best ---------------------------------------------------------------------------

    def overall(self, method: str = MODEL) -> float:
        """One number to compare methods by: mean MASE over series, MAE where no series has one."""
        errors = self.errors[self._method(method)]
        by_series = errors["mase" if np.isfinite(self.scale).any() else "mae"]
        seen = by_series[~np.isnan(by_series)]
        return float(seen.mean()) if seen.size else float("nan")

    def best(self) -> str:
        """The method with the least error; of equal ones the first."""
        return min(self.methods, key=lambda name: np.nan_to_num(self.overall(name), nan=np.inf))

    def beats(self, method: str = SEASONAL) -> bool:
        """Whether the model was better than another method.

        Without a season, the seasonal naive is the last value.
        """
        return self.overall(MODEL) < self.overall(method)

    def _method(self, method: str) -> str:
        if method == SEASONAL and method not in self.paths and LAST in self.paths:
            return LAST
        return checks.choice("method", method, self.methods)

    def by_step(self, metric: str = "mase") -> dict[str, np.ndarray]:
        """A metric by step of the horizon (horizon,), over all series, of every method."""
        checks.choice("metric", metric, METRICS)
        by_series = {name: self._score(path, (0,))[metric] for name, path in self.paths.items()}
        return {name: _mean(values, 0) for name, values in by_series.items()}

    # -- frames ----------------------------------------------------------------------------------

    def to_frame(self, by: str = "method") -> "pd.DataFrame":
        """Errors as a pandas frame.

        Parameters
        ----------
        by : "method", "series" or "step"
            A row for each method, for each method and series, or for each method and step. Over
            series, errors are averaged.
        """
        checks.choice("by", by, ("method", "series", "step"))
        pd = _pandas()
        if by == "method":
            rows = {name: {m: float(_mean(v, 0)) for m, v in errors.items()}
                    for name, errors in self.errors.items()}  # fmt: skip
            frame = pd.DataFrame.from_dict(rows, orient="index")
            frame.index.name = "method"
            return frame
        if by == "series":
            keys, every = self.names, [self.errors[name] for name in self.methods]
        else:
            keys = list(range(1, self.horizon + 1))
            every = [{m: _mean(v, 0) for m, v in self._score(self.paths[name], (0,)).items()}
                     for name in self.methods]  # fmt: skip
        columns = {m: np.concatenate([errors[m] for errors in every]) for m in METRICS}
        index = pd.MultiIndex.from_product([self.methods, keys], names=["method", by])
        return pd.DataFrame(columns, index=index)

    def forecasts(self, method: str = MODEL) -> "pd.DataFrame":
        """Forecasts of a method as a long pandas frame, a row for each series, origin and step."""
        pd = _pandas()
        path = self.paths[self._method(method)]
        origins, series, h = self.truth.shape
        position = (self.origins[:, :, None] + np.arange(h)).transpose(1, 0, 2).reshape(-1)
        columns: dict[str, Any] = {
            "series": [name for name in self.names for _ in range(origins * h)],
            "origin": np.repeat(self.origins.T.reshape(-1), h),
            "step": np.tile(np.arange(1, h + 1), origins * series),
        }
        if self.times is not None:
            at = position.reshape(series, -1)
            columns["time"] = np.concatenate([t[p] for t, p in zip(self.times, at, strict=True)])
        columns["y"] = _flat(self.truth)
        columns["yhat"] = _flat(path.values)
        if path.lower is not None and path.upper is not None:
            columns |= {"lo": _flat(path.lower), "hi": _flat(path.upper)}
        return pd.DataFrame(columns)

    # -- text and pictures -----------------------------------------------------------------------

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the table that is shown; the best method has a star."""
        means = {name: {m: float(_mean(v, 0)) for m, v in errors.items()}
                 for name, errors in self.errors.items()}  # fmt: skip
        shown = [m for m in _SHOWN if any(np.isfinite(row[m]) for row in means.values())]
        best = self.best()
        rows = [[name + (" *" if name == best else ""), *(_number(row[m]) for m in shown)]
                for name, row in means.items()]  # fmt: skip
        return ["", *shown], rows

    @property
    def _title(self) -> str:
        series = "1 series" if len(self.names) == 1 else f"{len(self.names)} series"
        origins = "1 origin" if len(self.origins) == 1 else f"{len(self.origins)} origins"
        how = "fitted at each" if self.refit else "fitted once"
        return f"Backtest of {series}: {origins}, {how}, {self.horizon} steps ahead"

    def __repr__(self) -> str:
        head, rows = self._table()
        widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
        lines = ["  ".join(cell.ljust(w) if k == 0 else cell.rjust(w)
                           for k, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip()
                 for row in (head, *rows)]  # fmt: skip
        return "\n".join([self._title, *lines, *(f"note: {note}" for note in self.notes)])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        head, rows = self._table()
        top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
                       for row in rows)  # fmt: skip
        return (f"<table><caption>{escape(self._title)}</caption><thead><tr>{top}</tr></thead>"
                f"<tbody>{body}</tbody></table>")  # fmt: skip

    def plot(self, series: Any = None, *, method: str = MODEL, ax: "Axes | None" = None) -> "Axes":
        """Draw a series and the forecasts from all origins; needs matplotlib.

        Parameters
        ----------
        series : name of a series, optional
            Default: the first.
        method : str
        ax : axes of matplotlib, optional

        Returns
        -------
        ax : axes of matplotlib
        """
        if series is not None and series not in self.names:
            raise ValueError(f"series must be one of {self.names[:8]}, got {series!r}")
        path, i = (
            self.paths[self._method(method)],
            0 if series is None else self.names.index(series),
        )
        pyplot = require("matplotlib.pyplot", "plot", purpose="a picture")
        if ax is None:
            _, ax = pyplot.subplots(figsize=(9, 3.2), layout="constrained")
        y = self.y[i]
        when = np.arange(y.size) if self.times is None else self.times[i]
        first = max(0, int(self.origins[0, i]) - 2 * self.horizon)
        ax.plot(when[first:], y[first:], color="0.35", linewidth=1.2, label="observed")
        for o, origin in enumerate(self.origins[:, i]):
            at = when[origin : origin + self.horizon]
            label = None if o else "forecasts"
            ax.plot(at, path.values[o, i], color="C0", linewidth=1.4, label=label)
            if path.lower is not None and path.upper is not None:
                ax.fill_between(at, path.lower[o, i], path.upper[o, i], color="C0", alpha=0.15,
                                linewidth=0)  # fmt: skip
        title = "" if len(self.names) == 1 and self.names[0] in (0, "y") else str(self.names[i])
        ax.set_title(shown(title), parse_math=False)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="upper left", fontsize="small")
        return ax


def _mean(values: np.ndarray, axis: int) -> np.ndarray:
    """Mean of the values that are there, NaN where there is none."""
    seen = np.isfinite(values)
    count = seen.sum(axis=axis)
    sums = np.where(seen, values, 0.0).sum(axis=axis)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)


def _flat(array: np.ndarray) -> np.ndarray:
    """Values (O, S, horizon) series by series."""
    return array.transpose(1, 0, 2).reshape(-1)


def _number(value: float) -> str:
    return "-" if not np.isfinite(value) else f"{value:.4g}"


def _pandas() -> Any:
    return require("pandas", "tables", purpose="a frame of errors")

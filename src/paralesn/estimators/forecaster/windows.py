"""Rows of a series to forecast: observations, then what is known in advance."""

from typing import Any, NamedTuple

import numpy as np

from paralesn import series
from paralesn.scaling import Scaling


class Rows(NamedTuple):
    """How rows (time, targets + known) become what a reservoir reads and a readout learns.

    Rows are laid out as a panel (series, time, columns): one series of all targets or, where the
    model is shared, a series for each target. What is known in advance is part of every series.
    """

    targets: int
    known: int
    horizon: int
    only_last: bool
    difference: bool
    changes: bool  # whether the reservoir reads changes from step to step, not values
    shared: bool
    washout: int
    every: int  # of the steps after the washout is learnt from
    scaling: Scaling | None
    names: dict[str, list[str] | None]  # of the columns of y and X, where they had names
    dtype: np.dtype  # in which the reservoir must be able to hold scaled rows

    @property
    def width(self) -> int:
        """Targets in each series of a panel."""
        return 1 if self.shared else self.targets

    def read(self, y: Any, X: Any, more: int = 0) -> np.ndarray:
        """Rows from new data, scaled; X has `more` rows than y, whose place is left NaN."""
        observed, _ = read_rows(y, "y", columns=self.targets)
        self._check_names(y, "y")
        return self._joined(observed, X, more)

    def ahead(self, X: Any, steps: int) -> np.ndarray:
        """Rows of steps to come: what is known of them, scaled, after NaN for what is not."""
        return self._joined(np.zeros((0, self.targets)), X, steps)

    def _joined(self, observed: np.ndarray, X: Any, more: int) -> np.ndarray:
        count = len(observed) + more
        known = np.zeros((count, 0))
        if not self.known and X is not None:
            raise ValueError("X must be None: the model was fitted without inputs known in advance")
        if self.known:
            if X is None:
                raise ValueError(f"X must hold the {self.known} inputs known in advance, got None")
            known, _ = read_rows(X, "X", count, "here", self.known)
            self._check_names(X, "X")
        rest = np.full((more, self.targets), np.nan)
        with np.errstate(over="ignore"):
            rows = self.scaled(np.hstack([np.vstack([observed, rest]), known]))
            held = np.isfinite(rows.astype(self.dtype)) | np.isnan(rows)
        if not held.all():
            step, column = np.argwhere(~held)[0]
            name = "y" if column < self.targets else "X"
            raise ValueError(f"{name} must stay finite in {self.dtype}, got more at step {step}")
        return rows

    def _check_names(self, data: Any, name: str) -> None:
        """Raise where columns have other names, or another order, than in training."""
        before, now = self.names[name], names_of(data)
        if before is not None and now is not None and before != now:
            raise ValueError(f"{name} must have the feature names {before} as in fit, got {now}")

    def panel(self, rows: np.ndarray) -> np.ndarray:
        """Rows (…, time, targets + known) as series (…, series, time, width + known)."""
        if not self.shared:
            return rows[..., None, :, :]
        own = np.moveaxis(rows[..., : self.targets], -1, -2)[..., None]
        known = rows[..., None, :, self.targets :]
        return np.concatenate([own, np.broadcast_to(known, own.shape[:-1] + known.shape[-1:])], -1)

    def series(self, observed: np.ndarray) -> np.ndarray:
        """Observations (time, targets) as (series, time, width)."""
        return observed.T[:, :, None] if self.shared else observed[None]

    def flat(self, values: np.ndarray) -> np.ndarray:
        """Values (series, …, width) as (…, targets)."""
        return np.moveaxis(values[..., 0], 0, -1) if self.shared else values[0]

    def seen(self, observed: np.ndarray, before: np.ndarray | None) -> np.ndarray:
        """What the reservoir reads of observations (…, time, width) that follow on `before`."""
        if not self.changes:
            return observed
        first = observed[..., :1, :] if before is None else before
        return np.diff(observed, axis=-2, prepend=first)

    def inputs(self, panel: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        """What the reservoir reads: the observation of a step, the knowledge of a horizon later."""
        observed = panel[..., : -self.horizon, : self.width]
        known = panel[..., self.horizon :, self.width :]
        return np.concatenate([self.seen(observed, before), known], axis=-1)

    def wanted(self, panel: np.ndarray, steps: slice) -> np.ndarray:
        """Targets (series * steps, horizon * width) of some steps."""
        y, h = panel[..., : self.width], self.horizon
        if self.only_last:
            wanted = y[:, h:, None][:, steps]
        else:
            windows = np.lib.stride_tricks.sliding_window_view(y, h, axis=1)
            wanted = windows[:, 1:][:, steps].swapaxes(2, 3)
        if self.difference:
            wanted = wanted - y[:, steps, None]
        return wanted.reshape(wanted.shape[0] * wanted.shape[1], -1)

    def lesson(
        self, panel: np.ndarray, z: np.ndarray, first: int, before: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """States (n, units) and targets that are learnt from, of those that begin at step `first`.

        `before` is the number of steps read before the panel.
        """
        start = max(first + before, self.washout)
        start += (self.washout - start) % self.every - before
        states = z[:, start - first :: self.every]
        wanted = self.wanted(panel, slice(start, max(start, first + z.shape[1]), self.every))
        return states.reshape(len(wanted), z.shape[-1]), wanted

    def predictions(self, readout: Any, z: np.ndarray, newest: np.ndarray) -> np.ndarray:
        """Forecasts (…, horizon, width) from states (…, units) and newest values (…, width)."""
        predicted = np.asarray(readout.predict(z.reshape(-1, z.shape[-1])))
        predicted = predicted.reshape(*z.shape[:-1], -1, self.width)
        return predicted + newest[..., None, :] if self.difference else predicted

    def scaled(self, rows: np.ndarray) -> np.ndarray:
        """Rows in the units the reservoir sees."""
        return rows if self.scaling is None else self.scaling.apply(rows)

    def restored(self, values: np.ndarray) -> np.ndarray:
        """Values (…, targets) in the units of y."""
        if self.scaling is None:
            return values
        return values * self.scaling.scale[: self.targets] + self.scaling.mean[: self.targets]


def names_of(data: Any) -> list[str] | None:
    """Names of the columns of a frame."""
    return [str(name) for name in data.columns] if hasattr(data, "columns") else None


def read_rows(
    data: Any, name: str, steps: int | None = None, why: str = "", columns: int | None = None
) -> tuple[np.ndarray, bool]:
    """`data` as rows (time, columns), and whether it came without columns."""
    array = series.numeric(data, name)
    owner = "the ReservoirForecaster"
    shaped = series.shaped(array, name, columns, owner)
    if shaped.ndim == 3:
        raise ValueError(
            f"{name} must be one series, (time,) or (time, features), got 3 dimensions"
        )
    if steps is not None and len(shaped) != steps:
        raise ValueError(f"{name} must have {steps} time steps {why}, got {len(shaped)}")
    return series.convert(shaped, np.dtype(float), name), array.ndim == 1

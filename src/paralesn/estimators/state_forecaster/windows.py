"""Windows of a series: what a reservoir reads at each step, and the horizon a readout learns."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn import series
from paralesn.estimators.state_forecaster.training_noise import gaussian_noise
from paralesn.layers.patches import Patches
from paralesn.persistence import register
from paralesn.persistence.fields import Count
from paralesn.scaling import Scaling
from paralesn.series import BATCH, Series


@register
@dataclass(frozen=True, eq=False)
class Windows:
    """How a table of observations becomes inputs of a reservoir and targets of a readout.

    Rows (time, targets + known) are laid out as a panel (series, time, columns): one series of all
    targets or, where the model is shared, a series for each target. What is known in advance is
    part of every series.

    Attributes
    ----------
    targets, known : int
        Columns that are forecast, and columns that are known in advance.
    horizon : int
        Steps predicted directly.
    only_last : bool
        Whether only the last step of the horizon is predicted.
    difference : bool
        Whether differences to the newest observation are predicted.
    changes : bool
        Whether the reservoir reads changes from step to step instead of values.
    shared : bool
        Whether every target is a series of its own.
    washout, every : int
        Steps that are not learnt from at the start; after it, every so many are.
    scaling : Scaling or None
        Of targets and known columns.
    target_names, known_names : list of str or None
        Names of the columns, where they had names.
    is_flat : bool
        Whether the targets came as (time,).
    noise : float
        Standard deviation of the noise on observations that are learnt from.
    patches : Patches or None
        Of the field that the targets are, where one readout serves all patches of it.
    """

    targets: Count
    known: Count
    horizon: Count
    only_last: bool
    difference: bool
    changes: bool
    shared: bool
    washout: Count
    every: Count
    scaling: Scaling | None
    target_names: list[str] | None
    known_names: list[str] | None
    is_flat: bool
    noise: float = 0.0
    patches: Patches | None = None

    @property
    def width(self) -> int:
        """Targets in each series of a panel."""
        return 1 if self.shared else self.targets

    @property
    def n_series(self) -> int:
        """Series of a panel."""
        return self.targets if self.shared else 1

    @property
    def n_readings(self) -> int:
        """How often the readout reads a step of a series: for each patch, or once."""
        return 1 if self.patches is None else self.patches.count

    def check(self, features: int) -> None:
        """Check what a file said, for a reservoir that reads so many features."""
        d, known = self.targets, self.known
        flags = (self.only_last, self.difference, self.changes, self.shared, self.is_flat)
        right = (
            all(isinstance(n, int) for n in (d, known, self.horizon, self.washout, self.every))
            and d >= 1 and known >= 0 and (d == 1 or not self.is_flat)
            and self.horizon >= 1 and self.washout >= 0 and self.every >= 1
            and self.width + known == features
            and {*flags} <= {True, False}
            and isinstance(self.noise, float) and 0 <= self.noise < np.inf
            and (self.patches is None or self.patches.features == self.width == features)
        )  # fmt: skip
        if not right:
            raise ValueError("the windows of a forecaster do not fit together")
        if self.scaling is not None:
            self.scaling.check(d + known)

    # -- tables ----------------------------------------------------------------------------------

    def read(self, y: Any, X: Any, dtype: np.dtype, more: int = 0) -> np.ndarray:
        """Rows of new data, scaled; X has `more` rows than y, for which y is NaN."""
        observed, _ = read_table(y, "y", columns=self.targets)
        _check_names(y, "y", self.target_names)
        return self._joined(observed, X, dtype, more)

    def ahead(self, X: Any, dtype: np.dtype, steps: int) -> np.ndarray:
        """Rows of steps to come: what is known of them, scaled, after NaN for what is not."""
        return self._joined(np.zeros((0, self.targets)), X, dtype, steps)

    def _joined(self, observed: np.ndarray, X: Any, dtype: np.dtype, more: int) -> np.ndarray:
        count = len(observed) + more
        known = np.zeros((count, 0))
        if not self.known and X is not None:
            raise ValueError("X must be None: the model was fitted without inputs known in advance")
        if self.known:
            if X is None:
                raise ValueError(f"X must hold the {self.known} inputs known in advance, got None")
            known, _ = read_table(X, "X", count, "here", self.known)
            _check_names(X, "X", self.known_names)
        rest = np.full((more, self.targets), np.nan)
        with np.errstate(over="ignore"):
            rows = self.scaled(np.hstack([np.vstack([observed, rest]), known]))
            is_held = np.isfinite(rows.astype(dtype)) | np.isnan(rows)
        if not is_held.all():
            step, column = np.argwhere(~is_held)[0]
            name = "y" if column < self.targets else "X"
            raise ValueError(f"{name} must stay finite in {dtype}, got more at step {step}")
        return rows

    def scaled(self, rows: np.ndarray) -> np.ndarray:
        """Rows in the units the reservoir reads."""
        return rows if self.scaling is None else self.scaling.apply(rows)

    def restored(self, values: np.ndarray) -> np.ndarray:
        """Values (…, targets) in the units of y."""
        if self.scaling is None:
            return values
        return values * self.scaling.scale[: self.targets] + self.scaling.mean[: self.targets]

    def like_y(self, values: np.ndarray) -> np.ndarray:
        """Values (…, targets) in the units of y, without the last axis if y had none."""
        restored = self.restored(values)
        return restored[..., 0] if self.is_flat else restored

    # -- panels ----------------------------------------------------------------------------------

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

    def changed(self, observed: np.ndarray, before: np.ndarray | None) -> np.ndarray:
        """What the reservoir reads of observations (…, time, width) that follow `before`."""
        if not self.changes:
            return observed
        first = observed[..., :1, :] if before is None else before
        return np.diff(observed, axis=-2, prepend=first)

    def inputs(self, panel: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        """What the reservoir reads: the observation of a step, the knowledge of a horizon later."""
        observed = panel[..., : -self.horizon, : self.width]
        known = panel[..., self.horizon :, self.width :]
        return np.concatenate([self.changed(observed, before), known], axis=-1)

    def disturbed(self, panel: np.ndarray, first: int) -> np.ndarray:
        """A panel with noise on its observations, whose first step is step `first` of all."""
        steps = panel.shape[1]
        noise = self.noise * gaussian_noise(first, steps, self.n_series * self.width)
        noisy = panel.copy()
        noisy[..., : self.width] += noise.reshape(steps, self.n_series, -1).swapaxes(0, 1)
        return noisy

    def wanted(self, panel: np.ndarray, steps: slice, read: np.ndarray | None = None) -> np.ndarray:
        """Targets (series * steps * readings, outputs of a reading) of some steps.

        `read` is the panel with what was on the observations when they were read: differences lead
        from there to the truth.
        """
        y, h = panel[..., : self.width], self.horizon
        if self.only_last:
            wanted = y[:, h:, None][:, steps]
        else:
            windows = np.lib.stride_tricks.sliding_window_view(y, h, axis=1)
            wanted = windows[:, 1:][:, steps].swapaxes(2, 3)
        if self.difference:
            newest = y if read is None else read[..., : self.width]
            wanted = wanted - newest[:, steps, None]
        count, kept, ahead, width = wanted.shape  # there may be no step at all
        outputs = ahead * width // self.n_readings
        if self.patches is not None:
            wanted = self.patches.own(wanted).swapaxes(2, 3)
        return wanted.reshape(count * kept * self.n_readings, outputs)

    def lesson(
        self,
        panel: np.ndarray,
        z: np.ndarray,
        first: int,
        before: int = 0,
        read: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """States (n, units) and targets that are learnt from, of those that begin at step `first`.

        `before` is the number of steps read before the panel; `read` as in `wanted`.
        """
        start = max(first + before, self.washout)
        start += (self.washout - start) % self.every - before
        states = z[:, start - first :: self.every]
        steps = slice(start, max(start, first + z.shape[1]), self.every)
        wanted = self.wanted(panel, steps, read)
        return states.reshape(len(wanted), z.shape[-1] // self.n_readings), wanted

    def predictions(self, readout: Any, z: np.ndarray, newest: np.ndarray) -> np.ndarray:
        """Forecasts (…, horizon, width) from states (…, units) and newest values (…, width)."""
        rows = z.reshape(-1, z.shape[-1] // self.n_readings)
        predicted = np.asarray(readout.predict(rows))
        if self.patches is not None:
            own = predicted.reshape(*z.shape[:-1], self.patches.count, -1, self.patches.size)
            predicted = self.patches.joined(own.swapaxes(-3, -2))
        predicted = predicted.reshape(*z.shape[:-1], -1, self.width)
        return predicted + newest[..., None, :] if self.difference else predicted


def names_of(data: Any) -> list[str] | None:
    """Names of the columns of a frame."""
    return [str(name) for name in data.columns] if hasattr(data, "columns") else None


def _check_names(data: Any, name: str, before: list[str] | None) -> None:
    """Raise where columns have other names, or another order, than in training."""
    now = names_of(data)
    if before is not None and now is not None and before != now:
        raise ValueError(f"{name} must have the feature names {before} as in fit, got {now}")


def as_series(panel: np.ndarray) -> Series:
    """A panel (series, time, features) as a reservoir reads it, without another check."""
    count, steps, features = panel.shape
    rows = np.ascontiguousarray(panel).reshape(-1, features)
    return Series(rows, np.full(count, steps), BATCH)


def read_table(
    data: Any, name: str, steps: int | None = None, why: str = "", columns: int | None = None
) -> tuple[np.ndarray, bool]:
    """Rows (time, columns) of finite numbers, and whether `data` came without columns."""
    array = series.numeric(data, name)
    owner = "the StateForecaster"
    table = series.shaped(array, name, columns, owner)
    if table.ndim == 3:
        raise ValueError(
            f"{name} must be one series, (time,) or (time, features), got 3 dimensions"
        )
    if steps is not None and len(table) != steps:
        raise ValueError(f"{name} must have {steps} time steps {why}, got {len(table)}")
    return series.convert(table, np.dtype(float), name), array.ndim == 1

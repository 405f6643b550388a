"""Forecasters led from origin to origin: fitted once and then only reading on, or fitted anew."""

import inspect
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone

from paralesn.estimators.forecaster.estimator import Forecaster
from paralesn.estimators.forecaster.parts import Material
from paralesn.estimators.forecaster.spread import Forecast


class Follower:
    """A forecaster at an origin of series.

    Parameters
    ----------
    model : forecaster
        It stays as it is; copies of it are fitted.
    material : Material
        The series, also after the origins: no copy is fitted to what follows its origin.
    refit : bool
        Fit at every origin. Otherwise read on from the one before.
    """

    def __init__(self, model: Any, material: Material, refit: bool) -> None:
        self._model, self._material, self._refit = model, material, refit
        self._fitted: Any = None
        self._origin = np.zeros(len(material.panel.values), np.int64)

    @property
    def notes(self) -> list[str]:
        """What the fitted forecaster says about data and fit."""
        return list(getattr(self._fitted, "notes_", []))

    def move(self, origin: np.ndarray) -> None:
        """Go to an origin: the number of steps (S,) that are known."""
        if self._fitted is None or self._refit:
            self._fitted = self._fit(self._material.part(np.zeros_like(origin), origin))
        elif (origin > self._origin).all():
            self._update(self._material.part(self._origin, origin))
        self._origin = origin

    def forecast(self, horizon: int, levels: list[float]) -> Forecast:
        """Forecasts (S, horizon), and bounds (S, horizon, levels); no levels without intervals."""
        ahead = self._material.part(self._origin, self._origin + horizon)
        return self._forecast(ahead, horizon, levels)

    def _fit(self, known: Material) -> Any:
        return clone(self._model).fit(known.panel, known.X, past=known.past, static=known.static)

    def _update(self, new: Material) -> None:
        self._fitted.update(new.panel, new.X, past=new.past)

    def _forecast(self, ahead: Material, horizon: int, levels: list[float]) -> Forecast:
        found = self._fitted.forecast(horizon, ahead.X, interval=levels or None)
        return _stacked(found, levels)


class TableFollower(Follower):
    """The same for models that take arrays: (time,), (time, series), or a list of series."""

    def _fit(self, known: Material) -> Any:
        model = deepcopy(self._model) if not hasattr(self._model, "get_params") else \
            clone(self._model)  # fmt: skip
        if known.past is not None or known.static is not None:
            raise ValueError(f"past and static must be None: {type(model).__name__} has no such "
                             "inputs")  # fmt: skip
        return model.fit(*self._arrays(known))

    def _update(self, new: Material) -> None:
        if not hasattr(self._fitted, "update"):
            raise ValueError(f"refit must be True: {type(self._fitted).__name__} has no update")
        self._fitted.update(*self._arrays(new))

    def _forecast(self, ahead: Material, horizon: int, levels: list[float]) -> Forecast:
        X = self._arrays(ahead)[1:]
        if not levels or not self._has_intervals():
            return _stacked(self._fitted.forecast(horizon, *X), [], self._is_list)
        found = [self._fitted.forecast(horizon, *X, interval=level) for level in levels]
        every = [_stacked(forecast, levels, self._is_list) for forecast in found]
        bounds = (np.stack([f[k] for f in every], axis=-1) for k in (1, 2))
        return Forecast(every[0].values, *bounds)

    def _has_intervals(self) -> bool:
        loop = getattr(getattr(self._fitted, "fitted_", None), "loop", self._fitted)
        if not getattr(loop, "has_intervals_", True):
            return False
        return "interval" in inspect.signature(self._fitted.forecast).parameters

    @property
    def _is_list(self) -> bool:
        return len(set(self._material.counts.tolist())) > 1

    def _arrays(self, part: Material) -> tuple[Any, ...]:
        """The series, and the inputs where there are any."""
        values = part.panel.values
        y: Any = values if self._is_list else values[0] if len(values) == 1 else np.stack(values, 1)
        if part.X is None:
            return (y,)
        return y, [_table(own) for own in part.X.columns] if self._is_list else \
            _table(part.X.columns[0])  # fmt: skip


class LoopFollower(TableFollower):
    """The same for our closed loop, which reads all series together and knows their times."""

    def _fit(self, known: Material) -> Any:
        X = known.X and _table(known.X.columns[0])
        panel = known.as_table().panel
        return clone(self._model).fit(panel, X, past=known.past, static=known.static)


def follower(model: Any, material: Material, refit: bool) -> Follower:
    """What leads a forecaster of any kind from origin to origin."""
    if isinstance(model, Forecaster):
        is_loop = getattr(model, "strategy", "auto") == "closed-loop"
        return (LoopFollower if is_loop else Follower)(model, material, refit)
    return TableFollower(model, material, refit)


def _table(columns: dict[str, np.ndarray]) -> np.ndarray:
    """Columns of numbers as an array (time, inputs)."""
    return np.stack([np.asarray(column, float) for column in columns.values()], axis=1)


def _stacked(found: Any, levels: list[float], is_list: bool = True) -> Forecast:
    """Forecasts as arrays (S, horizon), bounds as (S, horizon, levels) or (S, horizon)."""

    def stacked(part: Any) -> np.ndarray:
        if is_list:
            return np.stack([np.asarray(own, float) for own in part])
        array = np.asarray(part, float)
        return array.reshape(len(array), -1).T

    if not levels:
        values = stacked(found)
        none = np.zeros((*values.shape, 0))
        return Forecast(values, none, none)
    return Forecast(*(stacked(part) for part in found))

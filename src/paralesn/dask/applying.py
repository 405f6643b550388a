"""Apply a fitted estimator, features or a reservoir to data of Dask, block by block."""

from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed

from paralesn import checks
from paralesn.dask import cluster
from paralesn.dask.blocks import TIME, Part, Parts, parts_of
from paralesn.dask.time_chunks import starts_of
from paralesn.distributed import one_thread
from paralesn.estimators.regressor import ReservoirRegressor
from paralesn.estimators.regressor_passes import StatePass
from paralesn.estimators.series_readout import SeriesReadout
from paralesn.features.filter_bank import FilterBank
from paralesn.features.pooled_states import PooledStates
from paralesn.reservoirs.base import Reservoir

_METHODS = ("predict", "predict_proba", "decision_function")


def predict(
    model: Any, X: Any, *, method: str = "predict", client: Any = None, halo: int | None = None
) -> Any:
    """Predictions of a fitted estimator for data of Dask.

    Parameters
    ----------
    model : ReservoirRegressor, ReservoirClassifier or ReservoirSeriesRegressor, fitted
    X : dask array, bag or list of delayed blocks, as in `fit`
    method : "predict", "predict_proba" or "decision_function"
    client : distributed.Client, optional
        Used where states have to be carried over before anything is predicted.
    halo : int, optional
        As in `fit`, for a single series that is cut over time. It begins in zero.

    Returns
    -------
    predictions : dask array, or list of delayed blocks where X is not an array
        Nothing is computed before it is asked for.
    """
    checks.choice("method", method, _METHODS)
    if not isinstance(model, (ReservoirRegressor, SeriesReadout)) or not hasattr(model, "fitted_"):
        expected = "a fitted regressor, classifier or regressor of whole series"
        raise checks.fail("model", model, expected, TypeError)
    takes_time = isinstance(model, ReservoirRegressor)
    parts = parts_of(X, None, None, takes_time)
    if takes_time and parts.kind == TIME:
        return _over_time(model, parts, client, halo)
    blocks = [delayed(_applied)(model, method, part.X) for part in parts.parts]
    if parts.array is None:
        return blocks
    sample = np.zeros((2, *parts.array.shape[1:]))
    return _joined(blocks, parts, _applied(model, method, sample))


def transform(features: Any, X: Any) -> Any:
    """Features or states of series of Dask.

    Parameters
    ----------
    features : FilterBank or PooledStates, fitted, or a reservoir
    X : dask array (cases, time, features), bag or list of delayed blocks
        Cut over cases.

    Returns
    -------
    features : dask array, or list of delayed blocks where X is not an array
    """
    if not isinstance(features, (FilterBank, PooledStates, Reservoir)):
        expected = "a FilterBank, PooledStates or reservoir"
        raise checks.fail("features", features, expected, TypeError)
    if isinstance(features, Reservoir):
        if not hasattr(features, "layers_"):
            raise ValueError("features must be fitted: a reservoir is drawn by fit or run")
        if getattr(X, "ndim", 3) != 3:
            raise ValueError(f"X must be (cases, time, features), got shape {X.shape}")
    elif not hasattr(features, "fitted_"):
        raise ValueError(f"features must be fitted, got a {type(features).__name__} that is not")
    parts = parts_of(X, None, None, takes_time=False)
    blocks = [delayed(_applied)(features, "transform", part.X) for part in parts.parts]
    if parts.array is None:
        return blocks
    sample = np.zeros((2, *parts.array.shape[1:]))
    return _joined(blocks, parts, _applied(features, "transform", sample))


def _applied(model: Any, method: str, X: Any) -> Any:
    with one_thread():
        result = getattr(model, method)(X)
    return result if isinstance(result, list) else np.asarray(result)


def _joined(blocks: list[Any], parts: Parts, sample: np.ndarray) -> Any:
    """A dask array of blocks, whose rows are like those of a sample."""
    arrays = [
        da.from_delayed(block, (part.count, *sample.shape[1:]), sample.dtype)
        for block, part in zip(blocks, parts.parts, strict=True)
    ]
    return da.concatenate(arrays)


def _over_time(model: ReservoirRegressor, parts: Parts, client: Any, halo: int | None) -> Any:
    """Predictions for a single series in pieces, each from the state that precedes it."""
    fitted = model.fitted_
    if fitted.feedback is not None:
        raise checks.fail("feedback", True, "False for a series that is cut over time")
    step = StatePass(
        model, fitted.reservoir, fitted.readout, fitted.scaling, fitted.missing, parts.steps
    )
    runs: list[list[Part]] = [[part] for part in parts.parts]
    starts = starts_of(step, parts, runs, halo, cluster.engine(client))
    blocks = [
        delayed(_predicted)(model, step, part.X, before, part.first)
        for part, before in zip(parts.parts, starts.before, strict=True)
    ]
    width = max(1, (model.n_features_in_ if parts.array.ndim == 2 else 1))
    sample = _applied(model, "predict", np.zeros((2, width)))
    return _joined(blocks, parts, sample)


def _predicted(
    model: ReservoirRegressor, step: StatePass, X: Any, before: Any, first: int
) -> np.ndarray:
    from paralesn.estimators.passes import Block

    with one_thread():
        start = step.start(Block(X, None, first, before), None)
        return np.asarray(model.predict(X, state=start))

"""Fit estimators to data in blocks, wherever these lie: four pure functions for any engine.

A pass over the data is a `plan`. `digest` makes a partial of each block, `merge` puts partials
together, and `finish` makes of that of all blocks the next plan, or the ordinary fitted
estimator::

    step = plan(model, n_features)
    while is_plan(step):
        step = finish(step, reduce(merge, [digest(step, X, y, first=k) for k, X, y in blocks]))

Nothing changes what it is given, so that a task may be done again. Partials can be pickled, saved
by `paralesn.save`, and merged in any grouping, as long as their order is kept; the same grouping
gives the same bits on any engine that runs tasks in processes, each on `one_thread`.
`paralesn.dask` does all of this for dask arrays, bags and files.

Examples
--------
>>> from functools import reduce
>>> import numpy as np, paralesn as pe
>>> from paralesn.distributed import digest, finish, is_plan, merge, plan
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(6, 300, 1))  # six series, in three blocks
>>> y = np.cumsum(X[:, :, 0], axis=1) - np.cumsum(np.roll(X[:, :, 0], 3, axis=1), axis=1)
>>> step = plan(pe.ReservoirRegressor(pe.ParalESN(units=40)), n_features=1)
>>> while is_plan(step):  # first the inputs are measured, then states are learnt from
...     parts = [digest(step, X[k : k + 2], y[k : k + 2], first=k) for k in (0, 2, 4)]
...     step = finish(step, reduce(merge, parts))
>>> whole = pe.ReservoirRegressor(pe.ParalESN(units=40)).fit(X, y)
>>> bool(np.abs(step.predict(X) - whole.predict(X)).max() < 1e-9)
True
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.estimators import passes, regressor_passes
from paralesn.estimators.forecaster import panel_passes
from paralesn.estimators.forecaster.estimator import Forecaster
from paralesn.estimators.forecaster.panel_block import SeriesInputs
from paralesn.estimators.passes import Block, Pass
from paralesn.estimators.regressor import ReservoirRegressor
from paralesn.estimators.series_readout import SeriesReadout
from paralesn.missing import INTERPOLATE
from paralesn.readouts.ridge import Ridge
from paralesn.runtime import threads
from paralesn.runtime.blas import single_threaded_blas

__all__ = ["SeriesInputs", "digest", "finish", "is_plan", "merge", "one_thread", "plan"]


def plan(model: Any, n_features: int | None = None, *, steps: int | None = None) -> Pass:
    """The first pass over the data that fitting a model takes.

    Parameters
    ----------
    model : ReservoirRegressor, ReservoirClassifier, ReservoirSeriesRegressor, ReservoirForecaster
        or SmootherBank. Not fitted; it stays as it is.
    n_features : int, optional
        Features of a time step. Where it is given, and nothing else has to be known of all data, a
        regressor needs one pass instead of two.
    steps : int, optional
        Length of a single series whose pieces the blocks are, for a `ReservoirRegressor`. Default:
        blocks hold whole series.

    Returns
    -------
    plan : Pass
    """
    if n_features is not None:
        checks.integer("n_features", n_features, 1)
    if isinstance(model, (SeriesReadout, Forecaster)):
        if steps is not None:
            raise checks.fail("steps", steps, "None for an estimator of whole series")
        return model.first_pass() if isinstance(model, SeriesReadout) else panel_passes.begin(model)
    if not isinstance(model, ReservoirRegressor):
        raise checks.fail("model", model, "an estimator that is fitted in blocks", TypeError)
    _check_regressor(model, steps)
    options: dict[str, Any] = {"keeps_states": False}
    if steps is not None:
        options |= {"is_one": True, "steps": checks.integer("steps", steps, 1)}
    return regressor_passes.begin(model, n_features, **options)


def _check_regressor(model: ReservoirRegressor, steps: int | None) -> None:
    """Raise for what a regressor cannot do in blocks."""
    if model.feedback:
        raise checks.fail("feedback", model.feedback, "False for data in blocks")
    if getattr(model.reservoir, "adapts", False):
        expected = "one that does not adapt to its input, for data in blocks"
        raise checks.fail("reservoir", model.reservoir, expected)
    if steps is not None and model.missing == INTERPOLATE:
        expected = "'error' or 'mask' for a series in pieces, which do not know their neighbours"
        raise checks.fail("missing", model.missing, expected)


def digest(
    plan: Pass,
    X: Any,
    y: Any = None,
    *,
    first: int = 0,
    before: Any = None,
    sample_weight: Any = None,
    into: Any = None,
) -> Any:
    """A partial of one block.

    Parameters
    ----------
    plan : Pass
    X, y : as `fit` of the model takes them
        Whole series, or consecutive time steps of a single one. For a forecaster, X are the series,
        which its own `fit` calls y, and y is None or a `SeriesInputs` of what goes with them.
    first : int
        The number of the first series, or time step, of the block among all.
    before : State or array (steps, features), optional
        Of a piece of a series: the state that it begins in, or the time steps before it, enough
        of them for the reservoir to forget what it does not know. Default: zero.
    sample_weight : array, optional
        Weights of whole series.
    into : partial, optional
        That of the blocks just before this one, to which it is added: cheaper than a merge. A
        piece of a series then begins in the state where they ended. It stays as it is.

    Returns
    -------
    partial : object
    """
    _check_plan(plan)
    checks.integer("first", first, 0)
    if before is not None and isinstance(before, np.ndarray) and not len(before):
        before = None
    return plan.digest(Block(X, y, first, before, sample_weight), into)


def merge(first: Any, second: Any) -> Any:
    """A partial of the blocks of two, of which those of `second` come later; both stay as they are.

    Readouts merge as well.
    """
    if isinstance(first, Ridge):
        return first.merge(second)
    if type(first) is not type(second) or not hasattr(first, "merged"):
        expected = f"a partial as the first one is, a {type(first).__name__}"
        raise checks.fail("second", second, expected, TypeError)
    return first.merged(second)


def finish(plan: Pass, partial: Any) -> Any:
    """The next plan or, after the last one, the fitted estimator, from the partial of all data."""
    _check_plan(plan)
    return plan.finish(partial)


def is_plan(step: Any) -> bool:
    """Whether another pass over the data is to be made; otherwise `step` is the estimator."""
    return isinstance(step, Pass)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep kernels and BLAS on one thread, within a task that has one core.

    An engine that keeps every core busy with a task of its own loses time when tasks start threads
    as well, and BLAS rounds differently on another number of threads.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> from paralesn.distributed import digest, one_thread, plan
    >>> step = plan(pe.ReservoirRegressor(pe.ParalESN(units=40)), n_features=1)
    >>> X = np.random.default_rng(0).normal(size=(2, 300, 1))
    >>> with one_thread():  # around every digest, merge and finish
    ...     part = digest(step, X, X[:, :, 0])
    """
    with threads.limited(1), single_threaded_blas():
        yield


def _check_plan(plan: Any) -> None:
    if not isinstance(plan, passes.Pass):
        raise checks.fail("plan", plan, "what plan or finish returned", TypeError)

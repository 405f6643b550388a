"""Fit an estimator to data in blocks: a graph of tasks for every pass, the same for any cluster.

Consecutive blocks form runs, long enough for merging to cost little beside learning; within a run
each block is added to the partial of those before it. Runs are merged in a tree that follows their
numbers. Both depend on the data's blocks alone, so that neither the number of workers nor their
deaths change a bit of the result.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any

from dask.delayed import delayed

from paralesn import checks
from paralesn.dask import checkpoints, cluster
from paralesn.dask.blocks import TIME, Part, Parts, panel_parts, parts_of, size_of
from paralesn.dask.checkpoints import Checkpoints
from paralesn.dask.time_chunks import Starts, starts_of
from paralesn.distributed import (
    SeriesInputs,
    digest,
    finish,
    is_plan,
    merge,
    one_thread,
    plan,
)
from paralesn.estimators.forecaster.estimator import Forecaster
from paralesn.estimators.passes import Pass
from paralesn.estimators.regressor import ReservoirRegressor
from paralesn.estimators.regressor_passes import StatePass
from paralesn.runtime.blas import single_threaded_blas

_RUNS = 32  # that data are cut into, if merging them does not cost too much
_KEPT_RUNS = 8  # runs whose merged partial a checkpoint holds


def fit(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    client: Any = None,
    sample_weight: Any = None,
    halo: int | None = None,
    persist: bool | None = None,
    checkpoint: Any = None,
    progress: bool = True,
    id: str | None = None,
    time: str | None = None,
    features: Any = None,
    inputs: SeriesInputs | None = None,
) -> Any:
    """Fit an estimator to data of Dask, block by block, and return it fitted.

    Parameters
    ----------
    model : ReservoirRegressor, ReservoirClassifier, ReservoirSeriesRegressor, ReservoirForecaster
        or SmootherBank. It stays as it is; what is returned is an ordinary fitted one of its kind,
        a regressor without `state_` where blocks hold whole series.
    X : dask array, bag, list of delayed blocks, or path
        An array (cases, time, features) is cut over cases. For a `ReservoirRegressor`, (time,
        features) or (time,) is a single series, cut over time; for estimators of whole series,
        (cases, time) are univariate ones. Partitions of a bag and delayed blocks are lists of
        series of any lengths. A path or fsspec URL is a folder of Parquet files. For a forecaster,
        X holds the series themselves: an array (time, series), bags or delayed lists of arrays,
        long frames, or files of such; every block or file holds whole series.
    y : dask array, bag, list of delayed blocks, array in memory, or name of a column
        Targets or labels, as the model takes them; of files, the name of their column.
    client : distributed.Client, optional
        Default: the current one or, without any, the threads of this process.
    sample_weight : as y, optional
        Weights of whole series.
    halo : int, optional
        Time steps before a piece of a series that are read for its first state. Default: so many
        that nothing is left of the state before them or, where that is much, for one diagonal
        layer, none: states then carry over exactly, for which the series is read once more.
    persist : bool, optional
        Keep X in the memory of the cluster, so that it is read once. Default: where it takes a
        third of that memory at most and there is no checkpoint; otherwise each pass reads it
        again.
    checkpoint : path or fsspec URL, optional
        A folder for partials of subtrees. Called again with it, a fit that was stopped is taken up.
        It must be reachable by every worker, and belong to the same data.
    progress : bool
        Show the progress in the terminal.
    id, time, features : str, str and sequence of str, optional
        Columns of Parquet files: what tells series apart (default: a file is a series), what rows
        are sorted by, and inputs (default: all others).
    inputs : SeriesInputs, optional
        For a forecaster: columns of long frames that are inputs known in advance, known up to now
        or static, and the names of the columns of series, times and values.

    Returns
    -------
    model : the fitted estimator

    Examples
    --------
    >>> import dask.array as da, numpy as np, paralesn as pe
    >>> from paralesn.dask import fit
    >>> x = da.random.default_rng(0).normal(size=20_000, chunks=5_000)
    >>> y = x**2 + da.roll(x, 3)
    >>> model = fit(pe.ReservoirRegressor(pe.ParalESN(units=50)), x, y, progress=False)
    >>> here = pe.ReservoirRegressor(pe.ParalESN(units=50)).fit(x.compute(), y.compute())
    >>> new = np.random.default_rng(1).normal(size=300)
    >>> bool(np.abs(model.predict(new) - here.predict(new)).max() < 1e-10)
    True
    """
    takes_time = isinstance(model, ReservoirRegressor)
    columns = {"id": id, "time": time, "features": features}
    if isinstance(model, Forecaster):
        others = {"y": y, "sample_weight": sample_weight, **columns}
        given = [name for name, value in others.items() if value is not None]
        if given:
            raise ValueError(f"{given[0]} must be None for a forecaster, whose series are X")
        inputs = inputs or SeriesInputs()
        parts, id = panel_parts(X, inputs), inputs.names.id
    elif inputs is not None:
        raise checks.fail("inputs", inputs, "None but for a forecaster")
    else:
        parts = parts_of(X, y, sample_weight, takes_time, **columns)
    if halo is not None:
        checks.integer("halo", halo, 0)
        if parts.kind != TIME:
            raise checks.fail("halo", halo, "None for blocks of whole series")
    checks.flag("progress", progress)
    steps = parts.steps if parts.kind == TIME else None
    step = plan(model, parts.n_features, steps=steps)  # whatever is wrong with it is said now
    kept = None if checkpoint is None else Checkpoints(checkpoint)
    engine = cluster.engine(client)
    if parts.kind == TIME or parts.array is not None:
        # What checkpoints make needless is not to be read.
        parts = _persisted(parts, engine, False if persist is None and kept else persist)
    elif any(part.count is None for part in parts.parts):
        parts = parts.sized(engine.compute([delayed(size_of)(p.X, id) for p in parts.parts]))
    with cluster.shown(engine) if progress else nullcontext() as show:
        number = 1
        while is_plan(step):
            call = _Call(step, parts, engine, kept, halo)
            step = finish_here(step, call.partial(show, number))
            number += 1
    return step


def finish_here(step: Pass, partial: Any) -> Any:
    """Finish a pass with BLAS on one thread, as tasks have it."""
    with single_threaded_blas():
        return finish(step, partial)


def _persisted(parts: Parts, engine: cluster.Engine, persist: bool | None) -> Parts:
    """The parts, their inputs in the memory of the cluster where that is wanted or fits."""
    array = parts.array
    if persist is None:
        memory = engine.memory()
        persist = memory is not None and 3 * int(array.nbytes) <= memory
    if not checks.flag("persist", persist) or engine.client is None:
        return parts
    array = engine.client.persist(array)
    sized = zip(array.to_delayed().reshape(-1), array.chunks[0], strict=True)
    blocks = [block for block, size in sized if size]
    inputs = zip(parts.parts, blocks, strict=True)
    return replace(parts, parts=[replace(part, X=x) for part, x in inputs], array=array)


class _Call:
    """One pass over all blocks."""

    def __init__(
        self,
        step: Pass,
        parts: Parts,
        engine: cluster.Engine,
        kept: Checkpoints | None,
        halo: int | None,
    ) -> None:
        self.step, self.engine, self.kept = step, engine, kept
        wanted = [part for part in parts.parts if step.wants(part.first, part.count or 1)]
        self.parts = replace(parts, parts=wanted)
        self.runs = list(runs_of(wanted, step))
        self.starts = Starts.none(len(self.runs))
        self._halo = halo

    def partial(self, show: Any, number: int) -> Any:
        """The partial of all blocks."""
        self.engine.warm_up(self.step)
        shared = delayed(self.engine.scattered(self.step), pure=True)
        if isinstance(self.step, StatePass) and self.parts.kind == TIME:
            self.starts = starts_of(self.step, self.parts, self.runs, self._halo, self.engine)
        topic = None if show is None else show.begin(f"pass {number}", len(self.parts.parts))
        tree = self._tree(shared, topic)
        return self.engine.compute([tree])[0]

    def _tree(self, shared: Any, topic: str | None) -> Any:
        """All runs, merged in pairs by their numbers."""
        level = [(number, number + 1) for number in range(len(self.runs))]
        made: dict[tuple[int, int], Any] = {}
        while len(level) > 1:
            pairs = [
                (level[k][0], level[min(k + 1, len(level) - 1)][1]) for k in range(0, len(level), 2)
            ]
            made |= {
                pair: (level[2 * k], level[2 * k + 1])
                for k, pair in enumerate(pairs)
                if 2 * k + 1 < len(level)
            }
            level = pairs
        return self._subtree(level[0], made, shared, topic)

    def _subtree(self, span: tuple[int, int], made: dict, shared: Any, topic: str | None) -> Any:
        first, last = span
        name = None
        if self.kept is not None and (last - first == _KEPT_RUNS or span[1] == len(self.runs)):
            sizes = tuple(part.count or 0 for part in self.parts.parts)
            name = checkpoints.name_of(self.step, sizes, first, last)
            if self.kept.has(name):
                return delayed(checkpoints.read, pure=True)(self.kept.folder, name)
        if span in made:
            halves = [self._subtree(half, made, shared, topic) for half in made[span]]
            result = delayed(_merge, pure=True)(*halves)
        else:
            result = self._run(first, shared, topic)
        if name is not None and self.kept is not None:
            result = delayed(checkpoints.write, pure=True)(result, self.kept.folder, name)
        return result

    def _run(self, number: int, shared: Any, topic: str | None) -> Any:
        """The blocks of a run, each added to the partial of those before it."""
        partial, before = None, self.starts.before[number]
        for part in self.runs[number]:
            arguments = (part.X, part.y, part.weight, part.first, before, partial, topic)
            partial = delayed(_digest, pure=True)(shared, *arguments)
            before = None  # what comes next continues from where this one ended
        return partial


def runs_of(parts: list[Part], step: Pass) -> Iterator[list[Part]]:
    """Consecutive blocks that are digested one after the other into one partial.

    As long as merging asks for but, where that would leave workers idle, shorter: down to an eighth
    of it, for 32 runs. The last run may be up to twice as long as the others.
    """
    sizes = [part.rows if step.counts_steps else part.count or 0 for part in parts]
    wanted = step.rows_per_merge
    least = min(wanted, max(wanted // 8, sum(sizes) // _RUNS))
    cuts, run = [0], 0
    for number, size in enumerate(sizes):
        run += size
        if run >= least:
            cuts.append(number + 1)
            run = 0
    if cuts[-1] != len(parts):
        cuts = [*(cuts[:-1] if len(cuts) > 1 else cuts), len(parts)]
    for first, last in pairwise(cuts):
        yield parts[first:last]


def _digest(
    step: Pass, X: Any, y: Any, weight: Any, first: int, before: Any, into: Any, topic: str | None
) -> Any:
    with one_thread():
        result = digest(step, X, y, first=first, before=before, sample_weight=weight, into=into)
    if topic is not None:
        cluster.tell(topic)
    return result


def _merge(first: Any, second: Any) -> Any:
    with one_thread():
        return merge(first, second)

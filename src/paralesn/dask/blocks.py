"""Data of Dask as a list of blocks: arrays cut over cases or over time, bags, lists, files."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed

from paralesn import checks
from paralesn.files import require

CASES, TIME = "cases", "time"


@dataclass(frozen=True)
class Part:
    """One block, not computed yet.

    Attributes
    ----------
    X, y, weight : Delayed or None
    count : int or None
        Series, or time steps; None where that is not known before it is computed.
    first : int
        The number of the first of them.
    rows : int
        Time steps of all its series.
    """

    X: Any
    y: Any
    weight: Any = None
    count: int | None = None
    first: int = 0
    rows: int = 0


@dataclass(frozen=True)
class Parts:
    """All blocks, and what is known of them.

    Attributes
    ----------
    parts : list of Part
    kind : "cases" or "time"
        Whether blocks hold whole series or pieces of a single one.
    n_features : int or None
    array : dask array or None
        What blocks are cut from, so that a piece before a block can be read.
    """

    parts: list[Part]
    kind: str
    n_features: int | None
    array: Any = None

    @property
    def steps(self) -> int:
        """Time steps of a single series."""
        return sum(part.count or 0 for part in self.parts)

    def sized(self, sizes: Sequence[tuple[int, int]]) -> "Parts":
        """With the numbers of series and of time steps of every block."""
        firsts = np.concatenate([[0], np.cumsum([count for count, _ in sizes])]).tolist()
        parts = [
            replace(part, count=int(count), first=int(first), rows=int(rows))
            for part, (count, rows), first in zip(self.parts, sizes, firsts[:-1], strict=True)
            if count  # a partition of a bag may be empty
        ]
        return replace(self, parts=parts)


def size_of(series: Any, id: str | None = None) -> tuple[int, int]:
    """Number of series in a block, and of their time steps: a list, a table or a long frame."""
    if hasattr(series, "columns"):
        return (len(set(series[id])) if id in series.columns else 1), len(series)
    if isinstance(series, np.ndarray) and series.ndim == 2:
        return series.shape[1], series.size
    return len(series), sum(len(one) for one in series)


def parts_of(X: Any, y: Any, sample_weight: Any, takes_time: bool, **columns: Any) -> Parts:
    """Blocks of X with their targets.

    `takes_time`: two dimensions are (time, features) of a single series, not (cases, time).
    `columns`: how files are read, see `files`.
    """
    if isinstance(X, (str, os.PathLike)):
        return files(X, y, takes_time, **columns)
    given = [name for name, value in columns.items() if value is not None]
    if given:
        raise ValueError(f"{given[0]} is for files of tables, got X of type {type(X).__name__}")
    if _is_array(X):
        return _of_array(X, y, sample_weight, takes_time)
    if hasattr(X, "to_delayed") and hasattr(X, "npartitions") and not hasattr(X, "columns"):
        return _of_lists(X.to_delayed(), _delayed(y), _delayed(sample_weight))
    if isinstance(X, (list, tuple)) and X and all(isinstance(x, Delayed) for x in X):
        return _of_lists(list(X), _delayed(y), _delayed(sample_weight))
    raise TypeError(
        "X must be a dask array, a bag, a list of delayed blocks of series or a folder of Parquet "
        f"files, got {type(X).__name__}; data in memory are for the estimator's own fit"
    )


def _is_array(X: Any) -> bool:
    return all(hasattr(X, name) for name in ("chunks", "to_delayed", "rechunk"))


def _of_array(X: Any, y: Any, sample_weight: Any, takes_time: bool) -> Parts:
    if np.isnan(np.array([size for sizes in X.chunks for size in sizes], float)).any():
        X = X.compute_chunk_sizes()  # of a copy
    if X.ndim not in (1, 2, 3) or (X.ndim == 1 and not takes_time):
        expected = "(time, features) or (cases, time, features)"
        if not takes_time:
            expected = "(cases, time) or (cases, time, features)"
        raise ValueError(f"X must be {expected}, got shape {X.shape}")
    is_one = takes_time and X.ndim < 3
    X = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
    n_features = 1 if X.ndim == 1 or (X.ndim == 2 and not takes_time) else int(X.shape[-1])
    pieces = [np.asarray(X.to_delayed()).reshape(-1)]
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        pieces.append(np.array(_beside(name, values, X), object))
    firsts = np.concatenate([[0], np.cumsum(X.chunks[0])]).tolist()
    each = 1 if is_one else int(X.shape[1])
    parts = [
        Part(x, target, weight, int(count), int(first), int(count) * each)
        for x, target, weight, count, first in zip(*pieces, X.chunks[0], firsts[:-1], strict=True)
    ]
    parts = [part for part in parts if part.count]
    return Parts(parts, TIME if is_one else CASES, n_features, X)


def _beside(name: str, values: Any, X: Any) -> list[Any]:
    """Pieces of targets or weights that go with the blocks of X."""
    count = len(X.chunks[0])
    if values is None:
        return [None] * count
    if not _is_array(values):
        values = np.asarray(values)
    if values.shape[0] != X.shape[0]:
        raise ValueError(f"{name} must have {X.shape[0]} rows as X has, got {values.shape[0]}")
    if isinstance(values, np.ndarray):
        cuts = np.cumsum(X.chunks[0])[:-1]
        return list(np.split(values, cuts))
    values = values.rechunk({0: X.chunks[0], **dict.fromkeys(range(1, values.ndim), -1)})
    return list(np.asarray(values.to_delayed()).reshape(-1))


def _delayed(values: Any) -> list[Any] | None:
    """Blocks of targets, as X has them."""
    if values is None:
        return None
    blocks = values.to_delayed() if hasattr(values, "to_delayed") else values
    return list(np.asarray(blocks, object).reshape(-1)) if len(blocks) else []


def _of_lists(X: list[Any], y: list[Any] | None, weight: list[Any] | None) -> Parts:
    for name, blocks in (("y", y), ("sample_weight", weight)):
        if blocks is not None and len(blocks) != len(X):
            raise ValueError(f"{name} must have {len(X)} blocks as X has, got {len(blocks)}")
    empty = [None] * len(X)
    made = zip(X, y or empty, weight or empty, strict=True)
    return Parts([Part(as_list(x), as_list(t), w) for x, t, w in made], CASES, None)


def as_list(block: Any) -> Any:
    """A partition of a bag as the list it may be an iterator of."""
    return None if block is None else delayed(_listed, pure=True)(block)


def _listed(block: Any) -> Any:
    is_block = isinstance(block, (list, np.ndarray)) or hasattr(block, "columns")
    return block if is_block else list(block)


# -- series to forecast ----------------------------------------------------------------------------


def panel_parts(X: Any, inputs: Any) -> Parts:
    """Blocks of whole series that a forecaster is fitted to; `inputs` go with each of them."""
    if isinstance(X, (str, os.PathLike)):
        blocks = [delayed(read_frame, pure=True)(url) for url in _parquet_files(X)]
    elif _is_array(X):
        if X.ndim != 2:
            raise ValueError(f"X must be (time, series), got shape {X.shape}")
        blocks = list(X.rechunk({0: -1}).to_delayed().reshape(-1))
    elif hasattr(X, "to_delayed"):  # a bag, or a frame whose partitions hold whole series
        blocks = [as_list(block) for block in np.asarray(X.to_delayed(), object).reshape(-1)]
    elif isinstance(X, (list, tuple)) and X and all(isinstance(x, Delayed) for x in X):
        blocks = [as_list(block) for block in X]
    else:
        raise TypeError(
            "X must be a dask array (time, series), a dask frame, a bag, a list of delayed blocks "
            f"of series or a folder of Parquet files, got {type(X).__name__}"
        )
    return Parts([Part(block, inputs) for block in blocks], CASES, None)


def read_frame(url: str) -> Any:
    """The table of a Parquet file."""
    import fsspec
    import pyarrow.parquet as pq

    with fsspec.open(url, "rb") as file:
        return pq.read_table(file).to_pandas()


# -- files -----------------------------------------------------------------------------------------


def files(
    folder: Any,
    y: Any,
    takes_time: bool,
    *,
    id: str | None = None,
    time: str | None = None,
    features: Sequence[str] | None = None,
) -> Parts:
    """Parquet files of a folder, or of an fsspec URL, as blocks of whole series.

    y : name of the column of targets, or names
        Of labels the first of each series counts.
    id : name of the column that tells series apart
        None: a file is a series.
    time : name of a column that rows are sorted by
    features : names of the columns of inputs
        None: all others.
    """
    if y is None:
        raise checks.fail("y", y, "the name of the column of targets")
    wanted = (y, id, time, None if features is None else tuple(features), takes_time)
    parts = []
    for url in _parquet_files(folder):
        pair = delayed(read_table, pure=True, nout=2)(url, *wanted)
        parts.append(Part(pair[0], pair[1]))
    return Parts(parts, CASES, None)


def _parquet_files(folder: Any) -> list[str]:
    """Addresses of the Parquet files of a folder, or of an fsspec URL, sorted."""
    require("pyarrow", "tables", purpose="reading Parquet files")
    import fsspec

    system, root = fsspec.core.url_to_fs(os.fspath(folder))
    names = sorted(name for name in system.find(root) if name.endswith(".parquet"))
    if not names:
        raise FileNotFoundError(f"X must be a folder of .parquet files, got none in {folder}")
    return [system.unstrip_protocol(name) for name in names]


def read_table(
    url: str, y: Any, id: Any, time: Any, features: Any, takes_time: bool
) -> tuple[list[np.ndarray], Any]:
    """Series of a Parquet file, and their targets."""
    import fsspec
    import pyarrow.parquet as pq

    with fsspec.open(url, "rb") as file:
        table = pq.read_table(file)
    targets = [y] if isinstance(y, str) else list(y)
    named = [*targets, *(name for name in (id, time) if name is not None)]
    lacking = [name for name in (*named, *(features or ())) if name not in table.column_names]
    if lacking:
        raise ValueError(f"{url} must have a column {lacking[0]!r}, got {table.column_names}")
    inputs = features or [name for name in table.column_names if name not in named]
    columns = {name: table.column(name).to_numpy() for name in (*named, *inputs)}
    rows = np.column_stack([columns[name] for name in inputs])
    wanted = np.column_stack([columns[name] for name in targets])
    wanted = wanted[:, 0] if isinstance(y, str) else wanted
    order = np.arange(len(rows))
    if time is not None:
        order = np.argsort(columns[time], kind="stable")
    pieces = [order]
    if id is not None:
        labels, codes = np.unique(columns[id][order], return_inverse=True)
        pieces = [order[codes == code] for code in range(labels.size)]
    series = [rows[piece] for piece in pieces]
    if takes_time:
        return series, [wanted[piece] for piece in pieces]
    return series, np.array([wanted[piece[0]] for piece in pieces])

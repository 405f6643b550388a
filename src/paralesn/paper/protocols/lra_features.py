"""Features of the Long Range Arena: pooled states of a deep ParalESN.

Image and PathFinder are read pixel by pixel, between 0 and 1; Text byte by byte and ListOps token
by token, each as the one-hot row it names. Every series keeps its own length.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from paralesn import datasets
from paralesn.paper.catalogue import models, tasks
from paralesn.paper.protocol import Tell
from paralesn.paper.protocols.classification import DTYPE
from paralesn.paper.protocols.lra_tables import MODEL
from paralesn.paper.protocols.regression import build

DATA_SEED = 0  # of ListOps and PathFinder
_STEPS = 1 << 20  # time steps read at a time
_ORDERS = {"forward": slice(None), "backward": slice(None, None, -1)}


@lru_cache(maxsize=1)
def data(task: str) -> Any:
    """A task's data; whatever the seed of a run, they are the same."""
    return datasets.load(task, seed=DATA_SEED)


def reservoir(configuration: Mapping[str, Any], seed: int, task: str) -> Any:
    """A reservoir as configured, for tokens where a task has them, on every core."""
    meta = data(task).meta
    arguments = {"vocabulary": len(meta["tokens"]) if "tokens" in meta else meta.get("vocabulary")}
    arguments |= configuration["reservoir"]
    units = arguments.pop("units", tasks()[task].units)
    return build(models()[MODEL], arguments, seed, n_jobs=None, units=units, dtype=DTYPE)


def features(
    configuration: Mapping[str, Any],
    drawn: Any,
    X: Any,
    cases: np.ndarray,
    tell: Tell | None = None,
) -> np.ndarray:
    """Pooled states of the given cases, one row each; few cases are read at a time.

    A configuration may ask for `directions` other than forward; two stand side by side.
    """
    pools, segments = configuration["pool"], configuration["segments"]
    orders = [_ORDERS[name] for name in configuration.get("directions", ["forward"])]
    is_list = isinstance(X, list)
    longest = max(len(X[i]) for i in cases) if is_list else X.shape[1]
    size = max(1, _STEPS // longest)
    out: np.ndarray | None = None
    for first in range(0, cases.size, size):
        batch = cases[first : first + size]
        series: Any = [X[i] for i in batch] if is_list else X[batch].astype(DTYPE) / np.float32(255)
        pooled = []
        for order in orders:
            turned = [tokens[order] for tokens in series] if is_list else series[:, order]
            pooled.append(drawn.pool(turned, pools, segments))
        block = pooled[0] if len(pooled) == 1 else np.concatenate(pooled, axis=1)
        if out is None:
            out = np.empty((cases.size, block.shape[1]), block.dtype)
        out[first : first + batch.size] = block
        if tell is not None:
            tell(f"{first + batch.size:,} of {cases.size:,} series")
    assert out is not None
    return out

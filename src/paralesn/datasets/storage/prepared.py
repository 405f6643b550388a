"""Sequences that take long to make or to read, stored in the cache with random access.

Where there is a cache folder, arrays are written there once, under a name that holds the seed or
the file they were made from, and are opened as memory maps from then on.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from paralesn.datasets.storage import folders

FOLDER = "LRA"


class Sequences(NamedTuple):
    """Sequences end to end: `values` (n,), `cuts` where each begins and the last ends, labels."""

    values: np.ndarray
    cuts: np.ndarray
    labels: np.ndarray

    @classmethod
    def join(cls, sequences: list[np.ndarray], labels: np.ndarray) -> Self:
        """Lay sequences end to end."""
        cuts = np.cumsum([0, *(sequence.size for sequence in sequences)])
        return cls(np.concatenate(sequences), cuts, labels)

    def as_list(self) -> list[np.ndarray]:
        """Every sequence as (time, 1): views, of which nothing is read before it is used."""
        values = np.asarray(self.values)
        return [values[a:b, None] for a, b in pairwise(self.cuts.tolist())]


def prepare(name: str, part: str, make: Callable[[str], Sequences]) -> Sequences:
    """Open a part of a set from the cache, after making and storing it if it is not there."""
    cache = folders.cache_folder()
    if cache is None:
        return make(part)
    home = cache / FOLDER / f"{name}-{part}"
    if not home.is_dir():
        sequences = make(part)
        if not _store(sequences, home):
            return sequences
    arrays = [np.load(home / f"{field}.npy", mmap_mode="r") for field in Sequences._fields]
    return Sequences(arrays[0], np.array(arrays[1]), np.array(arrays[2]))


def _store(sequences: Sequences, home: Path) -> bool:
    """Write arrays to a folder aside and rename it as a whole; whether that was possible."""
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".partial-", dir=home.parent))
    except OSError:  # a cache that cannot be written saves no time, and does no harm
        return False
    try:
        for field, array in sequences._asdict().items():
            np.save(aside / f"{field}.npy", array)
        os.replace(aside, home)
    except OSError:  # no room, or another process was faster
        return home.is_dir()
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return True

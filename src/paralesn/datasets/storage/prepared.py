"""What takes long to make or to read, kept on disk: sequences end to end, with random access.

Where there is a cache folder, arrays are written there once, under a name that holds the seed or
the file they were made of, and opened as memory maps from then on.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from paralesn.datasets.storage import find as files

FOLDER = "LRA"


class Kept(NamedTuple):
    """Sequences end to end: `values` (n,), where each begins and the last ends, and labels."""

    values: np.ndarray
    cuts: np.ndarray
    labels: np.ndarray

    @classmethod
    def joined(cls, sequences: list[np.ndarray], labels: np.ndarray) -> Self:
        """Lay sequences end to end."""
        cuts = np.cumsum([0, *(one.size for one in sequences)])
        return cls(np.concatenate(sequences), cuts, labels)


def as_list(found: Kept) -> list[np.ndarray]:
    """Every sequence as (time, 1): views, of which nothing is read before it is looked at."""
    values = np.asarray(found.values)
    return [values[a:b, None] for a, b in pairwise(found.cuts.tolist())]


def kept(name: str, part: str, make: Callable[[str], Kept]) -> Kept:
    """What is in the cache under this name, of a part of a set; made and put there if it is not."""
    root = files.cache_folder()
    if root is None:
        return make(part)
    home = root / FOLDER / f"{name}-{part}"
    if not home.is_dir():
        found = make(part)
        if not _store(found, home):
            return found
    parts = [np.load(home / f"{field}.npy", mmap_mode="r") for field in Kept._fields]
    return Kept(parts[0], np.array(parts[1]), np.array(parts[2]))


def _store(found: Kept, home: Path) -> bool:
    """Write arrays aside and move them to their place as one; whether that was possible."""
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".partial-", dir=home.parent))
    except OSError:  # a cache that cannot be written to saves nothing, and spoils nothing
        return False
    try:
        for field, array in found._asdict().items():
            np.save(aside / f"{field}.npy", array)
        os.replace(aside, home)
    except OSError:  # no room, or somebody else was faster
        return home.is_dir()
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return True

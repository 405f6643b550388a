"""Sequences that take long to make or to read, stored in the cache with random access.

Where there is a cache folder, arrays are written there once, under a name that holds the seed or
the file they were made from, and are opened as memory maps from then on.
"""

import os
import tokenize
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from paralesn.datasets.storage import folders
from paralesn.files import DamagedFileError, folder_aside, replacing

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
    return _read(home)


def _read(home: Path) -> Sequences:
    """Open stored arrays, checked against each other."""
    try:
        arrays = [np.load(home / f"{field}.npy", mmap_mode="r") for field in Sequences._fields]
        values, cuts, labels = arrays[0], np.array(arrays[1]), np.array(arrays[2])
        agree = values.ndim == 1 and cuts.ndim == 1 and labels.shape == (cuts.size - 1,)
        agree = agree and cuts.dtype.kind == "i" and labels.dtype.kind in "iu"
        if not agree or cuts[0] != 0 or cuts[-1] != values.size or (np.diff(cuts) < 0).any():
            raise ValueError("arrays do not belong together")
    except (ValueError, OSError, EOFError, SyntaxError, tokenize.TokenError) as error:
        raise DamagedFileError(f"{home} is damaged: {error}; remove it") from error
    return Sequences(values, cuts, labels)


def _store(sequences: Sequences, home: Path) -> bool:
    """Write arrays to a folder aside and rename it as a whole; whether that was possible."""
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with folder_aside(home.parent) as aside:
            for field, array in sequences._asdict().items():
                with replacing(aside / f"{field}.npy") as unfinished, unfinished.open("wb") as file:
                    np.save(file, array)
            os.replace(aside, home)
    except OSError:  # nowhere to write, no room, or another process was faster
        return home.is_dir()
    return True

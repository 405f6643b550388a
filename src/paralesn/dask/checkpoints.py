"""Partials on disk, or wherever an fsspec URL leads, so that a stopped fit is taken up again."""

import hashlib
import secrets
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.files import replacing
from paralesn.persistence.model_file import from_bytes, to_bytes


class Checkpoints:
    """Partials of a pass, each in a file named for the pass and for its place among them.

    A file of another model, or of blocks of other sizes, has another name and is not taken.
    """

    def __init__(self, folder: Any) -> None:
        import fsspec

        self.folder = str(folder)
        self._system, self._root = fsspec.core.url_to_fs(self.folder)
        self._system.makedirs(self._root, exist_ok=True)
        self._there = {
            name.rsplit("/", 1)[-1] for name in self._system.ls(self._root, detail=False)
        }

    def has(self, name: str) -> bool:
        """Whether a partial was there when the folder was opened."""
        return name in self._there


def name_of(step: Any, sizes: tuple[int, ...], first: int, last: int) -> str:
    """What the partial of runs `first` to before `last` is called; `sizes` are of all blocks."""
    digest = hashlib.blake2b(digest_size=10)
    digest.update(repr((type(step).__name__, sizes)).encode())
    _add(digest, step)
    return f"{digest.hexdigest()}-{first}-{last}.safetensors"


def _add(digest: Any, value: Any) -> None:
    """Add what a value is made of to a digest, arrays by their bytes."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, np.random.Generator):
        digest.update(repr(value.bit_generator.state).encode())
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            _add(digest, getattr(value, field.name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            _add(digest, item)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            digest.update(str(key).encode())
            _add(digest, value[key])
    elif hasattr(value, "get_params"):
        digest.update(type(value).__name__.encode())
        _add(digest, value.get_params(deep=False))
        _add(digest, getattr(value, "fingerprint_", ""))
    else:
        digest.update(repr(value).encode())


def write(partial: Any, folder: str, name: str) -> Any:
    """Keep a partial, and return it. A file is there completely or not at all."""
    import fsspec
    from fsspec.implementations.local import LocalFileSystem

    system, root = fsspec.core.url_to_fs(folder)
    if isinstance(system, LocalFileSystem):
        with replacing(Path(root) / name) as local:
            local.write_bytes(to_bytes(partial))
        return partial
    unfinished = f"{root}/.{secrets.token_hex(8)}"
    with system.open(unfinished, "wb") as file:
        file.write(to_bytes(partial))
    system.mv(unfinished, f"{root}/{name}")
    return partial


def read(folder: str, name: str) -> Any:
    """A partial that was kept."""
    import fsspec

    system, root = fsspec.core.url_to_fs(folder)
    with system.open(f"{root}/{name}", "rb") as file:
        return from_bytes(file.read(), f"{folder}/{name}")

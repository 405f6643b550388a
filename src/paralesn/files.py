"""Files: written completely or not at all, read through their compression; versions, machine."""

import gzip
import json
import lzma
import os
import platform
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

SUFFIXES = ("", ".gz", ".xz")  # of plain and compressed files


class DamagedFileError(ValueError):
    """A data file whose content is not what it should be."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write beside `path`, which takes its place if all goes well, and goes if not.

    The folder is made if only itself is missing.
    """
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_name(f".{path.name}.part")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def save_json(value: Any, path: Path) -> None:
    """Write `value` for people to read, too."""
    with replacing(path) as unfinished:
        unfinished.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib as PNG."""
    with replacing(path) as unfinished:
        figure.savefig(unfinished, dpi=120, format="png")


def versions(*extras: str) -> dict[str, str]:
    """Versions of what computes; `extras` are packages that are not always installed."""
    names = ("paralesn", "numpy", "scipy", "numba", *extras)
    return {"python": platform.python_version()} | {name: version(name) for name in names}


def machine() -> dict[str, Any]:
    """What the machine is, without its name."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"system": platform.system(), "processor": platform.machine(), "cores": cores}


def plain_name(path: Path) -> str:
    """Name of the file without its compression."""
    return path.stem if path.suffix in SUFFIXES[1:] else path.name


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Decompressed stream; a file that does not decompress is named."""
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
    try:
        with openers.get(path.suffix, open)(path, "rb") as file:
            yield file
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from error

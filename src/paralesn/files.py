"""Files that are written completely or not at all; optional packages; versions and machine."""

import gzip
import importlib
import json
import lzma
import os
import platform
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

SUFFIXES = ("", ".gz", ".xz")  # of plain and compressed files
_TITLES = {"torch": "PyTorch"}  # of packages that people know under another name


class DamagedFileError(ValueError):
    """A data file whose content is not what it should be."""


class DamagedFileWarning(UserWarning):
    """A part of a file was passed over because it is not what it should be; the rest counts."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write a file completely or not at all.

    Yields a new, empty file in the same folder. When the block ends it is flushed to the disk and
    renamed to `path`; when the block fails it is removed, and whatever was at `path` stays as it
    was. The temporary name cannot be guessed and never belongs to an existing file, so several
    processes may write the same `path`, and nobody can plant a link for us to follow. The folder is
    made if it is missing (its parents are not).

    Parameters
    ----------
    path : Path

    Yields
    ------
    Path
        The file to write.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.txt"
    ...     with replacing(path) as unfinished:
    ...         _ = unfinished.write_text("all of it")
    ...     path.read_text(), [entry.name for entry in Path(folder).iterdir()]
    ('all of it', ['notes.txt'])
    """
    path.parent.mkdir(exist_ok=True)
    unfinished = _new_file_beside(path)
    try:
        yield unfinished
        with unfinished.open("r+b") as file:  # Windows flushes only what is open for writing
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _new_file_beside(path: Path) -> Path:
    """Create an empty file in the folder of `path`, with the permissions of any new file."""
    while True:
        # Names have 255 bytes at most; the name of the target only helps people to recognise it.
        new = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}.part")
        try:
            handle = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            continue
        os.close(handle)
        return new


def save_text(text: str, path: Path) -> None:
    """Write `text` as UTF-8, completely or not at all."""
    with replacing(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def save_json(value: Any, path: Path) -> None:
    """Write `value` as JSON, indented for people to read."""
    save_text(json.dumps(value, indent=1) + "\n", path)


def save_figure(figure: Any, path: Path, format: str = "png") -> None:
    """Write a figure of matplotlib."""
    with replacing(path) as unfinished:
        figure.savefig(unfinished, dpi=120, format=format)


def require(package: str, extra: str, purpose: str = "this") -> Any:
    """Import an optional package, or say which extra installs it.

    Parameters
    ----------
    package : str
        Name to import.
    extra : str
        Extra of paralesn, or several with commas.
    purpose : str
        What needs the package, as the subject of the error's sentence.

    Returns
    -------
    module

    Raises
    ------
    ModuleNotFoundError
        If the package is not installed. Errors inside an installed package are passed on.

    Examples
    --------
    >>> require("json", "all").dumps([1])
    '[1]'
    >>> require("nonesuch", "plot", purpose="a picture")
    Traceback (most recent call last):
    ModuleNotFoundError: a picture needs nonesuch; install it with: pip install 'paralesn[plot]'
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        title = _TITLES.get(package, package)
        raise ModuleNotFoundError(
            f"{purpose} needs {title}; install it with: pip install 'paralesn[{extra}]'",
            name=package,
        ) from error


def versions(*extras: str) -> dict[str, str]:
    """Versions of Python and of the packages that compute; `extras` are optional packages."""
    names = ("paralesn", "numpy", "scipy", "numba", *extras)
    return {"python": platform.python_version()} | {name: version(name) for name in names}


def machine() -> dict[str, Any]:
    """System, processor and number of cores; not the name of the machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"system": platform.system(), "processor": platform.machine(), "cores": cores}


def plain_name(path: Path) -> str:
    """Name of the file without the suffix of its compression."""
    return path.stem if path.suffix in SUFFIXES[1:] else path.name


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a plain or compressed file for reading; one that does not decompress is named."""
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
    try:
        with openers.get(path.suffix, open)(path, "rb") as file:
            yield file
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from error

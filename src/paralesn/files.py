"""Files that are written completely or not at all; optional packages; versions and machine."""

import errno
import importlib
import json
import os
import platform
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SUFFIXES = ("", ".gz", ".xz")  # of plain and compressed files
_TITLES = {"torch": "PyTorch"}  # of packages that people know under another name
DISK_ERRORS = {getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO")} - {None}
_ABANDONED = 24 * 3600.0  # seconds after which an unfinished file is nobody's, without locks
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM)  # of folders


class DamagedFileError(ValueError):
    """A data file whose content is not what it should be."""


class DamagedFileWarning(UserWarning):
    """A part of a file was passed over because it is not what it should be; the rest counts."""


# -- written completely or not at all --------------------------------------------------------------


@contextmanager
def replacing(path: Path, durable: bool = True) -> Iterator[Path]:
    """Write a file completely or not at all.

    Yields a new, empty file in the same folder. When the block ends it is flushed to the disk and
    renamed to `path`; when the block fails it is removed, and whatever was at `path` stays as it
    was. The temporary name cannot be guessed and never belongs to an existing file, so several
    processes may write the same `path`, and nobody can plant a link for us to follow. What a killed
    process left unfinished is removed by the next one that writes the same `path`. The folder is
    made if it is missing (its parents are not).

    Parameters
    ----------
    path : Path
    durable : bool
        Whether to wait until the disk has the file, so that it outlives a power cut.

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
    if path.exists() and not path.is_file():  # a device must not become a file
        raise FileExistsError(errno.EEXIST, "there is something that is not a file", str(path))
    path.parent.mkdir(exist_ok=True)
    _remove_leftovers(path, stat.S_ISREG)
    unfinished, lock = _new_file_beside(path)
    try:
        with naming(path):
            yield unfinished
            if durable:
                with unfinished.open("r+b") as file:  # Windows flushes what is open for writing
                    os.fsync(file.fileno())
            os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    finally:
        _unlock(lock)
    if durable:
        _sync_folder(path.parent)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have errors of a full or broken disk name the file that is written, as others do.

    Examples
    --------
    >>> with naming(Path("notes.txt")):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'notes.txt'
    """
    try:
        yield
    except OSError as error:
        if error.errno in DISK_ERRORS:
            error.filename = str(path)
        raise


@contextmanager
def folder_aside(parent: Path) -> Iterator[Path]:
    """Make a new folder in `parent` for files that are not finished, and remove it at the end.

    It may be renamed meanwhile. Its name cannot be guessed, and what a killed process left in such
    a folder is removed by the next one that makes one.
    """
    path = parent / "files"
    _remove_leftovers(path, stat.S_ISDIR)
    while True:
        aside = _new_name(path)
        try:
            aside.mkdir(0o700)
            lock = os.open(aside, os.O_RDONLY) if fcntl else None
        except (FileExistsError, FileNotFoundError):  # guessed, or taken for a leftover
            continue
        if lock is None or _claim(lock, aside):
            break
        os.close(lock)
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        _unlock(lock)


def _prefix(path: Path) -> str:
    """How names of unfinished files for `path` begin; its own name helps people to recognise it."""
    name = path.name
    while len(os.fsencode(name)) > 50:  # a name has 255 bytes at most, fewer on some disks
        name = name[:-1]
    return f".{name}."


def _new_name(path: Path) -> Path:
    return path.with_name(f"{_prefix(path)}{secrets.token_hex(8)}.part")


def _new_file_beside(path: Path) -> tuple[Path, int | None]:
    """Create an empty file in the folder of `path`, with the permissions of any new file.

    It is locked until the handle is closed that comes with it (None on Windows).
    """
    while True:
        new = _new_name(path)
        try:
            handle = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        except FileExistsError:
            continue
        if fcntl is None:  # an open file cannot be renamed there
            os.close(handle)
            return new, None
        try:
            if _claim(handle, new):
                return new, handle
        except BaseException:  # such as an interruption
            new.unlink(missing_ok=True)
            os.close(handle)
            raise
        os.close(handle)


def _claim(handle: int, path: Path) -> bool:
    """Lock a new file or folder, a sign that it is in use; False if somebody is removing it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(path).st_ino != os.fstat(handle).st_ino:
            return False
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:  # there are no locks on this disk, and nobody removes anything
        return True
    if not path.is_dir():
        try:
            with path.open("r+b") as file:
                file.write(b"0")
                file.truncate(0)
        except OSError:  # on shares of Windows a lock keeps us from writing ourselves
            fcntl.flock(handle, fcntl.LOCK_UN)
    return True


def _unlock(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


def _remove_leftovers(path: Path, is_kind: Callable[[int], bool]) -> None:
    """Remove unfinished files (or folders) for `path` that no process holds."""
    prefix = _prefix(path)
    ours = re.compile(re.escape(prefix) + r"[0-9a-f]{16}\.part")
    with suppress(OSError):  # a folder that cannot be listed can be written to all the same
        for name in os.listdir(path.parent):
            if name.startswith(prefix) and ours.fullmatch(name):
                with suppress(OSError):
                    _remove_unless_held(path.with_name(name), is_kind)


def _remove_unless_held(leftover: Path, is_kind: Callable[[int], bool]) -> None:
    """Remove an unfinished file or folder, unless a process holds its lock."""
    status = leftover.lstat()
    if not is_kind(status.st_mode):  # not one of ours
        return
    is_folder = stat.S_ISDIR(status.st_mode)
    remove: Callable[[Path], None] = shutil.rmtree if is_folder else os.unlink
    if fcntl is None:
        if time.time() - status.st_mtime > _ABANDONED:
            remove(leftover)
        return
    mode = os.O_RDONLY if is_folder else os.O_RDWR
    handle = os.open(leftover, mode | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove(leftover)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Flush to the disk which files a folder holds, where the system can."""
    if fcntl is None:
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


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


# -- packages, versions and machine ----------------------------------------------------------------


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

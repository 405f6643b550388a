"""Files that one process at a time may go on writing, until it ends, however it ends."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from paralesn.files import naming

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # nobody can plant a link for us to follow


class InUseError(OSError):
    """A file that another process goes on writing."""


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Be the only process that writes a file in the block.

    The lock is on a file beside it, ``.NAME.lock``, as `path` itself may be replaced meanwhile. The
    system releases it when the process ends; what a killed process left is taken over.

    Parameters
    ----------
    path : Path
        It need not exist; its folder must.

    Raises
    ------
    InUseError
        If another process is in such a block; it names that process.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "state")
    ...     with sole_writer(path):
    ...         try:
    ...             sole_writer(path).__enter__()
    ...         except InUseError as error:
    ...             str(error).endswith(f"is in use by process {os.getpid()}")
    True
    """
    lock = path.with_name(f".{path.name[:200]}.lock")
    handle = _locked(lock, path)
    try:
        yield
    finally:
        _release(handle, lock)


def _locked(lock: Path, path: Path) -> int:
    """A handle of the lock, which is held."""
    while True:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR | _NO_LINK, 0o666)
        try:
            _check(handle, lock)
            if not _take(handle):
                raise InUseError(f"{path} is in use by {_holder(handle)}")
        except OSError:
            os.close(handle)
            raise
        except KeyboardInterrupt:
            if _take(handle):
                _release(handle, lock)
            raise
        try:
            if _is_at(handle, lock):
                _sign(handle, lock)
                return handle
        except BaseException:
            _release(handle, lock)
            raise
        os.close(handle)  # whoever held it has removed it since


def _release(handle: int, lock: Path) -> None:
    """Remove the lock while nobody else can take it, and give it up, interrupted or not."""
    if os.name == "nt":  # files in use cannot be removed there
        os.close(handle)
        with suppress(OSError):
            lock.unlink()
        return
    try:
        _remove(handle, lock)
    except KeyboardInterrupt:
        _remove(handle, lock)
        raise
    finally:
        os.close(handle)


def _remove(handle: int, lock: Path) -> None:
    if _is_at(handle, lock):
        lock.unlink()


def _is_at(handle: int, lock: Path) -> bool:
    """Whether the file that was opened is still the one with that name."""
    try:
        return os.path.samestat(os.fstat(handle), lock.lstat())
    except FileNotFoundError:
        return False


def _check(handle: int, lock: Path) -> None:
    """Refuse what somebody else has put where the lock belongs."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise OSError(f"{lock} is no lock of this program: remove it")


def _take(handle: int) -> bool:
    """Lock the file, unless another process has."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _sign(handle: int, lock: Path) -> None:
    """Say who has the lock, where others can read that."""
    if os.name != "nt":
        with naming(lock):
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())


def _holder(handle: int) -> str:
    """Who has the lock, as far as it says so."""
    said = os.read(handle, 20).decode("ascii", "replace") if os.name != "nt" else ""
    return f"process {said}" if said.isdigit() else "another process"

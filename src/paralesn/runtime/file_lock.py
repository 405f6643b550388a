"""One writer of a file at a time, by a lock that the system takes back when a process dies."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

FAR = 1 << 30  # where no byte of a file that we lock lies


@contextmanager
def only_writer(file: IO[bytes]) -> Iterator[None]:
    """Wait until no other process holds an open file here, and hold it for the block.

    The lock belongs to the open file: it goes when that is closed, also where a process is killed,
    so nobody ever waits for the dead. It asks nothing of others than to use it as well.

    On a network file system it holds between machines where the system passes such locks on to the
    server. NFS does on Linux, unless it is mounted with ``nolock`` or ``local_lock=flock``.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        with _locked_byte(file):
            yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        file.flush()
        fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def _locked_byte(file: IO[bytes]) -> Iterator[None]:
    """Hold a byte far behind the end of the file, where Windows lets one process at a time.

    Locked bytes cannot be read by others there: none of the file may be one of them.
    """
    import msvcrt

    def lock(mode: int) -> None:
        os.lseek(file.fileno(), FAR, os.SEEK_SET)
        msvcrt.locking(file.fileno(), mode, 1)  # type: ignore[attr-defined]

    while True:
        try:
            lock(msvcrt.LK_LOCK)  # type: ignore[attr-defined]
            break
        except OSError as error:  # it gives up after ten seconds
            if error.errno not in (errno.EDEADLK, errno.EACCES):
                raise
    try:
        yield
    finally:
        file.flush()
        lock(msvcrt.LK_UNLCK)  # type: ignore[attr-defined]

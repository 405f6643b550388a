"""Records of runs: one JSON line each, appended safely by many writers."""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from paralesn.files import machine, versions

Record = dict[str, Any]
_FAR = 1 << 30  # where no record lies


def append(path: Path, record: Record) -> None:
    """Add a record in a single write at the end of the file, whoever else writes to it.

    A line that a killed writer left unfinished is closed first, so that it spoils no other.
    """
    line = (json.dumps(record, sort_keys=True) + "\n").encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file, _only_writer(file):
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                line = b"\n" + line
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _only_writer(file: IO[bytes]) -> Iterator[None]:
    """Wait until nobody else writes, and let nobody else write meanwhile."""
    try:
        import fcntl
    except ImportError:  # Windows
        with _locked_byte(file):
            yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)  # the end of the file's use unlocks it
    yield


@contextmanager
def _locked_byte(file: IO[bytes]) -> Iterator[None]:
    """Hold a byte far behind the end of the file, where Windows lets one process at a time.

    Locked bytes cannot be read by others there: none of the file may be one of them.
    """
    import msvcrt

    def lock(mode: int) -> None:
        os.lseek(file.fileno(), _FAR, os.SEEK_SET)
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


def read(path: Path) -> Iterator[Record]:
    """All records of a file; lines that a kill left unfinished are passed over."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(record, dict):
            yield record


def surroundings() -> Record:
    """Versions and machine, as far as they matter to a result."""
    return {"versions": versions(), "machine": machine()}

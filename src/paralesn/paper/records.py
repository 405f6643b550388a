"""Records of runs: one JSON line each, appended safely by many writers."""

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from paralesn.files import machine, naming, versions

Record = dict[str, Any]
_FAR = 1 << 30  # where no record lies


def append(path: Path, record: Record) -> None:
    """Add a record in a single write at the end of the file, whoever else writes to it.

    A line that a killed writer left unfinished is closed first, so that it spoils no other.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path), path.open("ab+") as file, _only_writer(file):
        _write(file, record)


def _write(file: IO[bytes], record: Record) -> None:
    line = (json.dumps(record, sort_keys=True) + "\n").encode()
    size = file.seek(0, os.SEEK_END)
    if size:
        file.seek(size - 1)
        if file.read(1) != b"\n":
            line = b"\n" + line
    file.write(line)
    file.flush()
    os.fsync(file.fileno())


class Ledger:
    """Records of a file by what tells them apart, to which several processes add, each key once.

    Of records with one key in a file of earlier times the last counts.

    Parameters
    ----------
    path : Path
    key : function
        The key of a record, or None for a record that is of no concern.

    Attributes
    ----------
    records : dict
        Records by key, as of the last look at the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "records.jsonl"
    ...     ours, theirs = (Ledger(path, lambda run: run["seed"]) for _ in range(2))
    ...     ours.add({"seed": 1, "metric": 0.5}), theirs.add({"seed": 1, "metric": 0.7})
    ...     len(path.read_text().splitlines())
    ({'metric': 0.5, 'seed': 1}, {'metric': 0.5, 'seed': 1})
    1
    """

    def __init__(self, path: Path, key: Callable[[Record], str | None]) -> None:
        self.path, self.key = path, key
        self.records: dict[str, Record] = {}
        self._read_up_to = 0
        if path.exists():
            with path.open("rb") as file:
                self._look(file)

    def add(self, record: Record) -> Record:
        """Append a record, unless one with its key is there; the one on record is returned."""
        key = self.key(record)
        assert key is not None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with naming(self.path), self.path.open("ab+") as file, _only_writer(file):
            self._look(file)
            if key not in self.records:
                _write(file, record)
                self._look(file)
        return self.records[key]

    def _look(self, file: IO[bytes]) -> None:
        """Read what was added since the last look; a line without an end may still get one."""
        if file.seek(0, os.SEEK_END) < self._read_up_to:  # it was replaced
            self._read_up_to, self.records = 0, {}
        file.seek(self._read_up_to)
        added, end, _ = file.read().rpartition(b"\n")
        self._read_up_to += len(added + end)
        for record in _parsed(added.decode("utf-8")):
            if (key := self.key(record)) is not None:
                self.records[key] = record


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
    yield from _parsed(path.read_text(encoding="utf-8"))


def _parsed(text: str) -> Iterator[Record]:
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(record, dict):
            yield record


def surroundings() -> Record:
    """Versions and machine, as far as they matter to a result."""
    return {"versions": versions(), "machine": machine()}

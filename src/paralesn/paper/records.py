"""Records of runs: one JSON line each, appended safely by many writers."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paralesn.files import machine, versions

Record = dict[str, Any]


def append(path: Path, record: Record) -> None:
    """Add a record in a single write at the end of the file, whoever else writes to it.

    A line that a killed writer left unfinished is closed first, so that it spoils no other.
    """
    line = (json.dumps(record, sort_keys=True) + "\n").encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        _lock(file)
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                line = b"\n" + line
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def _lock(file: Any) -> None:
    """Wait until nobody else writes; the end of the file's use unlocks it."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system: appending is all there is
        return
    fcntl.flock(file, fcntl.LOCK_EX)


def read(path: Path) -> Iterator[Record]:
    """All records of a file; lines that a kill left unfinished are passed over."""
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(record, dict):
            yield record


def surroundings() -> Record:
    """Versions and machine, as far as they matter to a result."""
    return {"versions": versions(), "machine": machine()}

"""Records of runs: one JSON line each, appended safely by many writers.

A line that is damaged, or that a killed writer left unfinished, is passed over with a
`DamagedFileWarning` that says which and why; all others count.
"""

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from paralesn.files import DamagedFileWarning, machine, naming, versions
from paralesn.paper import strict_json
from paralesn.runtime.file_lock import only_writer

Record = dict[str, Any]
Wrong = Callable[[Record], str | None]  # why a record cannot be used, or None
_SAID = 5  # lines that a warning tells about


def append(path: Path, record: Record) -> None:
    """Add a record in a single write at the end of the file, whoever else writes to it.

    A line that a killed writer left unfinished is closed first, so that it spoils no other.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    check_regular(path)
    line = _line(record)
    with naming(path), path.open("ab+") as file, only_writer(file):
        _write(file, line)


def _line(record: Record) -> bytes:
    """A record as a line, which can be read again."""
    line = json.dumps(record, sort_keys=True).encode()
    try:
        strict_json.parse(line)
    except ValueError as error:
        raise ValueError(f"a record must be JSON, got one that {error}: {line[:500]!r}") from None
    return line + b"\n"


def _write(file: IO[bytes], line: bytes) -> None:
    size = file.seek(0, os.SEEK_END)
    if size:
        file.seek(size - 1)
        if file.read(1) != b"\n":
            line = b"\n" + line
    file.write(line)
    file.flush()
    os.fsync(file.fileno())


def check_regular(path: Path) -> None:
    """Check that a file, if it is there, is one that ends."""
    if path.exists() and not path.is_file():
        raise ValueError(f"records must be in files, got {path}, which is none")


def nothing_wrong(record: Record) -> None:
    """Let a record count, whatever it holds."""


class Ledger:
    """Records of a file by what tells them apart, to which several processes add, each key once.

    Of records with one key in a file of earlier times the last counts.

    Parameters
    ----------
    path : Path
    key : function
        The key of a record, or None for a record that is of no concern.
    wrong : function, optional
        Why a record cannot be used, or None. It is then passed over with a warning.

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

    def __init__(
        self, path: Path, key: Callable[[Record], str | None], wrong: Wrong = nothing_wrong
    ) -> None:
        self.path, self.key, self.wrong = path, key, wrong
        self.records: dict[str, Record] = {}
        self._lines = _Lines(path, wrong)
        check_regular(path)
        if path.exists():
            with path.open("rb") as file:
                self._look(file)
            self._lines.say()

    def add(self, record: Record) -> Record:
        """Append a record, unless one with its key is there; the one on record is returned."""
        key = self.key(record)
        assert key is not None
        if reason := self.wrong(record):
            raise ValueError(f"a record must be whole, got one that {reason}: {record}")
        line = _line(record)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        check_regular(self.path)
        with naming(self.path), self.path.open("ab+") as file, only_writer(file):
            self._look(file)
            if key not in self.records:
                _write(file, line)
                self._look(file)
        self._lines.say()
        return self.records[key]

    def _look(self, file: IO[bytes]) -> None:
        """Read what was added since the last look."""
        if self._lines.was_replaced(file):
            self._lines, self.records = _Lines(self.path, self.wrong), {}
        for record in self._lines.added(file):
            if (key := self.key(record)) is not None:
                self.records[key] = record


class _Lines:
    """Lines of a file that grows, those that cannot be used with their numbers and why."""

    def __init__(self, path: Path, wrong: Wrong) -> None:
        self.path, self.wrong = path, wrong
        self._read_up_to = self._number = 0
        self._is_open = False  # the last line counts, though its end is still to come
        self._wrong: dict[int, str] = {}
        self._said = 0

    def was_replaced(self, file: IO[bytes]) -> bool:
        """Whether the file is shorter than what was read of it."""
        return file.seek(0, os.SEEK_END) < self._read_up_to

    def added(self, file: IO[bytes]) -> list[Record]:
        """Records since the last call. A line that is not whole yet may still become so."""
        file.seek(self._read_up_to)
        # Only at line feeds: splitlines() would also cut JSON at U+2028 and others in its text.
        *lines, rest = file.read().split(b"\n")
        self._read_up_to += sum(len(line) + 1 for line in lines)
        if lines and self._is_open:
            self._is_open = False
            if lines.pop(0).strip():
                self._wrong.setdefault(self._number, "goes on behind its record")
        found = []
        for line in lines:
            self._number += 1
            found += self._taken(line)
        if rest.strip() and not self._is_open:
            found += self._unended(rest)
        return found

    def _taken(self, line: bytes) -> list[Record]:
        """The record of a line, if it holds one that can be used."""
        if not line.strip():
            return []
        reason: str | None
        try:
            record = strict_json.parse(line)
        except ValueError as error:
            record, reason = {}, str(error)
        else:
            reason = self.wrong(record) if isinstance(record, dict) else "is no JSON object"
        if reason:
            self._wrong.setdefault(self._number, reason)
        return [] if reason else [record]

    def _unended(self, rest: bytes) -> list[Record]:
        """The record of a line without an end, which counts if nothing else is missing."""
        try:
            strict_json.parse(rest)
        except ValueError:
            self._wrong[self._number + 1] = "was not written to its end"
            return []
        self._number, self._is_open = self._number + 1, True
        self._read_up_to += len(rest)
        return self._taken(rest)

    def say(self) -> None:
        """Warn of lines that were passed over since the last warning."""
        told = list(self._wrong.items())[self._said :]
        self._said = len(self._wrong)
        if told:
            warn_of(self.path, [f"line {number} {reason}" for number, reason in told])


def warn_of(path: Path, reasons: list[str]) -> None:
    """Warn that parts of a file were passed over."""
    more = f"; and {len(reasons) - _SAID} more" if len(reasons) > _SAID else ""
    what = "; ".join(reasons[:_SAID])
    warnings.warn(f"{path}, passed over: {what}{more}", DamagedFileWarning, stacklevel=3)


def read(path: Path, wrong: Wrong = nothing_wrong) -> list[Record]:
    """All records of a file, but those that are damaged or `wrong` says something about."""
    check_regular(path)
    if not path.exists():
        return []
    lines = _Lines(path, wrong)
    with path.open("rb") as file:
        found = lines.added(file)
    lines.say()
    return found


def surroundings() -> Record:
    """Versions and machine, as far as they matter to a result."""
    return {"versions": versions(), "machine": machine()}

"""A journal of Optuna studies in a file: written by one process at a time, read by all.

The format is Optuna's own, a line of JSON for each change, and so is whatever reads meaning into
it. What differs from its backend for files is what a killed process leaves behind: a lock that goes
with it, so that nobody waits, and a last line without an end, which is dropped.
"""

import json
import os
import warnings
from pathlib import Path
from typing import IO, Any

from paralesn.files import DamagedFileError, DamagedFileWarning, naming
from paralesn.runtime.file_lock import only_writer

Log = dict[str, Any]
_BLOCK = 1 << 16  # bytes looked at from the end, at first


class StudyJournal:
    """A file of changes, as a backend of Optuna's `JournalStorage`.

    Every change depends on those before it: trials are numbered by the lines that began them. So a
    damaged line is an error, unless it is the last. Nobody has read that one, and without it the
    journal is what it was before a killed process wrote it.

    Parameters
    ----------
    path : Path
        Made if it is missing, in a folder that exists.
    """

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_file():
            raise ValueError(f"storage must be in files, got {path}, which is none")
        self._path = path
        self._ends = [0]  # of the first logs, in bytes
        self._told = -1  # the length up to which a dropped end was told
        if not path.exists():
            path.touch()

    def read_logs(self, log_number_from: int) -> list[Log]:
        """Changes from a number on, as far as they are written."""
        known = min(log_number_from, len(self._ends) - 1)
        with self._path.open("rb") as file:
            file.seek(self._ends[known])
            *lines, rest = file.read().split(b"\n")
        logs = [_parsed(line) for line in lines]
        while logs and logs[-1] is None:
            logs.pop()
        if None in logs:
            raise DamagedFileError(
                f"{self._path} is damaged: line {known + logs.index(None) + 1} is no change of a "
                "study, and those after it depend on it"
            )
        end = self._ends[known]
        for number, line in enumerate(lines[: len(logs)], known + 1):
            end += len(line) + 1
            if number == len(self._ends):
                self._ends.append(end)
        if len(logs) < len(lines) or rest:
            self._tell_of_an_end()
        return [log for log in logs[log_number_from - known :] if log is not None]

    def append_logs(self, logs: list[Log]) -> None:
        """Write changes, all of them or none."""
        text = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        path = self._path
        with naming(path), path.open("r+b", buffering=0) as file, only_writer(file):
            size = self._whole(file)
            if size < file.seek(0, os.SEEK_END):
                self._tell(size)
                file.truncate(size)
            try:
                _write(file, text.encode("utf-8"))
            except BaseException:  # a full disk, for example
                file.truncate(size)
                raise

    def _whole(self, file: IO[bytes]) -> int:
        """Bytes up to the end of the last line that is a change."""
        end, block = file.seek(0, os.SEEK_END), _BLOCK
        while True:
            start = max(0, end - block)
            file.seek(start)
            lines = file.read(end - start).split(b"\n")
            size = end - len(lines.pop())
            while lines and (start == 0 or len(lines) > 1):  # the first one may have begun before
                if _parsed(lines[-1]) is not None:
                    return size
                size -= len(lines.pop()) + 1
            if start == 0:
                return 0
            block *= 4

    def _tell_of_an_end(self) -> None:
        """Warn of a last line that is not whole, unless somebody is still writing it."""
        with self._path.open("rb") as file, only_writer(file):
            size = self._whole(file)
            if size < file.seek(0, os.SEEK_END):
                self._tell(size)

    def _tell(self, size: int) -> None:
        if size != self._told:
            self._told = size
            warnings.warn(
                f"{self._path}, passed over: the end behind byte {size}, which a process that was "
                "killed did not finish",
                DamagedFileWarning,
                stacklevel=2,
            )


def _parsed(line: bytes) -> Log | None:
    """The change that a line holds; None if it is not whole."""
    try:
        log = json.loads(line)
    except (ValueError, RecursionError):  # of UTF-8, too
        return None
    return log if isinstance(log, dict) else None


def _write(file: IO[bytes], content: bytes) -> None:
    """Write everything to an unbuffered file, and to the disk."""
    file.seek(0, os.SEEK_END)
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]
    os.fsync(file.fileno())

"""Records of runs and measurements of studies: the only thing that a report is made of."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paralesn.paper import records
from paralesn.paper.records import Record

# Where records are kept unless another folder is named.
FOLDERS = ("results", "complexity", "universality", "sensitivity", "race")


class NoRecordsError(ValueError):
    """There is nothing to report."""


@dataclass(frozen=True)
class Stored:
    """Records of runs, measurements of experiments, and the files they were read from."""

    runs: list[Record] = field(default_factory=list)
    experiments: list[dict[str, Any]] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    def of_kind(self, *kinds: str) -> list[Record]:
        """Runs of the given kinds, as they were recorded."""
        return [run for run in self.runs if run["kind"] in kinds]

    def of_experiment(self, name: str) -> list[dict[str, Any]]:
        """Measurements of an experiment, a record for each file."""
        return [record for record in self.experiments if record["experiment"] == name]

    def surroundings(self) -> list[tuple[dict[str, Any], int]]:
        """Versions and machines that records were made with, and the number of records of each."""
        counted: dict[str, int] = {}
        for record in (*self.runs, *self.experiments):
            if "versions" in record:
                around = {name: record.get(name) for name in ("versions", "machine")}
                key = json.dumps(around, sort_keys=True)
                counted[key] = counted.get(key, 0) + 1
        ordered = sorted(counted.items(), key=lambda item: -item[1])
        return [(json.loads(key), count) for key, count in ordered]


def load(paths: Sequence[Path] | None = None) -> Stored:
    """Read files, and what folders hold; by default the `FOLDERS` that are here.

    A file of runs is JSON lines with a `kind` each, a file of measurements a JSON object with an
    `experiment`. Other files in a folder are passed over, but a file that is named must be one.
    """
    stored = Stored()
    for path in paths or [Path(name) for name in FOLDERS if Path(name).is_dir()]:
        if not path.exists():
            raise ValueError(f"records must be files or folders, got {path}, which does not exist")
        before = len(stored.files)
        for file in _candidates(path):
            _take(stored, file)
        if len(stored.files) == before and paths:
            raise ValueError(
                "records must be of protocols, complexity, sensitivity, universality or a race; "
                f"{path} holds none"
            )
    if not stored.files:
        raise NoRecordsError(f"there are no records in {', '.join(FOLDERS)}")
    return stored


def _candidates(path: Path) -> Iterable[Path]:
    if path.is_dir():
        return [*sorted(path.glob("*.jsonl")), *sorted(path.glob("*.json"))]
    return [path]


def _take(stored: Stored, file: Path) -> None:
    """Add the records of a file, if it holds any."""
    try:
        if file.suffix == ".json":
            record = json.loads(file.read_text(encoding="utf-8"))
            is_record = isinstance(record, dict) and isinstance(record.get("experiment"), str)
            stored.experiments.extend([record] if is_record else [])
        else:
            runs = [run for run in records.read(file) if isinstance(run.get("kind"), str)]
            is_record = bool(runs)
            stored.runs.extend(runs)
    except ValueError:  # neither text nor JSON
        is_record = False
    if is_record:
        stored.files.append(file)

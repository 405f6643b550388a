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
        """Runs of some kinds, as they were recorded."""
        return [run for run in self.runs if run["kind"] in kinds]

    def of_experiment(self, name: str) -> list[dict[str, Any]]:
        """Measurements of an experiment, a record for each file."""
        return [one for one in self.experiments if one["experiment"] == name]

    def surroundings(self) -> list[tuple[dict[str, Any], int]]:
        """Versions and machines in which records were made, and how many of them each."""
        counted: dict[str, int] = {}
        for one in (*self.runs, *self.experiments):
            if "versions" in one:
                key = json.dumps({n: one.get(n) for n in ("versions", "machine")}, sort_keys=True)
                counted[key] = counted.get(key, 0) + 1
        ordered = sorted(counted.items(), key=lambda item: -item[1])
        return [(json.loads(key), count) for key, count in ordered]


def load(paths: Sequence[Path] | None = None) -> Stored:
    """Read files, and what folders hold; by default the `FOLDERS` that are here.

    A file of runs is JSON lines with a `kind` each, a file of measurements a JSON object with an
    `experiment`. Whatever else a folder holds is passed over; a file that is named is not.
    """
    found = Stored()
    for path in paths or [Path(name) for name in FOLDERS if Path(name).is_dir()]:
        if not path.exists():
            raise ValueError(f"records must be files or folders, got {path}, which does not exist")
        before = len(found.files)
        for file in _candidates(path):
            _take(found, file)
        if len(found.files) == before and paths:
            raise ValueError(
                "records must be of protocols, complexity, sensitivity, universality or a race; "
                f"{path} holds none"
            )
    if not found.files:
        raise NoRecordsError(f"there are no records in {', '.join(FOLDERS)}")
    return found


def _candidates(path: Path) -> Iterable[Path]:
    if path.is_dir():
        return [*sorted(path.glob("*.jsonl")), *sorted(path.glob("*.json"))]
    return [path]


def _take(found: Stored, file: Path) -> None:
    """Add what a file holds, if that is anything."""
    try:
        if file.suffix == ".json":
            one = json.loads(file.read_text(encoding="utf-8"))
            there = isinstance(one, dict) and isinstance(one.get("experiment"), str)
            found.experiments.extend([one] if there else [])
        else:
            runs = [run for run in records.read(file) if isinstance(run.get("kind"), str)]
            there = bool(runs)
            found.runs.extend(runs)
    except ValueError:  # neither text nor JSON
        there = False
    if there:
        found.files.append(file)

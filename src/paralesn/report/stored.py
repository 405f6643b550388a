"""Records of runs and measurements of studies: the only thing that a report is made of."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paralesn.paper import records, runs, strict_json
from paralesn.paper.records import Record
from paralesn.paper.studies import record_checks

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
    Records that are damaged or not whole are passed over with a warning that says which and why.
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
        found = [*sorted(path.glob("*.jsonl")), *sorted(path.glob("*.json"))]
        return [file for file in found if file.is_file()]
    return [path]


def _take(stored: Stored, file: Path) -> None:
    """Add the records of a file, if it holds any."""
    records.check_regular(file)
    is_record = _take_study(stored, file) if file.suffix == ".json" else _take_runs(stored, file)
    if is_record:
        stored.files.append(file)


def _take_runs(stored: Stored, file: Path) -> bool:
    """Add the runs of a file, those with all that a report needs."""
    found = records.read(file, _problem)
    stored.runs.extend(found)
    return bool(found)


def _take_study(stored: Stored, file: Path) -> bool:
    """Add the record of a study, without damaged parts."""
    try:
        record = strict_json.parse(file.read_bytes())
    except ValueError as error:
        records.warn_of(file, [f"it {error}"])
        return False
    if not isinstance(record, dict) or not isinstance(record.get("experiment"), str):
        return False  # results of `reproduce`, for example
    intact, reasons = record_checks.experiment(record)
    if reasons:
        records.warn_of(file, reasons)
    stored.experiments.extend([] if intact is None else [intact])
    return intact is not None


def _problem(record: Record) -> str | None:
    """Why a run cannot be reported, or None."""
    return record_checks.race(record) if record.get("kind") == "race" else runs.problem(record)

"""Records of runs and measurements of studies: the only thing that a report is made of."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paralesn.paper import record_files
from paralesn.paper.records import Record
from paralesn.paper.shipped_records import beside, shipped

# Where records are kept unless another folder is named.
FOLDERS = ("results", "complexity", "universality", "sensitivity", "race")


class NoRecordsError(ValueError):
    """There is nothing to report."""


@dataclass(frozen=True)
class Stored:
    """Records of runs, measurements of experiments, and the files they were read from.

    `of_package` names files that come with the package.
    """

    runs: list[Record] = field(default_factory=list)
    experiments: list[dict[str, Any]] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    of_package: list[str] = field(default_factory=list)

    def of_kind(self, *kinds: str) -> list[Record]:
        """Runs of the given kinds, as they were recorded."""
        return [run for run in self.runs if run["kind"] in kinds]

    def of_experiment(self, name: str) -> list[dict[str, Any]]:
        """Measurements of an experiment, a record for each file."""
        return [record for record in self.experiments if record["experiment"] == name]

    def surroundings(self) -> list[tuple[dict[str, Any], int]]:
        """Versions and machines that records were made with, and the number of records of each."""
        return surroundings([*self.runs, *self.experiments])


def surroundings(found: Iterable[Record]) -> list[tuple[dict[str, Any], int]]:
    """Versions and machines that records say they were made with, the most frequent first."""
    counted: dict[str, int] = {}
    for record in found:
        if "versions" in record:
            around = {name: record.get(name) for name in ("versions", "machine")}
            key = json.dumps(around, sort_keys=True)
            counted[key] = counted.get(key, 0) + 1
    ordered = sorted(counted.items(), key=lambda item: -item[1])
    return [(json.loads(key), count) for key, count in ordered]


def load(paths: Sequence[Path] | None = None, fill: bool = False) -> Stored:
    """Read files, and what folders hold; by default the `FOLDERS` that are here.

    Parameters
    ----------
    paths : sequence of Path, optional
        Each must hold records. Those that are damaged or not whole are passed over with a warning
        that says which and why.
    fill : bool
        Whether records of the package stand in for what is not among these, marked as shipped.
    """
    if paths:
        held = record_files.named(paths)
    else:
        folders = [Path(name) for name in FOLDERS if Path(name).is_dir()]
        held = [each for folder in folders for each in record_files.read(folder)]
    stored = Stored(files=[file for file, _ in held])
    for _, found in held:
        for record in found:
            (stored.experiments if record_files.is_study(record) else stored.runs).append(record)
    if fill:
        stored = _filled(stored)
    if not stored.files and not stored.of_package:
        raise NoRecordsError(f"there are no records in {', '.join(FOLDERS)}")
    return stored


def _filled(own: Stored) -> Stored:
    """One's own records, and those of the package for what they lack."""
    ours = shipped()
    runs = [*own.runs, *beside(own.runs, ours.runs)]
    experiments = [*own.experiments, *beside(own.experiments, ours.experiments)]
    return Stored(runs, experiments, own.files, ours.files)

"""Files in which commands leave records, and the folders that hold them."""

from collections.abc import Sequence
from pathlib import Path

from paralesn.paper import records, runs, strict_json
from paralesn.paper.records import Record
from paralesn.paper.studies import record_checks

Found = list[tuple[Path, list[Record]]]  # files that hold records, and what they hold


def named(paths: Sequence[Path]) -> Found:
    """What files and folders hold that somebody named: each must hold records."""
    found: Found = []
    for path in paths:
        if not path.exists():
            raise ValueError(f"records must be files or folders, got {path}, which does not exist")
        held = read(path)
        if not held:
            raise ValueError(
                "records must be of protocols, complexity, sensitivity, universality or a race; "
                f"{path} holds none"
            )
        found += held
    return found


def read(path: Path) -> Found:
    """What a file holds, or the files of a folder.

    A file of runs is JSON lines with a `kind` each, a file of a study a JSON object with an
    `experiment`. Records that are damaged or not whole are passed over with a warning that says
    which and why, and so are files that hold something else.
    """
    found: Found = []
    for file in _candidates(path):
        records.check_regular(file)
        held = _study(file) if file.suffix == ".json" else records.read(file, problem)
        if held:
            found.append((file, held))
    return found


def is_study(record: Record) -> bool:
    """Whether a record is one of a study, and not of a run."""
    return "kind" not in record


def problem(record: Record) -> str | None:
    """Why a run cannot be reported, or None."""
    return record_checks.race(record) if record.get("kind") == "race" else runs.problem(record)


def _candidates(path: Path) -> list[Path]:
    if path.is_dir():
        found = [*sorted(path.glob("*.jsonl")), *sorted(path.glob("*.json"))]
        return [file for file in found if file.is_file()]
    return [path]


def _study(file: Path) -> list[Record]:
    """The record of a study, without damaged parts; none where a file holds something else."""
    try:
        record = strict_json.parse(file.read_bytes())
    except ValueError as error:
        records.warn_of(file, [f"it {error}"])
        return []
    if not isinstance(record, dict) or not isinstance(record.get("experiment"), str):
        return []  # results of `reproduce`, for example
    intact, reasons = record_checks.experiment(record)
    if reasons:
        records.warn_of(file, reasons)
    return [] if intact is None else [intact]

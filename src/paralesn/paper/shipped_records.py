"""Records that come with the package: runs and studies as they were done for the paper's tables.

They stand in for whatever is not on record where a report is made. `paralesn.paper.shipping` writes
their files. A cell on record replaces the shipped one as a whole, so that no row mixes both.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from paralesn.files import DamagedFileError
from paralesn.paper import protocols, runs, strict_json
from paralesn.paper.compact_records import expand
from paralesn.paper.record_files import is_study, problem
from paralesn.paper.records import Record
from paralesn.paper.studies import record_checks

FOLDER = "shipped"  # below the data of this room
SUFFIX = ".jsonl"


@dataclass(frozen=True)
class Shipped:
    """Records of runs and of studies, each marked as shipped, and the names of their files."""

    runs: list[Record] = field(default_factory=list)
    experiments: list[Record] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


@cache
def shipped() -> Shipped:
    """All that come with the package, checked as records of one's own are.

    Raises
    ------
    DamagedFileError
        Names the file and the line that cannot be used, and says why.
    """
    return read(files("paralesn.paper").joinpath("data", FOLDER))


def read(folder: Traversable) -> Shipped:
    """The records of a folder."""
    found = Shipped()
    if not folder.is_dir():
        return found
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(SUFFIX):
            for record in _records(file):
                listed = found.experiments if is_study(record) else found.runs
                listed.append(record | {"shipped": True})
            found.files.append(file.name)
    return found


def _records(file: Traversable) -> Iterable[Record]:
    for number, line in enumerate(file.read_bytes().split(b"\n"), 1):
        if line.strip():
            try:
                yield from _checked(line)
            except ValueError as error:
                raise DamagedFileError(
                    f"{file}, line {number} {error}: install paralesn again"
                ) from None


def _checked(line: bytes) -> list[Record]:
    """The records of a line; ValueError says why they cannot be used."""
    record = strict_json.parse(line)
    if not isinstance(record, dict):
        raise ValueError("is no JSON object")
    expanded = expand(record)
    for each in expanded:
        if reason := _problem(each):
            raise ValueError(reason)
    return expanded


def _problem(record: Record) -> str | None:
    if not is_study(record):
        return problem(record)
    if not isinstance(record.get("experiment"), str):
        return "is without kind or experiment"
    _, reasons = record_checks.experiment(record)
    return f"is damaged: {reasons[0]}" if reasons else None


# -- what they stand in for ------------------------------------------------------------------------


def cell_of(record: Record) -> tuple[str | None, ...]:
    """What records of runs and of studies replace as a whole."""
    if is_study(record):
        names: tuple[str, ...] = ("experiment", "task", "model", "space")
    elif record["kind"] == "race":  # the models of a race had the same budget
        names = ("kind", "task")
    else:
        names = ("kind", "task", "model")
    return tuple(record.get(name) for name in names)


def beside(known: Iterable[Record], others: Iterable[Record]) -> list[Record]:
    """Those of the others that are of no cell of which a record is known."""
    cells = {cell_of(record) for record in known}
    return [record for record in others if cell_of(record) not in cells]


def of_slow_models() -> dict[str, Record]:
    """Shipped runs of models that `reproduce` does not run unless they are named, by identity."""
    slow = {(protocol.name, model) for protocol in protocols.protocols() for model in protocol.slow}
    return {
        runs.identity(run): run for run in shipped().runs if (run["kind"], run["model"]) in slow
    }

"""What a saved classifier remembers of its file, so that a newer one is read the same way."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from paralesn.persistence import load_metadata, save
from paralesn.tables.cases import CaseColumns, LabelledCases, read_cases
from paralesn.tables.errors import TableError
from paralesn.tables.reading import Reading
from paralesn.workflows.case_result import CaseResult

_KEY = "cases"


@dataclass(frozen=True)
class CaseTraining:
    """Columns of a long table, how it was written, and what was done about missing values."""

    columns: CaseColumns
    reading: Reading
    missing: str = "error"

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        columns = asdict(self.columns) | {"values": list(self.columns.values)}
        return {"columns": columns, "reading": self.reading.to_dict(), "missing": self.missing}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "CaseTraining":
        """What `to_dict` made."""
        given = record["columns"]
        columns = CaseColumns(
            str(given["case"]), str(given["time"]), tuple(map(str, given["values"])),
            str(given["label"]),
        )  # fmt: skip
        return cls(columns, Reading.from_dict(record["reading"]), str(record["missing"]))


def save_cases_model(result: CaseResult, path: Path, missing: str = "error") -> None:
    """Write the model of a result, and with it what it remembers of its file."""
    train, metadata = result.train, None
    if train.columns is not None and train.reading is not None:
        metadata = {_KEY: CaseTraining(train.columns, train.reading, missing).to_dict()}
    save(result.model, path, metadata=metadata)


def load_case_training(path: Path) -> CaseTraining | None:
    """What was saved with a model; None with one that did not learn from a long table."""
    record = load_metadata(path).get(_KEY)
    try:
        return None if record is None else CaseTraining.from_dict(record)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} cannot be used: what it remembers of training is damaged"
        ) from error


def read_newer_cases(
    path: Path,
    training: CaseTraining | None,
    columns: Mapping[str, Any],
    missing: str | None = None,
    reading: Reading | None = None,
) -> LabelledCases:
    """Read a newer file as the one of training, but for what is given.

    Parameters
    ----------
    columns : mapping of str to str or tuple of str
        Columns that have another name than in training: case, time, values, label.
    """
    given = {role: name for role, name in columns.items() if name}
    if training is None:
        return read_cases(path, CaseColumns(**given), missing or "error", reading)
    known = training.reading
    if reading is not None:
        known = replace(known, **{name: value for name, value in vars(reading).items() if value})
    try:
        return read_cases(
            path, replace(training.columns, **given), missing or training.missing, known
        )
    except TableError as error:
        if error.parameter in CaseColumns.__dataclass_fields__ and not given:
            raise TableError(
                f"{error}; it had this name in training", parameter=error.parameter
            ) from error
        raise

"""The columns of a table by their roles: targets, extra inputs, times, names of series."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paralesn.tables.cleaning import (
    Cleaning,
    Rows,
    fill_gaps,
    fill_missing,
    sort_by_time,
    split_future,
)  # fmt: skip
from paralesn.tables.clock import Clock, clock_of
from paralesn.tables.daylight import standard_time
from paralesn.tables.errors import TableError
from paralesn.tables.notes import listed
from paralesn.tables.reader import Table, check_columns, read_table
from paralesn.tables.reading import Reading
from paralesn.tables.table_file import TableFile
from paralesn.tables.time_column import Times, find_time_column, read_times

if TYPE_CHECKING:
    from paralesn.tables.observations import Observations

_COUNTERS = ("", "index", "id", "no", "nr", "row", "rownames", "obs", "unnamed: 0", "#")


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a table with their roles, in the order of the file.

    Attributes
    ----------
    table : Table
    reading : Reading
        How the table was read, with all roles.
    values : array (rows, columns)
        The targets, then the exogenous columns.
    times : Times or None
    notes : list of str
        What is to be said about the file.
    """

    table: Table
    reading: Reading
    values: np.ndarray
    times: Times | None
    notes: list[str]

    @property
    def used(self) -> set[str | None]:
        """Columns that have a role."""
        reading, extra = self.reading, self.times.columns if self.times else ()
        return {*reading.targets, *reading.exog, *reading.by, reading.time, *extra}

    def times_of(self, rows: np.ndarray) -> tuple[np.ndarray | None, list[str]]:
        """Times of rows in the order of the file, and what was done to them."""
        if self.times is None:
            return None, []
        return standard_time(self.times.values[rows])

    def observations(
        self, rows: np.ndarray, cleaning: Cleaning, notes: list[str], clock: Clock | None = None
    ) -> "Observations":
        """The series in some rows of the table, cleaned; `notes` are continued."""
        from paralesn.tables.observations import Observations

        names = (self.table.path, self.reading.targets, self.reading.exog)
        notes, values, order = list(notes), self.values[rows], rows
        times, said = self.times_of(rows)
        notes += said
        if times is None:
            series = Observations(*names, values, notes=notes, reading=self.reading)
        else:
            entries = Rows(times, values, order)
            times, values, order = sort_by_time(self.table, entries, cleaning, notes, self.used)
            clock = clock or clock_of(times)
            series = Observations(
                *names, values, 0, self.reading.time, times, clock, notes, self.reading
            )
        series = fill_gaps(split_future(series), cleaning)
        return fill_missing(series, self.table, order, cleaning)


def read_columns(
    path: Path,
    targets: Sequence[str] = (),
    exog: Sequence[str] = (),
    *,
    by: Sequence[str] = (),
    time: str | None = None,
    cleaning: Cleaning,
    reading: Reading | None = None,
) -> Columns:
    """Read the columns of a table by their roles, which `reading` has where they are not given."""
    known = reading or Reading()
    targets, exog, by = targets or known.targets, exog or known.exog, by or known.by
    time, time_format = time or known.time, cleaning.time_format or known.time_format
    file = TableFile(path, reading)
    _check_roles(file, targets, exog, by, time)
    is_complete = bool(targets) and time is not None
    wanted = [*targets, *exog, *by, str(time)] if is_complete else None
    table = read_table(file, wanted, text=by)
    notes = list(file.notes)
    if time is None:
        time, found = find_time_column(table, [*targets, *exog, *by], time_format)
        notes += found
    if not targets:
        targets = [_only_numeric_column(table, {time, *exog, *by})]
        notes.append(f"{targets[0]!r} is what is forecast")
    times = None if time is None else read_times(table, time, time_format)
    notes += times.notes if times else []
    names = (*targets, *exog)
    values = np.column_stack([table.numbers(name) for name in names])
    decimal, thousands = _number_format(table, names)
    as_read = replace(
        file.as_read(), time=time, time_format=times.format if times else None,
        targets=tuple(targets), exog=tuple(exog), by=tuple(by), decimal=decimal,
        thousands=thousands,
    )  # fmt: skip
    columns = Columns(table, as_read, values, times, notes)
    notes += table.number_notes()
    unused = [repr(name) for name in file.names if name not in columns.used]
    if unused:
        notes.append(f"{'column' if len(unused) == 1 else 'columns'} not used: {listed(unused)}")
    return columns


def _number_format(table: Table, names: Sequence[str]) -> tuple[str | None, str | None]:
    """The separators of decimals and thousands that all columns have in common."""
    formats = [table.formats[name] for name in names if name in table.formats]
    decimals = {format.decimal for format in formats}
    thousands = {format.thousands for format in formats if format.thousands}
    asked = table.file.reading
    return (
        asked.decimal or (decimals.pop() if len(decimals) == 1 else None),
        asked.thousands or (thousands.pop() if len(thousands) == 1 else None),
    )


def _check_roles(
    file: TableFile, targets: Sequence[str], exog: Sequence[str], by: Sequence[str],
    time: str | None,
) -> None:  # fmt: skip
    """Raise for columns that the table does not have, or that have two roles."""
    times = [] if time is None else [time]
    roles = {"targets": targets, "exog": exog, "by": by, "time": times}
    for parameter, names in roles.items():
        check_columns(file.path, file.names, names, parameter)
    every = [name for names in roles.values() for name in names]
    twice = [name for name in every if every.count(name) > 1]
    if twice:
        where = "`targets`, `exog` and `time`" if not by else "`targets`, `exog`, `time` and `by`"
        raise TableError(f"column {twice[0]!r} is given twice among {where}", parameter="targets")


def _only_numeric_column(table: Table, others: set[str | None]) -> str:
    """The only column of numbers that has no other role and does not count rows."""
    names = [str(name) for name in table.frame.columns if name not in others]
    numeric = [name for name in names if table.is_numeric(name)]
    candidates = [name for name in numeric if not _counts_rows(table, name)] or numeric
    if not numeric:
        raise TableError(
            f"{table.path.name} has no column of numbers to forecast; its columns: "
            f"{listed(list(table.names), 10)}",
            parameter="targets",
        )
    if len(candidates) != 1:
        raise TableError(
            f"`targets` must say which column to forecast, one of: {', '.join(numeric)}",
            parameter="targets",
        )
    return candidates[0]


def _counts_rows(table: Table, name: str) -> bool:
    """Whether a column only numbers the rows, as many programs write one."""
    if name.strip().lower() not in _COUNTERS:
        return False
    values = table.column(name).to_numpy()
    return bool(np.array_equal(values, np.arange(len(values)) + values[0]))

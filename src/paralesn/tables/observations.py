"""Read a series from a table: targets and exogenous columns in the order of time.

Nothing is filled, dropped or reordered in silence: whatever was done is in `notes`, and whatever
needs a decision is an error that names the parameter to decide it with.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from paralesn.tables.cleaning import Cleaning, fill_gaps, fill_missing, sort_by_time, split_future
from paralesn.tables.clock import Clock, clock_of, find_time_column, read_times
from paralesn.tables.reader import Table, TableError, check_columns, column_names, read_table


@dataclass(frozen=True, eq=False)
class Observations:
    """A series in the order of time.

    Attributes
    ----------
    path : Path
        The file it came from.
    targets, exog : tuple of str
        Names of the columns to forecast, and of extra input columns.
    values : array (rows, columns)
        The targets, then the exogenous columns.
    future : int
        Rows at the end without targets: what is known in advance.
    time : str or None
        Name of the time column.
    times : array (rows,) or None
        Its dates or numbers.
    clock : Clock or None
        How far apart they are.
    notes : list of str
        What was done to the table.
    """

    path: Path
    targets: tuple[str, ...]
    exog: tuple[str, ...]
    values: np.ndarray
    future: int = 0
    time: str | None = None
    times: np.ndarray | None = None
    clock: Clock | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Number of rows with targets."""
        return len(self.values) - self.future

    @property
    def y(self) -> np.ndarray:
        """Observed targets (rows, targets)."""
        return self.values[: self.rows, : len(self.targets)]

    @property
    def X(self) -> np.ndarray:
        """Exogenous columns (rows + future, exog)."""
        return self.values[:, len(self.targets) :]

    def ahead(self, steps: int) -> np.ndarray:
        """Times of the steps after the last observed row; 1, 2, ... without a time column."""
        if self.times is None or self.clock is None:
            return np.arange(1.0, steps + 1)
        given = self.times[self.rows :][:steps]
        last = self.times[-1] if len(given) else self.times[self.rows - 1]
        return np.concatenate([given, self.clock.after(last, steps - len(given))])


def read_observations(
    path: Path,
    targets: Sequence[str] = (),
    exog: Sequence[str] = (),
    *,
    time: str | None = None,
    cleaning: Cleaning | None = None,
) -> Observations:
    """Read a series from a table.

    Parameters
    ----------
    path : Path
        CSV, also compressed, or Parquet.
    targets : sequence of str
        Columns to forecast. Default: the only column of numbers.
    exog : sequence of str
        Extra input columns.
    time : str, optional
        Column with the times of the rows. Default: the first other column of ISO dates; without
        one, rows are in the order of the file.
    cleaning : Cleaning, optional
        What to do about missing values, skipped times and repeated times.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from paralesn.tables.observations import read_observations
    >>> path = Path(tempfile.mkdtemp()) / "sales.csv"
    >>> _ = path.write_text("day,sold\\n2024-01-01,3\\n2024-01-02,5\\n")
    >>> observations = read_observations(path)
    >>> observations.y.ravel().tolist(), str(observations.clock)
    ([3.0, 5.0], 'every day')
    """
    cleaning = cleaning or Cleaning()
    _check_requested(path, targets, exog, time)
    is_complete = bool(targets) and time is not None
    table = read_table(path, [*targets, *exog, str(time)] if is_complete else None)
    notes: list[str] = []
    if time is None:
        others = table._replace(frame=table.frame.drop(columns=[*targets, *exog]))
        time = find_time_column(others)
        if time is not None:
            notes.append(f"{time!r} is taken for the time of rows")
    if not targets:
        targets = [_only_numeric_column(table, {time, *exog})]
        notes.append(f"{targets[0]!r} is what is forecast")
    values = np.column_stack([table.numbers(name) for name in (*targets, *exog)])
    names = (tuple(targets), tuple(exog))
    if time is None:
        order = np.arange(len(values))
        observations = Observations(path, *names, values, notes=notes)
    else:
        times = read_times(table, time, cleaning.time_format)
        times, values, order = sort_by_time(table, times, values, cleaning, notes)
        clock = clock_of(times)
        observations = Observations(path, *names, values, 0, time, times, clock, notes)
    observations = fill_gaps(split_future(observations), cleaning)
    return fill_missing(observations, table, order, cleaning)


def _check_requested(
    path: Path, targets: Sequence[str], exog: Sequence[str], time: str | None
) -> None:
    """Raise for columns that the table does not have, or that have two roles."""
    names, times = column_names(path), [] if time is None else [time]
    check_columns(path, names, targets, "targets")
    check_columns(path, names, exog, "exog")
    check_columns(path, names, times, "time")
    roles = [*targets, *exog, *times]
    twice = [name for name in (*targets, *exog) if roles.count(name) > 1]
    if twice:
        raise TableError(
            f"column {twice[0]!r} is given twice among `targets`, `exog` and `time`",
            parameter="targets",
        )


def _only_numeric_column(table: Table, others: set[str | None]) -> str:
    """The only column of numbers that has no other role."""
    import pandas as pd

    names = [str(name) for name in table.frame.columns if name not in others]
    numeric = [name for name in names if pd.api.types.is_numeric_dtype(table.frame[name])]
    if len(numeric) != 1:
        raise TableError(
            f"`targets` must say which column to forecast, one of: {', '.join(numeric or names)}",
            parameter="targets",
        )
    return numeric[0]

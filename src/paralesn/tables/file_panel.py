"""Read many series from a long table, in which they stand below each other."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from paralesn.tables.cleaning import Cleaning
from paralesn.tables.clock import Clock, clock_of
from paralesn.tables.columns import Columns, read_columns
from paralesn.tables.errors import TableError
from paralesn.tables.grouping import group_rows
from paralesn.tables.notes import merge_notes
from paralesn.tables.observations import Observations
from paralesn.tables.reading import Reading


@dataclass(frozen=True, eq=False)
class Panel:
    """Many series of the same columns and on the same clock.

    Attributes
    ----------
    path : Path
        The file they came from.
    by : tuple of str
        Columns that tell the series apart.
    keys : tuple of tuple of str
        Values of these columns, in the order in which the series first appear.
    series : tuple of Observations
        One for each key. Their `notes` are about them alone.
    clock : Clock or None
        How far apart times are, in most series.
    notes : list of str
        What was done to the table: once, not for every series.
    reading : Reading
        How the file was read.
    """

    path: Path
    by: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    series: tuple[Observations, ...]
    clock: Clock | None = None
    notes: list[str] = field(default_factory=list)
    reading: Reading = field(default_factory=Reading)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the series: the values of `by`, with slashes between several."""
        return tuple("/".join(key) for key in self.keys)

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the columns to forecast."""
        return self.reading.targets

    @property
    def exog(self) -> tuple[str, ...]:
        """Names of the extra input columns."""
        return self.reading.exog

    @property
    def time(self) -> str | None:
        """Name of the time column."""
        return self.reading.time

    def __len__(self) -> int:
        return len(self.series)


def read_panel(
    path: Path,
    by: Sequence[str],
    targets: Sequence[str] = (),
    exog: Sequence[str] = (),
    *,
    time: str | None = None,
    cleaning: Cleaning | None = None,
    reading: Reading | None = None,
) -> Panel:
    """Read many series from a long table.

    Parameters
    ----------
    path : Path
        As `read_observations` takes it.
    by : sequence of str
        Columns that tell series apart: rows of equal values are a series.
    targets, exog, time, cleaning, reading
        As of `read_observations`; each series is cleaned for itself.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from paralesn.tables.file_panel import read_panel
    >>> path = Path(tempfile.mkdtemp()) / "prices.csv"
    >>> rows = "b,2024-01-01,3\\nb,2024-01-02,5\\na,2024-01-01,7\\na,2024-01-02,8\\n"
    >>> _ = path.write_text("symbol,day,price\\n" + rows)
    >>> panel = read_panel(path, ["symbol"])
    >>> panel.names, [one.y.ravel().tolist() for one in panel.series], str(panel.clock)
    (('b', 'a'), [[3.0, 5.0], [7.0, 8.0]], 'every day')
    """
    cleaning = cleaning or Cleaning()
    by = [by] if isinstance(by, str) else list(by)
    if not by and not (reading and reading.by):
        raise TableError("`by` must name the columns that tell series apart", parameter="by")
    columns = read_columns(
        path, targets, exog, by=by, time=time, cleaning=cleaning, reading=reading
    )
    by = columns.reading.by
    keys, rows = group_rows(columns.table, by)
    clock = _common_clock(columns, rows)
    series = []
    for key, chosen in zip(keys, rows, strict=True):
        try:
            series.append(columns.observations(chosen, cleaning, [], clock))
        except TableError as error:
            where = f"series {'/'.join(key)!r}: {error}"
            raise TableError(where, parameter=error.parameter) from error
    panel = Panel(path, tuple(by), tuple(keys), tuple(series), clock, reading=columns.reading)
    names = ", ".join(map(repr, by))
    panel.notes.extend([*columns.notes, f"{len(keys)} series by {names}"])
    panel.notes.extend(
        merge_notes([(n, s.notes) for n, s in zip(panel.names, series, strict=True)])
    )
    return panel


def _common_clock(columns: Columns, rows: list[np.ndarray]) -> Clock | None:
    """The clock of most series; a series of one row has none of its own."""
    clocks: Counter[Clock] = Counter()
    if columns.times is None:
        return None
    for chosen in rows:
        distinct = np.unique(columns.times_of(chosen)[0])  # type: ignore[arg-type]
        if distinct.size > 1:
            clocks[clock_of(distinct)] += 1
    regular = [clock for clock, _ in clocks.most_common() if clock.kind != "irregular"]
    if regular:
        return regular[0]
    return next(iter(clocks), Clock("irregular", 1.0))

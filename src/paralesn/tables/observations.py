"""Read a series from a table: targets and exogenous columns in the order of time.

Nothing is filled, dropped or reordered in silence: whatever was done is in `notes`, and whatever
needs a decision is an error that names the parameter to decide it with.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from paralesn.tables.cleaning import Cleaning
from paralesn.tables.clock import Clock
from paralesn.tables.columns import read_columns
from paralesn.tables.reading import Reading


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
    reading : Reading
        How the file was read, with which a newer one is read the same way.
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
    reading: Reading = field(default_factory=Reading)

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
    reading: Reading | None = None,
) -> Observations:
    """Read a series from a table.

    Parameters
    ----------
    path : Path
        Text with columns (CSV), Excel or Parquet, also compressed.
    targets : sequence of str
        Columns to forecast. Default: the only column of numbers.
    exog : sequence of str
        Extra input columns.
    time : str, optional
        Column with the times of the rows. Default: the first other column of dates; without one,
        rows are in the order of the file.
    cleaning : Cleaning, optional
        What to do about missing values, skipped times and repeated times.
    reading : Reading, optional
        How the file is written, and its columns where they are not given. Default: as the content
        of the file suggests, which `notes` tell and ``observations.reading`` keeps.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from paralesn.tables.observations import read_observations
    >>> path = Path(tempfile.mkdtemp()) / "sales.csv"
    >>> _ = path.write_text("day;sold\\n01.02.2024;3,5\\n02.02.2024;5,25\\n")
    >>> observations = read_observations(path)
    >>> observations.y.ravel().tolist(), str(observations.clock)
    ([3.5, 5.25], 'every day')
    >>> for note in observations.notes:
    ...     print(note)
    columns are separated by ';'
    'day' is taken for the time of rows
    'sold' is what is forecast
    dates are read with the day first: '01.02.2024' is 2024-02-01
    numbers have decimal commas: sold
    """
    cleaning = cleaning or Cleaning()
    columns = read_columns(path, targets, exog, time=time, cleaning=cleaning, reading=reading)
    return columns.observations(np.arange(len(columns.values)), cleaning, columns.notes)

"""The series of a file in the form that forecasters take, whether it holds one or many."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np

from paralesn.tables.clock import Clock, format_times
from paralesn.tables.errors import TableError
from paralesn.tables.file_panel import Panel
from paralesn.tables.labels import free_name
from paralesn.tables.observations import Observations
from paralesn.tables.reading import Reading


class FitArguments(NamedTuple):
    """What a forecaster is fitted to: arguments of `fit`, `update` and `backtest`.

    Attributes
    ----------
    y : frame
        Wide where the file holds one series for each target, long where it holds many.
    X, past : frame or None
        Inputs that are known in advance, and those known only up to now.
    names : dict
        Columns of long frames: `id`, `time` and `target`.
    """

    y: Any
    X: Any
    past: Any
    names: "LongColumns"


class LongColumns(TypedDict):
    """Names of the columns of long frames."""

    id: str
    time: str
    target: str


@dataclass(frozen=True, eq=False)
class FileSeries:
    """Every target of every part of a file: a series each, the targets of a part side by side.

    Attributes
    ----------
    path : Path
    parts : tuple of Observations
        One, or one for each key of a long table.
    by : tuple of str
        Columns that tell the parts of a long table apart.
    keys : tuple of tuple of str
        Values of these columns; one empty key where there are none.
    clock : Clock or None
    notes : tuple of str
        What was done to the table.
    reading : Reading
        How the file was read.
    """

    path: Path
    parts: tuple[Observations, ...]
    by: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    clock: Clock | None
    notes: tuple[str, ...]
    reading: Reading

    @classmethod
    def of(cls, data: Observations | Panel) -> "FileSeries":
        """The series of what was read."""
        if isinstance(data, Panel):
            given = (data.path, data.series, data.by, data.keys, data.clock)
            return cls(*given, tuple(data.notes), data.reading)
        return cls(data.path, (data,), (), ((),), data.clock, tuple(data.notes), data.reading)

    # -- what there is ---------------------------------------------------------------------------

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the columns to forecast."""
        return self.parts[0].targets

    @property
    def exog(self) -> tuple[str, ...]:
        """Names of the extra input columns."""
        return self.parts[0].exog

    @property
    def time(self) -> str | None:
        """Name of the time column."""
        return self.parts[0].time

    @property
    def is_long(self) -> bool:
        """Whether the file is a long table."""
        return bool(self.by)

    @property
    def rows(self) -> np.ndarray:
        """Rows with targets of every part."""
        return np.array([part.rows for part in self.parts], np.int64)

    @property
    def future(self) -> int:
        """Rows after the last target that every part has."""
        return min(part.future for part in self.parts)

    @cached_property
    def names(self) -> list[str]:
        """Names of the series: keys, targets, or both."""
        labels = ["/".join(key) for key in self.keys]
        if not self.is_long:
            return list(self.targets)
        if len(self.targets) > 1:
            labels = [f"{label}/{target}" for label in labels for target in self.targets]
        twice = next((name for name, count in Counter(labels).items() if count > 1), None)
        if twice is not None:
            raise TableError(
                f"{self.path.name}: two series are called {twice!r}, of values with slashes in "
                f"{', '.join(map(repr, self.by))}: rename one of them",
                parameter="by",
            )
        return labels

    @cached_property
    def values(self) -> list[np.ndarray]:
        """Every series (time,)."""
        return [column for part in self.parts for column in part.y.T]

    def __len__(self) -> int:
        return len(self.parts) * len(self.targets)

    def part_of(self, series: int) -> Observations:
        """The part that a series is in."""
        return self.parts[series // len(self.targets)]

    def target_of(self, series: int) -> str:
        """The target that a series is of."""
        return self.targets[series % len(self.targets)]

    def subset(self, parts: Sequence[int]) -> "FileSeries":
        """Some of the parts."""
        chosen, keys = tuple(self.parts[j] for j in parts), tuple(self.keys[j] for j in parts)
        return replace(self, parts=chosen, keys=keys)

    def without_last(self, rows: int) -> "FileSeries":
        """All parts without their last rows of targets, and without what follows these."""
        parts = []
        for part in self.parts:
            end = part.rows - rows
            times = None if part.times is None else part.times[:end]
            parts.append(replace(part, values=part.values[:end], times=times, future=0))
        return replace(self, parts=tuple(parts))

    # -- times -----------------------------------------------------------------------------------

    @cached_property
    def has_times(self) -> bool:
        """Whether rows have times that forecasters may know.

        Where skipped times were kept as they are, rows are equal steps, and times would say else.
        """
        if self.time is None:
            return False
        for part in self.parts:
            if part.times is None or part.clock is None:
                return False
            steps = part.clock.steps(part.times)
            if len(steps) and not np.isnan(steps).any() and (steps != 1).any():
                return False
        return True

    def when(self, times: np.ndarray) -> list[str]:
        """Times as text; years as the file writes them."""
        if self.reading.time_format == "years" and times.dtype.kind == "M":
            return [str(time)[:4] for time in times.astype("M8[D]")]
        return format_times(times)

    def ahead(self, series: int, steps: int) -> np.ndarray:
        """Times of the steps after a series; 1, 2, ... without a time column."""
        return self.part_of(series).ahead(steps)

    # -- frames ----------------------------------------------------------------------------------

    @cached_property
    def column_names(self) -> LongColumns:
        """Columns of long frames, none of them a column that has another meaning."""
        if not self.is_long:
            taken = {*self.targets, *self.exog}
            id, time, target = (free_name(name, taken) for name in ("unique_id", "ds", "y"))
            return {"id": id, "time": time, "target": target}
        id = self.by[0] if len(self.by) == len(self.targets) == 1 else "series"
        time = self.time or free_name("ds", {*self.exog, *self.by, *self.targets})
        taken = {*self.exog, time}
        target = self.targets[0] if len(self.targets) == 1 else "value"
        return {"id": free_name(id, taken), "time": time, "target": free_name(target, {*taken, id})}

    def fit_arguments(self, known: bool, first: int = 0) -> FitArguments:
        """What to fit to; `known`: the extra inputs are known in advance.

        Without times, rows are counted from `first` on.
        """
        inputs = self._inputs([(0, part.rows) for part in self.parts]) if self.exog else None
        return FitArguments(
            self._targets(first), inputs if known else None, None if known else inputs,
            self.column_names,
        )  # fmt: skip

    def inputs_ahead(self, steps: int) -> Any:
        """Extra inputs of the steps after the last targets."""
        return self._inputs([(part.rows, part.rows + steps) for part in self.parts])

    def _targets(self, count: int) -> Any:
        """The observed targets, rows counted from `count` on where they have no times."""
        import pandas as pd

        if not self.is_long:
            (part,) = self.parts
            index = self._index(part, 0, part.rows)
            if index is None:
                index = pd.RangeIndex(count, count + part.rows)
            return pd.DataFrame(part.y, index, list(self.targets))
        target, columns = self.column_names["target"], []
        for i, values in enumerate(self.values):
            columns.append(self._long_columns(i, 0, len(values)) | {target: values})
        return _stacked(columns)

    def _inputs(self, spans: Sequence[tuple[int, int]]) -> Any:
        """Extra inputs of some rows of every part."""
        import pandas as pd

        if not self.is_long:
            ((first, last),), (part,) = spans, self.parts
            index = self._index(part, first, last)
            return pd.DataFrame(part.X[first:last], index, list(self.exog))
        columns = []
        for i in range(len(self)):
            first, last = spans[i // len(self.targets)]
            inputs = dict(zip(self.exog, self.part_of(i).X[first:last].T, strict=True))
            columns.append(self._long_columns(i, first, last) | inputs)
        return _stacked(columns)

    def _index(self, part: Observations, first: int, last: int) -> Any:
        """The pandas index of some rows; none where they have no times."""
        import pandas as pd

        if not self.has_times or part.times is None:
            return None
        return pd.Index(part.times[first:last], name=part.time)

    def _long_columns(self, i: int, first: int, last: int) -> dict[str, Any]:
        """The name of a series and its times, for some rows."""
        names, times = self.column_names, self.part_of(i).times
        columns: dict[str, Any] = {names["id"]: np.full(last - first, self.names[i], object)}
        if self.has_times and times is not None:
            columns[names["time"]] = times[first:last]
        return columns


def _stacked(columns: list[dict[str, Any]]) -> Any:
    """Frames below each other."""
    import pandas as pd

    return pd.DataFrame({name: np.concatenate([c[name] for c in columns]) for name in columns[0]})

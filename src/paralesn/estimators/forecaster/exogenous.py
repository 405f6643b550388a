"""Inputs beside the series: known in advance, known up to now, or of a series as a whole."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from paralesn import checks, series
from paralesn.estimators.forecaster.frames import (
    backend_of,
    columns_of,
    is_frame,
    read_pandas_index,
)
from paralesn.estimators.forecaster.panel import LIST, LONG, Layout, LongNames
from paralesn.estimators.forecaster.values import times_of
from paralesn.persistence import register
from paralesn.tables.clock import format_times

_MOST = 50  # categories of a column
Columns = dict[str, np.ndarray]


class Steps(NamedTuple):
    """The steps that inputs are wanted for: how many, and when; of one series."""

    count: int  # type: ignore[assignment]
    times: np.ndarray | None


@dataclass(frozen=True)
class PanelInputs:
    """Inputs that were read before: the columns of every series, a row for each of its steps."""

    columns: list[Columns]

    def between(self, first: np.ndarray, last: np.ndarray) -> "PanelInputs":
        """The steps first .. last - 1 (S,) of every series."""
        spans = zip(self.columns, first, last, strict=True)
        return PanelInputs([{n: column[a:b] for n, column in own.items()} for own, a, b in spans])


@register
@dataclass(frozen=True)
class Encoder:
    """Turns columns into numbers as it did in training.

    Attributes
    ----------
    names : list of str
        The columns.
    categories : dict of str to list
        Of columns of text: a column of zeros and ones for each but the first.
    """

    names: list[str]
    categories: dict[str, list[str]]

    def __post_init__(self) -> None:
        wrong = set(self.categories) - set(self.names)
        if wrong or len({*self.names}) < len(self.names) or not all(self.categories.values()):
            raise ValueError("the columns of inputs and their categories do not fit together")

    @property
    def width(self) -> int:
        """Columns of numbers."""
        return sum(max(len(self.categories[n]) - 1, 1) if n in self.categories else 1
                   for n in self.names)  # fmt: skip

    def encode(self, columns: Columns, name: str) -> np.ndarray:
        """Columns as numbers (rows, width), NaN where a value is missing."""
        if list(columns) != self.names:
            missing = [n for n in self.names if n not in columns]
            if missing or set(columns) != set(self.names):
                raise ValueError(
                    f"{name} must have the columns {', '.join(map(repr, self.names))} as in fit, "
                    f"got {', '.join(map(repr, columns))}"
                )
        parts = []
        for label in self.names:
            column = columns[label]
            if label not in self.categories:
                parts.append(_floats(column, f"{name}[{label!r}]")[:, None])
                continue
            known = self.categories[label]
            plain = [_plain(value) for value in column]
            new = [value for value in plain if value is not None and value not in known]
            if new:
                raise ValueError(
                    f"{name}[{label!r}] must be one of the categories of training, "
                    f"{', '.join(map(repr, known[:8]))}, got {new[0]!r}"
                )
            codes = np.array([np.nan if v is None else known.index(v) for v in plain], float)
            chosen = known[1:] or known
            coded = [np.where(np.isnan(codes), np.nan, codes == known.index(v)) for v in chosen]
            parts.append(np.stack(coded, axis=1).astype(float))
        rows = len(next(iter(columns.values()))) if columns else 0
        return np.hstack(parts) if parts else np.zeros((rows, 0))


def encoder_of(every: Sequence[Columns], name: str) -> Encoder:
    """Learn the columns, and the categories of those that are text, from all series."""
    names = list(every[0]) if every else []
    categories: dict[str, list[str]] = {}
    for label in names:
        columns = [columns[label] for columns in every if label in columns]
        if any(_is_text(column) for column in columns):
            values = {_plain(v): None for column in columns for v in column}
            values.pop(None, None)
            categories[label] = _categories(values, label, name)
    return Encoder(names, categories)


def merged_encoders(one: Encoder, other: Encoder, name: str) -> Encoder:
    """The encoder of columns that came in two blocks: of the categories of both."""
    if one == other:
        return one
    if set(one.names) != set(other.names):
        raise ValueError(
            f"{name} must have the same columns in every block, got "
            f"{', '.join(map(repr, one.names))} and {', '.join(map(repr, other.names))}"
        )
    pairs = {n: [*one.categories.get(n, []), *other.categories.get(n, [])] for n in one.names
             if n in one.categories or n in other.categories}  # fmt: skip
    return Encoder(one.names, {n: _categories(set(v), n, name) for n, v in pairs.items()})


def _categories(values: Collection[Any], label: str, name: str) -> list[Any]:
    """Different categories in order."""
    if len(values) > _MOST:
        raise ValueError(
            f"{name}[{label!r}] must have at most {_MOST} categories, got {len(values)}"
        )
    return sorted(values, key=str)


def _is_text(column: np.ndarray) -> bool:
    if column.dtype.kind in "US":
        return True
    return column.dtype == object and any(isinstance(value, str) for value in column)


def _plain(value: Any) -> Any:
    """A category as a plain value; None where it is missing."""
    is_nan = isinstance(value, float) and np.isnan(value)
    if value is None or is_nan or type(value).__name__ == "NAType":  # as pandas 2 has them
        return None
    return str(value)


def _floats(column: np.ndarray, name: str) -> np.ndarray:
    if column.dtype == object:
        try:
            column = column.astype(float)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must hold numbers as in fit, got {column[0]!r}") from None
    return series.numeric(column, name).astype(float)


# -- what people give ------------------------------------------------------------------------------


def read_columns(
    X: Any, y: Any, layout: Layout, steps: Sequence[Steps], names: LongNames, name: str
) -> list[Columns]:
    """The columns of inputs for every series.

    Parameters
    ----------
    X : array (time, inputs), list of them, frame, long frame, names of columns of y, or PanelInputs
    y : what the series came as, for names of its columns
    steps : for every series the steps that inputs are wanted for
    """
    if isinstance(X, PanelInputs):
        for own, wanted_of in zip(X.columns, steps, strict=True):
            rows = len(next(iter(own.values())))
            if rows != wanted_of.count:
                raise ValueError(f"{name} must have {wanted_of.count} time steps here, got {rows}")
        return X.columns
    if isinstance(X, str) or (
        isinstance(X, (list, tuple)) and X and all(isinstance(x, str) for x in X)
    ):
        wanted = [X] if isinstance(X, str) else list(X)
        if not is_frame(y):
            raise ValueError(f"{name} names columns of y, which must be a long frame then")
        columns = columns_of(y, "y", layout.index.is_local)
        unknown = [n for n in wanted if n not in columns]
        if unknown:
            raise ValueError(f"{name} must name columns of y, got {unknown[0]!r}; there are "
                             f"{', '.join(map(repr, columns))}")  # fmt: skip
        keys = [n for n in (names.id, names.time) if n in columns]
        return _from_long({n: columns[n] for n in (*keys, *wanted)}, layout, steps, names, name)
    if is_frame(X):
        return _from_frame(X, layout, steps, names, name)
    if layout.kind == LIST:
        if not isinstance(X, (list, tuple)) or len(X) != len(steps):
            raise ValueError(f"{name} must be a list of {len(steps)} arrays, as y is, got "
                             f"{type(X).__name__}")  # fmt: skip
        return [_from_array(x, s, f"{name}[{i}]") for i, (x, s) in
                enumerate(zip(X, steps, strict=True))]  # fmt: skip
    if layout.kind == LONG:
        raise ValueError(f"{name} must be a long frame with {names.id!r} and {names.time!r}, or "
                         f"names of columns of y, got a {type(X).__name__}")  # fmt: skip
    return [_from_array(X, s, name) for s in steps]


def _from_array(X: Any, steps: Steps, name: str) -> Columns:
    label = getattr(X, "name", None)
    try:
        array = np.asarray(checks.masked_as_nan(X))
    except ValueError as error:  # lists of different lengths
        raise ValueError(
            f"{name} must be (time,) or (time, inputs), got a {type(X).__name__} that is neither: "
            f"{error}"
        ) from None
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must be (time,) or (time, inputs), got shape {array.shape}")
    table = array[:, None] if array.ndim == 1 else array
    if len(table) != steps.count:
        raise ValueError(f"{name} must have {steps.count} time steps here, got {len(table)}")
    return {str(label) if label is not None else str(k): table[:, k] for k in range(table.shape[1])}


def _from_frame(
    X: Any, layout: Layout, steps: Sequence[Steps], names: LongNames, name: str
) -> list[Columns]:
    columns = columns_of(X, name, layout.index.is_local)
    if names.id in columns or (names.time in columns and steps and steps[0].times is not None):
        return _from_long(columns, layout, steps, names, name)
    columns.pop(names.time, None)
    times = None
    if backend_of(X) == "pandas":
        times, index = read_pandas_index(X.index, name, layout.index.is_local)
        times = None if index.kind not in ("dates", "periods") else times
    out = []
    for wanted in steps:
        if times is not None and wanted.times is not None and wanted.times.dtype.kind == "M":
            out.append(_at(columns, times, wanted, name))
            continue
        if len(next(iter(columns.values()), [])) != wanted.count:
            rows = len(next(iter(columns.values()), []))
            raise ValueError(f"{name} must have {wanted.count} time steps here, got {rows}")
        out.append(columns)
    return out


def _at(columns: Columns, times: np.ndarray, wanted: Steps, name: str) -> Columns:
    """Rows of the wanted times; one that is not there is named."""
    assert wanted.times is not None
    order = np.argsort(times, kind="stable")
    at = np.searchsorted(times[order], wanted.times)
    inside = at < len(times)
    right = np.zeros(len(at), bool)
    right[inside] = times[order][at[inside]] == wanted.times[inside]
    if not right.all():
        missing = format_times(wanted.times[~right][:1])[0]
        raise ValueError(f"{name} must have a row for every time step, got none for {missing}")
    return {label: column[order][at] for label, column in columns.items()}


def _from_long(
    columns: Columns, layout: Layout, steps: Sequence[Steps], names: LongNames, name: str
) -> list[Columns]:
    ids = columns.pop(names.id, None)
    times = columns.pop(names.time, None)
    columns.pop(names.target, None)
    if times is not None and times.dtype.kind not in "Mbiuf":
        times, _ = times_of(times, names.time, name)
    out, none = [], np.zeros(0, int)
    rows_of = {} if ids is None else _rows_of_each(ids)
    for label, wanted in zip(layout.names, steps, strict=True):
        rows = np.arange(len(next(iter(columns.values()), []))) if ids is None else \
            rows_of.get(label, none)  # fmt: skip
        own = {n: column[rows] for n, column in columns.items()}
        who = f"{name} of {label!r}" if ids is not None else name
        if times is not None and wanted.times is not None:
            own = _at(own, times[rows].astype(wanted.times.dtype), wanted, who)
        elif len(rows) != wanted.count:
            raise ValueError(f"{who} must have {wanted.count} time steps here, got {len(rows)}")
        out.append(own)
    return out


def _rows_of_each(ids: np.ndarray) -> dict[Any, np.ndarray]:
    """Rows of every series of a long frame, in their order."""
    rows: dict[Any, list[int]] = {}
    for row, label in enumerate(ids.tolist()):
        rows.setdefault(label, []).append(row)
    return {label: np.array(own) for label, own in rows.items()}


def filled(values: np.ndarray) -> np.ndarray:
    """Missing values of every column interpolated, ends continued; zero where there is none."""
    if np.isfinite(values).all():
        return values
    out = np.array(values, float)
    for column in out.T:
        seen = np.flatnonzero(np.isfinite(column))
        column[:] = np.interp(np.arange(column.size), seen, column[seen]) if seen.size else 0.0
    return out

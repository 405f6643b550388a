"""Columns that tell the series of a long table apart."""

from itertools import chain, combinations
from typing import Any

import numpy as np

from paralesn.tables.errors import TableError
from paralesn.tables.reader import Table


def suggest_by(table: Table, times: np.ndarray, rows: np.ndarray, used: set[str | None]) -> str:
    """What to say where times repeat as several series are below each other; "" where they are not.

    `rows` are those of the table that `times` belong to, `used` are columns with a role.
    """
    names = [name for name in table.names if table.names.count(name) == 1 and name not in used]
    if not names or not len(rows):
        return ""
    frame = table.file.frame(names).iloc[rows]
    codes = {name: _codes(frame[name]) for name in names}
    plausible = [name for name in names if 1 < codes[name].max() + 1 <= len(rows) / 2]
    plausible.sort(key=lambda name: (_is_number(frame[name]), int(codes[name].max())))
    _, when = np.unique(times, return_inverse=True)
    pairs = chain(((name,) for name in plausible), combinations(plausible[:6], 2))
    for columns in pairs:
        keys = np.column_stack([when, *(codes[name] for name in columns)])
        if len(np.unique(keys, axis=0)) == len(keys):
            options = " and ".join(f"`by={name!r}`" for name in columns)
            return f"; {options} reads a series for each {' and '.join(columns)}"
    return ""


def _codes(column: Any) -> np.ndarray:
    """Numbers of the distinct values of a column; missing ones are one of them."""
    import pandas as pd

    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0])


def _is_number(column: Any) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(column))


def group_rows(table: Table, by: tuple[str, ...]) -> tuple[list[tuple[str, ...]], list[np.ndarray]]:
    """Keys of the series in the order in which they first appear, and the rows of each."""
    import pandas as pd

    texts = [table.names_in(name).tolist() for name in by]
    for name, column in zip(by, texts, strict=True):
        if None in column:
            where = table.location(column.index(None))
            raise TableError(f"{where}: {name!r} (`by`) is missing", parameter="by")
    codes, keys = pd.factorize(pd.Series(list(zip(*texts, strict=True)), dtype=object))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order])) + 1
    return [tuple(key) for key in keys], np.split(order, starts)

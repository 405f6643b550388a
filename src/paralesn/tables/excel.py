"""Sheets of Excel: the first one, or the one named, as a table of text, numbers and dates."""

import io
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from paralesn.files import require
from paralesn.tables.errors import TableError
from paralesn.tables.notes import counted, listed


class Sheet(NamedTuple):
    """A sheet of a workbook.

    Attributes
    ----------
    frame : DataFrame
        Its columns by position; the index is the number of the row in the sheet.
    names : list of str
        Names of the columns.
    header : int
        Row of the names, from 1.
    title : str
        Name of the sheet.
    notes : list of str
    """

    frame: Any
    names: list[str]
    header: int
    title: str
    notes: list[str]


def read_sheet(data: bytes, path: Path, title: str | None = None) -> Sheet:
    """Read a sheet of a workbook."""
    pd = require("pandas", "tables", purpose="reading tables")
    require("openpyxl", "tables", purpose="reading Excel")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="openpyxl")  # of styles that it does not know
        try:
            book = pd.ExcelFile(io.BytesIO(data), engine="openpyxl")
            titles = [str(one) for one in book.sheet_names]
            if title is not None and title not in titles:
                raise TableError(
                    f"{path.name} has no sheet {title!r}; its sheets: {listed(titles)}"
                )
            cells = book.parse(title or titles[0], header=None, dtype=object)
        except TableError:
            raise
        except Exception as error:  # of whatever kind: the archive, its XML or what it says
            raise TableError(f"{path.name} is damaged: {error}") from error
    notes = []
    if len(titles) > 1 and title is None:
        others = listed(titles[1:])
        notes.append(f"the sheet {titles[0]!r} is read; others in the workbook: {others}")
    cells.index = cells.index + 1
    cells = cells[cells.notna().any(axis=1)]
    if not len(cells):
        raise TableError(f"{path.name}: the sheet {title or titles[0]!r} is empty")
    return _with_header(cells, title or titles[0], notes)


def _with_header(cells: Any, title: str, notes: list[str]) -> Sheet:
    """Take the first row that names columns, after titles, which fill one cell only."""
    filled = cells.notna().sum(axis=1).to_numpy()
    first = 0
    while filled[first] == 1 and (filled[first + 1 :] > 1).any():
        first += 1
    if first:
        text = str(cells.iloc[0].dropna().iloc[0])
        notes.append(f"{counted(first, 'row')} before the header skipped, the first {text[:60]!r}")
    body = cells.iloc[first + 1 :]
    header = cells.iloc[first]
    used = [k for k in cells.columns if header[k] == header[k] or body[k].notna().any()]
    names = [str(header[k]).strip() if header[k] == header[k] else "" for k in used]
    frame = body[used].infer_objects()
    frame.columns = range(len(used))
    return Sheet(frame, names, int(cells.index[first]), title, notes)

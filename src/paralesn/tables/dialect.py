"""How a text file is laid out: lines before the header, names of columns, the separator."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from paralesn.tables.errors import TableError
from paralesn.tables.notes import counted

_SEPARATORS = "\t;|, "  # those that are rarer in text first
_NAMES = {"\t": "tabs", " ": "blanks"}
_COMMENT = ("#", "%", "//")
_SAMPLE = 1 << 18  # bytes to look at
_LINES = 200
_NUMBER = re.compile(r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?")
_DATA = re.compile(r"\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?(?:[T ].*)?")  # a date, no name
_WRONG = {  # by the first word of what Python's reader says
    "field": f"a value or a name has more than {csv.field_size_limit()} characters; is a quotation "
    "mark not closed?",
    "new-line": "a carriage return without a line feed, outside of quotes; lines must all end in "
    "the same way",
}


class Dialect(NamedTuple):
    """How a text file is laid out.

    Attributes
    ----------
    sep : str
        The character between columns; a blank stands for runs of blanks and tabs.
    names : list of str
        Names of the columns.
    header : int
        Line of the names, from 1.
    start : int
        Byte at which the rows begin.
    end : int
        Byte at which they end: lines without any value after them are left out.
    skipped : list of str
        Lines before the header.
    empty : int
        Number of lines left out at the end that have separators and nothing else.
    """

    sep: str
    names: list[str]
    header: int
    start: int
    end: int
    skipped: list[str]
    empty: int = 0

    def notes(self) -> list[str]:
        """What is not as in most files."""
        notes = []
        if self.sep != "," and len(self.names) > 1:
            notes.append(f"columns are separated by {_NAMES.get(self.sep, repr(self.sep))}")
        if any(line.strip() for line in self.skipped):
            first = next(line.strip() for line in self.skipped if line.strip())
            lines = counted(len(self.skipped), "line")
            notes.append(f"{lines} before the header skipped, the first {first[:60]!r}")
        if self.empty:
            notes.append(f"{counted(self.empty, 'line')} without any value at the end left out")
        return notes


def find_dialect(
    data: bytes, name: str, sep: str | None = None, header: int | None = None
) -> Dialect:
    """Find out how text in UTF-8 is laid out; `name` is that of the file, for errors."""
    try:
        return _find_dialect(data, name, sep, header)
    except csv.Error as error:
        raise TableError(f"{name}: {_WRONG.get(str(error).split()[0], error)}") from error


def _find_dialect(data: bytes, name: str, sep: str | None, header: int | None) -> Dialect:
    """As `find_dialect`."""
    lines = _first_lines(data)
    if not any(line.strip() for line in lines):
        raise TableError(f"{name} is empty, or its first line is: expected names of columns")
    first = next((k for k, line in enumerate(lines) if _is_content(line)), len(lines) - 1)
    sep = sep or _find_separator(lines[first:])
    if header is None or not 0 < header <= len(lines):
        header = _find_header(lines, first, sep) + 1
    text = lines[header - 1]
    marked = text.lstrip()
    if marked.startswith("#"):  # names that are commented out, as NumPy writes them
        text = marked.lstrip("# ")
    names = [field.strip() for field in fields(text, sep)]
    if all(_NUMBER.fullmatch(field) or _DATA.fullmatch(field) for field in names):
        raise TableError(
            f"{name} begins with numbers ({text.strip()[:40]}), expected a line with the names of "
            "the columns"
        )
    start = _offset(data, header)
    end, empty = _end(data, start, sep) if len(names) > 1 else (len(data), 0)
    return Dialect(sep, names, header, start, end, lines[: header - 1], empty)


def _first_lines(data: bytes) -> list[str]:
    """The first lines; the last one only where it is whole."""
    sample = data[:_SAMPLE]
    lines = sample.decode("utf-8", errors="replace").split("\n")
    if len(data) > _SAMPLE and len(lines) > 1:
        lines.pop()
    return [line.rstrip("\r") for line in lines[:_LINES]]


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(_COMMENT)


def fields(line: str, sep: str) -> list[str]:
    """The fields of a line."""
    return next(_split([line], sep), [""])


def _split(lines: Iterable[str], sep: str) -> Any:
    """Python's reader of CSV, with runs of blanks as one."""
    if sep == " ":
        lines = (line.replace("\t", " ").strip() for line in lines)
    return csv.reader(lines, delimiter=sep, skipinitialspace=True)


def _find_separator(lines: list[str]) -> str:
    """The character that splits most lines into as many fields as the line of names."""
    rows = [line for line in lines if line.strip()]
    values = [row.strip().strip('"') for row in rows[1:]]
    if not set(rows[0]) & set(_SEPARATORS[:-1]) and all(map(_NUMBER.fullmatch, values)):
        return ";"  # one column, whose numbers may have decimal commas
    best, share = "", 0.0
    for sep in _SEPARATORS:
        widths = [len(fields(row, sep)) for row in rows]
        widest = max(set(widths[1:] or widths), key=widths.count)
        names = next((width for width in widths if width > 1), 1)
        width = names if sep != " " else widest
        if width < 2:
            continue
        found = sum(one == width for one in widths) / len(rows)
        if sep == " " and (found < 0.9 or len(rows) < 2 or widths[0] != width):
            continue  # blanks are in text as well
        if found > share:
            best, share = sep, found
    return best or ","


def _find_header(lines: list[str], first: int, sep: str) -> int:
    """The line of names: after comments, and after titles, which have one field only."""
    widths = [_filled(line, sep) if _is_content(line) else 0 for line in lines]
    content = [width for width in widths[first:] if width]
    usual = max(set(content), key=content.count) if content else 1
    header = first
    if usual > 1:
        while widths[header] <= 1 and any(width > 1 for width in widths[header + 1 :]):
            header += 1
    commented = header - 1
    if commented >= 0 and lines[commented].lstrip().startswith("#"):
        names = fields(lines[commented].lstrip().lstrip("# "), sep)
        data = fields(lines[header], sep)
        looks_like_data = all(_NUMBER.fullmatch(f) or _DATA.fullmatch(f) for f in data)
        if looks_like_data and len(names) == len(data):
            return commented
    return header


def _filled(line: str, sep: str) -> int:
    """Number of fields of a line up to its last one that is not empty."""
    filled = [k for k, field in enumerate(fields(line, sep), 1) if field.strip()]
    return filled[-1] if filled else 0


def _offset(data: bytes, lines: int) -> int:
    """The byte after so many lines."""
    position = 0
    for _ in range(lines):
        end = data.find(b"\n", position)
        if end < 0:
            return len(data)
        position = end + 1
    return position


def _end(data: bytes, start: int, sep: str) -> tuple[int, int]:
    """The byte after the last line with a value, and how many lines of separators follow."""
    end, empty = len(data), 0
    while end > start:
        line_start = data.rfind(b"\n", start, end - 1) + 1 or start
        line = data[line_start:end]
        if line.strip(sep.encode() + b'" \t\r\n'):
            break
        empty += bool(line.strip(b" \r\n"))
        end = line_start
    return end, empty


# -- rows ------------------------------------------------------------------------------------------


def rows_of(data: bytes, dialect: Dialect) -> io.BytesIO:
    """The lines after the header, as a file."""
    return io.BytesIO(data[dialect.start : dialect.end])


def records(data: bytes, dialect: Dialect, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows as Python's csv module reads them, with the number of the line each ends in."""
    text = io.TextIOWrapper(rows_of(data, dialect), "utf-8", errors="replace", newline="")
    rows = _split(text, dialect.sep)
    try:
        for record in rows:
            if len(dialect.names) == 1 or len(record) > 1 or any(map(str.strip, record)):
                yield dialect.header + rows.line_num, record or [""]
    except csv.Error as error:
        where = f"{name}, line {dialect.header + rows.line_num}"
        raise TableError(f"{where}: {_WRONG.get(str(error).split()[0], error)}") from error


def check_widths(data: bytes, dialect: Dialect, name: str) -> None:
    """Refuse lines with more or fewer values than the header has names.

    pandas would drop values beyond the header, and fill short lines up with NaN.
    """
    count, separator = len(dialect.names), dialect.sep.encode()
    for number, line in enumerate(rows_of(data, dialect), dialect.header + 1):
        if b'"' in line:
            break  # separators may be inside quotes
        width = len(line.split()) if separator == b" " else line.count(separator) + 1
        if width != count and line.strip():
            _refuse_width(name, dialect, number, width)
    else:
        return
    for number, record in records(data, dialect, name):
        if len(record) != count:
            _refuse_width(name, dialect, number, len(record))


def _refuse_width(name: str, dialect: Dialect, number: int, width: int) -> None:
    """Raise for a line of `width` values."""
    hint = f"; `sep` sets what separates them, which is {dialect.sep!r} here"
    if dialect.sep == "," and width > len(dialect.names):
        hint = (
            "; numbers written like 5,82 need quotes around them, or another separator between "
            "columns than the comma"
        )
    raise TableError(
        f"{name}, line {number} has {counted(width, 'value')} where the header names "
        f"{counted(len(dialect.names), 'column')}{hint}",
        parameter="sep",
    )

"""Parse the formats of the archives: UCR's ``.tsv`` and aeon's ``.ts``.

Parsers take the content of a file, or the open file, and its name, for errors, and return arrays. A
series is an array (time, features).
"""

import io
import re
from collections.abc import Iterator
from typing import IO, NamedTuple

import numpy as np

from paralesn.files import DamagedFileError
from paralesn.tables.labels import whole_numbers
from paralesn.tables.numerals import plain_numbers

SeriesArrays = np.ndarray | list[np.ndarray]
Content = bytes | IO[bytes]

_LONG = 2048  # characters from which on a line is read faster by NumPy than value by value
_GROWTH = 1.2  # of the array that holds the cases read so far


class Cases(NamedTuple):
    """Series (cases, time, features), a list of (time_i, features) if ragged, and raw labels.

    `is_target` says that the file declares labels to be numbers, not classes.
    """

    series: SeriesArrays
    labels: list[str]
    is_target: bool = False


def _lines(content: Content, name: str) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank."""
    file = io.BytesIO(content) if isinstance(content, bytes) else content
    try:
        for number, raw in enumerate(file, start=1):
            if line := raw.decode("utf-8").strip("\r\n "):
                yield number, line
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"{name} is not a text file: {error}") from error


def _numbers(text: str, separator: str, where: str) -> np.ndarray:
    """Values of one channel; ``?`` is a missing value."""
    if len(text) >= _LONG and text.isascii() and "_" not in text and "\r" not in text:
        try:
            return np.loadtxt([text], delimiter=separator, comments=None, ndmin=1)
        except ValueError:  # what follows says where, and knows other marks
            pass
    texts = text.split(separator)
    try:
        values = plain_numbers(texts)
    except ValueError:
        try:
            values = plain_numbers(["nan" if text.strip() == "?" else text for text in texts])
        except ValueError as error:
            raise DamagedFileError(f"{where}: {error}") from error
    return np.array(values)


class _Gathered:
    """Series as they are read: one array while all are of one shape, so that none is held twice."""

    def __init__(self) -> None:
        self._whole: np.ndarray = np.empty(0)
        self._apart: list[np.ndarray] | None = None  # once they differ
        self._count = 0

    def add(self, values: np.ndarray) -> None:
        """Add a series (time, features)."""
        if not self._count:
            self._whole = np.empty((1, *values.shape))
        if self._apart is None and values.shape != self._whole.shape[1:]:
            self._apart = list(self._whole[: self._count])
        if self._apart is not None:
            self._apart.append(values)
            return
        if self._count == len(self._whole):
            self._resize(int(_GROWTH * self._count) + 1)
        self._whole[self._count] = values
        self._count += 1

    def cases(self, labels: list[str], name: str) -> Cases:
        """All of them with their labels, checked to have as many channels."""
        if self._apart is None:
            if not self._count:
                raise DamagedFileError(f"{name} holds no cases")
            self._resize(self._count)
            return Cases(self._whole, labels)
        features = {values.shape[1] for values in self._apart}
        if len(features) > 1:
            raise DamagedFileError(
                f"{name}: cases have {min(features)} to {max(features)} channels"
            )
        return Cases(self._apart, labels)

    def _resize(self, cases: int) -> None:
        """Make room for so many, in place where the system can."""
        self._whole.resize((cases, *self._whole.shape[1:]), refcheck=False)


def stacked(series: list[np.ndarray]) -> SeriesArrays:
    """One array (cases, time, features) where all series are of equal length, else the list."""
    return np.stack(series) if len({len(values) for values in series}) == 1 else series


def parse_tsv(content: Content, name: str) -> Cases:
    """Parse UCR's format: a case per line, its label first, tab separated, no header.

    The archive pads short series with NaN at the end; the padding is cut off.
    """
    series, labels, width = _Gathered(), [], 0
    for number, line in _lines(content, name):
        label, tab, rest = line.partition("\t")
        where, count = f"{name}, line {number}", rest.count("\t") + 1 if tab else 0
        if not count or (width and count != width):
            expected = f"{width} values" if width else "values"
            raise DamagedFileError(
                f"{where}: expected a label and {expected}, tab separated, got {count} values"
            )
        width = count
        values = _numbers(rest, "\t", where)
        present = np.flatnonzero(~np.isnan(values))
        if present.size == 0:
            raise DamagedFileError(f"{where}: no value is present")
        series.add(values[: present[-1] + 1, None])
        labels.append(label.strip())
    return series.cases(labels, name)


def _header(lines: Iterator[tuple[int, str]], name: str) -> dict[str, list[str]]:
    """Declarations up to ``@data``, keys in lower case."""
    header: dict[str, list[str]] = {}
    for number, line in lines:
        if line.startswith("#"):
            continue
        if not line.startswith("@"):
            raise DamagedFileError(
                f"{name}, line {number}: expected a line that begins with # or @"
            )
        key, *values = line[1:].split() or [""]
        if not key:
            raise DamagedFileError(f"{name}, line {number}: expected a name after @, got none")
        if key.lower() == "data":
            return header
        header[key.lower()] = values
    raise DamagedFileError(f"{name} has no @data line")


def _dimensions(header: dict[str, list[str]], name: str) -> int | None:
    """Channels that the header declares; None where it does not."""
    declared = header.get("dimensions")
    if not declared:
        return None
    if not re.fullmatch("[0-9]{1,9}", declared[0]):
        raise DamagedFileError(f"{name}: @dimensions is {declared[0][:40]!r}, expected a number")
    return int(declared[0])


def parse_ts(content: Content, name: str) -> Cases:
    """Parse aeon's format: a header, then a case per line, ``channel:channel:...:label``.

    Values are separated by commas; ``?`` and NaN are missing values. Whether series are of equal
    length is taken from the data, as some headers are wrong (Blink's is); labels and dimensions
    must be as declared. With ``@targetLabel true``, labels are numbers to predict.
    """
    lines = _lines(content, name)
    header = _header(lines, name)
    if (header.get("timestamps") or ["false"])[0].lower() == "true":
        raise ValueError(f"{name}: series with timestamps are not supported")
    declared = header.get("classlabel", ["false"]) or ["false"]
    is_target = (header.get("targetlabel") or ["false"])[0].lower() == "true"
    if declared[0].lower() != "true" and not is_target:
        raise ValueError(f"{name}: expected @classLabel true or @targetLabel true, got neither")
    known = set(declared[1:])
    dimensions = _dimensions(header, name)
    series, labels = _Gathered(), []
    for number, line in lines:
        where = f"{name}, line {number}"
        *channels, label = line.split(":")
        label = label.strip()
        if not channels or (known and label not in known):
            raise DamagedFileError(f"{where}: label {label[:40]!r} is none of {sorted(known)}")
        values = [_numbers(channel, ",", where) for channel in channels]
        sizes = [channel.size for channel in values]
        if len(set(sizes)) > 1:
            raise DamagedFileError(f"{where}: channels of one case differ in length: {sizes}")
        if dimensions is not None and len(values) != dimensions:
            raise DamagedFileError(
                f"{where}: {len(values)} channels where @dimensions says {dimensions}"
            )
        series.add(np.stack(values, axis=1))
        labels.append(label)
    return series.cases(labels, name)._replace(is_target=is_target)


def labels_array(*files: list[str]) -> list[np.ndarray]:
    """Labels of several files as arrays of one type: whole numbers if all are, else strings.

    Whole numbers are those of `whole_numbers`: 1, 1.0 and 1e0 are one label, 1 and 01 are two.
    """
    numbers = whole_numbers(label for labels in files for label in labels)
    if numbers is None:
        return [np.array(labels) for labels in files]
    ends = np.cumsum([len(labels) for labels in files])[:-1]
    return np.split(np.array(numbers, np.int64), ends)

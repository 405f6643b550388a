"""Parse the formats of the archives: UCR's ``.tsv`` and aeon's ``.ts``.

Parsers take the content of a file and its name, for errors, and return arrays. A series is an array
(time, features).
"""

import io
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from paralesn.files import DamagedFileError
from paralesn.tables.labels import whole_numbers
from paralesn.tables.numerals import plain_numbers

SeriesArrays = np.ndarray | list[np.ndarray]


class Cases(NamedTuple):
    """Series (cases, time, features), a list of (time_i, features) if ragged, and raw labels.

    `is_target` says that the file declares labels to be numbers, not classes.
    """

    series: SeriesArrays
    labels: list[str]
    is_target: bool = False


def _lines(content: bytes, name: str) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank."""
    try:
        for number, raw in enumerate(io.BytesIO(content), start=1):
            if line := raw.decode("utf-8").strip("\r\n "):
                yield number, line
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"{name} is not a text file: {error}") from error


def _numbers(texts: list[str], where: str) -> np.ndarray:
    """Values of one channel; ``?`` is a missing value."""
    try:
        values = plain_numbers(texts)
    except ValueError:
        try:
            values = plain_numbers(["nan" if text.strip() == "?" else text for text in texts])
        except ValueError as error:
            raise DamagedFileError(f"{where}: {error}") from error
    return np.array(values)


def _as_cases(series: list[np.ndarray], labels: list[str], name: str) -> Cases:
    """Check the series, and stack those of equal length."""
    if not series:
        raise DamagedFileError(f"{name} holds no cases")
    features = {values.shape[1] for values in series}
    if len(features) > 1:
        raise DamagedFileError(f"{name}: cases have {min(features)} to {max(features)} channels")
    return Cases(stacked(series), labels)


def stacked(series: list[np.ndarray]) -> SeriesArrays:
    """One array (cases, time, features) where all series are of equal length, else the list."""
    return np.stack(series) if len({len(values) for values in series}) == 1 else series


def parse_tsv(content: bytes, name: str) -> Cases:
    """Parse UCR's format: a case per line, its label first, tab separated, no header.

    The archive pads short series with NaN at the end; the padding is cut off.
    """
    series, labels, width = [], [], 0
    for number, line in _lines(content, name):
        label, *rest = line.split("\t")
        where = f"{name}, line {number}"
        if not rest or (width and len(rest) != width):
            expected = f"{width} values" if width else "values"
            raise DamagedFileError(
                f"{where}: expected a label and {expected}, tab separated, got {len(rest)} values"
            )
        width = len(rest)
        values = _numbers(rest, where)
        present = np.flatnonzero(~np.isnan(values))
        if present.size == 0:
            raise DamagedFileError(f"{where}: no value is present")
        series.append(values[: present[-1] + 1, None])
        labels.append(label.strip())
    return _as_cases(series, labels, name)


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


def parse_ts(content: bytes, name: str) -> Cases:
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
    series, labels = [], []
    for number, line in lines:
        where = f"{name}, line {number}"
        *channels, label = line.split(":")
        label = label.strip()
        if not channels or (known and label not in known):
            raise DamagedFileError(f"{where}: label {label[:40]!r} is none of {sorted(known)}")
        values = [_numbers(channel.split(","), where) for channel in channels]
        sizes = [channel.size for channel in values]
        if len(set(sizes)) > 1:
            raise DamagedFileError(f"{where}: channels of one case differ in length: {sizes}")
        if dimensions is not None and len(values) != dimensions:
            raise DamagedFileError(
                f"{where}: {len(values)} channels where @dimensions says {dimensions}"
            )
        series.append(np.stack(values, axis=1))
        labels.append(label)
    return _as_cases(series, labels, name)._replace(is_target=is_target)


def labels_array(*files: list[str]) -> list[np.ndarray]:
    """Labels of several files as arrays of one type: whole numbers if all are, else strings.

    Whole numbers are those of `whole_numbers`: 1, 1.0 and 1e0 are one label, 1 and 01 are two.
    """
    numbers = whole_numbers(label for labels in files for label in labels)
    if numbers is None:
        return [np.array(labels) for labels in files]
    ends = np.cumsum([len(labels) for labels in files])[:-1]
    return np.split(np.array(numbers, np.int64), ends)

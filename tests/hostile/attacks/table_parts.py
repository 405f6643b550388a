"""Labels, names, numbers and dates on their own: what differs stays different, and reads back."""

import csv
import io
import re
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from hostile import table_files as files
from paralesn.estimators.forecaster.estimator import SmootherBank
from paralesn.files import DamagedFileError
from paralesn.tables.cases import as_classes, read_cases
from paralesn.tables.errors import TableError
from paralesn.tables.formats import labels_array
from paralesn.tables.formulas import unescaped
from paralesn.tables.numerals import plain_numbers
from paralesn.tables.writer import save_columns, write_columns

CASES = 120
LABELS = [
    "1", "1.0", "01", "+1", "1e0", "1_0", "10", "True", "9007199254740992", "9007199254740993", "1e30",
    "2e30", "-1", "0", "-0", "a", "A", "=1", "-", "+", "'=1", "1.5", "\uff11", "nil", "[/x]", "é",
]  # fmt: skip
_CASES = st.fixed_dictionaries({
    "what": st.just("cases"),
    "format": st.sampled_from(["tsv", "ts", "csv", "csv"]),
    "labels": st.lists(st.sampled_from(LABELS), min_size=1, max_size=8),
    "names": st.lists(st.sampled_from([*LABELS, "x y", "x/y"]), min_size=8, max_size=8, unique=True),
    "lengths": st.lists(st.integers(1, 4), min_size=8, max_size=8),
    "damage": st.one_of(st.just([]), st.just([]), files.DAMAGE),
})  # fmt: skip
_COLUMNS = st.fixed_dictionaries({
    "what": st.just("columns"),
    "names": st.lists(st.text("ab=+-@'\t\r\n,;\"1. \uff1d\x1b", max_size=5), min_size=1, max_size=4,
                      unique=True),
    "cells": st.lists(st.one_of(st.text("a=+-@'\t\r\n,\"1.", max_size=4), st.integers(-9, 9),
                                st.floats(allow_nan=False)), min_size=1, max_size=4),
})  # fmt: skip
_NUMBERS = st.fixed_dictionaries({
    "what": st.just("numbers"),
    "texts": st.lists(st.one_of(
        st.text("0123456789.eE+-_ ", max_size=6),
        st.sampled_from(["nan", "inf", "-Infinity", "\u0661", "1_0", "0x1", "", " 1 ", "1e999", "٣"]),
    ), min_size=1, max_size=3),
})  # fmt: skip
_FRAMES = st.fixed_dictionaries({
    "what": st.just("frames"),
    "library": st.sampled_from(["pandas index", "pandas", "polars"]),
    "unit": st.sampled_from(["s", "ms", "us", "ns"]),
    "year": st.one_of(st.integers(1950, 2030), st.integers(1670, 2265), st.sampled_from([1, 9990])),
    "day": st.integers(0, 364),
    "step": st.sampled_from(["day", "hour", "week", "month", "month end", "year"]),
    "rows": st.integers(12, 40),
})  # fmt: skip
RECIPES = st.one_of(_CASES, _CASES, _COLUMNS, _NUMBERS, _FRAMES)
FIRST, BEYOND = datetime(1678, 1, 1), datetime(2262, 4, 11)


def attack(recipe: dict[str, Any], folder: Path) -> str:
    kinds = {"cases": _cases, "columns": _columns, "numbers": _numbers, "frames": _frames}
    return kinds[recipe["what"]](recipe, folder)


# -- cases -----------------------------------------------------------------------------------------


def _key(label: str) -> Any:
    """What a whole number is, by exact arithmetic; None for other text."""
    if re.fullmatch(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?", label):
        number = Fraction(label)
        if number.denominator == 1 and abs(number) < 2**63:
            return number
    return None


def _distinct(labels: list[str]) -> list[Any]:
    keys = [_key(label) for label in labels]
    return list(labels) if None in keys else keys


def _cases(recipe: dict[str, Any], folder: Path) -> str:
    labels = recipe["labels"]
    names = recipe["names"][: len(labels)]
    series = [[float(k * 10 + t) for t in range(recipe["lengths"][k])] for k in range(len(labels))]
    path = _write_cases(recipe, folder, names, series)
    found, error = files.tried((TableError, DamagedFileError), read_cases, path)
    if found is None:
        is_twice = len(set(_distinct(names))) < len(names)
        assert recipe["damage"] or recipe["format"] == "tsv" or is_twice, error
        return "refused"
    if recipe["damage"]:
        return "held"
    assert [np.ravel(one).tolist() for one in found.series] == series
    assert found.labels is not None
    assert [_distinct(found.labels).index(k) for k in _distinct(found.labels)] == [
        _distinct(labels).index(k) for k in _distinct(labels)
    ]
    classes = np.unique(labels_array(found.labels)[0])
    assert classes.size == len(set(_distinct(labels)))
    typed = as_classes(found.labels, classes).tolist()
    assert set(typed) == set(classes.tolist())
    if recipe["format"] == "csv":
        assert _distinct(found.names) == _distinct(names)
        columns = {"case": found.names, "time": [0] * len(names), "value": [1] * len(names)}
        save_columns(folder / "again.csv", columns | {"label": found.labels})
        again = read_cases(folder / "again.csv")
        assert (again.names, again.labels) == (found.names, found.labels)
    return "held"


def _write_cases(
    recipe: dict[str, Any], folder: Path, names: list[str], series: list[list[float]]
) -> Path:
    labels, file = recipe["labels"], io.StringIO(newline="")
    path = folder / f"cases.{recipe['format']}"
    if recipe["format"] == "csv":
        write_columns(file, {
            "case": [name for name, own in zip(names, series, strict=True) for _ in own],
            "time": [t for own in series for t in range(len(own))],
            "value": [value for own in series for value in own],
            "label": [label for label, own in zip(labels, series, strict=True) for _ in own],
        })  # fmt: skip
    elif recipe["format"] == "ts":
        file.write(f"@problemName x\n@classLabel true {' '.join(dict.fromkeys(labels))}\n@data\n")
        file.writelines(f"{','.join(map(repr, own))}:{label}\n"
                        for label, own in zip(labels, series, strict=True))  # fmt: skip
    else:
        widest = max(map(len, series))
        file.writelines("\t".join([label, *map(repr, own), *["NaN"] * (widest - len(own))]) + "\n"
                        for label, own in zip(labels, series, strict=True))  # fmt: skip
    path.write_bytes(files.damaged(file.getvalue().encode(), recipe["damage"]))
    return path


# -- smaller parts ---------------------------------------------------------------------------------


def _columns(recipe: dict[str, Any], folder: Path) -> str:
    names, cells = recipe["names"], recipe["cells"]
    file = io.StringIO(newline="")
    write_columns(file, dict.fromkeys(names, cells))
    rows = list(csv.reader(io.StringIO(file.getvalue(), newline="")))
    head = rows[0] or [""]
    assert unescaped(head) == names
    for row in rows:
        for cell in row:
            is_number = re.fullmatch(r"[+-]?[0-9., ]*[0-9.]+(e[+-]?[0-9]+)?|-inf", cell)
            assert len(cell) < 2 or cell[0] not in "=+-@\t\r\n\uff1d" or is_number, cell
    for cell, row in zip(cells, rows[1:], strict=True):
        for text in row:
            assert (
                text[1:] == cell or text == cell if isinstance(cell, str) else float(text) == cell
            )
    return "held"


def _numbers(recipe: dict[str, Any], folder: Path) -> str:
    pattern = (
        r"\s*(?:[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity))\s*"
    )
    right = all(re.fullmatch(pattern, text, re.ASCII | re.IGNORECASE) for text in recipe["texts"])
    numbers, _ = files.tried(ValueError, plain_numbers, recipe["texts"])
    if numbers is None:
        assert not right
        return "refused"
    assert right
    assert repr(numbers) == repr([float(text) for text in recipe["texts"]])
    return "held"


def _frames(recipe: dict[str, Any], folder: Path) -> str:
    rows = recipe["rows"]
    every = files.times_after(files.first_time(recipe), recipe["step"], rows + 2)
    if every is None or (
        recipe["unit"] == "ns" and not FIRST <= every[0] <= every[rows - 1] < BEYOND
    ):
        return "refused"  # there is no such frame
    times = np.array(every, "M8[us]").astype(f"M8[{recipe['unit']}]")
    model, frame = SmootherBank(horizon=2, season=1), _frame(recipe, times[:rows])
    found, error = files.tried(ValueError, lambda: model.fit(frame).forecast(2))
    if found is None:
        assert "2261-12-31" in str(error) or "go beyond" in str(error), error
        assert every[0] < FIRST or every[-1] >= datetime(2262, 1, 1)
        return "refused"
    ahead = found.index if recipe["library"] == "pandas index" else found["ds"]
    got = np.array(list(ahead), "M8[us]").tolist()
    assert got == every[rows:], (got, every[rows:])
    return "held"


def _frame(recipe: dict[str, Any], times: np.ndarray) -> Any:
    y = np.sin(np.arange(len(times)) / 3)
    if recipe["library"] == "polars":
        import polars as pl

        unit = "us" if recipe["unit"] == "s" else recipe["unit"]
        return pl.DataFrame({"unique_id": "a", "ds": times.astype(f"M8[{unit}]"), "y": y})
    import pandas as pd

    if recipe["library"] == "pandas":
        return pd.DataFrame({"unique_id": "a", "ds": times, "y": y})
    return pd.DataFrame({"y": y}, index=pd.DatetimeIndex(times))

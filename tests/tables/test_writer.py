"""CSV files that we write: nothing is a formula, and everything reads back."""

import csv
import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paralesn.paper.table import Column, Entry, Line, Number, Table, as_csv
from paralesn.tables.cases import read_cases
from paralesn.tables.formulas import escaped, unescaped
from paralesn.tables.observations import read_observations
from paralesn.tables.writer import save_columns, write_columns

FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-x",
    "@SUM(A1)",
    "\t=1",
    "=",
    "-",
    "\uff1d1",
    "'=1",
    "''@x",
]


@pytest.mark.parametrize(
    "text", ["-3", "-3.5e-7", "+1", "-1.234,5", "=", "+", "a=b", "'n Sync", ""]
)
def test_numbers_and_other_text_stay_as_they_are(text):
    assert escaped(text) == text


@pytest.mark.parametrize(
    "text", ["=1+1", "@x", "-x", "+x", "\t=1", "\r=1", "-1-2", "=1\n", "\uff1dx"]
)
def test_formulas_are_text(text):
    assert escaped(text) == "'" + text


@given(st.lists(st.text("'=+-@\t1.ax\uff1d"), unique=True, max_size=4))
def test_nothing_is_lost(texts):
    written = [escaped(text) for text in texts]
    assert len(set(written)) == len(texts)
    assert unescaped(written) == texts


def test_names_and_labels_are_escaped_and_numbers_are_not():
    file = io.StringIO()
    write_columns(file, {"=y": [-3.5, 1], "-3": ["@a", "-7"]})
    assert file.getvalue() == "'=y,-3\n-3.5,'@a\n1,-7\n"
    table = pd.read_csv(io.StringIO(file.getvalue()))
    pattern = r"^'(?='*[-=+@])"  # as the module says
    assert table.columns.str.replace(pattern, "", regex=True).tolist() == ["=y", "-3"]
    assert table["-3"].str.replace(pattern, "", regex=True).tolist() == ["@a", "-7"]


def test_columns_are_read_under_their_names(tmp_path):
    names = [f"{text}{k}" for k, text in enumerate(FORMULAS)]
    days = [f"2024-01-0{day}" for day in range(1, 6)]
    save_columns(tmp_path / "data.csv", {"day": days} | {name: [1, -2, 3, 4, 5] for name in names})
    found = read_observations(tmp_path / "data.csv", names)
    assert found.y[1].tolist() == [-2] * len(names)
    assert any(note.startswith("apostrophes that keep spreadsheets") for note in found.notes)
    again = read_observations(tmp_path / "data.csv", reading=found.reading)
    assert again.targets == found.targets


def test_labels_are_read_as_they_were(tmp_path):
    labels = [text.strip() for text in FORMULAS if text != "\t=1"]
    columns = {"case": [f"@{k}" for k in range(len(labels))], "time": [0] * len(labels)}
    save_columns(tmp_path / "c.csv", columns | {"value": [1] * len(labels), "label": labels})
    cases = read_cases(tmp_path / "c.csv")
    assert (cases.names, cases.labels) == (columns["case"], labels)


def test_a_carriage_return_is_no_line_end(tmp_path):
    columns = {"case": ["a\rb", "c"], "time": [0, 0], "value": [1.5, -2], "label": ["x\r\ny", "z"]}
    save_columns(tmp_path / "c.csv", columns)
    cases = read_cases(tmp_path / "c.csv")
    assert (cases.names, cases.labels) == (columns["case"], columns["label"])


def test_tables_of_the_paper_hold_no_formulas():
    table = Table("t", "T", "model", [Column("=a")], [Line("@m", [Entry(Number(-1.5))]),
                                                      Line("n", [Entry("-x")])])  # fmt: skip
    assert list(csv.reader(io.StringIO(as_csv(table)))) == [
        ["model", "'=a"], ["'@m", "-1.5"], ["n", "'-x"],
    ]  # fmt: skip

"""Labels and names of cases and series: what is different stays different."""

import numpy as np
import pytest

from paralesn.files import DamagedFileError
from paralesn.tables.case_targets import recognise_numbers, target_numbers
from paralesn.tables.cases import CaseColumns, LabelledCases, as_classes, read_cases
from paralesn.tables.errors import TableError
from paralesn.tables.file_panel import read_panel
from paralesn.tables.formats import labels_array, parse_ts, parse_tsv

DIFFERENT = [
    ["9007199254740992", "9007199254740993"],
    ["1e30", "2e30"],
    ["9223372036854775807", "9223372036854775808"],
    ["1", "01"],
    ["10", "1_0"],
    ["1", "True"],
    ["1", "\uff11"],
    ["0.1", "0.10"],
    ["1", "1.0000000000000000000000000000000000000001"],
]
SAME = [["1", "1.0", "1e0", "+1"], ["0", "-0"], ["9007199254740993", "9007199254740993.0"]]


@pytest.mark.parametrize("labels", DIFFERENT, ids=str)
def test_labels_that_differ_are_different_classes(labels):
    assert np.unique(labels_array(labels)[0]).size == len(labels)
    together = labels_array(*([label] for label in labels))
    assert np.unique(np.concatenate(together)).size == len(labels)
    classes = np.unique(labels_array(labels)[0])
    assert len(set(as_classes(labels, classes).tolist())) == len(labels)


@pytest.mark.parametrize("labels", SAME, ids=str)
def test_whole_numbers_are_one_class_in_any_notation(labels):
    assert np.unique(labels_array(labels)[0]).tolist() == [int(labels[0])]


@pytest.mark.parametrize("labels", DIFFERENT, ids=str)
@pytest.mark.parametrize("role", ["case", "label"])
def test_a_long_table_keeps_names_and_labels_apart(write, labels, role):
    names = labels if role == "case" else [f"c{k}" for k in range(len(labels))]
    rows = [
        f"{n},{t},{t},{label}\n" for n, label in zip(names, labels, strict=True) for t in (0, 1)
    ]
    cases = read_cases(write("case,time,value,label\n" + "".join(rows)))
    assert cases.names == names
    assert cases.labels == labels
    assert [len(series) for series in cases.series] == [2] * len(labels)


def test_labels_of_a_column_that_pandas_would_read_as_floats(write):
    rows = ["a,0,1,9007199254740993", "b,0,1,9007199254740992", "c,0,1,0.5"]
    cases = read_cases(write("case,time,value,label\n" + "\n".join(rows) + "\n"))
    assert cases.labels == ["9007199254740993", "9007199254740992", "0.5"]


@pytest.mark.parametrize("names", DIFFERENT, ids=str)
def test_series_of_a_panel_are_kept_apart(write, names):
    rows = [f"{name},2024-01-0{day},{day}\n" for name in names for day in (1, 2, 3)]
    panel = read_panel(write("id,day,y\n" + "".join(rows)), ["id"])
    assert panel.names == tuple(names)


def test_names_with_a_point_are_those_without(write):
    rows = [f"{name}.0,2024-01-0{day},{day}\n" for name in (1, 2) for day in (1, 2, 3)]
    assert read_panel(write("id,day,y\n" + "".join(rows)), ["id"]).names == ("1", "2")


def test_cells_of_other_types_are_kept_apart(tmp_path):
    pd, path = pytest.importorskip("pandas"), tmp_path / "cases.xlsx"
    pytest.importorskip("openpyxl")
    table = pd.DataFrame(
        {"case": ["a", "b", "c"], "time": 0, "value": 1.5, "label": [1, "01", "1.0"]}
    )
    table.to_excel(path, index=False)
    assert read_cases(path, CaseColumns()).labels == ["1", "01", "1.0"]


def test_a_label_with_a_fraction_is_not_the_class_without():
    assert as_classes(["1.7", "2.0", "1_0"], np.array([1, 2, 10])).tolist() == ["1.7", 2, "1_0"]
    assert as_classes(["1e0"], np.array(["1", "1.0"])).tolist() == ["1e0"]


@pytest.mark.parametrize("label", ["1_0", "\uff11"])
def test_only_numbers_are_numbers_to_predict(label):
    labels = [str(k / 8) for k in range(20)]
    cases = LabelledCases(np.zeros((21, 2, 1)), [*map(str, range(21))], [*labels, label])
    assert not recognise_numbers(cases).is_number
    with pytest.raises(TableError, match="expected a number to predict"):
        target_numbers(cases.labels, cases.names)


@pytest.mark.parametrize("value", ["1_0", "\uff11"])
def test_values_of_archives_are_written_as_numbers(value):
    with pytest.raises(DamagedFileError, match="line 1: could not convert"):
        parse_tsv(f"a\t1\t{value}\n".encode(), "x.tsv")
    with pytest.raises(DamagedFileError, match="line 3: could not convert"):
        parse_ts(f"@classLabel true a\n@data\n1,{value}:a\n".encode(), "x.ts")


def test_headers_that_say_nothing():
    with pytest.raises(DamagedFileError, match=r"x\.ts, line 1: expected a name after @, got none"):
        parse_ts(b"@\n@data\n", "x.ts")
    for count in ("two", "1_0", "9" * 5000):
        header = f"@classLabel true a\n@dimensions {count}\n@data\n1:a\n"
        with pytest.raises(DamagedFileError, match=r"@dimensions is .* expected a number"):
            parse_ts(header.encode(), "x.ts")

"""Series to classify, out of files."""

import numpy as np
import pytest

from paralesn.tables.cases import CaseColumns, as_classes, read_cases
from paralesn.tables.reader import TableError


def test_a_long_table(write):
    text = "case,time,value,label\nb,1,3,x\na,2,20,y\na,1,10,y\nb,2,4,x\n"
    found = read_cases(write(text))
    assert found.names == ["b", "a"]
    assert found.labels == ["x", "y"]
    np.testing.assert_array_equal(found.series, [[[3], [4]], [[10], [20]]])


def test_channels_and_lengths(write):
    text = "id,t,x,y\n1,2020-01-01,1,2\n1,2020-01-02,3,4\n2,2020-01-01,5,6\n"
    found = read_cases(write(text), CaseColumns("id", "t", ("x", "y")))
    assert found.labels is None
    assert [one.tolist() for one in found.series] == [[[1, 2], [3, 4]], [[5, 6]]]


def test_archive_files(write):
    tsv = read_cases(write("1\t0.5\t0.6\n2\t0.7\t0.8\n", "x_TRAIN.tsv"))
    ts = read_cases(
        write("@univariate true\n@classLabel true 1 2\n@data\n0.5,0.6:1\n0.7,0.8:2\n", "x.ts")
    )
    assert tsv.labels == ts.labels == ["1", "2"]
    np.testing.assert_array_equal(tsv.series, ts.series)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("case,when,value\n1,1,1\n", r"no column 'time' \(`time`\); its columns: case, when, value"),
        ("case,time,value,label\n1,1,1,a\n1,2,1,b\n", "line 3: the label .* is 'b', expected one"),
        ("case,time,value,label\n1,1,1,a\n1,2,1,\n", "line 3: the label .* is missing"),
        ("case,time,value\n1,1,1\n1,1,2\n", "line 3: case '1' has this time already"),
        ("case,time,value\n1,1,1\n,2,2\n", r"line 3: the case \('case'\) is missing"),
        ("case,time,value\n1,1,1\n1,2,\n", "1 of 1 cases have missing .*; `missing='interpolate'` fills"),
        ("case,time,value\n1,1,x\n", "line 2: column 'value' is 'x'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(write, text, words):
    with pytest.raises(TableError, match=words):
        read_cases(write(text))


def test_damaged_archive_files_are_tables_that_cannot_be_used(write):
    with pytest.raises(TableError, match=r"x.tsv, line 2"):
        read_cases(write("1\t0.5\t0.6\n2\t0.7\n", "x.tsv"))


def test_missing_values_are_interpolated_if_asked(write):
    text = "case,time,value\n1,1,1\n1,2,\n1,3,3\n2,1,5\n2,2,6\n2,3,7\n"
    found = read_cases(write(text), missing="interpolate")
    np.testing.assert_array_equal(found.series[0].ravel(), [1, 2, 3])
    np.testing.assert_array_equal(found.series[1].ravel(), [5, 6, 7])


def test_labels_in_the_type_of_the_classes():
    assert as_classes(["1", "2.0", "7"], np.array([1, 2])).tolist() == [1, 2, "7"]
    assert as_classes(["a", "b"], np.array(["a", "c"])).tolist() == ["a", "b"]


def test_missing_values_are_never_kept(write):
    with pytest.raises(TableError, match="`missing='interpolate'` fills"):
        read_cases(write("case,time,value\n1,1,1\n1,2,\n"), missing="keep")


def test_how_a_long_table_was_read_is_told_and_kept(write):
    text = "Wer;wann;Wert;Art;mehr\nA ;1;1,5; x ;0\nA;2;2,5;x;0\nB;1;3,5;ü & <b>;0\n"
    columns = CaseColumns("Wer", "wann", ("Wert",), "Art")
    found = read_cases(write(text), columns)
    assert found.names == ["A", "B"]  # blanks at the ends make no case and no class
    assert found.labels == ["x", "ü & <b>"]
    assert [one.ravel().tolist() for one in found.series] == [[1.5, 2.5], [3.5]]
    assert found.columns == columns
    assert (found.reading.sep, found.reading.decimal) == (";", ",")
    notes = "; ".join(found.notes)
    assert "columns are separated by ';'" in notes
    assert "column not used: 'mehr'" in notes
    swapped = "Art;Wert;wann;Wer\nx;1,250;1;C\nx;2,250;2;C\n"
    again = read_cases(write(swapped, "new.csv"), found.columns, reading=found.reading)
    assert again.series.ravel().tolist() == [1.25, 2.25]


def test_a_column_has_one_role(write):
    with pytest.raises(TableError, match="'value' is given twice among `case`, `time`, `values`"):
        read_cases(write("case,time,value\n1,1,1\n"), CaseColumns(label="value"))
    with pytest.raises(TableError, match=r"has 2 columns named 'label'"):
        read_cases(write("case,time,value,label,label\n1,1,1,a,a\n"))


def test_filled_values_and_unknown_labels_are_told(write):
    found = read_cases(
        write("case,time,value\n1,1,1\n1,2,\n1,3,3\n2,1,5\n2,2,6\n"), missing="interpolate"
    )
    assert "1 value of 1 case missing: interpolated" in found.notes
    assert "no column 'label' (`label`): labels are not known" in found.notes

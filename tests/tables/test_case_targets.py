"""Labels: classes, or numbers to predict."""

import os
from pathlib import Path

import numpy as np
import pytest

import needs
from paralesn.tables.case_targets import recognise_numbers, target_numbers
from paralesn.tables.cases import LabelledCases, read_cases
from paralesn.tables.errors import TableError


def cases(labels, **more):
    names = [f"c{k}" for k in range(len(labels))]
    return LabelledCases(np.zeros((len(labels), 2, 1)), names, labels, **more)


@pytest.mark.parametrize(
    ("labels", "is_number", "words"),
    [
        (["a", "b"] * 20, False, None),
        ([str(k % 12) for k in range(60)], False, None),  # a dozen classes
        ([str(k) for k in range(60)], True, "60 different numbers, for 60 cases"),
        ([str(k / 8) for k in range(60)], True, "60 different numbers, not all of them whole"),
        ([f"{k / 8:.3f}".replace(".", ",") for k in range(60)], True, "not all of them whole"),
        (["0.5", "1.5", "2.5"] * 9, False, "3 different numbers: taken as classes"),
        ([str(k / 8) for k in range(20)] + ["none"], False, None),
        ([str(k / 8) for k in range(20)] + ["inf"], False, None),
    ],
)
def test_numbers_are_recognised_by_a_rule(labels, is_number, words):
    found = recognise_numbers(cases(labels))
    assert found.is_number is is_number
    assert (found.note is None) if words is None else (words in found.note)


def test_what_a_file_declares_counts(write):
    text = "@problemName x\n@timestamps false\n@targetLabel true\n@data\n1,2,3:0.5\n2,3,4:0.25\n"
    found = read_cases(write(text, "x.ts"))
    assert recognise_numbers(found).is_number
    assert target_numbers(found.labels, found.names).tolist() == [0.5, 0.25]
    with pytest.raises(TableError, match="expected @classLabel true or @targetLabel true"):
        read_cases(write("@classLabel false\n@data\n1,2:0\n", "y.ts"))


def test_numbers_in_any_notation_and_the_case_without_one():
    assert target_numbers(["1,5", "2"], ["a", "b"]).tolist() == [1.5, 2.0]
    assert target_numbers(["1.5", "1e3"], ["a", "b"]).tolist() == [1.5, 1000.0]
    with pytest.raises(TableError, match="label of case b is 'high', expected a number"):
        target_numbers(["1", "high"], ["a", "b"])
    with pytest.raises(TableError, match="label of case b is 'nan'"):
        target_numbers(["1", "nan"], ["a", "b"])


@needs.real_files
def test_classes_of_the_archive_are_classes():
    files = sorted(Path(os.environ["PARALESN_DATA"]).glob("UCR/*/*_TRAIN.tsv.xz"))
    if not files:
        pytest.skip("PARALESN_DATA has no folder UCR")
    assert [file.name for file in files if recognise_numbers(read_cases(file)).is_number] == []

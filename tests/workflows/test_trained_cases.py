"""What a saved model of cases remembers of its file."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.tables.cases import CaseColumns
from paralesn.tables.errors import TableError
from paralesn.tables.reading import Reading
from paralesn.workflows.case_result import CaseRequest
from paralesn.workflows.classify import classify_files
from paralesn.workflows.predict import PredictionRequest, predict_file
from paralesn.workflows.trained_cases import (
    CaseTraining,
    load_case_training,
    read_newer_cases,
    save_cases_model,
)

COLUMNS = CaseColumns("Wer?", "t (s)", ("Wert; mV", "zwei"), "Art")


@pytest.fixture
def table(tmp_path, rng):
    """Waves of two classes with odd names of columns and decimal commas."""
    lines = ['Wer?;t (s);"Wert; mV";zwei;Art']
    for case in range(12):
        wave = np.sin(np.arange(40) / (5 if case % 2 else 8) + rng.uniform(0, 6))
        for t, value in enumerate(wave):
            text = f"{value:.5f}".replace(".", ",")
            lines.append(f"c{case};{t};{text};{text};{'müde & <b>' if case % 2 else 'wach'}")
    (tmp_path / "train.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "train.csv"


def test_the_record_is_complete():
    training = CaseTraining(COLUMNS, Reading(sep=";", decimal=","), "interpolate")
    assert CaseTraining.from_dict(training.to_dict()) == training


def test_a_newer_file_is_read_as_the_one_of_training(table, tmp_path):
    result = classify_files(table, columns=COLUMNS, request=CaseRequest(repeats=0))
    save_cases_model(result, tmp_path / "model", "interpolate")
    training = load_case_training(tmp_path / "model")
    assert training.columns == COLUMNS
    assert training.missing == "interpolate"
    rows = [line.split(";") for line in table.read_text(encoding="utf-8").splitlines()[1:]]
    order = ['zwei;more;"Wert; mV";t (s);Wer?']
    order += [f"{two};x;{one};{t};{case}" for case, t, one, two, _ in rows[:80]]
    newer = tmp_path / "newer.csv"
    newer.write_text("\n".join(order), encoding="utf-8")
    cases = read_newer_cases(newer, training, {})
    np.testing.assert_array_equal(cases.series, result.train.series[:2])
    assert "column not used: 'more'" in cases.notes
    assert "no column 'Art' (`label`): labels are not known" in cases.notes
    model = pe.load(tmp_path / "model")
    found = predict_file(model, newer, training=training)
    expected = model.predict_proba(result.train.series[:2])
    names = ["case", "predicted", "probability_müde & <b>", "probability_wach"]
    assert list(found.columns) == names
    np.testing.assert_allclose([found.columns[n] for n in names[2:]], expected.T)
    newer.write_text(newer.read_text(encoding="utf-8").replace("zwei", "drei"), encoding="utf-8")
    with pytest.raises(
        TableError, match=r"no column 'zwei' \(`values`\); .*had this name in training"
    ):
        read_newer_cases(newer, training, {})
    renamed = PredictionRequest(columns={"values": ("Wert; mV", "drei")})
    assert predict_file(model, newer, renamed, training=training).columns == found.columns


def test_archive_files_have_no_columns_to_remember(tmp_path, rng):
    lines = ["\t".join([str(k % 2), *map(str, rng.normal(size=30))]) for k in range(6)]
    (tmp_path / "x.tsv").write_text("\n".join(lines))
    result = classify_files(tmp_path / "x.tsv", request=CaseRequest(repeats=0))
    save_cases_model(result, tmp_path / "model")
    assert load_case_training(tmp_path / "model") is None
    pe.save(result.model, tmp_path / "bad", metadata={"cases": {"columns": {}}})
    with pytest.raises(ValueError, match="what it remembers of training is damaged"):
        load_case_training(tmp_path / "bad")

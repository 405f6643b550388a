"""The page of classes or numbers learnt from own series."""

import re

import numpy as np
import pytest

from paralesn.report.confusion_matrix import confusion, elided
from paralesn.report.own_cases import made
from paralesn.report.own_cases_drawn import margins, most_confused, typical, worst
from paralesn.tables.cases import LabelledCases
from paralesn.workflows.case_result import CaseRequest
from paralesn.workflows.classify import classify, regress_cases
from paralesn.workflows.evaluation import ClassEvaluation, NumberEvaluation
from paralesn.workflows.yardsticks import MODEL

REQUEST = CaseRequest(folds=3, repeats=2)


def page_of(result, folder, *names):
    (folder / "report.html").write_text(made(result, *names, words=str.upper), "utf-8")
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def cases(rng):
    labels = [("<i>fast</i>", "slow & steady", "ö")[k % 3] for k in range(18)]
    series = [
        np.sin(np.arange(30 + k % 2) / (4 + k % 3))[:, None]
        + 0.9 * rng.normal(size=(30 + k % 2, 2))
        for k in range(18)
    ]
    return LabelledCases(series, [f"<{k}>" for k in range(18)], labels)


def test_a_page_of_classes(cases, tmp_path):
    page = page_of(classify(cases, request=REQUEST), tmp_path, "<train>.csv")
    for heading in ("Result", "Classes", "Most confused cases", "How it was made"):
        assert re.search(rf"<h2[^>]*>{heading}</h2>", page)
    assert "&lt;train&gt;.csv: 18 cases of 30 to 31 steps and 2 channels." in page
    for wrong in ("<i>", "<train>", "<0>", "slow & steady"):
        assert wrong not in page
    assert page.count('class="cell"') == 9
    assert page.count("<figure") == 2 + 8
    assert "Drawn is the first of 2 channels" in page
    assert "THE MODEL IS " in page  # words are those of the caller
    assert "3-fold cross-validation, 2 times" in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_a_page_of_a_test_file(cases, tmp_path):
    other = cases._replace(
        labels=["new" if k == 4 else label for k, label in enumerate(cases.labels)]
    )
    result = classify(cases, other, request=REQUEST)
    page = page_of(result, tmp_path, "a.csv", "b.csv")
    assert "Evaluation: 18 cases of b.csv" in page
    assert "LABELS THAT WERE NOT LEARNT: NEW." in page
    assert page.count('class="cell"') == 16
    assert "Case &lt;4&gt; is new, taken for" in page


def test_a_page_without_an_evaluation(cases, tmp_path):
    page = page_of(classify(cases, request=CaseRequest(repeats=0)), tmp_path, "a.csv")
    assert "THE MODEL WAS NOT EVALUATED" in page
    assert "Confusion" not in page


def test_a_page_of_numbers(cases, tmp_path, rng):
    numbers = cases._replace(labels=[str(k % 3 + k / 100) for k in range(18)])
    page = page_of(regress_cases(numbers, request=REQUEST), tmp_path, "a.csv")
    for heading in ("Result", "Predictions", "Largest errors", "How it was made"):
        assert re.search(rf"<h2[^>]*>{heading}</h2>", page)
    scatter = page[page.rindex('data-series="cases"') :]
    assert scatter[: scatter.index("</g>")].count('class="pt"') == 18
    assert "Confusion" not in page


def test_squares_tell_their_counts():
    counts = np.array([[8, 2], [0, 0]])
    drawn = confusion("x", ["<a>", "b"], counts)
    assert "&lt;a&gt; taken for b: 2 (20.0% of the row)" in drawn
    shades = re.findall(r'fill-opacity="([\d.]+)"', drawn)
    assert [float(shade) for shade in shades] == pytest.approx([0.73, 0.21, 0, 0], abs=0.01)
    assert "<a>" not in drawn


def test_long_labels_are_cut_and_told_apart():
    assert elided(["x" * 20, "x" * 21, "short"]) == ["x" * 15 + "…", "x" * 15 + "… 2", "short"]


def test_the_most_confused_come_first():
    truth = np.array([0, 0, 1, 2, 0])
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.45, 0.55], [0.3, 0.7], [np.nan, np.nan]])
    answers = np.where(np.isnan(p[:, 0]), np.nan, p.argmax(axis=1).astype(float))[None]
    found = ClassEvaluation(truth, {MODEL: answers}, None, ("a", "b", "new"), 2, p)
    np.testing.assert_allclose(margins(found)[:4], [0.8, -0.6, 0.1, -0.7])
    assert most_confused(found).tolist() == [3, 1, 2, 0]
    assert typical(found, 0) == 0
    assert typical(found, 2) is None
    numbers = NumberEvaluation(np.array([1.0, 2.0, 3.0]), {MODEL: np.array([[1.0, 5.0, 2.0]])})
    assert worst(numbers).tolist() == [1, 2, 0]

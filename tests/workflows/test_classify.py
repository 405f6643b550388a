"""Classification of own data: the command and the workflow are the library's classifier."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import paralesn as pe
from paralesn.cli import app
from paralesn.tables.cases import LabelledCases
from paralesn.tables.errors import TableError
from paralesn.workflows.case_record import as_record, prediction_columns
from paralesn.workflows.case_result import CaseRequest, Classification, SeriesRegression
from paralesn.workflows.classify import classify, classify_files
from paralesn.workflows.classify_report import verdicts
from paralesn.workflows.series_tasks import MAJORITY
from paralesn.workflows.yardsticks import MODEL

pd = pytest.importorskip("pandas")


@pytest.fixture
def waves(tmp_path, rng):
    """Noisy waves of three periods, hard enough for accuracies to differ, as two .tsv files."""
    t, periods, files = np.arange(80), {"1": 5.0, "2": 5.6, "3": 6.2}, {}
    for name, count in (("train", 36), ("test", 60)):
        labels = [str(k % 3 + 1) for k in range(count)]
        series = [
            np.sin(t / periods[label] + rng.uniform(0, 6)) + 1.5 * rng.normal(size=80)
            for label in labels
        ]
        lines = [
            "\t".join([label, *map(repr, values.tolist())])
            for label, values in zip(labels, series, strict=True)
        ]
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines) + "\n")
        files[name] = (np.stack(series), np.array(labels, int), tmp_path / f"{name}.tsv")
    return files


def command(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize("seed", [0, 3])
def test_the_command_is_the_librarys_default_classifier(waves, tmp_path, seed):
    (X, y, train), (X_test, y_test, test) = waves["train"], waves["test"]
    features = pe.FilterBank(seed=seed)
    library = (pe.ReservoirClassifier() if seed == 0 else pe.ReservoirClassifier(features)).fit(
        X, y
    )
    expected = library.predict(X_test)
    out = tmp_path / "out"
    record = command("classify", train, test, "--seed", seed, "--out", out, "--json")
    table = pd.read_csv(out / "predictions.csv")
    assert table["predicted"].tolist() == expected.tolist()
    assert record["test"]["accuracy"] == library.score(X_test, y_test)
    assert 0.34 < record["test"]["accuracy"] < 1  # a task on which classifiers can differ
    again = command("predict", out / "model.safetensors", test, "--json")
    assert [row["predicted"] for row in again["predictions"]] == expected.tolist()
    assert again["accuracy"] == record["test"]["accuracy"]


def test_probabilities_are_those_of_the_library(waves, tmp_path):
    (X, y, train), (X_test, _, test) = waves["train"], waves["test"]
    expected = pe.ReservoirClassifier().fit(X, y).predict_proba(X_test)
    out = tmp_path / "out"
    command("classify", train, test, "--out", out, "--json")
    table = pd.read_csv(out / "predictions.csv")
    names = [f"probability_{label}" for label in (1, 2, 3)]
    np.testing.assert_allclose(table[names], expected, rtol=1e-12)
    again = command("predict", out / "model.safetensors", test, "--json")
    found = [[row[name] for name in names] for row in again["predictions"]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_workflow_gives_models_predictions_and_their_accuracy(waves):
    (_, _, train), (_, y_test, test) = waves["train"], waves["test"]
    result = classify_files(train, test)
    assert result.evaluation.plan is None
    assert result.evaluation.accuracy == np.mean(result.predictions == y_test)
    assert result.evaluation.majority_accuracy == pytest.approx(1 / 3)
    assert result.evaluation.unknown_labels == ()
    assert result.judged is result.test


def test_a_file_alone_is_cross_validated(waves):
    X, y, train = waves["train"]
    result = classify_files(train, request=CaseRequest(folds=4, repeats=2))
    evaluation = result.evaluation
    assert result.predictions is None
    assert evaluation.plan == (4, 2, 4)
    assert 0.34 < evaluation.accuracy < 1
    assert evaluation.accuracy == np.mean(evaluation.answers[MODEL] == y - 1)
    again = classify_files(train, request=CaseRequest(folds=4, repeats=2))
    for method, answers in evaluation.answers.items():
        np.testing.assert_array_equal(again.evaluation.answers[method], answers)
    other = classify_files(train, request=CaseRequest(folds=4, repeats=2, seed=1))
    assert (other.evaluation.answers[MODEL] != evaluation.answers[MODEL]).any()
    columns = prediction_columns(result)
    assert columns["share_right"] == (1 - evaluation.losses(MODEL)).tolist()
    p = np.array([columns[f"probability_{label}"] for label in (1, 2, 3)])
    np.testing.assert_allclose(p.sum(axis=0), 1)
    np.testing.assert_array_equal(
        result.model.predict(X), pe.ReservoirClassifier().fit(X, y).predict(X)
    )
    record = json.loads(json.dumps(as_record(result, "train.tsv"), allow_nan=False))
    assert record["evaluation"]["methods"]["model"]["accuracy"] == evaluation.accuracy
    assert sum(map(sum, record["evaluation"]["confusion"]["counts"])) == 2 * 36


def test_verdicts_are_those_of_the_comparison(waves):
    (_, _, train), (_, _, test) = waves["train"], waves["test"]
    result = classify_files(train, test)
    found, always = result.evaluation, "always answering with the most frequent class"
    against = f"{found.accuracy:.1%} of cases right against 33.3%"
    assert found.comparisons()[0].verdict == "unclear"
    assert verdicts(result)[0] == (
        f"The model is NOT clearly better than {always}: {against}; the difference may be chance."
    )
    sure = {MODEL: found.truth[None].astype(float), MAJORITY: found.answers[MAJORITY]}
    result = replace(result, evaluation=replace(found, answers=sure))
    assert verdicts(result) == [
        f"The model is better than {always}: 100.0% of cases right against 33.3%."
    ]
    never = {MODEL: np.zeros((1, 60)), MAJORITY: found.truth[None].astype(float)}
    result = replace(result, evaluation=replace(found, answers=never))
    worse, unrecognised = verdicts(result)
    assert worse == f"The model is WORSE than {always}: 33.3% of cases right against 100.0%."
    assert unrecognised == "Never recognised: '2', '3'."
    assert verdicts(classify_files(train, request=CaseRequest(repeats=0))) == [
        "The model was not evaluated."
    ]


def test_weights_of_classes_reach_the_classifier(waves):
    X, y, _ = waves["train"]
    keep = (y != 3) | (np.arange(36) < 6)  # two of the third class
    names = [str(k) for k in range(keep.sum())]
    cases = LabelledCases(X[keep][..., None], names, [str(label) for label in y[keep]])
    for given, expected in (("balanced", "balanced"), ({"3": 6.0, "1": 2.0}, {3: 6.0, 1: 2.0})):
        result = classify(cases, request=CaseRequest(given, repeats=0))
        library = pe.ReservoirClassifier(class_weight=expected).fit(X[keep], y[keep])
        np.testing.assert_array_equal(
            result.model.decision_function(X), library.decision_function(X)
        )
    with pytest.raises(TableError, match="`class_weight` names the label '4', expected one of"):
        classify(cases, request=CaseRequest({"4": 1.0}))


def test_a_class_with_one_case_is_learnt_and_not_tested(waves):
    X, y, _ = waves["train"]
    keep = (y != 3) | (np.arange(36) == 2)
    names = [str(k) for k in range(keep.sum())]
    labels = ["only" if label == 3 else f"c{label}" for label in y[keep]]
    result = classify(LabelledCases(X[keep][..., None], names, labels))
    assert "1 class has one case only ('only'): learnt from, not tested" in result.notes
    assert result.evaluation.cases == keep.sum() - 1
    row = labels.index("only")
    columns = prediction_columns(result)
    assert (columns["predicted"][row], columns["share_right"][row]) == ("", "")
    alone = LabelledCases(X[:3][..., None], ["1", "2", "3"], ["a", "b", "c"])
    result = classify(alone)
    assert result.evaluation is None
    assert "the model was not evaluated: every class has one case only" in result.notes
    assert prediction_columns(result) is None


def test_numbers_are_learnt_where_labels_are_numbers(tmp_path, rng):
    t, periods = np.arange(80), rng.uniform(6, 14, 40).round(3)
    X = np.sin(2 * np.pi * t / periods[:, None] + rng.uniform(0, 6, (40, 1)))
    for name, rows in (("train", range(30)), ("test", range(30, 40))):
        lines = ["\t".join(map(repr, [float(periods[k]), *X[k].tolist()])) for k in rows]
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines))
    train, test = tmp_path / "train.tsv", tmp_path / "test.tsv"
    result = classify_files(train, test)
    assert isinstance(result, SeriesRegression)
    assert "taken as numbers to predict" in result.notes[0]
    library = pe.ReservoirSeriesRegressor().fit(X[:30], periods[:30])
    np.testing.assert_array_equal(result.predictions, library.predict(X[30:]))
    scores = result.evaluation.scores()
    assert scores.r2 == pytest.approx(library.score(X[30:], periods[30:]))
    assert scores.r2 > 0.9
    alone = classify_files(train, request=CaseRequest(folds=3, repeats=1))
    assert alone.evaluation.scores().mae < alone.evaluation.scores("mean of the targets").mae
    assert prediction_columns(alone)["predicted"] == alone.evaluation.answers[MODEL][0].tolist()
    assert as_record(alone, "x")["evaluation"]["methods"]["model"]["r2"] > 0.8
    classes = classify_files(train, regress=False, request=CaseRequest(repeats=0))
    assert isinstance(classes, Classification)
    with pytest.raises(TableError, match="`class_weight` weighs classes"):
        classify_files(train, request=CaseRequest("balanced"))


def test_labels_the_model_never_saw_count_as_wrong(waves):
    (X, y, _), (X_test, y_test, _) = waves["train"], waves["test"]
    names = [str(k) for k in range(len(X_test))]
    labels = ["9" if label == 3 else str(label) for label in y_test]
    train = LabelledCases(X[..., None], names[: len(X)], [str(label) for label in y])
    result = classify(train, LabelledCases(X_test[..., None], names, labels))
    assert result.evaluation.unknown_labels == ("9",)
    right = (result.predictions == y_test) & (y_test != 3)
    assert result.evaluation.accuracy == right.mean()
    with pytest.raises(ValueError, match="train must have labels"):
        classify(train._replace(labels=None))


def test_inspect_describes_a_saved_default_classifier(waves, tmp_path):
    out, (_, _, train) = tmp_path / "out", waves["train"]
    command("classify", train, "--out", out, "--json")
    record = command("inspect", out / "model.safetensors", "--json")
    assert record["kind"] == "ReservoirClassifier"
    assert record["learnt"] == {"inputs": 1, "classes": ["1", "2", "3"]}
    (bank,) = [part for part in record.values() if isinstance(part, dict) and "features" in part]
    assert bank["kind"] == "FilterBank"
    assert bank["settings"]["units"] == 2048
    assert bank["features"] == 16384
    assert record["readout"]["kind"] == "DualRidge"
    done = CliRunner().invoke(app, ["inspect", str(out / "model.safetensors"), "--plot", "x.png"])
    assert done.exit_code == 0, done.output
    assert "No picture: there is no drawn reservoir" in done.stdout

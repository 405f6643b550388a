"""Classification of own data: the command and the workflow are the library's classifier."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import paralesn as pe
from paralesn.cli import app
from paralesn.tables.cases import LabelledCases
from paralesn.workflows.classify import classify, classify_files

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


def test_the_workflow_gives_models_predictions_and_their_accuracy(waves):
    (_, _, train), (_, y_test, test) = waves["train"], waves["test"]
    result = classify_files(train, test)
    assert result.evaluation.accuracy == np.mean(result.predictions == y_test)
    assert result.evaluation.majority_accuracy == pytest.approx(1 / 3)
    assert result.evaluation.unknown_labels == ()
    assert classify_files(train).predictions is None


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
    assert bank["settings"]["units"] == 1024
    assert bank["features"] == 1024 * 11
    assert record["readout"]["kind"] == "DualRidge"
    done = CliRunner().invoke(app, ["inspect", str(out / "model.safetensors"), "--plot", "x.png"])
    assert done.exit_code == 0, done.output
    assert "No picture: there is no drawn reservoir" in done.stdout

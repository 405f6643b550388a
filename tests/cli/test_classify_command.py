"""`paralesn classify` on files that people bring: what it prints, writes, remembers and refuses."""

import csv
import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import paralesn as pe
from paralesn.cli import app

pytest.importorskip("pandas")

ODD = ("--case", "Wer?", "--time", "Zeit (s)", "--value", "Wert, mV", "--label", "Diagnose")
LABELS = ("gesund & müde", "<b>krank</b>", "[bold]Ärger")


def call(*arguments, code=0):
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def odd(tmp_path, rng):
    """A long table as a German office writes it: ragged, unbalanced, one class with one case."""
    lines = ["Wer?;Zeit (s);Wert, mV;Gerät;Diagnose"]
    for case in range(21):
        label = "nur einmal" if case == 20 else LABELS[min(case % 5, 2)]
        wave = np.sin(np.arange(40 + case % 3) / (4 + 2 * min(case % 5, 2)) + rng.uniform(0, 6))
        for t, value in enumerate(wave + 0.3 * rng.normal(size=wave.size)):
            lines.append(f"P {case};{t};{f'{value:.4f}'.replace('.', ',')};x;{label}")
    (tmp_path / "odd.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_a_file_alone_tells_how_good_the_model_is(odd):
    done = call("classify", odd / "odd.csv", *ODD, "--repeats", 2, "--out", odd / "out")
    assert "Learnt 4 classes from 21 cases of odd.csv." in done.stdout
    assert "Evaluation: 20 cases, 10-fold cross-validation, 2 times" in done.stdout
    for words in ("most frequent class", "1-NN, DTW", "balanced accuracy", *LABELS):
        assert words in done.stdout
    assert "1 class has one case only ('nur einmal'): learnt from, not tested" in done.stderr
    assert "column not used: 'Gerät'" in done.stderr
    assert sorted(os.listdir(odd / "out")) == [
        "model.safetensors", "predictions.csv", "report.html", "report.json",
    ]  # fmt: skip
    table = rows_of(odd / "out/predictions.csv")
    assert [row["case"] for row in table] == [f"P {case}" for case in range(21)]
    p = [[float(row[f"probability_{label}"]) for label in LABELS] for row in table[:20]]
    assert (np.sum(p, axis=1) <= 1 + 1e-12).all()
    assert table[20]["predicted"] == table[20]["probability_nur einmal"] == ""
    record = json.loads((odd / "out/report.json").read_text())
    right = [float(row["share_right"]) for row in table[:20]]
    assert record["evaluation"]["methods"]["model"]["accuracy"] == pytest.approx(np.mean(right))
    assert record["training"]["columns"]["values"] == ["Wert, mV"]
    again = json.loads(
        call("classify", odd / "odd.csv", *ODD, "--repeats", 2, "--out", odd / "b", "--json").stdout
    )
    assert again["evaluation"] == record["evaluation"]


def test_predict_remembers_the_columns(odd):
    call("classify", odd / "odd.csv", *ODD, "--repeats", 0, "--out", odd / "out")
    model = odd / "out/model.safetensors"
    lines = [line.split(";") for line in (odd / "odd.csv").read_text("utf-8").splitlines()]
    new = odd / "new.csv"
    new.write_text("\n".join(";".join([d, c, "?", b, a]) for a, b, c, d, _ in lines), "utf-8")
    done = call("predict", model, new)
    table = list(csv.DictReader(done.stdout.splitlines()))
    fitted = pe.load(model)
    assert [row["case"] for row in table] == [f"P {case}" for case in range(21)]
    assert set(table[0]) == {"case", "predicted", *(f"probability_{c}" for c in fitted.classes_)}
    assert "columns not used: 'Gerät', '?'" in done.stderr
    assert "no column 'Diagnose' (--label): labels are not known" in done.stderr
    labelled = call("predict", model, odd / "odd.csv", "--json")
    assert json.loads(labelled.stdout)["cases"] == 21
    assert "On 21 cases: accuracy" in labelled.stderr
    new.write_text("\n".join(";".join([d, b, a]) for a, b, _, d, _ in lines), "utf-8")
    done = call("predict", model, new, code=3)
    assert "new.csv has no column 'Wert, mV' (--value); its columns: Gerät, Zeit (s), Wer?; it had" \
        in done.stderr  # fmt: skip


def test_numbers_are_recognised_learnt_and_predicted(tmp_path, rng):
    t, periods = np.arange(60), rng.uniform(6, 14, 24)
    lines = ["id;t;x;periode"]
    for case, period in enumerate(periods):
        wave = np.sin(2 * np.pi * t / period + rng.uniform(0, 6))
        lines += [f"{case};{k};{v:.4f};{period:.3f}".replace(".", ",") for k, v in enumerate(wave)]
    path, out = tmp_path / "data.csv", tmp_path / "out"
    path.write_text("\n".join(lines))
    columns = ("--case", "id", "--time", "t", "--value", "x", "--label", "periode")
    done = call("classify", path, *columns, "--repeats", 1, "--out", out)
    assert "24 different numbers, not all of them whole: taken as numbers to predict" in done.stderr
    assert "--no-regress takes them as classes" in done.stderr
    assert "mean of the targets" in done.stdout
    assert "Learnt numbers from 24 cases" in done.stdout
    record = json.loads((out / "report.json").read_text())
    table = rows_of(out / "predictions.csv")
    errors = [abs(float(row["predicted"]) - float(row["label"])) for row in table]
    assert record["evaluation"]["methods"]["model"]["mae"] == pytest.approx(np.mean(errors))
    done = call("predict", out / "model.safetensors", path, "--json")
    found = [row["predicted"] for row in json.loads(done.stdout)["predictions"]]
    np.testing.assert_allclose(found, periods, atol=0.05)
    assert "On 24 cases: R2" in done.stderr
    inspected = json.loads(call("inspect", out / "model.safetensors", "--json").stdout)
    assert inspected["kind"] == "ReservoirSeriesRegressor"
    as_classes = call("classify", path, *columns, "--no-regress", "--out", out)
    assert "the model was not evaluated: every class has one case only" in as_classes.stderr


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--class-weight", "a"), 2, "--class-weight is 'a', expected balanced, or a label"),
        (("--class-weight", "a=1", "--class-weight", "a=2"), 2, "gives 'a' two weights"),
        (("--class-weight", "a=-1"), 2, "--class-weight is 'a=-1'"),
        (("--class-weight", "z=1"), 3, "--class-weight names the label 'z', expected one of 'a'"),
        (("--folds", "7"), 3, "--folds 7 is more than the 6 cases of the largest class"),
        (("--folds", "1"), 2, "--folds"),
        (("--regress",), 3, "the label of case 1 is 'a', expected a number to predict"),
        (("--missing", "zero"), 2, "--missing is 'zero', expected error or interpolate"),
    ],
)
def test_wrong_calls_are_named(tmp_path, rng, options, code, words):
    lines = ["\t".join([label, *map(str, rng.normal(size=20))]) for label in "ab" * 6]
    (tmp_path / "x.tsv").write_text("\n".join(lines))
    done = call("classify", tmp_path / "x.tsv", "--out", tmp_path / "out", *options, code=code)
    told = " ".join(done.stderr.replace("│", " ").split())
    assert words in told
    assert not (tmp_path / "out").exists()


def test_weights_are_read_and_written_down(tmp_path, rng):
    t, lines = np.arange(40), []
    for case in range(16):
        label = "rare=1" if case % 8 == 0 else "usual"
        wave = np.sin(t / (5 if case % 8 == 0 else 8) + rng.uniform(0, 6))
        lines.append("\t".join([label, *map(str, wave)]))
    (tmp_path / "x.tsv").write_text("\n".join(lines))
    arguments = (
        "classify",
        tmp_path / "x.tsv",
        "--repeats",
        1,
        "--out",
        tmp_path / "out",
        "--json",
    )
    record = json.loads(call(*arguments, "--class-weight", "rare=1=7").stdout)
    assert record["class_weight"] == {"rare=1": 7.0}
    assert pe.load(tmp_path / "out/model.safetensors").class_weight == {"rare=1": 7.0}
    assert json.loads(call(*arguments, "--class-weight", "balanced").stdout)["class_weight"] == (
        "balanced"
    )


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights of files")
def test_a_folder_that_cannot_be_written_to_is_named_at_once(tmp_path, monkeypatch):
    (tmp_path / "x.tsv").write_text("a\t1\n")
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and allowed(path, mode))
    done = call("classify", tmp_path / "x.tsv", "--out", tmp_path / "out", code=2)
    assert "cannot be written to" in " ".join(done.stderr.replace("│", " ").split())

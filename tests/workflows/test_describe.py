"""What is inside a model is described for everything that can be saved."""

import io
import json
from contextlib import redirect_stdout

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import paralesn as pe
import test_round_trips as models
from paralesn.cli import app
from paralesn.workflows.describe import describe, drawn_reservoir

FOREIGN = {
    "readout": lambda: pe.ReservoirClassifier(readout=LogisticRegression()).fit(
        models.SERIES, models.LABELS
    ),
    "pipeline": lambda: make_pipeline(pe.PooledStates(pe.ParalESN(16)), LogisticRegression()).fit(
        models.SERIES, models.LABELS
    ),
    "unfitted pipeline": lambda: make_pipeline(pe.FilterBank(), LogisticRegression()),
    "state": lambda: pe.ParalESN(16).fit(models.X).run(models.X)[1],
}


def check(model, folder):
    pe.save(model, folder / "model")
    again = pe.load(folder / "model")
    record = describe(again)
    assert record["kind"] == type(model).__name__
    json.dumps(record, allow_nan=False)
    with redirect_stdout(io.StringIO()):
        done = CliRunner().invoke(app, ["inspect", str(folder / "model"), "--json"])
    assert done.exit_code == 0, done.output
    return again, record


@pytest.mark.parametrize("cls", models.CLASSES, ids=lambda cls: cls.__name__)
def test_every_model_is_described(cls, tmp_path):
    check(cls(), tmp_path)
    again, record = check(models.fitted(cls)[0], tmp_path)
    assert record["settings"]
    if hasattr(again, "layers_"):
        assert sum(layer["units"] for layer in record["layers"]) == sum(
            layer.units for layer in again.layers_
        )


@pytest.mark.parametrize("name", FOREIGN)
def test_models_with_parts_of_others_are_described(name, tmp_path):
    check(FOREIGN[name](), tmp_path)


def test_a_model_without_eigenvalues_has_no_picture(tmp_path):
    model = pe.NVAR(delay=3).fit(np.zeros((5, 2)))
    assert drawn_reservoir(model) is None
    assert describe(model)["layers"] == [{"units": 6, "lags": [0, 1, 2], "orders": [1, 2]}]
    pe.save(model, tmp_path / "model")
    arguments = ["inspect", str(tmp_path / "model"), "--plot", str(tmp_path / "picture.png")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    assert "No picture" in done.output


def test_no_matrix_is_made_of_a_large_structured_layer():
    """Its eigenvalues would take 72 GB."""
    layer = pe.StructuredRC(units=100_000, scale=0.9).fit(np.zeros((2, 1)))
    assert describe(layer)["layers"][0]["units"] == 100_000
    ring = pe.SCR(units=100_000, rho=0.9).fit(np.zeros((2, 1)))
    assert describe(ring)["layers"][0]["radii"]["largest"] == pytest.approx(0.9)

"""Everything a class of ours holds is checked where it is saved and where it is loaded."""

from dataclasses import is_dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import paralesn as pe
import test_round_trips as models
from forging import forged
from paralesn.estimators.live import Live
from paralesn.persistence import fields
from paralesn.persistence.saved_classes import MODULES

X, Y, SERIES, LABELS = models.X, models.Y, models.SERIES, models.LABELS
CLASSES = [getattr(import_module(f"paralesn.{module}"), name) for name, module in MODULES.items()]
STATES = [cls for cls in CLASSES if is_dataclass(cls)]
VARIED = {  # fields that hold what users choose
    "Calibration.readout", "Drawn.layers", "FeaturePartial.readout", "FittedClassifier.features",
    "FittedClassifier.readout", "FittedRegressor.readout", "FittedSeriesRegressor.features",
    "FittedSeriesRegressor.readout", "FittedStateForecaster.readout", "Layout.names",
    "SeriesSurvey.targets", "SharedLessons.after", "SharedLessons.before", "SharedReadout.readout",
    "SharedReadout.reservoir", "StatePartial.readout", "StatePartial.rows",
}  # fmt: skip


def test_every_field_says_what_it_holds():
    varied, plain = set(), set()
    for cls in STATES:
        for name, hint in fields._hints(cls).items():
            if "typing.Any" in str(hint):
                varied.add(f"{cls.__name__}.{name}")
            if hint is np.ndarray or "<class 'numpy.ndarray'>, ..." in str(hint):
                plain.add(f"{cls.__name__}.{name}")
    assert varied == VARIED
    assert not plain, "annotate arrays with one of the kinds in persistence/fields.py"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_coefficients_that_are_not_finite_are_refused(value, tmp_path):
    def spoil(_, arrays):
        arrays[next(name for name in arrays if name.endswith(".coefs"))][0] = value

    for model in (pe.Ridge().fit(X, Y), pe.ReservoirRegressor(pe.ESN(8)).fit(X, Y)):
        _ = model.predict(X)  # which solves for them
        with pytest.raises(ValueError, match=r"coefs of RidgePath must be .* finite floats"):
            pe.load(forged(model, tmp_path / "model", spoil))

    def spoil_dual(_, arrays):
        arrays["model.fitted.coef"][0] = value

    with pytest.raises(ValueError, match=r"coef of FittedDualRidge must be .* finite floats"):
        pe.load(forged(pe.DualRidge().fit(X, Y), tmp_path / "model", spoil_dual))


@pytest.mark.parametrize(
    "model", [pe.ESN(8, linear=True), pe.ESN(8, linear=True, density=0.5), pe.SCR(8, linear=True)]
)
def test_linear_layers_that_grow_are_refused(model, tmp_path):
    def grow(body, arrays):
        for name in arrays:
            if name.endswith((".matrix", ".values")):
                arrays[name] *= 2
        (layer,) = body["model"]["content"]["fitted"]["content"]["layers"]["tuple"]
        operator = layer["content"]["recurrent"]["content"]
        if "weight" in operator:
            operator["weight"] = 1.5

    model.fit(X)
    pe.save(model, tmp_path / "model")
    assert pe.load(tmp_path / "model").run(X)[0].shape == (250, 8)
    with pytest.raises(ValueError, match=r"layer 1 must be stable with linear=True .* got 1\."):
        pe.load(forged(model, tmp_path / "model", grow))


def _forget(path: str) -> Any:
    """Forget an entry of a file's JSON."""

    def forget(body, arrays):
        *inner, last = path.split(".")
        node = body["model"]["content"]
        for key in inner:
            node = node[key]
        gone = node.pop(last)
        if isinstance(gone, dict) and "array" in gone:
            del arrays[gone["array"]]

    return forget


FORGOTTEN = {
    "parameter": (
        lambda: pe.ParalESN(8).fit(X), "parameters.dict.tau", "must have the parameter tau",
    ),
    "optional part": (
        lambda: pe.ReservoirRegressor(pe.ESN(8)).fit(X, Y),
        "fitted.content.missing",
        "FittedRegressor must have missing",
    ),
    "number": (
        lambda: pe.Ridge().fit(X, Y), "fitted.content.added", "FittedRidge must have added",
    ),
    "scale": (
        lambda: StandardScaler().fit(X), "fitted.dict.scale_", "has no attribute 'scale_'",
    ),
    "classes": (
        lambda: LogisticRegression().fit(SERIES, LABELS),
        "fitted.dict.classes_",
        "must have learnt classes_",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGOTTEN)
def test_nothing_learnt_may_be_missing(name, tmp_path):
    make, path, message = FORGOTTEN[name]
    with pytest.raises(ValueError, match=message):
        pe.load(forged(make(), tmp_path / "model", _forget(path)))


WRONG = {
    "flag for a count": (
        "added",
        True,
        "added of FittedRidge must be a whole number of at least 0, got True",
    ),
    "text for a count": (
        "added",
        "3",
        "added of FittedRidge must be a whole number of at least 0, got '3'",
    ),
    "count for a flag": ("flat", 1, "flat of FittedRidge must be True or False, got 1"),
    "NaN for a count": ("added", float("nan"), "must be a whole number of at least 0, got nan"),
    "negative count": ("added", -1, "a whole number of at least 0, got -1"),
    "number for a part": ("solution", 3, "must be a RidgeSolution or None, got 3"),
}


@pytest.mark.parametrize("name", WRONG)
def test_values_of_other_types_are_refused(name, tmp_path):
    field, value, message = WRONG[name]

    def change(body, arrays):
        body["model"]["content"]["fitted"]["content"][field] = value
        if field == "solution":
            for array in [name for name in arrays if "solution" in name]:
                del arrays[array]

    with pytest.raises(ValueError, match=message):
        pe.load(forged(pe.Ridge().fit(X, Y), tmp_path / "model", change))


def test_states_that_are_not_finite_are_never_saved(tmp_path):
    _, state = pe.ParalESN(8, layers=2).run(X)
    live = Live(pe.ReservoirRegressor(pe.ESN(8)).fit(X, Y))
    with pytest.raises(ValueError, match="state of layer 2 must be finite, got NaN or infinity"):
        replace(state, layers=(state.layers[0], np.full(8, np.nan)))
    _, broken = pe.ParalESN(8, layers=2).run(X)
    broken.layers[1][:] = np.nan  # after it was made
    for model in (broken, replace(live.state, state=broken)):
        with pytest.raises(
            ValueError, match=r"layers of State\[1\] must be .* got NaN or infinity"
        ):
            pe.save(model, tmp_path / "state")
        assert not list(tmp_path.iterdir())

    def spoil(_, arrays):
        for array in arrays.values():
            array[...] = np.inf

    for model in (state, live.state):
        with pytest.raises(
            ValueError, match=r"layers of State\[0\] must be .* got NaN or infinity"
        ):
            pe.load(forged(model, tmp_path / "state", spoil))

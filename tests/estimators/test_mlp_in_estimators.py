"""The perceptron as readout of the three estimators, saved and loaded."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch")

import paralesn as pe
from paralesn.estimators.state_forecaster.forecaster import StateForecaster

SMALL = {"units": 30, "bias_scale": 0.5, "mix_scale": 1.0}
QUICK = {"hidden": 16, "epochs": 15, "learning_rate": 5e-3}


def steps_of_a_walk(count=400, seed=0):
    rng = np.random.default_rng(seed)
    x = np.sin(np.arange(count) / 6) + 0.1 * rng.normal(size=count)
    return x, np.roll(x, 2) ** 2


def fitted(kind):
    x, y = steps_of_a_walk()
    readout = pe.MLP(**QUICK)
    if kind == "regressor":
        return pe.ReservoirRegressor(
            pe.ParalESN(**SMALL), readout, washout=20, standardize=False
        ).fit(x, y)
    if kind == "forecaster":
        return StateForecaster(
            pe.ParalESN(**SMALL), readout, horizon=3, difference=False, standardize=False
        ).fit(x)
    X = np.sin(np.arange(50) * np.linspace(0.2, 1, 40)[:, None])
    # labels that are floats are still labels
    features = pe.PooledStates(pe.ParalESN(**SMALL), standardize=False)
    return pe.ReservoirClassifier(features, readout).fit(X, [1.0, 2.0] * 20)


def test_regression_equals_the_readout_alone():
    x, y = steps_of_a_walk()
    states = pe.ParalESN(**SMALL).run(x)[0]
    alone = pe.MLP(task="regression", **QUICK).fit(states[20:], y[20:])
    np.testing.assert_allclose(fitted("regressor").predict(x), alone.predict(states), rtol=1e-5)


def test_classification_gives_probabilities():
    model = fitted("classifier")
    X = np.sin(np.arange(50) * np.linspace(0.2, 1, 40)[:, None])
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(model.predict(X), model.classes_[chances.argmax(axis=1)])
    assert not hasattr(model, "decision_function")
    assert model.readout_.task == "classification"
    assert model.readout.task is None  # what was given is left alone


def test_forecasts_feed_whole_horizons_back():
    model = fitted("forecaster")
    values, lower, upper = model.forecast(7, interval=0.8)
    assert values.shape == (7,)
    assert (lower <= upper).all()
    with pytest.raises(ValueError, match="refit must be False"):
        model.update([0.1], refit=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["regressor", "classifier", "forecaster"])
def test_saved_and_loaded_without_torch(kind, tmp_path):
    model = fitted(kind)
    pe.save(model, tmp_path / "model")
    x, _ = steps_of_a_walk(seed=3)
    call = {"regressor": "predict(x)", "classifier": "predict_proba(x[None])",
            "forecaster": "update(x).forecast(9, interval=0.5).upper"}[kind]  # fmt: skip
    np.save(tmp_path / "x.npy", x)
    program = f"""
import sys
import numpy as np, paralesn as pe
x = np.load("x.npy")
np.save("out.npy", pe.load("model").{call})
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    expected = eval(f"model.{call}", {"model": model, "x": x})
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)

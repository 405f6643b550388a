"""Model files changed with their form in mind, or damaged: refused, or as good as any model."""

import re
import time
import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.linear_model import Ridge as LinearModel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, QuantileTransformer, StandardScaler

import paralesn as pe
from hostile.model_mutations import DAMAGE, MUTATIONS, damaged, mutated
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.persistence.model_file import to_bytes
from paralesn.readouts.fitted_mlp import FittedMLP
from paralesn.reservoirs.base import Reservoir

CHECK_BOUNDS = True
CASES = 250
LONGEST = 20.0  # seconds that nothing of this size should take

_RNG = np.random.default_rng(5)
X = _RNG.normal(size=(40, 2))
Y = np.roll(X, 1, axis=0) + 0.1 * _RNG.normal(size=X.shape)
GAPS = np.where(_RNG.random(X.shape) < 0.1, np.nan, X)
SERIES = _RNG.normal(size=(12, 20, 2)) * np.linspace(0.5, 2, 12)[:, None, None]
LABELS = np.array(["calm", "wild", "odd"])[np.arange(12) % 3]
WAVE = np.sin(np.arange(60) / 5) + 0.1 * _RNG.normal(size=60)
TOKENS = np.arange(40) % 5
DAYS = pd.date_range("2024-01-01", periods=60, freq="D")
LONG = pd.DataFrame(
    {"unique_id": np.repeat(["a", "b"], 30), "ds": DAYS[:30].tolist() * 2, "y": WAVE,
     "price": np.tile(["low", "high", "usual"], 20), "wind": np.cos(WAVE)}
)  # fmt: skip
GENERATORS = (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64)


def _ridge_after_rows() -> Any:
    model = pe.Ridge((1e-3, 1.0), per_target=True).fit(X, Y)
    for row in range(3):
        model.partial_fit(X[row : row + 1], Y[row : row + 1])
    assert model.predict(X).shape == Y.shape
    return model


def _forecaster(X: Any = None, **parameters: Any) -> Any:
    return pe.ReservoirForecaster(horizon=3, **parameters).fit(WAVE, X)


def _network() -> Any:
    """A perceptron as if it was trained, for which PyTorch would be loaded."""
    model = pe.MLP(hidden=3, task="regression")
    shapes = ((2, 3), (3,), (3, 2), (2,))
    weights = tuple(_RNG.normal(size=shape).astype(np.float32) for shape in shapes)
    mean, scale = np.zeros(2), np.ones(2)
    losses = (0.5, 0.25)
    model.fitted_ = FittedMLP(
        weights, mean, scale, None, mean, scale, False, losses, losses, 2, None
    )
    return model


MODELS: dict[str, Callable[[], Any]] = {
    "paralesn": lambda: pe.ParalESN(8, layers=2, mix_size=3).fit(X),
    "real": lambda: pe.ParalESN(8, real=True, dtype="float32").fit(X),
    "tokens": lambda: pe.ParalESN(8, vocabulary=5).fit(TOKENS),
    "given": lambda: pe.ParalESN.from_layers(pe.ParalESN(8).fit(X).layers_, mixing=False),
    "esn": lambda: pe.ESN(8, layers=2, density=0.5).fit(X),
    "linear": lambda: pe.ESN(8, linear=True, tau=0.5).fit(X),
    "residual": lambda: pe.ResESN(8, orthogonal="cyclic").fit(X),
    "cycle": lambda: pe.SCR(8).fit(X),
    "structured": lambda: pe.StructuredRC(6, dtype="float32").fit(X),
    "edge": lambda: pe.ES2N(8).fit(X),
    "continuous": lambda: pe.ContinuousESN(8).fit(X),
    "plastic": lambda: pe.PlasticESN(8).fit(X),
    "delays": lambda: pe.NVAR(delay=2).fit(X),
    "local": lambda: pe.LocalReservoirs(pe.ParalESN(4), size=1, overlap=0).fit(X),
    "state": lambda: pe.ParalESN(8, layers=2).fit(X).run(X)[1],
    "unfitted": lambda: pe.ReservoirRegressor(pe.ESN(8), pe.Ridge()),
    "ridge": lambda: pe.Ridge().fit(X, Y[:, 0]),
    "ridge omits": lambda: pe.Ridge(nan_targets="omit").fit(X, np.where(Y > 1, np.nan, Y)),
    "ridge after rows": _ridge_after_rows,
    "dual ridge": lambda: pe.DualRidge().fit(X, Y),
    "network": _network,
    "regressor": lambda: pe.ReservoirRegressor(pe.ParalESN(8), washout=5).fit(X, Y),
    "gaps": lambda: pe.ReservoirRegressor(pe.ESN(8), missing="interpolate").fit(GAPS, Y),
    "masked": lambda: pe.ReservoirRegressor(pe.ESN(8), missing="mask").fit(GAPS, Y),
    "feedback": lambda: pe.ReservoirRegressor(pe.ESN(8), feedback=True).fit(X, Y),
    "linear readout": lambda: pe.ReservoirRegressor(pe.SCR(8), LinearModel()).fit(X, Y),
    "pooled": lambda: pe.PooledStates(pe.ParalESN(4), pool=("mean", "last")).fit(SERIES),
    "filters": lambda: pe.FilterBank(64, levels=True, normalize=False).fit(SERIES),
    "classifier": lambda: pe.ReservoirClassifier(pe.PooledStates(pe.ParalESN(4)), pe.Ridge()).fit(
        SERIES, LABELS
    ),
    "default classifier": lambda: pe.ReservoirClassifier(pe.FilterBank(64)).fit(SERIES, LABELS),
    "logistic": lambda: pe.ReservoirClassifier(
        pe.PooledStates(pe.ESN(4)), make_pipeline(StandardScaler(), LogisticRegression())
    ).fit(SERIES, LABELS),
    "series regressor": lambda: pe.ReservoirSeriesRegressor(pe.FilterBank(64)).fit(
        SERIES, np.arange(12.0)
    ),
    "smoothers": lambda: pe.SmootherBank(horizon=3).fit(WAVE),
    "forecaster": lambda: _forecaster(reservoir=pe.ParalESN(8)),
    "loop": lambda: _forecaster(reservoir=pe.ParalESN(8), strategy="closed-loop"),
    "panel": lambda: pe.ReservoirForecaster(pe.ParalESN(8), horizon=2).fit([WAVE, WAVE[:30] + 9]),
    "states": lambda: StateForecaster(pe.ParalESN(8), horizon=2, washout=5).fit(X),
    "dated": lambda: pe.SmootherBank(horizon=2).fit(pd.Series(WAVE, DAYS, name="load")),
    "inputs": lambda: _forecaster(reservoir=pe.ESN(8), X=X[:, :1].repeat(2, axis=0)[:60]),
    "long": lambda: pe.ReservoirForecaster(pe.ESN(8), horizon=2).fit(LONG, X="price", past="wind"),
    "pipeline": lambda: make_pipeline(StandardScaler(), PCA(1), LinearModel()).fit(X, Y),
    "filler": lambda: make_pipeline(SimpleImputer(), PolynomialFeatures()).fit(GAPS),
    "discriminant": lambda: LinearDiscriminantAnalysis().fit(SERIES[:, :4, 0], LABELS),
    "descent": lambda: SGDClassifier(random_state=0).fit(SERIES[:, :4, 0], LABELS),
    "quantiles": lambda: QuantileTransformer(n_quantiles=5).fit(X),
    "ridge classifier": lambda: RidgeClassifier().fit(SERIES[:, :4, 0], LABELS),
} | {
    f"drawn by {kind.__name__}": lambda kind=kind: pe.ESN(4, seed=np.random.Generator(kind(1)))
    for kind in GENERATORS
}

INTERNAL = re.compile(  # messages of NumPy and Python about what should have been checked
    r"broadcast|not aligned|matmul: |out of bounds|array element|cannot reshape|unsupported operand|"
    r"not supported between|not subscriptable|not iterable|object is not callable|zip\(\)|_UFuncNo"
)

RECIPES = st.fixed_dictionaries({"kind": st.sampled_from(sorted(MODELS))}).flatmap(
    lambda kind: st.one_of(
        *[st.fixed_dictionaries({"mutations": MUTATIONS})] * 7,
        st.fixed_dictionaries({"damage": DAMAGE}),
    ).map(lambda change: kind | change)
)


@cache
def saved(kind: str) -> bytes:
    """A file of a small model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on how little it learnt from
        return to_bytes(MODELS[kind]())


def attack(recipe: dict[str, Any], folder: Path) -> str:
    """Load a changed file; what comes of it must be a model like any other."""
    data, path, is_large = saved(recipe["kind"]), folder / "model", False
    if "damage" in recipe:
        path.write_bytes(damaged(data, recipe["damage"]))
        if path.read_bytes() == data:
            return "held"
    else:
        changed, is_large = mutated(data, recipe["mutations"])
        path.write_bytes(changed)
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = _try(path, "damage" in recipe, is_large)
    assert time.monotonic() - began < LONGEST, "it took too long"
    return outcome


def _try(path: Path, is_damaged: bool, is_large: bool) -> str:
    """Load a file, save it again and compare what both models say."""
    try:
        model = pe.load(path)
    except ValueError as error:
        check_refusal(str(error), path)
        return "refused"
    assert not is_damaged, "a damaged file was loaded"
    again_path = path.with_name("again")
    pe.save(model, again_path)
    again = pe.load(again_path)
    assert type(again) is type(model)
    one, other = answers(model), answers(again)
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_array_equal(other[name], values, strict=True, err_msg=name)
        is_number = np.asarray(values).dtype.kind in "fc"
        assert is_large or not is_number or np.isfinite(values).all(), f"{name} is not finite"
    if not is_large:
        _agrees_with_the_reference(again)
    return "held"


def check_refusal(message: str, path: Path) -> None:
    """A refusal says which file it is of, and comes before memory is gone."""
    assert message.startswith(str(path)), f"the message must name the file: {message}"
    assert "MemoryError" not in message, message


def answers(model: Any) -> dict[str, np.ndarray]:
    """What a model says of a small input: arrays, or the reasons why it says nothing."""
    rows = np.random.default_rng(1).normal(size=(9, width(model)))
    calls: dict[str, Callable[[], Any]] = {}
    if isinstance(model, Reservoir):
        tokens = getattr(model, "vocabulary", None) is not None
        inputs = np.arange(9) % 2 if tokens else rows
        if hasattr(model, "layers_"):  # others would be drawn first
            calls["run"] = lambda: model.run(inputs)[0]
            calls["last"] = lambda: model.last(inputs)
    elif hasattr(model, "forecast"):
        future = np.zeros((3, 1)) if "reservoir" in model.get_params() else None
        calls["forecast"] = lambda: values(model.forecast(3))
        calls["forecast with inputs"] = lambda: values(model.forecast(3, future))
        calls["forecast after update"] = lambda: values(model.update(WAVE[:5]).forecast(3))
    elif isinstance(model, pe.State):
        return {str(i): h for i, h in enumerate(model.layers)}
    else:
        series = np.random.default_rng(1).normal(size=(3, 9, width(model)))
        methods = ("predict", "predict_proba", "decision_function", "transform")
        if isinstance(model, pe.Ridge) and hasattr(model, "fitted_"):
            y = np.random.default_rng(2).normal(size=(9, model.fitted_.n_targets))
            calls["learn"] = lambda: deepcopy(model).partial_fit(rows, y).predict(rows)
            calls["follow"] = lambda: deepcopy(model).partial_fit(rows[:1], y[:1]).predict(rows)
        for method in (name for name in methods if hasattr(model, name)):
            for name, inputs in ({"rows": rows} | {"series": series}).items():
                calls[f"{method} {name}"] = lambda m=method, x=inputs: getattr(model, m)(x)
    return {name: _answer(call) for name, call in calls.items()}


def values(forecast: Any) -> np.ndarray:
    """The numbers of a forecast, which may be a frame."""
    if hasattr(forecast, "select_dtypes"):
        forecast = forecast.select_dtypes("number")
    return np.concatenate([np.ravel(part) for part in np.atleast_1d(forecast)])


def _answer(call: Callable[[], Any]) -> np.ndarray:
    try:
        return np.asarray(call())
    except (ValueError, TypeError) as error:
        if INTERNAL.search(str(error)):
            raise AssertionError("an error must say what is wrong with an argument") from error
        return np.array(str(error))


def width(model: Any) -> int:
    """Columns of an input that a model reads."""
    try:
        return int(model.n_features_in_)
    except (AttributeError, ValueError):
        return 2


def _agrees_with_the_reference(model: Any) -> None:
    """States of a loaded reservoir are those of plain NumPy."""
    if not isinstance(model, Reservoir) or not hasattr(model, "layers_") or model.is_local:
        return
    rows = np.random.default_rng(1).normal(size=(9, width(model)))
    if getattr(model, "vocabulary", None) is not None or model.dtype != "float64":
        return
    try:
        states = model.run(rows)[0]
    except (ValueError, TypeError):
        return
    truth = model.set_params(engine="reference").run(rows)[0]
    np.testing.assert_allclose(states, truth, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(truth).max()))

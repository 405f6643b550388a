"""Libraries of time series, and PyTorch with its exports."""

from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paralesn as pe
from benchmarks.interoperability.case import (
    LABELS,
    SERIES,
    WAVE,
    case,
    check,
    needs_method,
    needs_name,
)

GROUP = "neighbours"


def months() -> Any:
    """A series by month."""
    import pandas as pd

    return pd.Series(WAVE, pd.period_range("1999-01", periods=WAVE.size, freq="M"))


@case(GROUP, "sktime: pipeline with a transformer", "sktime", "pandas", slow=True)
def sktime_pipeline() -> str:
    from sktime.transformations.series.boxcox import LogTransformer

    from paralesn.sktime import ParalESNForecaster

    y = months()
    model = (LogTransformer() * ParalESNForecaster()).fit(y[:-12], fh=range(1, 13))
    off = np.abs(model.predict() - y[-12:]).max()
    check(off < 0.5, f"off by {off:.2f}")
    return f"off by {off:.2f} at most"


@case(GROUP, "sktime: ForecastingGridSearchCV", "sktime", "pandas", slow=True)
def sktime_search() -> str:
    from sktime.forecasting.model_selection import ForecastingGridSearchCV
    from sktime.split import ExpandingWindowSplitter

    from paralesn.sktime import ParalESNForecaster

    y = months()
    splits = ExpandingWindowSplitter(initial_window=200, step_length=40, fh=[1, 2, 3])
    search = ForecastingGridSearchCV(
        ParalESNForecaster(), cv=splits, param_grid={"season": ["auto", 24]}
    ).fit(y)
    return f"season {search.best_params_['season']}, error {search.best_score_:.4f}"


@case(GROUP, "aeon: classifier in scikit-learn's pipeline and search", "aeon", slow=True)
def aeon_classifier() -> str:
    from paralesn.aeon import ParalESNClassifier

    X = SERIES[:, None, :]
    scores = cross_val_score(ParalESNClassifier(), X, LABELS, cv=3)
    check(scores.mean() > 0.9, f"accuracy {scores.mean():.2f}")
    name = next(iter(ParalESNClassifier().get_params()))
    given = ParalESNClassifier().get_params()[name]
    GridSearchCV(ParalESNClassifier(), {name: [given]}, cv=3).fit(X, LABELS)
    return f"accuracy {scores.mean():.2f}"


@case(GROUP, "aeon: pipeline with a transformer of collections", "aeon", slow=True)
def aeon_pipeline() -> str:
    from aeon.transformations.collection import Normalizer

    from paralesn.aeon import ParalESNClassifier

    X = SERIES[:, None, :]
    pipe = make_pipeline(Normalizer(), ParalESNClassifier())
    right = pipe.fit(X[:40], LABELS[:40]).score(X[40:], LABELS[40:])
    check(right > 0.9, f"accuracy {right:.2f}")
    return f"accuracy {right:.2f}"


@case(GROUP, "aeon: forecaster", "aeon", slow=True)
def aeon_forecaster() -> str:
    from paralesn.aeon import ParalESNForecaster

    ahead = ParalESNForecaster().series_to_series_forecast(WAVE[:-12], 12)
    off = np.abs(ahead - WAVE[-12:]).max()
    check(off < 0.5, f"off by {off:.2f}")
    return f"off by {off:.2f} at most"


@case(GROUP, "mlforecast: a reservoir as its model", "mlforecast", slow=True)
def nixtla() -> str:
    import pandas as pd
    from mlforecast import MLForecast
    from sklearn.preprocessing import FunctionTransformer

    days = pd.date_range("2024-01-01", periods=WAVE.size, freq="h")
    frame = pd.DataFrame({"unique_id": "a", "ds": days, "y": WAVE})
    reservoir = make_pipeline(
        StandardScaler(),
        FunctionTransformer(lambda lags: np.asarray(lags)[:, ::-1, None]),
        pe.PooledStates(pe.ParalESN(units=50, seed=0), pool="last", segments=1),
        pe.Ridge(),
    )
    models = MLForecast(models={"reservoir": reservoir}, freq="h", lags=range(1, 25))
    ahead = models.fit(frame).predict(12)["reservoir"]
    check(np.isfinite(ahead).all(), "not finite")
    return f"{len(ahead)} steps"


# -- PyTorch -------------------------------------------------------------------------------------


def block() -> Any:
    """A small reservoir as a module."""
    from paralesn.torch import ParalESNBlock

    return ParalESNBlock(pe.ParalESN(units=16), features=3).eval()


def output(result: Any) -> Any:
    """The states, where a block returns more."""
    return result[0] if isinstance(result, tuple) else result


@case(GROUP, "torch: training, state_dict, DataLoader", "torch")
def torch_training() -> str:
    import torch

    from paralesn.torch import ParalESNBlock

    torch.manual_seed(0)

    def build(seed: int) -> Any:
        drawn = ParalESNBlock(pe.ParalESN(units=16, seed=seed), trainable=True)
        return torch.nn.ModuleList([drawn, torch.nn.Linear(16, 1)])

    model = build(0)
    x = torch.from_numpy(SERIES[:, :, None]).float()
    y = torch.from_numpy((LABELS == "slow").astype("float32"))
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=20)
    optimizer = torch.optim.Adam(model.parameters(), 0.03)

    def forward(rows: Any) -> Any:
        return model[1](output(model[0](rows)).abs().mean(dim=1))[:, 0]

    losses = []
    for _ in range(30):
        for rows, wanted in data:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(forward(rows), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    check(losses[-1] < losses[0], f"losses {losses[0]:.2f} to {losses[-1]:.2f}")
    again = build(7)
    again.load_state_dict(model.state_dict())
    check(torch.equal(output(again[0](x)), output(model[0](x))), "state_dict does not carry it")
    return f"loss {losses[0]:.2f} to {losses[-1]:.2f}; state_dict carries the block"


@case(GROUP, "torch.export with dynamic time and batch", "torch", slow=True)
def torch_export() -> str:
    import torch

    module, x = block(), torch.randn(2, 20, 3)
    batch, time = torch.export.Dim("batch"), torch.export.Dim("time", min=2)
    program = torch.export.export(module, (x,), dynamic_shapes=({0: batch, 1: time},))
    other = torch.randn(5, 33, 3)
    off = float((output(program.module()(other)) - output(module(other))).abs().max())
    check(off < 1e-5, f"off by {off:.1e}")
    return f"other batch and time: off by {off:.0e}"


@case(GROUP, "ONNX export, run by onnxruntime", "torch", "onnx", "onnxruntime", "onnxscript",
      slow=True)  # fmt: skip
def onnx_export() -> str:
    import onnxruntime
    import torch

    module, x = block(), torch.randn(2, 20, 3)
    torch.onnx.export(module, (x,), "block.onnx", dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession("block.onnx")
    got = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
    off = float(np.abs(got - output(module(x)).detach().numpy()).max())
    check(off < 1e-5, f"off by {off:.1e}")
    return f"off by {off:.0e}"


# -- what other parts of the package are asked for -----------------------------------------------


@case(GROUP, "predict_proba of the default classifier")
def probabilities() -> str:
    model = pe.ReservoirClassifier().fit(SERIES[:40], LABELS[:40])
    chances = needs_method(model, "predict_proba")(SERIES[40:])
    check(np.allclose(chances.sum(axis=1), 1), "probabilities do not sum to 1")
    right = np.mean(model.classes_[chances.argmax(axis=1)] == model.predict(SERIES[40:]))
    check(right == 1, "the most probable label is not the one predicted")
    return f"mean confidence {chances.max(axis=1).mean():.2f}"


@case(GROUP, "soft VotingClassifier, which needs predict_proba")
def soft_vote() -> str:
    from sklearn.ensemble import VotingClassifier

    needs_method(pe.ReservoirClassifier().fit(SERIES[:40], LABELS[:40]), "predict_proba")
    members = [
        ("a", pe.ReservoirClassifier()),
        ("b", pe.ReservoirClassifier(class_weight="balanced")),
    ]
    vote = VotingClassifier(members, voting="soft").fit(SERIES[:40], LABELS[:40])
    return f"accuracy {vote.score(SERIES[40:], LABELS[40:]):.2f}"


@case(GROUP, "partial_fit of the regressor equals fit")
def partial_fit() -> str:
    x = np.random.default_rng(0).normal(size=(400, 2))
    model = pe.ReservoirRegressor(pe.ParalESN(units=20), standardize=False, washout=0)
    needs_method(model, "partial_fit")
    whole = pe.ReservoirRegressor(pe.ParalESN(units=20), standardize=False, washout=0)
    whole.fit(x, x[:, 0])
    model.partial_fit(x[:200], x[:200, 0]).partial_fit(x[200:], x[200:, 0])
    off = np.abs(model.predict(x) - whole.predict(x)).max()
    check(off < 1e-6, f"off by {off:.1e}")
    return f"in two parts, off by {off:.0e}"


@case(GROUP, "ReservoirSeriesRegressor in a search")
def series_regressor() -> str:
    cls = needs_name(pe, "ReservoirSeriesRegressor")
    rates = np.random.default_rng(0).uniform(0.1, 0.5, size=60)
    series = np.sin(rates[:, None] * np.arange(80))
    search = GridSearchCV(cls(), {"features__units": [256, 512]}, cv=3).fit(series, rates)
    check(search.best_score_ > 0.9, f"R2 {search.best_score_:.2f}")
    return f"R2 {search.best_score_:.3f}"


@case(GROUP, "NVAR in a pipeline")
def nvar() -> str:
    cls = needs_name(pe, "NVAR")
    x = np.random.default_rng(0).uniform(-1, 1, size=(300, 1))
    target = np.concatenate([[0], x[1:, 0] * x[:-1, 0]])
    score = make_pipeline(cls(), pe.Ridge()).fit(x, target).score(x, target)
    check(score > 0.99, f"R2 {score:.3f}")
    return f"R2 {score:.4f} of a product of delays"

"""The demonstration: the three estimators, beside an echo state network."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.datasets import lorenz63, mackey_glass
from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.estimators.forecaster.estimator import ReservoirForecaster
from paralesn.estimators.forecaster.spread import Forecast
from paralesn.estimators.regressor import ReservoirRegressor
from paralesn.files import require, save_figure
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.esn import ESN
from paralesn.reservoirs.paralesn import ParalESN

WASHOUT = 200
TAU = 0.5
LYAPUNOV = 55  # samples of the Lorenz series in which a small error grows e-fold


@dataclass(frozen=True)
class Outcome:
    """One model's result on the regression task."""

    name: str
    error: float
    seconds: float
    prediction: np.ndarray


@dataclass(frozen=True)
class Demonstration:
    """What the estimators did, and what they should have done."""

    paralesn: Outcome
    esn: Outcome
    target: np.ndarray
    horizon: int
    units: int
    forecast: Forecast
    lorenz: np.ndarray
    valid_time: float
    accuracy: float


def demonstrate(
    units: int = 128, steps: int = 10_000, horizon: int = 84, seed: int = 0
) -> Demonstration:
    """Regression on Mackey-Glass, a closed-loop forecast of Lorenz, classification of tones."""
    series = mackey_glass(steps + horizon, seed=seed)
    x, y = series[:-horizon], series[horizon:, 0]
    half = steps // 2
    reservoir = ParalESN(
        units=units, theta=(0.0, np.pi / 4), tau=TAU, bias_scale=0.1, mix_scale=1.0, seed=seed
    )
    esn = ESN(units=units, tau=TAU, seed=seed)

    def predict(reservoir: Any) -> np.ndarray:
        model = ReservoirRegressor(reservoir, Ridge(), washout=WASHOUT, standardize=False)
        model.fit(x[:half], y[:half])
        return np.asarray(model.predict(x[half:], state=model.state_))

    forecast, lorenz, valid_time = _forecast(seed)
    return Demonstration(
        paralesn=_evaluate("ParalESN", partial(predict, reservoir), y[half:]),
        esn=_evaluate("ESN", partial(predict, esn), y[half:]),
        target=y[half:],
        horizon=horizon,
        units=units,
        forecast=forecast,
        lorenz=lorenz,
        valid_time=valid_time,
        accuracy=_classify(seed),
    )


def _evaluate(name: str, predict: Callable[[], np.ndarray], target: np.ndarray) -> Outcome:
    """Median time of fitting and predicting, and the error of the prediction."""
    seconds, prediction = [], predict()  # compile, or load what was compiled
    for _ in range(5):
        start = time.perf_counter()
        prediction = predict()
        seconds.append(time.perf_counter() - start)
    error = float(np.sqrt(np.mean((prediction - target) ** 2) / np.mean(target**2)))
    return Outcome(name, error, float(np.median(seconds)), prediction)


def _forecast(seed: int, train: int = 4000, ahead: int = 600) -> tuple[Forecast, np.ndarray, float]:
    """Ten Lyapunov times of the Lorenz attractor from the closed loop, and how long it held."""
    series = lorenz63(train + ahead, seed=seed)
    model = ReservoirForecaster(strategy="closed-loop").fit(series[:train])
    forecast = model.forecast(ahead, interval=0.8)
    truth = series[train:]
    errors = np.sqrt((((forecast.values - truth) / series.std(axis=0)) ** 2).mean(axis=1))
    wrong = np.flatnonzero(errors > 0.4)
    return forecast, truth, (wrong[0] if wrong.size else ahead) / LYAPUNOV


def _classify(seed: int, count: int = 200, steps: int = 150) -> float:
    """Tell noisy tones of four pitches apart; accuracy on the second half of them."""
    rng = np.random.default_rng(seed)
    labels = np.array(["C", "D", "E", "F"])[np.arange(count) % 4]
    pitch = 0.3 * np.array([1, 9 / 8, 5 / 4, 4 / 3])[np.arange(count) % 4, None]
    tones = np.sin(pitch * np.arange(steps) + rng.uniform(0, 2 * np.pi, (count, 1)))
    X = tones + 0.7 * rng.normal(size=tones.shape)
    half = count // 2
    return float(ReservoirClassifier().fit(X[:half], labels[:half]).score(X[half:], labels[half:]))


def plot(result: Demonstration, path: Path, shown: int = 600) -> None:
    """Save a picture of the regression, its errors, and the forecast."""
    require("matplotlib", "plot", purpose="a picture").use("Agg")
    from matplotlib import pyplot as plt

    figure, (above, middle, below) = plt.subplots(
        3, 1, figsize=(9, 8), height_ratios=[3, 1.2, 3], layout="constrained"
    )
    _draw_regression(above, result, shown)
    _draw_errors(middle, result, shown)
    _draw_forecast(below, result)
    try:
        save_figure(figure, path)
    finally:
        plt.close(figure)


def _draw_regression(axes: Any, result: Demonstration, shown: int) -> None:
    """Target and prediction."""
    axes.plot(result.target[:shown], color="0.6", linewidth=3, label="Mackey-Glass")
    axes.plot(result.paralesn.prediction[:shown], color="tab:blue", linewidth=1.2, label="ParalESN")
    axes.set_ylabel("tanh(f - 1)")
    axes.set_title(
        f"ReservoirRegressor: Mackey-Glass {result.horizon} steps ahead, {result.units} units, "
        f"NRMSE {result.paralesn.error:.3f}"
    )
    axes.margins(x=0.01, y=0.18)  # room for the legend
    axes.legend(loc="upper right", ncols=2)


def _draw_errors(axes: Any, result: Demonstration, shown: int) -> None:
    """Absolute errors of both reservoirs."""
    for outcome, color in ((result.esn, "tab:orange"), (result.paralesn, "tab:blue")):
        error = np.abs(outcome.prediction - result.target)[:shown]
        axes.semilogy(np.maximum(error, 1e-6), color=color, linewidth=0.8, label=outcome.name)
    axes.margins(x=0.01)
    axes.set_ylabel("|error|")
    axes.set_xlabel("time step of the test half")
    axes.legend(loc="lower right", ncols=2, fontsize="small")


def _draw_forecast(axes: Any, result: Demonstration) -> None:
    """The closed-loop forecast with its interval, and what happened."""
    t = np.arange(1, len(result.lorenz) + 1) / LYAPUNOV
    lower, upper = result.forecast.lower[:, 0], result.forecast.upper[:, 0]
    axes.fill_between(t, lower, upper, color="tab:blue", alpha=0.2, linewidth=0, label="80 %")
    axes.plot(t, result.lorenz[:, 0], color="0.6", linewidth=3, label="Lorenz-63")
    axes.plot(t, result.forecast.values[:, 0], color="tab:blue", linewidth=1.2, label="forecast")
    axes.axvline(result.valid_time, color="0.3", linewidth=0.8, linestyle=":")
    axes.set_title(
        f"ReservoirForecaster: closed loop, good for {result.valid_time:.1f} Lyapunov times"
    )
    axes.set_xlabel("Lyapunov times after the last observation")
    axes.set_ylabel("x")
    axes.margins(x=0.01, y=0.15)
    axes.legend(loc="upper left", ncols=3, fontsize="small")

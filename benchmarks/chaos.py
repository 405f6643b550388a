"""Valid prediction time of closed-loop forecasts on chaotic series, beside reservoirpy's ESN.

Both models have 256 units and the same small budget: 30 random configurations, judged by their mean
valid prediction time from places in a validation stretch; the best is judged once, with several
seeds, on a test stretch. The valid prediction time is how long the error, in standard deviations of
the series and as root mean square over its components, stays below 0.4; in Lyapunov times.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import Report
from paralesn import ParalESN, Ridge
from paralesn.datasets import lorenz63, mackey_glass
from paralesn.estimators.state_forecaster.forecaster import StateForecaster

UNITS, CONFIGURATIONS, SEEDS = 256, 30, 5
TRAIN, STRETCH, PLACES = 4000, 4000, 8
THRESHOLD = 0.4
# Samples in a Lyapunov time: 1 / (0.906 * 0.02) and 1 / 0.006.
TASKS: dict[str, Any] = {"Lorenz-63": (lorenz63, 55.2), "Mackey-Glass": (mackey_glass, 166.7)}
Forecasts = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


def run() -> Report:
    """Search with equal budgets, then test."""
    report = Report(
        f"Valid prediction time in Lyapunov times, closed loop, {UNITS} units, "
        f"{CONFIGURATIONS} random configurations each"
    )
    for task, (generate, lyapunov) in TASKS.items():
        series = generate(TRAIN + 2 * STRETCH + 2000, seed=3)
        series = (series - series[:TRAIN].mean(axis=0)) / series[:TRAIN].std(axis=0)
        for name, draw, make in (
            ("ParalESN", draw_paralesn, paralesn),
            ("reservoirpy ESN", draw_esn, reservoirpy),
        ):
            start = time.perf_counter()
            found = search(draw, make, series, lyapunov)
            times = np.concatenate(
                [
                    judge(make(found, seed), series, TRAIN + STRETCH, lyapunov)
                    for seed in range(SEEDS)
                ]
            )
            middle = f"median {np.median(times):.3g}, quartiles {np.quantile(times, 0.25):.3g} to "
            middle += f"{np.quantile(times, 0.75):.3g}; {time.perf_counter() - start:.0f} s in all"
            report.value(f"{task}, {name}", float(times.mean()), "Lyapunov times", detail=middle)
        times = judge(_ours(StateForecaster()), series, TRAIN + STRETCH, lyapunov)
        detail = f"median {np.median(times):.3g}; no search"
        report.value(
            f"{task}, ReservoirForecaster(strategy='closed-loop')",
            float(times.mean()),
            "Lyapunov times",
            detail=detail,
        )
    return report


def search(draw: Any, make: Any, series: np.ndarray, lyapunov: float) -> dict[str, Any]:
    """The configuration with the longest mean valid prediction time on the validation stretch."""
    rng = np.random.default_rng(11)
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for _ in range(CONFIGURATIONS):
        hyper = draw(rng)
        score = float(judge(make(hyper, 0), series, TRAIN, lyapunov).mean())
        best = max(best, (score, hyper), key=lambda pair: pair[0])
    return best[1]


def judge(forecasts: Forecasts, series: np.ndarray, first: int, lyapunov: float) -> np.ndarray:
    """Valid prediction times from evenly spaced places in the stretch that begins at `first`."""
    steps = int(16 * lyapunov)
    spread = series.std(axis=0)
    places = np.linspace(first, first + STRETCH - 200, PLACES).astype(int)
    times = []
    for place in places:
        known = series[place - 1000 : place]
        truth = series[place : place + steps]
        predicted = forecasts(series[:TRAIN], known, len(truth))
        errors = np.sqrt((((predicted - truth) / spread) ** 2).mean(axis=1))
        wrong = np.flatnonzero(~(errors < THRESHOLD))
        times.append((wrong[0] if wrong.size else len(truth)) / lyapunov)
    return np.array(times)


def _pick(rng: np.random.Generator, *values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def draw_paralesn(rng: np.random.Generator) -> dict[str, Any]:
    """A random configuration of ours."""
    return {
        "rho": (_pick(rng, 0.0, 0.3, 0.6), _pick(rng, 0.8, 0.9, 0.95, 0.99)),
        "theta": (0.0, _pick(rng, 0.3, np.pi / 4, np.pi / 2, 2 * np.pi)),
        "tau": _pick(rng, 0.3, 0.5, 0.7, 1.0),
        "input_scale": _pick(rng, 0.1, 0.3, 1.0),
        "bias_scale": _pick(rng, 0.1, 0.5, 1.0),
        "mix_scale": _pick(rng, 0.3, 1.0, 2.0),
        "mix_bias_scale": _pick(rng, 0.0, 0.3, 1.0),
        "layers": _pick(rng, 1, 2, 3),
        "concat": True,  # the units are shared out among the layers
    }


def draw_esn(rng: np.random.Generator) -> dict[str, Any]:
    """A random configuration of reservoirpy's ESN, with the bias that a chaotic system wants."""
    return {
        "sr": _pick(rng, 0.1, 0.3, 0.6, 0.9, 1.1),
        "lr": _pick(rng, 0.3, 0.5, 0.7, 1.0),
        "input_scaling": _pick(rng, 0.03, 0.1, 0.3, 1.0),
        "input_connectivity": _pick(rng, 0.1, 0.5, 1.0),
        "rc_connectivity": _pick(rng, 0.05, 0.1, 0.3),
        "bias": _pick(rng, 0.0, 0.1, 0.5, 1.0),
        "ridge": _pick(rng, 1e-10, 1e-8, 1e-6, 1e-4),
    }


def paralesn(hyper: dict[str, Any], seed: int) -> Forecasts:
    """Forecasts of ours after a stretch of known values, fitted once."""
    readout = Ridge((1e-10, 1e-8, 1e-6, 1e-4, 1e-2))
    reservoir = ParalESN(units=UNITS, seed=seed, **hyper)
    return _ours(StateForecaster(reservoir, readout, difference=True, standardize=False))


def _ours(model: StateForecaster) -> Forecasts:
    """Fit when first asked; then forecast after whatever is known."""
    fitted: list[Any] = []

    def forecasts(train: np.ndarray, known: np.ndarray, steps: int) -> np.ndarray:
        if not fitted:
            fitted.append(model.fit(train))
        return np.asarray(model.update(known).forecast(steps))

    return forecasts


def reservoirpy(hyper: dict[str, Any], seed: int) -> Forecasts:
    """The same with reservoirpy, the way its tutorials generate."""
    from reservoirpy.mat_gen import uniform
    from reservoirpy.nodes import Reservoir
    from reservoirpy.nodes import Ridge as Readout

    hyper = dict(hyper)
    readout = Readout(ridge=hyper.pop("ridge"))
    bias = np.random.default_rng(seed).uniform(-1, 1, UNITS) * hyper.pop("bias")
    model = Reservoir(units=UNITS, seed=seed, bias=bias, Win=uniform, **hyper) >> readout
    fitted: list[Any] = []

    def forecasts(train: np.ndarray, known: np.ndarray, steps: int) -> np.ndarray:
        if not fitted:
            fitted.append(model.fit(train[:-1], train[1:], warmup=100))
        model.reset()
        value = model.run(known)[-1]
        out = np.empty((steps, known.shape[1]))
        for t in range(steps):
            out[t] = value
            value = model(value)
        return out

    return forecasts

"""Long-term forecasts of transformer temperatures, by the protocol of that literature.

All seven features, every step up to the horizon, from every step of the test split at which that
many follow; mean squared and absolute errors of standardised values. A `ReservoirForecaster` is
trained on the training split only; the validation split chose its configuration.
"""

import json
import time
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np

from paralesn.datasets.archives.ett import load_ett_rows
from paralesn.estimators.forecaster.estimator import ReservoirForecaster
from paralesn.paper.catalogue import read
from paralesn.paper.records import Record
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.paralesn import ParalESN

SETS = ("etth1", "etth2", "ettm1", "ettm2")
HORIZON = 192
MODEL = "ReservoirForecaster"
_NAMES = ("units", "rho", "theta", "phases")  # hyperparameters that are searched
_SEARCH_SEED = 1000
_FINALISTS, _FINAL_SEEDS = 4, range(1001, 1003)
_WASHOUT = 300
_EVERY = {"ettm1": 4, "ettm2": 4}  # learnt from once an hour, where there are four rows in it
_FILE = "longterm.toml"


def forecaster(
    run: Record, penalties: Iterable[float], held_out: float = 0.0
) -> ReservoirForecaster:
    """A forecaster as configured: a linear reservoir that reads changes, shared by the features."""
    arguments: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in run["configuration"].items()
    }
    return ReservoirForecaster(
        ParalESN(mixing=False, **arguments, n_jobs=1, seed=run["seed"]),
        Ridge(list(penalties)),
        horizon=HORIZON,
        washout=_WASHOUT,
        difference="inputs",
        held_out=held_out,
        shared=True,
        every=_EVERY.get(run["task"], 1),
        standardize=False,
    )


def errors(model: ReservoirForecaster, rows: np.ndarray) -> dict[str, float]:
    """Errors of forecasts of a split whose rows follow on what the model has seen."""
    first = model.forecast()[None]
    later = model.predict(rows[:-HORIZON], follow=True)
    wanted = np.lib.stride_tricks.sliding_window_view(rows, HORIZON, axis=0).swapaxes(1, 2)
    squares = absolutes = 0.0
    for predicted, truth in ((first, wanted[:1]), (later, wanted[1:])):
        off = predicted - truth
        squares, absolutes = squares + float((off**2).sum()), absolutes + float(np.abs(off).sum())
    return {"mse": squares / wanted.size, "mae": absolutes / wanted.size}


def measure(run: Record) -> Record:
    """Train on the training split, and test."""
    data = load_ett_rows(run["task"])
    start = time.perf_counter()
    model = forecaster(run, [run["alpha"]]).fit(data.train)
    seconds = time.perf_counter() - start
    model.update(data.validation)  # read, not learnt from
    return {"metric": "mse", "metrics": errors(model, data.test), "seconds": seconds}


def validate(run: Record) -> Record:
    """Judge a configuration by the validation split, with the penalty that does best there.

    By the squared error in units of the variance of what is to be predicted, each step of the
    horizon counting the same.
    """
    data, space = load_ett_rows(run["task"]), read(_FILE)["space"]
    rows = np.concatenate([data.train, data.validation])
    share = len(data.validation) / len(rows)
    model = forecaster(run, space["alphas"], share).fit(rows)
    scores = model.readout_.scores_.mean(axis=1)
    return {"validation": float(scores.min()), "chosen": float(model.readout_.alpha_)}


def trials(sets: Iterable[str]) -> list[Record]:
    """Runs that a search consists of: every configuration of the space."""
    space = read(_FILE)["space"]
    return [
        _run("long-term trial", name, dict(zip(_NAMES, values, strict=True)), None, _SEARCH_SEED)
        for name in sets
        for values in product(space["units"][name], *(space[one] for one in _NAMES[1:]))
    ]


def finals(found: Iterable[Record]) -> list[Record]:
    """Runs of the best configurations of each set with further seeds."""
    wanted = []
    for name, groups in _grouped(found).items():
        ranked = sorted(groups, key=lambda group: group[0]["validation"])
        for group, seed in product(ranked[:_FINALISTS], _FINAL_SEEDS):
            wanted.append(_run("long-term trial", name, group[0]["configuration"], None, seed))
    return wanted


def choose(found: Iterable[Record]) -> dict[str, dict[str, Any]]:
    """The best configuration of each set on validation data, of those judged by most seeds."""
    chosen = {}
    for name, groups in _grouped(found).items():
        seeds = max(map(len, groups))
        scores = {
            float(np.mean([one["validation"] for one in group])): group
            for group in groups
            if len(group) == seeds
        }
        best = scores[min(scores)]
        chosen[name] = {
            "configuration": best[0]["configuration"],
            # Seeds may differ by a step of the grid: the middle, in the logarithm.
            "alpha": float(f"{np.exp(np.mean(np.log([one['chosen'] for one in best]))):.3g}"),
            "validation": min(scores),
            "trials": len(groups),
            "seeds": seeds,
        }
    return chosen


def _grouped(found: Iterable[Record]) -> dict[str, list[list[Record]]]:
    """Runs by set and configuration."""
    by_set: dict[str, dict[str, list[Record]]] = {}
    for one in found:
        key = json.dumps(one["configuration"], sort_keys=True)
        by_set.setdefault(one["task"], {}).setdefault(key, []).append(one)
    return {name: list(groups.values()) for name, groups in by_set.items()}


def shipped(sets: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Configurations that come with the package."""
    return {name: read(_FILE)["chosen"][name] for name in sets}


def plan(chosen: Mapping[str, Mapping[str, Any]], seeds: int) -> list[Record]:
    """Runs of chosen configurations, to be tested."""
    return [
        _run("long-term", name, one["configuration"], one["alpha"], seed)
        for name, one in chosen.items()
        for seed in range(seeds)
    ]


def _run(
    kind: str, task: str, configuration: Mapping[str, Any], alpha: float | None, seed: int
) -> Record:
    return {
        "kind": kind,
        "task": task,
        "model": MODEL,
        "configuration": dict(configuration),
        "alpha": alpha,
        "seed": seed,
    }


def rows(found: Iterable[Record]) -> list[dict[str, Any]]:
    """Mean and deviation over seeds, one object for each set, beside what others published."""
    published = read(_FILE)["published"]
    grouped: dict[str, list[Record]] = {}
    for one in found:
        grouped.setdefault(one["task"], []).append(one)
    results = []
    for name, group in grouped.items():
        values = {
            metric: np.array([one["metrics"][metric] for one in group]) for metric in ("mse", "mae")
        }
        results.append(
            {
                "task": name,
                "model": MODEL,
                "metric": "mse",
                "mean": float(values["mse"].mean()),
                "std": float(values["mse"].std()),
                "seeds": len(group),
                "metrics": {metric: float(each.mean()) for metric, each in values.items()},
                "seconds": float(np.median([one["seconds"] for one in group])),
                "published": {rival: figures[name] for rival, figures in published.items()},
            }
        )
    return results

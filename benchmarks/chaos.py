"""Valid prediction time and climate of closed loops on chaotic systems, beside other libraries.

`benchmarks.chaos_trials` says what a trial is. The benchmark takes an hour or two and goes on where
it was interrupted; ``python -m benchmarks.chaos ParalESN ESN`` runs the trials of some contestants,
so that several processes can share the work. The figure goes to ``chaos.png`` in the folder that
PARALESN_FIGURES names, or in the current one.
"""

import argparse
import os
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress
from scipy.stats import rankdata

from benchmarks.chaos_orc import OrcESN
from benchmarks.chaos_ours import OurDefault, OurESN, OurNVAR, OurParalESN
from benchmarks.chaos_rivals import Contestant, ReservoirpyESN
from benchmarks.chaos_trials import (
    CONFIGURATIONS,
    FINALISTS,
    LYAPUNOV_TIMES,
    SEEDS,
    SIZES,
    SPIN_UP,
    TRAIN,
    Records,
    Task,
    Trials,
    task,
)
from benchmarks.timing import Report, medians
from paralesn import datasets
from paralesn.files import save_figure

OURS = ("ParalESN", "ESN", "NVAR")
DEFAULT = OurDefault.name  # shown, but not ranked: it has 256 units and no search


def contestants() -> dict[str, Contestant]:
    """Who takes part: ours, and those of the libraries that are installed."""
    there: list[Contestant] = [OurParalESN(), OurESN(), OurNVAR()]
    there += [ReservoirpyESN()] if find_spec("reservoirpy") else []
    there += [OrcESN()] if find_spec("orc") else []
    return {contestant.name: contestant for contestant in [*there, OurDefault()]}


def run(names: list[str] | None = None) -> Report:
    """Run what is missing, and compare the contestants (named, or all) on every system."""
    chosen = {k: v for k, v in contestants().items() if names is None or k in names}
    results = {name: _results(contestant) for name, contestant in chosen.items()}
    report = Report(
        "Closed loops on chaotic systems: median valid prediction time in Lyapunov times, over "
        f"{SEEDS} seeds and 8 places"
    )
    if names is None:
        _figure(results)
    for units in SIZES:
        there = {name: trial for name, trial in results.items() if name != DEFAULT}
        found = _system_rows(report, results, units)
        _ranks(report, there, found[:, : len(there)], units)
        if DEFAULT in results and units == SIZES[0]:
            report.note("the default, without any search", _summary(results[DEFAULT], units))
        _times(report, chosen, results, units)
    return report


def _results(contestant: Contestant) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """All trials of a contestant, by system and number of units."""
    records, results = Records(contestant.name), {}
    tried = {SIZES[0]: CONFIGURATIONS, SIZES[1]: 0 if contestant.name in OURS else FINALISTS}
    if contestant.name == DEFAULT:
        tried = {SIZES[0]: 1}
    jobs = [(system, units) for units in tried for system in datasets.chaotic_systems()]
    with Progress(transient=True) as progress:
        bar = progress.add_task(
            contestant.name, total=sum(tried[units] + SEEDS for _, units in jobs)
        )
        for system, units in jobs:
            runs = Trials(contestant, task(system), units, records)
            done = []
            for record in _run(runs, tried[units]):
                done.append(record)
                progress.update(bar, advance=1, description=f"{contestant.name}, {system}, {units}")
            results[system, units] = done
    return results


def _run(runs: Trials, count: int) -> Iterator[dict[str, Any]]:
    """Search among `count` configurations: drawn, or the best with fewer units; 0: the best."""
    if runs.units == SIZES[0]:
        return runs.run(runs.drawn(range(count)), SEEDS)
    best = runs.best(runs.task.name, SIZES[0], CONFIGURATIONS, max(1, count))
    if not count:
        return runs.judge(best[0]["hyper"], SEEDS)
    return runs.run({record["number"]: record["hyper"] for record in best}, SEEDS)


def _judged(results: dict[tuple[str, int], list[dict[str, Any]]], key: tuple[str, int]) -> Any:
    return [record for record in results[key] if record["stage"] == "judged"]


def _system_rows(report: Report, results: dict[str, Any], units: int) -> np.ndarray:
    """A row for each system; medians (systems, contestants)."""
    rows = []
    for system in datasets.chaotic_systems():
        row = {
            name: float(np.median([r["valid"] for r in _judged(trial, (system, units))]))
            for name, trial in results.items()
            if (system, units) in trial
        }
        rows.append(list(row.values()))
        best = max(row, key=lambda name: row[name])
        detail = ", ".join(f"{name} {value:.2f}" for name, value in row.items())
        report.rows.append((f"{task(system).title}, {units} units", best, detail, "", ""))
    return np.array(rows)


def _ranks(report: Report, results: dict[str, Any], valid: np.ndarray, units: int) -> None:
    """Mean ranks, climate and time; ours should come before every other library."""
    names = list(results)
    ranks = dict(zip(names, rankdata(-valid, axis=1).mean(axis=0), strict=True))
    rivals = [rank for name, rank in ranks.items() if name not in OURS]
    systems = datasets.chaotic_systems()
    for name, trial in results.items():
        detail = _summary(trial, units)
        claim = f"mean rank of {name}, {units} units"
        wanted = min(rivals) if rivals and name in OURS else None
        report.value(claim, float(ranks[name]), "", below=wanted, detail=detail)
    ours = [name for name in names if name in OURS]
    if not ours:
        return
    where = systems.index("mackey_glass")
    best = max(ours, key=lambda name: valid[where, names.index(name)])
    others = [valid[where, names.index(name)] for name in names if name not in OURS]
    report.score(
        f"Mackey-Glass, {units} units, the best of ours", valid[where, names.index(best)], best,
        max(others) if others else None,
    )  # fmt: skip


def _summary(trial: dict[tuple[str, int], list[dict[str, Any]]], units: int) -> str:
    """The mean over systems of median valid times, and the climate."""
    judged = [_judged(trial, (system, units)) for system in datasets.chaotic_systems()]
    valid = [np.median([record["valid"] for record in of_system]) for of_system in judged]
    climate = [of_system[0]["climate"] for of_system in judged]
    off = [abs(c["exponent"] - 1) for c in climate]
    return (
        f"mean of medians {np.mean(valid):.2f}; climate, medians: spectrum off by "
        f"{np.median([c['spectrum'] for c in climate]):.3f}, values by "
        f"{np.median([c['distribution'] for c in climate]):.3f} deviations, exponent by "
        f"{np.nanmedian(off):.0%}"
    )


def _figure(results: dict[str, Any]) -> None:
    """Median valid times of every contestant on every system, those of the fewest units."""
    import matplotlib.pyplot as plt

    systems = sorted(
        datasets.chaotic_systems(),
        key=lambda system: np.median(
            [r["valid"] for r in _judged(results["ParalESN"], (system, SIZES[0]))]
        ),
    )
    figure, axis = plt.subplots(figsize=(9, 7.5), layout="constrained")
    markers = dict(zip(results, "osD^vx", strict=False))
    for name, trial in results.items():
        valid = [
            np.median([r["valid"] for r in _judged(trial, (system, SIZES[0]))])
            for system in systems
        ]
        size = 60 if name in OURS else 35
        axis.scatter(
            valid, range(len(systems)), s=size, marker=markers[name], label=name, alpha=0.8
        )
    axis.set_yticks(range(len(systems)), [task(system).title for system in systems])
    axis.set_xlabel(f"median valid prediction time (Lyapunov times, at most {LYAPUNOV_TIMES:g})")
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right")
    axis.set_title(f"Closed loops of {SIZES[0]} units")
    save_figure(figure, Path(os.environ.get("PARALESN_FIGURES", ".")) / "chaos.png")
    plt.close(figure)


def _times(
    report: Report, chosen: dict[str, Contestant], results: dict[str, Any], units: int
) -> None:
    """Seconds of a fit and of eight forecasts, each with the configuration that was judged."""
    this = task("lorenz63")
    known = np.stack([this.series[p - SPIN_UP : p] for p in this.places(TRAIN)])
    calls = {}
    for name, contestant in chosen.items():
        if ("lorenz63", units) in results[name]:
            hyper = _judged(results[name], ("lorenz63", units))[0]["hyper"]
            calls[name] = partial(_fit_and_forecast, contestant, hyper, units, this, known)
    for name, seconds in medians(calls, 3).items():
        detail = "Lorenz, 4 000 steps, then 8 forecasts of 1 000 steps"
        report.value(f"fit and forecasts of {name}, {units} units", seconds, "s", detail=detail)


def _fit_and_forecast(
    contestant: Contestant, hyper: dict[str, Any], units: int, this: Task, known: np.ndarray
) -> np.ndarray:
    return contestant.fit(hyper, 0, units, this.series[:TRAIN])(known, 1000)


if __name__ == "__main__":
    from rich.console import Console

    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos")
    parser.add_argument("names", nargs="*", help="contestants; all by default")
    run(parser.parse_args().names or None).show(Console())

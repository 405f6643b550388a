"""Systems that extend in space, by local reservoirs: Kuramoto-Sivashinsky and Lorenz 1996.

Our local reservoirs share one readout, those of OpenReservoirComputing (ORC) have one each. The
same series, places, number of random configurations and units on each patch for all of them, as in
`benchmarks.chaos_trials`. The long ring of Kuramoto-Sivashinsky takes the configurations that did
best on the short one. Interrupted, it goes on where it was.
"""

import argparse
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from rich.progress import Progress

from benchmarks.chaos_orc import OrcParallelESN
from benchmarks.chaos_ours import OurLocalReservoirs
from benchmarks.chaos_rivals import Contestant
from benchmarks.chaos_trials import SERIES_SEED, Records, Task, Trials
from benchmarks.timing import Report
from paralesn import ESN, datasets

UNITS, CONFIGURATIONS, FINALISTS, SEEDS = 512, 12, 2, 3
RINGS = {  # length, points, largest exponent
    "kuramoto_sivashinsky_22": (22.0, 64, 0.048),
    "kuramoto_sivashinsky_200": (200.0, 512, 0.095),
}
TITLES = {
    "kuramoto_sivashinsky_22": "Kuramoto-Sivashinsky, L = 22",
    "lorenz96_40": "Lorenz 1996, 40 variables",
    "kuramoto_sivashinsky_200": "Kuramoto-Sivashinsky, L = 200",
}


@cache
def field(name: str) -> Task:
    """A standardised field, all its values in the same units."""
    train, stretch, extra = 6000, 3000, 1500
    if name == "lorenz96_40":
        dt, exponent = 0.02, 1.67
        steps = 1000 + train + 2 * stretch + extra
        series = datasets.lorenz96(steps, dims=40, dt=dt, seed=SERIES_SEED)[0, 1000:]
    else:
        length, points, exponent = RINGS[name]
        dt = 0.25
        train, stretch = (train, stretch) if points == 64 else (3000, 2000)
        steps = train + 2 * stretch + extra
        series = datasets.kuramoto_sivashinsky(
            steps, length=length, points=points, dt=dt, seed=SERIES_SEED
        )
    known = series[:train]
    series = (series - known.mean()) / known.std()
    return Task(name, TITLES[name], series, 1 / (exponent * dt), train, stretch)


def contestants(features: int) -> dict[str, Contestant]:
    """Who takes part on a field of so many values."""
    there: list[Contestant] = [OurLocalReservoirs(features), OurLocalReservoirs(features, ESN)]
    there += [OrcParallelESN(features)] if find_spec("orc") else []
    return {contestant.name: contestant for contestant in there}


def run(names: list[str] | None = None) -> Report:
    """Run what is missing, and compare valid times and seconds."""
    report = Report(
        f"Systems in space, {UNITS} units on each patch: median valid prediction time in Lyapunov "
        f"times over {SEEDS} seeds and 8 places"
    )
    for name in TITLES:
        this = field(name)
        results = {
            contestant: _trials(contestant, model, this)
            for contestant, model in contestants(this.series.shape[1]).items()
            if names is None or contestant in names
        }
        rival = [_median(trial) for contestant, trial in results.items() if "ORC" in contestant]
        for contestant, trial in results.items():
            judged = [record for record in trial if record["stage"] == "judged"]
            seconds = [float(np.median([r[part] for r in judged])) for part in ("fit", "forecast")]
            detail = (
                f"fit {seconds[0]:.1f} s, 8 forecasts {seconds[1]:.1f} s; "
                f"best of {sum(record['stage'] == 'search' for record in trial)}"
            )
            wanted = rival[0] if rival and "ORC" not in contestant else None
            report.score(f"{this.title}, {contestant}", _median(trial), detail, wanted)
    return report


def _median(trial: list[dict[str, Any]]) -> float:
    return float(np.median([r["valid"] for r in trial if r["stage"] == "judged"]))


def _trials(name: str, contestant: Contestant, this: Task) -> list[dict[str, Any]]:
    """All trials of a contestant on a field."""
    records = Records(f"field_{name}")
    runs = Trials(contestant, this, UNITS, records)
    candidates = runs.drawn(range(CONFIGURATIONS))
    if this.name == "kuramoto_sivashinsky_200":
        best = runs.best("kuramoto_sivashinsky_22", UNITS, CONFIGURATIONS, FINALISTS)
        candidates = {r["number"]: _on_a_ring(r["hyper"], this.series.shape[1]) for r in best}
    done = []
    with Progress(transient=True) as progress:
        bar = progress.add_task(f"{name}, {this.title}", total=len(candidates) + SEEDS)
        for record in runs.run(candidates, SEEDS):
            done.append(record)
            progress.advance(bar)
    return done


def _on_a_ring(hyper: dict[str, Any], features: int) -> dict[str, Any]:
    """The same configuration with patches of the same size on a ring of so many values."""
    if "chunks" not in hyper:
        return hyper
    return {**hyper, "chunks": features * hyper["chunks"] // 64}


if __name__ == "__main__":
    from rich.console import Console

    parser = argparse.ArgumentParser(prog="python -m benchmarks.spatial")
    parser.add_argument("names", nargs="*", help="contestants; all by default")
    run(parser.parse_args().names or None).show(Console())

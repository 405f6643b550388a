"""Trials of closed loops on chaotic systems: the same series, places, draws and seeds for everyone.

Each system gives one standardised series: 4 000 steps to learn from, then a stretch of 4 000 to
choose configurations on, then one to judge them on. A trial fits a contestant and forecasts from
eight places, after 500 true values before each. With 256 units, 30 random configurations are tried;
the best of them is judged with five seeds. So it is with 1 024 units; other libraries, in which the
penalty is part of a configuration, try their three best again before.

A trial that is done is a line in ``benchmarks/.cache/chaos``, one file for each contestant: what is
there is not run again, so an interrupted benchmark goes on where it was.
"""

import json
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.chaos_rivals import Contestant, Loop
from paralesn import datasets
from paralesn.theory import climate_distance, valid_prediction_time

SIZES = (256, 1024)
CONFIGURATIONS, FINALISTS, SEEDS = 30, 3, 5
TRAIN, STRETCH, PLACES, SPIN_UP = 4000, 4000, 8, 500
LYAPUNOV_TIMES, MOST_STEPS = 15.0, 3000  # how far forecasts go
THRESHOLD = 0.4
SERIES_SEED = 2026  # had no part in choosing spaces and defaults
FOLDER = Path(__file__).parent / ".cache" / "chaos"


@dataclass(frozen=True)
class Task:
    """A standardised series of a system, and how far forecasts of it go."""

    name: str
    title: str
    series: np.ndarray
    lyapunov_steps: float
    train: int = TRAIN
    stretch: int = STRETCH

    @property
    def steps(self) -> int:
        """Steps of a forecast."""
        return min(MOST_STEPS, round(LYAPUNOV_TIMES * self.lyapunov_steps))

    def places(self, first: int) -> np.ndarray:
        """Where forecasts start, evenly spaced in the stretch that begins at `first`."""
        return np.linspace(first + SPIN_UP, first + self.stretch, PLACES).astype(int)

    def valid_times(self, loop: Loop, first: int) -> np.ndarray:
        """Valid prediction times (places,) in Lyapunov times."""
        places = self.places(first)
        known = np.stack([self.series[place - SPIN_UP : place] for place in places])
        truth = np.stack([self.series[place : place + self.steps] for place in places])
        times = valid_prediction_time(
            loop(known, self.steps), truth, threshold=THRESHOLD, scale=self.series.std(axis=0),
            lyapunov_time=self.lyapunov_steps,
        )  # fmt: skip
        return np.asarray(times)


@cache
def task(name: str) -> Task:
    """The task of a system."""
    system = datasets.chaotic_system(name)
    most = min(MOST_STEPS, round(LYAPUNOV_TIMES * system.lyapunov_steps))
    series = system.generate(TRAIN + 2 * STRETCH + most, seed=SERIES_SEED)
    series = (series - series[:TRAIN].mean(axis=0)) / series[:TRAIN].std(axis=0)
    return Task(name, system.title, series, system.lyapunov_steps)


class Records:
    """What trials of one contestant gave, kept in a file to which every trial adds a line."""

    def __init__(self, contestant: str, folder: Path = FOLDER) -> None:
        self.path = folder / f"{contestant.replace(' ', '_')}.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        self.kept = {self._key(record): record for record in map(_parsed, lines) if record}

    @staticmethod
    def _key(record: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(record[name] for name in ("system", "units", "stage", "number"))

    def get(self, *key: Any) -> dict[str, Any] | None:
        """The trial of a system, number of units, stage and number, if it was run."""
        return self.kept.get(key)

    def add(self, record: dict[str, Any]) -> dict[str, Any]:
        """Keep a trial."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        self.kept[self._key(record)] = record
        return record


def _parsed(line: str) -> dict[str, Any] | None:
    """A line of a file; None for one whose writing was interrupted."""
    try:
        record: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        return None
    return record


@dataclass(frozen=True)
class Trials:
    """Trials of a contestant on a task: a search, then its best configuration with other seeds."""

    contestant: Contestant
    task: Task
    units: int
    records: Records

    def run(self, candidates: dict[int, dict[str, Any]], seeds: int) -> Iterator[dict[str, Any]]:
        """Run whatever is missing, configurations by number first; yield all trials in order."""
        tried = []
        for number, hyper in candidates.items():
            tried.append(self._trial("search", number, hyper, 0))
            yield tried[-1]
        yield from self.judge(max(tried, key=_score)["hyper"], seeds)

    def judge(self, hyper: dict[str, Any], seeds: int) -> Iterator[dict[str, Any]]:
        """Run a configuration with several seeds on the stretch to judge on."""
        for seed in range(seeds):
            yield self._trial("judged", seed, hyper, seed)

    def drawn(self, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
        """Configurations of some numbers, the same whenever they are asked for."""
        system = zlib.crc32(self.task.name.encode())
        return {n: self.contestant.draw(np.random.default_rng([system, n])) for n in numbers}

    def best(self, name: str, units: int, among: int, count: int) -> list[dict[str, Any]]:
        """The best trials of a search that was run, on a task or with so many units."""
        before = [self.records.get(name, units, "search", i) for i in range(among)]
        return sorted(filter(None, before), key=_score, reverse=True)[:count]

    def _trial(self, stage: str, number: int, hyper: dict[str, Any], seed: int) -> dict[str, Any]:
        """A fit, and forecasts from the places of the stretch to choose or to judge on."""
        this = self.task
        known = self.records.get(this.name, self.units, stage, number)
        if known is not None:
            return known
        start = time.perf_counter()
        loop = self.contestant.fit(hyper, seed, self.units, this.series[: this.train])
        fitted = time.perf_counter()
        first = this.train + (this.stretch if stage == "judged" else 0)
        valid = this.valid_times(loop, first)
        record = {
            "system": this.name, "units": self.units, "stage": stage, "number": number,
            "hyper": hyper, "valid": valid.tolist(), "fit": fitted - start,
            "forecast": time.perf_counter() - fitted,
        }  # fmt: skip
        if stage == "judged" and seed == 0:
            record["climate"] = climate(loop, this)
        return self.records.add(record)


def _score(record: dict[str, Any]) -> float:
    return float(np.mean(record["valid"]))


# -- climate ---------------------------------------------------------------------------------------


def climate(loop: Loop, this: Task) -> dict[str, float]:
    """How a loop that runs on for a stretch differs from the system: spectrum, values, exponent."""
    first = this.train + this.stretch
    known = this.series[None, first : first + SPIN_UP]
    free = loop(known, this.stretch)[0]
    if not np.isfinite(free).all():
        return {"spectrum": 1.0, "distribution": float("inf"), "exponent": float("nan")}
    distance = climate_distance(free, this.series[first : first + this.stretch])
    exponent = _exponent(loop, free, this.lyapunov_steps)
    return {
        "spectrum": distance.spectrum, "distribution": distance.distribution,
        "exponent": exponent * this.lyapunov_steps,
    }  # fmt: skip


def _exponent(loop: Loop, free: np.ndarray, lyapunov_steps: float, starts: int = 32) -> float:
    """The largest Lyapunov exponent of a loop, per step, from what becomes of small differences.

    Two loops from each of several places of the series that the loop itself made, one of them from
    values that are off by 1e-8. The slope of the mean logarithm of their distance, between one and
    four Lyapunov times later: before that the difference turns to where it grows.
    """
    places = np.linspace(SPIN_UP, len(free) - 1, starts).astype(int)
    known = np.stack([free[place - SPIN_UP : place] for place in places])
    off = 1e-8 * np.random.default_rng(0).normal(size=known.shape)
    steps = max(8, round(4 * lyapunov_steps))
    difference = loop(known + off, steps) - loop(known, steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.sqrt((difference**2).mean(axis=2))).mean(axis=0)
    late = np.arange(round(lyapunov_steps), steps)
    if not np.isfinite(logs[late]).all():
        return float("nan")
    return float(np.polyfit(late, logs[late], 1)[0])

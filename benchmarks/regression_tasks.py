"""Tasks of regression over time: what a regressor without any setting should be able to learn.

Every task exists twice: one to choose hyperparameters on ("choice"), from training parts and seeds
of its own, and one to report ("report"), from other seeds and from test parts.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paralesn.datasets import ctxor, lorenz63, mackey_glass, memcap, narma, sinmem
from paralesn.datasets.archives.ett import FEATURES, load_ett_rows
from paralesn.tables.cases import read_cases

PARTS = ("choice", "report")
_FOUR_WEEKS = 4 * 7 * 24  # of hours
_STEPS = 4000  # of generated series, of which the last quarter is held out


class Task(NamedTuple):
    """Inputs and targets to learn from, and those that follow (or other series) to score."""

    name: str
    kind: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    follows: bool = True  # the test part continues the series learnt from


def tasks(part: str) -> Iterator[Task]:
    """All tasks of a part; real data where PARALESN_DATA is set."""
    seed = 1000 * (1 + PARTS.index(part))
    yield from _noise_tasks(seed)
    yield from _classical(seed)
    yield from _small(seed)
    if os.environ.get("PARALESN_DATA"):
        yield from _sensors(part)


def _split(name: str, kind: str, X: np.ndarray, y: np.ndarray, test: int | None = None) -> Task:
    """The last quarter, or the last `test` steps, held out."""
    cut = len(X) - (len(X) // 4 if test is None else test)
    return Task(name, kind, X[:cut], y[:cut], X[cut:], y[cut:])


def _noise_tasks(seed: int) -> Iterator[Task]:
    """Functions of uniform noise, now and some steps ago."""
    functions: dict[str, Callable[..., np.ndarray]] = {
        "x(t-3)": lambda x: x(3),
        "x(t-20)": lambda x: x(20),
        "x(t)^2": lambda x: x(0) ** 2,
        "x(t) x(t-1)": lambda x: x(0) * x(1),
        "x(t-2) x(t-5)": lambda x: x(2) * x(5),
        "x(t)^3 - x(t-1)^2": lambda x: x(0) ** 3 - x(1) ** 2,
        "|x(t-1)|": lambda x: np.abs(x(1)),
        "x(t) > x(t-1)": lambda x: (x(0) > x(1)).astype(float),
    }
    rng = np.random.default_rng(seed)
    past = 30
    for name, function in functions.items():
        u = rng.uniform(-1, 1, _STEPS + past)
        y = function(lambda k, u=u: u[past - k : len(u) - k])
        yield _split(name, "function of noise", u[past:, None], y)
    u = rng.uniform(-1, 1, (_STEPS + past, 3))
    lag = {k: u[past - k : len(u) - k].T for k in range(4)}
    X = u[past:]
    yield _split("u(t) v(t)", "several inputs", X[:, :2], lag[0][0] * lag[0][1])
    yield _split("u(t) v(t-1) + w(t-2)", "several inputs", X, lag[0][0] * lag[1][1] + lag[2][2])
    X32 = X[:, :1].astype(np.float32) * 1e3 + 7e3
    yield _split("x(t) x(t-1), float32, 7000 +- 1000", "function of noise", X32,
                 lag[0][0] * lag[1][0])  # fmt: skip


def _classical(seed: int) -> Iterator[Task]:
    """Benchmarks of the field, most of them the paper's."""
    for order in (10, 30):
        data = narma(_STEPS, order, seed)
        yield _split(f"NARMA{order}", "benchmark", data.inputs, data.targets[:, 0])
    yield _split("MemCap, 50 delays (mean)", "benchmark", *memcap(_STEPS, 50, seed))
    for name, make in (("ctXOR, 5 steps ago", ctxor), ("SinMem, 10 steps ago", sinmem)):
        X, y = make(_STEPS, seed=seed)
        yield _split(name, "benchmark", X, y[:, 0])
    series = mackey_glass(_STEPS + 84, seed)
    for ahead in (1, 84):
        yield _split(f"Mackey-Glass, {ahead} ahead", "benchmark", series[:_STEPS],
                     series[ahead : _STEPS + ahead, 0])  # fmt: skip
    lorenz = lorenz63(_STEPS, seed=seed)
    yield _split("Lorenz, z from x", "benchmark", lorenz[:, :1], lorenz[:, 2])


def _small(seed: int) -> Iterator[Task]:
    """Few rows, and targets that nothing can be learnt about."""
    rng = np.random.default_rng(seed + 1)
    u = rng.uniform(-1, 1, (3000, 2))
    noise = rng.normal(size=3000)
    yield _split("nothing but noise, 2000 rows", "small or noisy", u, noise, test=1000)
    yield _split("nothing but noise, 200 rows", "small or noisy", u[:1200], noise[:1200], test=1000)
    yield _split("nothing but noise, 40 rows", "small or noisy", u[:1040], noise[:1040], test=1000)
    linear = u[:, 0] + 0.5 * np.roll(u[:, 1], 1)
    yield _split("u(t) + v(t-1)/2, 40 rows", "small or noisy", u[:1040], linear[:1040], test=1000)
    noisy = linear + 0.5 * noise
    yield _split("the same and noise, 200 rows", "small or noisy", u[:1200], noisy[:1200], 1000)
    product = u[:, 0] * np.roll(u[:, 0], 1)
    yield _split("x(t) x(t-1), 300 rows", "small or noisy", u[:1300, :1], product[:1300], 1000)
    holes = rng.random((3000, 1)) < 0.05  # as missing="mask" reads them
    masked = np.hstack([np.where(holes, 0.0, u[:, :1]), holes])
    yield _split("x(t) x(t-1), 5 % missing", "small or noisy", masked, product)


def _sensors(part: str) -> Iterator[Task]:
    """One sensor from the others: four weeks after the rows learnt from, and other blinks."""
    last = 5760 if part == "choice" else 11520
    for name, target in (
        ("ETTh1", "MULL"), ("ETTh1", "LUFL"), ("ETTh1", "OT"), ("ETTh2", "HULL"), ("ETTh2", "LUFL"),
    ):  # fmt: skip
        parts, column = load_ett_rows(name), FEATURES.index(target)
        rows = np.concatenate([parts.train, parts.validation, parts.test])[: last + _FOUR_WEEKS]
        X, y = np.delete(rows, column, axis=1), rows[:, column]
        yield _split(f"{name}, {target} from the rest", "sensors", X, y, test=_FOUR_WEEKS)
    folder = Path(os.environ["PARALESN_DATA"]) / "Blink"
    train = _blinks(folder / "Blink_TRAIN.ts.gz")
    other = train[200:300] if part == "choice" else _blinks(folder / "Blink_TEST.ts.gz")[::4]
    X, Y = train[:200:2], other[::2] if part == "choice" else other
    for channel in (0, 3):
        rest = [c for c in range(4) if c != channel]
        yield Task(f"Blink, electrode {channel + 1} from the rest", "sensors", X[:, :, rest],
                   X[:, :, channel], Y[:, :, rest], Y[:, :, channel], follows=False)  # fmt: skip


def _blinks(path: Path) -> np.ndarray:
    """Cases (case, time, channel)."""
    return np.asarray(read_cases(path).series)

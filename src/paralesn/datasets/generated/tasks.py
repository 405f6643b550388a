"""The paper's synthetic tasks: lengths, splits, washouts, metrics.

One series is cut into training, validation and test, in this order. Targets with a delay reach back
into the previous split, those with a horizon ahead into the next one. Lorenz96 has separate series
for every split.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from paralesn.datasets.dataset import Dataset, Split
from paralesn.datasets.generated.lorenz import lorenz63, lorenz96
from paralesn.datasets.generated.mackey_glass import mackey_glass
from paralesn.datasets.generated.memory_tasks import ctxor, memcap, sinmem
from paralesn.datasets.generated.narma import narma
from paralesn.datasets.seeds import entropy, stream

Drawn = tuple[list[Split], dict[str, Any]]  # training, validation and test; facts for `meta`

MEMORY_LENGTHS = (5000, 1000, 1000)
EARLIER_LENGTHS = (4000, 1000, 1000)
FORECAST_LENGTHS = (5000, 2500, 2500)
LORENZ96_SERIES, LORENZ96_STEPS = 128, 400


def cut(inputs: np.ndarray, targets: np.ndarray, lengths: tuple[int, ...]) -> list[Split]:
    """Cut a series into successive splits."""
    borders = np.cumsum([0, *lengths])
    return [Split(inputs[a:b], targets[a:b]) for a, b in pairwise(borders)]


def _memcap(seed: int) -> Drawn:
    return cut(*memcap(sum(MEMORY_LENGTHS), 200, seed), MEMORY_LENGTHS), {"delays": 200}


def _ctxor(delay: int) -> Callable[[int], Drawn]:
    def build(seed: int) -> Drawn:
        pair = ctxor(sum(MEMORY_LENGTHS), delay, seed)
        return cut(*pair, MEMORY_LENGTHS), {"delay": delay}

    return build


def _sinmem(delay: int) -> Callable[[int], Drawn]:
    def build(seed: int) -> Drawn:
        pair = sinmem(sum(MEMORY_LENGTHS), delay, seed)
        return cut(*pair, MEMORY_LENGTHS), {"delay": delay}

    return build


def _earlier(
    generate: Callable[..., tuple[np.ndarray, np.ndarray]], delay: int
) -> Callable[[int], Drawn]:
    """A memory task whose target is due one step earlier; none reaches into the next split."""

    def build(seed: int) -> Drawn:
        x, y = generate(sum(EARLIER_LENGTHS), delay, seed)
        splits = cut(x, y, EARLIER_LENGTHS)
        return [Split(one.inputs[:-1], one.targets[1:]) for one in splits], {"delay": delay}

    return build


def _lorenz96(horizon: int) -> Callable[[int], Drawn]:
    def build(seed: int) -> Drawn:
        splits = []
        for k in range(3):
            starts = stream(seed, "lorenz96", k)
            f = lorenz96(LORENZ96_STEPS + horizon, LORENZ96_SERIES, seed=starts)
            splits.append(Split(f[:, :-horizon], f[:, horizon:]))
        return splits, {"horizon": horizon, "dt": 0.01}

    return build


def _ahead(
    generate: Callable[..., np.ndarray], horizon: int, **facts: Any
) -> Callable[[int], Drawn]:
    """Forecast of a series: what `generate(steps, seed=seed)` gives, `horizon` steps later."""

    def build(seed: int) -> Drawn:
        f = generate(sum(FORECAST_LENGTHS) + horizon, seed=seed)
        return cut(f[:-horizon], f[horizon:], FORECAST_LENGTHS), {"horizon": horizon, **facts}

    return build


def _narma(order: int) -> Callable[[int], Drawn]:
    def build(seed: int) -> Drawn:
        x, y, redraws = narma(sum(FORECAST_LENGTHS), order, seed)
        return cut(x, y, FORECAST_LENGTHS), {"order": order, "redraws": redraws}

    return build


@dataclass(frozen=True)
class Task:
    """A synthetic task: its name, its metric, and the function that draws it."""

    name: str
    kind: str
    washout: int
    metric: str
    citation: str
    build: Callable[[int], Drawn]

    def load(self, seed: int | None = 0) -> Dataset:
        """Draw the data for a seed."""
        number = entropy(seed)
        (train, validation, test), facts = self.build(number)
        return Dataset(
            name=self.name,
            train=train,
            validation=validation,
            test=test,
            washout=self.washout,
            metric=self.metric,
            citation=self.citation,
            meta={"kind": self.kind, "seed": number, **facts},
        )


_JAEGER = "H. Jaeger, Short term memory in echo state networks, GMD Report 152, 2002"
_VERSTRAETEN = "D. Verstraeten et al., Memory versus non-linearity in reservoirs, IJCNN 2010"
_INUBUSHI = (
    "M. Inubushi and K. Yoshimura, Reservoir computing beyond memory-nonlinearity trade-off, "
    "Scientific Reports 7, 2017"
)
_LORENZ96 = "E. N. Lorenz, Predictability: a problem partly solved, ECMWF seminar, 1996"
_LORENZ63 = (
    "E. N. Lorenz, Deterministic nonperiodic flow, Journal of the Atmospheric Sciences 20, 1963"
)
_MACKEY = (
    "M. C. Mackey and L. Glass, Oscillation and chaos in physiological control systems, "
    "Science 197, 1977"
)
_ATIYA = (
    "A. F. Atiya and A. G. Parlos, New results on recurrent network training, "
    "IEEE Transactions on Neural Networks 11, 2000"
)


def _memory_task(name: str, metric: str, citation: str, build: Callable[[int], Drawn]) -> Task:
    return Task(name, "memory", 100, metric, citation, build)


def _earlier_task(name: str, citation: str, build: Callable[[int], Drawn]) -> Task:
    """As an earlier repository of the paper's group reads the task of that name."""
    return Task(name, "memory", 200, "nrmse", citation, build)


def _forecast_task(name: str, citation: str, build: Callable[[int], Drawn]) -> Task:
    return Task(name, "forecasting", 200, "nrmse", citation, build)


TASKS: Mapping[str, Task] = MappingProxyType(
    {
        task.name: task
        for task in (
            _memory_task("memcap", "memory_capacity", _JAEGER, _memcap),
            _memory_task("ctxor5", "nrmse", _VERSTRAETEN, _ctxor(5)),
            _memory_task("ctxor10", "nrmse", _VERSTRAETEN, _ctxor(10)),
            _memory_task("sinmem10", "nrmse", _INUBUSHI, _sinmem(10)),
            _memory_task("sinmem20", "nrmse", _INUBUSHI, _sinmem(20)),
            _earlier_task("ctxor5-earlier", _VERSTRAETEN, _earlier(ctxor, 5)),
            _earlier_task("ctxor10-earlier", _VERSTRAETEN, _earlier(ctxor, 10)),
            _earlier_task("sinmem10-earlier", _INUBUSHI, _earlier(sinmem, 10)),
            _earlier_task("sinmem20-earlier", _INUBUSHI, _earlier(sinmem, 20)),
            _forecast_task("lz25", _LORENZ96, _lorenz96(25)),
            _forecast_task("lz50", _LORENZ96, _lorenz96(50)),
            _forecast_task("mg", _MACKEY, _ahead(mackey_glass, 1)),
            _forecast_task("mg84", _MACKEY, _ahead(mackey_glass, 84)),
            _forecast_task("narma10", _ATIYA, _narma(10)),
            _forecast_task("narma30", _ATIYA, _narma(30)),
            Task("lorenz63", "closed loop", 200, "nrmse", _LORENZ63,
                 _ahead(lorenz63, 1, dt=0.02, lyapunov_exponent=0.906)),
        )
    }
)  # fmt: skip

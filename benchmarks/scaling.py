"""What steps, units, series and input features cost as they grow, beside what memory allows.

The limit is the time in which one thread writes as many bytes to memory that is in use already,
measured in the same run; streamed states may do better where their blocks stay in a cache. The
figure goes to ``scaling.png`` in the folder that PARALESN_FIGURES names, or in the current one.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.timing import Report
from paralesn import ParalESN
from paralesn.files import save_figure

Curve = dict[int, float]  # nanoseconds for a step of a unit, by what grows
WRITTEN = ("steps", "units")  # curves whose states are all written
_BLOCK = 1_000_000  # steps of a stream that are handed over at once


def run() -> Report:
    """Measure every curve."""
    report = Report("Nanoseconds for a step of a unit as a job grows, float64, all cores")
    limit = write_limit()
    report.value("writing one float64 to memory in use, one thread", limit, "ns")
    curves = {
        "steps": steps(),
        "units": units(),
        "series of 100 steps": series(),
        "input features": features(),
    }
    for name, curve in curves.items():
        for size, cost in curve.items():
            detail = f"{limit / cost:.0%} of the limit" if name in WRITTEN else ""
            report.value(f"{name}: {size:,}", cost, "ns", detail=detail)
    draw(curves, limit)
    return report


def write_limit() -> float:
    """Nanoseconds to write one number, by the least of some fills of 256 MB."""
    memory = np.zeros(1 << 25)
    return _least(lambda: memory.fill(1.0), 5) / memory.size * 1e9


def steps() -> Curve:
    """One series of 128 units, streamed, from 10^3 to 10^8 steps."""
    reservoir = ParalESN(units=128)
    x = _uniform(_BLOCK, 1)
    curve = {}
    for exponent in range(3, 9):
        count = 10**exponent
        piece = x[: min(count, _BLOCK)]

        def stream(piece: np.ndarray = piece, count: int = count) -> None:
            for _ in reservoir.stream(iter([piece] * (count // len(piece)))):
                pass

        rounds = 5 if exponent < 7 else 1
        curve[count] = _least(stream, rounds) / (count * 128) * 1e9
    return curve


def units() -> Curve:
    """All states of one series, from 10^2 to 10^6 units, 10^7 numbers each time."""
    curve = {}
    for exponent in range(2, 7):
        count = 10**exponent
        x = _uniform(10**7 // count, 1)
        reservoir = ParalESN(units=count).fit(x)
        curve[count] = _least(lambda r=reservoir, x=x: r.run(x), 5) / 1e7 * 1e9  # type: ignore[misc]
    return curve


def series() -> Curve:
    """Last states of 128 units, from 1 to 10^5 series of 100 steps."""
    reservoir = ParalESN(units=128)
    curve = {}
    for exponent in range(6):
        x = _uniform(10**exponent, 100, 1)
        call = lambda x=x: reservoir.last(x)  # noqa: E731
        curve[10**exponent] = _least(call, 5) / (x.size * 128) * 1e9
    return curve


def features() -> Curve:
    """All states of one series of 2 000 steps and 128 units, from 1 to 1 000 input features."""
    curve = {}
    for exponent in range(4):
        x = _uniform(2000, 10**exponent)
        reservoir = ParalESN(units=128).fit(x)
        curve[10**exponent] = _least(lambda r=reservoir, x=x: r.run(x), 7) / (2000 * 128) * 1e9  # type: ignore[misc]
    return curve


def draw(curves: dict[str, Curve], limit: float) -> Path:
    """Draw every curve, and the limit of those that write states."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(14, 3.4), layout="constrained")
    for ax, (name, curve) in zip(axes, curves.items(), strict=True):
        ax.loglog(list(curve), list(curve.values()), "o-", color="tab:blue")
        if name in WRITTEN:
            ax.axhline(limit, color="grey", linestyle="--", label="writing to memory")
            ax.legend()
        ax.set(xlabel=name)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("ns for a step of a unit")
    path = Path(os.environ.get("PARALESN_FIGURES", ".")) / "scaling.png"
    save_figure(figure, path)
    plt.close(figure)
    return path


def _least(call: Callable[[], object], rounds: int) -> float:
    """Least seconds of some calls, after one to warm up where there are several."""
    seconds = []
    for _ in range(rounds + (rounds > 1)):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
        del result
    return min(seconds)


def _uniform(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, shape)

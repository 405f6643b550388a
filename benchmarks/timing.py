"""Measure contestants side by side and print what came out."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table


def medians(contestants: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each contestant over `rounds`, in three sweeps over all of them.

    A contestant has several turns in a row, after a pause and a warm-up: the threads of other
    libraries go on spinning for a while after their work and would slow down whoever comes next.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(3):
        for name, call in contestants.items():
            time.sleep(0.3)
            call()
            for _ in range(-(-rounds // 3)):
                start = time.perf_counter()
                result = call()
                seconds[name].append(time.perf_counter() - start)
                del result  # giving memory back is nobody's work here
    return {name: statistics.median(times) for name, times in seconds.items()}


def once(contestants: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of each contestant, where one turn takes long enough to be measured."""
    seconds = {}
    for name, call in contestants.items():
        start = time.perf_counter()
        call()
        seconds[name] = time.perf_counter() - start
    return seconds


@dataclass
class Report:
    """Lines of the table: a claim, what was measured, what was wanted."""

    title: str
    rows: list[tuple[str, str, str, str, str]] = field(default_factory=list)

    def ratio(self, claim: str, ours: float, rival: float, wanted: float | None = None) -> None:
        """Add how many times faster `ours` is than `rival`, both in seconds."""
        value = rival / ours
        verdict = "" if wanted is None else "yes" if value >= wanted else "NO"
        target = "" if wanted is None else f">= {wanted:g}x"
        detail = f"{_seconds(ours)} against {_seconds(rival)}"
        self.rows.append((claim, f"{value:.3g}x", detail, target, verdict))

    def value(
        self, claim: str, value: float, unit: str, below: float | None = None, detail: str = ""
    ) -> None:
        """Add a number that should stay below a bound."""
        verdict = "" if below is None else "yes" if value < below else "NO"
        target = "" if below is None else f"< {below:g} {unit}"
        self.rows.append((claim, f"{value:.3g} {unit}", detail, target, verdict))

    def score(self, claim: str, value: float, detail: str, least: float | None = None) -> None:
        """Add a score that should be at least as high as a bound."""
        verdict = "" if least is None else "yes" if value >= least else "NO"
        target = "" if least is None else f">= {least:g}"
        self.rows.append((claim, f"{value:.3f}", detail, target, verdict))

    def note(self, claim: str, text: str) -> None:
        """Add a line without a number."""
        self.rows.append((claim, "", text, "", ""))

    def show(self, console: Console) -> None:
        """Print the table."""
        table = Table(title=self.title, title_justify="left")
        for column, justify in (("claim", "left"), ("measured", "right"), ("detail", "left"),
                                ("wanted", "right"), ("met", "left")):  # fmt: skip
            table.add_column(column, justify=justify)  # type: ignore[arg-type]
        for row in self.rows:
            table.add_row(*row, style="red" if row[-1] == "NO" else "")
        console.print(table)


def _seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.3g} s"

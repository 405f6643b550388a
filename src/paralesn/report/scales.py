"""Axes: values to places, and where ticks go."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

_NICE = (1.0, 2.0, 5.0, 10.0)
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high`, logarithmic or not, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Where a value is drawn."""
        low, high, at = (self._linear(v) for v in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def _linear(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def ticks(self, most: int = 6) -> list[float]:
        """At most about so many round values: powers of ten, or steps of 1, 2, 5."""
        if self.log:
            return self._powers(most)
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(nice * power for nice in _NICE if nice * power >= rough * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [i * step for i in range(first, last + 1)]

    def _powers(self, most: int) -> list[float]:
        low, high = math.log10(self.low), math.log10(self.high)
        first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
        if last - first >= 2:
            step = max(1, math.ceil((last - first) / most))
            return [10.0**power for power in range(first, last + 1, step)]
        values = [f * 10.0**p for p in range(first - 1, last + 1) for f in (1, 2, 5)]
        return [v for v in values if self.low * 0.999 <= v <= self.high * 1.001]


def scale(
    values: Iterable[float], start: float, end: float, log: bool = False, margin: float = 0.05
) -> Scale:
    """A scale that shows all values, and a little more."""
    there = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    low, high = min(there), max(there)
    if log:
        room = max(math.log10(high / low), 0.3) * margin
        return Scale(low / 10**room, high * 10**room, start, end, True)
    room = (high - low or abs(high) or 1.0) * margin
    return Scale(low - room, high + room, start, end)


def short(value: float) -> str:
    """A tick's label: 1000 is 1k, 0.00001 a power of ten."""
    size = abs(value)
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if size >= factor * 0.9995:
            return f"{value / factor:.3g}{unit}"
    if value == 0 or size >= 0.0009995:
        return f"{value:.3g}"
    power = math.floor(math.log10(size) + 1e-4)
    first = f"{value / 10**power:.3g}"
    raised = "10" + str(power).translate(_RAISED)
    return raised if first == "1" else f"{first}·{raised}"

"""What follows from measurements of complexity: curves, exponents, what ran out of memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn.paper.studies.complexity import Measurement


@dataclass(frozen=True)
class Fit:
    """An exponent, and the range of x it holds for."""

    exponent: float
    low: int
    high: int


def fit_exponent(x: Sequence[float], y: Sequence[float]) -> Fit | None:
    """Slope of log y over log x by least squares, in the larger half of x, at least two of them.

    In the smaller half the fixed cost of a call may hide the trend.
    """
    order = np.argsort(x)[len(x) // 2 - (len(x) == 2) :]
    if order.size < 2:
        return None
    log_x, log_y = np.log(np.take(x, order)), np.log(np.take(y, order))
    slope = float(np.polyfit(log_x, log_y, 1)[0])
    return Fit(slope, int(np.take(x, order[0])), int(np.take(x, order[-1])))


def curve(record: dict[str, Any], kind: str, model: str, x: str, y: str) -> dict[int, float]:
    """Values `y` (the median, of rounds) by `x`, ascending, of one model."""
    values = {
        measured[x]: measured[y]
        for measured in record["measurements"]
        if (measured["kind"], measured["model"]) == (kind, model) and measured.get(y) is not None
    }
    return {at: float(np.median(values[at])) for at in sorted(values)}


def out_of_memory(
    record: dict[str, Any], model: str = "ESN", kinds: Sequence[str] = ("size", "matrix")
) -> Measurement | None:
    """The smallest size that did not fit."""
    failed = [
        measured
        for measured in record["measurements"]
        if measured["model"] == model
        and measured["kind"] in kinds
        and measured.get("out_of_memory")
    ]
    return min(failed, key=lambda measured: measured["units"]) if failed else None

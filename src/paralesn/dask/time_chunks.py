"""Where runs of a long series begin: in a halo read from the source, or in states carried over."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.delayed import delayed

from paralesn import checks
from paralesn.dask.blocks import Part, Parts
from paralesn.estimators import carry_over
from paralesn.estimators.regressor_passes import StatePass
from paralesn.runtime import threads

_SMALL_SHARE = 0.02  # of a run that a halo may be as long as, before states are carried over


@dataclass(frozen=True)
class Starts:
    """What precedes each run: nothing, a halo that is not read yet, or a State."""

    before: list[Any]

    @classmethod
    def none(cls, count: int) -> "Starts":
        """For runs of whole series."""
        return cls([None] * count)


def starts_of(
    step: StatePass, parts: Parts, runs: list[list[Part]], halo: int | None, engine: Any
) -> Starts:
    """What each run of a series begins with."""
    if len(runs) == 1:
        return Starts.none(1)
    reservoir, length = step.reservoir, halo
    if length is None:
        length = carry_over.forgotten_after(reservoir)
        if length is None:
            raise checks.fail(
                "reservoir",
                reservoir,
                "one of diagonal layers for a series that is cut over time; cut it over cases, or "
                "give halo, the steps after which it has forgotten",
            )
        shortest = min(sum(part.count or 0 for part in run) for run in runs[:-1])
        if carry_over.is_exact(reservoir) and length > _SMALL_SHARE * shortest:
            return _carried(step, runs, engine)
    return Starts([read_before(parts.array, run[0].first, length) for run in runs])


def read_before(array: Any, first: int, length: int) -> Any:
    """The time steps before one, read from the source: a slice, and not the block it lies in."""
    if first == 0 or length == 0:
        return None
    return array[max(0, first - length) : first].rechunk(-1).to_delayed().reshape(-1)[0]


def _carried(step: StatePass, runs: list[list[Part]], engine: Any) -> Starts:
    """States that runs begin in, from those that each would end in if it began in zero."""
    shared = delayed(engine.scattered(step), pure=True)
    ends = []
    for run in runs[:-1]:
        end = None
        for part in run:
            end = delayed(_end, pure=True)(shared, part.X, end)
        ends.append(end)
    before: list[Any] = [None]
    for run, end in zip(runs, engine.compute(ends), strict=False):
        steps = sum(part.count or 0 for part in run)
        before.append(carry_over.carried(step.reservoir, before[-1], end, steps))
    return Starts(before)


def _end(step: StatePass, X: np.ndarray, before: Any) -> Any:
    with threads.limited(1):
        return carry_over.end_from_zero(step, X, before)

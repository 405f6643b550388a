"""What a search may take: seconds, or a number of trials."""

import re
from dataclasses import dataclass
from numbers import Integral, Real
from time import monotonic
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.workflows.trials import Trial

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Limit:
    """A budget: seconds, or a number of trials."""

    seconds: float | None
    count: int | None

    def share(self, start: float, first: int, trials: list[Trial]) -> float:
        """How much of it is used, since `start` and the trial `first`."""
        if self.count is not None:
            return min(1.0, (len(trials) - first) / self.count)
        assert self.seconds is not None
        return min(1.0, (monotonic() - start) / self.seconds)

    def is_used(self, start: float, first: int, trials: list[Trial]) -> bool:
        """Whether another trial, which takes as long as most did, would exceed it."""
        if self.count is not None:
            return len(trials) - first >= self.count
        assert self.seconds is not None
        typical = float(np.median([t.seconds for t in trials])) if trials else 0.0
        return monotonic() - start + typical > self.seconds


def check_budget(budget: Any) -> Limit:
    """Seconds, or a number of trials.

    Examples
    --------
    >>> from paralesn.workflows.budget import check_budget
    >>> check_budget("5min"), check_budget(20)
    (Limit(seconds=300.0, count=None), Limit(seconds=None, count=20))
    """
    expected = "a time such as '60s', '5min' or '1h', seconds (float) or a number of trials (int)"
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h)\s*", budget)
        seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
        if not 0 < seconds < np.inf:
            raise checks.fail("budget", budget, expected)
        return Limit(seconds, None)
    if isinstance(budget, bool | np.bool_) or not isinstance(budget, Real):
        raise checks.fail("budget", budget, expected, TypeError)
    if isinstance(budget, Integral):
        return Limit(None, checks.integer("budget", budget, 1))
    return Limit(checks.number("budget", budget, 0, open_left=True), None)

"""What to know about the data and the fit of many series, added up over blocks of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from paralesn.estimators.forecaster.fitted import FittedForecaster
from paralesn.estimators.forecaster.panel import MOST_NOTES, Panel, counted_notes
from paralesn.estimators.forecaster.spread import LITTLE_EVIDENCE
from paralesn.estimators.passes import Held
from paralesn.persistence import register
from paralesn.persistence.fields import Count

_COUNTED = re.compile(r"(rows of )(\d+)( series were not in the order of time: sorted)")


@register
@dataclass(frozen=True)
class PanelNotes(Held):
    """Notes on some series.

    Attributes
    ----------
    texts : tuple of str
        The first notes on how series were read.
    count : int
        Of all such notes.
    missing : tuple of int
        Values of X, of past and of y that are missing.
    """

    texts: tuple[str, ...]
    count: Count
    missing: tuple[Count, Count, Count]

    @classmethod
    def of(cls, panel: Panel, missing_known: int, missing_past: int) -> Self:
        """Notes on a panel and its inputs."""
        missing = sum(int(np.isnan(v).sum()) for v in panel.values)
        texts = tuple(panel.notes[:MOST_NOTES])
        return cls(texts, len(panel.notes), (missing_known, missing_past, missing))

    def merged(self, other: Self) -> Self:
        """Notes on the series of both; what is said of both is said once."""
        texts, known = _added_up(self.texts, other.texts)
        x, past, y = (a + b for a, b in zip(self.missing, other.missing, strict=True))
        count = self.count + other.count - known
        return type(self)(texts[:MOST_NOTES], count, (x, past, y))

    def worded(self, fitted: FittedForecaster) -> tuple[str, ...]:
        """All notes on a forecaster."""
        notes, total = counted_notes(self.texts, self.count), fitted.count
        for name, missing in zip(("X", "past"), self.missing, strict=False):
            if missing:
                notes.append(f"{missing} values of {name} are missing: interpolated")
        if self.missing[2]:
            notes.append(
                f"{self.missing[2]} values of y are missing: smoothers go on as they predicted, "
                "the reservoir reads them interpolated, and no error is counted there"
            )
        effects = fitted.effects
        if effects.coefficients.shape[1] and not effects.helps.all():
            without = int((~effects.helps).sum())
            notes.append(f"known inputs did not help with {without} of {total} series")
        few = int((fitted.ensemble.spread.evidence < LITTLE_EVIDENCE).sum())
        if few:
            of = "the series is" if total == 1 else f"{few} of {total} series are"
            notes.append(
                f"intervals rest on few forecasts, as {of} short for the horizon: they are wide on "
                "purpose"
            )
        return tuple(notes)


def _added_up(texts: Sequence[str], more: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Texts of both, and how many of the second are in the first, their numbers of series added."""
    every, known = list(texts), 0
    for text in more:
        counted = _COUNTED.fullmatch(text)
        same = [k for k, old in enumerate(every)
                if old == text or (counted and _COUNTED.fullmatch(old))]  # fmt: skip
        if not same:
            every.append(text)
            continue
        known += 1
        before = _COUNTED.fullmatch(every[same[0]])
        if counted and before:
            every[same[0]] = before[1] + str(int(before[2]) + int(counted[2])) + before[3]
    return tuple(every), known

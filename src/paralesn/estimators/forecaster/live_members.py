"""Members of a forecaster on live data: moved on by a row at a time, apart from what was learnt."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from paralesn.estimators.forecaster.calendar import calendar_columns
from paralesn.estimators.forecaster.ensemble import FittedEnsemble
from paralesn.estimators.forecaster.fitted import Ends, FittedForecaster
from paralesn.estimators.forecaster.fitting import scaled
from paralesn.estimators.forecaster.following import learner
from paralesn.estimators.forecaster.online_members import learn_rows, look_back, recent
from paralesn.estimators.forecaster.panel import LIST, LONG
from paralesn.estimators.forecaster.values import refuse_large
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.persistence.fields import Counts, Floats, OpenFloats


@register
@dataclass(frozen=True, eq=False)
class Position:
    """Where the members of a forecaster are: what changes with every row.

    Attributes
    ----------
    ends : Ends
        Of the series.
    smoothers : (rows, M)
        States of the smoothers of all series.
    states : tuple of State
        Of the reservoir of each shared readout.
    newest, latest : tuples of arrays
        The last values that each of these read, and what its readout reads of the last step.
    recent : (steps,)
        The last steps of every series, end to end, as members read them.
    counts : (S,)
        Steps of each in `recent`.
    """

    ends: Ends
    smoothers: Floats
    states: tuple[State, ...]
    newest: tuple[Floats, ...]
    latest: tuple[Floats, ...]
    recent: OpenFloats
    counts: Counts

    def __post_init__(self) -> None:
        right = (
            np.isfinite(self.smoothers).all() and int(self.counts.sum()) == self.recent.size
            and len(self.states) == len(self.newest) == len(self.latest)
            and self.ends.counts.shape == self.counts.shape
        )  # fmt: skip
        if not right:
            raise ValueError("the parts of a Position do not fit together")

    def histories(self) -> list[np.ndarray]:
        """The last steps of every series."""
        return np.split(self.recent, np.cumsum(self.counts)[:-1])


class LiveMembers:
    """Read rows with a fitted forecaster of any number of series.

    Parameters
    ----------
    fitted : FittedForecaster
        Without inputs known in advance. Those known up to now must be the same for all series.

    Attributes
    ----------
    width : int
        Values of a row: one for each series, then the inputs known up to now.
    """

    def __init__(self, fitted: FittedForecaster) -> None:
        if fitted.known.names:
            names = ", ".join(map(repr, fitted.known.names))
            raise ValueError(f"live data need a model without inputs known in advance, got {names}")
        if fitted.past.names and (fitted.layout.kind in (LIST, LONG) or fitted.past.categories):
            raise ValueError(
                "live data need inputs of numbers that are the same for all series, got "
                f"{', '.join(map(repr, fitted.past.names))}"
            )
        self.fitted = fitted
        self.width = fitted.count + len(fitted.past.names)
        self._needed = [look_back(bank) for bank in fitted.ensemble.banks]

    def end(self) -> Position:
        """After everything the forecaster has seen."""
        return self._position(self.fitted.ends, self.fitted.ensemble, self.fitted.remainders())

    def learner(self) -> FittedEnsemble:
        """The ensemble after everything the forecaster has seen, ready to learn on."""
        return learner(self.fitted)

    def read(
        self, row: np.ndarray, position: Position, learnt: FittedEnsemble | None = None,
        factor: float | None = None,
    ) -> tuple[np.ndarray, Position, FittedEnsemble | None]:  # fmt: skip
        """Forecasts (horizon, series) after a row (width,), NaN where a value is missing.

        By the ensemble that was `learnt` so far, which with a `factor` learns from the row and
        forgets by it.
        """
        fitted, count = self.fitted, self.fitted.count
        if row.shape != (self.width,) or np.isinf(row).any():
            raise ValueError(f"row must hold {self.width} finite values or NaN, got {row}")
        refuse_large(row, "row")
        horizon = fitted.ensemble.horizon
        others = np.nan_to_num(scaled(row[None, count:], fitted.past_scaling))
        explained = [self._explained(position.ends, i, horizon + 1) for i in range(count)]
        new = [row[i : i + 1] - explained[i][:1] for i in range(count)]
        histories, origin = position.histories(), np.zeros(1, np.int64)
        ensemble = self._at(position, learnt)
        if factor is not None:
            given = (histories, new, [others] * count, factor)
            ahead, ensemble = learn_rows(ensemble, *given)
        else:
            made, ensemble = ensemble.follow(histories, new, [others] * count, [origin] * count)
            ahead = [f[0] for f in made]
        values = np.stack([f + e[1:] for f, e in zip(ahead, explained, strict=True)], axis=1)
        grown = [np.concatenate(pair) for pair in zip(histories, new, strict=True)]
        return (
            np.maximum(values, fitted.floor),
            self._position(_next(position.ends), ensemble, grown),
            ensemble if factor is not None else learnt,
        )

    def _explained(self, ends: Ends, i: int, steps: int) -> np.ndarray:
        """What the calendar explains (steps,) of the steps to come of series i."""
        fitted = self.fitted
        if not fitted.calendar:
            return np.zeros(steps)
        times = np.asarray(ends.times_ahead(i, steps))
        return fitted.effects.of(i, calendar_columns(times, fitted.calendar))

    def _at(self, position: Position, learnt: FittedEnsemble | None) -> FittedEnsemble:
        """The ensemble, its members at a position."""
        ensemble = self.fitted.ensemble if learnt is None else learnt
        banks = replace(ensemble.banks, state=position.smoothers, counts=position.ends.counts)
        moving = zip(
            ensemble.shared, position.states, position.newest, position.latest, strict=True
        )
        shared = tuple(replace(m, state=s, newest=n, latest=z) for m, s, n, z in moving)
        return replace(ensemble, banks=banks, shared=shared)

    def _position(
        self, ends: Ends, ensemble: FittedEnsemble, histories: Sequence[np.ndarray]
    ) -> Position:
        kept = [recent(y, needed) for y, needed in zip(histories, self._needed, strict=True)]
        shared = ensemble.shared
        return Position(
            ends, ensemble.banks.state, tuple(m.state for m in shared),
            tuple(m.newest for m in shared), tuple(m.latest for m in shared),
            np.concatenate(kept), np.array([y.size for y in kept], np.int64),
        )  # fmt: skip


def _next(ends: Ends) -> Ends:
    """One step later."""
    counts = ends.counts + 1
    if not ends.kind:
        return replace(ends, counts=counts)
    last = [np.asarray(ends.times_ahead(i, 1))[0] for i in range(len(counts))]
    times = np.array(last)
    return replace(
        ends, counts=counts, last=times.astype("M8[ns]").astype(np.int64) if ends.is_date else times
    )

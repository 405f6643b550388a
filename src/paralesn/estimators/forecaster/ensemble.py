"""Bank and reservoir together: forecasts of both, weighed for every series."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from paralesn.estimators.forecaster.changes import Reading
from paralesn.estimators.forecaster.packed_banks import PackedBanks
from paralesn.estimators.forecaster.shared_readout import (
    SharedReadout,
)
from paralesn.estimators.forecaster.spread import Spread
from paralesn.persistence import register
from paralesn.persistence.fields import Count, Counts, Floats, OpenFloats


class Learning(NamedTuple):
    """What an ensemble learns from one series.

    Attributes
    ----------
    y : (n,)
        Values, NaN where one is missing.
    seasons : tuple of int
    others : (n, inputs)
        Inputs known only up to now, standardised.
    static : (static,)
    """

    y: np.ndarray
    seasons: tuple[int, ...]
    others: np.ndarray
    static: np.ndarray


@register
@dataclass(frozen=True, eq=False)
class OnlineMembers:
    """What members that learn on wait for, and what they know of their errors.

    Attributes
    ----------
    values : (S, 1 + horizon)
        The newest values, NaN where one is missing.
    waiting : tuple of arrays (series, horizon, units)
        For each shared readout, the states of the last steps, whose futures are not complete.
    ahead : (S, members, horizon, horizon)
        Forecasts that the members made at these steps.
    errors : (S, members)
        Mean absolute errors of the members; NaN where there is none yet.
    scale : (S, horizon)
        Mean absolute error of the forecast at every step.
    seen : (S,)
        Forecasts that these means count for, those forgotten for less.
    """

    values: OpenFloats
    waiting: tuple[Floats, ...]
    ahead: OpenFloats
    errors: OpenFloats
    scale: OpenFloats
    seen: Floats

    def check(self, count: int, members: int, horizon: int) -> None:
        """Check what a file said."""
        right = (
            self.values.shape == (count, 1 + horizon)
            and self.ahead.shape == (count, members, horizon, horizon)
            and len(self.waiting) == members - 1
            and all(z.ndim == 3 and z.shape[1] == horizon for z in self.waiting)
            and self.errors.shape == (count, members) and self.scale.shape == (count, horizon)
            and self.seen.shape == (count,) and np.isfinite(self.seen).all()
        )  # fmt: skip
        if not right:
            raise ValueError("the parts of members that learn on do not fit together")


@register
@dataclass(frozen=True, eq=False)
class FittedEnsemble:
    """Everything that forecasts of S series are made of.

    Attributes
    ----------
    horizon : int
    banks : PackedBanks
    shared : tuple of SharedReadout
        Of values, of logarithms, or neither.
    of_shared : tuple of arrays
        The series that each of these forecasts.
    weights : (S, 1 + len(shared))
        Of the bank and of each shared readout.
    spread : Spread
    errors : (S, 1 + len(shared)), or None where they are not known
        Mean absolute errors that members are weighed by, infinite for one that is not there.
    online : OnlineMembers or None
        None unless members are learning on.
    """

    horizon: Count
    banks: PackedBanks
    shared: tuple[SharedReadout, ...]
    of_shared: tuple[Counts, ...]
    weights: Floats
    spread: Spread
    errors: OpenFloats | None = None
    online: OnlineMembers | None = None

    def forecast(self, histories: Sequence[np.ndarray], steps: int) -> np.ndarray:
        """Forecasts (S, steps) after the histories, at whose ends the members are."""
        own = zip(self.weights[:, 0], self.banks, histories, strict=True)
        values = np.stack([w * bank.forecast(y, steps) for w, bank, y in own])
        for k, (member, series) in enumerate(zip(self.shared, self.of_shared, strict=True), 1):
            counted = self.weights[series, k]
            values[series] += counted[:, None] * _where(counted, member.forecast(steps))
        return np.maximum(values, self.spread.floor[:, None])

    def follow(
        self, histories: Sequence[np.ndarray], new: Sequence[np.ndarray],
        others: Sequence[np.ndarray], origins: Sequence[np.ndarray],
    ) -> tuple[list[np.ndarray], "FittedEnsemble"]:  # fmt: skip
        """Forecasts (O, horizon) from steps of `new`, which follow, and the ensemble after them."""
        forecasts, banks = [], []
        for w, bank, y, x, o in zip(
            self.weights[:, 0], self.banks, histories, new, origins, strict=True
        ):
            ahead, bank = bank.follow(x, o, self.horizon, before=y)
            forecasts.append(w * ahead)
            banks.append(bank)
        shared = []
        for k, (member, series) in enumerate(zip(self.shared, self.of_shared, strict=True), 1):
            readings = [
                Reading(readable(new[i], histories[i], member.log), others[i], member.static[j])
                for j, i in enumerate(series)
            ]
            ahead_of_each, member = member.follow(readings, [origins[i] for i in series], True)
            for i, ahead in zip(series, ahead_of_each, strict=True):
                if self.weights[i, k]:
                    forecasts[i] += self.weights[i, k] * ahead
            shared.append(member)
        forecasts = [np.maximum(f, low) for f, low in
                     zip(forecasts, self.spread.floor, strict=True)]  # fmt: skip
        after = replace(self, banks=PackedBanks.pack(banks), shared=tuple(shared), online=None)
        return forecasts, after

    def one_step(
        self, histories: Sequence[np.ndarray], others: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """Forecasts (n,) of every step of the histories from the one before; NaN for the first."""
        origins = [np.arange(y.size - 1) for y in histories]
        values = [w * bank.follow(y, o, 1)[0][:, 0] for w, bank, y, o in
                  zip(self.weights[:, 0], self.banks, histories, origins, strict=True)]  # fmt: skip
        for k, (member, series) in enumerate(zip(self.shared, self.of_shared, strict=True), 1):
            readings = [Reading(readable(histories[i], None, member.log), others[i],
                                member.static[j]) for j, i in enumerate(series)]  # fmt: skip
            ahead, _ = member.follow(readings, [origins[i] for i in series], go_on=False)
            for i, forecasts in zip(series, ahead, strict=True):
                if self.weights[i, k]:
                    values[i] += self.weights[i, k] * forecasts[:, 0]
        return [np.concatenate([[np.nan], np.maximum(v, low)]) for v, low in
                zip(values, self.spread.floor, strict=True)]  # fmt: skip

    def part(self, series: Sequence[int]) -> "FittedEnsemble":
        """The ensemble of some of the series."""
        chosen, banks = list(series), list(self.banks)
        shared, of_shared = [], []
        for member, members in zip(self.shared, self.of_shared, strict=True):
            at = [(new, int(np.flatnonzero(members == i)[0])) for new, i in enumerate(chosen)
                  if i in members]  # fmt: skip
            old = np.array([j for _, j in at], int)
            state = replace(member.state, layers=tuple(h[old] for h in member.state.layers))
            shared.append(replace(member, scale=member.scale[old], state=state,
                                  newest=member.newest[old], latest=member.latest[old],
                                  static=member.static[old]))  # fmt: skip
            of_shared.append(np.array([new for new, _ in at], int))
        s = self.spread
        rows = (s.scale, s.quantiles, s.multiplicative, s.floor, s.evidence)
        return FittedEnsemble(
            self.horizon, PackedBanks.pack([banks[i] for i in chosen]), tuple(shared),
            tuple(of_shared), self.weights[chosen], Spread(*(row[chosen] for row in rows)),
        )  # fmt: skip

    def replaced(self, series: Sequence[int], part: "FittedEnsemble") -> "FittedEnsemble":
        """This ensemble, with some of the series where `part` has them."""
        banks = list(self.banks)
        for i, bank in zip(series, part.banks, strict=True):
            banks[i] = bank
        new_place = {i: j for j, i in enumerate(series)}
        shared = []
        for k, (member, members) in enumerate(zip(self.shared, self.of_shared, strict=True)):
            other, others = part.shared[k], part.of_shared[k].tolist()
            at = [(j, others.index(new_place[int(i)])) for j, i in enumerate(members)
                  if int(i) in new_place]  # fmt: skip
            old, new = ([pair[side] for pair in at] for side in (0, 1))
            layers = tuple(h.copy() for h in member.state.layers)
            newest, latest = member.newest.copy(), member.latest.copy()
            for h, theirs in zip(layers, other.state.layers, strict=False):
                h[old] = theirs[new]
            newest[old], latest[old] = other.newest[new], other.latest[new]
            state = replace(member.state, layers=layers)
            shared.append(replace(member, state=state, newest=newest, latest=latest))
        return replace(self, banks=PackedBanks.pack(banks), shared=tuple(shared), online=None)

    def without_floor(self) -> "FittedEnsemble":
        """Let forecasts be negative, where they are of remainders."""
        floor = np.full(len(self.banks), -np.inf)
        return replace(self, spread=replace(self.spread, floor=floor))

    def check(self) -> None:
        """Check what a file said."""
        count = len(self.banks)
        self.banks.check()
        self.spread.check(count, self.horizon)
        right = self.weights.shape == (count, 1 + len(self.shared)) and (
            np.isfinite(self.weights).all() and len(self.of_shared) == len(self.shared)
        )
        for member, series in zip(self.shared, self.of_shared, strict=True):
            member.check()
            right = right and member.horizon == self.horizon and len(member.scale) == len(series)
            right = right and (series < count).all() and (series >= 0).all()
        if self.errors is not None:
            right = right and self.errors.shape == self.weights.shape
        if self.online is not None:
            self.online.check(count, 1 + len(self.shared), self.horizon)
        if not right:
            raise ValueError("the members of a forecaster do not fit together")


def readable(y: np.ndarray, before: np.ndarray | None, log: bool) -> np.ndarray:
    """Values or logarithms with missing ones interpolated; after `before`, from its last value."""
    if log:
        y = np.log(np.where(y > 0, y, np.nan))
    if np.isfinite(y).all():
        return y
    seen, at = y[np.isfinite(y)], np.flatnonzero(np.isfinite(y))
    if before is not None:
        known = before[np.isfinite(before) & ((before > 0) | (not log))]
        last = (np.log(known[-1]) if log else known[-1]) if known.size else 0.0
        seen, at = np.concatenate([[last], seen]), np.concatenate([[-1], at])
    return np.interp(np.arange(y.size), at, seen)


def _where(counted: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values of series that count; others may be anything."""
    return np.where(counted[:, None] > 0, values, 0.0)

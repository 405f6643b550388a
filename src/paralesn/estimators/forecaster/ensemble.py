"""Bank and reservoir together: weighed by errors of forecasts that neither had learnt from."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.forecaster import intermittent, spread
from paralesn.estimators.forecaster.bank import FittedBank, fit_bank
from paralesn.estimators.forecaster.packed_banks import PackedBanks
from paralesn.estimators.forecaster.rolling import MOST, evidence, future_of, rolling_origins
from paralesn.estimators.forecaster.shared_readout import (
    Judged,
    Reading,
    SharedReadout,
    fit_shared_readout,
    held_out_from,
)
from paralesn.estimators.forecaster.spread import Errors, Spread
from paralesn.persistence import register
from paralesn.runtime.blas import single_threaded_blas

LEAST_ROWS = 100  # that a readout of one series must have to learn from
_ALONE, _TOGETHER = 4.0, 3.0  # what the bank counts beforehand, with one series and with several
_RANGES = 5.0  # a reservoir's forecast that leaves the history by so many ranges does not count


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
    """

    horizon: int
    banks: PackedBanks
    shared: tuple[SharedReadout, ...]
    of_shared: tuple[np.ndarray, ...]
    weights: np.ndarray
    spread: Spread

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
                Reading(_readable(new[i], histories[i], member.log), others[i], member.static[j])
                for j, i in enumerate(series)
            ]
            ahead_of_each, member = member.follow(readings, [origins[i] for i in series], True)
            for i, ahead in zip(series, ahead_of_each, strict=True):
                if self.weights[i, k]:
                    forecasts[i] += self.weights[i, k] * ahead
            shared.append(member)
        forecasts = [np.maximum(f, low) for f, low in
                     zip(forecasts, self.spread.floor, strict=True)]  # fmt: skip
        after = replace(self, banks=PackedBanks.pack(banks), shared=tuple(shared))
        return forecasts, after

    def one_step(
        self, histories: Sequence[np.ndarray], others: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """Forecasts (n,) of every step of the histories from the one before; NaN for the first."""
        origins = [np.arange(y.size - 1) for y in histories]
        values = [w * bank.follow(y, o, 1)[0][:, 0] for w, bank, y, o in
                  zip(self.weights[:, 0], self.banks, histories, origins, strict=True)]  # fmt: skip
        for k, (member, series) in enumerate(zip(self.shared, self.of_shared, strict=True), 1):
            readings = [Reading(_readable(histories[i], None, member.log), others[i],
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
        return replace(self, banks=PackedBanks.pack(banks), shared=tuple(shared))

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
        if not right:
            raise ValueError("the members of a forecaster do not fit together")


class _Draft(NamedTuple):
    """A series on its way: its bank, and forecasts from the origins that it is judged by."""

    bank: FittedBank
    origins: np.ndarray
    weights: np.ndarray
    truth: np.ndarray
    forecasts: np.ndarray


def fit_ensemble(
    series: Sequence[Learning],
    horizon: int,
    reservoir_for: Callable[[tuple[int, ...], int, int], Any] | None,
    readout: Any,
    n_jobs: int | None = None,
) -> FittedEnsemble:
    """Fit bank and reservoir, and weigh them for every series.

    Parameters
    ----------
    reservoir_for : function of seasons, length and inputs, makes a reservoir to fit
        None: the bank alone.
    readout : regressor that was not fitted yet
    """
    judged_by = {} if reservoir_for is None else _series_of_readouts(series, horizon)
    drafts = _drafts(series, horizon, judged_by.values(), n_jobs)
    members: list[Judged] = []
    of_shared: list[np.ndarray] = []
    for log, chosen in judged_by.items():
        assert reservoir_for is not None
        readings = [Reading(_readable(series[i].y, None, log), series[i].others, series[i].static)
                    for i in chosen]  # fmt: skip
        lengths = [len(reading.values) for reading in readings]
        seasons = tuple(sorted({m for i in chosen for m in series[i].seasons}))[:4]
        fresh = reservoir_for(seasons, int(np.median(lengths)), 1 + series[0].others.shape[1])
        origins = [drafts[i].origins for i in chosen]
        with single_threaded_blas():  # the same bits whatever the number of threads
            judged = fit_shared_readout(readings, horizon, log, fresh, deepcopy(readout), origins)
        if judged is not None:
            members.append(judged)
            of_shared.append(np.array(chosen, int))
    return _weighed(series, drafts, members, of_shared, horizon, several=len(series) > 1)


def apply_ensemble(
    ensemble: FittedEnsemble, series: Sequence[Learning], n_jobs: int | None = None
) -> FittedEnsemble:
    """The ensemble of series never seen: banks of their own, and readouts learnt from others."""
    h = ensemble.horizon
    usable = [i for i, s in enumerate(series)
              if s.y.size > 2 and not intermittent.is_intermittent(s.y)]  # fmt: skip
    chosen_by = [[i for i in usable if not member.log or np.nanmin(series[i].y) > 0]
                 for member in ensemble.shared]  # fmt: skip
    drafts = _drafts(series, h, [], n_jobs)
    members = []
    for member, chosen in zip(ensemble.shared, chosen_by, strict=True):
        readings = [Reading(_readable(series[i].y, None, member.log), series[i].others,
                            series[i].static) for i in chosen]  # fmt: skip
        blank = member.for_series(readings)
        forecasts, new = blank.follow(readings, [drafts[i].origins for i in chosen], go_on=False)
        members.append(Judged(new, list(forecasts)))
    of_shared = [np.array(chosen, int) for chosen in chosen_by]
    return _weighed(series, drafts, members, of_shared, h, several=True)


def _drafts(
    series: Sequence[Learning], horizon: int, judged_by: Any, n_jobs: int | None
) -> list[_Draft]:
    """The bank of every series, on all cores."""
    from paralesn.runtime import threads  # loads Numba

    together = np.zeros(len(series), bool)
    for chosen in judged_by:
        together[chosen] = True
    drafts: list[Any] = [None] * len(series)

    def draft(i: int) -> None:
        drafts[i] = _draft(series[i], horizon, bool(together[i]))

    threads.for_each(draft, range(len(series)), threads.count(n_jobs))
    return drafts


def _weighed(
    series: Sequence[Learning], drafts: Sequence[_Draft], members: Sequence[Judged],
    of_shared: Sequence[np.ndarray], horizon: int, several: bool,
) -> FittedEnsemble:  # fmt: skip
    """Weigh bank and readouts for every series, and measure how far both together are off."""
    weights = np.zeros((len(series), 1 + len(members)))
    place = [{int(i): j for j, i in enumerate(chosen)} for chosen in of_shared]
    errors = []
    for i, (learning, own) in enumerate(zip(series, drafts, strict=True)):
        ahead: list[np.ndarray | None] = [own.forecasts]
        ahead += [judged.forecasts[at[i]] if i in at else None for judged, at in
                  zip(members, place, strict=True)]  # fmt: skip
        weights[i] = _weigh(learning.y, own, ahead, horizon, several)
        both = np.zeros_like(own.forecasts)
        for w, forecasts in zip(weights[i], ahead, strict=True):
            if w and forecasts is not None:
                both += w * forecasts
        errors.append(_errors(learning, own, both, horizon))
    ensemble = FittedEnsemble(
        horizon, PackedBanks.pack([own.bank for own in drafts]),
        tuple(judged.member for judged in members), tuple(of_shared), weights,
        spread.measure(errors, horizon),
    )  # fmt: skip
    return _without_runaways(ensemble, [learning.y for learning in series])


def _series_of_readouts(series: Sequence[Learning], horizon: int) -> dict[bool, list[int]]:
    """Which series a readout of values (False) and one of logarithms (True) learn from."""
    least = LEAST_ROWS if len(series) == 1 else 4
    long = [
        i for i, s in enumerate(series)
        if held_out_from(s.y.size, horizon) - horizon >= least
        and np.isfinite(s.y).sum() > 2 and not intermittent.is_intermittent(s.y)
    ]  # fmt: skip
    positive = [i for i in long if np.nanmin(series[i].y) > 0]
    return {log: chosen for log, chosen in ((False, long), (True, positive)) if chosen}


def _draft(learning: Learning, horizon: int, is_shared: bool) -> _Draft:
    """Fit the bank, and forecast from the origins that members are judged by."""
    y, n = learning.y, learning.y.size
    origins = rolling_origins(n, horizon, max(learning.seasons, default=1))
    bank = fit_bank(y, learning.seasons, horizon, origins)
    steps, weights = origins
    if is_shared:  # the readout has not learnt from what follows these
        first = held_out_from(n, horizon) - 1
        steps = np.unique(np.linspace(first, n - 2, min(MOST, n - 1 - first)).astype(np.int64))
        weights = np.exp(-2.0 * (n - 1 - steps) / n)
    forecasts, _ = bank.follow(y, steps, horizon)
    return _Draft(bank, steps, weights, future_of(y, steps, horizon), forecasts)


def _weigh(
    y: np.ndarray, own: _Draft, ahead: Sequence[np.ndarray | None], horizon: int, several: bool
) -> np.ndarray:
    """Weights of bank and shared readouts, by errors of their forecasts from the same origins."""
    weights = np.zeros(len(ahead))
    if all(forecasts is None for forecasts in ahead[1:]):
        weights[0] = 1.0
        return weights
    counted = np.where(np.isfinite(own.truth), own.weights[:, None], 0.0)
    errors = np.full(len(ahead), np.inf)
    for k, forecasts in enumerate(ahead):
        if forecasts is not None and counted.any():
            off = np.abs(np.nan_to_num(own.truth - forecasts, nan=0.0, posinf=1e300, neginf=1e300))
            errors[k] = (counted * off).sum() / counted.sum()
    present = np.isfinite(errors)
    if not present.any() or errors[present].max() == 0:
        weights[0] = 1.0
        return weights
    power = min(max(evidence(own.origins, y.size, horizon), 4.0), 8.0)
    least = max(errors[present].min(), 1e-9 * errors[present].max())
    weights[present] = (np.maximum(errors[present], least) / least) ** -power
    weights[0] *= (_TOGETHER if several else _ALONE) * (present.sum() - 1) / 2
    return np.asarray(weights / weights.sum())


def _errors(learning: Learning, own: _Draft, forecasts: np.ndarray, horizon: int) -> Errors:
    y = learning.y
    is_product = own.bank.log_share > 0.6
    floor = 0.0 if np.nanmin(y) >= 0 else -np.inf
    seen = evidence(own.origins, y.size, horizon)
    return Errors(forecasts, own.truth, own.weights, seen, is_product, floor)


def _without_runaways(ensemble: FittedEnsemble, histories: Sequence[np.ndarray]) -> FittedEnsemble:
    """Leave out readouts whose forecast leaves the history by more than five ranges of it."""
    weights = ensemble.weights.copy()
    for k, (member, series) in enumerate(zip(ensemble.shared, ensemble.of_shared, strict=True), 1):
        ahead = member.forecast(ensemble.horizon)
        for j, i in enumerate(series):
            y = histories[i][np.isfinite(histories[i])]
            reach = _RANGES * (np.ptp(y) or 1.0)
            if not (np.abs(ahead[j] - np.median(y)) <= reach).all():
                weights[i, k] = 0.0
    total = weights.sum(axis=1)
    weights[total == 0, 0] = 1.0
    return replace(ensemble, weights=weights / weights.sum(axis=1, keepdims=True))


def _readable(y: np.ndarray, before: np.ndarray | None, log: bool) -> np.ndarray:
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

"""Members of a forecaster that learn on, a row at a time.

A value that comes completes what was forecast a horizon before it. The readout of the reservoir
then learns from the state it had there, by recursive least squares; the members' mean errors, by
which they are weighed, and the sizes of errors, which intervals are made of, move on by that
forecast. Smoothers learn nothing but their states, and seasons, scales and penalties stay.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from paralesn.estimators.forecaster.bank import FittedBank
from paralesn.estimators.forecaster.changes import Reading, StateBlocks
from paralesn.estimators.forecaster.ensemble import FittedEnsemble, OnlineMembers, readable
from paralesn.estimators.forecaster.packed_banks import PackedBanks
from paralesn.estimators.forecaster.shared_readout import SharedReadout, held_out_from
from paralesn.estimators.forecaster.spread import moved_on
from paralesn.estimators.forecaster.weighing import weights_by
from paralesn.estimators.online import own_learner
from paralesn.readouts.ridge import Ridge

_LEAST = 64  # steps of the past that are kept, where seasons need fewer


def begin(
    ensemble: FittedEnsemble, histories: Sequence[np.ndarray], others: Sequence[np.ndarray]
) -> FittedEnsemble:
    """The ensemble at the end of histories, ready to learn from what follows them."""
    if ensemble.online is not None:
        return ensemble
    h, count = ensemble.horizon, len(histories)
    values = np.full((count, h + 1), np.nan)
    for row, y in zip(values, histories, strict=True):
        last = y[-h - 1 :]
        row[h + 1 - last.size :] = last
    waiting = []
    for member, series in zip(ensemble.shared, ensemble.of_shared, strict=True):
        own_learner(member.readout)  # refuses one that cannot
        readings = [Reading(readable(histories[i], None, member.log), others[i], member.static[j])
                    for j, i in enumerate(series)]  # fmt: skip
        kept = np.full((len(series), h, member.reservoir.n_features_out_), np.nan)
        for j, first, z in StateBlocks(member.reservoir, readings, member.scale):
            start, last = len(readings[j].values) - h, first + len(z)
            if last > start:
                begun = max(first, start)
                kept[j, begun - start : last - start] = z[begun - first :]
        waiting.append(kept)
    members = 1 + len(ensemble.shared)
    seen = np.array([y.size - held_out_from(y.size, h) for y in histories], float)
    errors = np.full((count, members), np.nan) if ensemble.errors is None else ensemble.errors
    online = OnlineMembers(
        values, tuple(waiting), np.full((count, members, h, h), np.nan), errors,
        ensemble.spread.scale, seen,
    )  # fmt: skip
    return replace(ensemble, online=online)


def forgotten(ensemble: FittedEnsemble, factor: float) -> FittedEnsemble:
    """Everything learnt counts `factor` times as much."""
    shared = tuple(
        replace(member, readout=own_learner(member.readout).forget(factor))
        for member in ensemble.shared
    )
    online = ensemble.online
    if online is not None:
        online = replace(online, seen=online.seen * factor)
    return replace(ensemble, shared=shared, online=online)


def learn_rows(
    ensemble: FittedEnsemble,
    histories: Sequence[np.ndarray],
    new: Sequence[np.ndarray],
    others: Sequence[np.ndarray],
    factor: float = 1.0,
) -> tuple[list[np.ndarray], FittedEnsemble]:
    """Learn from new steps (n,) of every series one by one, after `begin`; n may differ, and be 0.

    Returns forecasts (horizon,) from the last step of each, NaN where there was none, and the
    ensemble after them. With a `factor` below 1 everything seen fades by it at every step.
    """
    pasts, needed = list(histories), [look_back(bank) for bank in ensemble.banks]
    forecasts = [np.full(ensemble.horizon, np.nan) for _ in new]
    for t in range(max((y.size for y in new), default=0)):
        row = [y[t : t + 1] for y in new]
        given = [x[t : t + 1] for x in others]
        ahead, ensemble = _learn_row(ensemble, pasts, row, given, factor)
        for i, y in enumerate(row):
            if y.size:
                pasts[i] = np.concatenate([recent(pasts[i], needed[i]), y])
                forecasts[i] = ahead[i]
    return forecasts, ensemble


def look_back(bank: FittedBank) -> int:
    """Steps of the past that naive forecasts look at; medians of demand look at all of them."""
    if bank.flat_weights.size:
        return 1 << 62
    return max(_LEAST, 3 * int(bank.periods.max(initial=1)))


def recent(y: np.ndarray, needed: int) -> np.ndarray:
    """The last steps, from the last value on where all of them are missing."""
    if y.size <= needed:
        return y
    last = y[-needed:]
    if np.isfinite(last).any():
        return last
    seen = np.flatnonzero(np.isfinite(y))
    return y[seen[-1] :] if seen.size else last


def _learn_row(
    ensemble: FittedEnsemble, histories: Sequence[np.ndarray], row: Sequence[np.ndarray],
    others: Sequence[np.ndarray], factor: float,
) -> tuple[np.ndarray, FittedEnsemble]:  # fmt: skip
    """Learn from one step of the series that have one: forecasts (S, horizon), and what is next."""
    online = ensemble.online
    assert online is not None
    moving = np.array([y.size > 0 for y in row])
    values = online.values.copy()
    values[moving, :-1] = values[moving, 1:]
    values[moving, -1] = [y[0] for y in row if y.size]
    ensemble, online = _judged(ensemble, replace(online, values=values), moving, factor)
    ahead = np.full((len(row), 1 + len(ensemble.shared), ensemble.horizon), np.nan)
    banks, origin = [], np.zeros(1, np.int64)
    for i, (bank, before, y) in enumerate(zip(ensemble.banks, histories, row, strict=True)):
        if y.size:
            made, bank = bank.follow(y, origin, ensemble.horizon, before=before)
            ahead[i, 0] = made[0]
        banks.append(bank)
    shared, waiting = [], []
    for k, (member, series) in enumerate(zip(ensemble.shared, ensemble.of_shared, strict=True)):
        member = _taught(member, values[series], moving[series], online.waiting[k], factor)
        readings = [Reading(readable(row[i], histories[i], member.log), others[i],
                            member.static[j]) for j, i in enumerate(series)]  # fmt: skip
        origins = [origin if moving[i] else origin[:0] for i in series]
        made_by_each, member = member.follow(readings, origins, go_on=True)
        kept = online.waiting[k].copy()
        for j, (i, made) in enumerate(zip(series, made_by_each, strict=True)):
            if moving[i]:
                ahead[i, 1 + k] = made[0]
                kept[j, :-1] = kept[j, 1:]
                kept[j, -1] = member.latest[j]
        shared.append(member)
        waiting.append(kept)
    pending = online.ahead.copy()
    pending[moving, :, :-1] = pending[moving, :, 1:]
    pending[moving, :, -1] = ahead[moving]
    online = replace(online, waiting=tuple(waiting), ahead=pending)
    after = replace(ensemble, banks=PackedBanks.pack(banks), shared=tuple(shared), online=online)
    return np.maximum(combined(after.weights, ahead), after.spread.floor[:, None]), after


def combined(weights: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """Forecasts (S, …) of members (S, members, …) together; those that do not count may be NaN."""
    wide = weights.reshape(weights.shape + (1,) * (ahead.ndim - 2))
    return np.asarray(np.where(wide > 0, wide * ahead, 0.0).sum(axis=1))


def _taught(
    member: SharedReadout, values: np.ndarray, moving: np.ndarray, waiting: np.ndarray,
    factor: float,
) -> SharedReadout:  # fmt: skip
    """The member after its readout learnt what followed on the states of a horizon ago."""
    read = np.log(np.where(values > 0, values, np.nan)) if member.log else values
    wanted = (read[:, 1:] - read[:, :1]) / member.scale[:, None]
    states = np.hstack([waiting[:, 0], member.static])
    known = moving & np.isfinite(wanted).all(axis=1) & np.isfinite(states).all(axis=1)
    if not known.any():
        return member
    readout: Any = own_learner(member.readout)
    if factor < 1:
        readout.forget(factor)
    learn = readout.learn_from if isinstance(readout, Ridge) else readout.partial_fit
    learn(states[known], wanted[known])
    return replace(member, readout=readout)


def _judged(
    ensemble: FittedEnsemble, online: OnlineMembers, moving: np.ndarray, factor: float
) -> tuple[FittedEnsemble, OnlineMembers]:
    """Weights and intervals moved on by the forecasts that the newest values complete."""
    oldest, truth = online.ahead[:, :, 0], online.values[:, 1:]
    errors, seen, scale = online.errors.copy(), online.seen.copy(), online.scale.copy()
    weights, spread = ensemble.weights.copy(), ensemble.spread
    seen[moving] *= factor
    for i in np.flatnonzero(moving):
        off = np.abs(truth[i] - oldest[i])  # (members, horizon)
        known = np.isfinite(truth[i]) & np.isfinite(off[0])
        if not known.any():
            continue
        seen[i] += 1.0
        gain = 1.0 / seen[i]
        counts = weights[i] > 0
        means = off[:, known].mean(axis=1)
        before = np.where(np.isfinite(errors[i]), errors[i], means)
        errors[i] = np.where(counts, before + gain * (means - before), errors[i])
        forecast = combined(weights[i : i + 1], oldest[i : i + 1])[0]
        scale[i], spread = moved_on(spread, i, scale[i], forecast, truth[i], gain)
        judged = np.where(counts, errors[i], np.inf)
        weights[i] = weights_by(judged, spread.evidence[i], several=len(weights) > 1)
    online = replace(online, errors=errors, seen=seen, scale=scale)
    return replace(ensemble, weights=weights, spread=spread, errors=errors), online

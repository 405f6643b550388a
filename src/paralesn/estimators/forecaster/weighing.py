"""Fit bank and reservoir, and weigh them by errors of forecasts that neither had learnt from."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from paralesn.estimators.forecaster import intermittent, spread
from paralesn.estimators.forecaster.bank import FittedBank, fit_bank
from paralesn.estimators.forecaster.ensemble import FittedEnsemble, Learning
from paralesn.estimators.forecaster.packed_banks import PackedBanks
from paralesn.estimators.forecaster.rolling import MOST, evidence, future_of, rolling_origins
from paralesn.estimators.forecaster.shared_lessons import LearntTask, learn
from paralesn.estimators.forecaster.shared_readout import Judged, held_out_from
from paralesn.estimators.forecaster.shared_tasks import SeriesFacts, readings_for, shared_tasks
from paralesn.estimators.forecaster.spread import Errors

LEAST_ROWS = 100  # that a readout of one series must have to learn from
_LEAST_OF_EACH = 4  # and those of each of several series
_ALONE, _TOGETHER = 4.0, 3.0  # what the bank counts beforehand, with one series and with several
_RANGES = 5.0  # a reservoir's forecast that leaves the history by so many ranges does not count


class _Draft(NamedTuple):
    """A series on its way: its bank, and forecasts from the origins that it is judged by."""

    bank: FittedBank
    origins: np.ndarray
    weights: np.ndarray
    truth: np.ndarray
    forecasts: np.ndarray


def least_rows(several: bool) -> int:
    """Rows to learn from that a series must have to share in a readout."""
    return _LEAST_OF_EACH if several else LEAST_ROWS


def fit_ensemble(
    series: Sequence[Learning],
    horizon: int,
    reservoir_for: Callable[[tuple[int, ...], int, int], Any] | None,
    readout: Any,
    n_jobs: int | None = None,
) -> FittedEnsemble:
    """Fit bank and reservoir, and weigh them for every series; arguments as in `shared_tasks`."""
    facts, several = SeriesFacts.of(series), len(series) > 1
    least = least_rows(several)
    sizes = series[0].others.shape[1], series[0].static.size
    learnt = []
    for task in shared_tasks(facts, horizon, least, *sizes, reservoir_for, readout):
        chosen = facts.chosen(task.log, horizon, least)
        readings = readings_for(task.log, series, chosen)
        lessons = learn(task, readings)
        if not lessons.is_empty:
            both = LearntTask.of(task, lessons)
            learnt.append(both.chosen_by(both.errors(readings)) if task.merges else both)
    return weigh(series, learnt, horizon, reservoir_for is not None, several, n_jobs)


def weigh(
    series: Sequence[Learning], learnt: Sequence[LearntTask], horizon: int, is_shared: bool,
    several: bool, n_jobs: int | None = None,
) -> FittedEnsemble:  # fmt: skip
    """Fit the banks of series, and weigh them and the shared readouts for each.

    Parameters
    ----------
    is_shared : bool
        Whether series share readouts if there is enough to learn from.
    several : bool
        Whether there is more than one series, here or elsewhere.
    """
    facts, least = SeriesFacts.of(series), least_rows(several)
    candidates = [facts.chosen(False, horizon, least)] if is_shared else []
    drafts = _drafts(series, horizon, candidates, n_jobs)
    of_shared = [facts.chosen(each.task.log, horizon, least) for each in learnt]
    members = [
        each.judged(
            readings_for(each.task.log, series, chosen), [drafts[i].origins for i in chosen]
        )
        for each, chosen in zip(learnt, of_shared, strict=True)
    ]
    return _weighed(series, drafts, members, of_shared, horizon, several)


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
        readings = readings_for(member.log, series, chosen)
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
    means = np.zeros_like(weights)
    place = [{int(i): j for j, i in enumerate(chosen)} for chosen in of_shared]
    errors = []
    for i, (learning, own) in enumerate(zip(series, drafts, strict=True)):
        ahead: list[np.ndarray | None] = [own.forecasts]
        ahead += [judged.forecasts[at[i]] if i in at else None for judged, at in
                  zip(members, place, strict=True)]  # fmt: skip
        means[i] = _member_errors(own, ahead)
        seen = evidence(own.origins, learning.y.size, horizon)
        weights[i] = weights_by(means[i], seen, several)
        both = np.zeros_like(own.forecasts)
        for w, forecasts in zip(weights[i], ahead, strict=True):
            if w and forecasts is not None:
                both += w * forecasts
        errors.append(_errors(learning, own, both, horizon))
    ensemble = FittedEnsemble(
        horizon, PackedBanks.pack([own.bank for own in drafts]),
        tuple(judged.member for judged in members), tuple(of_shared), weights,
        spread.measure(errors, horizon), means,
    )  # fmt: skip
    return _without_runaways(ensemble, [learning.y for learning in series])


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


def _member_errors(own: _Draft, ahead: Sequence[np.ndarray | None]) -> np.ndarray:
    """Mean absolute errors of bank and shared readouts from the same origins, infinite without."""
    counted = np.where(np.isfinite(own.truth), own.weights[:, None], 0.0)
    errors = np.full(len(ahead), np.inf)
    for k, forecasts in enumerate(ahead):
        if forecasts is not None and counted.any():
            off = np.abs(np.nan_to_num(own.truth - forecasts, nan=0.0, posinf=1e300, neginf=1e300))
            errors[k] = (counted * off).sum() / counted.sum()
    return errors


def weights_by(errors: np.ndarray, seen: float, several: bool) -> np.ndarray:
    """Weights of bank and shared readouts, by mean errors in which so many horizons were seen."""
    weights = np.zeros(len(errors))
    present = np.isfinite(errors)
    if not present[1:].any() or errors[present].max() == 0:
        weights[0] = 1.0
        return weights
    power = min(max(seen, 4.0), 8.0)
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


def member_weights(ensemble: FittedEnsemble) -> list[dict[str, float]]:
    """What members count for every series."""
    names = ["reservoir of logarithms" if member.log else "reservoir"
             for member in ensemble.shared]  # fmt: skip
    out = []
    for row, bank in zip(ensemble.weights, ensemble.banks, strict=True):
        own = {
            "smoothers": bank.weights.sum() - bank.log_share,
            "smoothers of logarithms": bank.log_share,
            "seasonal naive": bank.naive_weights[bank.periods > 1].sum(),
            "last value": bank.naive_weights[bank.periods == 1].sum(),
            "intermittent demand": bank.flat_weights.sum(),
        }
        shares = {name: float(row[0] * share) for name, share in own.items()}
        shares |= {name: float(w) for name, w in zip(names, row[1:], strict=True)}
        out.append({name: round(share, 6) for name, share in shares.items() if share > 1e-9})
    return out

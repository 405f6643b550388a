"""Default forecasts of 300 real series, beside the automatic models of statsforecast.

`real_series` says which series and how they are scored, `statistical` what the rivals get. Means
are over the series that every method forecasts. Processor time is that of fit, forecast and
interval on one thread after a warm-up; the rivals' is from the run that filled their cache, but a
series of 400 points is forecast by all of them in turns. Needs the files in the folder
``forecasting`` of PARALESN_DATA.
"""

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks import defaults, statistical
from benchmarks.real_series import (
    LEVEL,
    SHORT,
    Case,
    Outcome,
    mean_of_groups,
    sample,
    seasonal_naive,
    tables,
)
from benchmarks.statistical import one_thread, timed
from benchmarks.timing import Report, medians
from paralesn import ReservoirForecaster

NAIVE, GIVEN, FOUND = "seasonal naive", "season given", "season found"
WORSE = 1.25  # times the error of the seasonal naive
MOST_WORSE = 8.0  # per cent of series that may be so
OFF = 0.03  # how far the share that intervals hold may lie from what was asked
POINTS, ROUNDS = 400, 9  # of the series that everybody is timed on


def run() -> Report:
    """Forecast the sample with the season given and found, and the electricity transformers."""
    report = Report("Default forecasts of real series")
    folder = Path(os.environ.get("PARALESN_DATA", ""))
    path = folder / "forecasting" / "series.parquet"
    if not path.is_file():
        report.note("all claims", "skipped: PARALESN_DATA has no forecasting/series.parquet")
        return report
    cases = sample(path)
    scores = tables(cases, compete(cases))
    common = shared(scores)
    for ours in (GIVEN, FOUND):
        accuracy(report, ours, common)
        intervals(report, ours, common)
        refusals(report, ours, scores)
    groups(report, common)
    speed(report, cases, scores)
    if (folder / "ETT").is_dir():
        defaults.forecasting(report, folder)
    return report


def default(past: np.ndarray, season: int | str, horizon: int) -> tuple[Any, Any, Any]:
    """Forecast and interval of the forecaster as it comes."""
    known: dict[str, Any] = {"season": season}
    model = ReservoirForecaster(horizon=horizon, **known).fit(past)
    values, lower, upper = model.forecast(interval=LEVEL)
    return values, lower, upper


def compete(cases: list[Case]) -> dict[str, list[Outcome]]:
    """Forecasts of every method: ours twice, the seasonal naive, the rivals."""
    results = {
        GIVEN: attempts(cases, GIVEN, [case.season for case in cases]),
        FOUND: attempts(cases, FOUND, ["auto"] * len(cases)),
        NAIVE: [seasonal_naive(case) for case in cases],
    }
    return results | {name: statistical.outcomes(name, cases) for name in statistical.MODELS}


def attempts(cases: list[Case], title: str, seasons: list[Any]) -> list[Outcome]:
    """Default forecasts, once all that the groups need is compiled."""

    def attempt(case: Case, season: int | str) -> Outcome:
        call = (case.past, season, case.horizon)
        return timed(lambda: default(*call), case.horizon, ValueError)

    pairs = list(zip(cases, seasons, strict=True))
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pair in {case.group: (case, season) for case, season in pairs}.values():
            attempt(*pair)
        return [attempt(*pair) for pair in track(pairs, title)]


def shared(scores: dict[str, Any]) -> dict[str, Any]:
    """The scores on the series that every method forecasts and that have a scale."""
    everywhere = np.logical_and.reduce([np.isfinite(one.mase) for one in scores.values()])
    return {method: one[everywhere] for method, one in scores.items()}


def accuracy(report: Report, ours: str, scores: dict[str, Any]) -> None:
    """Scaled errors, which should be below those of every rival, and how often they are large."""
    n, naive = scores[ours].n, scores[NAIVE].mase
    for part, chosen in (
        ("all", n > 0),
        (f"n < {SHORT}", n < SHORT),
        (f"n >= {SHORT}", n >= SHORT),
    ):
        if chosen.any():
            means = {name: mean_of_groups(one[chosen]) for name, one in scores.items()}
            claim = f"{ours}: MASE, {part} ({chosen.sum()} series)"
            report.value(claim, means[ours], "", below=_best(means), detail=_rivals(means))
    worse = {name: 100 * float((one.mase > WORSE * naive).mean()) for name, one in scores.items()}
    claim = f"{ours}: series worse than {WORSE} x seasonal naive"
    report.value(claim, worse[ours], "%", below=MOST_WORSE, detail=_rivals(worse, NAIVE))


def intervals(report: Report, ours: str, scores: dict[str, Any]) -> None:
    """How many values 90 % intervals hold, and their scores, beside AutoETS's own intervals."""
    scores = {name: one for name, one in scores.items() if name != NAIVE}  # it has none
    held = {name: float(one.held.mean()) for name, one in scores.items()}
    claim = f"{ours}: distance to {LEVEL} of the share that {LEVEL:.0%} intervals hold"
    detail = f"holds {held[ours]:.3f}; {_rivals(held, NAIVE)}"
    report.value(claim, abs(held[ours] - LEVEL), "", below=OFF, detail=detail)
    msis = {name: float(one.msis.median()) for name, one in scores.items()}
    claim = f"{ours}: median MSIS of {LEVEL:.0%} intervals"
    report.value(claim, msis[ours], "", below=msis["AutoETS"], detail=_rivals(msis, NAIVE))


def refusals(report: Report, ours: str, scores: dict[str, Any]) -> None:
    """How many series a method does not forecast, and why the first."""
    counts = {name: int((one.refusal != "").sum()) for name, one in scores.items()}
    reasons = [reason for reason in scores[ours].refusal if reason]
    detail = _rivals(counts, NAIVE) + (f"; the first: {reasons[0][:80]}" if reasons else "")
    report.value(f"{ours}: refusals", counts[ours], "series", below=1, detail=detail)


def groups(report: Report, scores: dict[str, Any]) -> None:
    """Mean scaled error in each group."""
    means = {name: one.groupby("group").mase.mean() for name, one in scores.items()}
    sizes = scores[GIVEN].groupby("group").size()
    for group, size in sizes.items():
        here = {name: float(mean[group]) for name, mean in means.items()}
        detail = f"{FOUND} {here[FOUND]:.3f}; {_rivals(here)}"
        claim = f"{GIVEN}: MASE, {group} ({size} series)"
        report.value(claim, here[GIVEN], "", detail=detail)


def speed(report: Report, cases: list[Case], scores: dict[str, Any]) -> None:
    """Milliseconds a series of the sample, and on one of 400 points beside rivals in turns."""
    forecast = {name: one[one.refusal == ""] for name, one in scores.items()}
    took = {name: 1e3 * float(one.seconds.mean()) for name, one in forecast.items()}
    for ours in (GIVEN, FOUND):
        claim = f"{ours}: processor time a series"
        report.value(claim, took[ours], "ms", detail=_rivals(took, NAIVE))
    if statistical.is_installed():
        side_by_side(report, next(case for case in cases if case.n == POINTS))
    else:
        report.note(f"a series of {POINTS} points", "skipped: statsforecast is not installed")


def side_by_side(report: Report, case: Case) -> None:
    """Everybody's time for what follows a whole series, test part and all."""
    case = replace(case, past=np.concatenate([case.past, case.future]))
    calls: dict[str, Callable[[], Any]] = {
        GIVEN: lambda: default(case.past, case.season, case.horizon),
        FOUND: lambda: default(case.past, "auto", case.horizon),
    }
    calls |= {name: partial(statistical.forecast, name, case) for name in statistical.MODELS}
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            seconds = medians(calls, ROUNDS)
        except ValueError as error:
            report.note(f"a series of {POINTS} points: refused", str(error))
            return
    for ours in (GIVEN, FOUND):
        for rival in statistical.MODELS:
            claim = f"{ours}: a series of {len(case.past)} points, faster than {rival}"
            wanted = 1.0 if rival == "AutoETS" else None
            report.ratio(claim, seconds[ours], seconds[rival], wanted)


def _best(values: dict[str, float]) -> float:
    """The lowest of the rivals."""
    return min(values[name] for name in statistical.MODELS)


def _rivals(values: Any, *without: str) -> str:
    """What the others reach, in words."""
    names = [name for name in (NAIVE, *statistical.MODELS) if name not in without]
    return "; ".join(f"{name} {values[name]:.4g}" for name in names)

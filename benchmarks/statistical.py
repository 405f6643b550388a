"""Forecasts of statsforecast's automatic models, kept so that they are computed once.

AutoETS, AutoTheta and AutoCES get the season up to 24 (else none), MSTL every season: 24 and 168
for hourly series. All get the last 1 008 values. ``benchmarks/.cache`` has a file for each model
and version of statsforecast, written every few seconds: an interrupted run is resumed. Where
statsforecast is not installed, what the newest version left there is used.

``python -m benchmarks.statistical`` computes what is missing, and nothing else.
"""

import json
import os
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numba
import numpy as np
from rich.progress import track
from threadpoolctl import threadpool_limits

from benchmarks.real_series import LEVEL, Case, Outcome, refused, sample
from paralesn.files import require, save_text

MODELS = ("AutoETS", "AutoTheta", "MSTL", "AutoCES")
HISTORY = 1008  # values a model gets at most
CACHE = Path(__file__).parent / ".cache"
PERCENT = round(100 * LEVEL)


def is_installed() -> bool:
    """Whether models can be run, not only read from the cache."""
    try:
        version("statsforecast")
    except PackageNotFoundError:
        return False
    return True


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS and our own kernels work on the calling thread only."""
    threads = numba.config.NUMBA_NUM_THREADS
    numba.config.NUMBA_NUM_THREADS = 1  # what paralesn asks before each of its runs
    try:
        with threadpool_limits(1):
            yield
    finally:
        numba.config.NUMBA_NUM_THREADS = threads


def timed(forecast: Callable[[], tuple[Any, Any, Any]], horizon: int, refusals: Any) -> Outcome:
    """A forecast and its processor time, which other work on the machine hardly changes.

    Errors of the kinds `refusals`, and values that are not finite, are refusals.
    """
    start = time.process_time()
    try:
        values, lower, upper = (np.asarray(part, float).reshape(-1) for part in forecast())
    except refusals as error:
        return refused(horizon, time.process_time() - start, f"{type(error).__name__}: {error}")
    seconds = time.process_time() - start
    if not np.isfinite(values).all():
        return refused(horizon, seconds, "values that are not finite")
    return Outcome(values, lower, upper, seconds)


def model(name: str, case: Case) -> Any:
    """A model of statsforecast with the season, or seasons, of a series."""
    models = require("statsforecast.models", "bench", "this benchmark")
    if name != "MSTL":
        return getattr(models, name)(season_length=case.short_season)
    if case.season == 1:  # nothing to decompose: what MSTL forecasts the trend with
        return models.AutoETS(model="ZZN")
    return models.MSTL(season_length=[24, 168] if case.is_hourly else case.season)


def forecast(name: str, case: Case) -> tuple[Any, Any, Any]:
    """Values and interval of a new model."""
    past = case.past[-HISTORY:].copy()
    given = model(name, case).forecast(past, case.horizon, level=[PERCENT])
    return given["mean"], given[f"lo-{PERCENT}"], given[f"hi-{PERCENT}"]


def outcomes(name: str, cases: list[Case]) -> list[Outcome]:
    """Forecasts of all series, from the cache where they are there."""
    path = _path(name)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    missing = [case for case in cases if kept.get(case.uid, {}).get("asked") != _asked(case)]
    if missing:
        _compute(name, missing, kept, path)
    return [_read(kept[case.uid]) for case in cases]


def _compute(name: str, missing: list[Case], kept: dict[str, Any], path: Path) -> None:
    """Add what is missing to what is kept, and write it now and then and at the end."""
    require("statsforecast.models", "bench", "a forecast that is not in the cache")
    written = time.monotonic()
    try:
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            timed(lambda: forecast(name, missing[0]), missing[0].horizon, Exception)  # warm-up
            for case in track(missing, name):
                done = timed(lambda case=case: forecast(name, case), case.horizon, Exception)  # type: ignore[misc]
                kept[case.uid] = {"asked": _asked(case), **_plain(done)}
                if time.monotonic() - written > 5:
                    save_text(json.dumps(kept), path)
                    written = time.monotonic()
    finally:
        save_text(json.dumps(kept), path)


def _path(name: str) -> Path:
    """The file of a model: of the version installed, else of the newest that left one."""
    if is_installed():
        return CACHE / f"{name}-{version('statsforecast')}.json"
    found = sorted(CACHE.glob(f"{name}-*.json"), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else CACHE / f"{name}.json"


def _asked(case: Case) -> int:
    """A checksum of all that a forecast depends on, so that other data are forecast anew."""
    setting = f"{case.season} {case.is_hourly} {case.horizon} {HISTORY} {PERCENT}".encode()
    return zlib.crc32(case.past.tobytes(), zlib.crc32(setting))


def _plain(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON can hold it."""
    arrays = {name: getattr(outcome, name).tolist() for name in ("values", "lower", "upper")}
    return {**arrays, "seconds": outcome.seconds, "refusal": outcome.refusal}


def _read(kept: dict[str, Any]) -> Outcome:
    values, lower, upper = (np.array(kept[name], float) for name in ("values", "lower", "upper"))
    return Outcome(values, lower, upper, kept["seconds"], kept["refusal"])


def main() -> None:
    """Fill the cache."""
    cases = sample(Path(os.environ["PARALESN_DATA"]) / "forecasting" / "series.parquet")
    for name in MODELS:
        outcomes(name, cases)


if __name__ == "__main__":
    main()

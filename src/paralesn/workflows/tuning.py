"""Tune a forecaster: try settings while the budget lasts, judged by forecasts inside the data."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from paralesn import checks
from paralesn.estimators.forecaster.estimator import Forecaster
from paralesn.estimators.forecaster.forms import Data, Given
from paralesn.estimators.forecaster.panel import LongNames
from paralesn.estimators.forecaster.parts import Material, read_material
from paralesn.estimators.forecaster.seasons import check_season
from paralesn.files import require
from paralesn.workflows.budget import Limit, check_budget
from paralesn.workflows.candidates import (
    Settings,
    make_candidate,
    named_space,
    search_space,
    with_values,
)
from paralesn.workflows.progress import Progress, silent
from paralesn.workflows.rolling_origin import (
    at_horizon,
    backtest_material,
    check_horizon,
    check_origins,
    seasonal_units,
)
from paralesn.workflows.shared_trials import SharedTrials, trials_in
from paralesn.workflows.trials import Trial, TrialFile, importance_of, proposals

if TYPE_CHECKING:
    import pandas as pd

LONGEST = 100_000  # newest steps of a series that settings are tried on
_REPEATS = 30  # trials in a row that were tried before, after which nothing is new
_FAILURES = (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError)


@dataclass(frozen=True, eq=False, repr=False)
class Tuned(Generic[Given]):
    """The outcome of a search; see `tune`.

    Attributes
    ----------
    model : forecaster
        The best, fitted to all data.
    settings : dict
        In which it differs from the model as it was given; empty where nothing was better.
    trials : list of Trial
        Everything that was tried, in order.
    horizon : int
    origins : int
        Forecasts that each trial was judged by.
    interrupted : bool
        Whether Ctrl-C ended the search.
    """

    model: Forecaster[Given]
    settings: Settings
    trials: list[Trial]
    horizon: int
    origins: int
    interrupted: bool = False

    @property
    def best_error(self) -> float:
        """Error of the best settings: MASE, or MAE where that is not defined."""
        return min(trial.error for trial in self.trials)

    @property
    def default_error(self) -> float:
        """Error of the model as it was given."""
        return self.trials[0].error

    @cached_property
    def importance(self) -> dict[str, float]:
        """What mattered: for every setting, the share of differences in rank that it explains."""
        return importance_of(self.trials)

    def to_frame(self) -> "pd.DataFrame":
        """Trials as a pandas frame, a column for each setting."""
        pd = require("pandas", "tables", purpose="a frame of trials")
        names = list(dict.fromkeys(name for trial in self.trials for name in trial.settings))
        columns: dict[str, Any] = {
            "error": [trial.error for trial in self.trials],
            "seconds": [trial.seconds for trial in self.trials],
            "note": [trial.note for trial in self.trials],
        }
        columns |= {n: [trial.settings.get(n) for trial in self.trials] for n in names}
        index = pd.Index([trial.number for trial in self.trials], name="trial")
        return pd.DataFrame(columns, index=index)

    def __repr__(self) -> str:
        better = f", as given {self.default_error:.4g}"
        if self.settings and self.default_error > 0:
            better += f" ({1 - self.best_error / self.default_error:.1%} less)"
        lines = [
            f"Tuned by {len(self.trials)} trials, {self.origins} origins each, {self.horizon} "
            "steps ahead" + (" (interrupted)" if self.interrupted else ""),
            f"error {self.best_error:.4g}{better}",
            "settings: " + (", ".join(f"{n}={v!r}" for n, v in self.settings.items())
                            or "as given"),
        ]  # fmt: skip
        mattered = [f"{n} {share:.0%}" for n, share in self.importance.items() if share >= 0.01]
        return "\n".join([*lines, *(["what mattered: " + ", ".join(mattered)] if mattered else [])])


def tune(
    model: Forecaster,
    y: Data,
    X: Any = None,
    *,
    budget: str | int | float = "60s",
    space: Any = None,
    horizon: int | None = None,
    origins: int | Sequence[int] = 20,
    seed: int = 0,
    storage: str | os.PathLike | None = None,
    past: Any = None,
    static: Any = None,
    id: str = "unique_id",
    time: str = "ds",
    target: str = "y",
    progress: Progress = silent,
) -> Tuned[Data]:
    """Try settings of a forecaster while the budget lasts, and fit the best to all data.

    What is tried: seasons, inputs from the calendar, penalties of the readout, and other members in
    place of the model's: a random reservoir (`ParalESN`) of several sizes, memories and
    frequencies, linear or mixing; the closed loop, where series are complete; the smoothers alone.
    Every trial is a `backtest` on the same origins, fitted to what precedes the first. The model as
    it was given is trial 0, so that the outcome is never worse than that by this measure. As the
    best of many is also the luckiest, its error is a little too low: judge it on data that `tune`
    has not seen.

    Settings are proposed by Optuna where that is installed (the extra ``search``), else drawn at
    random. Ctrl-C ends the search, and the best so far is returned.

    Parameters
    ----------
    model : ReservoirForecaster or SmootherBank
        It stays as it is.
    y, X, past, static, id, time, target : as in `ReservoirForecaster.fit`
        Of longer series, settings are tried on the newest 100 000 steps.
    budget : str, float or int
        Time such as ``"60s"``, ``"5min"`` or ``"1h"``, a number of seconds (float), or a number of
        trials (int), which makes the outcome reproducible. It is for this call, and without the
        final fit; only a number of trials in a shared storage is that of all calls together.
    space : dict of str to sequence, optional
        Values to try for parameters of the model, by name, instead of what is tried otherwise:
        ``{"reservoir__units": [64, 128], "season": [7, 365]}``.
    horizon : int, optional
        Steps to forecast. Default: the model's.
    origins : int or sequence of int
        As in `backtest`.
    seed : int
        Of proposals and of random reservoirs.
    storage : path or URL, optional
        File to which trials are written, a line of JSON each. Called again with it, the search
        continues as if it had not been interrupted. Or a storage that any number of processes on
        any number of machines may share, which then try settings together: a folder that exists or
        ends with a slash, or a URL that begins with ``sqlite:///``, ``postgresql://``, ``mysql://``,
        ``redis://`` or ``grpc://``. Calls with the same data, model, horizon, origins, seed and
        space share a study there; a name for it may follow a ``#`` in the URL.
    progress : function, optional
        Told what is being done, and the share of the budget that is used.

    Returns
    -------
    result : Tuned

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> t = np.arange(96)
    >>> y = 50 + t + 9 * np.sin(2 * np.pi * t / 12) + np.cos(t**2)
    >>> result = pe.tune(pe.ReservoirForecaster(horizon=6), y, budget=3, origins=4)
    >>> len(result.trials), result.best_error <= result.default_error
    (3, True)
    >>> result.model.forecast().shape
    (6,)
    """
    if not isinstance(model, Forecaster):
        raise checks.fail("model", model, "a ReservoirForecaster or SmootherBank", TypeError)
    limit = check_budget(budget)
    seed = checks.integer("seed", seed, 0)
    names = LongNames(id, time, target)
    material, _ = read_material(y, X, past, static, names, getattr(model, "frequency", None))
    material = _newest(material)
    steps = check_horizon(model, horizon, material)
    base = at_horizon(model, steps)
    judge = _Judge(base, material, steps, origins, seed, space)
    parameters = repr(sorted(base.get_params(deep=False).items()))
    about = {"data": _fingerprint(material), "model": parameters,
             "horizon": steps, "origins": judge.origins[:, 0].tolist(), "seed": seed}  # fmt: skip
    if space is not None:
        about["space"] = {name: repr(choice) for name, choice in judge.space.settings.items()}
    book = trials_in(storage, about, judge.space)
    interrupted = _search(judge, book, limit, proposals(judge.space, seed), progress)
    trials = book.trials
    best = min(trials, key=lambda trial: trial.error)
    progress("fitting the best", 1.0)
    fitted = judge.candidate(best.settings)
    fitted.fit(y, X, past=past, static=static, id=id, time=time, target=target)
    default = trials[0].settings
    changed = {n: v for n, v in best.settings.items() if n not in default or default[n] != v}
    return Tuned(fitted, changed, trials, steps, len(judge.origins), interrupted)


class _Judge:
    """Errors of settings, all from the same origins and in the same unit."""

    def __init__(
        self,
        model: Forecaster,
        material: Material,
        horizon: int,
        origins: Any,
        seed: int,
        space: Any = None,
    ) -> None:
        self._model, self._material, self._horizon, self._seed = model, material, horizon, seed
        self.origins = check_origins(origins, horizon, material)
        self._back = (self.origins[:, 0] - material.counts[0]).tolist()
        before = material.part(np.zeros_like(self.origins[0]), self.origins[0])
        season = check_season(getattr(model, "season", "auto"))
        _, self._scale = seasonal_units(before.panel, season)
        self.space = search_space(model, before) if space is None else named_space(model, space)

    def candidate(self, settings: Settings) -> Forecaster:
        """The forecaster of settings, not fitted."""
        if self.space.values:
            return with_values(self._model, settings, self.space)
        return make_candidate(self._model, settings, self._horizon, self._seed)

    def error(self, settings: Settings) -> float:
        """Mean error over series, in units of the changes before the first origin."""
        result = backtest_material(
            self.candidate(settings), self._material, horizon=self._horizon, origins=self._back,
            refit=False, interval=None, yardsticks=False,
        )  # fmt: skip
        # The unit of MASE depends on the season, which is one of the settings.
        error = replace(result, scale=self._scale).overall()
        return error if np.isfinite(error) else float("inf")


def _search(
    judge: _Judge, book: TrialFile | SharedTrials, limit: Limit, proposed: Any, progress: Progress
) -> bool:
    """Try settings until the budget is used; whether Ctrl-C ended it."""
    start, repeats = monotonic(), 0

    def is_over() -> bool:
        trials = book.trials
        is_used = bool(trials) and limit.is_used(start, book.first, trials)
        return is_used or (bool(trials) and repeats >= _REPEATS)

    def carry_out(number: int) -> Trial:
        nonlocal repeats
        trials = book.trials
        settings = proposed.next(trials, number)
        before = next((t for t in trials if t.settings == settings), None)
        began = monotonic()
        if before is not None:
            error, note = before.error, f"as trial {before.number}"
        else:
            error, note = _tried(judge, settings, is_first=number == 0)
        repeats = 0 if before is None else repeats + 1
        trial = Trial(number, settings, error, round(monotonic() - began, 3), note)
        every = [*trials, trial]
        best, share = min(t.error for t in every), limit.share(start, book.first, every)
        progress(f"tuning, {len(every)} trials, error {best:.4g}", share)
        return trial

    try:
        book.run(carry_out, limit.count, is_over)
    except KeyboardInterrupt:
        if not book.trials:
            raise
        return True
    return False


def _tried(judge: _Judge, settings: Settings, is_first: bool) -> tuple[float, str]:
    """The error of settings; infinite where they cannot forecast, unless they are the model's."""
    try:
        return judge.error(settings), ""
    except _FAILURES as error:
        if is_first:
            raise
        return float("inf"), f"{type(error).__name__}: {error}"


def _newest(material: Material) -> Material:
    """The last steps of series that are very long."""
    counts = material.counts
    if counts.max() <= LONGEST:
        return material
    return material.part(np.maximum(counts - LONGEST, 0), counts)


def _fingerprint(material: Material) -> str:
    """A number that other data do not have."""
    digest = hashlib.blake2b(digest_size=8)

    def add(array: np.ndarray) -> None:
        is_text = array.dtype == object
        digest.update(repr(array.tolist()).encode() if is_text else array.tobytes())

    for values in material.panel.values:
        add(np.array([values.size]))
        add(values)
    for inputs in (material.X, material.past):
        for columns in inputs.columns if inputs is not None else []:
            for column in columns.values():
                add(column)
    return digest.hexdigest()

"""Trials of a search: what was tried and found, kept in a file, and what to try next."""

import json
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paralesn.files import DamagedFileWarning
from paralesn.runtime.file_lock import only_writer
from paralesn.workflows.candidates import Choice, Range, Settings, Space

_FORMAT = 1
_LEAST = 8  # trials that say how much a setting matters
_ATTEMPTS = 20  # at settings that were not tried before


class Trial(NamedTuple):
    """Settings that were tried.

    Attributes
    ----------
    number : int
        From 0, which is the model as it was given.
    settings : dict
    error : float
        Infinite where it failed.
    seconds : float
    note : str
        Why it failed, or which trial had the same settings.
    """

    number: int
    settings: Settings
    error: float
    seconds: float
    note: str = ""


# -- a file of trials ------------------------------------------------------------------------------


class TrialFile:
    """Trials as lines of JSON, the first of which says what was searched.

    Parameters
    ----------
    path : path or None
        None: nothing is kept.
    about : dict
        What errors depend on. A file about something else is refused.
    """

    def __init__(self, path: Any, about: dict[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._head = {"paralesn tune": _FORMAT, **about}
        self.trials = self._read()
        self.first = len(self.trials)  # a budget is one of this call
        self._start()

    def run(
        self, carry_out: Callable[[int], Trial], most: int | None, is_over: Callable[[], bool]
    ) -> None:
        """Carry out trials, told by their numbers, until it is over."""
        while not is_over():
            self._add(carry_out(len(self.trials)))

    def _read(self) -> list[Trial]:
        """The trials so far. A last line that was not written to its end does not count."""
        if self._path is None or not self._path.exists():
            return []
        *lines, unfinished = self._path.read_bytes().split(b"\n")
        try:
            head, *rows = [json.loads(line) for line in lines] or [None]
            trials = [_as_trial(row, number) for number, row in enumerate(rows)]
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(
                f"storage must be a file of trials, got {self._path}: {error}"
            ) from None
        if head is None:
            return []
        if not isinstance(head, dict) or head.get("paralesn tune") != _FORMAT:
            raise ValueError(f"storage must be a file of trials, got {self._path}")
        check_about(head, self._head, str(self._path))
        if unfinished:
            message = f"{self._path}, passed over: line {len(lines) + 1} was not written to its end"
            warnings.warn(message, DamagedFileWarning, stacklevel=5)
        return trials

    def _start(self) -> None:
        """Make the file ready to be continued after the trials that were read from it."""
        if self._path is not None and not self.trials:
            self._path.write_text(json.dumps(self._head) + "\n", "utf-8")
        elif self._path is not None:  # without a line that was not finished
            with self._path.open("r+b") as file:
                file.truncate(file.read().rfind(b"\n") + 1)
        self._size = 0 if self._path is None else self._path.stat().st_size

    def _add(self, trial: Trial) -> None:
        """Write a trial."""
        if self._path is not None:
            with self._path.open("ab") as file, only_writer(file):
                if file.seek(0, os.SEEK_END) != self._size:
                    raise ValueError(
                        f"storage must be a file of one search at a time, got {self._path}, which "
                        "another one has written to; a database is shared by any number"
                    )
                self._size += file.write((json.dumps(trial._asdict()) + "\n").encode())
        self.trials.append(trial)


def _as_trial(row: Any, number: int) -> Trial:
    """A trial from a line of its file."""
    trial = Trial(**row)
    is_whole = (
        trial.number == number
        and isinstance(trial.settings, dict)
        and all(isinstance(value, int | float) for value in (trial.error, trial.seconds))
        and isinstance(trial.note, str)
    )
    if not is_whole:
        raise ValueError(f"line {number + 2} is no trial: {str(row)[:200]}")
    return trial


def check_about(found: dict[str, Any], expected: dict[str, Any], storage: str) -> None:
    """Check that trials on record are of the same search."""
    other = [name for name, value in expected.items() if found.get(name) != value]
    if other:
        raise ValueError(
            f"storage must be of the same search, got {storage}, whose {', '.join(other)} "
            "differs: give another one"
        )


# -- what to try next ------------------------------------------------------------------------------


class RandomProposals:
    """Settings drawn at random; the same ones for the same seed and number of the trial."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._seed = space, seed

    def next(self, trials: Sequence[Trial], number: int | None = None) -> Settings:
        """Settings to try after some trials; `number` tells trials apart that begin together."""
        number = len(trials) if number is None else number
        starts = self._space.starts()
        if number < len(starts):
            return starts[number]
        tried = [trial.settings for trial in trials]
        settings = self._best_guess(trials, number)
        for attempt in range(1, _ATTEMPTS):
            if settings not in tried:
                break
            settings = self._drawn(number, attempt)
        return settings

    def _best_guess(self, trials: Sequence[Trial], number: int) -> Settings:
        return self._drawn(number, 0)

    def _drawn(self, number: int, attempt: int) -> Settings:
        """Settings drawn for a trial."""
        rng = np.random.default_rng([self._seed, number, attempt])
        chosen: Settings = {}
        for name, setting in self._space.settings.items():
            value = setting.draw(rng)  # also where it does not matter, so that others stay the same
            if self._space.matters(name, chosen):
                chosen[name] = value
        return chosen


class OptunaProposals(RandomProposals):
    """Settings by Optuna's tree-structured Parzen estimator; the same ones for the same trials."""

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._told: set[int] = set()
        with _quiet_optuna() as optuna:
            self._study = optuna.create_study()

    def _best_guess(self, trials: Sequence[Trial], number: int) -> Settings:
        with _quiet_optuna() as optuna:
            for trial in trials:
                if trial.number in self._told:
                    continue
                known = {n: distribution(self._space.settings[n]) for n in trial.settings}
                self._study.add_trial(optuna.trial.create_trial(
                    params=trial.settings, distributions=known, value=trial.error
                ))  # fmt: skip
                self._told.add(trial.number)
            seed = int(np.random.default_rng([self._seed, number]).integers(2**31))
            self._study.sampler = optuna.samplers.TPESampler(seed=seed)
            asked = self._study.ask()
            chosen: Settings = {}
            for name, setting in self._space.settings.items():
                if not self._space.matters(name, chosen):
                    continue
                if isinstance(setting, Choice):
                    chosen[name] = asked.suggest_categorical(name, setting.options)
                else:
                    chosen[name] = asked.suggest_float(name, setting.low, setting.high, log=True)
            # What was found comes back with the trials that are told.
            self._study.tell(asked, state=optuna.trial.TrialState.FAIL)
        return chosen


def proposals(space: Space, seed: int) -> RandomProposals:
    """Optuna's where it is installed, else random ones."""
    return (OptunaProposals if find_spec("optuna") else RandomProposals)(space, seed)


def distribution(setting: Choice | Range) -> Any:
    """What Optuna calls the values of a setting."""
    import optuna

    if isinstance(setting, Choice):
        return optuna.distributions.CategoricalDistribution(setting.options)
    return optuna.distributions.FloatDistribution(setting.low, setting.high, log=True)


@contextmanager
def _quiet_optuna() -> Any:
    """Optuna, without its messages."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(before)


# -- what mattered ---------------------------------------------------------------------------------


def importance_of(trials: Sequence[Trial]) -> dict[str, float]:
    """For every setting the share of the variance of ranks that its values explain, largest first.

    Numbers are taken in three groups. The share is adjusted for the number of groups: 0 is chance.
    Settings that were tried too seldom are left out.
    """
    errors = np.array([trial.error for trial in trials])
    found = {}
    for name in dict.fromkeys(name for trial in trials for name in trial.settings):
        at = [i for i, trial in enumerate(trials) if name in trial.settings]
        groups = _groups([trials[i].settings[name] for i in at])
        ranks = np.unique(errors[at], return_inverse=True)[1].astype(float)
        n, k = len(at), int(groups.max()) + 1
        total = float(((ranks - ranks.mean()) ** 2).sum())
        if k < 2 or n < max(_LEAST, 3 * k) or total == 0:
            continue
        means = np.bincount(groups, ranks, k) / np.bincount(groups, minlength=k)
        within = float(((ranks - means[groups]) ** 2).sum())
        found[name] = max(0.0, 1 - (within / (n - k)) / (total / (n - 1)))
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def _groups(values: Sequence[Any]) -> np.ndarray:
    """Groups (n,) of equal values, or of low, middle and high numbers where most differ."""
    labels = sorted(set(values), key=str)
    if len(labels) <= 8:
        return np.array([labels.index(value) for value in values])
    thirds = np.quantile(np.array(values, float), [1 / 3, 2 / 3])
    return np.searchsorted(thirds, np.array(values, float))

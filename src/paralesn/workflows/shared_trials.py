"""Trials of a search by `tune` in a storage that several processes may share."""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paralesn.workflows import study_storage
from paralesn.workflows.candidates import Space
from paralesn.workflows.trial_claims import Claims, slots
from paralesn.workflows.trials import Trial, TrialFile, check_about, distribution
from paralesn.workflows.worker_signs import SIGNS, Signs

if TYPE_CHECKING:
    from optuna.trial import Trial as Claimed

_ABOUT, _SETTINGS, _SECONDS, _NOTE = "about", "settings", "seconds", "note"  # user attributes


def trials_in(
    storage: str | os.PathLike | None, about: dict[str, Any], space: Space
) -> "TrialFile | SharedTrials":
    """Trials of a search, in a file (None: nowhere) or in a storage that may be shared."""
    if storage is not None:
        name = os.fspath(storage)
        if study_storage.is_url(name) or name.endswith(("/", os.sep)) or Path(name).is_dir():
            return SharedTrials(name, about, space)
    return TrialFile(storage, about)


class SharedTrials:
    """Trials as those of an Optuna study, carried out by all processes that search for the same.

    Parameters
    ----------
    storage : str
        A folder or a URL, as `study_storage` has them. What follows a ``#`` in a URL is the name of
        the study; by default each search has a study of its own.
    about : dict
        What errors depend on. A study about something else is refused.
    space : Space
        Of the settings, which are shown as hyperparameters.
    signs : Signs
        How often processes show that they are alive.
    """

    first = 0  # a budget is one of the whole study

    def __init__(
        self, storage: str, about: dict[str, Any], space: Space, signs: Signs = SIGNS
    ) -> None:
        about = json.loads(json.dumps(about))
        text = json.dumps(about, sort_keys=True).encode()
        own = f"tune {hashlib.blake2b(text, digest_size=6).hexdigest()}"
        address, name = storage, ""
        if study_storage.is_url(storage):
            address, _, name = storage.partition("#")
        opened = study_storage.opened(address, f"{own.replace(' ', '-')}.log", signs)
        assert opened is not None
        self._study = study_storage.create_study(opened, name or own)
        self._storage, self._space = opened, space
        self._claims = Claims(self._study, signs)
        check_about(self._study.user_attrs.get(_ABOUT, about), about, study_storage.hidden(storage))
        if _ABOUT not in self._study.user_attrs:
            self._study.set_user_attr(_ABOUT, about)

    @property
    def trials(self) -> list[Trial]:
        """Trials that are finished, in order; none before that of the model as it was given."""
        every = enumerate(slots(self._study))
        finished = [(place, slot.holder) for place, slot in every if slot.is_finished]
        if not finished or finished[0][0] != 0:
            return []
        return [
            Trial(place, found.user_attrs[_SETTINGS], float(found.value or 0.0),
                  found.user_attrs[_SECONDS], found.user_attrs[_NOTE])
            for place, found in finished if found is not None
        ]  # fmt: skip

    def run(
        self, carry_out: Callable[[int], Trial], most: int | None, is_over: Callable[[], bool]
    ) -> None:
        """Carry out trials, told by their numbers, until there are as many or time is over."""

        def objective(claimed: "Claimed", place: int) -> float:
            trial = carry_out(place)
            for attribute in (_SETTINGS, _SECONDS, _NOTE):
                claimed.set_user_attr(attribute, getattr(trial, attribute))
            self._show(claimed.number, trial)
            return trial.error

        until = self._claims.until_settled(most or sys.maxsize, is_over, propose=lambda: None)
        for claimed, place in until:
            self._claims.run(claimed, lambda one, at=place: objective(one, at))  # type: ignore[misc]

    def _show(self, number: int, trial: Trial) -> None:
        """Write settings as hyperparameters, which is what dashboards of Optuna draw."""
        study_id = self._storage.get_study_id_from_name(self._study.study_name)
        trial_id = self._storage.get_trial_id_from_study_id_trial_number(study_id, number)
        for name, value in trial.settings.items():
            values = distribution(self._space.settings[name])
            internal = values.to_internal_repr(value)
            self._storage.set_trial_param(trial_id, name, internal, values)

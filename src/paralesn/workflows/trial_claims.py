"""Trials of a study that many workers share: each is done once, within the budget, by somebody.

Storages of Optuna can do two things atomically, whichever they are: number trials, and change the
state of one. Everything here rests on these.

A trial belongs to a *slot*, by a key: its own number, or a name that whoever enqueued it chose.
Several trials may have one key, because workers enqueued the same thing at once or because a worker
was lost and its trial enqueued again. Of those only the first that has not failed is carried out;
a worker that claims another one drops it. Slots are ordered by their first trials, and a worker
that claims a trial beyond the budget drops it as well. So nothing is done twice and no budget is
exceeded, however many workers there are, without a lock that a killed worker might keep.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paralesn.workflows.study_storage import storage_of
from paralesn.workflows.worker_signs import SIGNS, Signs, Watch, beating, is_gone, this_worker

if TYPE_CHECKING:
    import optuna
    from optuna import Trial
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

KEY, ENDED = "key", "ended"  # user attributes: the slot, and why a trial failed
_WORKER, _ALIVE = "worker", "alive"
_INTERRUPTED, _LOST = "interrupted", "worker lost"  # enqueued again
_DUPLICATE, _BEYOND = "duplicate", "beyond the budget"  # final, as errors are
_OF_ONE_WORKER = (_WORKER, _ALIVE, ENDED)
_ATTEMPTS = 4  # by workers that were lost: what kills them is perhaps the trial


@dataclass(frozen=True)
class Slot:
    """Trials with one key that were not dropped, the first ones first."""

    key: str
    trials: tuple["FrozenTrial", ...]

    @property
    def holder(self) -> "FrozenTrial | None":
        """The trial that counts: the first that has not failed."""
        from optuna.trial import TrialState

        return next((t for t in self.trials if t.state != TrialState.FAIL), None)

    @property
    def is_finished(self) -> bool:
        """Whether there is a result."""
        return self.holder is not None and self.holder.state.is_finished()

    @property
    def is_hopeless(self) -> bool:
        """Whether it was given up: workers were lost again and again."""
        lost = [t for t in self.trials if t.user_attrs.get(ENDED) != _INTERRUPTED]
        return self.holder is None and len(lost) >= _ATTEMPTS


def slots(study: "optuna.Study") -> list[Slot]:
    """Slots of a study in order, without what was dropped or given up."""
    from optuna.trial import TrialState

    by_key: dict[str, list[FrozenTrial]] = {}
    for trial in study.get_trials(deepcopy=False):
        ended = trial.user_attrs.get(ENDED, _LOST)
        if trial.state != TrialState.FAIL or ended in (_INTERRUPTED, _LOST):
            by_key.setdefault(key_of(trial), []).append(trial)
    every = (Slot(key, tuple(trials)) for key, trials in by_key.items())
    return [slot for slot in every if not slot.is_hopeless]


def key_of(trial: "FrozenTrial | Trial") -> str:
    """The slot that a trial belongs to."""
    return str(trial.user_attrs.get(KEY, f"trial {trial.number}"))


class Claims:
    """Trials of a study for one of its workers.

    Parameters
    ----------
    study : optuna.Study
    signs : Signs
        How often workers show that they are alive.
    """

    def __init__(self, study: "optuna.Study", signs: Signs = SIGNS) -> None:
        self.study, self._signs = study, signs
        self._storage = storage_of(study)
        self._id = self._storage.get_study_id_from_name(study.study_name)
        self._watch = Watch()

    # -- what there is to do -----------------------------------------------------------------------

    def enqueue(self, key: str, params: dict[str, Any], **attributes: Any) -> None:
        """Enqueue a trial, unless it or its like is there. Several workers may do so at once."""
        from optuna.trial import TrialState

        trials = self.study.get_trials(deepcopy=False)
        same = [t for t in trials if key_of(t) == key or (params and _params_of(t) == params)]
        failed = [t for t in same if t.state == TrialState.FAIL]
        if len(failed) == len(same) < _ATTEMPTS:
            self.study.enqueue_trial(params, user_attrs={**attributes, KEY: key})

    def until_settled(
        self,
        most: int,
        is_over: Callable[[], bool] = lambda: False,
        propose: Callable[[], Any] | None = None,
    ) -> Iterator[tuple["Trial", int]]:
        """Trials to be done by this worker, with the place of their slots, until all are settled.

        Where nothing is left to claim, but other workers have trials, it is waited for them: one of
        them may be lost.

        Parameters
        ----------
        most : int
            Slots of the study. None are begun beyond them.
        is_over : function
            Whether to stop before.
        propose : function, optional
            Called before a trial that nobody enqueued; it may enqueue one. If None, only trials
            that were enqueued are done.
        """
        while not is_over():
            self._rescue()
            every = slots(self.study)
            claimed = self._claim_enqueued(every[:most])
            if claimed is None and propose is not None and len(every) < most:
                propose()
                claimed = self._claim_any(most)
            elif claimed is None and all(slot.is_finished for slot in every[:most]):
                return
            elif claimed is None:
                time.sleep(self._signs.poll)
            if claimed is not None:
                yield claimed

    def _claim_enqueued(self, within: list[Slot]) -> tuple["Trial", int] | None:
        """Claim the first trial that waits, if there is one."""
        import optuna

        for place, slot in enumerate(within):
            if slot.holder is None or slot.holder.state != optuna.trial.TrialState.WAITING:
                continue
            trial_id = self._trial_id(slot.holder.number)
            try:
                running = optuna.trial.TrialState.RUNNING
                if self._storage.set_trial_state_values(trial_id, running):
                    return optuna.Trial(self.study, trial_id), place
            except RuntimeError:  # it is finished: a class of its own in newer versions of Optuna
                continue
        return None

    def _claim_any(self, most: int) -> tuple["Trial", int] | None:
        """Claim a trial that waits or a new one, unless others were faster and none is left."""
        with warnings.catch_warnings():  # trials do have a heartbeat: see `run`
            warnings.filterwarnings("ignore", message="Heartbeat of storage is supposed")
            trial = self.study.ask()
        every = slots(self.study)
        places = {slot.key: place for place, slot in enumerate(every)}
        place = places.get(key_of(trial), most)
        holder = every[place].holder if place < most else None
        if place >= most:
            # What somebody enqueued is kept for larger budgets.
            self._fail(trial.number, _INTERRUPTED if KEY in trial.user_attrs else _BEYOND)
            return None
        if holder is None or holder.number != trial.number:
            self._fail(trial.number, _DUPLICATE)
            return None
        return trial, place

    # -- carrying out ------------------------------------------------------------------------------

    def run(self, trial: "Trial", objective: Callable[["Trial"], float]) -> None:
        """Carry out a trial that was claimed, and write its result.

        A worker that others took for lost, because it was asleep or cut off, leaves the result to
        whoever has the trial now. One that is interrupted gives its trial back.
        """
        import optuna

        trial_id = self._trial_id(trial.number)
        try:
            trial.set_user_attr(_WORKER, this_worker())
            with beating(lambda count: self._beat(trial_id, count), self._signs.interval):
                try:
                    result: dict[str, Any] = {"values": objective(trial)}
                except optuna.TrialPruned:
                    result = {"state": optuna.trial.TrialState.PRUNED}
            self.study.tell(trial, **result, skip_if_finished=True)
        except (KeyboardInterrupt, SystemExit):
            self._fail(trial.number, _INTERRUPTED)
            raise
        except Exception as error:
            if self._fail(trial.number, f"error: {type(error).__name__}: {error}"[:500]):
                raise
            if not isinstance(error, RuntimeError):  # which is what writing to a lost trial raises
                raise

    def _beat(self, trial_id: int, count: int) -> None:
        """Show that the worker of a trial is alive."""
        self._storage.set_trial_user_attr(trial_id, _ALIVE, count)
        if _has_heartbeat(self._storage):
            self._storage.record_heartbeat(trial_id)  # type: ignore[attr-defined]
        self._storage.remove_session()

    def _trial_id(self, number: int) -> int:
        """How the storage numbers a trial, of all of its studies."""
        return self._storage.get_trial_id_from_study_id_trial_number(self._id, number)

    # -- what others left --------------------------------------------------------------------------

    def _rescue(self) -> None:
        """Fail trials of workers that are lost, and enqueue them again."""
        from optuna.trial import TrialState

        states = (TrialState.RUNNING,)
        running = {t.number: t for t in self.study.get_trials(deepcopy=False, states=states)}
        for trial in running.values():
            if self._is_lost(trial):
                self._fail(trial.number, _LOST)
        if running and _has_heartbeat(self._storage):
            self._fail_stale()
        for slot in slots(self.study):
            if slot.holder is None:
                # Who failed a trial enqueues it; others do so where that worker was lost as well.
                last = slot.trials[-1]
                is_left = self._watch.unchanged(slot.key, last.number) > 2 * self._signs.poll
                if last.number in running or last.user_attrs.get(ENDED) == _INTERRUPTED or is_left:
                    self._again(slot)
            for other in slot.trials:
                if other.state == TrialState.WAITING and other is not slot.holder:
                    self._fail(other.number, _DUPLICATE)

    def _again(self, slot: Slot) -> None:
        """Enqueue the trial of a slot again, as far as its hyperparameters were known."""
        last = slot.trials[-1]
        kept = {n: v for n, v in last.user_attrs.items() if n not in _OF_ONE_WORKER}
        self.study.enqueue_trial(_params_of(last), user_attrs={**kept, KEY: slot.key})

    def _is_lost(self, trial: "FrozenTrial") -> bool:
        """Whether the worker of a running trial has ended, or shows no sign of life."""
        worker, alive = (trial.user_attrs.get(name) for name in (_WORKER, _ALIVE))
        if is_gone(worker):
            return True
        look = worker, alive, len(trial.intermediate_values)
        # A worker signs its trial at once, unless it is killed before.
        grace = self._signs.grace if worker is not None else self._signs.grace_of_nameless
        return self._watch.unchanged(trial.number, look) > grace

    def _fail_stale(self) -> None:
        """Fail trials whose heartbeat stopped, by the clock of the database."""
        import optuna

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            optuna.storages.fail_stale_trials(self.study)

    def _fail(self, number: int, why: str) -> bool:
        """Fail a trial; whether nobody else had ended it."""
        import optuna

        trial_id = self._trial_id(number)
        try:
            self._storage.set_trial_user_attr(trial_id, ENDED, why)
            return bool(
                self._storage.set_trial_state_values(trial_id, optuna.trial.TrialState.FAIL)
            )
        except RuntimeError:
            return False


def _params_of(trial: "FrozenTrial") -> dict[str, Any]:
    """Hyperparameters of a trial, or those that it was enqueued with."""
    return trial.system_attrs.get("fixed_params") or trial.params


def _has_heartbeat(storage: "BaseStorage") -> bool:
    """Whether a storage has heartbeats of its own, which databases have."""
    interval = getattr(storage, "get_heartbeat_interval", None)
    return interval is not None and interval() is not None

"""Finalists of a study: its best configurations, each judged once more by one of its workers.

They are trials of a study of their own in the same storage, called like the first with "finalists"
after it, so that workers claim them as they claim trials, and neither sampler nor pruner take them
for trials of the search.
"""

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from paralesn.workflows import study_storage
from paralesn.workflows.trial_claims import Claims, key_of
from paralesn.workflows.worker_signs import Signs

if TYPE_CHECKING:
    import optuna
    from optuna import Trial
    from optuna.trial import FrozenTrial

MEANS = "means"  # user attribute of a finalist: its mean loss for every penalty


def best(study: "optuna.Study", count: int) -> list["FrozenTrial"]:
    """The best trials of a study with different configurations."""
    from optuna.trial import TrialState

    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    different: dict[str, FrozenTrial] = {}
    for trial in sorted(complete, key=lambda trial: (trial.value or 0.0, trial.number)):
        different.setdefault(_key(trial), trial)
    return list(different.values())[:count]


def judged(
    study: "optuna.Study",
    wanted: list["FrozenTrial"],
    judge: Callable[["Trial"], float],
    signs: Signs,
) -> dict[int, list[float]]:
    """Judge finalists, together with whoever does so at the same time.

    Parameters
    ----------
    study : optuna.Study
    wanted : list of FrozenTrial
        Its best trials. Those that were judged before are not judged again.
    judge : function
        Judges a finalist, whose configuration is among its user attributes, and puts the mean loss
        of every penalty there as `MEANS`.
    signs : Signs

    Returns
    -------
    means : dict of int to list of float
        By position in `wanted`.
    """
    import optuna

    finals = study_storage.create_study(
        study_storage.storage_of(study),
        f"{study.study_name}, finalists",
        sampler=optuna.samplers.RandomSampler(),
    )
    claims = Claims(finals, signs)
    for trial in wanted:
        kept: dict[str, Any] = {n: trial.user_attrs.get(n) for n in ("configuration", "total")}
        claims.enqueue(_key(trial), dict(trial.params), **kept, trial=trial.number)
    for claimed, _ in claims.until_settled(sys.maxsize):
        claims.run(claimed, judge)
    complete = finals.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    means = {key_of(trial): trial.user_attrs[MEANS] for trial in complete}
    by_position = enumerate(means.get(_key(trial)) for trial in wanted)
    return {position: mean for position, mean in by_position if mean is not None}


def _key(trial: "FrozenTrial") -> str:
    """What a configuration is known by."""
    return json.dumps(trial.user_attrs["configuration"], sort_keys=True)

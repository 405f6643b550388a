"""The reservoir and the readout an estimator works with: its own copies of what it was given."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from paralesn import checks
from paralesn.features.filter_bank import FilterBank
from paralesn.readouts.dual_ridge import DualRidge
from paralesn.readouts.mlp import MLP
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.base import Reservoir


def own_reservoir(given: Any, default: Callable[[], Reservoir]) -> Reservoir:
    """A fresh copy of the reservoir given, or the default one."""
    if given is None:
        return default()
    if not isinstance(given, Reservoir):
        raise checks.fail("reservoir", given, "None or a reservoir", TypeError)
    fresh: Reservoir = clone(given)
    return fresh


def own_bank(given: Any, default: Callable[[], FilterBank], **others: Any) -> FilterBank | None:
    """A fresh copy of the filter bank given, the default one, or None where a reservoir is wanted.

    `others` are arguments that a reservoir's states are pooled by: without a reservoir they ask for
    one, and a filter bank has no use for them.
    """
    said = {name: value for name, value in others.items() if value is not None}
    if isinstance(given, FilterBank):
        for name, value in said.items():
            raise checks.fail(name, value, "None with a FilterBank, which has no states to pool")
        fresh: FilterBank = clone(given)
        return fresh
    return default() if given is None and not said else None


def own_readout(given: Any, default: Callable[[], Any], task: str) -> Any:
    """A fresh copy of the readout given, told its task where it asks for one, or the default."""
    if given is None:
        return default()
    if isinstance(given, type) or not all(hasattr(given, name) for name in ("fit", "predict")):
        raise checks.fail("readout", given, "None or an object with fit and predict", TypeError)
    readout = clone(given)
    if getattr(readout, "task", task) is None:
        readout.set_params(task=task)
    return readout


def check_parts(reservoir: Any, readout: Any, times: int = 1) -> None:
    """Check that a file's readout reads `times` the states of its reservoir."""
    if not isinstance(reservoir, (Reservoir, FilterBank)) or not isinstance(
        readout, (Ridge, DualRidge, MLP)
    ):
        raise TypeError("an estimator must hold a reservoir and a readout")
    if getattr(readout, "n_features_in_", None) != times * reservoir.n_features_out_:
        raise ValueError("the readout does not fit the reservoir")


def finish(readout: Any, kept: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Have everything digested learnt now, so that predicting changes nothing."""
    if kept:
        wanted = np.concatenate([pair[1] for pair in kept])
        flat = wanted[:, 0] if wanted.shape[1] == 1 else wanted
        readout.fit(np.concatenate([pair[0] for pair in kept]), flat)
    else:
        readout.coef_  # noqa: B018

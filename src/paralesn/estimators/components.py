"""What an estimator is composed of: its own copies of the components it was given."""

from collections.abc import Callable
from typing import Any

from sklearn.base import clone

from paralesn import checks
from paralesn.reservoirs.base import Reservoir


def own_reservoir(given: Any, default: Callable[[], Reservoir], standardize: bool) -> Reservoir:
    """A fresh copy of the reservoir given, or the default one, which may read scaled inputs."""
    if given is None:
        return default()
    if not isinstance(given, Reservoir):
        raise checks.fail("reservoir", given, "None or a reservoir", TypeError)
    if standardize and getattr(given, "vocabulary", None) is not None:
        raise checks.fail("standardize", True, "False with a reservoir that reads tokens")
    copy: Reservoir = clone(given)
    return copy


def own_features(given: Any, default: Callable[[], Any]) -> Any:
    """A fresh copy of the transformer of series given, or the default one."""
    if given is None:
        return default()
    if isinstance(given, type) or not all(hasattr(given, name) for name in ("fit", "blocks")):
        expected = "None, a FilterBank, PooledStates or another transformer with fit and blocks"
        raise checks.fail("features", given, expected, TypeError)
    return clone(given)


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


def check_reservoir(reservoir: Any) -> None:
    """Check that a file's estimator holds a reservoir."""
    if not isinstance(reservoir, Reservoir):
        raise TypeError(f"an estimator must hold a reservoir, got a {type(reservoir).__name__}")


def check_features(features: Any) -> None:
    """Check that a file's estimator holds features of series."""
    if not all(hasattr(features, name) for name in ("fit", "transform", "n_features_out_")):
        kind = type(features).__name__
        raise TypeError(f"an estimator must hold fitted features of series, got a {kind}")


def check_readout(readout: Any, columns: int) -> None:
    """Check that a file's readout reads so many columns of features or states."""
    if not all(hasattr(readout, name) for name in ("fit", "predict")):  # one of ours or yours
        raise TypeError(f"an estimator must hold a readout, got a {type(readout).__name__}")
    if getattr(readout, "n_features_in_", None) != columns:
        raise ValueError("the readout does not fit what it reads")

"""Learning on: rows and series that come after those a model was fitted to."""

from copy import copy, deepcopy
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from paralesn import checks, series
from paralesn.layers.state import State
from paralesn.readouts import inputs
from paralesn.readouts.ridge import Ridge
from paralesn.sources import Source


def own_learner(readout: Any) -> Any:
    """A copy of a fitted readout that can learn on, so that the fitted one stays as it is."""
    if isinstance(readout, Ridge):
        return copy(readout)  # what it learnt never changes, but is replaced
    check_learns_on(readout)
    return deepcopy(readout)


def check_learns_on(readout: Any) -> bool:
    """Raise AttributeError, as for a method that is not there, unless a readout can learn on."""
    if not hasattr(readout, "partial_fit"):
        raise AttributeError(
            f"partial_fit needs a readout that can learn on, got a {type(readout).__name__}: give "
            "readout=Ridge(...) to the constructor"
        )
    return True


def forgetful(readout: Any, factor: Any) -> Any:
    """A copy of a fitted readout in which everything seen counts `factor` times as much."""
    factor = checks.number("factor", factor, 0, 1, open_left=True)
    if not isinstance(readout, Ridge):
        raise TypeError(
            f"forget needs a Ridge readout, got a {type(readout).__name__}: give "
            "readout=Ridge(...) to the constructor"
        )
    return settled(copy(readout).forget(factor))


def learn(
    readout: Any, block: np.ndarray, targets: np.ndarray, classes: Any, weight: np.ndarray | None
) -> None:
    """Let a readout of another library learn from rows; a classifier has to know its labels."""
    arguments = {} if is_regressor(readout) else {"classes": classes}
    if weight is not None:
        arguments["sample_weight"] = weight
    readout.partial_fit(block, targets, **arguments)


def settled(readout: Any) -> Any:
    """A readout that has its solution, so that predicting changes nothing."""
    if isinstance(readout, Ridge):
        readout.coef_  # noqa: B018
    return readout


def check_goes_on(state: State, source: Source) -> None:
    """Raise unless series can continue those at whose ends `state` is."""
    sizes = {h.shape[0] if h.ndim == 2 else None for h in state.layers}
    (count,) = sizes
    is_single = source.kind == series.SINGLE
    if (count is None) != is_single or (not is_single and count != len(source)):
        before = "one series" if count is None else f"a batch of {count} series"
        now = "one series" if is_single else f"a batch of {len(source)}"
        raise ValueError(
            f"X must continue {before}, as the model was fitted to, got {now}; fresh=True learns "
            "from series that begin"
        )


def labels_among(classes: np.ndarray, y: Any, count: int) -> np.ndarray:
    """The numbers of labels among `classes`, one for each of `count` series."""
    labels = np.asarray(checks.unmasked("y", y))
    if labels.shape != (count,):
        raise ValueError(f"y must hold a label for each of the {count} series, got {labels.shape}")
    place = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in labels.tolist() if label not in place]
    if unknown:
        raise ValueError(
            f"y must hold labels among {classes.tolist()}, got {unknown[0]!r}: name all there will "
            "be by classes in the first call"
        )
    return np.array([place[label] for label in labels.tolist()])


def all_classes(classes: Any, y: Any) -> np.ndarray:
    """The labels there will be, sorted: those given, or those of the first block."""
    name, labels = ("y", y) if classes is None else ("classes", classes)
    given = np.unique(np.asarray(checks.unmasked(name, labels)))
    inputs.refuse_merged(given)
    if given.size < 2:
        raise ValueError(
            "classes must name all labels there will be, two or more, as y of the first call holds "
            f"only {given.tolist()}"
        )
    return given

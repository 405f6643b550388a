"""States and targets that a readout of every time step learns from, block by block."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from paralesn.estimators.state_blocks import StateBlocks
from paralesn.estimators.targets import Targets
from paralesn.readouts.ridge import Ridge


def omits_nan(readout: Any) -> bool:
    """Whether a readout leaves missing targets out."""
    return getattr(readout, "nan_targets", "error") == "omit"


def lessons_of(
    blocks: StateBlocks, targets: Targets, washout: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """States and targets to learn from, block by block, the washout of each series left out."""
    for first, step, states_of_each in blocks:
        skip = np.maximum(washout - step, 0)
        pairs = [
            (states[skip[b] :], targets.arrays[b][step + skip[b] : step + states.shape[0]])
            for b, states in enumerate(states_of_each, first)
            if states.shape[0] > skip[b]
        ]
        if len(pairs) == 1:
            yield pairs[0]
        elif pairs:
            states, wanted = zip(*pairs, strict=True)
            yield np.concatenate(states), np.concatenate(wanted)


def learn(readout: Any, lessons: Iterator[tuple[np.ndarray, np.ndarray]], is_flat: bool) -> None:
    """Fit a readout, block by block where it can learn so."""
    if isinstance(readout, Ridge):
        for states, wanted in lessons:
            readout.partial_fit(states, wanted)
        readout.coef_  # noqa: B018 (solve now, so that predicting changes nothing)
        return
    pairs = list(lessons)
    wanted = np.concatenate([pair[1] for pair in pairs])
    readout.fit(np.concatenate([pair[0] for pair in pairs]), wanted[:, 0] if is_flat else wanted)

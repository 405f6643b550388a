"""States and targets that a readout of every time step learns from, block by block."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from paralesn.estimators.state_blocks import StateBlocks
from paralesn.estimators.targets import Targets


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

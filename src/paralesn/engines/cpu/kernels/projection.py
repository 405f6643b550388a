"""Inputs of many features times input weights, some steps at a time.

A step after the other, all weights of a slice would be read for every step, and those of many
features fit no cache near the core. So some steps are projected at once, by `add_products`, which
keeps sums in registers and reads the weights once for all of them. It adds up feature by feature,
beginning with the bias, as the recurrence itself does for fewer features: a state has the same bits
whichever way it was computed, and however many steps were projected together.
"""

import numpy as np

from paralesn.engines.cpu.kernels.product import LINE, add_products
from paralesn.runtime.compiler import called

AHEAD = 48  # steps projected at once, a multiple of the rows of a tile; they stay in the cache
MANY = 32  # features from which on it pays: at 16 it costs as much as it saves


def is_wide(w_in: np.ndarray) -> bool:
    """Whether inputs of dense weights have so many features that steps are projected together."""
    return w_in.shape[1] >= MANY


def pack_weights(packed: np.ndarray, first: int) -> np.ndarray:
    """The rows from `first` on, of each slice (2 F, row), as the panels of their real parts.

    They are followed by those of the imaginary parts; room and shape stay what they are.
    """
    slices, rows, length = packed.shape
    lanes = LINE // packed.itemsize
    # (slice, feature, part, panel, lane) -> (slice, part, panel, feature, lane)
    weights = packed[:, first:].reshape(slices, -1, 2, length // lanes, lanes)
    panels = weights.transpose(0, 2, 3, 1, 4).reshape(slices, rows - first, length)
    return np.concatenate([packed[:, :first], panels], axis=1)


@called
def project(x, weights, bias, drive, reach, is_complex):
    """Drive = tau (W x + b) of some steps, real parts of a slice's units, then imaginary ones.

    x (steps, >= F); weights (2 F, row) from `pack_weights`; bias (2, row); drive (>= steps, 2 row).
    """
    length = weights.shape[1]
    lanes = LINE // weights.itemsize
    each = length // lanes
    panels = weights.reshape(2 * each, weights.shape[0] // 2, lanes)
    used = -(-reach // lanes)
    for t in range(x.shape[0]):
        for i in range(used * lanes):
            drive[t, i] = bias[0, i]
            drive[t, length + i] = bias[1, i]
    add_products(x, panels, drive[: x.shape[0]], 0, used)
    if is_complex:
        add_products(x, panels, drive[: x.shape[0]], each, each + used)

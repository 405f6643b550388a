"""Noise on training inputs, the same whatever the blocks they come in."""

import numpy as np
from scipy.special import ndtri

_WORDS = 4  # random numbers of a count of the generator


def gaussian_noise(first: int, steps: int, columns: int, seed: int = 0) -> np.ndarray:
    """Standard Gaussian noise (steps, columns) of the time steps from `first` on.

    The noise of a step depends on its number only: a generator that counts is set to it, and each
    of its words becomes one number. So learning block by block equals learning at once.
    """
    counts = -(-columns // _WORDS)
    generator = np.random.Philox(key=seed, counter=first * counts)
    words = generator.random_raw(steps * counts * _WORDS).reshape(steps, counts * _WORDS)
    # 52 bits: with 53 of them, adding a half would round the largest up to 1, whose noise is inf.
    uniform = ((words[:, :columns] >> np.uint64(12)) + 0.5) * 2.0**-52  # in (0, 1)
    return np.asarray(ndtri(uniform))

from functools import reduce

import numpy as np

from paralesn.distributed import digest, merge, one_thread

BLOCKS, SERIES = 6, 30


def block(number):
    """Series and targets of one block: in earnest, those of a file or a query."""
    X = np.random.default_rng(number).normal(size=(SERIES, 500, 2))
    return X, X[:, :, 0] * np.roll(X[:, :, 1], 3, axis=1)


def learn(step, number):
    """The partial of one block."""
    with one_thread():
        return digest(step, *block(number), first=SERIES * number)


def merged(*parts):
    """The partial of neighbours, in the order of their blocks."""
    with one_thread():
        return reduce(merge, parts)

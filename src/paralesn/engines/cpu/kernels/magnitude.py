"""Whether numbers are so large that somebody has to look at what came of them."""

from paralesn.engines.overflow import LIMIT
from paralesn.runtime.compiler import called, kernel


@called
def beyond(values):
    """How many of some numbers are not below `LIMIT`; NaN is not."""
    count, limit = 0, values.dtype.type(LIMIT)
    for i in range(values.shape[0]):
        count += not abs(values[i]) < limit
    return count


@kernel
def any_beyond(values, limit):
    """Whether any number of an array is not below `limit`; NaN is not."""
    flat, count = values.ravel(), 0
    for i in range(flat.shape[0]):
        count += not abs(flat[i]) < limit
    return count > 0

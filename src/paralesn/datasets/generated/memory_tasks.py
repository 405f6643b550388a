"""Memory tasks: random inputs, and targets computed from earlier inputs.

The inputs are uniform on [-0.8, 0.8). Inputs before the first row are drawn as far back as the
longest delay, so every target is exact; a model cannot know them, nor the inputs before any split,
which is what the washout is for.
"""

import numpy as np

from paralesn import checks
from paralesn.datasets.seeds import entropy, stream


def _inputs(name: str, steps: int, before: int, seed: int | None) -> np.ndarray:
    """`before` values that precede the first row, then `steps` values, from separate streams.

    The earlier values are drawn backwards in time, so a longer delay changes none of the others.
    """
    seed = entropy(seed)
    past = stream(seed, name, 0).uniform(-0.8, 0.8, before)[::-1]
    return np.concatenate([past, stream(seed, name, 1).uniform(-0.8, 0.8, steps)])


def memcap(
    steps: int = 7000, delays: int = 200, seed: int | None = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Memory capacity: reproduce the inputs of 1, 2, ... steps ago.

    ``y_k(t) = x(t - k)`` for k = 1, ..., delays [1]_.

    Parameters
    ----------
    steps, delays : int
    seed : int or None

    Returns
    -------
    inputs : array (steps, 1)
    targets : array (steps, delays)
        Column k - 1 is the input k steps ago.

    References
    ----------
    .. [1] H. Jaeger, "Short term memory in echo state networks", GMD Report 152, 2002.

    Examples
    --------
    >>> inputs, targets = memcap(300, delays=20)
    >>> bool((targets[20:, 19] == inputs[:-20, 0]).all())
    True
    """
    steps, delays = checks.integer("steps", steps, 1), checks.integer("delays", delays, 1)
    x = _inputs("memcap", steps, delays, seed)
    past = np.lib.stride_tricks.sliding_window_view(x[:-1], delays)  # row t ends with x(t - 1)
    return x[delays:, None], np.ascontiguousarray(past[:, ::-1])


def ctxor(steps: int = 7000, delay: int = 5, seed: int | None = 0) -> tuple[np.ndarray, np.ndarray]:
    """Continuous-time exclusive or of two successive inputs some steps ago.

    ``y(t) = r(t - d)^2 sign(r(t - d))`` with ``r(t) = x(t - 1) x(t)`` [1]_.

    Parameters
    ----------
    steps, delay : int
    seed : int or None

    Returns
    -------
    inputs, targets : arrays (steps, 1)

    References
    ----------
    .. [1] D. Verstraeten et al., "Memory versus non-linearity in reservoirs", IJCNN 2010.

    Examples
    --------
    >>> inputs, targets = ctxor(100, delay=5)
    >>> product = inputs[93, 0] * inputs[94, 0]
    >>> bool(targets[99, 0] == product * abs(product))
    True
    """
    steps, delay = checks.integer("steps", steps, 1), checks.integer("delay", delay, 0)
    x = _inputs("ctxor", steps, delay + 1, seed)
    r = x[:steps] * x[1 : steps + 1]
    return x[delay + 1 :, None], (r * np.abs(r))[:, None]


def sinmem(
    steps: int = 7000, delay: int = 10, seed: int | None = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Sine of an input some steps ago.

    ``y(t) = sin(pi x(t - d))`` [1]_.

    Parameters
    ----------
    steps, delay : int
    seed : int or None

    Returns
    -------
    inputs, targets : arrays (steps, 1)

    References
    ----------
    .. [1] M. Inubushi and K. Yoshimura, "Reservoir computing beyond memory-nonlinearity
       trade-off", Scientific Reports 7, 2017.

    Examples
    --------
    >>> inputs, targets = sinmem(100, delay=10)
    >>> bool(np.isclose(targets[99, 0], np.sin(np.pi * inputs[89, 0])))
    True
    """
    steps, delay = checks.integer("steps", steps, 1), checks.integer("delay", delay, 0)
    x = _inputs("sinmem", steps, delay, seed)
    return x[delay:, None], np.sin(np.pi * x[:steps, None])

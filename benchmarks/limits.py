"""What this machine allows: bytes written and copied, multiply-adds, steps of units in registers.

Every limit is measured with the threads of the library, as many as it uses, by kernels that the
library's compiler makes, and is the best of some rounds.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from paralesn.engines.cpu.kernels.tanh import tanh
from paralesn.runtime import threads
from paralesn.runtime.compiler import kernel

_LARGE, _SMALL = 1 << 25, 1 << 19  # numbers beyond every cache (256 MB), and a streamed block's
_UNITS = 512  # whose states stay in a core's nearest cache
_CHAIN = 16  # multiply-adds of a number that stays in a register


class Limits(NamedTuple):
    """Nanoseconds, with all threads at work."""

    write: float  # a float64 to memory
    write_cached: float  # a float64 to memory of the size of a block, written again and again
    copy: float  # a float64 from memory to memory
    multiply_add: float  # one multiply-add
    unit_step: float  # recurrence, mixing with three taps and tanh of one unit, nothing stored

    def least(self, other: "Limits") -> "Limits":
        """The better one of each, of two measurements."""
        return Limits(*map(min, self, other))


def measure() -> Limits:
    """All limits, each the best of its rounds."""
    workers = threads.available()
    large, source, small = np.zeros(_LARGE), np.ones(_LARGE), np.zeros(_SMALL)
    units = [np.full((2, _UNITS), 0.1) for _ in range(workers)]
    numbers = [np.full(_UNITS, 0.1) for _ in range(workers)]
    rounds = 2000
    return Limits(
        write=_least(lambda k: _write(_share(large, k, workers), 1), 7) / _LARGE,
        write_cached=_least(lambda k: _write(_share(small, k, workers), 64), 7) / (64 * _SMALL),
        copy=_least(
            lambda k: _copy(_share(large, k, workers), _share(source, k, workers)), 7
        ) / _LARGE,
        multiply_add=_least(lambda k: _multiply_add(numbers[k], rounds, 0.5, 0.1), 25)
        / (rounds * _CHAIN * _UNITS * workers),
        unit_step=_least(lambda k: _unit_steps(units[k], rounds // 4, 0.5, 0.3, 0.1), 25)
        / (rounds // 4 * _UNITS * workers),
    )  # fmt: skip


def _least(call: Callable[[int], Any], rounds: int) -> float:
    """Least nanoseconds in which every thread has made its call."""
    workers = threads.available()
    seconds = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        threads.for_each(lambda k: call(k), range(workers), workers)
        seconds.append(time.perf_counter() - start)
    return min(seconds) * 1e9


def _share(memory: np.ndarray, k: int, workers: int) -> np.ndarray:
    return memory[memory.size * k // workers : memory.size * (k + 1) // workers]


@kernel
def _write(memory, rounds):  # type: ignore[no-untyped-def]
    for r in range(rounds):
        for i in range(memory.size):
            memory[i] = r


@kernel
def _copy(target, source):  # type: ignore[no-untyped-def]
    for i in range(target.size):
        target[i] = source[i]


@kernel
def _multiply_add(numbers, rounds, a, b):  # type: ignore[no-untyped-def]
    """Chains of 16 multiply-adds, written out so that the loop over numbers becomes vectors."""
    for _ in range(rounds):
        for i in range(numbers.size):
            x = numbers[i]
            x = ((((x * a + b) * a + b) * a + b) * a + b) * a + b
            x = ((((x * a + b) * a + b) * a + b) * a + b) * a + b
            x = ((((x * a + b) * a + b) * a + b) * a + b) * a + b
            numbers[i] = x * a + b


@kernel
def _unit_steps(states, rounds, a, b, k):  # type: ignore[no-untyped-def]
    """What a unit costs without memory: parameters are numbers in registers, alike for all."""
    re, im = states[0], states[1]
    total = 0.0
    for _ in range(rounds):
        for i in range(re.size):
            x, y = re[i], im[i]
            re[i] = a * x - b * y + (k * a + b)
            im[i] = a * y + b * x + (k * b + a)
            mixed = k + k * re[i] + a * x + b * x - k * im[i] - a * y - b * y
            im[i] += k * tanh(mixed)  # used, so that it is computed
        total += im[0]
    return total

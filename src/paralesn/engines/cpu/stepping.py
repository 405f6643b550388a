"""Single steps, one after the other, of the same series: everything but the values is prepared.

Arguments of the kernels are bound once, to arrays that stay: what a layer starts from and where it
ends take turns.
"""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from paralesn.engines.base import Batch, States
from paralesn.engines.cpu.layer_pass import call_each
from paralesn.engines.cpu.program import Block, Buffer, Program, layer_passes
from paralesn.engines.overflow import refuse_not_finite
from paralesn.runtime.buffers import empty


class Steps:
    """B series that advance together; see `paralesn.engines.base.Steps`."""

    def __init__(self, program: Program, n_features: int, columns: int, state: States) -> None:
        count = len(state[0])
        self.x = np.zeros((count, n_features), program.dtype)
        self.out = np.empty((count, columns), program.dtype)
        self._states = state, tuple([np.empty_like(h) for h in state])
        shape = (count, program.widest)
        spare = [Buffer(empty(shape, program.dtype), np.arange(count)) for _ in range(2)]
        first, second = self._states
        self._turns = (
            self._bound(program, spare, first, second),
            self._bound(program, spare, second, first),
        )
        self._turn = 0

    def _bound(
        self, program: Program, spare: list[Buffer], before: States, after: States
    ) -> Callable[[], int]:
        """A call that takes all series through all layers."""
        calls = []
        block = Block(single_steps(len(self.x)), self.x, 0, self.out, False)
        for depth, layer in enumerate(program.layers):
            arrays = before[depth], after[depth], spare[depth % 2]
            passes, block = layer_passes(program, depth, block, *arrays)
            calls += [layer.prepared(work) for work in passes]
        return calls[0] if len(calls) == 1 else partial(call_each, calls)

    @property
    def state(self) -> States:
        """Where the series stand: arrays that the step after the next overwrites."""
        return self._states[self._turn]

    def advance(self, check: bool = True) -> None:
        """Take the step whose inputs are in `x`; where it is refused, states are as before."""
        turn = self._turn
        if self._turns[turn]() and check:
            before, after = self._states[turn], self._states[1 - turn]
            refuse_not_finite(self.x, single_steps(len(self.x)), before, after, self.out)
        self._turn = 1 - turn

    def start_from(self, state: States) -> None:
        """Go on from other states of the same series."""
        for own, given in zip(self.state, state, strict=True):
            own[...] = given

    def taken(self, x: np.ndarray, out: np.ndarray, check: bool) -> States:
        """Take a step from `x` to `out`; return a copy of the states."""
        self.x[...] = x
        self.advance(check)
        out[...] = self.out
        return tuple([h.copy() for h in self.state])


single_steps = lru_cache(maxsize=8)(Batch.single_steps)

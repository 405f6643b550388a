"""Single steps of the same series, one after the other, by any engine."""

from typing import Any, Protocol, cast

import numpy as np

from paralesn.engines.base import Engine, States


class Steps(Protocol):
    """B series that advance together, one step a call.

    Attributes
    ----------
    x : (B, F)
        Where inputs of the next step are written to.
    out : (B, columns)
        States of the latest step; the next one overwrites them.
    """

    x: np.ndarray
    out: np.ndarray

    @property
    def state(self) -> States:
        """Where the series stand: arrays that later steps may overwrite."""

    def advance(self) -> None:
        """Take the step whose inputs are in `x`."""


def prepare_steps(
    engine: Engine, program: Any, n_features: int, columns: int, dtype: np.dtype, state: States
) -> Steps:
    """Steps that begin at `state`, whose arrays they may overwrite.

    An engine that can prepare more than its `step` does has a function `steps` for it, which takes
    the program, the numbers of features and columns, and the state.
    """
    own = getattr(engine, "steps", None)
    if own is not None:
        return cast(Steps, own(program, n_features, columns, state))
    return _EngineSteps(engine, program, n_features, columns, dtype, state)


class _EngineSteps:
    """Steps by the `step` of any engine."""

    def __init__(
        self, engine: Engine, program: Any, n_features: int, columns: int, dtype: np.dtype,
        state: States,
    ) -> None:  # fmt: skip
        self._engine, self._program, self.state = engine, program, state
        self.x = np.zeros((len(state[0]), n_features), dtype)
        self.out = np.empty((len(state[0]), columns), dtype)

    def advance(self) -> None:
        """Take the step whose inputs are in `x`."""
        self.state = self._engine.step(self._program, self.x, self.state, self.out)

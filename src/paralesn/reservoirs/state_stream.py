"""States block by block."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from paralesn.layers.state import State
from paralesn.series import Series


class StateStream(Iterator[Any]):
    """Iterator over blocks of states.

    Attributes
    ----------
    state : State or None
        Where the stream stands: the state after the block that was handed out last.
    """

    def __init__(
        self,
        run: Callable[[Series, Any], tuple[Any, State]],
        pieces: Iterator[Series],
        state: State | Sequence[np.ndarray] | None,
    ) -> None:
        self._run = run
        self._pieces = pieces
        self.state = state

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        states, self.state = self._run(next(self._pieces), self.state)
        return states

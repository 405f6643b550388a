"""State of a process that a forked child must not inherit."""

import os
from collections.abc import Callable
from typing import Generic, TypeVar

State = TypeVar("State")


class PerProcess(Generic[State]):
    """Holds what `make` makes, made anew in a forked child: locks and threads do not survive.

    The child calls `take_over` with what its parent held, for what must be put right.
    """

    def __init__(
        self, make: Callable[[], State], take_over: Callable[[State], None] = lambda before: None
    ) -> None:
        self._make, self._take_over = make, take_over
        self.value = make()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._start_over)

    def _start_over(self) -> None:
        before, self.value = self.value, self._make()
        self._take_over(before)

"""Training as passes over data that lie in blocks: one algorithm, on one machine or on many.

A pass looks at every block once and makes a partial of it; partials merge, in any grouping, into
that of all blocks; from this the next pass follows, or the fitted estimator. Nothing changes what
it is given. `fit` of an estimator is these passes over a single block.
"""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, ClassVar, NamedTuple, Protocol

from paralesn import checks
from paralesn.runtime.memory import held_bytes


class Block(NamedTuple):
    """Some of the data.

    Attributes
    ----------
    X, y : as `fit` takes them
        Whole series, or consecutive time steps of a single one.
    first : int
        Number of the first series of the block, or of its first time step.
    before : State, array (steps, features) or None
        Of a piece of a series: the state that it begins in, or time steps before it that are long
        enough to forget the state before them.
    weight : array or None
        Weights of whole series, ``sample_weight``.
    """

    X: Any
    y: Any = None
    first: int = 0
    before: Any = None
    weight: Any = None


class Partial(Protocol):
    """What is known after some blocks."""

    def merged(self, other: Any) -> Any:
        """What is known after the blocks of both, those of `other` coming later."""


class Held:
    """Mixin of partials: their size is that of their arrays, which schedulers ask for."""

    def __sizeof__(self) -> int:
        """Bytes, arrays included."""
        return object.__sizeof__(self) + held_bytes(self)


class Pass(ABC):
    """One look at all blocks."""

    model: Any  # the estimator to be fitted, with its parameters

    @abstractmethod
    def digest(self, block: Block, into: Any = None) -> Any:
        """A partial of a block, or of what `into` knows and this block, which follows it."""

    @abstractmethod
    def finish(self, partial: Any) -> Any:
        """The next pass, or the fitted estimator, from the partial of all blocks."""

    def use_up(self, partial: Any) -> Any:
        """As `finish`, from a partial that nobody needs any more."""
        return self.finish(partial)

    def wants(self, first: int, count: int) -> bool:
        """Whether series ``first`` to before ``first + count`` matter to this pass."""
        return True

    def warm_up(self) -> None:
        """Compile what digesting takes, so that one worker of a machine does it for all."""
        return

    counts_steps: ClassVar[bool] = False  # whether rows are time steps, or else series

    @property
    def rows_per_merge(self) -> int:
        """Rows that a partial should be of, so that merging costs little beside learning."""
        return 1

    def fitted(self, state: Any) -> Any:
        """The estimator with what it learnt."""
        model = copy(self.model)
        model.fitted_ = state
        return model


def carry_out(step: Any, block: Block) -> Any:
    """The estimator that passes over a single block lead to."""
    while isinstance(step, Pass):
        step = step.use_up(step.digest(block))
    return step


def check_partial(partial: Any, expected: type, what: str = "partial") -> None:
    """Raise unless a partial is of the pass at hand."""
    if not isinstance(partial, expected):
        raise checks.fail(what, partial, f"a {expected.__name__}", TypeError)

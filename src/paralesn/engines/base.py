"""What an engine is: the protocol, the batch of series it runs, and the registry of engines.

An engine turns the arrays of layers into states. It runs over flat rows: a `Batch` says where each
series begins and how many steps it has, so that one series, a batch and a ragged collection are the
same thing to an engine. `paralesn.engines.reference` is the specification in plain NumPy; every
other engine agrees with it within rounding.
"""

import importlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np

from paralesn import checks
from paralesn.layers.delays import DelayLayer
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.recurrent import RecurrentLayer
from paralesn.runtime.garbage import collection_paused

Layer = DiagonalLayer | RecurrentLayer | DelayLayer
States = tuple[np.ndarray, ...]  # of each layer (B, N)

POOLS = ("last", "mean", "std", "max", "min", "ppv")  # statistics over time


def check_pools(value: Any, name: str = "pools") -> tuple[str, ...]:
    """Names of statistics over time, each at most once."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Iterable) or not (names := list(names)):
        raise checks.fail(name, value, "a name or a sequence of names", TypeError)
    for pool in names:
        checks.choice(name, pool, POOLS)
    if len(set(names)) < len(names):
        raise checks.fail(name, value, "a sequence without repetitions")
    return tuple(names)


def n_columns(layers: tuple[Layer, ...], concat: bool, mixing: bool) -> int:
    """Columns of the states that `layers` give: of all of them with `concat`, else of the last."""
    return sum(layer.n_columns(mixing) for layer in (layers if concat else layers[-1:]))


class Batch(NamedTuple):
    """Where B series lie in an array of inputs and in an array of outputs, both flat.

    Series b reads the rows ``starts[b]`` to before ``starts[b] + steps[b]`` of the inputs. It
    writes as many rows of the outputs from ``targets[b]`` on, or the row ``targets[b]`` only where
    an engine is asked for one row of each series.
    """

    starts: np.ndarray  # (B,)
    targets: np.ndarray  # (B,)
    steps: np.ndarray  # (B,)

    @classmethod
    def end_to_end(cls, steps: np.ndarray) -> "Batch":
        """Series laid end to end in the inputs, and their states in the outputs."""
        starts = _begins(steps)
        return cls(starts, starts, steps)

    @classmethod
    def one_row_each(cls, steps: np.ndarray) -> "Batch":
        """Series laid end to end in the inputs; series b writes to row b of the outputs."""
        return cls(_begins(steps), np.arange(steps.size), steps)

    @classmethod
    def single_steps(cls, count: int) -> "Batch":
        """One step of each of `count` series: row b in, row b out."""
        rows = np.arange(count)
        return cls(rows, rows, np.ones(count, rows.dtype))

    @property
    def size(self) -> int:
        """Number of series B."""
        return int(self.steps.size)

    @property
    def longest(self) -> int:
        """Steps of the longest series."""
        steps = self.steps
        return int(steps[0] if steps.size == 1 else steps.max())

    def part(self, series: slice) -> "Batch":
        """Some of the series."""
        return Batch(self.starts[series], self.targets[series], self.steps[series])

    def each(self) -> Iterator[tuple[int, int, int]]:
        """First input row, first output row and number of steps of one series after the other."""
        return zip(self.starts.tolist(), self.targets.tolist(), self.steps.tolist(), strict=True)


def _begins(steps: np.ndarray) -> np.ndarray:
    """First row of each of some series that lie end to end."""
    if steps.size == 1:  # of a single short series, NumPy's calls take as long as the kernel
        return np.zeros_like(steps)
    return np.cumsum(steps) - steps


class Engine(Protocol):
    """The functions of an engine: a module that has them is one.

    With B series of F features and layers of N units each, `x` is (rows, F), C-ordered, finite and
    of the program's dtype, `state` holds one array (B, N) for each layer, complex where the layer
    is, and `out` is (rows, columns), `columns` being `n_columns` of the layers. Nothing but `out`
    is written to. `n_jobs` is a number of threads, None for every core; an engine may ignore it,
    and it must not change a bit of the result.

    States and outputs that are not finite, since finite inputs were too large for the dtype, are
    an error, `paralesn.engines.overflow.Overflow`, except in a closed loop: whoever closes it looks
    at the predictions. `paralesn.engines.overflow.refuse_not_finite` does that for any engine.
    """

    def prepare(
        self, layers: tuple[Layer, ...], concat: bool, mixing: bool, dtype: np.dtype, device: Any
    ) -> Any:
        """Make a program of layers: whatever the engine needs to run them.

        `concat`: states of all layers side by side, instead of those of the last. `mixing`: mixed
        states, instead of raw ones. `device` is None unless the engine was registered with
        ``devices=True``.
        """

    def run(
        self,
        program: Any,
        x: np.ndarray,
        batch: Batch,
        state: States,
        out: np.ndarray,
        last_only: bool = False,
        n_jobs: int | None = None,
    ) -> States:
        """Write the states of every step to `out`, and return the states to continue from.

        With `last_only` only the last step of each series is written, to its first row in `out`.
        """

    def last(
        self,
        program: Any,
        x: np.ndarray,
        batch: Batch,
        state: States,
        out: np.ndarray,
        n_jobs: int | None = None,
    ) -> None:
        """Write the states of the last step of series b to row ``batch.targets[b]`` = b of `out`.

        Without the states to continue from there may be a shorter way than the recurrence.
        """

    def pool(
        self,
        program: Any,
        x: np.ndarray,
        batch: Batch,
        state: States,
        out: np.ndarray,
        pools: tuple[str, ...],
        segments: int,
        n_jobs: int | None = None,
    ) -> None:
        """Write states pooled over time: series b to row ``batch.targets[b]`` of `out`.

        A series of T steps has the segments ``T s // segments`` to before
        ``T (s + 1) // segments``. A row of `out`, (rows, segments * pools * columns), holds for
        each of them one value per column for each of `pools`, in this order.
        """

    def step(
        self, program: Any, x: np.ndarray, state: States, out: np.ndarray, check: bool = True
    ) -> States:
        """Advance B series by one step, from `x` (B, F) to `out` (B, columns), for live data.

        Without `check`, states may be anything: for closed loops.
        """

    def loop(
        self,
        program: Any,
        inputs: np.ndarray,
        state: States,
        weights: np.ndarray,
        intercept: np.ndarray,
        difference: bool,
        n_jobs: int | None = None,
        which: np.ndarray | None = None,
        after: States | None = None,
    ) -> np.ndarray:
        """Feed a linear readout's predictions back as the next step's input: the closed loop.

        Parameters
        ----------
        inputs : (steps, B, F)
            The first D features are fed back, and given for the first step; the others are known.
        weights : (D, columns); intercept : (D,)
        difference : bool
            Whether the readout predicts what is to be added to the fed-back features.
        which : (B,), optional
            The readout of each series, of several: `weights` (R, D, columns), `intercept` (R, D).
        after : States, optional
            Arrays that the states to continue from are written to.

        Returns
        -------
        predictions : (steps, B, D)
        """

    def empty(self, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
        """Uninitialised array for states."""


# -- engines by name -------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """A registered engine: the module it is imported from, or the engine itself."""

    engine: str | Engine
    devices: bool
    tensors: bool


_engines = {
    "auto": _Entry("paralesn.engines.cpu.engine", devices=False, tensors=False),
    "cpu": _Entry("paralesn.engines.cpu.engine", devices=False, tensors=False),
    "reference": _Entry("paralesn.engines.reference", devices=False, tensors=False),
    "torch": _Entry("paralesn.engines.torch.engine", devices=True, tensors=True),
}


def register_engine(name: str, engine: str | Engine, *, devices: bool = False) -> None:
    """Make an engine available to every reservoir as ``engine=name``.

    Parameters
    ----------
    name : str
        A new name: those of the built-in engines are taken.
    engine : str or Engine
        The name of a module with the functions of `Engine`, imported when it is first used, or an
        object that has them.
    devices : bool
        Whether the engine's `prepare` has a choice of devices; otherwise reservoirs refuse a
        `device`.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> from paralesn.engines import base
    >>> base.register_engine("plain", "paralesn.engines.reference")
    >>> pe.ParalESN(units=8, engine="plain").run(np.ones(5))[0].shape
    (5, 8)
    """
    if not isinstance(name, str) or not name:
        raise checks.fail("name", name, "a name", TypeError)
    if name in _BUILT_IN:
        raise checks.fail("name", name, "none of " + ", ".join(map(repr, _BUILT_IN)))
    _engines[name] = _Entry(engine, checks.flag("devices", devices), tensors=False)


_BUILT_IN = tuple(_engines)


def engine_names() -> tuple[str, ...]:
    """Names of all registered engines."""
    return tuple(_engines)


def has_devices(name: str) -> bool:
    """Whether an engine has a choice of devices."""
    return _engines[name].devices


def takes_tensors(name: str) -> bool:
    """Whether an engine runs tensors of PyTorch as they are, on their device."""
    return name in _BUILT_IN and _engines[name].tensors


def load_engine(name: str) -> Engine:
    """The engine of that name, imported where it is a module."""
    engine = _engines[name].engine
    if not isinstance(engine, str):
        return engine
    with collection_paused():
        return cast(Engine, importlib.import_module(engine))


if TYPE_CHECKING:  # the built-in engines fulfil the protocol
    from paralesn.engines import reference
    from paralesn.engines.cpu import engine as cpu
    from paralesn.engines.torch import engine as torch

    _fulfilled: tuple[Engine, ...] = (reference, cpu, torch)

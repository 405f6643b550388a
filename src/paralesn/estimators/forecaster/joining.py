"""Forecasters of blocks of series put together: one forecaster of all of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from paralesn.estimators.forecaster.ensemble import FittedEnsemble
from paralesn.estimators.forecaster.fitted import Ends, FittedForecaster
from paralesn.estimators.forecaster.packed_banks import PackedBanks
from paralesn.estimators.forecaster.panel import LIST, LONG, TABLE, WIDE, Layout
from paralesn.estimators.forecaster.shared_lessons import LearntTask
from paralesn.estimators.forecaster.shared_readout import SharedReadout

Arrays = TypeVar("Arrays")


def joined_layouts(layouts: Sequence[Layout]) -> Layout:
    """The form of series that came in blocks of the same form."""
    first = layouts[0]
    if len(layouts) == 1:
        return first
    for other in layouts:
        if other.kind not in (LIST, TABLE, WIDE, LONG):
            raise ValueError(
                "a block of several must be a list of series, a table, or a wide or long frame, "
                f"got a single series ({other.kind})"
            )
        if _form(other) != _form(first):
            raise ValueError(
                f"blocks must be alike in kind, library, columns and times, got {_form(first)} and "
                f"{_form(other)}"
            )
    names = [name for layout in layouts for name in layout.names]
    if first.kind in (LIST, TABLE):
        names = list(range(len(names)))
    is_whole = all(layout.index.is_whole for layout in layouts)
    return replace(first, names=names, index=replace(first.index, is_whole=is_whole))


def _form(layout: Layout) -> tuple[Any, ...]:
    """What must be the same in every block."""
    return layout.kind, layout.backend, layout.columns, replace(layout.index, is_whole=True)


def check_names(layout: Layout, lengths: np.ndarray) -> None:
    """Raise where a series came in two blocks, or columns of one table have several lengths."""
    times = Counter(layout.names)
    if len(times) < len(layout.names):
        twice = max(times, key=times.__getitem__)
        raise ValueError(f"a series must be in one block, got {twice!r} in several")
    if layout.kind in (TABLE, WIDE) and (lengths != lengths[0]).any():
        other = int(lengths[lengths != lengths[0]][0])
        raise ValueError(
            f"blocks of a table must have the same time steps, got {lengths[0]} and {other}"
        )


def joined(parts: Sequence[FittedForecaster], learnt: Sequence[LearntTask]) -> FittedForecaster:
    """The forecaster of the series of all parts, in their order, without notes.

    `learnt` are the readouts that they share, which the parts are without.
    """
    first, ends = parts[0], _joined_ends([part.ends for part in parts])
    layout = joined_layouts([part.layout for part in parts])
    if layout.kind == WIDE and (ends.last != ends.last[0]).any():
        raise ValueError("blocks of a wide frame must have the same times")
    return replace(
        first,
        layout=layout,
        ends=ends,
        memory=_end_to_end([part.memory for part in parts]),
        ensemble=_joined_ensembles([part.ensemble for part in parts], learnt),
        seasons=tuple(s for part in parts for s in part.seasons),
        effects=_end_to_end([part.effects for part in parts]),
        floor=np.concatenate([part.floor for part in parts]),
    )


def _joined_ends(every: Sequence[Ends]) -> Ends:
    counts, last = (
        np.concatenate([getattr(e, name) for e in every]) for name in ("counts", "last")
    )
    return replace(every[0], counts=counts, last=last)


def _joined_ensembles(
    every: Sequence[FittedEnsemble], learnt: Sequence[LearntTask]
) -> FittedEnsemble:
    before = np.cumsum([0, *(len(ensemble.banks) for ensemble in every)])
    shared = [
        SharedReadout.joined([e.shared[k] for e in every], each.task.reservoir, each.readout)
        for k, each in enumerate(learnt)
    ]
    of_shared = [
        np.concatenate([e.of_shared[k] + b for e, b in zip(every, before, strict=False)])
        for k in range(len(learnt))
    ]
    return FittedEnsemble(
        every[0].horizon,
        PackedBanks.joined([ensemble.banks for ensemble in every]),
        tuple(shared),
        tuple(of_shared),
        np.concatenate([ensemble.weights for ensemble in every]),
        _end_to_end([ensemble.spread for ensemble in every]),
        np.concatenate([np.asarray(ensemble.errors) for ensemble in every]),
    )


def without_readouts(ensemble: FittedEnsemble) -> FittedEnsemble:
    """The ensemble of a block, without what all blocks share."""
    blank: dict[str, Any] = {"reservoir": None, "readout": None}
    return replace(ensemble, shared=tuple(replace(member, **blank) for member in ensemble.shared))


def _end_to_end(parts: Sequence[Arrays]) -> Arrays:
    """A dataclass whose arrays are those of the parts, end to end."""
    if len(parts) == 1:
        return parts[0]
    names = [field.name for field in fields(parts[0])]  # type: ignore[arg-type]
    return type(parts[0])(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))

"""Results of runs that were done again, beside those that come with the package."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from paralesn.paper import runs, selection
from paralesn.paper.records import Record
from paralesn.paper.results import Cell, Cells, Row
from paralesn.paper.shipped_records import shipped


@dataclass(frozen=True)
class Repetition:
    """A result of which both are on record.

    Attributes
    ----------
    here, ours : Cell
        As run on this machine, and as shipped.
    pairs : int
        Runs of one configuration and seed that both have.
    equal : int
        Pairs whose metric is equal to the bit.
    difference : float
        Of the means over all pairs, relative to the shipped one; NaN without pairs.
    other_versions : bool
        Whether versions differ in any pair.
    """

    here: Cell
    ours: Cell
    pairs: int
    equal: int
    difference: float
    other_versions: bool


def repetitions(rows: Iterable[tuple[Row, Record]], cells: Cells) -> list[Repetition]:
    """Results that are on record and come with the package, too.

    Parameters
    ----------
    rows : iterable of (Row, Record)
        Runs of the tables; those that are shipped are passed over.
    cells : Cells
        What they sum up to.
    """
    here = _grouped((row, run) for row, run in rows if not run.get("shipped"))
    done = {(run["kind"], run["task"], run["model"]) for each in here.values() for run in each}
    known = [r for r in shipped().runs if (r["kind"], r["task"], r["model"]) in done]
    ours = selection.recorded(known)
    theirs, their_cells = _grouped(ours), selection.cells(ours)
    return [
        _repetition(cells[key], their_cells[key], here[key], theirs[key])
        for key in cells
        if key in here and key in theirs and not _repeats(*key, cells)
    ]


def _repeats(task: str, row: Row, cells: Cells) -> bool:
    """Whether a row held to a space has the runs of the model's own row."""
    own = cells.get((task, Row(row.model)))
    return bool(row.space) and own is not None and own.space == row.space


def _grouped(rows: Iterable[tuple[Row, Record]]) -> dict[tuple[str, Row], list[Record]]:
    grouped: dict[tuple[str, Row], list[Record]] = {}
    for row, run in rows:
        grouped.setdefault((run["task"], row), []).append(run)
    return grouped


def _repetition(
    here: Cell, ours: Cell, runs_here: Sequence[Record], runs_ours: Sequence[Record]
) -> Repetition:
    by = {runs.identity(run): run for run in runs_ours}
    pairs = [(run, by[key]) for run in runs_here if (key := runs.identity(run)) in by]
    pairs = [(a, b) for a, b in pairs if ours.metric in a["metrics"]]
    values = np.array([[r["metrics"][ours.metric] for r in pair] for pair in pairs]).reshape(-1, 2)
    mine, theirs = values.mean(axis=0) if pairs else (np.nan, np.nan)
    return Repetition(
        here,
        ours,
        len(pairs),
        int((values[:, 0] == values[:, 1]).sum()),
        float((mine - theirs) / abs(theirs)) if theirs else float(mine != 0),
        any(a["versions"] != b.get("versions") for a, b in pairs if "versions" in a),
    )

"""Results of this machine beside those that come with the package, and the paper's."""

import math
from collections.abc import Sequence

from paralesn.paper import protocols
from paralesn.paper.repetition import Repetition, repetitions
from paralesn.paper.results import Cell
from paralesn.report.elements import Findings, Section, Table

TITLE = "Run again on this machine"
_FEW = 20  # results that are shown at once, without opening a table
_SAME = 1e-12  # of a relative difference of means: the order of a sum


def section(findings: Findings) -> Section | None:
    """Figures of both, protocol by protocol; None where nothing was run that was shipped."""
    every = repetitions(findings.runs, findings.cells)
    if not every:
        return None
    by_protocol: dict[str, list[Repetition]] = {}
    for each in every:
        by_protocol.setdefault(each.here.protocol, []).append(each)
    return Section(
        "again",
        TITLE,
        verdict(every),
        [_table(name, each) for name, each in by_protocol.items()],
        data={
            "results": len(every),
            "pairs": sum(each.pairs for each in every),
            "equal": sum(each.equal for each in every),
            "other_versions": any(each.other_versions for each in every),
            "largest": _largest(every),
        },
    )


def verdict(every: Sequence[Repetition]) -> str:
    """How many runs give the same figure to the bit, and where the largest difference is."""
    pairs, equal = (sum(getattr(each, name) for each in every) for name in ("pairs", "equal"))
    others = any(each.other_versions for each in every)
    on = "with other versions of some packages" if others else "with the same versions"
    said = f"{len(every):,} results were run here that come with the package, too."
    if not pairs:
        return f"{said} None has a configuration and a seed in common with it."
    if equal == pairs:
        said += f" All {pairs:,} runs give the same figure to the bit, {on}."
    else:
        said += f" {equal:,} of {pairs:,} runs give the same figure to the bit, {on}."
        worst = _worst(every)
        said += (
            f" The largest difference is that of {_name(worst.here)}: "
            f"{_figure(worst.here)} here, {_figure(worst.ours)} as shipped "
            f"({_percent(worst.difference)} over the seeds that both have)."
        )
    apart = sum(not each.pairs for each in every)
    if apart:
        said += f" {apart:,} results are of another configuration than the shipped one."
    return said


def _worst(every: Sequence[Repetition]) -> Repetition:
    return max((e for e in every if e.pairs), key=lambda each: abs(each.difference))


def _largest(every: Sequence[Repetition]) -> dict[str, object] | None:
    """The largest difference, for scripts."""
    if not any(each.pairs for each in every):
        return None
    worst = _worst(every)
    cell = worst.here
    return {"task": cell.task.name, "row": cell.row.label, "difference": worst.difference}


def _name(cell: Cell) -> str:
    return f"{cell.row.label} on {cell.task.title}"


def _table(protocol: str, every: Sequence[Repetition]) -> Table:
    rows = [
        [
            each.here.task.title + _unit(each.here),
            each.here.row.label,
            _figure(each.here),
            _figure(each.ours),
            "-" if each.here.paper is None else f"{each.here.paper.mean / _scale(each.here):.1f}",
            _percent(each.difference) if each.pairs else "other configuration",
            f"{each.equal} of {each.pairs}",
        ]
        for each in every
    ]
    known = protocols.of_kind(protocol)
    title = protocol if known is None else known.title
    columns = ["Task", "Model", "This machine", "As shipped", "Paper", "Difference",
               "Equal to the bit"]  # fmt: skip
    note = (
        "Means and deviations over seeds. The difference is that of means over the seeds that both "
        "have, relative to what is shipped."
    )
    return Table(f"{title}: {len(rows)} results", columns, rows, note, text=(1,),
                 folded=len(rows) > _FEW)  # fmt: skip


def _scale(cell: Cell) -> float:
    return cell.task.scale


def _unit(cell: Cell) -> str:
    return "" if _scale(cell) == 1 else f" x {_scale(cell):g}"


def _figure(cell: Cell) -> str:
    spread = f" ±{cell.std / _scale(cell):.2g}" if cell.seeds > 1 else ""
    return f"{cell.mean / _scale(cell):.4g}{spread}"


def _percent(difference: float) -> str:
    """A relative difference; zero where only the order of a sum may differ."""
    if math.isnan(difference):
        return "-"
    return "0 %" if abs(difference) < _SAME else f"{100 * difference:+.2g} %"

"""From what is stored to the page and to its data."""

from datetime import date
from pathlib import Path
from typing import Any

from paralesn import __version__
from paralesn.files import save_text
from paralesn.paper.catalogue import models
from paralesn.paper.selection import cells, recorded
from paralesn.report.elements import Findings, Section
from paralesn.report.origin import said
from paralesn.report.page import page
from paralesn.report.sections import SECTIONS, added
from paralesn.report.stored import Stored

TITLE = "Parallel echo state networks, measured"
NAME = "index.html"


def gather(stored: Stored) -> Findings:
    """Sum up what is stored."""
    runs = recorded(stored.runs)
    return Findings(stored, cells(runs), runs)


def sections(findings: Findings) -> list[Section]:
    """All sections, those with nothing to show included."""
    made = (make(findings) for make in SECTIONS)
    shown = [section for section in made if section is not None]
    return [said(section) for section in (*shown, *added.sections(findings))]


def write(findings: Findings, made: list[Section], out: Path) -> Path:
    """Write the page into a folder."""
    text = page(
        TITLE,
        _lead(findings),
        made,
        f"Made by paralesn {__version__} on {date.today():%d %B %Y}, from records alone.",
    )
    save_text(text, out / NAME)
    return out / NAME


def data(made: list[Section]) -> dict[str, Any]:
    """What the sections say, for scripts; why others are not there, and what was not run here."""
    return {section.key: section.data for section in made if not section.missing} | {
        "missing": {section.key: section.missing for section in made if section.missing},
        "shipped": {
            section.key: sum(bool(record.get("shipped")) for record in section.records)
            for section in made
            if any(record.get("shipped") for record in section.records)
        },
    }


def _lead(findings: Findings) -> str:
    results = [cell for cell in findings.cells.values() if cell.row.model in models()]
    every = findings.stored.runs
    here = sum(not run.get("shipped") for run in every)
    whose = "" if here == len(every) else f", {f'{here:,}' if here else 'none'} of them run here"
    over = len({cell.task.name for cell in results})
    tasks = f" on {over} benchmarks" if over else ""
    return (
        f"{len(every):,} runs{tasks}{whose}, beside the figures of “ParalESN: Enabling parallel "
        "information processing in Reservoir Computing” (Pinna, Lagomarsini, Ceni, Gallicchio, "
        "ICML 2026)."
    )

"""What a section says of records that come with the package: that it rests on them, and whose."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from paralesn.paper import protocols
from paralesn.paper.catalogue import tasks
from paralesn.paper.record_files import is_study
from paralesn.paper.records import Record
from paralesn.report.elements import Note, Section
from paralesn.report.stored import surroundings

_MOST = 6  # tasks that are named


def said(section: Section) -> Section:
    """The section with a note on those of its records that come with the package, if there are."""
    shipped = [record for record in section.records if record.get("shipped")]
    if not shipped:
        return section
    note = Note(f"{_part(shipped, section.records)}: {_where(shipped)}.")
    return replace(section, content=[note, *section.content])


def versions(around: dict[str, Any]) -> str:
    """Versions as text."""
    return ", ".join(f"{name} {version}" for name, version in around["versions"].items())


def machine(around: dict[str, Any]) -> str:
    """A machine as text."""
    known = around["machine"] or {}
    return ", ".join(
        [*(str(known.get(name, "?")) for name in ("system", "processor")),
         f"{known.get('cores', '?')} cores"]
    )  # fmt: skip


def _part(shipped: Sequence[Record], every: Sequence[Record]) -> str:
    """Which of the records are as run by us."""
    if len(shipped) == len(every):
        return "As run by us, not on this machine"
    names = list(dict.fromkeys(filter(None, map(_task, shipped))))
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    on = f", on {', '.join(names[:_MOST])}{more}" if names else ""
    return f"* As run by us, {len(shipped):,} of {len(every):,} records{on}"


def _task(record: Record) -> str | None:
    """The title of a record's task."""
    name = record.get("task")
    if name is None or name in tasks():
        return None if name is None else tasks()[name].title
    protocol = None if is_study(record) else protocols.of_kind(record["kind"])
    return name if protocol is None else protocol.task(name).title


def _where(shipped: Sequence[Record]) -> str:
    """Versions and machines, each with the number of its records where there are several."""
    counted = surroundings(shipped)
    return "; ".join(
        f"{versions(around)}; {machine(around)}" + (f" ({n:,} records)" if len(counted) > 1 else "")
        for around, n in counted
    ) or "versions and machine are not on record"  # fmt: skip

"""Reproduce the paper's tables from chosen configurations, and write the results."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from paralesn.files import save_text
from paralesn.paper import protocols, results, runs, selection
from paralesn.paper.catalogue import chosen
from paralesn.paper.protocol import Protocol
from paralesn.paper.records import Record
from paralesn.paper.results import Cells, Row
from paralesn.paper.table import Table, as_csv, as_latex

ALL = "all"
DEFAULT = ("regression", "long-term")  # what is reproduced unless something is named


class Wanted(NamedTuple):
    """A model on a task, by a protocol."""

    protocol: Protocol
    task: str
    model: str


@dataclass(frozen=True)
class Absent:
    """What could not be run.

    Attributes
    ----------
    task : str
    model : str
        Empty where no model could be.
    why : str
    lacks : str
        "data", "configuration", or "record": of a slow model that was not asked for by name.
    """

    task: str
    model: str
    why: str
    lacks: str

    @property
    def key(self) -> str:
        """Task and model."""
        return f"{self.task}, {self.model}" if self.model else self.task


@dataclass(frozen=True)
class Reproduction:
    """Results by task and row, their tables, what could not be run, and files that were written."""

    cells: Cells
    tables: list[Table]
    absent: list[Absent]
    written: list[Path]

    def data(self) -> dict[str, list[dict[str, Any]]]:
        """Results for machines, those of protocols beside the paper under names of their own."""
        return {
            name.replace("-", "_"): results.as_data(cells.values())
            for name, cells in _by_file(self.cells).items()
        }


# -- what is meant ---------------------------------------------------------------------------------


def names() -> list[str]:
    """Everything that can be asked for: tasks, tables, protocols and groups of tasks."""
    known = [ALL]
    for protocol in protocols.protocols():
        known += protocol.groups()
        known += protocol.tasks() if protocol.by_name() else []
    return list(dict.fromkeys(known))


def resolve(what: Sequence[str] | None, models: Sequence[str] | None = None) -> list[Wanted]:
    """Tasks and models that names stand for.

    Parameters
    ----------
    what : sequence of str or None
        Names of tasks, tables, protocols or groups of tasks; `DEFAULT` if None.
    models : sequence of str or None
        Models; by default those of a table where one is named, otherwise all that are not run on
        request only.
    """
    asked = chosen(what or DEFAULT, names(), "what to reproduce")
    every = protocols.protocols()
    named = None
    if models:
        known = dict.fromkeys(m for p in every for t in p.tasks() for m in p.models(t))
        named = chosen(models, known, "models")
    wanted: dict[Wanted, None] = {}
    for protocol in every:
        by_group, by_name = protocol.groups(), protocol.by_name()
        for task in protocol.tasks() if by_name or {ALL, *by_group} & set(asked) else ():
            own = {ALL, *([task] if by_name else [])}
            by = [name for name in asked if name in own or task in by_group.get(name, ())]
            allowed = _models(protocol, task, by, named) if by else []
            wanted |= dict.fromkeys(Wanted(protocol, task, model) for model in allowed)
    return list(wanted)


def _models(
    protocol: Protocol, task: str, by: Iterable[str], named: Sequence[str] | None
) -> list[str]:
    """Models to run on a task that was meant `by` some names."""
    every = protocol.models(task)
    if named is not None:
        return [model for model in every if model in named]
    if protocol.on_request:
        return []
    of_tables = protocol.groups_of_models()
    if not all(name in of_tables for name in by):
        return every
    return [model for model in every if any(model in of_tables[name] for name in by)]


def unavailable(wanted: Iterable[Wanted], what: Sequence[str] | None = None) -> list[Absent]:
    """Tasks that cannot be run here, and why."""
    absent: dict[str, Absent] = {}
    for protocol, task, _ in wanted:
        if task not in absent and (why := protocol.missing(task)) is not None:
            absent[task] = Absent(task, "", why, "data")
    for protocol in protocols.protocols():
        if not protocol.nothing:
            continue
        asked = set(what or DEFAULT) & {ALL, *protocol.groups()}
        if asked and not protocol.tasks():
            absent[protocol.name] = Absent(protocol.name, "", protocol.nothing, "data")
    return list(absent.values())


# -- runs ------------------------------------------------------------------------------------------

Plans = dict[tuple[str, Row], list[Record]]


def reproduce(
    what: Sequence[str] | None,
    models: Sequence[str] | None,
    out: Path,
    *,
    seeds: int | None = None,
    jobs: int = 1,
    storage: str | None = None,
    start: Callable[[int], Callable[..., Any]] | None = None,
    slow: bool = True,
    country: str | None = None,
) -> Reproduction:
    """Run what is not on record yet, and write tables and results to `out`.

    Parameters
    ----------
    what, models : sequence of str or None
        As `resolve` takes them.
    out : Path
        The folder of records and results.
    seeds : int, optional
        Runs of each configuration, by default as many as a protocol asks for.
    jobs : int
        Processes.
    storage : str, optional
        Studies to take configurations from, where they are done.
    start : function, optional
        Told the number of runs to do, it returns what is called after each of them, and with a
        text while a long one goes on.
    slow : bool
        Whether slow models are run; otherwise they are taken from the records of the package.
    country : str, optional
        The one whose electricity is counted.
    """
    wanted = resolve(what, models)
    absent = unavailable(wanted, what)
    lacking = {entry.task for entry in absent}
    path = out / "records.jsonl"
    known = runs.known(path)
    if not slow:
        known = runs.shipped() | known
    plans: Plans = {}
    for entry in wanted:
        if entry.task not in lacking:
            rows = selection.configurations(*entry, storage, known.values())
            planned = _plans(entry, rows, seeds, country, None if slow else known)
            plans |= planned
            absent += _unplanned(entry, rows, planned)
    every = {runs.identity(run): run for plan in plans.values() for run in plan}
    to_do = [run for key, run in every.items() if key not in known]
    runs.run(to_do, path, jobs, start(len(to_do)) if start is not None else None)
    known |= runs.known(path)
    done = ((row, known[runs.identity(run)]) for (_, row), plan in plans.items() for run in plan)
    cells = selection.cells(done)
    written = [*([path] if path.exists() else []), *write(cells, out)]
    return Reproduction(cells, tables(cells, what), absent, written)


def _plans(
    wanted: Wanted,
    rows: Mapping[Row, Any],
    seeds: int | None,
    country: str | None,
    shipped: Mapping[str, Record] | None,
) -> Plans:
    """Runs of each row; of slow models only those among `shipped`, unless that is None."""
    plans = {}
    for row, tuned in rows.items():
        plan = runs.plan([tuned], seeds or wanted.protocol.seeds, country)
        if shipped is not None and wanted.model in wanted.protocol.slow:
            plan = [run for run in plan if runs.identity(run) in shipped]
        if plan:
            plans[wanted.task, row] = plan
    return plans


def _unplanned(wanted: Wanted, rows: Mapping[Row, Any], planned: Plans) -> list[Absent]:
    """Rows without runs, and why."""
    task, model = wanted.task, wanted.model
    if not rows:
        why = f"there is no configuration of {model} for {task}"
        return [Absent(task, model, why, "configuration")]
    title = wanted.protocol.tasks()[task].title
    return [
        Absent(
            task,
            row.label,
            f"{row.label} on {title} is slow and no record of it comes with the package",
            "record",
        )
        for row in rows
        if (task, row) not in planned
    ]


# -- what is written -------------------------------------------------------------------------------


def tables(cells: Cells, what: Sequence[str] | None = None) -> list[Table]:
    """Tables of results; of a protocol some of whose tables are named, only these."""
    shown = []
    for protocol in protocols.protocols():
        made = protocol.tables(cells)
        named = set(what or ()) & set(protocol.groups_of_models())
        shown += [table for table in made if table.name in named] if named else made
    return shown


def _by_file(cells: Cells) -> dict[str, Cells]:
    """Results by the name of the file that they go to."""
    files: dict[str, Cells] = {}
    for key, cell in cells.items():
        protocol = protocols.of_kind(cell.protocol)
        name = "results" if protocol is None or protocol.in_paper else protocol.name
        files.setdefault(name, {})[key] = cell
    return files


def write(cells: Cells, out: Path) -> list[Path]:
    """Write results for machines, CSV and LaTeX.

    Those of the paper's tables go to ``results.json``, ``results.csv`` and ``tables.tex``, those of
    other protocols to files with their names.
    """
    written = []
    for name, part in _by_file(cells).items():
        latex = "\n".join(map(as_latex, tables(part)))
        for file, text in (
            (f"{name}.json", json.dumps(results.as_data(part.values()), indent=1) + "\n"),
            (f"{name}.csv", as_csv(results.as_list(part.values()))),
            ("tables.tex" if name == "results" else f"{name}.tex", latex),
        ):
            save_text(text, out / file)
            written.append(out / file)
    return written

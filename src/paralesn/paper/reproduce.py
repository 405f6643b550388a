"""Reproduce the paper's tables from chosen configurations, and write the results."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paralesn.files import save_text
from paralesn.paper import protocols, results, runs, selection
from paralesn.paper.dask_cluster import Cluster
from paralesn.paper.markdown_table import as_markdown
from paralesn.paper.records import Record
from paralesn.paper.results import Cells, Row
from paralesn.paper.scope import Absent, Wanted, resolve, unavailable
from paralesn.paper.shipped_records import of_slow_models
from paralesn.paper.table import Table, as_csv, as_latex


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
    cluster: Cluster | None = None,
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
        text during a long one.
    slow : bool
        Whether slow models are run; otherwise they are taken from the records of the package.
    country : str, optional
        The one whose electricity is counted.
    cluster : Cluster, optional
        Does the runs instead of `jobs` processes (see `paralesn.paper.dask_cluster.connected`).
    """
    wanted = resolve(what, models)
    absent = unavailable(wanted, what)
    lacking = {entry.task for entry in absent}
    here = [entry for entry in wanted if entry.task not in lacking]
    path = out / "records.jsonl"
    known = runs.known(path)
    if not slow:
        known = of_slow_models() | known
    done = [entry for entry in here if slow or _is_run(entry, what)]
    trials = [t for entry in done for t in selection.transfers(*entry, storage, known.values())]
    known = _known_after(trials, known, path, jobs, start, cluster)
    plans: Plans = {}
    for entry in here:
        rows = selection.configurations(*entry, storage, known.values())
        planned = _plans(entry, rows, seeds, country, None if entry in done else known)
        plans |= planned
        absent += _unplanned(entry, rows, planned)
    cells = _carry_out(plans, known, path, jobs, start, cluster)
    made = tables(cells)
    written = [*([path] if path.exists() else []), *write(cells, made, out)]
    return Reproduction(cells, _shown(made, what), absent, written)


def _carry_out(
    plans: Plans,
    known: dict[str, Record],
    path: Path,
    jobs: int,
    start: Callable[[int], Callable[..., Any]] | None,
    cluster: Cluster | None,
) -> Cells:
    """Do the planned runs that are not known, and sum up all of them."""
    planned = [(row, runs.identity(run), run) for (_, row), plan in plans.items() for run in plan]
    every = [run for *_, run in planned]
    known = _known_after(every, known, path, jobs, start, cluster)
    return selection.cells((row, known[key]) for row, key, _ in planned)


def _known_after(
    wanted: Iterable[Record],
    known: Mapping[str, Record],
    path: Path,
    jobs: int,
    start: Callable[[int], Callable[..., Any]] | None,
    cluster: Cluster | None,
) -> dict[str, Record]:
    """Do the runs wanted that are not known: what is known then, by identity."""
    keyed = {runs.identity(run): run for run in wanted}
    to_do = [run for key, run in keyed.items() if key not in known]
    progress = start(len(to_do)) if start is not None else None
    runs.run(to_do, path, jobs, progress, cluster)
    return {**known, **runs.known(path)}


def _is_run(wanted: Wanted, what: Sequence[str] | None) -> bool:
    """Whether a model is run although it was not named.

    Slow ones are left to the records of the package, but not where their task was named, which only
    has configurations of others, so that there can be none.
    """
    if wanted.model not in wanted.protocol.slow:
        return True
    return wanted.task in map(str.lower, what or ()) and _is_transferred(wanted)


def _is_transferred(wanted: Wanted) -> bool:
    """Whether configurations of other tasks stand in for those of a model on a task."""
    protocol, task, model = wanted
    return any(protocol.transfers(task, model, space) for space in protocol.spaces)


def _plans(
    wanted: Wanted,
    rows: Mapping[Row, Any],
    seeds: int | None,
    country: str | None,
    shipped: Mapping[str, Record] | None,
) -> Plans:
    """Runs of each row; only those among `shipped`, unless that is None."""
    plans = {}
    for row, tuned in rows.items():
        plan = runs.plan(wanted.protocol, tuned, seeds or wanted.protocol.seeds, country)
        if shipped is not None:
            plan = [run for run in plan if runs.identity(run) in shipped]
        if plan:
            plans[wanted.task, row] = plan
    return plans


def _unplanned(wanted: Wanted, rows: Mapping[Row, Any], planned: Plans) -> list[Absent]:
    """Rows without runs, and why."""
    task, model = wanted.task, wanted.model
    if not rows and not _is_transferred(wanted):
        why = f"there is no configuration of {model} for {task}"
        return [Absent(task, model, why, "configuration")]
    title = wanted.protocol.task(task).title
    return [
        Absent(
            task,
            row.label,
            f"{row.label} on {title} is slow and no record of it comes with the package",
            "record",
        )
        for row in rows or (Row(model),)
        if (task, row) not in planned
    ]


# -- what is written -------------------------------------------------------------------------------


Tables = dict[str, list[Table]]  # by protocol


def tables(cells: Cells) -> Tables:
    """Tables of results by protocol, of those that have any."""
    made = {protocol.name: protocol.tables(cells) for protocol in protocols.protocols()}
    return {name: each for name, each in made.items() if each}


def _shown(made: Tables, what: Sequence[str] | None) -> list[Table]:
    """Tables to be printed: of a protocol some of whose tables are named, only these."""
    shown = []
    for protocol in protocols.protocols():
        own = made.get(protocol.name, [])
        named = set(what or ()) & set(protocol.models_of_tables()) - {protocol.name}
        shown += [table for table in own if table.name in named] if named else own
    return shown


def _file(protocol: str) -> str:
    """The name of the files that results of a protocol go to, without their suffix."""
    known = protocols.of_kind(protocol)
    return "results" if known is None or known.in_paper else known.name


def _by_file(cells: Cells) -> dict[str, Cells]:
    """Results by the name of the files that they go to."""
    files: dict[str, Cells] = {}
    for key, cell in cells.items():
        files.setdefault(_file(cell.protocol), {})[key] = cell
    return files


def write(cells: Cells, made: Tables, out: Path) -> list[Path]:
    """Write results for machines, CSV, LaTeX and Markdown, of which tables were `made`.

    Those of the paper's tables go to ``results.json``, ``results.csv``, ``tables.tex`` and
    ``tables.md``, those of other protocols to files with their names.
    """
    written = []
    for name, part in _by_file(cells).items():
        own = [table for of, each in made.items() if _file(of) == name for table in each]
        latex, markdown = ("\n".join(map(form, own)) for form in (as_latex, as_markdown))
        for file, text in (
            (f"{name}.json", json.dumps(results.as_data(part.values()), indent=1) + "\n"),
            (f"{name}.csv", as_csv(results.as_list(part.values()))),
            ("tables.tex" if name == "results" else f"{name}.tex", latex),
            ("tables.md" if name == "results" else f"{name}.md", markdown),
        ):
            save_text(text, out / file)
            written.append(out / file)
    return written

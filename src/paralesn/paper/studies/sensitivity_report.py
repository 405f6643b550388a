"""What a record of sensitivity says, as tables and sentences."""

from rich.table import Table

from paralesn.paper.catalogue import tasks
from paralesn.paper.fields import is_number
from paralesn.paper.records import Record
from paralesn.paper.studies.published_sensitivity import claims, groups, ranked

SOURCES = {"random": "random trials", "search": "trials of a search"}


def title(record: Record) -> str:
    """Which trials a record of a study sums up; of earlier ones, those of a search."""
    source = SOURCES.get(record.get("source", "search"), SOURCES["search"])
    seeds = record.get("seeds", 1)
    judged = "one seed" if seeds == 1 else f"{seeds} seeds each"
    return (
        f"{tasks()[record['task']].title}, {record['model']}, {record['space']} space: "
        f"{record['trials']} {source}, {judged}"
    )


def origin(record: Record) -> str:
    """Where trials are from, with what and on which machine they were done."""
    used = ", ".join(f"{name} {number}" for name, number in record.get("versions", {}).items())
    machine = record.get("machine", {})
    on = ", ".join(str(machine.get(name, "?")) for name in ("system", "processor"))
    whose = "come with the package, done" if record.get("shipped") else "were done"
    return f"The trials {whose} with {used or 'unknown versions'} on {on}."


def shares(record: Record) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of a table of shares beside what the paper says, the largest first.

    A pair has a place as a whole, and a row for its minimum and its maximum each.
    """
    said = {name: claim.says for claim in claims(record) for name in claim.found}
    alone = {effect["name"]: effect for effect in record["effects"]}
    panel = {name: title for title, names in groups(alone).items() for name in names}
    rows = []
    for place, one in enumerate(ranked(record), 1):
        parts = [f"{one['name']} {end}" for end in ("min", "max")]
        own = [name for name in parts if one["name"] not in alone and name in alone]
        where = panel[own[0] if own else one["name"]]
        rows.append([one["name"], str(place), where, *_numbers(one), said.get(one["name"], "")])
        rows += [[f"  {name}", "", where, *_numbers(alone[name]), ""] for name in own]
    columns = ["Hyperparameter", "Place", "Panel", "Share", "By chance", "p", "Paper"]
    if said:
        return columns, rows
    return columns[:-1], [row[:-1] for row in rows]


def _numbers(one: Record) -> list[str]:
    """What a hyperparameter explains, as it stands in a table."""
    by_chance = f"{one['chance']:.1%}" if is_number(one.get("chance")) else ""
    return [f"{one['share']:.1%}", by_chance, _p(one)]


def _p(one: Record) -> str:
    p = one.get("p")
    if not isinstance(p, float):
        return ""
    return "<0.001" if p < 1e-3 else f"{p:.2g}"


def verdicts(record: Record) -> list[str]:
    """What the paper claims, and what was found, a line for each claim."""
    by_name = {one["name"]: one for one in ranked(record)}
    lines = []
    for claim in claims(record):
        found = ", ".join(
            f"{name} in place {place} ({by_name[name]['share']:.1%}"
            + (f", p {p})" if (p := _p(by_name[name])) else ")")
            for name, place in claim.found.items()
        )
        *others, last = claim.found
        said = f"{', '.join(others)} and {last} matter" if others else f"{last} matters"
        lines.append(f"The paper: {said} {claim.says}. Of {claim.of}: {found}.")
    return lines


def tables(record: Record) -> list[Table]:
    """Shares, and the best and the median of each value, the most important first."""
    columns, rows = shares(record)
    first = Table(title=title(record), title_justify="left")
    for column in columns:
        is_text = column in ("Hyperparameter", "Panel", "Paper")
        first.add_column(column, justify="left" if is_text else "right")
    for row in rows:
        first.add_row(*row)
    second = Table(title="Validation metric by value", title_justify="left")
    for column in ("Hyperparameter", "Value", "Trials", "Best", "Median"):
        second.add_column(column, justify="left" if column == "Hyperparameter" else "right")
    for effect in record["effects"]:
        for i, value in enumerate(effect["values"]):
            numbers = f"{value['best']:.4g}", f"{value['quartiles'][1]:.4g}"
            name = effect["name"] if i == 0 else ""
            second.add_row(name, value["value"], str(value["trials"]), *numbers)
    return [first, second]

"""Time by length, time and memory by size, parameters: measured."""

from collections.abc import Sequence
from typing import Any

from paralesn.paper.studies.complexity import LENGTH_UNITS
from paralesn.paper.studies.complexity_fits import curve, fit_exponent, out_of_memory
from paralesn.paper.studies.complexity_models import BY_LENGTH, BY_SIZE, MODELS
from paralesn.paper.studies.complexity_table import (
    SPACE,
    SPACE_NOTE,
    TIME,
    TIME_NOTE,
    claims,
    space_row,
    time_row,
)
from paralesn.paper.studies.complexity_words import cores_words, seconds, size
from paralesn.report.charts import Axis, Series, xy
from paralesn.report.elements import Figure, Findings, Section, Table

TITLE = "Scaling with length and size"
Curves = dict[str, dict[int, float]]


def section(findings: Findings) -> Section:
    """The paper's scaling figure and its count of parameters, as measured."""
    measured = findings.stored.of_experiment("complexity")
    if not measured:
        return Section("scaling", TITLE, missing="No measurement of it is on record.")
    record = measured[-1]
    cores = cores_words(record)
    lengths = curves_of(record, BY_LENGTH, "length", "steps", "seconds")
    steps = curves_of(record, BY_SIZE, "size", "units", "seconds_per_step")
    memory = curves_of(record, BY_SIZE, "size", "units", "peak_bytes")
    return Section(
        "scaling",
        TITLE,
        lead=f"Medians of {record['rounds']} rounds on {cores}. Exponents are fitted to the "
        "larger half of each curve.",
        content=[
            figure("Time by length of the series", lengths, "sequence length", "seconds", seconds,
                    f"Running a series through {LENGTH_UNITS} units, 5 layers where deep.", "T"),
            figure("Time of a step by size", steps, "units", "seconds", seconds,
                    "Seconds that one time step takes.", "N"),
            figure("Peak memory by size", memory, "units", "bytes", size,
                    "Bytes above an idle process: draw, run 100 steps, keep the last states. "
                    + _limit(record), ""),
            *_claims(record),
            _parameters(record),
        ],
        data={
            "seconds by length": lengths,
            "seconds per step by units": steps,
            "peak bytes by units": memory,
        },
        records=[record],
    )  # fmt: skip


def curves_of(record: dict[str, Any], names: tuple[str, ...], kind: str, x: str, y: str) -> Curves:
    """A curve for each model that has one; values are to be drawn on logarithmic axes."""
    curves = {name: curve(record, kind, name, x, y) for name in names}
    drawn = {name: {at: v for at, v in values.items() if v > 0} for name, values in curves.items()}
    return {name: values for name, values in drawn.items() if values}


def figure(
    title: str,
    curves: Curves,
    x: str,
    y: str,
    unit: Any,
    caption: str,
    power: str,
    more: Sequence[Series] = (),
) -> Figure:
    """A line for each model; exponents of `power`, if it is named, and `more` marks."""
    series = [
        Series(
            name,
            list(values.items()),
            [f"{name}, {at:,} {'steps' if power == 'T' else 'units'}: {unit(value)}"
             for at, value in values.items()],
        )
        for name, values in curves.items()
    ]  # fmt: skip
    fits = {name: fit_exponent(list(c), list(c.values())) for name, c in curves.items()}
    if power:
        grown = [f"{name} {fit.exponent:.2f}" for name, fit in fits.items() if fit]
        caption += f" Exponents of {power}: {', '.join(grown)}." if grown else ""
    measured = sorted({at for values in curves.values() for at in values})
    rows = [
        [f"{at:,}", *(unit(c[at]) if at in c else "-" for c in curves.values())] for at in measured
    ]
    return Figure(
        title,
        xy(f"{title}, one line for each model", Axis(x, True), Axis(y, True), [*series, *more]),
        caption,
        legend=list(curves),
        data=Table(title, [x.capitalize(), *curves], rows),
    )


def _limit(record: dict[str, Any]) -> str:
    full = out_of_memory(record)
    if full is None:
        return "No size tried ran out of memory."
    limit = f"; {size(full['limit_bytes'], ' ')}B were available" if full["limit_bytes"] else ""
    return (
        f"The ESN ran out of memory at {full['units']:,} units, whose matrix takes "
        f"{size(full['matrix_bytes'], ' ')}B{limit}."
    )


def _claims(record: dict[str, Any]) -> list[Table]:
    """The paper's table of time and space, with what was measured."""
    rows = claims(record)
    return [
        Table("Time complexity", TIME, list(map(time_row, rows)), TIME_NOTE),
        Table("Space complexity", SPACE, list(map(space_row, rows)), SPACE_NOTE),
    ]


def _parameters(record: dict[str, Any]) -> Table:
    rows: list[list[Any]] = []
    note = ""
    for name, model in MODELS.items():
        for units, count in curve(record, "parameters", name, "units", "parameters").items():
            paper = f"≈ {model.parameters}" if model.parameters else "-"
            rows.append([name, model.layers, f"{count:,.0f}", paper])
            note = f"{units:,} units a layer, one input."
    columns = ["Model", "Layers", "Ours", "Paper"]
    return Table("Parameters of the recurrence", columns, rows, note, narrow=True)

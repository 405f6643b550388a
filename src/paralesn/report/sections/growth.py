"""Time by length, time and memory by size, parameters: measured."""

from typing import Any

from paralesn.paper.studies.complexity import LENGTH_UNITS
from paralesn.paper.studies.complexity_fits import curve, fit_exponent, out_of_memory
from paralesn.paper.studies.complexity_models import BY_LENGTH, BY_SIZE, MODELS
from paralesn.paper.studies.complexity_words import seconds, size
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
    cores = record["machine"]["cores"]
    lengths = _curves(record, BY_LENGTH, "length", "steps", "seconds")
    steps = _curves(record, BY_SIZE, "size", "units", "seconds_per_step")
    memory = {
        name: {units: peak for units, peak in values.items() if peak > 0}
        for name, values in _curves(record, BY_SIZE, "size", "units", "peak_bytes").items()
    }
    return Section(
        "scaling",
        TITLE,
        lead=f"Medians of {record['rounds']} rounds on {cores} cores. Exponents are fitted to the "
        "larger half of each curve.",
        content=[
            _figure("Time by length of the series", lengths, "sequence length", "seconds", seconds,
                    f"Running a series through {LENGTH_UNITS} units, 5 layers where deep.", "T"),
            _figure("Time of a step by size", steps, "units", "seconds", seconds,
                    "Seconds that one time step takes.", "N"),
            _figure("Peak memory by size", memory, "units", "bytes", size,
                    "Bytes above an idle process: draw, run 100 steps, keep the last states. "
                    + _limit(record), ""),
            _parameters(record),
        ],
        data={
            "seconds by length": lengths,
            "seconds per step by units": steps,
            "peak bytes by units": memory,
        },
    )  # fmt: skip


def _curves(record: dict[str, Any], names: tuple[str, ...], kind: str, x: str, y: str) -> Curves:
    curves = {name: curve(record, kind, name, x, y) for name in names}
    return {name: values for name, values in curves.items() if values}


def _figure(
    title: str, curves: Curves, x: str, y: str, unit: Any, caption: str, power: str
) -> Figure:
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
        xy(f"{title}, one line for each model", Axis(x, True), Axis(y, True), series),
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

"""Tables of the measured complexity, from the record alone."""

from typing import Any

import numpy as np
from rich.table import Table

from paralesn.paper.studies import complexity_table
from paralesn.paper.studies.complexity import LENGTH_UNITS, LONG
from paralesn.paper.studies.complexity_child import SEARCHED
from paralesn.paper.studies.complexity_fits import Fit, curve, fit_exponent, out_of_memory
from paralesn.paper.studies.complexity_models import BY_LENGTH, BY_SIZE, MODELS, ON_DIGITS
from paralesn.paper.studies.complexity_words import cores_words, digits_words, seconds, size


def tables(record: dict[str, Any], taken: int = 0) -> list[Table]:
    """Parameters, time by size, time by length, memory, digits; `taken` measurements are older."""
    made = [
        _parameters(record), *complexity_table.tables(record), _sizes(record), _lengths(record),
        _memory(record), *_digits(record),
    ]  # fmt: skip
    if taken:
        count = len(record["measurements"])
        note = f"{taken} of {count} measurements are from an earlier run."
        for table in made:
            table.caption = " ".join(filter(None, (str(table.caption or ""), note)))
    return made


def _table(title: str, first: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.add_column(first, justify="right")
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _parameters(record: dict[str, Any]) -> Table:
    table = Table(title="Parameters of the recurrence", title_justify="left")
    for column in ("model", "units", "layers", "parameters", "paper"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for name, model in MODELS.items():
        for units, count in curve(record, "parameters", name, "units", "parameters").items():
            paper = f"about {model.parameters}" if model.parameters else "-"
            table.add_row(name, f"{units:,}", str(model.layers), f"{count:,.0f}", paper)
    return table


def _sizes(record: dict[str, Any]) -> Table:
    curves = {name: curve(record, "size", name, "units", "seconds_per_step") for name in BY_SIZE}
    table = _table("Time per step by reservoir size", "units N", BY_SIZE)
    _rows(table, curves)
    fits = {name: fit_exponent(list(c), list(c.values())) for name, c in curves.items()}
    _fits(table, fits)
    table.add_row("paper", *(MODELS[name].step for name in BY_SIZE))
    claims = []
    for name, of_curve in curves.items():
        sizes = np.array(list(of_curve), float)
        claims.append(fit_exponent(list(of_curve), MODELS[name].cost(sizes).tolist()))
    table.add_row("as exponent", *(f"{fit.exponent:.2f}" if fit else "-" for fit in claims))
    table.caption = (
        "Medians; all states kept. Exponents: least squares in log-log over the larger half. A "
        "matrix that outgrows the processor's caches in that range makes for more than claimed."
    )
    return table


def _lengths(record: dict[str, Any]) -> Table:
    curves = {name: curve(record, "length", name, "steps", "seconds") for name in BY_LENGTH}
    table = _table(f"Time of a series by its length, {LENGTH_UNITS} units", "steps T", BY_LENGTH)
    _rows(table, curves)
    _fits(table, {name: fit_exponent(list(c), list(c.values())) for name, c in curves.items()})
    table.add_row("paper", *(MODELS[name].sequence for name in BY_LENGTH))
    table.caption = (
        "Medians; all states computed, block by block. The paper's O(log T) takes T / log T "
        f"processors; on {cores_words(record)}, all T steps must be gone through "
        "and time is linear in T at best: what is left of the advantage is a smaller factor. No "
        f"model runs longer series after one that took {LONG:.0f} seconds."
    )
    return table


def _memory(record: dict[str, Any]) -> Table:
    table = _table("Peak memory (and drawn arrays) by reservoir size", "units N", BY_SIZE)
    peaks = {name: curve(record, "size", name, "units", "peak_bytes") for name in BY_SIZE}
    held = {name: curve(record, "size", name, "units", "parameter_bytes") for name in BY_SIZE}
    failed = {name: out_of_memory(record, name) for name in BY_SIZE}
    mere = curve(record, "matrix", "ESN", "units", "matrix_bytes")
    rows = {units for c in held.values() for units in c} | set(mere)

    def text(name: str, units: int) -> str:
        full = failed[name]
        if full and full["units"] == units:
            return "[red]out of memory[/red]"
        if units in held[name]:
            peak = size(peaks[name][units]) if units in peaks[name] else "?"
            return f"{peak} ({size(held[name][units])})"
        return f"* ({size(mere[units])})" if name == "ESN" and units in mere else ""

    for units in sorted(rows | {full["units"] for full in failed.values() if full}):
        table.add_row(f"{units:,}", *(text(name, units) for name in BY_SIZE))
    table.caption = _memory_caption(failed["ESN"], mere)
    return table


def _memory_caption(full: dict[str, Any] | None, matrices: dict[int, float]) -> str:
    """What the figures count, and whether a matrix was too large."""
    caption = (
        "Bytes above an idle process: draw, run 100 steps, keep the last states. Up to "
        f"{SEARCHED:,} units an ESN's draw includes the search for the spectral radius; a larger "
        "one's radius is that of the circular law."
    )
    if any(full is None or units < full["units"] for units in matrices):
        caption += " * The matrix was allocated, but not drawn."
    if full is None:
        return caption + " No size tried ran out of memory."
    if not full["limit_bytes"]:
        return caption
    return caption + (
        f" The matrix of {full['units']:,} units takes {size(full['matrix_bytes'], ' ')}B; "
        f"{size(full['limit_bytes'], ' ')}B were available."
    )


def _digits(record: dict[str, Any]) -> list[Table]:
    """Time and peak memory of the batch of digits, where any was read."""
    times = {name: curve(record, "digits", name, "units", "seconds") for name in ON_DIGITS}
    peaks = {name: curve(record, "digits", name, "units", "peak_bytes") for name in ON_DIGITS}
    failed = {name: out_of_memory(record, name, ("digits",)) for name in ON_DIGITS}
    if not any(times.values()) and not any(failed.values()):
        return []
    table = _table(f"Time and peak memory of {digits_words(record)}", "units N", ON_DIGITS)

    def text(name: str, units: int) -> str:
        full = failed[name]
        if full and full["units"] == units:
            return f"[red]out of memory[/red] ({size(full['needed_bytes'])})"
        if units not in times[name]:
            return ""
        peak = size(peaks[name][units]) if units in peaks[name] else "?"
        return f"{seconds(times[name][units])}, {peak}"

    sizes = {units for c in times.values() for units in c}
    for units in sorted(sizes | {full["units"] for full in failed.values() if full}):
        table.add_row(f"{units:,}", *(text(name, units) for name in ON_DIGITS))
    fits = {name: fit_exponent(list(c), list(c.values())) for name, c in times.items()}
    table.add_section()
    _fits(table, fits)
    table.caption = (
        "Medians, to the last state of every digit, and bytes above an idle process. What is out "
        f"of memory needs the bytes in brackets at least; {size(record['limit_bytes'], ' ')}B are "
        "allowed. Exponents of time."
    )
    return [table]


def _rows(table: Table, curves: dict[str, dict[int, float]]) -> None:
    """One row for each x, of seconds."""
    for at in sorted({at for of_curve in curves.values() for at in of_curve}):
        cells = (seconds(of_curve[at]) if at in of_curve else "" for of_curve in curves.values())
        table.add_row(f"{at:,}", *cells)
    table.add_section()


def _fits(table: Table, fits: dict[str, Fit | None]) -> None:
    table.add_row("exponent", *(f"{fit.exponent:.2f}" if fit else "-" for fit in fits.values()))
    ranges = (f"{fit.low}-{fit.high}" if fit else "" for fit in fits.values())
    table.add_row("fitted over", *ranges)

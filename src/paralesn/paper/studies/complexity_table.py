"""The paper's table of time and space complexity, each claim beside what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from paralesn.paper.studies.complexity import COUNTED_UNITS, LENGTH_UNITS
from paralesn.paper.studies.complexity_child import STEPS
from paralesn.paper.studies.complexity_fits import curve, fit_exponent
from paralesn.paper.studies.complexity_models import BY_SIZE, MODELS
from paralesn.paper.studies.complexity_words import size

NOISE = 1e5  # bytes by which the peak of a process is off
RECURRENCE = "O(TN)"  # space of every model, says the paper, which counts all states
TIME = ("Model", "A step", "Measured", "A sequence of T steps", "Measured")
SPACE = (
    "Model", "Parameters", "Measured", f"Of {COUNTED_UNITS:,} units", "Recurrence",
    "Beside inputs and states",
)  # fmt: skip
TIME_NOTE = (
    "Exponents of N and T by least squares in the larger half of the sizes and lengths measured; "
    f"sequences of {LENGTH_UNITS} units. O(log T) takes T / log T processors."
)
SPACE_NOTE = (
    "Exponents of N; parameters of one input, counted. The paper's O(TN) is the states themselves: "
    f"measured is the peak of a run of {STEPS} steps beside parameters, inputs and those states, "
    "at the largest size of each model. The ESN's is its matrix in the order that products read it."
)


@dataclass(frozen=True)
class Claim:
    """A model's row: what the paper says of time and space, and what was measured."""

    model: str
    step: float | None
    sequence: float | None
    parameters: int | None
    growth: float | None
    units: int | None  # of the run whose memory was measured
    beyond: float | None


def claims(record: dict[str, Any]) -> list[Claim]:
    """A row for each model of the paper's table that was measured."""
    rows = (_claim(record, name) for name in BY_SIZE)
    return [row for row in rows if any(v is not None for v in vars(row).values() if v != row.model)]


def _claim(record: dict[str, Any], name: str) -> Claim:
    counted = curve(record, "parameters", name, "units", "parameters")
    beyond = curve(record, "size", name, "units", "recurrence_bytes")
    return Claim(
        name,
        _exponent(curve(record, "size", name, "units", "seconds_per_step")),
        _exponent(curve(record, "length", name, "steps", "seconds")),
        round(counted[COUNTED_UNITS]) if COUNTED_UNITS in counted else None,
        _exponent(curve(record, "size", name, "units", "parameters")),
        max(beyond, default=None),
        beyond[max(beyond)] if beyond else None,
    )


def _exponent(values: dict[int, float]) -> float | None:
    fit = fit_exponent(list(values), list(values.values()))
    return None if fit is None else fit.exponent


def time_row(claim: Claim) -> list[str]:
    """Entries of `TIME`."""
    model = MODELS[claim.model]
    return [
        claim.model, model.step, _power("N", claim.step),
        _sequence(claim.model), _power("T", claim.sequence),
    ]  # fmt: skip


def _sequence(name: str) -> str:
    """The paper's claim of a sequence, in T and N."""
    model = MODELS[name]
    steps = model.sequence.removeprefix("O(").removesuffix(")")
    units = model.step.removeprefix("O(").removesuffix(")")
    return f"O(T {units})" if steps == "T" else f"O({units} {steps})"


def space_row(claim: Claim) -> list[str]:
    """Entries of `SPACE`."""
    beyond = "-"
    if claim.beyond is not None:
        held = f"{size(claim.beyond, ' ')}B" if claim.beyond > NOISE else f"< {size(NOISE, ' ')}B"
        beyond = f"{held} at {claim.units:,} units"
    counted = "-" if claim.parameters is None else f"{claim.parameters:,}"
    return [
        claim.model, MODELS[claim.model].space, _power("N", claim.growth), counted, RECURRENCE,
        beyond,
    ]  # fmt: skip


def _power(of: str, exponent: float | None) -> str:
    return "-" if exponent is None else f"{of}^{exponent:.2f}"


def tables(record: dict[str, Any]) -> list[Table]:
    """Time and space, as tables of a terminal."""
    rows = claims(record)
    return [
        _as_rich("Time complexity", TIME, list(map(time_row, rows)), TIME_NOTE),
        _as_rich("Space complexity", SPACE, list(map(space_row, rows)), SPACE_NOTE),
    ]


def _as_rich(title: str, heads: Sequence[str], rows: list[list[str]], note: str) -> Table:
    table = Table(title=title, title_justify="left", caption=note, caption_justify="left")
    for i, head in enumerate(heads):
        table.add_column(head[:1].lower() + head[1:], justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*row)
    return table

"""A batch of digits read by ever larger reservoirs, until memory runs out: measured."""

from typing import Any

from paralesn.paper.studies.complexity_fits import out_of_memory
from paralesn.paper.studies.complexity_models import ON_DIGITS
from paralesn.paper.studies.complexity_words import digits_words, seconds, size
from paralesn.report.charts import Series
from paralesn.report.elements import LOOKS, Findings, Section
from paralesn.report.sections.growth import Curves, curves_of, figure

TITLE = "Large reservoirs on MNIST digits"


def section(findings: Findings) -> Section:
    """Time and peak memory by size, as far as memory reaches."""
    measured = findings.stored.of_experiment("complexity")
    records = [one for one in measured if any(m["kind"] == "digits" for m in one["measurements"])]
    if not records:
        return Section("digits", TITLE, missing="No measurement of it is on record.")
    record = records[-1]
    times = curves_of(record, ON_DIGITS, "digits", "units", "seconds")
    memory = curves_of(record, ON_DIGITS, "digits", "units", "peak_bytes")
    what, crosses = digits_words(record), _crosses(record)
    return Section(
        "digits",
        TITLE,
        lead=f"Reservoirs read {what} and keep the last state of each, which is what the readout "
        f"of sequential MNIST is given. {_ends(record, times)}",
        content=[
            figure(f"Time of {what}", times, "units", "seconds", seconds,
                   "Medians, from the digits to their last states.", "N"),
            figure(f"Peak memory with {what}", memory, "units", "bytes", size,
                   "Bytes above an idle process. The mark that stands alone is what a size out of "
                   "memory needs at least.", "", crosses),
        ],
        data={
            "seconds by units": times,
            "peak bytes by units": memory,
            "out of memory": {
                name: {key: full[key] for key in ("units", "needed_bytes", "limit_bytes")}
                for name in ON_DIGITS
                if (full := out_of_memory(record, name, ("digits",)))
            },
        },
        records=[record],
    )  # fmt: skip


def _crosses(record: dict[str, Any]) -> list[Series]:
    """A mark for each model that ran out of memory, at the least that it needs."""
    marks = []
    for name in ON_DIGITS:
        full = out_of_memory(record, name, ("digits",))
        if full:
            tip = f"{name}, {full['units']:,} units: out of memory, {_needs(full)}"
            at = [(full["units"], full["needed_bytes"])]
            marks.append(Series(name, at, [tip], False, LOOKS[name], ["out of memory"]))
    return marks


def _ends(record: dict[str, Any], times: Curves) -> str:
    """Where the curve of each model ends, and why."""
    said = []
    for name in ON_DIGITS:
        full = out_of_memory(record, name, ("digits",))
        if full:
            said.append(f"{name} is out of memory at {full['units']:,} units: {_needs(full)}.")
        elif name in times:
            said.append(f"{name} fits up to {max(times[name]):,} units, the most that were tried.")
    return " ".join(said)


def _needs(full: dict[str, Any]) -> str:
    return (
        f"more than the {size(full['limit_bytes'], ' ')}B allowed; arrays and last states alone "
        f"take {size(full['needed_bytes'], ' ')}B"
    )

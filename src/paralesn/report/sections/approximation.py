"""A nonlinear filter approached by linear reservoirs: measured."""

from paralesn.paper.studies.universality import READOUTS, medians, verdict
from paralesn.report.charts import Axis, Series, xy
from paralesn.report.elements import Figure, Findings, Look, Section, Table

TITLE = "Universality"
_LOOKS = {
    "linear": Look(0, "square"), "perceptron": Look(1), "formula": Look(3, "diamond", True),
}  # fmt: skip


def section(findings: Findings) -> Section:
    """Test errors of three readouts by size of the reservoir."""
    measured = findings.stored.of_experiment("universality")
    if not measured:
        return Section("universality", TITLE, missing="No measurement of it is on record.")
    record = measured[-1]
    curves = {name: medians(record, name) for name in READOUTS}
    series = [
        Series(
            READOUTS[name],
            list(values.items()),
            [f"{READOUTS[name]}, {units} units: {error:.3g}" for units, error in values.items()],
            look=_LOOKS[name],
        )
        for name, values in curves.items()
    ]
    rows = [
        [units, *(f"{values[units]:.3g}" for values in curves.values())]
        for units in curves["linear"]
    ]
    title = "Test error by size of a linear reservoir"
    return Section(
        "universality",
        TITLE,
        content=[
            Figure(
                title,
                xy(title, Axis("units", True), Axis("NRMSE", True), series),
                f"Medians of {record['settings']['seeds']} reservoirs. {verdict(curves)}",
                legend=list(READOUTS.values()),
                looks={READOUTS[name]: look for name, look in _LOOKS.items()},
                data=Table(title, ["Units", *READOUTS.values()], rows),
            )
        ],
        data=curves,
        records=[record],
    )

"""What each hyperparameter does to the error: from the trials of a search."""

from typing import Any

from markupsafe import Markup, escape

from paralesn.paper.catalogue import models, tasks
from paralesn.report.charts import Box, boxes
from paralesn.report.elements import Figure, Findings, Section, Table

TITLE = "Sensitivity to hyperparameters"


def section(findings: Findings) -> Section:
    """Boxes of the validation metric by value, one figure for each study."""
    records = findings.stored.of_experiment("sensitivity")
    if not records:
        return Section("sensitivity", TITLE, missing="No study of sensitivity is on record.")
    studies = {(study["task"], study["model"], study["space"]): study for study in records}
    return Section(
        "sensitivity",
        TITLE,
        lead="The validation metric of the trials of a search, by the value of one hyperparameter; "
        "the others vary freely. In brackets how much of the variance of the ranks it explains "
        "alone.",
        content=[_figure(studies[key]) for key in sorted(studies, key=_order)],
        data=records,
        records=list(studies.values()),
    )


def _order(study: tuple[str, str, str]) -> tuple[int, int, str]:
    """The catalogue's."""
    return list(tasks()).index(study[0]), list(models()).index(study[1]), study[2]


def _figure(study: dict[str, Any]) -> Figure:
    task = tasks()[study["task"]]
    title = f"{study['model']} on {task.title}, {study['space']} space"
    panels, rows = [], []
    for effect in study["effects"]:
        drawn = [
            Box(v["value"], v["best"], tuple(v["quartiles"]), v["trials"]) for v in effect["values"]
        ]
        name = f"{effect['name']} ({effect['share']:.0%})"
        # Errors span powers of ten; a capacity or an accuracy does not.
        log = task.better == "lower" and all(min(b.best, *b.quartiles) > 0 for b in drawn)
        drawing = boxes(f"{title}: {task.title} by {effect['name']}", drawn, log)
        panels.append(f"<div><h4>{escape(name)}</h4>{drawing}</div>")
        for box in drawn:
            rows.append([name, box.label, box.count, f"{box.best:.4g}", f"{box.quartiles[1]:.4g}"])
    columns = ["Hyperparameter", "Value", "Trials", "Best", "Median"]
    way = "highest" if task.better == "higher" else "lowest"
    return Figure(
        title,
        Markup(f'<div class="small-multiples">{"".join(panels)}</div>'),
        f"{study['trials']} trials. Boxes are quartiles, lines medians, points the {way} value.",
        data=Table(title, columns, rows),
        wide=True,
    )

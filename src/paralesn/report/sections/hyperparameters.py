"""What each hyperparameter does to the error: from random trials, or those of a search."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from paralesn.paper.catalogue import models, tasks
from paralesn.paper.records import Record
from paralesn.paper.studies.published_sensitivity import groups
from paralesn.paper.studies.sensitivity import as_record, effects
from paralesn.paper.studies.sensitivity_report import shares, title, verdicts
from paralesn.paper.studies.sensitivity_trials import EXPERIMENT, expanded
from paralesn.report.charts import Box, boxes
from paralesn.report.elements import Element, Figure, Findings, Note, Section, Table

TITLE = "Sensitivity to hyperparameters"
_LEAD = (
    "The validation metric by the value of one hyperparameter; the others vary freely. In brackets "
    "how much of the variance of the ranks it explains alone. Trials of a search are mostly near "
    "what was good; random ones are spread evenly over the space."
)


def section(findings: Findings) -> Section:
    """Boxes of the validation metric by value, one figure for each study."""
    studies = {_key(record): record for record in findings.stored.of_experiment("sensitivity")}
    summed_up = {key[:3] for key in studies}
    for line in findings.stored.of_experiment(EXPERIMENT):
        trials = expanded(line)
        if tuple(trials.study) not in summed_up:
            record = as_record(effects(trials))
            studies[_key(record)] = record
    if not studies:
        return Section("sensitivity", TITLE, missing="No study of sensitivity is on record.")
    shown = [studies[key] for key in sorted(studies, key=_order)]
    content = [element for study in shown for element in _elements(study)]
    return Section("sensitivity", TITLE, _LEAD, content, data=shown, records=shown)


Key = tuple[str, str, str, str]


def _key(study: Record) -> Key:
    return study["task"], study["model"], study["space"], study.get("source", "search")


def _order(study: Key) -> tuple[int, int, str, str]:
    """The catalogue's."""
    task, model, space, source = study
    return list(tasks()).index(task), list(models()).index(model), space, source


def _elements(study: Record) -> list[Element]:
    """The figure, the table of shares, and what the paper says."""
    columns, rows = shares(study)
    caption = f"What explains the variance of the ranks. {title(study)}"
    made: list[Element] = [
        _figure(study),
        Table(caption, columns, rows, text=[columns.index("Panel")], folded=True),
    ]
    return [*made, *map(Note, verdicts(study))]


def _figure(study: Record) -> Figure:
    name = title(study)
    by_name = {effect["name"]: effect for effect in study["effects"]}
    drawn, rows = [], []
    for group, names in groups(by_name).items():
        panels = Markup("").join(_panel(study, name, by_name[one]) for one in names)
        drawn.append(
            Markup('<h4>{}</h4><div class="small-multiples">{}</div>').format(group, panels)
        )
        rows += [row for one in names for row in _rows(by_name[one])]
    columns = ["Hyperparameter", "Value", "Trials", "Best", "Median"]
    way = "highest" if tasks()[study["task"]].better == "higher" else "lowest"
    return Figure(
        name,
        Markup("").join(drawn),
        f"Boxes are quartiles, lines medians, points the {way} value.",
        data=Table(name, columns, rows),
        wide=True,
    )


def _panel(study: Record, name: str, effect: Mapping[str, Any]) -> Markup:
    """Boxes of one hyperparameter; errors span powers of ten, a capacity or an accuracy not."""
    drawn = [
        Box(v["value"], v["best"], tuple(v["quartiles"]), v["trials"]) for v in effect["values"]
    ]
    positive = all(min(box.best, *box.quartiles) > 0 for box in drawn)
    log = tasks()[study["task"]].better == "lower" and positive
    label = f"{effect['name']} ({effect['share']:.1%})"
    drawing = boxes(f"{name}, by {effect['name']}", drawn, log)
    return Markup("<div><h5>{}</h5>{}</div>").format(label, drawing)


def _rows(effect: Mapping[str, Any]) -> list[list[Any]]:
    return [
        [effect["name"], v["value"], v["trials"], f"{v['best']:.4g}", f"{v['quartiles'][1]:.4g}"]
        for v in effect["values"]
    ]

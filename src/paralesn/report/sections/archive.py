"""The classifier as it comes on datasets of the UCR archive, beside published rivals."""

from typing import Any

from markupsafe import Markup

from paralesn.paper.protocols import ucr
from paralesn.paper.runs import identity
from paralesn.report.elements import Entry, Findings, Section, Table

TITLE = "UCR archive"


def section(found: Findings) -> Section:
    """Accuracies on every dataset there are records of."""
    runs = {identity(run): run for run in found.stored.of_kind(ucr.KIND)}
    if not runs:
        return Section("ucr", TITLE, missing="`paralesn reproduce ucr` runs it.")
    results = ucr.rows(runs.values())
    compared = ucr.comparison(results)
    rivals = [rival for rival in ucr.RIVALS if rival in compared]
    rows = [_row(one, rivals) for one in sorted(results, key=lambda one: one["task"])]
    heads = ["Dataset", "Ours", *rivals, "Seconds", "Training", "Test", "Length", "Classes"]
    tables = [
        Table(
            "Accuracy without tuning, official splits",
            heads,
            rows,
            note="The best of a row is bold. Rivals as they were published.",
        )
    ]
    if compared:
        tables.append(
            Table(
                "Who is ahead",
                ["Rival", "Datasets", "Ours, mean", "Theirs, mean", "Better", "Even", "Worse"],
                [_counts(rival, compared[rival]) for rival in rivals],
            )
        )
    lead = Markup(
        "<code>ReservoirClassifier()</code> as it comes, without any choice for a dataset."
    )
    data = {"datasets": results, "rivals": compared}
    return Section("ucr", TITLE, lead, tables, data=data)


def _row(one: dict[str, Any], rivals: list[str]) -> list[str | Entry]:
    figures = [one["mean"], *(one["published"].get(rival) for rival in rivals)]
    best = max(figure for figure in figures if figure is not None)
    ours, *theirs = (_accuracy(figure, best) for figure in figures)
    sizes = [str(one[name]) for name in ("train", "test", "length", "classes")]
    return [one["task"], ours, *theirs, f"{one['seconds']:.2f}", *sizes]


def _accuracy(figure: float | None, best: float) -> Entry | str:
    return "-" if figure is None else Entry(f"{figure:.4f}", best=figure == best)


def _counts(rival: str, one: dict[str, float]) -> list[str]:
    means = [f"{one[name]:.4f}" for name in ("ours", "theirs")]
    return [
        rival,
        str(one["datasets"]),
        *means,
        *(str(one[n]) for n in ("better", "even", "worse")),
    ]

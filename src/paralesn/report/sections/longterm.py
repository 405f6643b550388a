"""Long-term forecasts beside published ones."""

from markupsafe import Markup

from paralesn.paper.catalogue import tasks
from paralesn.paper.protocols import long_term
from paralesn.paper.runs import identity
from paralesn.report.elements import Entry, Findings, Section, Table

TITLE = "Long-term forecasting"


def section(found: Findings) -> Section:
    """Mean squared errors of ETT, every step up to the horizon."""
    runs = {identity(run): run for run in found.stored.of_kind("long-term")}
    if not runs:
        return Section("long-term", TITLE, missing="`paralesn reproduce long-term` runs it.")
    results = long_term.rows(_latest(list(runs.values())))
    rivals = list(results[0]["published"])
    rows = []
    for one in results:
        figures = {"": one["mean"], **one["published"]}
        best = min(figures, key=lambda name: figures[name])
        spread = Markup(f' <span class="std">±{one["std"]:.4f}</span>')
        rows.append(
            [
                tasks()[one["task"]].title,
                Entry(f"{one['mean']:.4f}", spread, best=best == ""),
                f"{one['metrics']['mae']:.4f}",
                f"{one['seconds']:.1f}",
                *(Entry(f"{one['published'][n]:.3f}", best=n == best) for n in rivals),
            ]
        )
    table = Table(
        f"Mean squared errors, horizon {long_term.HORIZON}, every step",
        ["Set", "Ours, MSE", "Ours, MAE", "Seconds", *(f"{name}, MSE" for name in rivals)],
        rows,
        note="The best mean squared error of a row is bold. Rivals as they were published.",
    )
    lead = (
        "By the protocol of that literature: all seven features, all steps, standardised values. A "
        "linear reservoir that reads changes and is shared by the features."
    )
    return Section("long-term", TITLE, lead, [table], data=results)


def _latest(runs: list[dict]) -> list[dict]:
    """Runs of the configuration of each set that was recorded last."""
    last = {run["task"]: (run["configuration"], run["alpha"]) for run in runs}
    return [run for run in runs if (run["configuration"], run["alpha"]) == last[run["task"]]]

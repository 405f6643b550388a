"""A picture of a study of sensitivity: the panels of the paper's figures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from paralesn.files import save_figure
from paralesn.paper.studies.sensitivity import Effect, Effects
from paralesn.paper.studies.sensitivity_report import SOURCES

_COLUMNS = 6


def figure(measured: Effects) -> Any:
    """Box plots of the validation metric by value, a row or more for each group."""
    from matplotlib.figure import Figure

    trials, groups = measured.trials, measured.groups
    heights = [-(-len(group) // _COLUMNS) for group in groups.values()]
    made = Figure(figsize=(2.1 * _COLUMNS, 2.3 * sum(heights) + 0.5), layout="constrained")
    parts = made.subfigures(len(groups), 1, height_ratios=heights, squeeze=False).ravel()
    low = min(scores.min() for effect in measured.effects for scores in effect.scores)
    is_log = measured.task.better == "lower" and low > 0
    best = max if measured.task.better == "higher" else min
    for part, rows, (title, group) in zip(parts, heights, groups.items(), strict=True):
        part.suptitle(title, x=0.01, ha="left", fontsize="medium", fontweight="bold")
        panels = part.subplots(rows, _COLUMNS, squeeze=False, sharey=True).ravel()
        for panel, effect in zip(panels, group, strict=False):
            _draw(panel, effect, is_log, best)
        for panel in panels[len(group) :]:
            panel.remove()
    made.suptitle(
        f"{trials.study.model} on {measured.task.title}: validation metric by value (share of the "
        f"variance of the ranks), {len(trials.scores)} {SOURCES[trials.source]}"
    )
    return made


def plot(measured: Effects, path: Path) -> None:
    """Draw the picture into a file."""
    save_figure(figure(measured), path)


def _draw(panel: Any, effect: Effect, is_log: bool, best: Callable[..., float]) -> None:
    """One hyperparameter; whiskers reach from the fifth to the 95th percentile, dots are best."""
    line, box = {"color": "0.5"}, {"facecolor": "tab:blue", "edgecolor": "tab:blue", "alpha": 0.45}
    panel.boxplot(
        effect.scores, tick_labels=effect.labels, whis=(5, 95), showfliers=False, widths=0.6,
        patch_artist=True, boxprops=box, whiskerprops=line, capprops=line,
        medianprops={"color": "tab:orange", "linewidth": 1.6},
    )  # fmt: skip
    places = range(1, len(effect.scores) + 1)
    panel.plot(places, [best(scores) for scores in effect.scores], ".", color="tab:blue")
    panel.set_title(f"{effect.name} ({effect.explained.share:.1%})", fontsize="small")
    panel.tick_params(labelsize="small")
    if is_log:
        panel.set_yscale("log")
    panel.grid(axis="y", alpha=0.3)

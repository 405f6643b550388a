"""The race as a table and as a picture, from its records alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from paralesn.files import require, save_figure
from paralesn.paper.records import Record
from paralesn.paper.studies.race import OURS

NAMES = {"smnist": "sMNIST", "psmnist": "psMNIST"}
COLORS = {
    OURS: "tab:blue", "LSTM": "tab:red", "Transformer": "tab:orange", "S4": "tab:green",
    "LRU": "tab:purple", "Mamba": "tab:brown",
}  # fmt: skip


def first_within(record: Record, accuracy: float) -> float | None:
    """Seconds until a validation reached `accuracy`."""
    reached = [seconds for seconds, score in record["points"] if score >= accuracy]
    return min(reached, default=None)


def subset(record: Record) -> str:
    """What the models were given."""
    asked = record["settings"]
    threads = "1 thread" if asked["threads"] == 1 else f"{asked['threads']} threads"
    return (
        f"{asked['train']} digits to train, {asked['validation']} to validate, {asked['test']} to "
        f"test, {asked['seconds']:g} s each (a validation begun is ended), {threads}"
    )


def table(runs: Sequence[Record], task: str) -> Table:
    """Accuracy and seconds of every model."""
    rows = [record for record in runs if record["task"] == task]
    ours = next((record for record in rows if record["model"] == OURS), None)
    made = Table(title=f"{NAMES[task]}: {subset(rows[0])}", title_justify="left")
    for column in ("model", "trained parameters", "test accuracy", "seconds", "seconds to 90 %",
                   "seconds to ParalESN's best"):  # fmt: skip
        made.add_column(column, justify="left" if column == "model" else "right")
    made.add_column("what")
    target = None if ours is None else max(accuracy for _, accuracy in ours["points"])
    for record in rows:
        made.add_row(
            record["model"],
            f"{record['parameters']:,}",
            f"{record['accuracy']:.2%}",
            f"{record['seconds']:.1f}",
            _shown(first_within(record, 0.9)),
            "" if target is None else _shown(first_within(record, target)),
            record["configuration"],
        )
    return made


def _shown(seconds: float | None) -> str:
    return "not reached" if seconds is None else f"{seconds:.1f}"


def plot(runs: Sequence[Record], path: Path) -> None:
    """Save validation accuracy against seconds, a panel for each task."""
    require("matplotlib", "plot", purpose="a picture").use("Agg")
    from matplotlib import pyplot as plt

    tasks = list(dict.fromkeys(record["task"] for record in runs))
    figure, panels = plt.subplots(
        1, len(tasks), figsize=(6.5 * len(tasks), 4.8), layout="constrained", squeeze=False
    )
    for axes, task in zip(panels[0], tasks, strict=True):
        rows = [record for record in runs if record["task"] == task]
        for record in rows:
            _line(axes, record)
        axes.axhline(0.1, color="0.6", linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("seconds of wall clock")
        axes.set_ylabel("best validation accuracy so far")
        axes.set_title(f"{NAMES[task]}, {rows[0]['settings']['train']} digits")
        axes.grid(color="0.9", linewidth=0.6)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small",
                    title="test accuracy")  # fmt: skip
    try:
        save_figure(figure, path)
    finally:
        plt.close(figure)


def _line(axes: Any, record: Record) -> None:
    seconds: list[float] = []
    best: list[float] = []
    for at, accuracy in record["points"]:
        seconds.append(at)
        best.append(max([accuracy, *best[-1:]]))
    axes.plot(
        seconds, best, color=COLORS[record["model"]], marker="o", markersize=4, linewidth=1.4,
        label=f"{record['model']}: {record['accuracy']:.1%}",
    )  # fmt: skip

"""The figure of the suite `scaling`: time and memory as a job grows, beside their limits."""

import os
from pathlib import Path
from typing import Any

from paralesn.files import save_figure

OURS, LIMIT = "#0072b2", "#d55e00"  # blue and vermilion, told apart by everybody


def draw(curves: dict[str, dict[int, Any]]) -> Path:
    """A column for each curve: nanoseconds for a step of a unit above, peak memory below."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(curves), figsize=(15, 6.2), layout="constrained")
    for (above, below), (title, curve) in zip(axes.T, curves.items(), strict=True):
        sizes, points = list(curve), list(curve.values())
        above.loglog(sizes, [p.cost for p in points], "o-", color=OURS, label="measured")
        above.loglog(sizes, [p.limit for p in points], "s--", color=LIMIT, label="machine's limit")
        for size, point in curve.items():
            above.annotate(f"{point.limit / point.cost:.0%}", (size, point.cost), xytext=(0, 7),
                           textcoords="offset points", ha="center", fontsize="small")  # fmt: skip
        below.loglog(sizes, [p.megabytes for p in points], "o-", color=OURS, label="peak")
        needed = [p.least_megabytes for p in points]
        below.loglog(sizes, needed, "s--", color=LIMIT, label="needed: library, inputs, states")
        below.set(xlabel=title, ylim=(100, 3000))
        above.margins(x=0.12, y=0.2)
        below.margins(x=0.12)
        for ax in (above, below):
            ax.grid(alpha=0.3)
            ax.tick_params(which="minor", labelleft=False, left=False, bottom=False)
    low = min(ax.get_ylim()[0] for ax in axes[0])
    high = max(ax.get_ylim()[1] for ax in axes[0])
    for ax in axes[0]:  # one scale, so that panels can be compared
        ax.set_ylim(low, high)
    axes[0, 0].set_ylabel("ns for a step of a unit\n(share of the limit above)")
    for ax in axes[1]:
        ax.set_yticks([100, 200, 500, 1000, 2000], ["100", "200", "500", "1 000", "2 000"])
    axes[1, 0].set_ylabel("peak memory, MB")
    for ax in axes[:, 0]:
        ax.legend(frameon=False, loc="upper left")
    path = Path(os.environ.get("PARALESN_FIGURES", ".")) / "scaling.png"
    save_figure(figure, path)
    plt.close(figure)
    return path

"""How pictures of the site look: no background, greys that can be read on white and on black."""

from typing import Any

GREY = "#7f8792"
STYLE: dict[str, Any] = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.transparent": True,
    "text.color": GREY,
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "legend.framealpha": 0.0,
    "grid.color": GREY,
    "grid.alpha": 0.25,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": "cycler(color=['#3b8bd6', '#e8862e', '#3fa35b', '#dd4b45', '#9b7bd0'])",
    "axes3d.xaxis.panecolor": (0.5, 0.5, 0.5, 0.06),
    "axes3d.yaxis.panecolor": (0.5, 0.5, 0.5, 0.06),
    "axes3d.zaxis.panecolor": (0.5, 0.5, 0.5, 0.06),
    "svg.fonttype": "none",
    "svg.hashsalt": "paralesn",
}
COLORS = {
    "tab:blue": "#3b8bd6",
    "tab:orange": "#e8862e",
    "tab:red": "#dd4b45",
    "tab:green": "#3fa35b",
}


def apply(gallery_conf: Any = None, script: Any = None) -> None:
    """Reset matplotlib, then set the style; sphinx-gallery calls this before every example."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(STYLE)
    matplotlib.colors.get_named_colors_mapping().update(COLORS)

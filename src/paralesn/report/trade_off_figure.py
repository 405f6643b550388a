"""The trade-off of score and training time as a figure with its table."""

from paralesn.report.charts import Axis, Series, xy
from paralesn.report.comparison import TradeOff
from paralesn.report.elements import Figure, Table

_COLUMNS = ("Model", "Score", "Improvement", "Speed", "Time saved")
_CAPTION = (
    "Improvement over the ESN on every benchmark, in percent of its error, accuracy or "
    "seconds, averaged, and mapped so that the worst model has 0 and the best 1."
)


def figure(trade: TradeOff, title: str = "Score against training time", more: str = "") -> Figure:
    """A point for each model; `more` is said after what the axes mean."""
    series = [
        Series(m, [(trade.speed[m], trade.score[m])], [_tip(trade, m)], line=False, labels=[m])
        for m in trade.score
    ]
    rows = [
        [m, f"{trade.score[m]:.3f}", f"{trade.improvement[m]:+.1f} %", f"{trade.speed[m]:.3f}",
         f"{trade.time_saved[m]:+.1f} %"]
        for m in trade.score
    ]  # fmt: skip
    return Figure(
        title,
        xy(
            f"{title}: normalised score against normalised training time, one point for each model",
            Axis("training time, 1 is the fastest", margin=0.08),
            Axis("score, 1 is the best", margin=0.08),
            series,
        ),
        f"{_CAPTION} {more}".strip(),
        legend=list(trade.score),
        data=Table(title, _COLUMNS, rows),
    )


def _tip(trade: TradeOff, model: str) -> str:
    return (
        f"{model}: score {trade.score[model]:.2f} ({trade.improvement[model]:+.1f} % over the "
        f"ESN), speed {trade.speed[model]:.2f} ({trade.time_saved[model]:+.1f} % of its time "
        "saved)"
    )

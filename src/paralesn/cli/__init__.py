"""The command line: it parses, calls and prints."""

from paralesn.cli import (
    classify,
    data,
    forecast,
    inspect,
    paper,
    predict,
    report,
    stream,
    studies,
)
from paralesn.cli.application import INTERRUPTED, app
from paralesn.cli.panels import arrange

__all__ = [
    "app",
    "classify",
    "data",
    "forecast",
    "inspect",
    "main",
    "paper",
    "predict",
    "report",
    "stream",
    "studies",
]

arrange(app)


def main() -> None:
    """Entry point of the `paralesn` command."""
    try:
        app()
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None

"""The command line: thin, it parses, calls and prints."""

from paralesn.cli import (
    classify,
    data,
    forecast,
    inspect,
    predict,
    race,
    regression,
    report,
    reports,
    stream,
)
from paralesn.cli.shared import app

__all__ = [
    "app",
    "classify",
    "data",
    "forecast",
    "inspect",
    "main",
    "predict",
    "race",
    "regression",
    "report",
    "reports",
    "stream",
]


def main() -> None:
    """Entry point of the `paralesn` command."""
    try:
        app()
    except KeyboardInterrupt:
        raise SystemExit(130) from None

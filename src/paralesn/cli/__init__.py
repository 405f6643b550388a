"""The command line: thin, it parses, calls and prints."""

from paralesn.cli import data, race, regression, reports
from paralesn.cli.shared import app

__all__ = ["app", "data", "main", "race", "regression", "reports"]


def main() -> None:
    """Entry point of the `paralesn` command."""
    try:
        app()
    except KeyboardInterrupt:
        raise SystemExit(130) from None

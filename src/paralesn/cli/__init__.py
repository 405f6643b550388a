"""The command line: it parses, calls and prints."""

from paralesn.cli import (
    classify,
    data,
    forecast,
    inspect,
    paper,
    predict,
    report,
    sensitivity,
    stream,
    studies,
)
from paralesn.cli.application import app
from paralesn.cli.console import buffered_output, flushed
from paralesn.cli.interruption import Interruption
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
    "sensitivity",
    "stream",
    "studies",
]

arrange(app)


def main() -> None:
    """Entry point of the `paralesn` command."""
    interruption, code = Interruption(), None
    try:
        try:
            interruption.await_()
            buffered_output()
            app()
        except SystemExit as ending:
            code = ending.code
        code = flushed(code)
        interruption.end()
    except KeyboardInterrupt:
        pass
    raise SystemExit(interruption.request.exit_code or code)

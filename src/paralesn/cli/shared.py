"""Names that the commands of the paper import."""

from paralesn.cli.application import app, exit_on_error
from paralesn.cli.console import console_for, picture, print_json, say, stderr, wide
from paralesn.cli.options import Json, folder

failing = exit_on_error
__all__ = [
    "Json",
    "app",
    "console_for",
    "failing",
    "folder",
    "picture",
    "print_json",
    "say",
    "stderr",
    "wide",
]

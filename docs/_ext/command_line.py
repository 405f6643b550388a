"""The reference of commands, written by Typer from their help texts; `commands.md` includes it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

COMMAND = [sys.executable, "-m", "typer", "paralesn.cli", "utils", "docs", "--name", "paralesn"]


def _write(app: Sphinx) -> None:
    page = Path(app.srcdir) / "_generated" / "commands.md"
    page.parent.mkdir(exist_ok=True)
    done = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the page of commands could not be written: {done.stderr}")
    text = done.stdout[done.stdout.index("## `paralesn ") :]  # from the first command on
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the page before pages are read."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}

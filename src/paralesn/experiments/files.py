"""Files that experiments leave behind: complete, or not there at all."""

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write beside `path`, which takes its place if all goes well, and goes if not.

    The folder is made if only itself is missing.
    """
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_name(f".{path.name}.part")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def save_json(value: Any, path: Path) -> None:
    """Write `value` for people to read, too."""
    with replacing(path) as unfinished:
        unfinished.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib as PNG."""
    with replacing(path) as unfinished:
        figure.savefig(unfinished, dpi=120, format="png")


def versions(*extras: str) -> dict[str, str]:
    """Versions of what computes; `extras` are packages that are not always installed."""
    names = ("paralesn", "numpy", "scipy", "numba", *extras)
    return {"python": platform.python_version()} | {name: version(name) for name in names}


def machine() -> dict[str, Any]:
    """What the machine is, without its name."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"system": platform.system(), "processor": platform.machine(), "cores": cores}

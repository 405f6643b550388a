"""``python -m benchmarks [name …] [--save FOLDER]``: run some or all and print their tables."""

import argparse
import os
import platform
from datetime import date
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numba
from rich.console import Console

from benchmarks import SUITES
from benchmarks.timing import Report
from paralesn.files import replacing

PACKAGES = ("paralesn", "numpy", "numba", "scikit-learn")
RIVALS = {  # modules and the packages they come with
    "reservoirpy": "reservoirpy", "orc": "OpenReservoirComputing", "torch": "torch", "jax": "jax",
    "statsforecast": "statsforecast", "river": "river",
}  # fmt: skip
WIDE = 160  # columns of a saved table


def main() -> None:
    """Run the benchmarks named on the command line, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(SUITES))
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="write NAME.txt there, too")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in SUITES]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}: choose among {', '.join(SUITES)}")
    Console().print(_where())
    for name in arguments.names or SUITES:
        where = _where()
        report = import_module(f"benchmarks.{name}").run()
        report.show(Console())
        if arguments.save is not None:
            save(report, where, arguments.save / f"{name}.txt")


def save(report: Report, where: str, path: Path) -> None:
    """Write a table as it is printed, and where it was measured."""
    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8") as file:
        console = Console(file=file, width=WIDE, color_system=None)
        console.print(where)
        report.show(console)


def _where() -> str:
    """The day, the machine, how busy it is, and what computes."""
    busy = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    # A suite does without the others' rivals.
    names = [*PACKAGES, *(package for module, package in RIVALS.items() if find_spec(module))]
    return (
        f"{date.today()}: Python {platform.python_version()} on {platform.machine()}, "
        f"{numba.config.NUMBA_NUM_THREADS} cores{busy}; "
        + ", ".join(f"{name} {version(name)}" for name in names)
    )


if __name__ == "__main__":
    main()

"""``python -m benchmarks [name …]``: run some or all and print their tables."""

import platform
import sys
from importlib import import_module
from importlib.metadata import version

import numba
from rich.console import Console

NAMES = (
    "core", "torch_scan", "reservoirs", "readouts", "estimators", "chaos", "features", "defaults",
    "classifiers",
)  # fmt: skip


def main() -> None:
    """Run the benchmarks named on the command line, or all of them."""
    names = sys.argv[1:] or NAMES
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit(f"unknown benchmark {unknown[0]!r}: choose among {', '.join(NAMES)}")
    packages = ("paralesn", "numpy", "numba", "scikit-learn", "reservoirpy", "torch", "jax")
    console = Console()
    console.print(
        f"Python {platform.python_version()} on {platform.machine()}, "
        f"{numba.config.NUMBA_NUM_THREADS} cores; "
        + ", ".join(f"{name} {version(name)}" for name in packages)
    )
    for name in names:
        import_module(f"benchmarks.{name}").run().show()


main()

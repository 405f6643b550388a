"""Run the cases named on the command line, or all, and print what came of them."""

import argparse
import sys
import textwrap
from collections import Counter

from rich.console import Console
from rich.table import Table

from benchmarks.interoperability import (  # noqa: F401 (each enters its cases)
    compositions,
    containers,
    keeping,
    neighbours,
    searches,
)
from benchmarks.interoperability.case import ABSENT, CASES, FAILS, SKIPPED, Outcome, run

STYLES = {FAILS: "red", SKIPPED: "dim", ABSENT: "yellow"}


def outcomes(words: list[str], quick: bool) -> list[Outcome]:
    """What came of the cases whose names hold one of the words, in the order of their groups."""
    chosen = [
        case
        for case in CASES
        if (not words or any(word.lower() in case.name.lower() for word in words))
        and not (quick and case.slow)
    ]
    return [run(case) for case in sorted(chosen, key=lambda case: case.group)]


def table(found: list[Outcome]) -> Table:
    """The outcomes, one line each."""
    lines = Table(title="Interoperability, case by case", title_justify="left")
    for column in ("", "case", "outcome", "what was seen, or why not"):
        lines.add_column(column, overflow="fold")
    for number, outcome in enumerate(found, 1):
        seen = textwrap.shorten(outcome.seen, 150, placeholder=" …")
        style = STYLES.get(outcome.verdict, "")
        lines.add_row(str(number), outcome.case.name, outcome.verdict, seen, style=style)
    return lines


def main() -> None:
    """Print the table, and fail where a case fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.interoperability")
    parser.add_argument("words", nargs="*", help="only cases whose names hold one of these")
    parser.add_argument("--quick", action="store_true", help="leave slow cases out")
    arguments = parser.parse_args()
    found = outcomes(arguments.words, arguments.quick)
    counts = Counter(outcome.verdict for outcome in found)
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table(found))
    console.print(f"{len(found)} cases: " + ", ".join(f"{n} {v}" for v, n in counts.items()))
    sys.exit(bool(counts[FAILS]))


if __name__ == "__main__":
    main()

"""The cases of `python -m benchmarks.interoperability` that take no longer than a second."""

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # the benchmarks are no part of the package

from benchmarks.interoperability.__main__ import CASES, outcomes, table  # noqa: E402
from benchmarks.interoperability.case import (  # noqa: E402
    ABSENT,
    FAILS,
    PASSES,
    SKIPPED,
    Case,
    check,
    run,
)

QUICK = [case for case in CASES if not case.slow]


@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.name.replace(" ", "-"))
def test_a_case_passes(case):
    outcome = run(case)
    if outcome.verdict in (SKIPPED, ABSENT):
        pytest.skip(outcome.seen)
    assert outcome.verdict == PASSES, outcome.seen


def test_there_are_forty_cases_of_different_names():
    assert len({case.name for case in CASES}) == len(CASES) >= 40


def test_a_case_that_fails_is_said_to(capsys):
    def do():
        check(np.zeros(1), "two numbers differ")
        return ""

    assert run(Case("none", "broken", do, (), False)).verdict == FAILS
    assert run(Case("none", "broken", do, (), False)).seen == "AssertionError: two numbers differ"
    lacking = run(Case("none", "lacking", do, ("nonesuch",), False))
    assert (lacking.verdict, lacking.seen) == (SKIPPED, "nonesuch not installed")
    assert table(outcomes(["structured"], quick=True)).row_count == 1

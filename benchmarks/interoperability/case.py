"""A case: a function that does something with another library and says what came of it."""

import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from joblib.externals.loky import get_reusable_executor

PASSES, FAILS, SKIPPED, ABSENT = "passes", "FAILS", "skipped", "absent"


class AbsentError(Exception):
    """Paralesn does not have what a case asks for."""


@dataclass(frozen=True)
class Case:
    """What to do: `do` returns what was seen, and raises where it is not what it should be."""

    group: str
    name: str
    do: Callable[[], str]
    needs: tuple[str, ...]
    slow: bool


class Outcome(NamedTuple):
    """What came of a case: its verdict, and what was seen or why not."""

    case: Case
    verdict: str
    seen: str


CASES: list[Case] = []


def case(
    group: str, name: str, *needs: str, slow: bool = False
) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Decorator: enter a function into the cases, with the packages it needs."""

    def enter(do: Callable[[], str]) -> Callable[[], str]:
        CASES.append(Case(group, name, do, needs, slow))
        return do

    return enter


def run(case: Case) -> Outcome:
    """Run a case in a folder of its own; an error is its outcome."""
    missing = [name for name in case.needs if find_spec(name) is None]
    if missing:
        return Outcome(case, SKIPPED, f"{', '.join(missing)} not installed")
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            return Outcome(case, PASSES, case.do())
        except AbsentError as error:
            return Outcome(case, ABSENT, str(error))
        except Exception as error:  # whatever it is, it is what a user would see
            return Outcome(case, FAILS, f"{type(error).__name__}: {error}")
        finally:
            os.chdir(before)
            # Workers of joblib would go on in a folder that is gone.
            get_reusable_executor().shutdown(wait=True, kill_workers=True)


def check(holds: Any, otherwise: str) -> None:
    """Raise unless something holds."""
    if not holds:
        raise AssertionError(otherwise)


def same(one: Any, other: Any, what: str) -> None:
    """Raise unless two arrays are equal to the bit."""
    check(np.array_equal(np.asarray(one), np.asarray(other)), f"{what} differ")


def needs_name(module: Any, name: str) -> Any:
    """A public name, or the news that there is none yet."""
    if not hasattr(module, name):
        raise AbsentError(f"no {module.__name__}.{name}")
    return getattr(module, name)


def needs_method(model: Any, name: str) -> Any:
    """A method, or the news that there is none yet."""
    if not hasattr(model, name):
        raise AbsentError(f"{type(model).__name__} has no {name}")
    return getattr(model, name)


def refusal(do: Callable[[], Any]) -> str:
    """The message of the error that something must raise, of a type that says what is wrong."""
    try:
        do()
    except (ValueError, TypeError) as error:
        return f"refused: {error}"
    raise AssertionError("accepted, but must be refused")


# -- data ----------------------------------------------------------------------------------------

RNG = np.random.default_rng(1)
TIME = np.arange(80)
SERIES = np.array(
    [np.sin(TIME / p + RNG.uniform(0, 6)) + 0.3 * RNG.normal(size=80) for p in [9, 6] * 30]
)
LABELS = np.array(["slow", "fast"] * 30)
INPUTS = RNG.uniform(-1, 1, size=(600, 2))  # two inputs; the target remembers the first
TARGET = np.concatenate([np.zeros(3), INPUTS[:-3, 0]])
WAVE = 10 + np.sin(np.arange(300) * 2 * np.pi / 24) + 0.05 * RNG.normal(size=300)

"""Cases of one attack, tried until time or number is up; what failed, made small."""

import importlib
import json
import os
import pkgutil
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis.errors import HypothesisException

OUTCOMES = ("refused", "held")
KEPT = Path(__file__).with_name("cases")
SHRINKING = 30.0  # seconds to make a case that failed smaller


def names() -> list[str]:
    """Names of all attacks."""
    folder = str(Path(__file__).with_name("attacks"))
    return sorted(module.name for module in pkgutil.iter_modules([folder]))


def attack_named(name: str) -> ModuleType:
    return importlib.import_module(f"hostile.attacks.{name}")


def environment() -> dict[str, str]:
    """The environment of a process that finds the attacks, too, wherever it is started."""
    folders = [str(Path(__file__).parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}


@dataclass
class Failure:
    """The smallest recipe that failed in one way, and how it did."""

    recipe: Any
    where: str
    text: str


@dataclass
class Tally:
    """What became of the cases of one attack."""

    outcomes: Counter = field(default_factory=Counter)
    failures: dict[str, Failure] = field(default_factory=dict)  # by where they come from

    def note(self, failure: Failure) -> None:
        """Keep the smaller one of two that fail at the same place, the later one of equals."""
        before = self.failures.get(failure.where)
        if before is None or len(as_text(failure.recipe)) <= len(as_text(before.recipe)):
            self.failures[failure.where] = failure

    def add(self, other: "Tally") -> None:
        """Count what another one has counted, too."""
        self.outcomes.update(other.outcomes)
        for failure in other.failures.values():
            self.note(failure)

    def as_json(self) -> dict[str, Any]:
        """For `from_json` in another process."""
        return {"outcomes": self.outcomes, "failures": [vars(f) for f in self.failures.values()]}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Tally":
        tally = cls(Counter(content["outcomes"]))
        for failure in content["failures"]:
            tally.note(Failure(**failure))
        return tally


class _TimeIsUp(BaseException):
    """Leaves hypothesis at once: it takes only `Exception` for a failure to look into."""


def try_case(attack: ModuleType, recipe: Any) -> str:
    """Outcome of one case, tried in a folder of its own; raises if it failed."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        outcome = attack.attack(recipe, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert outcome in OUTCOMES, f"an attack must return one of {OUTCOMES}, got {outcome!r}"
    return outcome


def try_cases(
    attack: ModuleType,
    cases: int,
    number: int | None = None,
    seconds: float = float("inf"),
    before_each: Callable[[Any], None] = lambda recipe: None,
) -> Tally:
    """Try so many cases at most, drawn from seed `number` or, with None, always the same.

    The first failure ends it; other cases are then variants of it, looked for to make it smaller.
    """
    tally, until = Tally(), time.monotonic() + seconds
    shrunk_until = float("inf")

    def case(recipe: Any) -> None:
        nonlocal shrunk_until
        if time.monotonic() > min(until, shrunk_until):
            raise _TimeIsUp
        before_each(recipe)
        try:
            outcome = try_case(attack, recipe)
        except Exception as error:
            if not tally.failures:
                tally.outcomes["failed"] += 1
                shrunk_until = time.monotonic() + SHRINKING
            tally.note(Failure(recipe, _place(error), traceback.format_exc()))
            raise
        if not tally.failures:
            tally.outcomes[outcome] += 1

    run = settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=number is None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )(given(attack.RECIPES)(case))
    if number is not None:
        run = seed(number)(run)
    try:
        run()
    except _TimeIsUp:
        pass
    except (Exception, HypothesisException):
        if not tally.failures:  # the attack's strategy is wrong, not what it attacks
            raise
    return tally


def _place(error: BaseException) -> str:
    """Type of an error and the last line of ours that it came through: one defect, one place."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        frame for frame in frames if "paralesn" in frame.filename or "hostile" in frame.filename
    ]
    last = (ours or frames)[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno} in {last.name}"


def as_text(recipe: Any) -> str:
    """How a recipe is kept."""
    return json.dumps(recipe, indent=1, sort_keys=True) + "\n"


def keep(name: str, recipe: Any) -> Path:
    """Write a recipe where the tests find it, so that it is tried from now on."""
    text = as_text(recipe)
    path = KEPT / name / f"{sha256(text.encode()).hexdigest()[:12]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def kept() -> list[Path]:
    """Files of all recipes that failed once."""
    return sorted(KEPT.glob("*/*.json"))

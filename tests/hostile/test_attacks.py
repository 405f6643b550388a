"""A minute of every attack, with the same cases each time, and all cases that failed once."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import strategies as st

from hostile import trying


@pytest.mark.slow
@pytest.mark.parametrize("name", trying.names())
def test_an_attack_fails(name):
    attack = trying.attack_named(name)
    tally = trying.try_cases(attack, attack.CASES)
    assert not tally.failures, "\n".join(
        f.text + trying.as_text(f.recipe) for f in tally.failures.values()
    )
    assert tally.outcomes.total() >= min(attack.CASES, 2), f"{name} tried {dict(tally.outcomes)}"


@pytest.mark.slow
@pytest.mark.parametrize("path", trying.kept(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_failed_once_holds(path):
    recipe = json.loads(path.read_text(encoding="utf-8"))
    assert trying.try_case(trying.attack_named(path.parent.name), recipe) in trying.OUTCOMES


class Careless:
    """An attack that succeeds: a program that cannot count beyond 20."""

    RECIPES = st.fixed_dictionaries({"count": st.integers(0, 1000)})

    @staticmethod
    def attack(recipe, folder):
        assert folder.is_dir()
        assert not list(folder.iterdir())
        (folder / "something").touch()
        if recipe["count"] > 20:
            raise OverflowError("too many")
        return "refused" if recipe["count"] % 2 else "held"


def test_a_failure_is_counted_once_and_made_small():
    tally = trying.try_cases(Careless, 200, number=1)
    assert tally.outcomes["failed"] == 1
    ((where, failure),) = tally.failures.items()
    assert failure.recipe == {"count": 21}
    assert re.fullmatch(r"OverflowError at test_attacks\.py:\d+ in attack", where)
    assert "too many" in failure.text


def test_an_outcome_nobody_knows_is_a_failure():
    class Unclear(Careless):
        attack = staticmethod(lambda recipe, folder: "maybe")

    (failure,) = trying.try_cases(Unclear, 5, number=1).failures.values()
    assert "must return one of" in failure.text


def test_cases_of_one_seed_are_the_same():
    def recipes(number):
        tried = []
        trying.try_cases(Steady, 30, number, before_each=tried.append)
        return tried

    class Steady(Careless):
        attack = staticmethod(lambda recipe, folder: "held")

    assert recipes(3) == recipes(3) != recipes(4)
    assert recipes(None) == recipes(None)


def test_time_ends_it():
    class Steady(Careless):
        attack = staticmethod(lambda recipe, folder: "held")

    assert trying.try_cases(Steady, 10**6, number=1, seconds=0.2).outcomes["held"] > 0


def test_a_case_is_kept_under_the_name_of_its_content(tmp_path, monkeypatch):
    monkeypatch.setattr(trying, "KEPT", tmp_path)
    path = trying.keep("careless", {"count": 21})
    assert path == trying.keep("careless", {"count": 21})
    assert json.loads(path.read_text()) == {"count": 21}
    assert trying.kept() == [path]


CRASHING = """
import os
from hypothesis import strategies as st

CASES = 1
RECIPES = st.fixed_dictionaries({"n": st.integers(0, 1000)})


def attack(recipe, folder):
    if recipe["n"] > 900:
        os.abort()
    return "held" if recipe["n"] % 2 else "refused"
"""


@pytest.mark.slow
def test_the_fuzzer_survives_what_its_attacks_do(tmp_path):
    copy = tmp_path / "hostile"
    (copy / "attacks").mkdir(parents=True)
    for path in Path(trying.__file__).parent.glob("*.py"):
        shutil.copy(path, copy)
    (copy / "attacks" / "__init__.py").touch()
    (copy / "attacks" / "crashing.py").write_text(CRASHING)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "hostile",
        "--minutes",
        "0.05",
        "--save",
        str(tmp_path / "table.txt"),
    ]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the process ended with -6" in done.stdout
    (kept,) = (copy / "cases" / "crashing").glob("*.json")
    assert json.loads(kept.read_text())["n"] > 900
    row = next(
        line for line in (tmp_path / "table.txt").read_text().splitlines() if "crashing" in line
    )
    _, tried, refused, held, failed, _ = (
        cell.strip().replace(" ", "") for cell in row.strip("│").split("│")
    )
    assert int(tried) == int(refused) + int(held) + int(failed)
    assert int(failed) >= 1

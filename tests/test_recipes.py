"""The recipes of the page on other engines, as they stand there: real processes, Ray and Spark."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import paralesn as pe
from paralesn.distributed import digest, finish, is_plan, merge, plan

ROOT = Path(__file__).parent.parent
RECIPES = ROOT / "examples" / "recipes"
NEEDS = {"futures": None, "ray_tasks": "ray", "spark": "pyspark", "spark_tree_aggregate": "pyspark"}

pytestmark = pytest.mark.slow


@cache
def tasks():
    """The module that all recipes import."""
    spec = importlib.util.spec_from_file_location("recipe_tasks", RECIPES / "tasks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def data():
    """All blocks as one array."""
    blocks = [tasks().block(number) for number in range(tasks().BLOCKS)]
    return tuple(np.concatenate(arrays) for arrays in zip(*blocks, strict=True))


@cache
def tree():
    """The model that the tree over the blocks gives, without any engine."""
    step = plan(pe.ReservoirRegressor(pe.ParalESN(units=64)), n_features=2)
    while is_plan(step):
        parts = [tasks().learn(step, number) for number in range(tasks().BLOCKS)]
        while len(parts) > 1:
            parts = [tasks().merged(*parts[k : k + 2]) for k in range(0, len(parts), 2)]
        step = finish(step, parts[0])
    return step


def fitted(name, workers, folder):
    """The model that a recipe saves."""
    package = NEEDS[name]
    if package is not None:
        pytest.importorskip(package, reason=f"{package} is not installed: pip install {package}")
    if package == "pyspark" and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java, which is not installed")
    folder.mkdir()
    address = "127.0.0.1"  # the name of a machine may lead nowhere
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(sys.path[1:]),
        "RAY_USAGE_STATS_ENABLED": "0",
        "SPARK_LOCAL_IP": address,
    }
    done = subprocess.run(
        [sys.executable, RECIPES / f"{name}.py", str(workers)], env=environment, cwd=folder,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return pe.load(folder / "model.safetensors", pe.ReservoirRegressor)


def bits(model):
    return model.readout_.coef_.tobytes(), np.asarray(model.readout_.intercept_).tobytes()


@pytest.mark.parametrize("name", NEEDS)
def test_a_recipe_fits_what_fit_does_with_the_same_bits_on_any_number_of_workers(name, tmp_path):
    one, two = (fitted(name, workers, tmp_path / str(workers)) for workers in (1, 2))
    assert bits(one) == bits(two)
    if name != "spark_tree_aggregate":  # which merges in an order of its own
        assert bits(one) == bits(tree())
    X, y = data()
    expected = pe.ReservoirRegressor(pe.ParalESN(units=64)).fit(X, y).predict(X)
    error = np.abs(one.predict(X) - expected).max()
    assert error < 1e-10 * np.abs(expected).max()
    assert two.score(X, y) == pytest.approx(tree().score(X, y), abs=1e-10)


def test_the_same_tasks_fit_a_classifier():
    """As the page says: another plan, and labels for targets."""
    X, _ = data()
    X = X[:, :100] + np.sin(np.arange(100) / 5)[:, None] * (np.arange(len(X)) % 2)[:, None, None]
    labels = np.where(np.arange(len(X)) % 2, "wave", "noise")
    step, size = plan(pe.ReservoirClassifier(pe.FilterBank(units=256))), tasks().SERIES
    while is_plan(step):
        starts = range(0, len(X), size)
        parts = [digest(step, X[k : k + size], labels[k : k + size], first=k) for k in starts]
        while len(parts) > 1:
            parts = [tasks().merged(*parts[k : k + 2]) for k in range(0, len(parts), 2)]
        step = finish(step, parts[0])
    whole = pe.ReservoirClassifier(pe.FilterBank(units=256)).fit(X, labels)
    expected = whole.decision_function(X)
    assert np.abs(step.decision_function(X) - expected).max() < 1e-8 * np.abs(expected).max()
    assert (step.predict(X) == whole.predict(X)).all()


def test_partials_of_a_regressor_merge_in_any_order_up_to_rounding():
    """What `treeAggregate` relies on."""
    step, expected = plan(pe.ReservoirRegressor(pe.ParalESN(units=64)), n_features=2), tree()
    while is_plan(step):
        parts = [tasks().learn(step, number) for number in (3, 0, 5, 2, 1, 4)]
        odd, even = merge(merge(parts[0], parts[2]), parts[4]), merge(parts[1], parts[3])
        step = finish(step, merge(odd, merge(parts[5], even)))
    X, _ = data()
    error = np.abs(step.predict(X) - expected.predict(X)).max()
    assert 0 < error < 1e-10 * np.abs(expected.predict(X)).max()


def test_the_page_shows_every_recipe_and_each_is_short():
    page = (ROOT / "docs" / "guide" / "other-engines.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```\{literalinclude\} (\S+)$", page, re.MULTILINE)
    files = {(ROOT / "docs" / "guide" / path).resolve() for path in shown}
    assert files == {path.resolve() for path in RECIPES.glob("*.py")}
    for path in files:
        assert len([*filter(str.strip, path.read_text(encoding="utf-8").splitlines())]) <= 25, path

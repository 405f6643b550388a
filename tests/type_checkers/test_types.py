"""What editors and type checkers make of the package: a user's script, and mistakes they find."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SCRIPT, MISTAKES = HERE / "user_script.py", HERE / "mistakes.py"


def mypy(path, cache):
    """Lines of `path` that mypy, as strict as it can be, complains of."""
    options = ["--config-file=", "--strict", f"--cache-dir={cache}", "--no-error-summary"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(path)], capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.stderr == ""
    found = re.findall(r"^[^:\n]+:(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    return {int(line): message for line, message in found}


def pyright(path):
    """Lines of `path` that pyright complains of (basedpyright: it brings its own Node.js)."""
    pytest.importorskip("basedpyright", reason="needs basedpyright, of the extra dev")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--level", "error", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == 1
    return {
        found["range"]["start"]["line"] + 1: found["message"]
        for found in report["generalDiagnostics"]
    }


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    pytest.importorskip("mypy", reason="needs mypy, of the extra dev")
    return tmp_path_factory.mktemp("mypy")


def mistakes(checker):
    lines = MISTAKES.read_text().splitlines()
    marked = re.compile(rf"# mistake(?: for {checker})?:")
    return {number for number, line in enumerate(lines, 1) if marked.search(line)}


@pytest.mark.slow
def test_mypy_understands_a_script(cache):
    assert mypy(SCRIPT, cache) == {}


@pytest.mark.slow
def test_mypy_finds_mistakes(cache):
    assert set(mypy(MISTAKES, cache)) == mistakes("mypy")


@pytest.mark.slow
def test_pyright_understands_a_script():
    assert pyright(SCRIPT) == {}


@pytest.mark.slow
def test_pyright_finds_mistakes():
    assert set(pyright(MISTAKES)) == mistakes("pyright")


def test_the_script_runs(capsys):
    runpy.run_path(str(SCRIPT))
    assert capsys.readouterr().out == "13\n"

"""The pages of the site: their examples run, their commands exist, their reference is complete."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import paralesn as pe
from paralesn import datasets

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if not {"_build", "gallery", "generated"} & set(path.parts) and path.name != "commands.md"
)
FENCE = re.compile(r"^```(pycon|sh|python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
NEEDS = {"start": "pandas matplotlib", "from-reservoirpy": "reservoirpy", "pytorch": "torch"}


def blocks(page):
    return FENCE.findall(page.read_text(encoding="utf-8"))


def run_python(source, names, page):
    test = doctest.DocTestParser().get_doctest(source, {}, str(page), None, 0)
    test.globs = names
    said = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=said.append, clear_globs=False)
    assert not said, "".join(said)


def run_shell(source, folder):
    shim = folder / "bin" / "paralesn"
    shim.parent.mkdir(exist_ok=True)
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m paralesn "$@"\n')
    shim.chmod(0o755)
    path = f"{shim.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", source], env=os.environ | {"PATH": path},
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(kind in ("pycon", "sh") for kind, _ in blocks(page))],
    ids=lambda page: page.stem,
)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    for package in NEEDS.get(page.stem, "").split():
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names = {}
    for kind, source in blocks(page):
        if kind == "pycon":
            run_python(source, names, page)
        elif kind == "sh":
            run_shell(source, tmp_path)


def test_a_wrong_example_would_be_noticed(tmp_path):
    with pytest.raises(AssertionError, match="Expected"):
        run_python(">>> 1 + 1\n3\n", {}, "page")
    with pytest.raises(AssertionError):
        run_shell("false | true", tmp_path)


# -- the reference -------------------------------------------------------------------------------


def documented():
    """Names of the reference by module, as its page lists them."""
    page = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    found = {}
    for block in re.findall(r"```\{eval-rst\}\n(.*?)```", page, re.DOTALL):
        module = re.search(r"currentmodule:: (\S+)", block)[1]
        found.setdefault(module, set()).update(re.findall(r"^   (\w+)$", block, re.MULTILINE))
    return found


@pytest.mark.parametrize("module", [pe, pe.theory, datasets], ids=lambda module: module.__name__)
def test_every_public_name_is_in_the_reference(module):
    modules = {"theory", "operators", "metrics"}  # with tables of their own
    public = {name for name in module.__all__ if not name.startswith("_")} - modules
    assert documented()[module.__name__] == public


def test_metrics_operators_and_aeon_are_in_the_reference():
    found = documented()
    assert found["paralesn.datasets.metrics"] == {
        name
        for name, value in vars(datasets.metrics).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "") == datasets.metrics.__name__
    }
    assert found["paralesn.layers.operators"] == {
        operator.__name__ for operator in pe.operators.OPERATORS
    }
    assert found["paralesn.aeon"] == {"ParalESNClassifier"}
    assert found["paralesn.torch"] == {"ParalESNBlock"}


# -- commands ------------------------------------------------------------------------------------


def commands(group=None, name="paralesn"):
    """Every command's name and its options."""
    from typer.main import get_command

    from paralesn.cli import app

    group = group or get_command(app)
    yield name, {opt for param in group.params for opt in param.opts} | {"--help"}
    for key, command in getattr(group, "commands", {}).items():
        yield from commands(command, f"{name} {key}")


def test_commands_on_the_pages_exist_with_their_options():
    known = dict(commands())
    pages = [ROOT / "README.md", *PAGES, *(ROOT / "examples").glob("*.py")]
    lines = [
        (page.name, line)
        for page in pages
        for line in re.findall(r"\bparalesn ((?:[a-z]+ )?[a-z]+\b[^`\n|]*)", _shell(page))
    ]
    assert len(lines) > 20
    for page, line in lines:
        words = line.split("#")[0].split()
        name = next((f"paralesn {' '.join(words[:k])}" for k in (2, 1)
                     if f"paralesn {' '.join(words[:k])}" in known), None)  # fmt: skip
        assert name, f"{page}: no such command: paralesn {line}"
        unknown = {word for word in words if word.startswith("--")} - known[name]
        assert not unknown, f"{page}: paralesn {line}: no {unknown}"


def _shell(page):
    """Shell blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```(?:sh|console)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


# -- gallery -------------------------------------------------------------------------------------


def test_the_gallery_is_large_enough_and_on_real_data_too():
    scripts = {path.stem: path.read_text() for path in (ROOT / "examples").glob("*.py")}
    assert len(scripts) >= 6
    loads = {name for text in scripts.values() for name in re.findall(r'load\("(\w+)"', text)}
    assert {"etth1", "forda"} <= loads
    for name, text in scripts.items():
        assert text.startswith('"""\n'), name
        assert "plt.subplots" in text or "plt.figure" in text, name
        compile(text, name, "exec")


def test_an_example_runs_without_a_screen(tmp_path):
    """One of them, for speed; `make docs` runs all."""
    pytest.importorskip("matplotlib")
    script = ROOT / "examples" / "echo_state_property.py"
    done = subprocess.run(
        [sys.executable, script], env=os.environ | {"MPLBACKEND": "agg"}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "radius 0.98 - echo state property: holds" in done.stdout

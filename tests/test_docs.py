"""The pages of the site: examples run, commands and links exist, trees and reference are complete."""

import doctest
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import paralesn as pe
from paralesn import datasets

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if not {"_build", "_generated", "gallery", "generated"} & set(path.relative_to(DOCS).parts)
)
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *PAGES]
FENCE = re.compile(r"^```(pycon|sh|python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d*(?:e[+-]?\d+)?")
APART = {"extending"}  # registers classes, engines and protocols, which other tests must not see
NEEDS = {
    "README": "torch",
    "start": "pandas matplotlib",
    "from-reservoirpy": "reservoirpy",
    "pytorch": "torch onnx onnxscript onnxruntime",
    "gpu": "torch",
}


def blocks(page):
    return FENCE.findall(page.read_text(encoding="utf-8"))


class RoundedChecker(doctest.OutputChecker):
    """Numbers may differ by two units of their last printed digit: machines round differently."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        wanted, came = NUMBER.findall(want), NUMBER.findall(got)
        shape = NUMBER.sub("#", want).split() == NUMBER.sub("#", got).split()
        return shape and all(self._close(a, b) for a, b in zip(wanted, came, strict=True))

    @staticmethod
    def _close(wanted, came):
        digits = len(wanted.split("e")[0].partition(".")[2])
        exponent = int(wanted.partition("e")[2] or 0)
        return abs(float(wanted) - float(came)) < 2.5 * 10.0 ** (exponent - digits)


def run_python(source, names, page):
    test = doctest.DocTestParser().get_doctest(source, {}, str(page), None, 0)
    test.globs = names
    said = []
    runner = doctest.DocTestRunner(RoundedChecker(), optionflags=OPTIONS)
    runner.run(test, out=said.append, clear_globs=False)
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


@pytest.mark.slow
def run_page(page, folder):
    names = {}
    for kind, source in blocks(page):
        if kind == "pycon":
            run_python(source, names, page)
        elif kind == "sh":
            run_shell(source, folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in TEXTS if any(kind in ("pycon", "sh") for kind, _ in blocks(page))],
    ids=lambda page: page.stem,
)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    for package in NEEDS.get(page.stem, "").split():
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    if page.stem in APART:
        done = subprocess.run(
            [sys.executable, __file__, page], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        run_page(page, tmp_path)


def test_a_wrong_example_would_be_noticed(tmp_path):
    with pytest.raises(AssertionError, match="Expected"):
        run_python(">>> 1 + 1\n3\n", {}, "page")
    with pytest.raises(AssertionError, match="Expected"):
        run_python(">>> 0.94\n0.91\n", {}, "page")
    run_python(">>> 0.94\n0.95\n", {}, "page")
    with pytest.raises(AssertionError):
        run_shell("false | true", tmp_path)


def test_examples_show_values():
    """A comparison that prints True tells a reader nothing."""
    for page in TEXTS:
        for kind, source in blocks(page):
            if kind == "pycon":
                shown = re.findall(r"^>>> bool\(.*|^>>> .* [<>]=? [\d.e-]+$", source, re.MULTILINE)
                assert not shown, f"{page.name}: {shown}"


# -- README, links and pictures ------------------------------------------------------------------


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 200


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_links_and_pictures_work_in_the_repository(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        file = (page.parent / path) if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in headings}
            assert anchor in slugs, f"{page.name}: {target}"


@pytest.mark.parametrize("page", sorted((DOCS / "guide").glob("*.md")), ids=lambda page: page.stem)
def test_every_guide_has_a_picture(page):
    assert re.search(r"^!\[.+\]\(\.\./pictures/.+\)$", page.read_text(encoding="utf-8"), re.M)


# -- the tree of rooms ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["architecture", "extending", "how-it-works", "limitations"])
def test_names_in_the_text_exist_in_the_sources(name):
    text = re.sub(r"```.*?```", "", (DOCS / f"{name}.md").read_text("utf-8"), flags=re.DOTALL)
    names = re.findall(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`", text)
    sources = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    known = set(re.findall(r"\w+", sources))
    assert [word for word in names if word.split(".")[-1] not in known] == []


def tree():
    """Paths that the tree of CONTRIBUTING names, relative to the repository."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    above, named = {}, set()
    for line in re.search(r"^```\n(src/.*?)^```$", text, re.DOTALL | re.MULTILINE)[1].splitlines():
        indent = len(line) - len(line.lstrip())
        name = line.split()[0]
        above = {depth: path for depth, path in above.items() if depth < indent}
        path = above[max(above)] / name if above else Path(name)
        above[indent] = path
        named.add(path)
    return named


def test_the_tree_of_rooms_is_that_of_the_folders():
    package = ROOT / "src" / "paralesn"
    folders = {
        path.relative_to(ROOT)
        for path in package.rglob("*")
        if path.is_dir() and path.name != "__pycache__" and any(path.glob("[!_]*.*"))
    }
    modules = {path.relative_to(ROOT) for path in package.glob("*.py") if path.name[0] != "_"}
    named = tree()
    unnamed = sorted(map(str, (folders | modules) - named))
    assert not unnamed, f"not in the tree of CONTRIBUTING.md: {unnamed}"
    missing = sorted(str(path) for path in named if not (ROOT / path).exists())
    assert not missing, f"in the tree of CONTRIBUTING.md, but not there: {missing}"


def test_the_order_of_imports_is_that_of_the_contract():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    line = f"`{' > '.join(contract['layers'])}`"
    assert line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), line


# -- the reference -------------------------------------------------------------------------------


def documented():
    """Names of the reference by module, as its page lists them."""
    page = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"```\{eval-rst\}\n(.*?)```", page, re.DOTALL):
        module = re.search(r"currentmodule:: (\S+)", block)[1]
        names.setdefault(module, set()).update(re.findall(r"^   (\w+)$", block, re.MULTILINE))
    return names


@pytest.mark.parametrize("module", [pe, pe.theory, datasets], ids=lambda module: module.__name__)
def test_every_public_name_is_in_the_reference(module):
    modules = {"datasets", "theory", "operators", "metrics"}  # with tables of their own
    public = {name for name in module.__all__ if not name.startswith("_")} - modules
    assert documented()[module.__name__] == public


def test_metrics_operators_and_adapters_are_in_the_reference():
    names = documented()
    assert names["paralesn.datasets.metrics"] == {
        name
        for name, value in vars(datasets.metrics).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "") == datasets.metrics.__name__
    }
    assert names["paralesn.layers.operators"] == {
        operator.__name__ for operator in pe.operators.OPERATORS
    }
    assert names["paralesn.aeon"] == {
        "ParalESNClassifier",
        "ParalESNForecaster",
        "ParalESNRegressor",
    }
    assert names["paralesn.sktime"] == {"ParalESNForecaster"}
    assert names["paralesn.torch"] == {"OnnxFile", "ParalESNBlock", "export_onnx", "to_module"}


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
    pages = [*TEXTS, *(ROOT / "examples").glob("*.py")]
    lines = [
        (page.name, line)
        for page in pages
        for line in re.findall(
            r"(?:^|[$|] )paralesn ((?:[a-z]+ )?[a-z]+\b[^`\n|]*)", _shell(page), re.M
        )
    ]
    assert len(lines) > 20
    for page, line in lines:
        words = line.split("#")[0].split()
        name = next((f"paralesn {' '.join(words[:k])}" for k in (2, 1)
                     if f"paralesn {' '.join(words[:k])}" in known), None)  # fmt: skip
        assert name, f"{page}: no such command: paralesn {line}"
        unknown = {word for word in words if word.startswith("--")} - known[name]
        assert not unknown, f"{page}: paralesn {line}: no {unknown}"


def test_every_command_is_on_the_page_of_commands():
    text = _shell(DOCS / "commands.md")
    missing = [name for name, _ in commands() if " " in name and name != "paralesn data"
               and f"$ {name}" not in text]  # fmt: skip
    assert not missing


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
        assert (DOCS / "pictures" / f"{name}.png").exists(), f"python docs/draw.py {name}"
        compile(text, name, "exec")


@pytest.mark.slow
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


if __name__ == "__main__":
    run_page(Path(sys.argv[1]), Path.cwd())

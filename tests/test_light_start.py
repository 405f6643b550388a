"""What is loaded, and when: nothing heavy before it is used, and everything once it is."""

import ast
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

import paralesn as pe
from paralesn.cli import app
from paralesn.persistence.saved_classes import MODULES

PACKAGE = Path(pe.__file__).parent
# Nothing of these is needed to say what a command does; of NumPy not even an array.
HEAVY = [
    "numpy", "scipy", "sklearn", "numba", "llvmlite", "pandas", "pyarrow", "polars", "torch",
    "matplotlib", "optuna", "aeon", "sktime", "joblib", "jinja2", "pooch", "safetensors",
    "narwhals", "threadpoolctl", "dask", "distributed",
]  # fmt: skip
NEEDED_BY_COMMANDS = ["typer", "rich", "click"]
LOADED = "print([name for name in {} if name in sys.modules], file=sys.stderr)"


def loaded_by(code, heavy=HEAVY, **environment):
    """Names in `heavy` that a fresh process has loaded after running `code`, however it ends."""
    program = f"import atexit, sys; atexit.register(lambda: {LOADED.format(heavy)}); {code}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ast.literal_eval(done.stderr.strip().splitlines()[-1]), done


def command(*arguments):
    argv = ["paralesn", *arguments]
    return f"sys.argv = {argv}; from paralesn.cli import main; main()"


def test_import_is_light():
    heavy = [*HEAVY, *NEEDED_BY_COMMANDS, "importlib.metadata", "paralesn.persistence"]
    names, done = loaded_by("import paralesn", heavy)
    assert done.returncode == 0
    assert names == []


def commands():
    return sorted(typer.main.get_command(app).commands)


@pytest.mark.parametrize("name", [None, *commands()])
def test_help_is_light(name):
    names, done = loaded_by(command(*([name] if name else []), "--help"), NO_COLOR="1")
    assert done.returncode == 0, done.stderr
    assert f"paralesn {name or '[OPTIONS]'}" in done.stdout
    assert names == []


@pytest.mark.parametrize(
    ("typed", "offered"), [("paralesn fore", "forecast"), ("paralesn forecast --hor", "--horizon")]
)
def test_completion_is_light(typed, offered):
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    names, done = loaded_by(command(), _PARALESN_COMPLETE="complete_bash", **words)
    assert done.stdout.split() == [offered], done.stderr
    assert names == []


def test_version_is_light():
    names, done = loaded_by(command("--version"))
    assert done.stdout.strip() == f"paralesn {pe.__version__}"
    assert names == []


# -- public names ----------------------------------------------------------------------------------


def names_in_stub():
    """What type checkers see: {name: the module it is imported from, or that it is}."""
    names = {}
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert alias.asname == alias.name, f"re-export as 'import {alias.name} as ...'"
                names[alias.name] = node.module
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = None
    return names


def test_stub_and_table_agree():
    homes = {name: f"paralesn.{home}" for name, home in pe._HOMES.items()}
    modules = {n: f"paralesn.{home}".rpartition(".")[0] for n, home in pe._MODULES.items()}
    assert names_in_stub() == {**homes, **modules, "__version__": None, "__all__": None}
    assert set(pe.__all__) == {*homes, *modules, "__version__"}


def test_public_names_are_what_their_modules_define():
    for name, home in pe._HOMES.items():
        value = getattr(pe, name)
        assert value.__module__ == f"paralesn.{home}", f"{name} is defined in {value.__module__}"
    assert {getattr(pe, name).__name__ for name in pe._MODULES} == {
        f"paralesn.{home}" for home in pe._MODULES.values()
    }


def test_a_submodule_never_hides_a_public_name():
    rooms = {path.stem for path in PACKAGE.iterdir()}
    assert rooms.isdisjoint(pe._HOMES)
    assert all(pe._MODULES[name] == name for name in rooms.intersection(pe._MODULES))


def test_all_names_are_listed_and_star_imports_them():
    assert set(pe.__all__) <= set(dir(pe))
    names, done = loaded_by(
        "print(sorted(dir(__import__('paralesn'))));"
        "from paralesn import *; import json; print(json.dumps(sorted(globals())))"
    )
    before, after = done.stdout.splitlines()
    assert set(pe.__all__) <= set(ast.literal_eval(before))
    assert set(pe.__all__) <= set(json.loads(after)), done.stderr
    assert "torch" not in names


def test_names_are_there_before_what_only_runs_need():
    """Constructing needs no compiler and no optional package (which scikit-learn loads itself)."""
    code = (
        "sys.modules.update(pandas=None, rich=None); import paralesn;"
        "[getattr(paralesn, name) for name in paralesn._HOMES]"
    )
    heavy = set(HEAVY) - {
        "numpy",
        "scipy",
        "sklearn",
        "joblib",
        "threadpoolctl",
        "safetensors",
        "narwhals",
    }
    names, done = loaded_by(code, sorted(heavy - {"pandas"}))
    assert done.returncode == 0, done.stderr
    assert names == []


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(pe, "ParallelESN")
    with pytest.raises(AttributeError, match="module 'paralesn' has no attribute 'ParallelESN'"):
        _ = pe.ParallelESN
    with pytest.raises(ImportError, match="cannot import name 'ParallelESN' from 'paralesn'"):
        from paralesn import ParallelESN  # noqa: F401


def test_a_name_is_imported_once():
    pe.__dict__.pop("SCR", None)
    first = pe.SCR
    assert pe.__dict__["SCR"] is first is pe.SCR


def test_pickles_of_models_open_in_a_fresh_process(tmp_path):
    model = pe.ParalESN(units=9, seed=2).fit(np.ones((5, 1)))
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    code = "import pickle; print(pickle.load(open('model.pickle', 'rb')).last([1.0, 2.0]).sum())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == model.last([1.0, 2.0]).sum()


# -- classes that can be saved ---------------------------------------------------------------------


def decorated_with_register():
    """Classes of the package that register themselves, from the source: {name: module}."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and any(
                isinstance(mark, ast.Name) and mark.id == "register" for mark in node.decorator_list
            ):
                yield node.name, ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def test_the_table_of_saved_classes_is_complete():
    """A file of any of them can be loaded in a process that has imported nothing else."""
    found = list(decorated_with_register())
    assert len(dict(found)) == len(found), "two registered classes share a name"
    missing = sorted(f'"{name}": "{home}",' for name, home in set(found) - set(MODULES.items()))
    assert not missing, f"add to paralesn/persistence/saved_classes.py: {missing}"
    gone = sorted(set(MODULES.items()) - set(found))
    assert not gone, f"take out of paralesn/persistence/saved_classes.py: {gone}"


FIRST_IMPORTS = """
import os, sys
import numba, numpy, safetensors.numpy, scipy.linalg, sklearn.linear_model, threadpoolctl
for module in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            __import__(module)
        except BaseException as error:
            print(f"{module}: {error!r}", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_every_home_can_be_the_first_module_that_is_imported():
    """Whatever a program asks for first, no circle of imports is met from that side."""
    homes = {
        f"paralesn.{home}" for table in (pe._HOMES, pe._MODULES, MODULES) for home in table.values()
    }
    done = subprocess.run(
        [sys.executable, "-c", FIRST_IMPORTS, *sorted(homes)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""

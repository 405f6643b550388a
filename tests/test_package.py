"""The package as a user meets it: import, command line, wheel."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import paralesn as pe

ROOT = Path(__file__).parent.parent


def run(*command, cwd=None, **environment):
    return subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False
    )


def test_import_is_light():
    code = (
        "import sys, paralesn; heavy = {'torch', 'dask', 'optuna', 'matplotlib', 'numba', 'typer'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert run(sys.executable, "-c", code).stdout.strip() == "[]"


def test_public_names_exist():
    assert all(hasattr(pe, name) for name in pe.__all__)


def test_the_examples_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    names = {}
    exec(example, names)
    y = names["y"]
    assert np.abs(names["values"] - y[1600:1650]).max() < 0.01
    assert np.abs(names["ahead"] - y[1501:]).max() < 1e-4
    assert names["model"].score(names["X"][40:], ["slow", "fast"] * 10) == 1
    assert os.listdir(tmp_path) == ["model.safetensors"]


def test_the_other_examples_of_the_readme_run(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    x = np.sin(np.arange(300.0)[:, None] / 9)
    names = {"pe": pe, "X": x, "more": x, "source": iter([x]), "x": x[0]}
    for example in examples[1:]:
        exec(example, names)
    assert names["last"].shape == (256,)
    raw, _ = names["same"].reservoir.run(x)
    assert raw.shape == (300, 2 * 128)
    assert {path.name for path in tmp_path.iterdir()} == {"forgetting.png", "spectrum.png"}


def test_the_documented_longest_kernel_is_the_engines():
    from paralesn.engines.cpu.kernels import diagonal
    from paralesn.layers import diagonal as layers

    assert layers.LONGEST_KERNEL == diagonal.LONGEST_KERNEL == 63


def test_demo_prints_its_result_and_saves_a_picture(tmp_path):
    done = run(sys.executable, "-m", "paralesn", "demo", "--steps", "3000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "test NRMSE" in done.stdout
    assert "times faster" in done.stdout
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert os.listdir(tmp_path) == ["demo.png"]


def test_demo_is_reproducible_and_good():
    from paralesn.paper.studies.demo import demonstrate

    first, second = demonstrate(), demonstrate()
    assert first.paralesn.error == second.paralesn.error
    assert first.paralesn.error < 0.1
    np.testing.assert_array_equal(first.forecast.upper, second.forecast.upper)
    assert first.valid_time > 3
    assert first.accuracy > 0.9


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demo", "--units", "0"], "--units"),
        (["demo", "--units", "many"], "--units"),
        (["demo", "--out", "no/such/folder/x.png"], "does not exist"),
        (["dmeo"], "dmeo"),
    ],
)
def test_wrong_arguments(arguments, words, tmp_path):
    done = run(sys.executable, "-m", "paralesn", *arguments, cwd=tmp_path, NO_COLOR="1")
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_version():
    done = run(sys.executable, "-m", "paralesn", "--version")
    assert done.stdout.strip() == f"paralesn {pe.__version__}"


def test_a_wheel_works_outside_the_repository(tmp_path):
    """Built, unpacked elsewhere and run without the source tree."""
    wheels, site = tmp_path / "wheels", tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    built = run(
        *pip, "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-w", str(wheels),
        "-c", str(ROOT / "constraints.txt"),
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (wheel,) = wheels.glob("*.whl")
    installed = run(*pip, "install", "--no-deps", "--target", str(site), str(wheel))
    assert installed.returncode == 0, installed.stderr
    code = "import paralesn; print(paralesn.__file__)"
    found = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(site)).stdout
    assert Path(found.strip()).is_relative_to(site)
    done = run(
        sys.executable,
        "-m",
        "paralesn",
        "demo",
        "--steps",
        "2000",
        cwd=tmp_path,
        PYTHONPATH=str(site),
    )
    assert done.returncode == 0, done.stderr

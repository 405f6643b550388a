"""The package as a user meets it: command line, wheel."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import paralesn as pe
from paralesn.cli import main

ROOT = Path(__file__).parent.parent


def run(*command, cwd=None, **environment):
    return subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False
    )


def test_the_documented_longest_kernel_is_the_engines():
    from paralesn.engines.cpu.kernels import diagonal
    from paralesn.layers import diagonal as layers

    assert layers.LONGEST_KERNEL == diagonal.LONGEST_KERNEL == 63


@pytest.mark.slow
def test_demo_prints_its_result_and_saves_a_picture(tmp_path):
    done = run(sys.executable, "-m", "paralesn", "demo", "--steps", "3000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "test NRMSE" in done.stdout
    assert "times faster" in done.stdout
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert os.listdir(tmp_path) == ["demo.png"]


@pytest.mark.slow
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
def test_wrong_arguments(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["paralesn", *arguments])
    monkeypatch.setenv("NO_COLOR", "1")
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told


@pytest.mark.slow
def test_version():
    done = run(sys.executable, "-m", "paralesn", "--version")
    assert done.stdout.strip() == f"paralesn {pe.__version__}"


@pytest.mark.slow
def test_a_wheel_works_outside_the_repository(tmp_path):
    """Built, unpacked elsewhere and used without the source tree; no file of it is missing."""
    built = run(
        sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "wheel", str(ROOT),
        "--no-deps", "--no-build-isolation", "-w", str(tmp_path), "-c", str(ROOT / "constraints.txt"),
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    assert files_below(site / "paralesn") == files_below(ROOT / "src" / "paralesn")
    code = (
        "import paralesn as pe; print(pe.__file__, pe.ParalESN(units=9).run([1.0, 2.0])[0].shape)"
    )
    done = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(site))
    assert done.stdout.split(maxsplit=1) == [str(site / "paralesn" / "__init__.py"), "(2, 9)\n"], (
        done.stderr
    )
    command = [sys.executable, "-m", "paralesn", "--version"]
    done = run(*command, cwd=tmp_path, PYTHONPATH=str(site))
    assert done.stdout.strip() == f"paralesn {pe.__version__}", done.stderr


def files_below(folder):
    """What the package consists of: code, data, templates, not what was compiled from it."""
    return {
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

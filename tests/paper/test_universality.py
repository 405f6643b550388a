"""Universality: the filter against its definition, the readouts against each other, the command."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from paralesn.cli import app
from paralesn.paper.studies import universality
from paralesn.paper.studies.universality import Settings, approximate


def test_the_filter_is_its_sum(rng):
    u = rng.uniform(-1, 1, 60)
    y = universality.nonlinearity(universality.averages(u))
    for t in (0, 1, 7, 59):
        a = sum(0.7**k * u[t - k] for k in range(t + 1)) * np.sqrt(3 * (1 - 0.49))
        b = sum((-0.5) ** k * u[t - k] for k in range(t + 1)) * np.sqrt(3 * (1 - 0.25))
        assert y[t] == pytest.approx(np.sin(a) * b, abs=1e-13)


def test_the_averages_have_variance_one_and_the_memory_fades(rng):
    u = rng.uniform(-1, 1, 200_000)
    np.testing.assert_allclose(universality.averages(u)[100:].var(axis=0), 1, rtol=0.02)
    other = u.copy()
    other[:50] = -other[:50]
    difference = np.abs(universality.averages(u) - universality.averages(other)).max(axis=1)
    assert difference[49] > 0.1
    assert difference[149] < 1e-14


def test_the_filter_is_even_so_that_no_linear_readout_helps(rng):
    u = rng.uniform(-1, 1, 500)
    y = universality.nonlinearity(universality.averages(u))
    np.testing.assert_array_equal(universality.nonlinearity(universality.averages(-u)), y)


def test_whitened_components_are_uncorrelated_and_weak_ones_are_dropped(rng):
    sources = rng.normal(size=(5000, 3))
    states = sources @ rng.normal(size=(3, 6)) + 1e-5 * rng.normal(size=(5000, 6)) + 4
    train = slice(0, 4000)
    z = universality.whitened(states, train, 0.001)
    assert z.shape == (5000, 3)
    np.testing.assert_allclose(z[train].T @ z[train] / 4000, np.eye(3), atol=1e-9)
    assert universality.whitened(states, train, 1e-9).shape == (5000, 6)


def test_the_verdict_says_where_errors_cease_to_fall():
    falling = {2: 0.5, 4: 0.2, 8: 0.1}
    assert "largest size" in universality.verdict({"perceptron": falling, "formula": falling})
    flat = falling | {16: 0.11}
    said = universality.verdict({"perceptron": flat, "formula": {8: 1e-3}})
    assert "up to 8 units" in said
    assert "trained" in said
    assert "trained" not in universality.verdict({"perceptron": flat, "formula": {8: 0.09}})


@pytest.mark.slow
def test_the_perceptron_improves_with_size_and_the_linear_readout_does_not(tmp_path):
    pytest.importorskip("torch")
    wanted = Settings((2, 16), 1, 10_000, 2000, 64, 4e-3, 128, 15)
    seen = []
    record = approximate(wanted, tmp_path / "u.json", lambda *report: seen.append(report))
    assert json.loads((tmp_path / "u.json").read_text()) == record
    assert seen[-1] == ("done", 2, 2)
    small, large = record["results"]
    assert 0.99 < small["linear"] < 1.03
    assert 0.99 < large["linear"] < 1.03
    assert large["perceptron"] < 0.2 < 0.45 < small["perceptron"] < 0.8
    assert large["formula"] < 0.01 * small["formula"]
    again = approximate(wanted, tmp_path / "u.json")
    assert again["results"] == record["results"]


@pytest.mark.slow
def test_the_command_prints_and_draws(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    out = tmp_path / "new"
    arguments = ["universality", "--quick", "--seeds", "1", "--out", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "linear readout" in result.output
    assert sorted(os.listdir(out)) == ["universality.json", "universality.png"]
    assert (out / "universality.png").read_bytes().startswith(b"\x89PNG")
    record = json.loads((out / "universality.json").read_text())
    assert [one["units"] for one in record["results"]] == [2, 8, 32]
    errors = universality.medians(record, "perceptron")
    assert errors[32] < errors[8] < errors[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "code", "words"),
    [("torch", 1, "pip install 'paralesn[torch]'"), ("matplotlib", 0, "paralesn[plot]")],
)
def test_a_missing_extra_is_named(missing, code, words, tmp_path):
    pytest.importorskip("torch")
    program = (
        "import sys; from paralesn.cli import main\n"
        "from paralesn.paper.studies import universality\n"
        f"sys.modules['{missing}'] = None\n"
        "sys.argv = ['paralesn', 'universality', '--quick', '--seeds', '1', '--out', 'x']\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert words in done.stdout
    assert "Traceback" not in done.stderr
    assert [file.name for file in tmp_path.rglob("*.*")] == ([] if code else ["universality.json"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--seeds", "0"], "--seeds"), (["--out", "no/such/folder"], "does not exist")],
)
def test_wrong_arguments(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["universality", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert words in result.output

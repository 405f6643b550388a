"""`paralesn stream --learn` as a process that is killed, and goes on as if nothing had happened."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

import paralesn as pe

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="signals"),
]


def models(rng):
    """A model, lines to learn from, and a line it must refuse."""
    t = np.arange(360)
    y = 10 + np.sin(t / 4) + 0.1 * rng.normal(size=360)
    yield "forecaster", pe.ReservoirForecaster(horizon=3).fit(y[:320]), y[320:, None], "10.1 x"
    x = rng.uniform(-1, 1, (360, 2))
    target = x[:, 0] * np.roll(x[:, 1], 1)
    model = pe.ReservoirRegressor(pe.ParalESN(units=30, mix_scale=1.0), pe.Ridge([0.1]))
    rows = np.column_stack([x, target])
    yield "regressor", model.fit(x[:320], target[:320]), rows[320:], "0.1 0.2 0.3 0.4"


def open_stream(model, *options):
    """A process that learns from lines, every one of which is in its state once it is answered."""
    command = [sys.executable, "-m", "paralesn", "stream", model, "--learn", "--forget", 0.98]
    command = [str(part) for part in (*command, "--save-every", 0, *options)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def answers(process, lines):
    for line in lines:
        process.stdin.write(line)
        process.stdin.flush()
        yield process.stdout.readline()


def as_line(row):
    return ",".join(map(repr, row.tolist())) + "\n"


def contents(path):
    """What a file holds, to the bit, whatever the order of its header."""
    with safe_open(path, "np") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return file.metadata(), {n: (a.dtype, a.shape, a.tobytes()) for n, a in arrays.items()}


@pytest.mark.parametrize("kind", ["forecaster", "regressor"])
def test_a_killed_stream_has_learnt_what_an_uninterrupted_one_has(kind, rng, tmp_path):
    _, model, rows, bad = next(made for made in models(rng) if made[0] == kind)
    path, lines = tmp_path / "model", [as_line(row) for row in rows]
    pe.save(model, path)

    whole, said = open_stream(path, "--save", tmp_path / "whole").communicate("".join(lines))
    assert said == ""
    whole = whole.splitlines(keepends=True)
    assert len(set(whole)) == len(lines)

    state = tmp_path / "state"
    options = ("--resume", state, "--save", tmp_path / "learnt")
    killed = open_stream(path, *options)
    assert list(answers(killed, lines[:15])) == whole[:15]
    killed.stdin.write(bad + "\n")
    killed.stdin.flush()
    assert killed.stderr.readline().startswith("line 16: ")
    assert list(answers(killed, lines[15:25])) == whole[15:25]
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "learnt").exists()

    seen = pe.load(state).lines
    assert seen in (25, 26)  # with the one that was refused; the last answer may come twice
    found, said = open_stream(path, *options).communicate("".join(lines[seen - 1 :]))
    assert said == f"Resumed after line {seen}.\n"
    assert found.splitlines(keepends=True) == whole[seen - 1 :]
    assert contents(tmp_path / "learnt") == contents(tmp_path / "whole")
    assert contents(tmp_path / "learnt") != contents(path)


def test_the_saved_model_is_the_one_that_learnt(rng, tmp_path):
    _, model, rows, _ = next(models(rng))
    path: Path = tmp_path / "model"
    pe.save(model, path)
    process = open_stream(path, "--save", tmp_path / "learnt")
    process.communicate("".join(as_line(row) for row in rows))
    assert process.returncode == 0
    for row in rows:
        model.forget(0.98).partial_fit(row)
    learnt = pe.load(tmp_path / "learnt", pe.ReservoirForecaster)
    np.testing.assert_allclose(learnt.forecast(), model.forecast(), rtol=1e-8)
    assert np.abs(learnt.forecast() - pe.load(path).update(rows[:, 0]).forecast()).max() > 1e-6

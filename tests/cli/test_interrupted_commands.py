"""Commands on own data as processes: killed, interrupted, or with nobody listening any more."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

import paralesn as pe
from paralesn.cli import app

pytestmark = pytest.mark.slow


def start(*arguments):
    command = [sys.executable, *map(str, arguments)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # also where started with &
    return subprocess.Popen(command, text=True, preexec_fn=heeds, **pipes)


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_a_stream_answers_at_once_and_its_state_survives(forecaster, tmp_path, number, code):
    values = [f"{10 + np.sin(k / 4)}\n" for k in range(8)]
    whole = CliRunner().invoke(app, ["stream", str(forecaster)], input="".join(values))
    whole = whole.stdout.splitlines(keepends=True)
    state, every = tmp_path / "state", 0 if number == signal.SIGKILL else 60
    process = start(
        "-m", "paralesn", "stream", forecaster, "--resume", state, "--save-every", every
    )
    for value, expected in zip(values[:5], whole, strict=False):
        process.stdin.write(value)
        process.stdin.flush()
        assert process.stdout.readline() == expected  # while the input is still open
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in said
    resumed = ["stream", str(forecaster), "--resume", str(state)]
    done = CliRunner().invoke(app, resumed, input="".join(values[5:]))
    assert done.stdout.splitlines(keepends=True) == whole[5:]


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_killed_stream_goes_on_from_a_state_it_had(forecaster, tmp_path):
    values = [f"{10 + np.sin(k / 4)}\n" for k in range(40)]
    whole = CliRunner().invoke(app, ["stream", str(forecaster)], input="".join(values))
    whole = whole.stdout.splitlines(keepends=True)
    state = tmp_path / "state"
    process = start("-m", "paralesn", "stream", forecaster, "--resume", state, "--save-every", 0.01)
    for value in values[:30]:
        process.stdin.write(value)
        process.stdin.flush()
        process.stdout.readline()
    ends = time.monotonic() + 60
    while pe.load(state).lines == 0 and time.monotonic() < ends:
        time.sleep(0.01)
    process.kill()
    process.communicate(timeout=60)
    seen = pe.load(state).lines
    assert 0 < seen <= 30
    resumed = ["stream", str(forecaster), "--resume", str(state)]
    done = CliRunner().invoke(app, resumed, input="".join(values[seen:]))
    assert done.stdout.splitlines(keepends=True) == whole[seen:]


INTERRUPTED = """
import sys
from paralesn.workflows import tuning
judge = tuning.backtest_material
def backtest(*arguments, **options):
    print("a trial begins", flush=True)
    return judge(*arguments, **options)
tuning.backtest_material = backtest
from paralesn.cli import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_leaves_nothing_half_written(data, tmp_path):
    arguments = ("forecast", data, "--target", "load", "--search", "10m", "--out", tmp_path / "out")
    process = start("-c", INTERRUPTED, *arguments)
    assert process.stdout.readline() == "a trial begins\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert said == ""  # neither a bar nor a traceback
    assert os.listdir(tmp_path) == ["data.csv"]


EVALUATING = """
from paralesn.workflows.series_tasks import ClassTask
fit = ClassTask.fit
def slow(task, series, rows=None):
    if rows is not None:
        print("a fold begins", flush=True)
    return fit(task, series, rows)
ClassTask.fit = slow
from paralesn.cli import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_while_evaluating_leaves_what_was_there(tmp_path, rng):
    rows = ["\t".join([str(k % 2), *map(str, rng.normal(size=300))]) for k in range(90)]
    (tmp_path / "x.tsv").write_text("\n".join(rows))
    out = tmp_path / "out"
    out.mkdir()
    (out / "predictions.csv").write_text("of an earlier run")
    process = start("-c", EVALUATING, "classify", tmp_path / "x.tsv", "--out", out)
    assert process.stdout.readline() == "a fold begins\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert said == ""
    assert os.listdir(out) == ["predictions.csv"]
    assert (out / "predictions.csv").read_text() == "of an earlier run"


def test_a_pipe_that_is_closed_ends_the_stream_quietly(forecaster):
    process = start("-m", "paralesn", "stream", forecaster)
    process.stdin.write("1\n")
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.close()
    process.stdin.write("2\n3\n")
    process.stdin.close()
    assert process.wait(timeout=60) == 1
    assert process.stderr.read() == ""
    process.stderr.close()

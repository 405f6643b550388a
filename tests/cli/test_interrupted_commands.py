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
from paralesn.workflows import stream as workflow
from paralesn.workflows.stream import LineReader

pytestmark = pytest.mark.slow


def start(*arguments):
    command = [sys.executable, *map(str, arguments)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # also where started with &
    return subprocess.Popen(command, text=True, preexec_fn=heeds, **pipes)


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 130), (signal.SIGKILL, -9)],
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
    seen = pe.load(state).lines
    assert seen == 5 or (number == signal.SIGKILL and seen == 4)  # its answer comes twice
    resumed = ["stream", str(forecaster), "--resume", str(state)]
    done = CliRunner().invoke(app, resumed, input="".join(values[seen:]))
    assert done.stdout.splitlines(keepends=True) == whole[seen:]
    assert sorted(os.listdir(tmp_path)) == ["model.safetensors", "state"]


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


@pytest.mark.parametrize("every", [0, 1e-6])
@pytest.mark.parametrize("options", [(), ("--json",), ("--learn",)], ids=" ".join)
def test_a_state_is_saved_when_its_answers_are_out(
    forecaster, tmp_path, monkeypatch, every, options
):
    save, states = workflow.save, []

    def save_later(state, path):
        out, err = (s.buffer.getvalue().splitlines() for s in (sys.stdout, sys.stderr))
        states.append((state.lines, len(out) + len(err)))
        save(state, path)

    monkeypatch.setattr(workflow, "save", save_later)
    read = LineReader.read

    def read_slowly(reader, line, number):
        answer = read(reader, line, number)
        time.sleep(0.001)  # the thread that saves has its chance before the answer is out
        return answer

    monkeypatch.setattr(LineReader, "read", read_slowly)
    values = [f"{10 + np.sin(k / 4)}\n" if k % 7 != 3 else "what\n" for k in range(60)]
    arguments = ["stream", forecaster, *options, "--resume", tmp_path / "s", "--save-every", every]
    done = CliRunner().invoke(app, list(map(str, arguments)), input="".join(values))
    assert done.exit_code == 4
    assert len(states) > 3
    assert all(lines <= answers for lines, answers in states)
    assert states[-1] == (60, 60)


def test_answers_reach_the_disk_before_their_state(forecaster, tmp_path):
    script = """
import os, sys
from paralesn import files
from paralesn.workflows import stream
save = stream.save
def unsynced(state, path):
    print(state.lines, synced, file=sys.stderr)
    save(state, path)
stream.save = unsynced
synced, sync = [0], os.fsync
def fsync(number):
    sync(number)
    if number == 1:
        synced[0] = os.fstat(1).st_size
os.fsync = fsync
from paralesn.cli import main
main()
"""
    with (tmp_path / "answers").open("w") as out:
        arguments = ["stream", forecaster, "--resume", tmp_path / "s", "--save-every", 0]
        command = [sys.executable, "-c", script, *map(str, arguments)]
        done = subprocess.run(
            command, input="1\n2\n", stdout=out, stderr=subprocess.PIPE, text=True, timeout=60
        )
    lengths = [0]
    for line in (tmp_path / "answers").read_text().splitlines(keepends=True):
        lengths.append(lengths[-1] + len(line))
    assert done.stderr == "".join(f"{k} [{length}]\n" for k, length in enumerate(lengths))


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_second_stream_on_a_state_is_refused(forecaster, tmp_path):
    arguments = ["stream", forecaster, "--resume", tmp_path / "state"]
    first = start("-m", "paralesn", *arguments)
    first.stdin.write("1\n")
    first.stdin.flush()
    first.stdout.readline()
    done = CliRunner().invoke(app, list(map(str, arguments)), input="2\n")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert f"state is in use by process {first.pid}" in done.stderr
    first.kill()
    first.communicate(timeout=60)
    assert CliRunner().invoke(app, list(map(str, arguments)), input="2\n").exit_code == 0
    assert sorted(os.listdir(tmp_path)) == ["model.safetensors", "state"]


TWICE = """
import os, signal, sys, time
from paralesn import files
number, replace = int(sys.argv.pop()), os.replace
def interrupted(*names):
    print("about to be there", file=sys.stderr, flush=True)
    time.sleep(60)
os.replace = interrupted
unlink = files.Path.unlink
def unlink_slowly(path, **options):
    os.kill(os.getpid(), number)  # while it cleans up
    os.kill(os.getpid(), signal.SIGINT)
    unlink(path, **options)
files.Path.unlink = unlink_slowly
from paralesn.cli import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_second_signal_while_it_cleans_up_changes_nothing(data, tmp_path, name):
    number = getattr(signal, name)
    arguments = ("forecast", data, "--target", "load", "--out", tmp_path / "out", number.value)
    process = start("-c", TWICE, *arguments)
    assert any(line == "about to be there\n" for line in process.stderr)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said == ""
    assert os.listdir(tmp_path / "out") == []


SWALLOWING = """
import sys, time
from paralesn.cli import forecast
class Swallows:
    def __del__(self):
        print("swallows", flush=True)
        time.sleep(60)
def read(*arguments):
    Swallows()
    time.sleep(60)
forecast._read = read
from paralesn.cli import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interruption_that_a_callback_swallows_comes_again(data, tmp_path):
    process = start("-c", SWALLOWING, "forecast", data, "--out", tmp_path / "out")
    assert process.stdout.readline() == "swallows\n"
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 143
    assert said == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("command", ["inspect", "stream"])
def test_output_that_cannot_be_written_is_an_error(forecaster, command):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "paralesn", command, str(forecaster)], input="1\n",
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
        )  # fmt: skip
    assert done.returncode == 1
    assert "Error: standard output cannot be written: [Errno 28]" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="limits of files")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_answer_that_is_cut_off_by_a_full_disk_is_not_in_the_state(
    forecaster, tmp_path, unbuffered
):
    lines = [f"{10 + np.sin(k / 4)}\n" for k in range(400)]
    arguments = ["stream", forecaster, "--resume", tmp_path / "state", "--save-every", 0.01]
    limited = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (6001, 6001));"
        "from paralesn.cli import main; main()"
    )
    with (tmp_path / "answers").open("w") as out:
        done = subprocess.run(
            [sys.executable, "-c", limited, *map(str, arguments)], input="".join(lines),
            stdout=out, stderr=subprocess.PIPE, text=True, timeout=60,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert done.returncode == 1
    assert "Error: standard output cannot be written: [Errno 27]" in done.stderr
    answers = (tmp_path / "answers").read_text()
    assert len(answers) == 6001
    assert not answers.endswith("\n")
    assert pe.load(tmp_path / "state").lines == answers.count("\n")


EXECUTING = """
from paralesn.cli import forecast
def read(*arguments):
    exec("import time; print('executes', flush=True); time.sleep(60)")
forecast._read = read
from paralesn.cli import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_exit_code_is_that_of_the_signal_wherever_it_came(data, tmp_path, monkeypatch, name):
    (tmp_path / "executing.py").write_text(EXECUTING)
    monkeypatch.chdir(tmp_path)
    process = start("-m", "executing", "forecast", data, "--out", tmp_path / "out")
    assert process.stdout.readline() == "executes\n"
    process.send_signal(getattr(signal, name))
    _, said = process.communicate(timeout=20)
    assert process.returncode == 128 + getattr(signal, name)
    assert said == ""


ENDING = """
import os, signal, sys, time
from paralesn.cli import main
class Late:
    def __del__(self, kill=os.kill, pid=os.getpid()):
        kill(pid, signal.SIGTERM)  # while Python is being taken down
sys.late = Late()
from paralesn.cli import forecast
def read(*arguments):
    print("reads", flush=True)
    time.sleep(60)
forecast._read = read
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_signal_while_python_ends_changes_nothing(data, tmp_path):
    process = start("-c", ENDING, "forecast", data, "--out", tmp_path / "out")
    assert process.stdout.readline() == "reads\n"
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 143
    assert said == ""

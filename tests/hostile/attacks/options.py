"""Commands called with arguments of no use: wrong numbers, odd names, files for folders, devices.

Options and their names come from the commands themselves. What takes long is played: a case is about
what is asked, checked, told and written. A call ends with 0 and all files whole, or with another code,
a message, and nothing half-written.
"""

import csv
import json
import os
import traceback
import warnings
from contextlib import ExitStack, chdir
from pathlib import Path
from unittest import mock

from hypothesis import strategies as st
from typer.main import get_command
from typer.testing import CliRunner

import stored_records as made
from paralesn.cli import app
from paralesn.paper import runs, workers

CASES = 60

# Commands with arguments that work. Those that read tables and models have attacks of their own.
CALLS = {
    "reproduce": ["mg", "--models", "SCR", "--seeds", "1", "--jobs", "1"],
    "search": ["mg", "--models", "SCR", "--trials", "1", "--jobs", "1"],
    "report": ["records"],
    "complexity": ["--quick"],
    "universality": ["--quick", "--seeds", "1"],
    "sensitivity": ["mg"],
    "race": ["smnist"],
    "demo": ["--units", "1"],
    "data list": [],
    "data fetch": ["mg"],
    "data check": ["mg"],
}
VALUES = [
    "", " ", "-1", "0", "1", "2", "1e3", "nan", "inf", "-inf", "1e999", "9" * 400, "-" + "9" * 30,
    "1_0", "0x10", "\u0663", "one", "--", "-", "*", "[/nope]", "[red]", "%s{0}", "a\nb", "\u2028",
    "\u202etxt", "\udcff", "x" * 300, "paper", "extended", "mg", "narma10", "all", "memory",
    "classification", "ParalESN", "ESN (deep)", "LSTM", "ITA", "ita", "ZZZ", "local:", "tcp://",
    "sqlite:///", "sqlite:///studies.db", "redis://", "nonesuch://x", "grpc://", "file", "empty",
    "folder", "records", "records/records.jsonl", "absent", "absent/deeper", "odd", "pipe", "link",
    "./folder/..", ".",
]  # fmt: skip
# Nothing outside of the case's folder is named: what may be written there, is.
# Far away, or too long here: a download, a cluster of processes.
NOT_ASKED = {"--dask", "--install-completion", "--show-completion", "--help", "--search"}

_value = st.integers(0, len(VALUES) - 1)
RECIPES = st.fixed_dictionaries(
    {
        "command": st.sampled_from(list(CALLS)),
        "options": st.lists(st.tuples(st.integers(0, 50), _value).map(list), max_size=3),
        "arguments": st.lists(_value, max_size=2),
        "data": st.one_of(st.none(), _value),
    }
)


def _command(name):
    command = get_command(app)
    for part in name.split():
        command = command.commands[part]
    return command


def _arguments(recipe):
    """The words of a call."""
    command = _command(recipe["command"])
    options = [param for param in command.params if param.param_type_name == "option"]
    options = [param for param in options if param.opts[-1] not in NOT_ASKED]
    words = [*recipe["command"].split(), *CALLS[recipe["command"]]]
    for at, value in recipe["options"]:
        option = options[at % len(options)]
        is_flag = isinstance(option.default, bool)
        words += [option.opts[-1]] if is_flag else [f"{option.opts[-1]}={VALUES[value]}"]
    return [*words, *(VALUES[value] for value in recipe["arguments"])]


def _prepare(folder):
    for name in ("folder", "records", "odd/records.jsonl"):
        (folder / name).mkdir(parents=True)
    made.write(folder / "records", made.regression()[:6])
    (folder / "file").write_text("neither\n")
    (folder / "empty").touch()
    (folder / "link").symlink_to(folder / "absent")
    os.mkfifo(folder / "pipe")


# -- what takes long, played -----------------------------------------------------------------------


def _carry_out(wanted, folder, tell=None):
    """A run that took no time."""
    metrics = dict.fromkeys(("accuracy", "nrmse", "mse", "mae", "mc"), 0.5)
    return wanted | {
        "metric": "nrmse", "metrics": metrics, "seconds": 0.1, "sizes": [1, 2, 3, 4],
        "timing": {"total": 0.2}, **made.SURROUNDINGS,
    }  # fmt: skip


def _each(function, calls, jobs, prepare=None, *, cluster=None, names=None):
    """Calls carried out here; workers on studies find nothing to do."""
    if function is runs.carry_out:
        yield from enumerate(function(*call) for call in calls)


def _refuse(*_, **__):
    raise ModuleNotFoundError("this would begin to work")


_PLAYED = {
    "paralesn.paper.runs.carry_out": _carry_out,
    "paralesn.paper.workers.each": _each,
    "paralesn.paper.studies.complexity.measure": _refuse,
    "paralesn.paper.studies.universality.approximate": _refuse,
    "paralesn.paper.studies.race.race": _refuse,
    "paralesn.paper.studies.demo.demonstrate": _refuse,
}


def attack(recipe, folder):
    """Call a command."""
    _prepare(folder)
    before = _content(folder)
    environment = {"PARALESN_STORAGE": None, "PARALESN_CACHE": str(folder / "cache")}
    environment["PARALESN_DATA"] = None if recipe["data"] is None else VALUES[recipe["data"]]
    assert workers.each is not _each
    with ExitStack() as stack:
        stack.enter_context(chdir(folder))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # of numbers that are played
        for name, played in _PLAYED.items():
            stack.enter_context(mock.patch(name, played))
        done = CliRunner().invoke(app, _arguments(recipe), env=environment)
    told = done.output
    assert isinstance(done.exception, SystemExit | None), "".join(
        traceback.format_exception(done.exception)
    )
    assert "Traceback" not in told, told
    _check_old(before, folder)
    _check_new(before, folder)
    if done.exit_code == 0:
        return "held"
    assert done.exit_code in (1, 2, 3), done.exit_code
    assert told.strip(), "not a word"
    return "refused"


# -- what is left ----------------------------------------------------------------------------------


def _content(folder):
    return {
        path: path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in folder.rglob("*")
    }


def _check_old(before, folder):
    """Nothing that was there is gone or changed, but for records that were added."""
    now = _content(folder)
    for path, content in before.items():
        assert path in now, f"{path} is gone"
        if path.name == "records.jsonl" and content is not None:
            assert now[path].startswith(content)
        else:
            assert now[path] == content, f"{path} has changed"


def _check_new(before, folder):
    """Every file that was made is whole."""
    for path in set(_content(folder)) - before.keys():
        if path.is_dir() or path.is_symlink() or "cache" in path.parts:
            continue
        assert ".part" not in path.name, f"{path} is left over"
        text = path.read_bytes()
        if path.suffix == ".json":
            json.loads(text)
        elif path.suffix == ".jsonl":
            assert all(json.loads(line) for line in text.splitlines())
        elif path.suffix == ".csv":
            rows = list(csv.reader(text.decode().splitlines()))
            assert len({len(row) for row in rows}) == 1
        elif path.suffix == ".html":
            assert text.rstrip().endswith(b"</html>")
        elif path.suffix == ".png":
            assert text.startswith(b"\x89PNG")
        assert Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))

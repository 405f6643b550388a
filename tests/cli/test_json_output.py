"""With --json, standard output is JSON and nothing else; people are told on standard error."""

import json

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from paralesn.cli import app


def output(*words):
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), done.stderr


def commands(group, name=""):
    for key, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name}{key} ")
        else:
            yield f"{name}{key}", command


def test_every_command_prints_json_for_scripts():
    without = [
        name
        for name, command in commands(get_command(app))
        if not any("--json" in param.opts for param in command.params)
    ]
    assert without == []


@pytest.mark.slow
def test_reproduced_results_are_those_of_the_file(tmp_path):
    out = tmp_path / "out"
    found, told = output(
        "reproduce", "mg", "--models", "SCR", "--seeds", "1", "--jobs", "1", "--out", str(out)
    )
    assert found["results"] == json.loads((out / "results.json").read_text())
    assert found["results"][0]["task"] == "mg"
    assert "SCR" in told


@pytest.mark.slow
def test_a_search_prints_what_it_chose(tmp_path):
    pytest.importorskip("optuna")
    found, told = output(
        "search", "mg", "--models", "SCR", "--spaces", "paper", "--trials", "16", "--jobs", "1",
        "--storage", str(tmp_path / "studies"),
    )  # fmt: skip
    assert [(one["task"], one["model"], one["space"]) for one in found] == [("mg", "SCR", "paper")]
    assert found[0]["trials"] == 16
    assert "Studies:" in told
    effects, _ = output(
        "sensitivity", "mg", "--model", "SCR", "--studies", str(tmp_path / "studies"),
        "--out", str(tmp_path / "sensitivity"),
    )  # fmt: skip
    assert effects["experiment"] == "sensitivity"

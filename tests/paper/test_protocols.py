"""Protocols: the interface that all of them keep, and one added from outside."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from paralesn.cli import app
from paralesn.paper import protocols, reproduce, runs, scope, selection
from paralesn.paper.catalogue import Task
from paralesn.paper.configurations import Tuned
from paralesn.paper.layout import models_by_tasks
from paralesn.paper.protocol import Protocol
from paralesn.paper.protocols import ucr
from paralesn.paper.results import Row
from paralesn.report import build, stored

EVERY = protocols.protocols()


class Echo(Protocol):
    """A task whose metric is the number that is its seed."""

    name, title, seeds = "echo", "Echoes", 3
    spaces = ("paper", "extended")
    in_paper = False

    def tasks(self):
        return {"ring": Task("ring", "Ring", "echo", "lower", 1.0)}

    def models(self, task):
        return ["ESN", "SCR"]

    def shipped(self, task, model, space):
        better = 0.1 if space == "extended" else 0.2
        return Tuned(task, model, space, {"space": space}, 1.0, better, 1, 1.0, 1)

    def missing(self, task):
        return None

    def measure(self, run, folder, tell=None):
        value = run["seed"] + (10.0 if run["configuration"]["space"] == "paper" else 0.0)
        return {"metric": "off", "metrics": {"off": value}, "seconds": 0.5}

    def tables(self, cells):
        tasks, models = list(self.tasks().values()), self.models("ring")
        table = models_by_tasks("echo", self.title, tasks, models, cells)
        return [] if table is None else [table]


@pytest.fixture
def echo():
    yield protocols.register(Echo())
    protocols.unregister("echo")


def test_the_order_is_that_of_the_reports():
    names = "regression earlier classification mnist trained small-mnist lra long-term ucr"
    assert [protocol.name for protocol in EVERY] == names.split()


@pytest.mark.parametrize("protocol", EVERY, ids=lambda protocol: protocol.name)
def test_what_a_protocol_plans_is_its_own_and_is_told_apart_by_seeds(protocol):
    tasks = protocol.tasks() or {"FordA": None}  # the archive may not be there
    for task in tasks:
        for model in protocol.models(task):
            for space in protocol.spaces:
                tuned = protocol.shipped(task, model, space)
                if tuned is None or task not in protocol.tasks():
                    continue
                first, second = runs.plan(protocol, tuned, 2, country="FRA")
                assert first["kind"] == protocol.name
                assert protocols.of(task, model) is protocol is protocols.of_run(first)
                assert protocol.knows(first)
                assert runs.identity(first) != runs.identity(second)
                assert ("country" in first) == protocol.measures_energy
                assert json.loads(json.dumps(first)) == first
                needed = set(protocol.needed) - {"metric", "metrics", "seconds", "timing", "sizes"}
                assert needed <= set(first)


def test_names_of_kinds_are_taken_once():
    with pytest.raises(ValueError, match="kinds of its own, got regression"):
        protocols.register(type("Other", (Echo,), {"name": "regression"})())
    with pytest.raises(ValueError, match=r"kind must be among regression, .* got 'nonsense'"):
        protocols.of_run({"kind": "nonsense"})
    with pytest.raises(ValueError, match="added protocol, got 'lra'"):
        protocols.unregister("lra")


def test_a_protocol_that_is_not_meant_looks_for_no_files(monkeypatch, tmp_path):
    def at_hand():
        raise AssertionError("looked for files of the archive")

    monkeypatch.setattr(ucr, "at_hand", at_hand)
    for what in (["narma10"], ["memory", "lra"], ["classification"], None):
        for models in (None, ["ParalESN", ucr.MODEL]):
            wanted = scope.resolve(what, models)
            assert {entry.protocol.name for entry in wanted}.isdisjoint({"ucr"})
    assert scope.unavailable(scope.resolve(["narma10"]), ["narma10"]) == []
    assert "ucr" in scope.names()
    monkeypatch.setattr(ucr, "at_hand", lambda: ["FordA"])
    (entry,) = scope.resolve(["narma10", "ucr"], [ucr.MODEL])
    assert entry[1:] == ("FordA", ucr.MODEL)


def test_names_that_overlap_mean_each_task_once_in_the_order_of_the_protocol():
    wanted = scope.resolve(["forecasting", "memory", "narma10", "mg"], ["ParalESN"])
    assert [entry.task for entry in wanted] == list(protocols.of_kind("regression").tasks())
    of_table = scope.resolve(["structured"])
    assert {entry.model for entry in of_table} == {"ESN", "SCR", "Structured RC", "ParalESN"}


def test_tables_of_a_report_are_made_once(echo, tmp_path, monkeypatch):
    reproduce.reproduce(["echo"], None, tmp_path)
    findings = build.gather(stored.load([tmp_path]))
    first = findings.tables("echo")
    monkeypatch.setattr(Echo, "tables", None)
    assert findings.tables("echo") is first
    assert findings.tables("nonsense") == []


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_added_protocol_is_run_tabulated_and_reported(echo, tmp_path, jobs):
    done = reproduce.reproduce(["echo"], None, tmp_path, jobs=jobs)
    means = {row: cell.mean for (_, row), cell in done.cells.items()}
    assert means == {
        Row("ESN"): 1.0, Row("ESN", "paper"): 11.0, Row("SCR"): 1.0, Row("SCR", "paper"): 11.0,
    }  # fmt: skip
    assert [path.name for path in done.written] == [
        "records.jsonl", "echo.json", "echo.csv", "echo.tex", "echo.md",
    ]  # fmt: skip
    again = selection.table_cells(stored.load([tmp_path]).runs)
    assert again == done.cells
    sections = build.sections(build.gather(stored.load([tmp_path])))
    (section,) = (section for section in sections if section.key == "echo")
    assert section.content[0].caption == "Echoes"
    assert [row["mean"] for row in section.data] == [1.0, 11.0, 1.0, 11.0]


def test_an_added_protocol_is_known_to_the_command_line(echo, tmp_path):
    call = ["reproduce", "ring", "--models", "SCR", "--jobs", "1", "--out", str(tmp_path), "--json"]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert [(row["model"], row["mean"]) for row in data["echo"]] == [("SCR", 1.0), ("SCR", 11.0)]
    assert "Echoes" in done.stderr


def test_a_model_row_is_the_best_space_and_the_papers_its_own():
    protocol = protocols.of_kind("regression")
    losses = {"paper": 0.3, "extended": 0.2}
    rows = selection.rows(protocol, "ESN", dict.fromkeys(losses, None) | losses, lambda loss: loss)
    assert rows == {Row("ESN"): 0.2, Row("ESN", "paper"): 0.3}
    only = selection.rows(protocols.of_kind("trained"), "S4", {"paper": 0.3}, lambda loss: loss)
    assert only == {Row("S4"): 0.3}
    assert selection.rows(protocol, "ESN", {}, np.mean) == {}
    assert Row("ESN", "paper").label == "ESN [paper space]"

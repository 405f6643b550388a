"""The page where nothing or little was run: sections from records that come with the package."""

import json
from copy import deepcopy

import numpy as np
import pytest
from typer.testing import CliRunner

import stored_records as made
from paralesn.cli import app
from paralesn.paper import repetition, shipped_records
from paralesn.paper.results import Row
from paralesn.report import build, stored
from paralesn.report.sections import run_again

# Sections that each shipped file must fill.
SECTIONS_OF = {
    "regression": ("overview", "comparison", "regression", "variants", "times", "configurations"),
    "earlier": ("earlier",),
    "classification": ("classification",),
    "mnist": ("mnist",),
    "small-mnist": ("small-mnist",),
    "ucr": ("ucr",),
    "long-term": ("long-term",),
    "lra": ("lra",),
    "race": ("race",),
    "complexity": ("scaling",),
    "universality": ("universality",),
    "sensitivity": ("sensitivity",),
}


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A folder without records or data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PARALESN_DATA", raising=False)
    return tmp_path


def _sections(paths=None):
    findings = build.gather(stored.load(paths, fill=True))
    return {section.key: section for section in build.sections(findings)}


def _notes(section):
    texts = [element.text for element in section.content if element.macro == "note"]
    return [text for text in texts if "As run by us" in text]


def test_a_fresh_clone_shows_every_section_and_whose_it_is(clone):
    sections = _sections()
    names = [name.removesuffix(".jsonl") for name in shipped_records.shipped().files]
    expected = {key for name in names for key in SECTIONS_OF.get(name, ())}
    assert {"regression", "ucr", "universality"} <= expected
    assert not {key for key in expected if sections[key].missing}
    assert "again" not in sections  # nothing was run here
    for key in expected:
        (note,) = _notes(sections[key])
        assert note.startswith("As run by us, not on this machine: ")
        assert "paralesn 0." in note
        assert " cores" in note


def test_the_command_on_a_fresh_clone_writes_the_page(clone):
    done = CliRunner().invoke(app, ["report", "--json"])
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["shipped"]["regression"] > 100
    page = (clone / "report" / "index.html").read_text(encoding="utf-8")
    assert "none of them run here" in page
    assert "*</span>" not in page  # where all are shipped, none is marked
    none = CliRunner().invoke(app, ["report", "--fresh-only"])
    assert none.exit_code == 3
    assert "there are no records in results" in none.output


def test_damage_is_an_error_in_one_line(clone, monkeypatch):
    (clone / "regression.jsonl").write_text('{"kind": "regression"}\n')
    monkeypatch.setattr(stored, "shipped", lambda: shipped_records.read(clone))
    done = CliRunner().invoke(app, ["report"])
    assert done.exit_code == 3
    assert len(done.output.strip().splitlines()) == 1
    assert "regression.jsonl, line 1 is without task" in done.output


def test_sections_say_what_they_are_made_of(clone):
    """Else they could not say that they rest on shipped records."""
    made.write_all(clone)
    findings = build.gather(stored.load(fill=True))
    for section in build.sections(findings):
        if not section.missing and section.key not in ("surroundings", "again"):
            assert section.records, section.key


# -- some of one's own -----------------------------------------------------------------------------


def _mine(change=None):
    """The shipped runs of three cells, as if they had been done here, after a change."""
    cells = (("mg", "ESN"), ("mg", "ParalESN"), ("narma10", "ParalESN"))
    runs = [
        {name: deepcopy(value) for name, value in run.items() if name != "shipped"}
        for run in shipped_records.shipped().runs
        if run["kind"] == "regression" and (run["task"], run["model"]) in cells
    ]
    for run in runs if change else ():
        change(run)
    return runs


def test_ones_own_come_first_and_all_others_are_marked(clone):
    def halve(run):
        run["metrics"]["nrmse"] /= 2

    made.write(clone / "results", _mine(halve))
    findings = build.gather(stored.load(fill=True))
    ours = {run["seed"]: run for run in shipped_records.shipped().runs
            if (run["kind"], run["task"], run["model"]) == ("regression", "mg", "ESN")}  # fmt: skip
    cell = findings.cells["mg", Row("ESN")]
    assert not cell.shipped
    assert cell.seeds == len(ours)
    assert findings.cells["mg", Row("SCR")].shipped
    (forecasting,) = (t for t in findings.tables("regression") if t.name == "rows-forecasting")
    marks = {
        (entry.cell.task.name, entry.cell.row.model): entry.mark
        for line in forecasting.lines for entry in line.entries if entry.cell
    }  # fmt: skip
    assert {key for key, mark in marks.items() if not mark} == {
        ("mg", "ESN"), ("mg", "ParalESN"), ("narma10", "ParalESN"),
    }  # fmt: skip
    sections = {section.key: section for section in build.sections(findings)}
    (note,) = _notes(sections["regression"])
    assert note.startswith("* As run by us, ")
    (ucr,) = _notes(sections["ucr"])
    assert ucr.startswith("As run by us, not on this machine")
    own = stored.load()
    assert not any(run.get("shipped") for run in own.runs)


def test_a_race_of_ones_own_is_not_mixed_with_a_shipped_one(clone, monkeypatch):
    theirs = [run | {"settings": run["settings"] | {"seconds": 600.0}} for run in made.race()]
    ours = shipped_records.Shipped([run | {"shipped": True} for run in theirs], [], ["race.jsonl"])
    monkeypatch.setattr(stored, "shipped", lambda: ours)
    made.write(clone / "race", made.race()[:1], "race.jsonl")
    held = stored.load(fill=True)
    assert held.of_kind("race") == made.race()[:1]


# -- run again -------------------------------------------------------------------------------------


def _again(clone, change=None):
    made.write(clone / "results", _mine(change))
    return _sections()["again"]


def test_runs_that_are_equal_to_the_bit_are_said_to_be(clone):
    section = _again(clone)
    runs = len(_mine())
    assert section.data["equal"] == section.data["pairs"] == runs
    assert f"All {runs:,} runs give the same figure to the bit, with the same versions." in (
        section.lead
    )
    (table,) = section.content
    names = {(row[0].split(" x ")[0], row[1]) for row in table.rows}
    assert {("MG", "ESN"), ("MG", "ParalESN"), ("N10", "ParalESN")} <= names
    assert all(row[5] == "0 %" for row in table.rows)


def test_the_last_bit_and_the_largest_difference_are_seen(clone):
    def change(run):
        value = run["metrics"]["nrmse"]
        if run["task"] == "narma10":
            run["metrics"]["nrmse"] = value * 1.5
        elif run["model"] == "ESN" and run["seed"] == 3:
            run["metrics"]["nrmse"] = float(np.nextafter(value, 1))
        run["versions"] = run["versions"] | {"numpy": "0.0.1"}

    section = _again(clone, change)
    other = [r for r in _mine() if r["task"] == "narma10"]
    third = [r for r in _mine() if r["model"] == "ESN" and r["seed"] == 3]
    equal = len(_mine()) - len(other) - len(third)
    assert section.data["equal"] == equal
    said = (
        f"{equal:,} of {len(_mine()):,} runs give the same figure to the bit, with other versions"
    )
    assert said in section.lead
    assert "The largest difference is that of ParalESN" in section.lead
    assert "on N10" in section.lead
    assert "+50 %" in section.lead
    assert section.data["largest"]["difference"] == pytest.approx(0.5)


def test_another_configuration_is_not_compared(clone):
    def change(run):
        run["configuration"] = run["configuration"] | {"tau": 0.4242}

    section = _again(clone, change)
    assert section.data["pairs"] == 0
    assert "None has a configuration and a seed in common with it." in section.lead
    assert {row[5] for row in section.content[0].rows} == {"other configuration"}


def test_fewer_seeds_are_compared_with_the_same_of_the_package():
    mine = [run for run in _mine() if run["seed"] < 2 and run["task"] == "narma10"]
    findings = build.gather(stored.Stored(mine))
    for each in repetition.repetitions(findings.runs, findings.cells):
        assert (each.pairs, each.equal, each.difference) == (2, 2, 0.0)
        assert each.ours.seeds > each.here.seeds == 2
    said = run_again.verdict(repetition.repetitions(findings.runs, findings.cells))
    assert "All " in said

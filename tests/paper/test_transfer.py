"""FaultDetectionA from its file to the table: what was chosen for other tasks is judged, and runs.

The file is a small one of the same kind: a channel, three classes that differ in spectrum.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter
from typer.testing import CliRunner

from paralesn.cli import app
from paralesn.datasets.archives import ucr
from paralesn.paper import catalogue, configurations, protocols, reproduce, runs, selection
from paralesn.paper.protocols import classification, transfer
from paralesn.paper.results import Row, notes

TASK = "faultdetectiona"
PROTOCOL = protocols.of_kind("classification")
HEADER = """@problemName FaultDetectionA
@timeStamps false
@univariate true
@equalLength true
@seriesLength 120
@classLabel true 0 1 2
@data
"""


def written(path, rng, cases):
    """Noise through a resonance of its class, as the archive writes series; what was written."""
    lines, made = [], []
    for case in range(cases):
        label = case % 3
        poles = [1.0, -1.8 * np.cos((0.3, 0.9, 1.8)[label]), 0.81]
        made.append(lfilter([1.0], poles, rng.normal(size=320))[200:])
        lines.append(",".join(f"{v:.17g}" for v in made[-1].tolist()) + f":{label}\n")
    path.write_text(HEADER + "".join(lines))
    return np.array(made)


@pytest.fixture
def home(tmp_path, monkeypatch, rng):
    """The two files, and reservoirs of 24 units that read them."""
    folder = tmp_path / "data" / "FaultDetectionA"
    folder.mkdir(parents=True)
    written(folder / "FaultDetectionA_TRAIN.ts", rng, 120)
    written(folder / "FaultDetectionA_TEST.ts", rng, 60)
    monkeypatch.setenv("PARALESN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PARALESN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(ucr, "SIZES", {"FaultDetectionA": ucr.Size(120, 60, 120, 1, 3)})
    few = {name: replace(task, units=24) for name, task in catalogue.tasks().items()}
    monkeypatch.setattr(classification, "tasks", lambda: few)
    monkeypatch.setattr(
        classification,
        "tasks_of",
        lambda group: {name: task for name, task in few.items() if task.group == group},
    )
    classification.data.cache_clear()
    yield tmp_path
    classification.data.cache_clear()


def test_candidates_are_those_of_other_tasks_once_each():
    for model in catalogue.MAIN:
        found = transfer.candidates(classification.FILE, TASK, model, "extended")
        assert {one.task for one in found} <= {"forda", "fordb", "starlightcurves", "blink"}
        texts = [json.dumps(one.configuration) for one in found]
        assert len(set(texts)) == len(texts) >= 2
        for one in found:
            assert one == configurations.shipped(one.task, model, "extended")
    assert PROTOCOL.transfers("forda", "ESN", "extended") == []


def test_one_command_fills_the_four_cells(home, monkeypatch):
    call = ["reproduce", TASK, "--seeds", "1", "--jobs", "1", "--out", str(home / "out")]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    rows = json.loads((home / "out" / "results.json").read_text())
    assert [row["model"] for row in rows if not row["held_to"]] == list(catalogue.MAIN)
    assert {row["seeds"] for row in rows} == {1}
    best = max(row["mean"] for row in rows)
    assert best > 0.9  # chance is a third
    assert "Configurations searched for another task" in " ".join(done.output.split())
    assert "Left out" not in done.output
    known = runs.known(home / "out" / "records.jsonl").values()
    trials = [run for run in known if run["kind"] == classification._TRANSFER]
    for run in known:
        if run["kind"] == PROTOCOL.name:
            same = [
                one
                for one in trials
                if (one["model"], one["space"]) == (run["model"], run["space"])
            ]
            assert run["validation"] == max(one["validation"] for one in same)
            own = configurations.shipped(run["transferred"], run["model"], run["space"])
            assert run["configuration"] == own.configuration
    cells = selection.table_cells(known)
    assert any("FaultDetectionA that of" in text for text in notes(cells.values()))
    monkeypatch.setattr(runs, "carry_out", lambda *_: pytest.fail("run again"))
    again = CliRunner().invoke(app, call)
    assert again.exit_code == 0, again.output


def test_dense_networks_wait_for_their_name_or_that_of_the_task(home, monkeypatch):
    done = []

    def carry_out(run, *_):
        done.append(run["model"])
        raise ZeroDivisionError  # far enough

    monkeypatch.setattr(runs, "carry_out", carry_out)
    models = ["ESN"]
    found = reproduce.reproduce(["archives"], models, home / "out", slow=False, seeds=1)
    lacking = {absent.key: absent.lacks for absent in found.absent}
    assert lacking[f"{TASK}, ESN"] == "record"
    assert done == []
    for what, slow in (([TASK.upper()], False), (["archives"], True)):
        with pytest.raises(ZeroDivisionError):
            reproduce.reproduce(what, models, home / "out", slow=slow, seeds=1)
    assert done == ["ESN", "ESN"]


def test_the_best_of_all_trials_is_chosen_and_a_failure_is_not():
    given = transfer.candidates(classification.FILE, TASK, "ParalESN", "extended")
    wanted = transfer.trials("a kind", TASK, given)

    def validate(task, model, configuration, penalties, seed):
        if configuration == given[0].configuration:
            raise ValueError("states without variance")
        score = 0.5 + 0.1 * (configuration == given[2].configuration)
        return np.where(np.arange(len(penalties)) == 3, score, 0.4)

    known = [run | transfer.judge(run, validate) for run in wanted]
    assert transfer.chosen(wanted, known[1:]) is None  # one is not judged yet
    best = transfer.chosen(wanted, known)
    assert (best.task, best.transferred) == (TASK, given[2].task)
    assert best.configuration == given[2].configuration
    assert best.validation == pytest.approx(0.6)
    assert best.trials == len(given)
    assert known[0]["validation"] == 0.0
    assert Row("ParalESN") in selection.rows(
        PROTOCOL, "ParalESN", {"extended": best}, lambda t: -t.validation
    )

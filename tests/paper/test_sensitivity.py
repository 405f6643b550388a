"""Sensitivity: random trials, what they explain, those that come with the package, the command."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare, kruskal
from typer.testing import CliRunner

from paralesn.cli import app
from paralesn.files import DamagedFileWarning
from paralesn.paper import bayesian, records, shipped_records
from paralesn.paper.bayesian import Study
from paralesn.paper.studies import random_trials, sensitivity_trials
from paralesn.paper.studies.published_sensitivity import claims, groups
from paralesn.paper.studies.sensitivity import as_record, effects
from paralesn.paper.studies.sensitivity_report import shares, title, verdicts
from paralesn.paper.studies.sensitivity_trials import Trials
from paralesn.report.elements import Findings
from paralesn.report.sections import hyperparameters
from paralesn.report.stored import Stored

SHALLOW = Study("narma10", "ParalESN", "paper")
DEEP = Study("narma10", "ParalESN (deep)", "paper")


@pytest.fixture
def easy(monkeypatch):
    """A loss that grows with tau, the seed and the penalty; counts evaluations."""
    seen = []

    def losses(task, model, configuration, penalties, seed):
        seen.append((json.dumps(configuration), seed))
        return configuration["tau"] + 0.01 * (seed - bayesian.FIRST_SEED) + np.array(penalties)

    monkeypatch.setattr(bayesian, "losses", losses)
    return seen


# -- random trials ---------------------------------------------------------------------------------


def test_every_valid_configuration_is_as_likely():
    drawn = [one["configuration"] for one in random_trials.plan(SHALLOW, 3000, seed=1)]
    for name, valid in (("rho", 9), ("theta", 9)):
        pairs, counts = np.unique([one[name] for one in drawn], axis=0, return_counts=True)
        assert len(pairs) == valid
        assert (pairs[:, 0] <= pairs[:, 1]).all()
        assert chisquare(counts).pvalue > 1e-4
    for name, values in (("tau", 4), ("bias_scale", 5), ("mix_scale", 4), ("mix_size", 4)):
        found, counts = np.unique([one[name] for one in drawn], return_counts=True)
        assert len(found) == values
        assert chisquare(counts).pvalue > 1e-4


def test_a_trial_is_fixed_by_the_seed_and_its_number():
    few, more = (random_trials.plan(DEEP, number, seed=0) for number in (5, 40))
    assert more[:5] == few
    assert random_trials.plan(DEEP, 5, seed=1) != few
    assert {"layers", "concat", "inter"} <= set(few[0]["configuration"])
    assert len({json.dumps(one["configuration"]) for one in more}) == 40


def test_ranges_are_drawn_within_their_limits():
    extended = Study("narma10", "ParalESN", "extended")
    drawn = [one["configuration"] for one in random_trials.plan(extended, 200, seed=0)]
    low, high = np.transpose([one["rho"] for one in drawn])
    assert (low >= 0).all()
    assert (low <= high).all()
    assert (high < 1).all()
    assert len(set(high)) == 200


def test_each_is_judged_by_all_seeds_and_done_once(easy, tmp_path):
    path, told = tmp_path / "trials.jsonl", []
    first = random_trials.run(SHALLOW, 5, 0, path, 1)
    assert len(easy) == 5 * 3
    assert {seed for _, seed in easy} == {1000, 1001, 1002}
    for one in first:
        assert one["alpha"] == 0
        assert one["validation"] == pytest.approx(one["configuration"]["tau"] + 0.01)
        assert one["versions"]["numpy"] == np.__version__
    every = random_trials.run(SHALLOW, 12, 0, path, 1, lambda: told.append(1))
    assert every[:5] == first
    assert (len(easy), len(told)) == (12 * 3, 12)
    random_trials.run(SHALLOW, 3, 1, path, 1)
    assert random_trials.known(path, SHALLOW, 0) == every
    assert len(random_trials.known(path, SHALLOW, 1)) == 3
    assert random_trials.known(path, DEEP, 0) == []


def test_a_damaged_trial_is_done_again(easy, tmp_path):
    path = tmp_path / "trials.jsonl"
    first, _ = random_trials.run(SHALLOW, 2, 0, path, 1)
    records.append(path, first | {"trial": 2, "validation": "small"})
    with pytest.warns(DamagedFileWarning, match="line 3 has 'small' for validation"):
        random_trials.run(SHALLOW, 3, 0, path, 1)
    assert len(easy) == 3 * 3


@pytest.mark.slow
def test_two_processes_give_the_same_numbers(tmp_path):
    study = Study("sinmem10", "ParalESN", "paper")
    one, two = (
        [run["validation"] for run in random_trials.run(study, 4, 0, tmp_path / name, jobs)]
        for name, jobs in (("one.jsonl", 1), ("two.jsonl", 2))
    )
    assert one == two


# -- what they explain -----------------------------------------------------------------------------


@pytest.fixture
def trials(rng):
    """Two hundred trials, whose metric depends on tau much, and on both ends of rho together."""
    low, high = rng.integers(0, 2, (2, 200)) / 2
    columns = {
        "rho min": low.tolist(),
        "rho max": (high + 1).tolist(),
        "tau": rng.choice([0.1, 0.5, 1.0], 200).tolist(),
        "mix_size": rng.choice([3, 5, 7], 200).tolist(),
    }
    scores = np.array(columns["tau"]) + 0.5 * ((low > 0) == (high > 0)) + rng.uniform(0, 0.5, 200)
    return Trials(SHALLOW, "random", columns, scores, 3, {"versions": {}, "machine": {}})


def by_value(trials, *names):
    keys = list(zip(*(trials.columns[name] for name in names), strict=True))
    return [trials.scores[[key == one for key in keys]] for one in sorted(set(keys))]


def test_shares_are_those_of_the_test_of_kruskal_and_wallis(trials):
    measured = effects(trials)
    every = {(one.name,): one.explained for one in measured.effects}
    every["rho min", "rho max"] = measured.pairs["rho"]
    for names, explained in every.items():
        statistic, p = kruskal(*by_value(trials, *names))
        assert explained.share == pytest.approx(statistic / 199)
        assert explained.p == pytest.approx(p)
    assert measured.effects[0].name == "tau"
    assert measured.pairs["rho"].share > 0.1
    assert measured.pairs["rho"].chance == pytest.approx(3 / 199)


def test_a_record_sums_up_the_trials(trials):
    record = as_record(effects(trials))
    assert (record["trials"], record["seeds"], record["shipped"]) == (200, 3, False)
    (tau,) = (one for one in record["effects"] if one["name"] == "tau")
    for value, scores in zip(tau["values"], by_value(trials, "tau"), strict=True):
        assert value["trials"] == len(scores)
        assert value["best"] == scores.min()
        assert value["quartiles"] == pytest.approx(np.percentile(scores, (25, 50, 75)))
    assert json.loads(json.dumps(record)) == record


def test_the_papers_claims_stand_beside_the_places(trials):
    record = as_record(effects(trials))
    most, least = claims(record)
    assert (most.says, most.found, most.of) == ("most", {"rho": 2}, 3)
    assert least.found == {"mix_size": 3}
    assert verdicts(record)[1].startswith("The paper: mix_size matters least. Of 3: mix_size in")
    columns, rows = shares(record)
    assert [row[0].strip() for row in rows] == ["tau", "rho", "rho min", "rho max", "mix_size"]
    assert [row[-1] for row in rows] == ["", "most", "", "", "least"]
    assert claims(record | {"task": "mg"}) == []
    assert shares(record | {"task": "mg"})[0] == columns[:-1]


def test_chance_does_not_put_a_pair_before_what_has_an_effect():
    record = {
        "task": "narma10", "model": "ParalESN", "effects": [
            {"name": "rho min", "share": 0.0, "chance": 0.01}, {"name": "mix_size", "share": 0.04,
            "chance": 0.01}, {"name": "rho max", "share": 0.0, "chance": 0.01},
        ], "pairs": [{"name": "rho", "share": 0.05, "chance": 0.05}],
    }  # fmt: skip
    assert [claim.found for claim in claims(record)] == [{"rho": 2}, {"mix_size": 1}]


def test_continuous_values_are_put_in_bins_without_losing_any(trials, rng):
    columns = {"tau": (1 - 10 ** rng.uniform(-4, -0.05, 200)).tolist()}
    (effect,) = effects(Trials(SHALLOW, "random", columns, trials.scores, 3, {})).effects
    assert len(effect.scores) == 6
    assert sum(map(len, effect.scores)) == 200


def test_panels_are_those_of_the_paper():
    found = groups(["inter tau", "mix_size", "layers", "tau", "rho max", "rho min", "else"])
    assert list(found.values()) == [
        ["layers"], ["rho min", "rho max", "tau", "inter tau"], ["mix_size"], ["else"],
    ]  # fmt: skip


def test_the_picture_has_a_panel_for_each(trials):
    pytest.importorskip("matplotlib")
    from paralesn.paper.studies.sensitivity_plot import figure

    titles = [axes.get_title() for axes in figure(effects(trials)).axes]
    assert [title.split(" (")[0] for title in titles] == ["rho min", "rho max", "tau", "mix_size"]


# -- trials of the package -------------------------------------------------------------------------


def test_condensed_trials_are_the_same_when_they_are_read(trials, tmp_path, monkeypatch):
    path = tmp_path / "trials.jsonl"
    other = Trials(DEEP, "random", {"tau": [0.1] * 200}, trials.scores, 3, trials.surroundings)
    for each in (trials, other, trials):
        sensitivity_trials.export(each, path)
    lines = records.read(path, sensitivity_trials.problem)
    assert [line["model"] for line in lines] == [DEEP.model, SHALLOW.model]
    read = sensitivity_trials.expanded(lines[1])
    assert read.columns == trials.columns
    assert read.scores == pytest.approx(trials.scores, rel=1e-5)
    assert read.is_shipped
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"file of condensed trials, line 1 is not JSON"):
        sensitivity_trials.export(trials, tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"
    spoiled = json.loads(path.read_text().splitlines()[0])
    spoiled["columns"]["tau"]["drawn"][0] = 1
    path.write_text(json.dumps(spoiled))
    with pytest.warns(DamagedFileWarning, match="no value of tau for each of 200 trials"):
        assert records.read(path, sensitivity_trials.problem) == []
    with pytest.raises(ValueError, match="no value of tau"):
        sensitivity_trials.expanded(spoiled)


@pytest.mark.parametrize("study", [SHALLOW, DEEP])
def test_shipped_trials_are_those_that_the_command_does(study):
    shipped = sensitivity_trials.of_package(study)
    assert len(shipped.scores) >= 300
    planned = random_trials.plan(study, len(shipped.scores), seed=0)
    drawn = sensitivity_trials._columns([one["configuration"] for one in planned])
    assert shipped.columns == drawn
    # One of a low error: where states are nearly collinear and there is no penalty, as in the deep
    # model's trial 3, rounding by another kind of processor changes the third digit.
    again = random_trials.judge(planned[8])
    assert again["validation"] == pytest.approx(shipped.scores[8], rel=1e-4)


def test_the_page_has_the_shares_that_are_printed():
    page = Path(__file__).parents[2] / "docs" / "paper.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    for study in (SHALLOW, DEEP):
        record = as_record(effects(sensitivity_trials.of_package(study)))
        first = lines.index(f"**{title(record)}**") + 2
        columns, rows = shares(record)
        printed = ["| " + " | ".join(cell.strip() for cell in row) + " |" for row in rows]
        assert lines[first] == f"| {' | '.join(columns)} |"
        assert lines[first + 2 : first + 2 + len(rows)] == printed


def test_trials_of_ones_own_come_first(easy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sensitivity_trials.on_record(SHALLOW, tmp_path, 0, "studies").is_shipped
    path = random_trials.file_of(SHALLOW, tmp_path)
    random_trials.run(SHALLOW, 9, 0, path, 1)
    assert sensitivity_trials.on_record(SHALLOW, tmp_path, 0, "studies").is_shipped  # too few
    random_trials.run(SHALLOW, 10, 0, path, 1)
    own = sensitivity_trials.on_record(SHALLOW, tmp_path, 0, "studies")
    assert (own.is_shipped, len(own.scores)) == (False, 10)
    unknown = Study("mg", "SCR", "paper")
    with pytest.raises(sensitivity_trials.TooFewTrialsError, match="at least 10 trials of mg, SCR"):
        sensitivity_trials.on_record(unknown, tmp_path, 0, "studies")


def test_the_report_shows_them_unless_there_are_others():
    assert hyperparameters.section(Findings(Stored())).missing
    every = shipped_records.shipped().experiments
    fresh = hyperparameters.section(Findings(Stored(experiments=every)))
    assert [(one["model"], one["shipped"]) for one in fresh.data] == [
        ("ParalESN", True), ("ParalESN (deep)", True),
    ]  # fmt: skip
    (figure, *_) = fresh.content
    assert fresh.records == fresh.data
    assert figure.svg.count("<h5>") == 9
    own = {**fresh.data[0], "shipped": False, "trials": 12}
    mixed = hyperparameters.section(Findings(Stored(experiments=[own, *every])))
    assert [(one["trials"], one["shipped"]) for one in mixed.data] == [
        (12, False), (fresh.data[1]["trials"], True),
    ]  # fmt: skip


# -- the command -----------------------------------------------------------------------------------


def call(*words, code=0):
    done = CliRunner().invoke(app, ["sensitivity", *words])
    assert done.exit_code == code, done.output
    return done


def test_the_command_shows_shipped_trials_and_then_own_ones(easy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call("narma10", "--json")
    record = json.loads(done.stdout)
    assert record["shipped"]
    assert "come with the package, done with" in done.stderr
    assert "The paper: mix_size matters least." in done.stderr
    name = "sensitivity/narma10-ParalESN-paper-random.json"
    assert json.loads((tmp_path / name).read_text()) == record
    random = ("narma10", "--random", "12", "--jobs", "1", "--export", "kept.jsonl")
    own = json.loads(call(*random, "--json").stdout)
    assert (own["shipped"], own["trials"], own["effects"][0]["name"]) == (False, 12, "tau")
    assert json.loads(call("narma10", "--json").stdout) == own
    assert len(easy) == 12 * 3
    (line,) = records.read(tmp_path / "kept.jsonl", sensitivity_trials.problem)
    assert len(line["validation"]) == 12


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["narma10", "--random", "12", "--studies", "studies"], "does not go with --studies"),
        (["narma10", "--random", "9"], "--random"),
        (["narma10", "--model", "LSTM"], "no protocol runs LSTM on narma10"),
        (["mg"], "--random 1000"),
        (["narma10", "--out", "absent/folder"], "the folder absent does not exist"),
    ],
)
def test_what_cannot_be_shown_is_refused(words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call(*words, code=2)
    assert told in " ".join(done.output.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []

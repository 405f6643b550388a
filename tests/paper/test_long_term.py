"""Long-term forecasts: the protocol, by a second computation, and runs on record."""

import numpy as np
import pytest

from paralesn.datasets.archives.ett import Rows
from paralesn.paper import protocols, records, reproduce, runs, search
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocols import long_term as longterm
from paralesn.paper.protocols import long_term_corrections, long_term_search
from paralesn.readouts.ridge import Ridge

PROTOCOL = protocols.of_kind("long-term")
CONFIGURATION = {"units": 8, "rho": [0.8, 0.99], "theta": [0.0, 1.0], "phases": "even"}
RUN = {"task": "etth1", "configuration": CONFIGURATION, "seed": 3, "alpha": 0.1}


@pytest.fixture
def small(monkeypatch, rng):
    """A dataset of three hundred rows, and a horizon of six."""
    t = np.arange(300)[:, None]
    table = np.sin(t / np.array([9.0, 5.0])) + 0.1 * rng.normal(size=(300, 2))
    data = Rows(*np.split(table, [180, 240]), np.zeros(2), np.ones(2), "small.csv")
    monkeypatch.setattr(longterm, "load_ett_rows", lambda name: data)
    monkeypatch.setattr(longterm, "HORIZON", 6)
    monkeypatch.setattr(longterm, "_WASHOUT", 10)
    return data


def tuned(task, alpha):
    """A configuration as chosen by a search."""
    return Tuned(task, longterm.MODEL, "extended", CONFIGURATION, alpha, 0.5, 18, 0.0, 3)


def test_errors_are_those_of_every_forecast_of_the_split(small):
    model = longterm.forecaster(RUN, [0.1]).fit(small.train)
    everything = np.concatenate([small.train, small.validation, small.test])
    off = []
    for origin in range(239, 294):  # the newest row known; six follow in the test split
        again = longterm.forecaster(RUN, [0.1]).fit(small.train)
        forecast = again.update(everything[180 : origin + 1]).forecast()
        off.append(forecast - everything[origin + 1 : origin + 7])
    off = np.array(off)
    seen = np.concatenate([small.train, small.validation])
    found = long_term_corrections.errors(model, seen, small.test, None)
    assert found["mse"] == pytest.approx((off**2).mean(), rel=1e-9)
    assert found["mae"] == pytest.approx(np.abs(off).mean(), rel=1e-9)
    assert longterm.measure(RUN)["metrics"] == found  # the training split is all it learns from


def states_and_targets(model, rows, series):
    """What a correction of a series learns from, step by step."""
    steps = range(10, len(rows) - 6)
    inputs = np.diff(rows[:, series], prepend=rows[0, series])
    z = model.reservoir_.run(inputs)[0]
    wanted = [rows[t + 1 : t + 7, series] - rows[t, series] for t in steps]
    return z[list(steps)], np.array(wanted)


def test_a_correction_learns_what_the_shared_readout_leaves_of_its_series(small):
    model = longterm.forecaster(RUN, [0.1]).fit(small.train)
    corrected = long_term_corrections.corrections(model, small.train, [3.0])
    for series, own in enumerate(corrected):
        z, wanted = states_and_targets(model, small.train, series)
        expected = Ridge([3.0]).fit(z, wanted - model.readout_.predict(z))
        np.testing.assert_allclose(own.coef_, expected.coef_, atol=1e-12)


def test_corrections_are_judged_by_new_rows(small):
    model = longterm.forecaster(RUN, [0.1]).fit(small.train)
    penalties = [1.0, 1e12]
    seen, new = small.train, small.validation
    scores = long_term_corrections.validation_scores(model, seen, new, penalties)
    corrected = long_term_corrections.corrections(model, seen, penalties[:1])
    squares, wanted = 0.0, []
    for series, own in enumerate(corrected):
        z, targets = states_and_targets(model, np.concatenate([seen, new]), series)
        z, targets = z[len(seen) - 11 :], targets[len(seen) - 11 :]
        squares += ((targets - model.readout_.predict(z) - own.predict(z)) ** 2).sum(axis=0)
        wanted.append(targets)
    wanted = np.concatenate(wanted)
    expected = (squares / len(wanted) / wanted.var(axis=0)).mean()
    assert scores[1] == pytest.approx(expected, rel=1e-9)
    # Besides the mean of what is left, a large penalty changes nothing.
    assert scores[2] == pytest.approx(scores[0], rel=0.02)
    assert scores[1] != pytest.approx(scores[0], rel=0.02)


def test_a_configuration_with_corrections_is_measured_with_them(small):
    run = RUN | {"configuration": CONFIGURATION | {"correction": 3.0}}
    model = longterm.forecaster(RUN, [0.1]).fit(small.train)
    corrected = long_term_corrections.corrections(model, small.train, [3.0])
    seen = np.concatenate([small.train, small.validation])
    expected = long_term_corrections.errors(model, seen, small.test, corrected)
    assert longterm.measure(run)["metrics"] == expected
    assert expected != longterm.measure(RUN)["metrics"]


def test_validation_chooses_the_penalty(small):
    run = long_term_search.first_trials("etth1")[0] | {"configuration": CONFIGURATION}
    found = longterm.validate(run)
    assert found["chosen"] in (1, 10, 100, 1e3, 1e4, 1e5)
    assert 0 < found["validation"] < 1  # better than the mean
    found = longterm.validate(run | {"alpha": found["chosen"]})
    assert found["chosen"] in (100, 1e3, 1e4, 1e5, 1e6)
    assert 0 < found["validation"] < 1


def trial(units, validation, chosen, seed=1000, alpha=None, **more):
    return {
        "task": "etth1", "configuration": {"units": units}, "validation": validation,
        "chosen": chosen, "seed": seed, "alpha": alpha, **more,
    }  # fmt: skip


def test_the_best_are_judged_again_and_the_best_mean_is_chosen():
    first = [trial(units, 0.1 * units, 1.0) for units in range(1, 8)]
    again = long_term_search.finals(first)
    units = [(run["configuration"]["units"], run["seed"]) for run in again]
    assert units == [(n, seed) for n in (1, 2, 3, 4) for seed in (1001, 1002)]
    more = [trial(n, 0.9 if n == 1 else 0.1 * n, 100.0, seed) for n, seed in units]
    chosen = long_term_search.choose(first + more)["etth1"]
    assert chosen.configuration == {"units": 2}
    assert chosen.validation == pytest.approx(0.2)
    assert chosen.alpha == pytest.approx(100 ** (2 / 3), rel=1e-2)
    assert (chosen.trials, chosen.seeds) == (7, 3)
    judged = long_term_search.corrected_trials(chosen)
    assert [(run["configuration"], run["alpha"], run["seed"]) for run in judged] == [
        ({"units": 2}, chosen.alpha, seed) for seed in (1000, 1001, 1002)
    ]
    corrected = [
        trial(2, 0.19, penalty, 1000 + i, chosen.alpha, shared=shared)
        for i, (penalty, shared) in enumerate([(100.0, 0.2), (100.0, 0.18), (1e5, 0.22)])
    ]
    better = long_term_search.choose([*first, *more, *corrected])["etth1"]
    assert better.configuration == {"units": 2, "correction": 1000.0}
    assert better.validation == pytest.approx(0.19)
    worse = [run | {"shared": 0.19} for run in corrected]
    assert long_term_search.choose([*first, *more, *worse])["etth1"] == chosen


def test_runs_on_record_are_not_repeated_and_tables_come_from_them(small, tmp_path, monkeypatch):
    monkeypatch.setattr(PROTOCOL, "shipped", lambda task, model, space: tuned(task, 1.0))
    monkeypatch.setattr(longterm, "SETS", ("etth1", "etth2"))
    monkeypatch.setattr(PROTOCOL, "missing", lambda task: None)
    done = reproduce.reproduce(["long-term"], None, tmp_path, seeds=2)
    assert [path.name for path in done.written[:2]] == ["records.jsonl", "long-term.json"]
    first = done.data()["long_term"]
    monkeypatch.setattr(runs, "carry_out", lambda *_: pytest.fail("run again"))
    again = reproduce.reproduce(["long-term"], None, tmp_path, seeds=2)
    assert again.data()["long_term"] == first
    values = [
        one["metrics"]["mse"] for one in records.read(done.written[0]) if one["task"] == "etth1"
    ]
    assert len(values) == 2
    assert first[0]["mean"] == pytest.approx(np.mean(values))
    assert first[0]["std"] == pytest.approx(np.std(values))
    assert first[0]["published"]["DLinear"] == 0.405
    (table,) = done.tables
    assert [line.name for line in table.lines] == ["ETTh1", "ETTh2"]


def test_every_set_has_a_configuration_of_the_space():
    for name in longterm.SETS:
        configurations = [trial["configuration"] for trial in long_term_search.first_trials(name)]
        found = dict(PROTOCOL.shipped(name, longterm.MODEL, "extended").configuration)
        assert found.pop("correction", 1e3) > 0
        assert found in configurations


def test_a_search_judges_finalists_and_is_used_once_it_is_complete(small, tmp_path, monkeypatch):
    monkeypatch.setattr(PROTOCOL, "missing", lambda task: None)
    judged = []

    def validate(run):
        judged.append((run["configuration"]["rho"], run["seed"]))
        return {"validation": run["configuration"]["rho"][0], "chosen": 10.0, "shared": 0.9}

    monkeypatch.setattr(longterm, "validate", validate)
    path = tmp_path / "records.jsonl"
    study = ("etth1", longterm.MODEL, "extended")
    search.search([study], "unused", search.Budget(), 1, records=path)
    assert len(judged) == 18 + 4 * 2 + 3
    search.search([study], "unused", search.Budget(), 1, records=path)
    assert len(judged) == 18 + 4 * 2 + 3  # nothing is judged again
    known = list(runs.known(path).values())
    assert PROTOCOL.choose("etth1", known).validation == 0.98
    assert PROTOCOL.choose("etth1", known[:-1]) is None

"""Tuning: reproducible, resumable, never worse than the model as it was given."""

import json

import numpy as np
import pytest

import paralesn as pe
from paralesn.files import DamagedFileWarning
from paralesn.workflows import trials as searching
from paralesn.workflows import tuning
from paralesn.workflows.budget import Limit, check_budget
from paralesn.workflows.trials import RandomProposals, Trial, importance_of


def noisy(n=160, m=8, seed=0):
    t, rng = np.arange(n), np.random.default_rng(seed)
    return 20 + 0.1 * t + 4 * np.sin(2 * np.pi * t / m) + rng.normal(size=n)


def outcome(result):
    return [(trial.number, trial.settings, trial.error, trial.note) for trial in result.trials]


@pytest.fixture(params=["optuna", "random"])
def proposed(request, monkeypatch):
    """Settings proposed by Optuna, and as if it were not installed."""
    if request.param == "optuna":
        pytest.importorskip("optuna")
    else:
        monkeypatch.setattr(searching, "find_spec", lambda name: None)
    return request.param


def test_trials_are_backtests_and_the_best_is_fitted_to_everything(proposed):
    y, model = noisy(), pe.ReservoirForecaster(horizon=4)
    result = pe.tune(model, y, budget=12, origins=5)
    assert not hasattr(model, "fitted_")
    assert len(result.trials) == 12
    judged = pe.backtest(model, y, origins=5)
    assert result.trials[0].error == result.default_error == judged.overall()
    assert result.best_error == min(trial.error for trial in result.trials) <= result.default_error
    smoothers = next(t for t in result.trials if t.settings["member"] == "smoothers")
    alone = pe.backtest(pe.SmootherBank(horizon=4), y, origins=5)
    assert smoothers.error == alone.overall()
    best = min(result.trials, key=lambda trial: trial.error)
    assert result.settings.items() <= best.settings.items()
    again = type(result.model)(**result.model.get_params(deep=False)).fit(y)
    np.testing.assert_array_equal(result.model.forecast(), again.forecast())


def test_errors_are_in_the_same_unit_whatever_the_season():
    y = noisy(120, 6)
    result = pe.tune(pe.SmootherBank(horizon=3, season=6), y, budget=4, origins=4)
    for trial in result.trials:
        season = trial.settings["season"]
        season = 6 if season == "as given" else [int(m) for m in season.split(",")]
        judged = pe.backtest(pe.SmootherBank(horizon=3, season=season), y, origins=4)
        first = judged.origins[0, 0]
        scale = np.abs(y[6:first] - y[: first - 6]).mean()
        assert trial.error == pytest.approx(judged.errors["model"]["mae"][0] / scale)


def test_the_same_seed_gives_the_same_trials(proposed):
    arguments = {"budget": 14, "origins": 3}
    first = pe.tune(pe.ReservoirForecaster(horizon=4), noisy(), **arguments)
    second = pe.tune(pe.ReservoirForecaster(horizon=4), noisy(), **arguments)
    other = pe.tune(pe.ReservoirForecaster(horizon=4), noisy(), seed=1, **arguments)
    assert outcome(first) == outcome(second)
    assert outcome(first) != outcome(other)


def test_a_search_in_two_parts_is_the_same_search(proposed, tmp_path):
    path, model = tmp_path / "trials.jsonl", pe.ReservoirForecaster(horizon=4)
    whole = pe.tune(model, noisy(), budget=15, origins=3)
    pe.tune(model, noisy(), budget=6, origins=3, storage=path)
    with path.open("a") as file:
        file.write('{"number": 6, "sett')  # the process ended while it wrote
    with pytest.warns(DamagedFileWarning, match="line 8 was not written to its end"):
        continued = pe.tune(model, noisy(), budget=9, origins=3, storage=str(path))
    assert outcome(continued) == outcome(whole)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 16
    assert continued.settings == whole.settings


def test_a_file_of_another_search_is_refused(tmp_path):
    path, model = tmp_path / "trials.jsonl", pe.SmootherBank(horizon=3)
    pe.tune(model, noisy(), budget=1, origins=2, storage=path)
    with pytest.raises(ValueError, match=r"storage must be of the same search.*data"):
        pe.tune(model, noisy(seed=1), budget=1, origins=2, storage=path)
    with pytest.raises(ValueError, match=r"storage must be of the same search.*horizon"):
        pe.tune(model, noisy(), budget=1, origins=2, horizon=2, storage=path)
    whole = path.read_text()
    for damaged in ("something else\n", whole + "[1]\n", whole + "\0\0\n", "[" * 10**5 + "\n"):
        path.write_text(damaged)
        with pytest.raises(ValueError, match="storage must be a file of trials"):
            pe.tune(model, noisy(), budget=1, origins=2, storage=path)
    for wrong in ({"number": 7}, {"settings": []}, {"error": "small"}, {"note": None}):
        row = json.loads(whole.splitlines()[1]) | {"number": 1} | wrong
        path.write_text(whole + json.dumps(row) + "\n")
        with pytest.raises(ValueError, match="line 3 is no trial"):
            pe.tune(model, noisy(), budget=1, origins=2, storage=path)


def test_a_file_is_for_one_search_at_a_time(monkeypatch, tmp_path):
    path, tried = tmp_path / "trials.jsonl", tuning._tried

    def while_another_writes(*arguments, **more):
        with path.open("a") as file:
            file.write("{}\n")
        return tried(*arguments, **more)

    monkeypatch.setattr(tuning, "_tried", while_another_writes)
    with pytest.raises(ValueError, match="storage must be a file of one search at a time"):
        pe.tune(pe.SmootherBank(horizon=3), noisy(), budget=2, origins=2, storage=path)


def test_interrupted_searches_return_the_best_so_far(monkeypatch, tmp_path):
    tried = tuning._tried
    calls = []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return tried(*arguments, **options)

    monkeypatch.setattr(tuning, "_tried", interrupted)
    path = tmp_path / "trials.jsonl"
    result = pe.tune(pe.ReservoirForecaster(horizon=4), noisy(), budget=9, origins=3, storage=path)
    assert result.interrupted
    assert len(result.trials) == 2
    assert result.model.forecast().shape == (4,)
    assert "(interrupted)" in str(result)
    assert len(path.read_text().splitlines()) == 3


def test_failures_do_not_end_a_search_unless_the_model_itself_fails(monkeypatch):
    error = tuning._Judge.error

    def fails(judge, settings):
        if settings["member"] == "smoothers":
            raise ValueError("no")
        return error(judge, settings)

    monkeypatch.setattr(tuning._Judge, "error", fails)
    result = pe.tune(pe.ReservoirForecaster(horizon=4), noisy(), budget=3, origins=3)
    assert result.trials[1].error == np.inf
    assert result.trials[1].note == "ValueError: no"
    with pytest.raises(ValueError, match="calendar='month' needs dates"):
        pe.tune(pe.ReservoirForecaster(horizon=4, calendar="month"), noisy(), budget=2, origins=3)


def test_time_is_a_budget(monkeypatch):
    ticks = iter(np.arange(0, 1000, 0.25))
    monkeypatch.setattr("paralesn.workflows.tuning.monotonic", lambda: next(ticks))
    monkeypatch.setattr("paralesn.workflows.budget.monotonic", lambda: next(ticks))
    told = []
    result = pe.tune(pe.ReservoirForecaster(horizon=4), noisy(), budget="4s", origins=3,
                     progress=lambda *a: told.append(a))  # fmt: skip
    assert 2 <= len(result.trials) <= 5
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_frames_calendars_and_inputs(rng):
    pd = pytest.importorskip("pandas")
    index = pd.date_range("2022-01-01", periods=150)
    x = pd.DataFrame({"price": rng.normal(size=150)}, index=index)
    y = pd.Series(noisy(150, 7), index, name="sales") + 3 * x["price"].to_numpy()
    result = pe.tune(pe.ReservoirForecaster(horizon=5), y, x, budget=8, origins=3)
    assert {"season", "calendar", "penalty"} <= set(result.trials[0].settings)
    assert any(trial.settings.get("calendar") == "auto" for trial in result.trials)
    ahead = pd.DataFrame({"price": np.zeros(5)}, pd.date_range(index[-1], periods=6)[1:])
    forecast = result.model.forecast(X=ahead)
    assert list(forecast.index) == list(ahead.index)
    frame = result.to_frame()
    assert frame["error"].tolist() == [trial.error for trial in result.trials]
    assert "error" in str(result)


def test_a_closed_loop_is_found_where_a_law_is_followed():
    t = np.arange(420)
    y = np.stack([np.sin(t / 4) * np.cos(t / 9.7), np.cos(t / 4)], axis=1)
    result = pe.tune(pe.ReservoirForecaster(horizon=20), y, budget=6, origins=4)
    assert any(trial.settings["member"] == "closed loop" for trial in result.trials)
    assert result.model.forecast(20).shape == (20, 2)


def test_what_mattered():
    rng = np.random.default_rng(0)
    tried = []
    for i in range(60):
        settings = {
            "kind": "ab"[i % 2],
            "size": float(rng.uniform(1, 9)),
            "noise": int(rng.integers(3)),
        }
        tried.append(Trial(i, settings, 5.0 * (i % 2) + settings["size"], 0.1))
    found = importance_of(tried)
    assert next(iter(found)) == "kind"
    assert found["kind"] > found["size"] > found["noise"]
    assert importance_of(tried[:7]) == {}


def test_proposals_are_new_and_hold_only_what_matters():
    material, _ = tuning.read_material(noisy(400), None, None, None, tuning.LongNames(), None)
    space = tuning.search_space(pe.ReservoirForecaster(), material)
    source, tried = RandomProposals(space, 0), []
    for i in range(60):
        tried.append(Trial(i, source.next(tried), 1.0, 0.0))
    assert tried[0].settings == {"member": "as given", "season": "as given", "penalty": "as given"}
    every = [json.dumps(trial.settings) for trial in tried]
    assert len(set(every)) == 60
    for trial in tried:
        member = trial.settings["member"]
        assert ("units" in trial.settings) == (member in ("random reservoir", "closed loop"))
        assert ("season" in trial.settings) == (member != "closed loop")


@pytest.mark.parametrize(
    ("budget", "limit"),
    [("90s", Limit(90.0, None)), ("1.5 min", Limit(90.0, None)), ("2h", Limit(7200.0, None)),
     (2.5, Limit(2.5, None)), (np.int64(3), Limit(None, 3))],
)  # fmt: skip
def test_budgets(budget, limit):
    assert check_budget(budget) == limit


@pytest.mark.parametrize(
    "budget", ["", "0s", "0.0h", "9" * 400 + "s", "60", "soon", 0, -1.0, True, None, float("nan")]
)
def test_wrong_budgets_are_named(budget):
    with pytest.raises((ValueError, TypeError), match="budget must be"):
        pe.tune(pe.SmootherBank(), noisy(), budget=budget)


def test_other_models_are_named():
    with pytest.raises(TypeError, match="model must be a ReservoirForecaster or SmootherBank"):
        pe.tune(pe.Ridge(), noisy())


def test_a_space_of_the_callers_own(rng, tmp_path):
    """Every trial is a backtest of the model with the parameters that the caller named."""
    t = np.arange(200)
    y = np.sin(2 * np.pi * t / 12) + 0.2 * rng.normal(size=t.size)
    model = pe.ReservoirForecaster(horizon=4)
    space = {"reservoir__units": [16, 32], "readout__alphas": [(1.0,), (100.0,)], "season": [12]}
    call = {"budget": 8, "origins": 4, "space": space, "storage": tmp_path / "trials"}
    result = pe.tune(model, y, **call)
    assert result.trials[0].settings == dict.fromkeys(space, "as given")
    seen = {label for trial in result.trials for label in trial.settings.items()}
    assert seen <= {(n, v) for n in space for v in ("as given", 16, 32, "(1.0,)", "(100.0,)", 12)}
    given = pe.backtest(model, y, horizon=4, origins=4, refit=False).errors["model"]["mae"].mean()
    for trial in result.trials[1:]:
        values = {"(1.0,)": (1.0,), "(100.0,)": (100.0,)}
        named = {n: values.get(v, v) for n, v in trial.settings.items() if v != "as given"}
        candidate = pe.ReservoirForecaster(horizon=4).set_params(**named)
        again = pe.backtest(candidate, y, horizon=4, origins=4, refit=False)
        mae = again.errors["model"]["mae"].mean()
        assert abs(trial.error / result.trials[0].error - mae / given) < 1e-9
    more = pe.tune(model, y, **call | {"budget": 2})
    assert [t.settings for t in more.trials[:8]] == [t.settings for t in result.trials]
    with pytest.raises(ValueError, match="whose space differs"):
        pe.tune(model, y, **call | {"space": {"season": [6]}})


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"reservoir__unit": [3]}, "Invalid parameter 'unit' for estimator ParalESN"),
        ({"season": 12}, r"space\['season'\] must be a sequence of values, got 12"),
        ({"season": []}, r"space\['season'\] must be a sequence of values"),
        ({}, "space must be a dict of names of parameters"),
        ("season", "space must be a dict of names of parameters"),
    ],
)
def test_a_wrong_space(space, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pe.tune(pe.ReservoirForecaster(horizon=2), np.arange(50.0), space=space, origins=3)

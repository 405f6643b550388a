"""Tuning in storages that processes share: the same trials, once each, whoever carries them out."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

optuna = pytest.importorskip("optuna")

import paralesn as pe  # noqa: E402
from paralesn.workflows import study_storage, tuning  # noqa: E402
from paralesn.workflows.shared_trials import SharedTrials  # noqa: E402


def noisy(n=120, m=8, seed=0):
    t, rng = np.arange(n), np.random.default_rng(seed)
    return 20 + 0.1 * t + 4 * np.sin(2 * np.pi * t / m) + rng.normal(size=n)


def outcome(result):
    return [(trial.number, trial.settings, trial.error, trial.note) for trial in result.trials]


@pytest.fixture(params=["folder", "sqlite"])
def storage(request, tmp_path):
    yield {"folder": f"{tmp_path}/trials/", "sqlite": f"sqlite:///{tmp_path}/trials.db"}[
        request.param
    ]
    study_storage.disconnect()


def test_one_process_finds_what_it_finds_without_a_storage(storage):
    model = pe.ReservoirForecaster(horizon=4)
    whole = pe.tune(model, noisy(), budget=12, origins=3)
    pe.tune(model, noisy(), budget=5, origins=3, storage=storage)
    continued = pe.tune(model, noisy(), budget=12, origins=3, storage=storage)  # of the study
    assert outcome(continued) == outcome(whole)
    assert continued.settings == whole.settings
    again = pe.tune(model, noisy(), budget=12, origins=3, storage=storage)
    assert [trial.seconds for trial in again.trials] == [t.seconds for t in continued.trials]


def test_dashboards_see_settings_and_errors(storage):
    result = pe.tune(pe.SmootherBank(horizon=3), noisy(), budget=3, origins=2, storage=storage)
    opened = storage
    if storage.endswith("/"):
        opened = study_storage.opened(storage, next(Path(storage).glob("tune-*.log")).name)
    study = optuna.load_study(study_name=None, storage=opened)
    assert study.study_name.startswith("tune ")
    found = [(trial.params, trial.value) for trial in study.get_trials()]
    assert found == [(trial.settings, trial.error) for trial in result.trials]


def test_searches_about_other_things_are_apart_unless_they_are_named(tmp_path):
    url, model = f"sqlite:///{tmp_path}/trials.db", pe.SmootherBank(horizon=3)
    for seed in (0, 1):
        pe.tune(model, noisy(seed=seed), budget=1, origins=2, storage=url)
    assert len(optuna.get_all_study_names(url)) == 2
    pe.tune(model, noisy(), budget=1, origins=2, storage=f"{url}#sales")
    assert "sales" in optuna.get_all_study_names(url)
    with pytest.raises(ValueError, match=r"storage must be of the same search.*whose data differs"):
        pe.tune(model, noisy(seed=1), budget=1, origins=2, storage=f"{url}#sales")
    study_storage.disconnect()


def test_an_interrupted_trial_is_given_back(monkeypatch, storage):
    tried, calls = tuning._tried, []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return tried(*arguments, **options)

    monkeypatch.setattr(tuning, "_tried", interrupted)
    call = {"budget": 4, "origins": 3, "storage": storage}
    result = pe.tune(pe.ReservoirForecaster(horizon=4), noisy(), **call)
    assert result.interrupted
    assert len(result.trials) == 2
    result = pe.tune(pe.ReservoirForecaster(horizon=4), noisy(), **call)
    assert [trial.number for trial in result.trials] == [0, 1, 2, 3]
    assert outcome(result) == outcome(
        pe.tune(pe.ReservoirForecaster(horizon=4), noisy(), budget=4, origins=3)
    )


def test_no_trials_before_that_of_the_model_as_it_was_given(tmp_path):
    """Another process may be ahead of the one that judges the model itself."""
    space = tuning.named_space(pe.SmootherBank(), {"season": [2, 4]})
    book = SharedTrials(f"{tmp_path}/", {"data": 1}, space)
    other = book._study.ask()
    seen = []

    def carry_out(number):
        seen.append(number)
        return tuning.Trial(number, {"season": 2}, 1.0, 0.1)

    book.run(carry_out, 2, is_over=lambda: bool(seen))
    assert (seen, book.trials) == ([1], [])
    for name, value in (("settings", {"season": "as given"}), ("seconds", 0.2), ("note", "")):
        other.set_user_attr(name, value)
    book._study.tell(other, float("inf"))
    assert [trial.number for trial in book.trials] == [0, 1]
    assert book.trials[0].error == float("inf")


PROGRAM = """
import json, sys
sys.path.insert(0, {tests!r})
import paralesn as pe
from test_shared_tuning import noisy, outcome
from paralesn.workflows import tuning
judged, error = [], tuning._Judge.error
def counted(judge, settings):
    judged.append(settings)
    return error(judge, settings)
tuning._Judge.error = counted
result = pe.tune(pe.ReservoirForecaster(horizon=4), noisy(), budget=14, origins=3, storage=sys.argv[1])
print(json.dumps([outcome(result), len(judged)]))
"""


@pytest.mark.slow
def test_two_processes_share_a_search(tmp_path):
    program = PROGRAM.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-W", "error", "-c", program, f"{tmp_path}/trials/"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    (first, by_first), (second, by_second) = (json.loads(p.communicate()[0]) for p in both)
    assert first == second
    assert [number for number, *_ in first] == list(range(14))
    repeated = sum(note.startswith("as trial") for *_, note in first)
    assert by_first + by_second == 14 - repeated
    assert min(by_first, by_second) > 0

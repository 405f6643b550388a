"""Classifier, regressor and forecaster as aeon's users meet them."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.forecaster import weighing

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of aeon's own making, on import
    pytest.importorskip("aeon", reason="aeon is not installed: pip install 'paralesn[aeon]'")
    from aeon.testing.estimator_checking import parametrize_with_checks

    from paralesn.aeon import ParalESNClassifier, ParalESNForecaster, ParalESNRegressor


@parametrize_with_checks([ParalESNClassifier, ParalESNRegressor, ParalESNForecaster])
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("least_rows", [weighing.LEAST_ROWS, 4], ids=["as it is", "reservoir too"])
def test_aeons_own_checks(check, least_rows, monkeypatch):
    """As it is, series as short as aeon's are left to the smoothers; then the reservoir joins."""
    monkeypatch.setattr(weighing, "LEAST_ROWS", least_rows)
    check()


@pytest.mark.filterwarnings("ignore")
def test_it_is_the_classifier_with_channels_before_time(rng):
    X, y = rng.normal(size=(12, 30, 2)), np.array(["a", "b"] * 6)
    theirs = ParalESNClassifier(units=64, random_state=3).fit(X.transpose(0, 2, 1), y)
    ours = pe.ReservoirClassifier(pe.FilterBank(units=64, seed=3)).fit(X, y)
    new = rng.normal(size=(20, 30, 2))
    np.testing.assert_array_equal(theirs.predict(new.transpose(0, 2, 1)), ours.predict(new))
    np.testing.assert_array_equal(
        theirs.predict_proba(new.transpose(0, 2, 1)), ours.predict_proba(new)
    )
    ragged = [x[:, : 20 + i] for i, x in enumerate(X.transpose(0, 2, 1)[:10])]
    assert len(ParalESNClassifier(units=64).fit(ragged, y[:10]).predict(ragged)) == 10


@pytest.mark.filterwarnings("ignore")
def test_it_is_the_series_regressor_with_channels_before_time(rng):
    X, y = rng.normal(size=(12, 30, 2)), rng.normal(size=12)
    theirs = ParalESNRegressor(units=64, random_state=3).fit(X.transpose(0, 2, 1), y)
    ours = pe.ReservoirSeriesRegressor(pe.FilterBank(units=64, levels=True, seed=3)).fit(X, y)
    new = rng.normal(size=(20, 30, 2))
    np.testing.assert_array_equal(theirs.predict(new.transpose(0, 2, 1)), ours.predict(new))


@pytest.fixture
def wave(rng):
    return 5 + np.sin(np.arange(320) * 2 * np.pi / 12) + 0.05 * rng.normal(size=320)


def test_the_forecaster_is_ours(wave):
    theirs = ParalESNForecaster(horizon=3)
    ours = pe.ReservoirForecaster(horizon=3).fit(wave[:300])
    assert "reservoir" in ours.weights_
    assert theirs.forecast(wave[:300]) == ours.forecast()[2]
    assert theirs.predict(wave[:300]) == ours.forecast()[2]
    every = ParalESNForecaster().series_to_series_forecast(wave[:300], 3)
    np.testing.assert_array_equal(every, ours.forecast())
    direct = [pe.ReservoirForecaster(horizon=h).fit(wave[:300]).forecast()[-1] for h in (1, 2)]
    np.testing.assert_array_equal(theirs.direct_forecast(wave[:300], 2), direct)


def test_a_series_that_goes_on_is_followed_and_leaves_the_forecaster_as_it_was(wave):
    model = ParalESNForecaster(horizon=2).fit(wave[:300])
    before = model.predict(wave[:300])
    after = pe.ReservoirForecaster(horizon=2).fit(wave[:300]).update(wave[300:]).forecast()[1]
    assert model.predict(wave) == after
    assert model.predict(wave[:300]) == before
    one = pe.ReservoirForecaster(horizon=1).fit(wave[:300])
    first = one.forecast()[0]
    second = one.update([first]).forecast()[0]
    iterated = ParalESNForecaster().iterative_forecast(wave[:300], 2)
    np.testing.assert_array_equal(iterated, [first, second])


def test_a_series_never_seen_is_forecast_by_what_was_learnt(wave, rng):
    other = 50 + 10 * wave[7:200]
    ours = pe.ReservoirForecaster(horizon=2).fit(wave).forecast(2, y=other)
    assert ParalESNForecaster(horizon=2).fit(wave).predict(other) == ours[1]


def test_missing_values_and_inputs(wave):
    holes = wave.copy()
    holes[[50, 51, 200]] = np.nan
    ours = pe.ReservoirForecaster(horizon=1).fit(holes).forecast()[0]
    assert ParalESNForecaster().fit(holes).predict(holes) == ours
    with pytest.raises(ValueError, match="cannot handle exogenous"):
        ParalESNForecaster().fit(wave, wave)


@pytest.mark.slow
def test_without_aeon_it_says_what_to_install():
    code = "import sys; sys.modules['aeon'] = None; import paralesn.aeon"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'paralesn[aeon]'" in done.stderr

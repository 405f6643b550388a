"""The forecaster as sktime's users meet it."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import paralesn as pe
from paralesn import datasets
from paralesn.estimators.forecaster import weighing

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of sktime's own making, on import
    pytest.importorskip("sktime", reason="sktime is not installed: pip install 'paralesn[sktime]'")
    import pandas as pd
    from sktime.forecasting.base import ForecastingHorizon
    from sktime.utils.estimator_checks import check_estimator, parametrize_with_checks

    from paralesn.sktime import ParalESNForecaster

# No check is left out: `parametrize_with_checks` lists those of TestAllObjects, TestAllEstimators
# and TestAllForecasters, and a check without cases fails here.


@parametrize_with_checks(ParalESNForecaster, obj_varname="forecaster")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("least_rows", [weighing.LEAST_ROWS, 4], ids=["as it is", "reservoir too"])
def test_sktimes_own_checks(forecaster, test_name, least_rows, monkeypatch):
    """As it is, series as short as sktime's are left to the smoothers; then the reservoir joins."""
    monkeypatch.setattr(weighing, "LEAST_ROWS", least_rows)
    results = check_estimator(
        forecaster, tests_to_run=test_name, raise_exceptions=True, verbose=False
    )
    assert results
    assert set(results.values()) == {"PASSED"}


@pytest.fixture
def y(rng):
    """Two series of monthly values."""
    t = np.arange(330)
    wave = np.sin(t * 2 * np.pi / 12)
    values = np.stack([5 + wave, 20 - 3 * wave], axis=1) + 0.1 * rng.normal(size=(330, 2))
    return pd.DataFrame(values, pd.period_range("1995-01", periods=330, freq="M"), ["a", "y"])


@pytest.fixture
def X(y, rng):
    """A price that moves the first series, and a kind of month in text."""
    frame = pd.DataFrame(
        {"price": rng.normal(size=len(y)), "kind": ["calm", "busy", "busy"] * 110}, y.index
    )
    y["a"] += 2 * frame["price"]
    return frame


def test_the_numbers_are_those_of_our_forecaster(y):
    theirs = ParalESNForecaster().fit(y[:300], fh=[2, 6])
    ours = pe.ReservoirForecaster(horizon=6).fit(y[:300].rename(columns={"y": "b"}))
    assert any("reservoir" in name for weights in ours.weights_ for name in weights)
    np.testing.assert_array_equal(theirs.predict(), ours.forecast().iloc[[1, 5]])
    assert list(theirs.predict().index) == list(y.index[[301, 305]])
    bounds = ours.forecast(interval=0.8)
    intervals = theirs.predict_interval(coverage=0.8)
    for own, name in (("a", "a"), ("b", "y")):
        np.testing.assert_array_equal(
            intervals[name][0.8], bounds[[f"{own}-lo-80", f"{own}-hi-80"]].iloc[[1, 5]]
        )
    shares = [0.9, 0.5, 0.1]
    quantiles = theirs.predict_quantiles(alpha=shares)
    wanted = ours.forecast(quantiles=shares)[[f"b-q-{q}" for q in (90, 50, 10)]]
    np.testing.assert_array_equal(quantiles["y"], wanted.iloc[[1, 5]])
    assert list(quantiles.columns) == [(name, q) for name in ("a", "y") for q in shares]


def test_steps_that_were_seen_are_forecast_from_the_step_before(y):
    series = y["a"]
    theirs = ParalESNForecaster().fit(series, fh=np.arange(-329, 1))
    ours = pe.ReservoirForecaster().fit(series)
    seen = ours.anomalies(level=0.8)
    np.testing.assert_array_equal(theirs.predict(), seen["yhat"])
    bounds = theirs.predict_interval(coverage=0.8)["a"][0.8]
    np.testing.assert_allclose(bounds, seen[["lo", "hi"]])
    assert np.isnan(theirs.predict().iloc[0])
    both = theirs.predict(ForecastingHorizon(series.index[[300]].append(series.index[[-1]] + 3),
                                             is_relative=False))  # fmt: skip
    assert both.iloc[0] == seen["yhat"].iloc[300]
    assert both.iloc[1] == ours.forecast(3).iloc[2]
    with pytest.raises(ValueError, match="must not begin before y, which has 330 steps"):
        theirs.predict(-330)


def test_inputs_are_known_in_advance_and_only_those_of_the_horizon_count(y, X):
    theirs = ParalESNForecaster().fit(y[:300], X[:300], fh=[2, 6])
    plain = y[:300].set_axis(["s", "t"], axis=1)
    ours = pe.ReservoirForecaster(horizon=6).fit(plain, X[:300])
    wanted = ours.forecast(6, X[300:306]).iloc[[1, 5]]
    np.testing.assert_array_equal(theirs.predict(X=X[300:306]), wanted)
    np.testing.assert_array_equal(theirs.predict(X=X.iloc[[301, 305], ::-1]), wanted)
    np.testing.assert_array_equal(theirs.predict(X=X), wanted)
    assert np.abs(y.iloc[[301, 305]] - wanted.to_numpy())["a"].max() < 1
    with pytest.raises(ValueError, match=r"row for every step to forecast, got none for 2020-06"):
        theirs.predict(X=X[300:305])
    with pytest.raises(ValueError, match="columns of fit, got none named 'kind'"):
        theirs.predict(X=X[["price"]])
    with pytest.raises(ValueError, match="X must be None"):
        ParalESNForecaster().fit(y[:300], fh=1).predict(X=X)


@pytest.mark.parametrize("learn", [True, False], ids=["learns", "moves on"])
def test_update_takes_what_is_new_and_fills_gaps(y, learn):
    y = y.set_axis(["s", "t"], axis=1)
    ours = pe.ReservoirForecaster(horizon=2).fit(y[:280])
    holes = y[280:310].copy()
    holes.iloc[10:13] = np.nan
    ours.update(holes, refit=learn)
    theirs = ParalESNForecaster().fit(y[:280], fh=[1, 2])
    before = theirs.model_.forecast()
    theirs.update(y[270:290], update_params=learn)  # ten rows are old
    theirs.update(y[293:310], update_params=learn)  # three rows are skipped
    np.testing.assert_allclose(theirs.predict(), ours.forecast())
    assert list(theirs.predict().index) == list(y.index[310:312])
    assert not np.allclose(before, theirs.predict())


@pytest.mark.parametrize("freq", ["D", "h", "W", "MS", "ME", "QE", "B", "15min", "2D"])
def test_dates_go_on_by_their_frequency(y, freq):
    dates = pd.date_range("2001-01-01", periods=330, freq=freq)
    series = pd.Series(y["a"].to_numpy(), dates)
    model = ParalESNForecaster().fit(series[:300], fh=[1, 3])
    assert list(model.predict().index) == [dates[300], dates[302]]
    model.update(series[303:310], update_params=False)
    assert list(model.predict().index) == [dates[310], dates[312]]


def test_missing_values_and_skipped_periods_are_the_same(y):
    series = y["a"].copy()
    series.iloc[[40, 41, 200]] = np.nan
    first, second = (ParalESNForecaster().fit(s, fh=[1, 2]) for s in (series, series.dropna()))
    np.testing.assert_allclose(first.predict(), second.predict())
    np.testing.assert_allclose(first.predict([-300, -130]), second.predict([-300, -130]))


def test_the_horizon_comes_from_fh_where_it_is_not_given(y):
    assert ParalESNForecaster().fit(y, fh=[1, 7]).model_.horizon_ == 7
    assert ParalESNForecaster(horizon=4).fit(y, fh=[1, 7]).model_.horizon_ == 4
    assert ParalESNForecaster().fit(y).model_.horizon_ == 24  # two seasons
    assert ParalESNForecaster().fit(y, fh=[-2, 0]).model_.horizon_ == 24


def test_the_closed_loop_reads_all_columns_together():
    series = datasets.lorenz63(600)
    small = pe.ParalESN(units=50, seed=0)
    theirs = ParalESNForecaster(small, strategy="closed-loop")
    theirs.fit(pd.DataFrame(series), fh=np.arange(1, 6))
    ours = pe.ReservoirForecaster(small, strategy="closed-loop", horizon=5).fit(series)
    np.testing.assert_allclose(theirs.predict(), ours.forecast(5))
    with pytest.raises(NotImplementedError, match="in-sample"):
        theirs.predict(fh=-1)
    assert not theirs.get_tag("capability:pred_int")


@pytest.mark.slow
def test_without_sktime_it_says_what_to_install():
    code = "import sys; sys.modules['sktime'] = None; import paralesn.sktime"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'paralesn[sktime]'" in done.stderr

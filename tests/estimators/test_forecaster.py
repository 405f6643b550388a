"""The default forecaster: bank and reservoir, each where it is good, and its life after fit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge as PlainRidge

import paralesn as pe
from paralesn.estimators.forecaster.poles import seasonal_reservoir

T = np.arange(1600)
SINES = sum(np.sin(2 * np.pi * T / p + p) for p in (11.3, 17.9, 31.4, 53.2))
RNG = np.random.default_rng(4)
LOAD = 20 + 5 * np.sin(2 * np.pi * T / 24) + RNG.normal(size=T.size)


def forecaster(**options):
    return pe.ReservoirForecaster(horizon=8, **options)


def reservoir_share(model):
    return sum(share for name, share in model.weights_.items() if name.startswith("reservoir"))


def test_the_reservoir_decides_on_a_long_series_that_it_knows():
    """No smoother has four seasons that are not whole numbers of steps."""
    model = forecaster(season=1).fit(SINES[:1500])
    assert reservoir_share(model) > 0.95
    np.testing.assert_allclose(model.forecast(), SINES[1500:1508], atol=0.02)
    bank = pe.SmootherBank(horizon=8, season=1).fit(SINES[:1500])
    assert np.abs(bank.forecast() - SINES[1500:1508]).max() > 0.3


@pytest.mark.parametrize("n", [5, 20, 60])
def test_the_bank_decides_on_short_series(n, rng):
    y = np.cumsum(rng.normal(size=n))
    model = forecaster().fit(y)
    assert reservoir_share(model) == 0
    bank = pe.SmootherBank(horizon=8).fit(y)
    for one, other in zip(model.forecast(interval=0.9), bank.forecast(interval=0.9), strict=True):
        np.testing.assert_array_equal(one, other)


def test_noise_is_left_to_the_bank(rng):
    shares = [
        reservoir_share(forecaster().fit(np.random.default_rng(s).normal(size=300)))
        for s in range(5)
    ]
    assert np.mean(shares) < 0.6


@pytest.mark.parametrize("kind", ["sines", "load", "short"])
def test_pieces_are_one_update(kind, rng):
    y = {"sines": SINES[:600], "load": LOAD[:600], "short": LOAD[:60]}[kind]
    cut = len(y) - 20
    once = forecaster(season=24).fit(y[:cut]).update(y[cut:])
    pieces = forecaster(season=24).fit(y[:cut])
    for part in np.split(y[cut:], [1, 2, 9]):
        pieces.update(part)
    for one, other in zip(once.forecast(20, interval=0.8), pieces.forecast(20, interval=0.8), strict=True):  # fmt: skip
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_predictions_from_every_step_are_forecasts_after_updates():
    model = forecaster(season=24).fit(LOAD[:500])
    every = model.predict(LOAD[500:520])
    assert every.shape == (20, 8)
    for t in (0, 7, 19):
        after = forecaster(season=24).fit(LOAD[:500]).update(LOAD[500 : 501 + t])
        np.testing.assert_allclose(every[t], after.forecast(), rtol=1e-9)
    assert model.fitted_.ends.counts[0] == 500


def test_refit_is_fit_to_everything():
    model = forecaster(season=24).fit(LOAD[:400]).update(LOAD[400:500], refit=True)
    expected = forecaster(season=24).fit(LOAD[:500])
    np.testing.assert_allclose(model.forecast(30), expected.forecast(30), rtol=1e-12)
    assert model.weights_ == expected.weights_


def test_the_beginning_of_a_longer_forecast_is_the_shorter_one():
    model = forecaster(season=24).fit(LOAD[:500])
    long = model.forecast(30, interval=0.9)
    for one, other in zip(model.forecast(5, interval=0.9), long, strict=True):
        np.testing.assert_allclose(one, other[:5], rtol=1e-12)


def test_units_do_not_matter():
    ahead = forecaster(season=24).fit(LOAD[:500]).forecast()
    np.testing.assert_allclose(
        forecaster(season=24).fit(1e6 * LOAD[:500]).forecast() / 1e6, ahead, rtol=1e-6
    )
    np.testing.assert_allclose(
        forecaster(season=24).fit(1e-9 * LOAD[:500]).forecast() / 1e-9, ahead, rtol=1e-6
    )


@pytest.mark.slow
def test_threads_do_not_change_a_bit():
    ys = [LOAD[: 100 + 30 * k] for k in range(5)]
    one, two = (
        pe.ReservoirForecaster(horizon=4, n_jobs=jobs).fit(ys).forecast() for jobs in (1, 2)
    )
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "gap", [slice(0, 30), slice(100, 140), slice(270, 300), slice(None, None, 5)]
)
def test_missing_values(gap):
    y = LOAD[:300].copy()
    y[gap] = np.nan
    model = forecaster(season=24).fit(y)
    ahead = model.forecast(24)
    np.testing.assert_allclose(ahead, 20 + 5 * np.sin(2 * np.pi * T[300:324] / 24), atol=3)
    assert f"{int(np.isnan(y).sum())} values of y are missing" in model.notes_[0]


def test_a_runaway_does_not_count(rng):
    """An unstable readout leaves the range of the series, and the bank forecasts alone."""

    class Explosive(PlainRidge):
        def predict(self, X):
            return super().predict(X) + 1e9 * (len(X) == 1)

    model = pe.ReservoirForecaster(readout=Explosive(), horizon=3).fit(LOAD[:300])
    assert reservoir_share(model) == 0
    assert np.abs(model.forecast()).max() < 100


def test_own_parts():
    own = pe.ReservoirForecaster(
        pe.ParalESN(units=40, seed=1), PlainRidge(10.0), horizon=4, season=24
    )
    model = own.fit(SINES[:400])
    assert reservoir_share(model) > 0.5
    assert clone(model).get_params()["horizon"] == 4
    np.testing.assert_allclose(model.forecast(), SINES[400:404], atol=0.5)
    readout = model.fitted_.ensemble.shared[0].readout
    assert set(vars(readout)) <= set(vars(PlainRidge().fit(np.eye(3), np.eye(3))))


def test_the_default_horizon():
    assert pe.SmootherBank(season=12).fit(LOAD[:200]).horizon_ == 24
    assert pe.SmootherBank(season=1).fit(LOAD[:200]).horizon_ == 8
    assert pe.SmootherBank(season=1).fit(LOAD[:10]).horizon_ == 2
    assert pe.SmootherBank(season=168).fit(LOAD).horizon_ == 100


def test_poles_ring_with_the_seasons():
    layer = seasonal_reservoir((12,), 500).layers_[0]
    angles = np.angle(layer.eigenvalues) / (2 * np.pi)
    for k in range(1, 7):
        assert np.isclose(angles, k / 12).sum() >= 2
    assert np.abs(layer.eigenvalues).max() < 1


# -- anomalies -------------------------------------------------------------------------------------


def test_a_planted_outlier_is_found(rng):
    y = LOAD[:400].copy()
    y[[150, 333]] += [12, -12]
    found = forecaster(season=24).fit(y).anomalies(level=0.99)
    assert found.is_anomaly[[150, 333]].all()
    assert found.is_anomaly.sum() < 20
    assert not found.is_anomaly[0]
    seen = found.is_anomaly[1:]
    np.testing.assert_array_equal(seen, (y[1:] < found.lower[1:]) | (y[1:] > found.upper[1:]))


@pytest.mark.parametrize("kind", [pe.SmootherBank, pe.ReservoirForecaster])
def test_anomalies_online_are_anomalies_afterwards(kind):
    y = LOAD[:460].copy()
    y[430] += 15
    model = kind(horizon=4, season=24).fit(y[:400])
    online = model.anomalies(y[400:])
    one_by_one = kind(horizon=4, season=24).fit(y[:400])
    for t in range(400, 460):
        single = one_by_one.anomalies(y[t : t + 1])
        np.testing.assert_allclose(single.values[0], online.values[t - 400], rtol=1e-9)
        assert single.is_anomaly[0] == online.is_anomaly[t - 400]
        one_by_one.update(y[t : t + 1])
    offline = model.update(y[400:]).anomalies()
    np.testing.assert_allclose(offline.values[400:], online.values, rtol=1e-9)
    np.testing.assert_allclose(offline.lower[400:], online.lower, rtol=1e-9)
    np.testing.assert_array_equal(offline.is_anomaly[400:], online.is_anomaly)
    assert online.is_anomaly[30]


def test_about_as_many_anomalies_as_the_level_says():
    model = forecaster(season=24).fit(LOAD[:800])
    outside = model.anomalies(LOAD[800:1600], level=0.9).is_anomaly.mean()
    assert 0.03 < outside < 0.2


def test_a_missing_value_is_no_anomaly():
    model = forecaster(season=24).fit(LOAD[:300])
    assert not model.anomalies([np.nan, LOAD[301]]).is_anomaly[0]


# -- the closed loop -------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_closed_loop_goes_on_alone():
    t = np.arange(1200) * 0.1
    y = np.column_stack([np.sin(t), np.cos(t)])
    model = pe.ReservoirForecaster(strategy="closed-loop").fit(y[:1000])
    np.testing.assert_allclose(model.forecast(100), y[1000:1100], atol=0.05)
    model.update(y[1000:1100])
    np.testing.assert_allclose(model.forecast(50), y[1100:1150], atol=0.05)


def test_a_closed_loop_that_runs_away_is_an_error():
    model = pe.ReservoirForecaster(
        pe.ParalESN(units=30, seed=0), pe.Ridge([1e-12]), strategy="closed-loop"
    ).fit(np.exp(0.05 * np.arange(200)))
    with pytest.raises(ValueError, match=r"the closed loop ran away: at step .* it is at"):
        model.forecast(3000)


def test_what_the_closed_loop_does_not_do():
    for options in ({"past": LOAD[:300]}, {"static": [1.0]}):
        with pytest.raises(ValueError, match="past, static and calendar need strategy='auto'"):
            pe.ReservoirForecaster(strategy="closed-loop").fit(LOAD[:300], **options)
    with pytest.raises(
        ValueError, match="y must be complete with strategy='closed-loop', got NaN at step 1"
    ):
        pe.ReservoirForecaster(strategy="closed-loop").fit([1.0, np.nan, 3.0, 4.0])
    model = pe.ReservoirForecaster(strategy="closed-loop").fit(LOAD[:300])
    with pytest.raises(ValueError, match="anomalies need strategy='auto'"):
        model.anomalies()
    with pytest.raises(AttributeError, match="weights_ is there with strategy='auto' only"):
        _ = model.weights_


# -- pictures and words ----------------------------------------------------------------------------


def test_a_picture_shows_the_forecast():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    model = pe.SmootherBank(horizon=8, season=24).fit(LOAD[:200])
    axes = model.plot(interval=0.8, history=30)
    past, ahead = (line.get_ydata() for line in axes.lines)
    np.testing.assert_array_equal(past, LOAD[170:200])
    np.testing.assert_array_equal(ahead, model.forecast())
    assert axes.lines[1].get_xdata()[0] == 200
    plt.close(axes.figure)
    with pytest.raises(ValueError, match=r"series must be one of \[0\], got 'b'"):
        model.plot(series="b")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
        ({"interval": 90}, r"interval must be a finite number in \(0, 1\), got 90"),
        ({"quantiles": [0.1, 1.5]}, r"quantiles must be a finite number in \(0, 1\), got 1.5"),
        ({"interval": 0.9, "quantiles": 0.5}, "interval and quantiles must not both be given"),
    ],
)
def test_forecasts_that_are_none(options, words):
    with pytest.raises(ValueError, match=words):
        pe.SmootherBank(horizon=2).fit(LOAD[:30]).forecast(**options)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([], r"y must be \(time,\), \(time, series\) or a list of series, and not empty, got shape \(0,\)"),
        (np.zeros((3, 3, 3)), r"got shape \(3, 3, 3\)"),
        ([1.0], "y must hold at least 2 values, got 1"),
        ([[1.0, 2.0], [1.0]], "y must be an array of numbers or a list of arrays, one per series"),
        ([np.ones(5), np.ones(1)], r"y\[1\] must hold at least 2 values, got 1"),
        ([np.ones(5), np.ones((5, 2))], r"y\[1\] must be one series \(time,\), got shape \(5, 2\)"),
        (["a", "b"], "y must hold real numbers, got dtype"),
        (np.ones(5) * 1j, "y must be real"),
        ([1.0, np.inf, 2.0], "y must be finite or NaN, got infinity at step 1"),
        ({"a": [1, 2]}, "y must hold real numbers, got dtype object"),
        (None, "y must be .*, got shape"),
    ],
)  # fmt: skip
def test_series_that_are_none(y, words):
    for kind in (pe.SmootherBank, pe.ReservoirForecaster):
        with pytest.raises(ValueError, match=words):
            kind().fit(y)


def test_an_update_from_another_world_stays_finite():
    """Changes a googol times the usual one: forecasts are absurd, but numbers."""
    model = forecaster(season=1).fit(1e-12 * SINES[:400])
    assert reservoir_share(model) > 0.5
    model.update(np.array([1e150, -1e150, 1e150]))
    assert np.isfinite(model.forecast(50)).all()
    huge = forecaster(season=12).fit(1e150 * T[:400])
    assert np.isfinite(huge.forecast(50)).all()


def test_updates_of_a_closed_loop_must_follow():
    pd = pytest.importorskip("pandas")
    days = pd.date_range("2024-01-01", periods=300, freq="D")
    y = pd.Series(np.sin(np.arange(300) / 9), days)
    model = pe.ReservoirForecaster(strategy="closed-loop").fit(y[:200])
    with pytest.raises(ValueError, match=r"2024-07-18, got 2024-07-16, which was seen already"):
        model.update(y[197:205])
    with pytest.raises(ValueError, match="must go on at 2024-07-19"):
        model.update(y[210:220])
    model.update(y[200:210])
    assert model.forecast(1).index[0] == days[210]

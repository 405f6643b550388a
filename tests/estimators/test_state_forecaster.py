"""The forecaster against readouts on stored states and loops by hand."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

import paralesn as pe
from paralesn.datasets import lorenz63, mackey_glass
from paralesn.estimators.state_forecaster import learning as module
from paralesn.estimators.state_forecaster.calibration import bounds
from paralesn.estimators.state_forecaster.forecaster import StateForecaster

SMALL = {"units": 40, "bias_scale": 0.3, "mix_scale": 0.5}
PLAIN = {"difference": False, "standardize": False}  # values as they are


def driven(steps=600, seed=2):
    """Two observed series, driven by an input that is known in advance."""
    rng = np.random.default_rng(seed)
    x = np.sign(np.sin(np.arange(steps) / 7 + rng.uniform(0, 6)))
    y = np.zeros((steps, 2))
    for t in range(1, steps):
        y[t] = 0.8 * y[t - 1] + [0.5 * x[t], y[t - 1, 0]] + 0.01 * rng.normal(size=2)
    return y, x[:, None]


def stored(y, X, horizon, washout, only_last=False, difference=False):
    """States and targets as the definition says, by hand."""
    steps = len(y)
    inputs = np.array(
        [np.r_[y[t], X[t + horizon] if X is not None else []] for t in range(steps - horizon)]
    )
    states = pe.ParalESN(**SMALL).run(inputs)[0]
    targets = []
    for t in range(steps - horizon):
        ahead = y[[t + horizon]] if only_last else y[t + 1 : t + 1 + horizon]
        targets.append((ahead - (y[t] if difference else 0)).ravel())
    return inputs, states[washout:], np.array(targets)[washout:]


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("horizon", [1, 5])
@pytest.mark.parametrize("only_last", [False, True])
@pytest.mark.parametrize("difference", [False, True])
def test_equals_a_readout_on_stored_states(known, horizon, only_last, difference, monkeypatch):
    y, x = driven()
    X = x if known else None
    options = {"horizon": horizon, "only_last": only_last, "difference": difference, "washout": 30}
    model = StateForecaster(pe.ParalESN(**SMALL), pe.Ridge([0.1]), standardize=False, **options)
    model.fit(y[:500], None if X is None else X[:500])
    inputs, Z, targets = stored(y[:500], None if X is None else X[:500], horizon, 30, only_last,
                                difference)  # fmt: skip
    ridge = pe.Ridge([0.1]).fit(Z, targets)
    np.testing.assert_allclose(model.readout_.coef_, ridge.coef_, atol=1e-8)

    # the forecast: run on to the newest observation, read out there
    tail = [np.r_[y[t], X[t + horizon] if known else []] for t in range(500 - horizon, 500)]
    z = pe.ParalESN(**SMALL).run(np.vstack([inputs, tail]))[0][-1:]
    expected = ridge.predict(z).reshape(-1, 2) + (y[499] if difference else 0)
    ahead = X[500 : 500 + horizon] if known else None
    np.testing.assert_allclose(model.forecast(X=ahead), expected, atol=1e-8)

    # in small blocks, the same
    monkeypatch.setattr(module, "_VALUES", 3000)
    pieces = clone(model).fit(y[:500], None if X is None else X[:500])
    np.testing.assert_allclose(pieces.forecast(X=ahead), expected, atol=1e-8)

    # forecasts from every step that follows
    rolling = model.predict(y[500:550], None if X is None else X[500 : 550 + horizon], follow=True)
    for i in (0, 20, 49):
        on = clone(model).fit(y[:500], None if X is None else X[:500])
        on.update(y[500 : 501 + i], None if X is None else X[500 : 501 + i])
        there = on.forecast(X=None if X is None else X[501 + i : 501 + i + horizon])
        np.testing.assert_allclose(rolling[i].ravel(), there.ravel(), atol=1e-8)


@pytest.mark.parametrize("difference", [False, True])
@pytest.mark.parametrize("readout", [pe.Ridge([1e-4]), LinearRegression()])
def test_closed_loop_equals_feeding_back_by_hand(difference, readout):
    y, X = driven()
    options = {"difference": difference, "held_out": 0}
    model = StateForecaster(pe.ParalESN(**SMALL), readout, standardize=False, **options).fit(
        y[:500], X[:500]
    )
    expected, by_hand = [], clone(model).fit(y[:500], X[:500])
    for t in range(500, 540):
        expected.append(by_hand.forecast(1, X[t : t + 1])[0])
        by_hand.update(expected[-1][None], X[t : t + 1])
    np.testing.assert_allclose(model.forecast(40, X[500:540]), expected, atol=1e-7)
    # ... and forecasting changes nothing
    np.testing.assert_allclose(model.forecast(40, X[500:540]), expected, atol=1e-7)


def test_longer_forecasts_feed_whole_horizons_back():
    y, X = driven()
    model = StateForecaster(pe.ParalESN(**SMALL), horizon=8, **PLAIN).fit(y[:500], X[:500])
    on = clone(model).fit(y[:500], X[:500])
    pieces = []
    for t in range(500, 524, 8):
        pieces.append(on.forecast(8, X[t : t + 8]))
        on.update(pieces[-1], X[t : t + 8])
    np.testing.assert_allclose(
        model.forecast(20, X[500:524]), np.concatenate(pieces)[:20], atol=1e-9
    )


@pytest.mark.parametrize("horizon", [1, 6])
@pytest.mark.parametrize("pieces", [[100], [1, 2, 3, 94], [50, 50]])
def test_updates_with_refitting_equal_a_fit_on_everything(horizon, pieces):
    y, X = driven()
    options = {"horizon": horizon, "held_out": 0, "washout": 20}
    model = StateForecaster(pe.ParalESN(**SMALL), pe.Ridge([0.01]), **options, **PLAIN)
    whole = clone(model).fit(y[:500], X[:500])
    model.fit(y[:400], X[:400])
    unfitted = clone(model).fit(y[:400], X[:400])
    first = 400
    for size in pieces:
        model.update(y[first : first + size], X[first : first + size], refit=True)
        unfitted.update(y[first : first + size], X[first : first + size])
        first += size
    ahead = X[500 : 500 + horizon]
    np.testing.assert_allclose(model.readout_.coef_, whole.readout_.coef_, atol=1e-7)
    np.testing.assert_allclose(model.forecast(X=ahead), whole.forecast(X=ahead), atol=1e-8)
    for h, expected in zip(unfitted.state_.layers, whole.state_.layers, strict=True):
        np.testing.assert_allclose(h, expected, atol=1e-12)
    assert np.abs(unfitted.readout_.coef_ - whole.readout_.coef_).max() > 1e-6


def test_chaos():
    """Closed loop on the Lorenz attractor: several Lyapunov times; direct on Mackey-Glass."""
    y = lorenz63(4000)
    model = StateForecaster().fit(y[:3500])
    errors = np.abs(model.forecast(110) - y[3500:3610]) / y.std(axis=0)
    assert errors.max() < 0.1  # two Lyapunov times
    y = mackey_glass(4000)[:, 0]
    model = StateForecaster(horizon=20).fit(y[:3500])
    assert np.abs(model.forecast() - y[3500:3520]).max() < 0.01
    assert model.score(y[3000:]) > 0.99


def test_units_of_the_data_do_not_matter():
    y = mackey_glass(1500)[:, 0]
    for horizon in (1, 10):
        plain = StateForecaster(horizon=horizon).fit(y[:1200])
        other = StateForecaster(horizon=horizon).fit(1e5 + 300 * y[:1200])
        np.testing.assert_allclose(other.forecast(10), 1e5 + 300 * plain.forecast(10), atol=1e-3)


def test_inputs_known_in_advance_help():
    """A switch that flips at random: without knowing it, nobody can tell what comes."""
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], 1500)
    y = np.convolve(x, [0.5, 0.3, 0.2])[:1500] + 0.01 * rng.normal(size=1500)
    for horizon in (1, 6):
        knowing = StateForecaster(horizon=horizon).fit(y[:1400], x[:1400])
        blind = StateForecaster(horizon=horizon).fit(y[:1400])
        truth = y[1400:1412]
        assert np.abs(knowing.forecast(12, x[1400:1412]) - truth).max() < 0.15
        assert np.abs(blind.forecast(12) - truth).max() > 0.5


@pytest.mark.parametrize(("horizon", "only_last"), [(1, False), (8, False), (8, True)])
@pytest.mark.parametrize("known", [False, True])
def test_intervals_hold_their_share(horizon, only_last, known):
    rng = np.random.default_rng(8)
    steps = 4000
    x = np.sin(np.arange(steps) / 11)[:, None]
    noise = rng.normal(size=steps)
    y = np.zeros(steps)
    for t in range(1, steps):
        y[t] = 0.7 * y[t - 1] + x[t, 0] + noise[t]
    X = x if known else None
    cut = slice(0, 2000)
    model = StateForecaster(pe.ParalESN(**SMALL), horizon=horizon, only_last=only_last, **PLAIN)
    model.fit(y[cut], None if X is None else X[cut])
    inside, width = [], []
    ahead = 8
    for t in range(2000, 3900, 19):
        following = None if X is None else X[t : t + ahead]
        _, low, high = model.forecast(ahead, following, interval=0.8)
        truth = y[[t + ahead - 1]] if only_last else y[t : t + ahead]
        assert (low <= high).all()
        inside.append((low <= truth) & (truth <= high))
        width.append(high - low)
        model.update(y[t : t + 19], None if X is None else X[t : t + 19])
    assert 0.72 < np.mean(inside) < 0.88
    if not only_last:  # uncertainty of an autoregression grows to that of the process
        growth = np.mean(width, axis=0)
        assert growth[5] > 1.15 * growth[0]


def test_bounds_are_order_statistics(rng):
    errors = rng.normal(size=(99, 3, 2))
    low, high = bounds(errors, 0.9)
    np.testing.assert_array_equal(low, np.sort(errors, axis=0)[4])
    np.testing.assert_array_equal(high, np.sort(errors, axis=0)[94])
    with pytest.raises(
        ValueError, match=r"interval=0\.99 needs at least 199 held-out forecasts, got 99"
    ):
        bounds(errors, 0.99)
    errors[10:, 2] = np.nan
    with pytest.raises(ValueError, match=r"at least 19 .* got 10 that reach step 3"):
        bounds(errors, 0.9)


def test_the_penalty_is_chosen_on_the_held_out_part():
    y, _ = driven()
    alphas = (1e-6, 1e-2, 1.0, 100.0)
    model = StateForecaster(pe.ParalESN(**SMALL), pe.Ridge(alphas), held_out=0.25, **PLAIN).fit(y)
    _, Z, targets = stored(y, None, 1, 100)
    before = len(Z) - 150
    errors = []
    for alpha in alphas:
        ridge = pe.Ridge([alpha]).fit(Z[:before], targets[:before])
        errors.append(((ridge.predict(Z[before:]) - targets[before:]) ** 2).mean(axis=0))
    expected = np.array(errors) / targets[before:].var(axis=0)
    np.testing.assert_allclose(model.readout_.scores_, expected, rtol=1e-6)
    assert model.readout_.alpha_ == alphas[expected.mean(axis=1).argmin()]
    assert model.readout_.n_samples_seen_ == len(Z)


@pytest.mark.parametrize("horizon", [1, 6])
def test_saved_and_loaded(horizon, tmp_path):
    y, X = driven()
    model = StateForecaster(pe.ParalESN(**SMALL), horizon=horizon, **PLAIN).fit(y[:500], X[:500])
    pe.save(model, tmp_path / "model")
    loaded = pe.load(tmp_path / "model")
    for one in (model, loaded):
        one.update(y[500:550], X[500:550], refit=True)
    mine, theirs = (one.forecast(12, X[550:562], interval=0.8) for one in (model, loaded))
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_in_scikit_learns_company():
    y = mackey_glass(1200)[:, 0]
    search = GridSearchCV(
        StateForecaster(pe.ParalESN(units=40), washout=50, **PLAIN),
        {"reservoir__rho": [(0.0, 0.1), (0.5, 0.9)], "horizon": [4]},
        cv=TimeSeriesSplit(2),
    ).fit(y)
    assert search.best_score_ > 0.9
    assert search.best_estimator_.forecast().shape == (4,)


LONG = np.sin(np.arange(300) / 5)


@pytest.mark.parametrize(
    ("options", "data", "error", "message"),
    [
        ({}, {"y": LONG[:101]}, ValueError, r"longer than washout \+ horizon \(100 \+ 1\).*got 101"),
        ({"horizon": 200}, {"y": LONG}, ValueError, r"\(100 \+ 200\) time steps, got 300"),
        ({"horizon": 0}, {"y": LONG}, ValueError, "horizon must be a whole number of at least 1"),
        ({"horizon": 2.5}, {"y": LONG}, TypeError, "horizon must be a whole number"),
        ({"washout": -1}, {"y": LONG}, ValueError, "washout must be a whole number"),
        ({"only_last": "yes"}, {"y": LONG}, TypeError, "only_last must be True or False"),
        ({"difference": 1}, {"y": LONG}, TypeError, "difference must be True or False"),
        ({"held_out": 1.0}, {"y": LONG}, ValueError, "held_out must be a finite number in"),
        ({"reservoir": 7}, {"y": LONG}, TypeError, "reservoir must be None or a reservoir"),
        ({"readout": pe.Ridge}, {"y": LONG}, TypeError, "readout must be None or an object"),
        ({}, {"y": np.r_[LONG, np.nan]}, ValueError, "y must be finite, got NaN at step 300"),
        ({}, {"y": LONG, "X": LONG[1:]}, ValueError, "X must have 300 time steps as y has, got 299"),
        ({}, {"y": LONG, "X": np.full(300, np.inf)}, ValueError, "X must be finite"),
        ({}, {"y": np.zeros((2, 300, 1))}, ValueError, "y must be one series"),
        ({}, {"y": ["a"] * 300}, ValueError, "y must hold real numbers"),
    ],
)  # fmt: skip
def test_wrong_data_and_arguments(options, data, error, message):
    with pytest.raises(error, match=message):
        StateForecaster(**options).fit(**data)


def test_wrong_use():
    model = StateForecaster(pe.ParalESN(**SMALL), **PLAIN)
    for call in (model.forecast, lambda: model.update(LONG), lambda: model.predict(LONG)):
        with pytest.raises(ValueError, match="not fitted"):
            call()
    model.fit(LONG, LONG)
    for call in (model.update, model.predict):
        with pytest.raises(ValueError, match="y must hold real numbers"):
            call(None)
    with pytest.raises(ValueError, match="X must hold the 1 inputs known in advance, got None"):
        model.forecast(3)
    with pytest.raises(ValueError, match="X must have 3 time steps here, got 2"):
        model.forecast(3, LONG[:2])
    with pytest.raises(ValueError, match="X has 2 features"):
        model.forecast(3, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="steps must be a whole number of at least 1, got 0"):
        model.forecast(0)
    with pytest.raises(ValueError, match="interval must be a finite number in"):
        model.forecast(3, LONG[:3], interval=1.5)
    with pytest.raises(ValueError, match="y has 2 features"):
        model.update(np.zeros((5, 2)), LONG[:5])
    model.fit(LONG)
    with pytest.raises(ValueError, match="X must be None"):
        model.forecast(3, LONG[:3])
    with pytest.raises(ValueError, match="X must be None"):
        model.update(LONG, LONG)
    with pytest.raises(ValueError, match=r"held-out forecasts, got .* that reach step"):
        model.forecast(200, interval=0.9)
    with pytest.raises(ValueError, match="longer than the horizon"):
        model.score([1.0])
    none = StateForecaster(pe.ParalESN(**SMALL), held_out=0, **PLAIN).fit(LONG)
    with pytest.raises(ValueError, match="held_out is 0"):
        none.forecast(3, interval=0.9)
    last = StateForecaster(pe.ParalESN(**SMALL), horizon=5, only_last=True, **PLAIN).fit(LONG)
    with pytest.raises(ValueError, match="steps must be None or the horizon, 5"):
        last.forecast(7)
    other = StateForecaster(pe.ParalESN(**SMALL), LinearRegression(), **PLAIN).fit(LONG)
    with pytest.raises(ValueError, match="refit must be False with a readout that cannot"):
        other.update(LONG, refit=True)


def test_a_loop_that_diverges_says_so():
    """Raw linear states and a wild readout."""
    model = StateForecaster(pe.ParalESN(units=5, mixing=False), pe.Ridge([0.0]), washout=0, **PLAIN)
    model.fit(np.exp(np.arange(60) / 4))
    with pytest.raises(ValueError, match="the closed loop diverged"):
        model.forecast(100_000)

"""Noise, spin-up, penalties chosen by loops, other starts: against loops and sums by hand."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LinearRegression

import paralesn as pe
from paralesn.datasets import lorenz63
from paralesn.estimators.live import Live
from paralesn.estimators.state_forecaster import learning
from paralesn.estimators.state_forecaster import training_noise as noise_module
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.estimators.state_forecaster.training_noise import gaussian_noise
from paralesn.reservoirs.autonomous import ClosedLoop

LOOP = {"strategy": "closed-loop"}


def esn(**how):
    return pe.ESN(units=15, input_scale=0.3, seed=1, **how)


def bare(readout=None, **options):
    """A forecaster that reads series as they are."""
    readout = pe.Ridge([1e-3]) if readout is None else readout
    options = {"washout": 30, "standardize": False, "held_out": 0.0} | options
    return StateForecaster(esn(), readout, **options)


def unit(y):
    return (y - y.mean(axis=0)) / y.std(axis=0)


def chaos(steps=400, seed=1):
    return unit(lorenz63(steps, seed=seed))


def loop_by_hand(y, coef, intercept, steps, difference=True):
    """Read y from zero, then one prediction after the other."""
    reservoir, state = esn(), None
    for x in y:
        z, state = reservoir.step(x, state)
    fields = []
    for _ in range(steps):
        x = coef @ z + intercept + (x if difference else 0.0)
        fields.append(x)
        z, state = reservoir.step(x, state)
    return np.array(fields)


def same_solution(ridge, Z, targets, alpha=1e-3):
    by_hand = pe.Ridge([alpha]).fit(Z, targets)
    coef = by_hand.coef_
    np.testing.assert_allclose(ridge.coef_, coef, atol=1e-7 * np.abs(coef).max())
    assert ridge.n_samples_seen_ == len(Z)


# -- noise as numbers ----------------------------------------------------------------------------------


@given(
    first=st.integers(0, 10**9), before=st.integers(0, 30), steps=st.integers(1, 20),
    columns=st.integers(1, 13),
)  # fmt: skip
def test_the_noise_of_a_step_depends_on_its_number_only(first, before, steps, columns):
    whole = gaussian_noise(first, before + steps, columns)
    np.testing.assert_array_equal(gaussian_noise(first + before, steps, columns), whole[before:])


def test_noise_is_standard_gaussian():
    noise = gaussian_noise(12345, 50_000, 6)
    n = noise.size
    flat = noise.ravel()
    assert abs(flat.mean()) < 5 / np.sqrt(n)
    assert abs(flat.var() - 1) < 5 * np.sqrt(2 / n)
    assert abs(stats.skew(flat)) < 5 * np.sqrt(6 / n)
    assert abs(stats.kurtosis(flat)) < 5 * np.sqrt(24 / n)
    assert stats.kstest(flat, "norm").pvalue > 1e-3
    # of columns among each other, of neighbouring steps, and of other seeds
    others = np.column_stack([noise[1:], noise[:-1], gaussian_noise(12345, 50_000, 6, seed=1)[1:]])
    correlation = np.corrcoef(others.T) - np.eye(18)
    assert np.abs(correlation).max() < 5 / np.sqrt(50_000)
    assert np.unique(flat).size == n


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (0, stats.norm.ppf(2.0**-53)),
        (2**64 - 1, stats.norm.isf(2.0**-53)),
        (2**64 - 2**11, stats.norm.isf(2.0**-53)),
        (2**63, 0.0),
    ],
)
def test_no_random_number_makes_infinite_noise(word, expected, monkeypatch):
    class Extreme:
        def __init__(self, **ignored):
            pass

        def random_raw(self, count):
            return np.full(count, word, np.uint64)

    monkeypatch.setattr(noise_module.np.random, "Philox", Extreme)
    noise = gaussian_noise(0, 2, 3)
    np.testing.assert_allclose(noise, np.full((2, 3), expected), rtol=1e-9, atol=1e-15)


# -- noise in training ---------------------------------------------------------------------------------


class Recorder(LinearRegression):
    """A readout that remembers what it was fitted to."""

    def fit(self, X, y):
        self.lessons_ = np.array(X), np.array(y)
        return super().fit(X, y)


@pytest.mark.parametrize("values", [1, 700, 5_000])
@pytest.mark.parametrize("horizon", [1, 3])
def test_blocks_do_not_change_a_bit_of_what_is_learnt_from(values, horizon, monkeypatch):
    y = chaos()
    expected = bare(Recorder(), noise=0.05, horizon=horizon).fit(y)
    ridge = bare(noise=0.05, horizon=horizon).fit(y)
    monkeypatch.setattr(learning, "_VALUES", values)
    found = bare(Recorder(), noise=0.05, horizon=horizon).fit(y)
    for a, b in zip(found.readout_.lessons_, expected.readout_.lessons_, strict=True):
        np.testing.assert_array_equal(a, b)
    again = bare(noise=0.05, horizon=horizon).fit(y)
    tolerance = 1e-8 * np.abs(ridge.readout_.coef_).max()
    np.testing.assert_allclose(again.readout_.coef_, ridge.readout_.coef_, atol=tolerance)


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("difference", [False, True])
def test_inputs_are_noisy_and_targets_are_clean(horizon, difference):
    y, noise = chaos(), 0.1
    model = bare(noise=noise, difference=difference, horizon=horizon).fit(y)
    read = y + noise * gaussian_noise(0, len(y), 3)
    states = esn().run(read[:-horizon])[0]
    targets = [
        (y[t + 1 : t + 1 + horizon] - (read[t] if difference else 0)).ravel()
        for t in range(len(y) - horizon)
    ]
    same_solution(model.readout_, states[30:], np.array(targets)[30:])
    # The state that forecasts start from has seen no noise.
    clean = esn().run(y[None, :-horizon])[1]
    np.testing.assert_allclose(model.state_.layers[0], clean.layers[0], atol=1e-12)
    if horizon == 1:
        expected = loop_by_hand(y, model.readout_.coef_, model.readout_.intercept_, 5, difference)
        np.testing.assert_allclose(model.forecast(5), expected, atol=1e-9)


def test_noise_is_in_standard_deviations_of_the_series():
    y = lorenz63(400, seed=1) * [1.0, 20.0, 0.01] + 7
    models = [
        pe.ReservoirForecaster(esn(), pe.Ridge([1e-3]), **LOOP, noise=0.05).fit(part)
        for part in (y, unit(y))
    ]
    np.testing.assert_allclose(*(model.readout_.coef_ for model in models), atol=1e-8)


def test_every_series_of_a_shared_readout_has_its_own_noise():
    y = chaos()
    model = bare(noise=0.1, shared=True).fit(y)
    read = y + 0.1 * gaussian_noise(0, len(y), 3)
    Z, targets = [], []
    for k in range(3):
        Z.append(esn().run(read[:-1, k])[0][30:])
        targets.append(y[31:, k] - read[30:-1, k])
    same_solution(model.readout_, np.concatenate(Z), np.concatenate(targets)[:, None])


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("cuts", [(200,), (150, 151, 390), (60, 399)])
def test_learning_in_parts_meets_the_same_noise(horizon, cuts):
    y = chaos()
    parts, whole = (bare(noise=0.1, horizon=horizon) for _ in range(2))
    parts.fit(y[: cuts[0]])
    for first, last in zip(cuts, (*cuts[1:], 400), strict=True):
        parts.partial_fit(y[first:last])
    whole.fit(y)
    coef = whole.readout_.coef_
    np.testing.assert_allclose(parts.readout_.coef_, coef, atol=1e-6 * np.abs(coef).max())
    np.testing.assert_allclose(parts.forecast(4), whole.forecast(4), atol=1e-6)
    noisy, expected = parts.fitted_.noisy.layers[0], whole.fitted_.noisy.layers[0]
    np.testing.assert_allclose(noisy, expected, atol=1e-12)


def test_noise_goes_on_after_steps_that_were_only_read():
    y = chaos()
    model = bare(noise=0.1).fit(y[:200]).update(y[200:300]).partial_fit(y[300:])
    noise = 0.1 * gaussian_noise(0, 400, 3)
    read = y + noise
    first = esn().run(read[:199])[0]
    after_reading = y + np.where(np.arange(400)[:, None] >= 299, noise, 0.0)
    second = esn().run(after_reading[:-1])[0]
    Z = np.concatenate([first[30:], second[299:]])
    targets = np.concatenate([(y[1:] - read[:-1])[30:199], (y[1:] - read[:-1])[299:]])
    same_solution(model.readout_, Z, targets)
    np.testing.assert_allclose(
        model.forecast(3), loop_by_hand(y, model.readout_.coef_, model.readout_.intercept_, 3)
    )


def test_without_noise_nothing_changes():
    y = chaos()
    plain, zero = (pe.ReservoirForecaster(esn(), **LOOP, **more) for more in ({}, {"noise": 0}))
    np.testing.assert_array_equal(plain.fit(y).forecast(9), zero.fit(y).forecast(9))
    assert zero.fitted_.loop.fitted_.noisy is None
    np.testing.assert_array_equal(plain.readout_.coef_, zero.readout_.coef_)
    other = pe.ReservoirForecaster(esn(), **LOOP, noise=1e-3).fit(y)
    assert not np.array_equal(other.readout_.coef_, plain.readout_.coef_)


def test_a_little_noise_keeps_a_loop_from_running_away():
    y = lorenz63(600, seed=2)
    reservoir = pe.ESN(units=60, input_scale=0.3, seed=1)
    models = [
        pe.ReservoirForecaster(reservoir, pe.Ridge([1e-10]), **LOOP, noise=noise).fit(y)
        for noise in (0.0, 0.02)
    ]
    with pytest.raises(ValueError, match="the closed loop ran away"):
        models[0].forecast(3000)
    values, span = models[1].forecast(3000), np.ptp(y, axis=0)
    assert (values < y.max(axis=0) + 0.2 * span).all()
    assert (values > y.min(axis=0) - 0.2 * span).all()
    assert (values[1500:].std(axis=0) > 0.5 * y.std(axis=0)).all()  # and it is still chaos


def test_rows_are_not_learnt_from_with_noise():
    model = pe.ReservoirForecaster(esn(), **LOOP, noise=0.01).fit(chaos())
    with pytest.raises(ValueError, match=re.escape("without noise, got 0.01")):
        Live(model, learn=True)
    assert Live(model).read(np.zeros(3)).shape == (1, 3)


# -- spin-up -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spin_up", "skipped"), [(0, 0), (37, 37), (None, 80), (398, 398)])
def test_steps_of_the_spin_up_are_not_learnt_from(spin_up, skipped):
    y = chaos()
    model = pe.ReservoirForecaster(esn(), pe.Ridge([1e-3]), **LOOP, spin_up=spin_up).fit(y)
    states, targets = esn().run(y[:-1])[0], y[1:]
    if model.closed_loop_.difference:
        targets = targets - y[:-1]
    same_solution(model.readout_, states[skipped:], targets[skipped:])


def test_spin_up_must_leave_something_to_learn_from():
    y = chaos()
    for spin_up in (399, 5000):
        message = re.escape(f"y must be longer than spin_up + horizon ({spin_up} + 1) time steps")
        with pytest.raises(ValueError, match=message):
            pe.ReservoirForecaster(**LOOP, spin_up=spin_up).fit(y)
    with pytest.raises(ValueError, match=re.escape("spin_up + horizon (396 + 5)")):
        pe.ReservoirForecaster(**LOOP, spin_up=396, horizon=5).fit(y)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("noise", -1e-9, ValueError), ("noise", np.nan, ValueError), ("noise", np.inf, ValueError),
        ("noise", True, TypeError), ("noise", "0.1", TypeError), ("noise", None, TypeError),
        ("spin_up", -1, ValueError), ("spin_up", 2.0, TypeError), ("spin_up", True, TypeError),
        ("spin_up", "10", TypeError),
    ],
)  # fmt: skip
@pytest.mark.parametrize("strategy", ["auto", "closed-loop"])
def test_wrong_values_are_named(name, value, error, strategy):
    with pytest.raises(error, match=f"^{name} must be"):
        pe.ReservoirForecaster(strategy=strategy, **{name: value}).fit(np.arange(50.0))


@pytest.mark.parametrize(("name", "value"), [("noise", 0.1), ("spin_up", 0), ("spin_up", 10)])
def test_options_of_the_loop_need_the_loop(name, value):
    message = re.escape(f"{name} needs strategy='closed-loop', got {value}")
    with pytest.raises(ValueError, match=message):
        pe.ReservoirForecaster(**{name: value}).fit(np.arange(50.0))


def test_changes_are_read_without_noise():
    with pytest.raises(ValueError, match="noise must be 0 with difference='inputs'"):
        bare(noise=0.1, difference="inputs").fit(chaos())


# -- the penalty, chosen by loops ----------------------------------------------------------------------


def scores_by_hand(y, alphas, origins=12, reservoir=esn, washout=30, noise=0.0, outputs=3):
    """Mean logarithm of the error of loops into the last fifth, until they are lost."""
    n, held = len(y), len(y) // 5
    read = y + noise * gaussian_noise(0, n, y.shape[1])
    learnt = slice(washout, n - 1 - held)
    Z, targets = reservoir().run(read[:-1])[0][learnt], (y[1:] - read[:-1])[learnt]
    possible = np.unique(np.linspace(n - held - 1, n - 2, min(200, held)).astype(int))
    starts = possible[np.unique(np.linspace(0, len(possible) - 1, origins).astype(int))]
    spread = y[n - held - 2 :].std(axis=0)
    scores = []
    for alpha in alphas:
        ridge = pe.Ridge([alpha]).fit(Z, targets)
        logs = []
        for o in starts:
            lost, truth = False, y[o + 1 : o + 1 + 400]
            for forecast, value in zip(loop_by_hand(y[: o + 1], ridge.coef_, ridge.intercept_,
                                                    len(truth)), truth, strict=True):  # fmt: skip
                error = np.sqrt((((forecast - value) / spread) ** 2).mean())
                lost = lost or not error < 1
                logs.append(0.0 if lost else np.log(max(error, 1e-12)))
        scores.append(np.mean(logs))
    return np.array(scores)


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_the_penalty_is_that_of_the_best_loops(noise):
    y, alphas = chaos(250, seed=2), (100.0, 1e-6, 1.0, 0.1, 1e4)  # few enough to try them all
    model = bare(pe.Ridge(alphas), held_out=0.2, by_loop=True, noise=noise).fit(y)
    expected = scores_by_hand(y, alphas, noise=noise)
    np.testing.assert_allclose(model.readout_.scores_[:, 0], expected, rtol=1e-3, atol=1e-3)
    best = np.sort(expected)[:2]
    assert best[1] - best[0] > 0.01  # ten times what loops by hand may differ by
    assert model.readout_.alpha_ == alphas[expected.argmin()]
    # Of all rows, with that penalty.
    same = bare(pe.Ridge([model.readout_.alpha_]), noise=noise).fit(y)
    np.testing.assert_allclose(model.readout_.coef_, same.readout_.coef_, rtol=1e-6, atol=1e-9)


def test_a_coarse_search_finds_the_best_of_many_penalties():
    y, alphas = chaos(250), np.logspace(-5, 4, 19)
    model = bare(pe.Ridge(alphas), held_out=0.2, by_loop=True).fit(y)
    expected, found = scores_by_hand(y, alphas), model.readout_.scores_[:, 0]
    tried = np.isfinite(found)
    assert tried.sum() < len(alphas)
    np.testing.assert_allclose(found[tried], expected[tried], rtol=1e-3, atol=1e-3)
    assert model.readout_.alpha_ == alphas[expected.argmin()]
    shuffled = np.random.default_rng(0).permutation(alphas)
    other = bare(pe.Ridge(shuffled), held_out=0.2, by_loop=True).fit(y)
    assert other.readout_.alpha_ == model.readout_.alpha_


def test_loops_of_a_field_choose_one_penalty_for_all_patches():
    t, place = np.arange(250)[:, None], 2 * np.pi * np.arange(6) / 6
    y = np.sin(place - 0.05 * t) + 0.5 * np.sin(2 * place + 0.11 * t)
    local = pe.LocalReservoirs(esn(), size=2, overlap=1)
    alphas = (1e-8, 1e-2, 1.0, 1e4)
    options = {"washout": 30, "standardize": False}
    model = StateForecaster(local, pe.Ridge(alphas), by_loop=True, **options).fit(y)
    held, expected = 50, []
    starts = np.unique(np.linspace(0, held - 1, 4).astype(int)) + 250 - held - 1
    spread = y[250 - held - 2 :].std(axis=0)
    for alpha in alphas:
        judge = StateForecaster(local, pe.Ridge([alpha]), held_out=0.0, **options)
        judge.fit(y[: 250 - held])
        logs = []
        for o in starts:
            truth = y[o + 1 :]
            errors = (judge.reading(y[: o + 1]).forecast(len(truth)) - truth) / spread
            errors = np.sqrt((errors**2).mean(axis=1))
            errors[np.maximum.accumulate(errors >= 1)] = 1.0
            logs.extend(np.log(errors))
        expected.append(np.mean(logs))
    found, expected = model.readout_.scores_[:, 0], np.array(expected)
    tried = np.isfinite(found)  # what is far behind is given up
    np.testing.assert_allclose(found[tried], expected[tried], rtol=1e-5)
    assert (expected[~tried] > expected.min() + 2).all()
    assert model.readout_.alpha_ == alphas[np.argmin(expected)]


@pytest.mark.parametrize(
    ("readout", "options"),
    [
        (pe.Ridge(per_target=True), {}),
        (pe.Ridge(), {"horizon": 2}),
        (pe.Ridge(), {"held_out": 0.0}),
    ],
)
def test_where_there_is_no_loop_to_choose_by_single_steps_do(readout, options):
    y = chaos()
    options = {"held_out": 0.2} | options
    models = [bare(readout, by_loop=by_loop, **options).fit(y) for by_loop in (True, False)]
    for name in ("alpha_", "scores_", "coef_"):
        np.testing.assert_array_equal(*(getattr(model.readout_, name) for model in models))


def test_the_choice_by_loops_stays_when_more_is_learnt():
    y = chaos()
    model = bare(pe.Ridge([1e-6, 1e-3, 1.0]), held_out=0.2, by_loop=True).fit(y[:300])
    alpha = model.readout_.alpha_
    model.partial_fit(y[300:])
    same = bare(pe.Ridge([alpha])).fit(y)
    assert model.readout_.alpha_ == alpha
    coef = same.readout_.coef_
    np.testing.assert_allclose(model.readout_.coef_, coef, atol=1e-6 * np.abs(coef).max())


def test_a_ridge_chooses_by_scores_from_elsewhere(rng):
    Z, y = rng.normal(size=(50, 4)), rng.normal(size=(50, 2))
    ridge = pe.Ridge([1.0, 10.0, 100.0]).fit(Z, y)
    for i, alpha in enumerate(ridge.alphas):
        other = pe.Ridge([alpha]).fit(Z, y)
        np.testing.assert_allclose(ridge.path_.coefs[i].T, other.coef_, atol=1e-10)
        np.testing.assert_allclose(ridge.path_.intercepts[i], other.intercept_, atol=1e-10)
        scores = np.full(3, 5.0)
        scores[i] = -1.0
        chosen = ridge.choose_by(scores)
        assert chosen is ridge
        assert ridge.alpha_ == alpha
        np.testing.assert_array_equal(ridge.scores_, np.column_stack([scores, scores]))
        np.testing.assert_allclose(ridge.predict(Z), other.predict(Z), atol=1e-10)
    ridge.choose_by([3.0, np.inf, np.inf])
    assert ridge.partial_fit(Z, -y).alpha_ == 1.0  # the choice stays
    for wrong in ([1.0, 2.0], np.ones((3, 2)), [1.0, np.nan, 2.0], 1.0):
        with pytest.raises(ValueError, match="scores must be 3 numbers, one for each alpha"):
            ridge.choose_by(wrong)
    with pytest.raises(Exception, match="not fitted"):
        pe.Ridge().choose_by(np.ones(6))


def test_by_loop_is_a_flag():
    with pytest.raises(TypeError, match="by_loop must be True or False"):
        bare(by_loop=1).fit(chaos())


# -- another start -------------------------------------------------------------------------------------


def test_another_start_is_read_from_zero():
    y, other = lorenz63(500, seed=1), lorenz63(120, seed=5)
    model = pe.ReservoirForecaster(esn(), pe.Ridge([1e-6]), **LOOP, noise=1e-4).fit(y)
    before, held = model.forecast(6, interval=0.8), pickle.dumps(model)
    scaled = (other - y.mean(axis=0)) / y.std(axis=0)
    expected = loop_by_hand(scaled, model.readout_.coef_, model.readout_.intercept_, 6)
    expected = expected * y.std(axis=0) + y.mean(axis=0)
    np.testing.assert_allclose(model.forecast(6, y=other), expected, rtol=1e-7)
    np.testing.assert_array_equal(model.forecast(other, interval=None), model.forecast(1, y=other))
    _, lower, upper = model.forecast(6, interval=0.8, y=other)
    np.testing.assert_allclose(lower - expected, before.lower - before.values, atol=1e-6)
    np.testing.assert_allclose(upper - expected, before.upper - before.values, atol=1e-6)
    for a, b in zip(model.forecast(6, interval=0.8), before, strict=True):
        np.testing.assert_array_equal(a, b)
    assert pickle.dumps(model) == held


@pytest.mark.parametrize("horizon", [1, 3])
def test_another_start_is_where_an_update_of_everything_leads(horizon):
    y = chaos()
    model = pe.ReservoirForecaster(esn(), **LOOP, horizon=horizon).fit(y[:300])
    whole = model.forecast(5, y=y[:340])
    np.testing.assert_allclose(whole, model.update(y[300:340]).forecast(5), atol=1e-9)


def test_frames_go_on_after_their_own_index():
    pd = pytest.importorskip("pandas")
    y = lorenz63(400, seed=1)
    days = pd.date_range("2020-01-01", periods=400, freq="D")
    frame = pd.DataFrame(y, index=days, columns=list("xyz"))
    model = pe.ReservoirForecaster(esn(), **LOOP).fit(frame[:300])
    hours = pd.date_range("2031-05-01", periods=60, freq="h")
    start = pd.DataFrame(y[310:370], index=hours, columns=list("xyz"))
    found = model.forecast(3, y=start)
    assert list(found.index) == list(pd.date_range("2031-05-03 12:00", periods=3, freq="h"))
    assert list(found.columns) == list("xyz")
    expected = model.forecast(3, y=y[310:370])
    assert isinstance(expected, np.ndarray)  # as it came
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert model.forecast(1).index[0] == days[300]
    bounds = model.forecast(2, interval=0.8, y=start)
    assert list(bounds.index) == list(found.index[:2])
    for wrong in (list("zyx"), ["x", "y", "w"]):
        renamed = start[wrong] if wrong == list("zyx") else start.set_axis(wrong, axis=1)
        with pytest.raises(ValueError, match="y must have the columns"):
            model.forecast(3, y=renamed)
        following = renamed.set_index(days[300:360])
        with pytest.raises(ValueError, match="y must have the columns"):
            model.update(following)


def test_long_frames():
    pd = pytest.importorskip("pandas")
    y = lorenz63(400, seed=1)[:, 0]
    days = pd.date_range("2020-01-01", periods=400, freq="D")
    frame = pd.DataFrame({"unique_id": "a", "ds": days, "y": y})
    model = pe.ReservoirForecaster(esn(), **LOOP).fit(frame[:300])
    other = frame[300:350].assign(unique_id="b")
    found = model.forecast(2, y=other)  # another start may have a name of its own
    assert found["unique_id"].tolist() == ["b", "b"]
    assert found["ds"].tolist() == days[350:352].tolist()
    np.testing.assert_allclose(found["yhat"], model.forecast(2, y=y[300:350]).ravel(), rtol=1e-12)
    with pytest.raises(ValueError, match="y must hold the series 'a' of fit, got 'b'"):
        model.update(other)
    model.update(frame[300:350])
    assert model.forecast(1)["ds"].tolist() == [days[350]]


def test_starts_that_cannot_be_read():
    y = lorenz63(300, seed=1)
    model = pe.ReservoirForecaster(esn(), **LOOP).fit(y)
    before = model.forecast(3)
    broken = y[:50].copy()
    broken[17, 1] = np.nan
    for start, message in (
        (y[:50, :2], "y must hold 3 series, got 2"),
        (y[:50, 0], "y must hold 3 series, got 1"),
        (broken, "NaN at step 17"),
        (y[:1], "at least 2"),
        (np.where(np.isnan(broken), np.inf, broken), "inf"),
    ):
        with pytest.raises(ValueError, match=message):
            model.forecast(3, y=start)
    longer = pe.ReservoirForecaster(esn(), **LOOP, horizon=4).fit(y)
    with pytest.raises(
        ValueError, match=re.escape("longer than the horizon (4) time steps, got 4")
    ):
        longer.forecast(3, y=y[:4])
    assert longer.forecast(3, y=y[:5]).shape == (3, 3)
    with_inputs = pe.ReservoirForecaster(esn(), **LOOP).fit(y, np.sin(np.arange(300))[:, None])
    with pytest.raises(ValueError, match="y must be None for a loop with inputs known in advance"):
        with_inputs.forecast(3, y=y[:50])
    for wrong in ({"past": y}, {"static": y}):
        with pytest.raises(ValueError, match="past and static need strategy='auto'"):
            model.forecast(3, y=y[:50], **wrong)
    with pytest.raises(ValueError, match="past and static need strategy='auto'"):
        model.update(y[:50], past=y[:50])
    np.testing.assert_array_equal(model.forecast(3), before)


# -- the loop as a system of its own -------------------------------------------------------------------


@pytest.mark.parametrize("local", [False, True])
def test_the_loop_runs_as_the_forecast_does(local):
    y = np.column_stack([lorenz63(300, seed=1), lorenz63(300, seed=2)])
    reservoir = pe.LocalReservoirs(esn(), size=3, overlap=0) if local else esn()
    model = pe.ReservoirForecaster(reservoir, **LOOP, noise=1e-3).fit(y)
    loop = model.closed_loop_
    assert isinstance(loop, ClosedLoop)
    assert loop.weights.shape == ((3, 15) if local else (6, 15))
    expected = model.forecast(7)
    for same in (loop, pickle.loads(pickle.dumps(loop))):
        found = same.run(7)
        assert found.shape == (7, 1, 6)
        np.testing.assert_allclose(found[:, 0] * loop.scale + loop.mean, expected, rtol=1e-12)
    for steps, error in ((0, ValueError), (2.0, TypeError)):
        with pytest.raises(error, match="steps must be"):
            loop.run(steps)


@pytest.mark.parametrize("options", [{"shared": True}, {"difference": False}, {"standardize": True},
                                     {"shared": True, "standardize": True}])  # fmt: skip
def test_units_of_the_loop(options):
    y = lorenz63(300, seed=1)
    model = bare(**options).fit(y)
    loop = model.closed_loop_
    values = loop.mean + loop.scale * loop.run(5)
    np.testing.assert_allclose(values.reshape(5, 3), model.forecast(5), rtol=1e-9)


def test_the_loop_of_changes():
    y = lorenz63(300, seed=1)
    model = bare(difference="inputs", standardize=True).fit(y)
    loop = model.closed_loop_
    changes = (loop.mean + loop.scale * loop.run(5))[:, 0]
    np.testing.assert_allclose(y[-1] + changes.cumsum(axis=0), model.forecast(5), rtol=1e-9)


def test_where_there_is_no_loop():
    y = lorenz63(300, seed=1)
    for model in (pe.ReservoirForecaster(), pe.ReservoirForecaster(**LOOP)):
        with pytest.raises(AttributeError, match="after fit with strategy='closed-loop'"):
            _ = model.closed_loop_
        assert not hasattr(model, "closed_loop_")
    with pytest.raises(AttributeError, match="after fit with strategy='closed-loop'"):
        _ = pe.ReservoirForecaster(horizon=2).fit(y[:60, 0]).closed_loop_
    for model, message in (
        (pe.ReservoirForecaster(esn(), **LOOP, horizon=2).fit(y), "got horizon=2, Ridge and 0"),
        (pe.ReservoirForecaster(esn(), **LOOP).fit(y, y[:, :2]), "got horizon=1, Ridge and 2"),
        (pe.ReservoirForecaster(esn(), LinearRegression(), **LOOP).fit(y), "LinearRegression"),
    ):
        with pytest.raises(AttributeError, match=re.escape(message)):
            _ = model.closed_loop_
    with pytest.raises(Exception, match="not fitted"):
        _ = bare().closed_loop_


# -- files, and jobs on models -------------------------------------------------------------------------


@settings(max_examples=5)
@given(cut=st.integers(301, 380))
def test_a_saved_model_learns_on_through_the_same_noise(cut, tmp_path_factory):
    y, path = chaos(), tmp_path_factory.mktemp("saved") / "model"
    model = pe.ReservoirForecaster(esn(), **LOOP, noise=0.01, spin_up=25).fit(y[:300])
    model.partial_fit(y[300:cut])
    pe.save(model, path)
    loaded = pe.load(path)
    assert loaded.get_params(deep=False)["noise"] == 0.01
    assert loaded.get_params(deep=False)["spin_up"] == 25
    np.testing.assert_array_equal(
        loaded.fitted_.loop.fitted_.noisy.layers[0], model.fitted_.loop.fitted_.noisy.layers[0]
    )
    np.testing.assert_array_equal(loaded.forecast(3, y=y[:50]), model.forecast(3, y=y[:50]))
    np.testing.assert_array_equal(loaded.closed_loop_.run(3), model.closed_loop_.run(3))
    for one in (loaded, model):
        one.partial_fit(y[cut:])
    np.testing.assert_array_equal(loaded.readout_.coef_, model.readout_.coef_)


def test_backtests_follow_the_loop():
    y = chaos(330)
    model = pe.ReservoirForecaster(esn(), pe.Ridge([1e-4]), **LOOP, noise=1e-3, spin_up=40)
    judged = pe.backtest(model, y, horizon=5, origins=[300, 320], yardsticks=False, refit=True)
    errors = []
    for o in (300, 320):
        fresh = pe.ReservoirForecaster(**model.get_params(deep=False)).fit(y[:o])
        errors.append(np.abs(fresh.forecast(5) - y[o : o + 5]))
    np.testing.assert_allclose(judged.errors["model"]["mae"], np.mean(errors, axis=(0, 1)))

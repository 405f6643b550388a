"""Estimators that learn on, against models of everything at once."""

from copy import deepcopy

import numpy as np
import pytest
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

import paralesn as pe
from paralesn.estimators.live import Live
from paralesn.estimators.probabilities import PowerCalibration
from paralesn.estimators.state_forecaster.forecaster import StateForecaster


def weighted_ridge(Z, y, alpha, weight, at):
    """Predictions at states `at`, by scikit-learn on standardised states."""
    scaler = StandardScaler().fit(Z, sample_weight=weight)
    model = SklearnRidge(alpha, solver="svd").fit(scaler.transform(Z), y, sample_weight=weight)
    return model.predict(scaler.transform(at))


# -- regression ------------------------------------------------------------------------------------


def product_task(rng, steps=900):
    x = rng.uniform(-1, 1, (steps, 2))
    return x, np.column_stack([np.roll(x[:, 0], 2), x[:, 0] * np.roll(x[:, 1], 1)])


def regressor(**options):
    reservoir = pe.ParalESN(units=40, mix_scale=1.0, bias_scale=0.3)
    return pe.ReservoirRegressor(reservoir, pe.Ridge([0.1]), washout=50, **options)


@pytest.mark.parametrize("factor", [1.0, 0.99])
@pytest.mark.parametrize("sizes", [[1] * 60, [7, 1, 1, 200, 1, 50]])
def test_a_regressor_learns_on_as_from_everything(factor, sizes, rng):
    x, y = product_task(rng)
    model = regressor().fit(x[:400], y[:400])
    scaling, last = model.scaling_, 400
    weight = np.ones(350)
    for size in sizes:
        model.forget(factor).partial_fit(x[last : last + size], y[last : last + size])
        last += size
        weight = np.concatenate([weight * factor, np.ones(size)])
    assert model.scaling_ is scaling
    Z, _ = model.reservoir_.run(scaling.apply(x))
    expected = weighted_ridge(Z[50:last], y[50:last], 0.1, weight, Z)
    found = model.predict(x)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    ahead = model.predict(x[last:], state=model.state_)
    np.testing.assert_allclose(ahead, expected[last:], atol=1e-9)


def test_several_series_go_on_where_they_ended_or_others_begin(rng):
    x, y = product_task(rng, 400)
    X, Y = x.reshape(2, 200, 2), y.reshape(2, 200, 2)
    model = regressor().fit(X[:, :150], Y[:, :150]).partial_fit(X[:, 150:], Y[:, 150:])
    whole = regressor(standardize=False)
    scaled = model.scaling_.apply(X)
    whole.fit(scaled, Y)
    np.testing.assert_allclose(model.predict(X), whole.predict(scaled), atol=1e-9)
    with pytest.raises(ValueError, match=r"continue a batch of 2 series.*got one series; fresh"):
        model.partial_fit(x, y)
    model.partial_fit(x[:90], y[:90], fresh=True)
    Z = model.reservoir_.run(model.scaling_.apply(x[:90]))[0]
    both = np.vstack([*(z[50:] for z in model.reservoir_.run(scaled)[0]), Z[50:]])
    targets = np.vstack([*(t[50:] for t in Y), y[50:90]])
    expected = weighted_ridge(both, targets, 0.1, None, Z)
    np.testing.assert_allclose(model.predict(x[:90]), expected, atol=1e-9)
    with pytest.raises(ValueError, match="longer than the washout"):
        model.partial_fit(x[:50], y[:50], fresh=True)


def test_the_first_call_is_fit_and_what_is_refused_changes_nothing(rng):
    x, y = product_task(rng, 300)
    model = regressor().partial_fit(x[:200], y[:200])
    np.testing.assert_array_equal(model.predict(x), regressor().fit(x[:200], y[:200]).predict(x))
    before = model.fitted_
    for X, Y, message in (
        (x[200:201], [[1.0, np.nan]], "y must be finite"),
        ([[np.nan, 0.0]], y[200:201], "NaN"),
        (x[200:201, :1], y[200:201], "features"),
        (x[200:201], y[200:201, 0], r"must be of shapes"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, Y)
        assert model.fitted_ is before
    with pytest.raises(ValueError, match=r"factor must be .* got 0"):
        model.forget(0)
    with pytest.raises(ValueError, match="longer than the washout"):
        regressor().partial_fit(x[:10], y[:10])


def test_readouts_that_cannot_learn_on_say_so(rng):
    from sklearn.linear_model import LinearRegression

    x, y = product_task(rng, 300)
    model = pe.ReservoirRegressor(readout=LinearRegression(), washout=50)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as raised:
        model.partial_fit(x, y)
    assert "give readout=Ridge(...)" in str(raised.value.__cause__)
    with pytest.raises(TypeError, match=r"forget needs a Ridge readout.*LinearRegression"):
        model.fit(x, y).forget(0.9)


# -- classification --------------------------------------------------------------------------------


def waves(rng, count=60):
    t = np.arange(80)
    periods, labels = (9.0, 7.0, 5.0), ["a", "b", "c"]
    kinds = rng.integers(0, 3, count)
    X = [np.sin(t / periods[k] + rng.uniform(0, 6)) + 0.3 * rng.normal(size=80) for k in kinds]
    return np.array(X), np.array(labels)[kinds]


@pytest.mark.parametrize("features", ["pooled", "bank"])
def test_a_classifier_learns_on_as_from_everything(features, rng):
    X, y = waves(rng)
    chosen = (
        pe.PooledStates(pe.ParalESN(units=20)) if features == "pooled" else pe.FilterBank(units=64)
    )
    model = pe.ReservoirClassifier(chosen, pe.Ridge([1.0]))
    model.partial_fit(X[:20], y[:20], classes=["c", "b", "a"])
    for i in range(20, 50):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert model.classes_.tolist() == ["a", "b", "c"]
    Z = np.asarray(model.features_.transform(X), float)  # calibrated on the first twenty
    indicators = np.where(y[:50, None] == model.classes_, 1.0, -1.0)
    moving = Z[:50].std(axis=0) > 1e-12
    expected = weighted_ridge(Z[:50, moving], indicators, 1.0, None, Z[:, moving])
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-8)
    model.forget(0.5).partial_fit(X[50:], y[50:], sample_weight=np.full(10, 2.0))
    weight = np.r_[np.full(50, 0.5), np.full(10, 2.0)]
    indicators = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    expected = weighted_ridge(Z[:, moving], indicators, 1.0, weight, Z[:, moving])
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-8)


def test_what_a_classifier_refuses_to_learn_on(rng):
    X, y = waves(rng)
    model = pe.ReservoirClassifier()
    with pytest.raises(AttributeError) as raised:
        model.partial_fit(X, y)
    assert "got a DualRidge: give readout=Ridge(...)" in str(raised.value.__cause__)
    model = pe.ReservoirClassifier(pe.PooledStates(pe.ParalESN(units=20)))
    with pytest.raises(ValueError, match=r"classes must name all labels .* only \['a'\]"):
        model.partial_fit(X[y == "a"], y[y == "a"])
    model.partial_fit(X[y != "c"], y[y != "c"])
    before = model.fitted_
    with pytest.raises(ValueError, match=r"labels among \['a', 'b'\], got 'c'"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="classes must be those learnt"):
        model.partial_fit(X[:1], ["a"], classes=["a", "x"])
    assert model.fitted_ is before
    model.set_params(class_weight="balanced")
    with pytest.raises(ValueError, match="class_weight must be None or a dict for partial_fit"):
        model.partial_fit(X[:1], ["a"])


def test_a_classifier_of_scikit_learn_learns_on(rng):
    X, y = waves(rng)
    readout = SGDClassifier(random_state=0)
    model = pe.ReservoirClassifier(pe.PooledStates(pe.ParalESN(units=20)), readout)
    model.partial_fit(X[:30], y[:30], classes=["a", "b", "c"]).partial_fit(X[30:], y[30:])
    Z = model.features_.transform(X)
    alone = SGDClassifier(random_state=0).partial_fit(Z[:30], y[:30], classes=["a", "b", "c"])
    np.testing.assert_array_equal(model.predict(X), alone.partial_fit(Z[30:], y[30:]).predict(Z))


def noisy_waves(rng, count):
    X, y = waves(rng, count)
    return X + 0.1 * rng.normal(size=X.shape), y


@pytest.mark.parametrize("sizes", [[300], [40] + [1] * 260, [1] * 300, [20, 280]])
def test_probabilities_are_calibrated_on_by_what_comes(sizes, rng):
    X, y = noisy_waves(rng, 1300)
    features = pe.PooledStates(pe.ParalESN(units=20), standardize=False)
    model, last = pe.ReservoirClassifier(features, pe.Ridge([10.0])), 0
    assert hasattr(model, "predict_proba")
    for size in sizes:
        cut = slice(last, last + size)
        model.partial_fit(X[cut], y[cut], classes=["a", "b", "c"])
        last += size
    found = model.predict_proba(X[300:])
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X[300:]))
    loss = log_loss(y[300:], found)
    whole = pe.ReservoirClassifier(features, pe.Ridge([10.0])).fit(X[:300], y[:300])
    assert abs(loss - log_loss(y[300:], whole.predict_proba(X[300:]))) < 0.05
    assert loss < 0.9 * np.log(3)
    doubt = model.fitted_.calibration.doubt
    assert 0.9 < (1 / doubt - 2) / 300 <= 1.0  # the first of a class are no cases


def test_a_calibration_follows_what_changed(rng):
    X, y = noisy_waves(rng, 900)
    y[300:] = np.where(rng.random(600) < 0.6, rng.permutation(y[300:]), y[300:])  # labels get worse
    features = pe.PooledStates(pe.ParalESN(units=20), standardize=False)
    losses = {}
    for factor in (1.0, 0.99):
        model = pe.ReservoirClassifier(features, pe.Ridge([10.0])).fit(X[:300], y[:300])
        stale = model.fitted_.calibration
        for i in range(300, 700):
            model.forget(factor).partial_fit(X[i : i + 1], y[i : i + 1])
        decision = model.decision_function(X[700:])
        losses[factor] = log_loss(y[700:], model.predict_proba(X[700:]))
        assert losses[factor] < log_loss(y[700:], stale.probabilities(decision))
    cases = 1 / model.fitted_.calibration.doubt - 2
    np.testing.assert_allclose(cases, 300 * 0.99**400 + (1 - 0.99**400) / 0.01, rtol=0.01)


def test_fading_a_calibration_goes_back_to_where_it_began():
    before = PowerCalibration(1.5, 0.5)
    after = PowerCalibration(4.0, 0.01, 0.05)
    for factor, expected in ((1.0, after), (1e-12, before)):
        found = after.faded(factor)
        np.testing.assert_allclose(
            [found.power, found.doubt, found.spread],
            [expected.power, expected.doubt, expected.spread], rtol=1e-8,
        )  # fmt: skip
    halves = after.faded(0.5).faded(0.5)
    np.testing.assert_allclose(halves.power, after.faded(0.25).power, rtol=1e-12)


def test_series_without_weight_calibrate_nothing(rng):
    X, y = waves(rng)
    model = pe.ReservoirClassifier(pe.PooledStates(pe.ParalESN(units=20)), pe.Ridge([1.0]))
    model.fit(X[:50], y[:50])
    other = deepcopy(model).partial_fit(X[51:52], y[51:52])
    model.partial_fit(X[50:52], y[50:52], sample_weight=[0.0, 1.0])
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-7)


# -- forecasting -----------------------------------------------------------------------------------


def season(rng, steps=700):
    t = np.arange(steps)
    return np.sin(t / 4) * (1 + 0.3 * np.cos(t / 50)) + 0.1 * rng.normal(size=steps) + 5


@pytest.mark.parametrize("log", [False, True])
def test_the_readout_of_a_forecaster_is_that_of_all_its_rows(log, rng):
    y, h = season(rng), 6
    model = pe.ReservoirForecaster(horizon=h).fit(y[:500])
    k = [member.log for member in model.fitted_.ensemble.shared].index(log)
    for t in range(500, 560):
        model.partial_fit(y[t : t + 1])
    member = model.fitted_.ensemble.shared[k]
    read = np.log(y[:560]) if log else y[:560]
    changes = np.diff(read, prepend=read[0]) / member.scale[0]
    Z = member.reservoir.run(changes[:, None])[0]
    origins = np.arange(20, 560 - h)  # the washout of the fit; the last horizons are not complete
    wanted = (read[origins[:, None] + np.arange(1, h + 1)] - read[origins, None]) / member.scale[0]
    expected = weighted_ridge(Z[origins], wanted, member.readout.alpha_, None, Z[-3:])
    np.testing.assert_allclose(member.readout.predict(Z[-3:]), expected, atol=1e-8)
    np.testing.assert_allclose(member.latest[0], Z[-1], atol=1e-10)


def test_weights_follow_the_errors_of_forecasts_that_become_known(rng):
    y, h = season(rng), 3
    model = pe.ReservoirForecaster(horizon=h).fit(y[:400])
    ensemble = model.fitted_.ensemble
    errors, seen = ensemble.errors[0].copy(), 400 - 300.0
    made = []  # by every member, at every step
    for t in range(400, 450):
        if t >= 400 + h:
            truth = y[t - h + 1 : t + 1]
            seen += 1
            errors += (np.abs(made[t - 400 - h] - truth).mean(axis=1) - errors) / seen
        model.partial_fit(y[t : t + 1])
        now = model.fitted_.ensemble
        (bank,) = list(now.banks)
        made.append(
            np.stack([bank.forecast(y[: t + 1], h), *(m.forecast(h)[0] for m in now.shared)])
        )
    np.testing.assert_allclose(now.errors[0], errors, rtol=1e-6)
    power = min(max(now.spread.evidence[0], 4.0), 8.0)
    weights = errors**-power * np.array([4.0 * (len(errors) - 1) / 2, *[1.0] * (len(errors) - 1)])
    np.testing.assert_allclose(now.weights[0], weights / weights.sum(), rtol=1e-5)


@pytest.mark.parametrize("missing", [False, True])
def test_rows_one_by_one_or_together_are_the_same(missing, rng):
    y = np.column_stack([season(rng), 3 + 0.1 * np.cumsum(rng.normal(size=700))])
    if missing:
        y[520, 0] = y[530:533, 1] = np.nan
    one, together = (pe.ReservoirForecaster(horizon=4).fit(y[:500]) for _ in range(2))
    for t in range(500, 560):
        one.partial_fit(y[t : t + 1])
    together.partial_fit(y[500:560])
    for model in (one, together):
        model.update(y[560:570]).partial_fit(y[570:580])
    found, expected = (m.forecast(interval=0.8) for m in (one, together))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    plain = pe.ReservoirForecaster(horizon=4).fit(y[:500]).update(y[500:580])
    for mine, theirs in zip(one.fitted_.ensemble.banks, plain.fitted_.ensemble.banks, strict=True):
        np.testing.assert_allclose(mine.state, theirs.state, rtol=1e-12)
    assert np.isfinite(found[0]).all()


def test_intervals_learn_that_noise_has_grown(rng):
    y = np.concatenate([rng.normal(size=600), 4 * rng.normal(size=900)])
    model = pe.ReservoirForecaster(horizon=1, season=1).fit(y[:600])
    before = np.ptp([bound[0] for bound in model.forecast(interval=0.8)[1:]])
    inside = []
    for t in range(600, 1500):
        _, lower, upper = model.forecast(interval=0.8)
        inside.append(lower[0] <= y[t] <= upper[0])
        model.forget(0.99).partial_fit(y[t : t + 1])
    after = np.ptp([bound[0] for bound in model.forecast(interval=0.8)[1:]])
    assert 3 < after / before < 5
    assert 0.74 < np.mean(inside[300:]) < 0.88


def test_a_long_frame_learns_on_series_by_series(rng):
    pd = pytest.importorskip("pandas")
    days = pd.date_range("2024-01-01", periods=330)
    frame = pd.concat([
        pd.DataFrame({"unique_id": name, "ds": days, "y": season(rng, 330) * k})
        for k, name in ((1, "a"), (2, "b"))
    ])  # fmt: skip
    old, new = frame[frame.ds < days[300]], frame[frame.ds >= days[300]]
    model = pe.ReservoirForecaster(horizon=3).fit(old)
    model.partial_fit(new[new.unique_id == "a"][:10]).partial_fit(new[new.unique_id == "b"])
    model.partial_fit(new[new.unique_id == "a"][10:])
    values = model.forecast()
    assert (values.groupby("unique_id").ds.min() == days[-1] + pd.Timedelta("1D")).all()
    counts = [m.readout.n_samples_seen_ for m in model.fitted_.ensemble.shared]
    fitted = pe.ReservoirForecaster(horizon=3).fit(old)
    before = [m.readout.n_samples_seen_ for m in fitted.fitted_.ensemble.shared]
    assert [a - b for a, b in zip(counts, before, strict=True)] == [60] * len(counts)


@pytest.mark.parametrize("horizon", [1, 5])
def test_a_closed_loop_learns_row_by_row_as_from_everything(horizon, rng):
    y = season(rng)
    options = {"washout": 30, "held_out": 0, "standardize": False}
    model = StateForecaster(readout=pe.Ridge([1e-2]), horizon=horizon, **options).fit(y[:500])
    for t in range(500, 560):
        model.partial_fit(y[t : t + 1])
    whole = StateForecaster(readout=pe.Ridge([1e-2]), horizon=horizon, **options).fit(y[:560])
    np.testing.assert_allclose(model.forecast(), whole.forecast(), rtol=1e-8)
    assert model.readout_.n_samples_seen_ == whole.readout_.n_samples_seen_
    loop = pe.ReservoirForecaster(horizon=horizon, strategy="closed-loop").fit(y[:500])
    loop.forget(0.5).partial_fit(y[500:501])
    assert loop.readout_.fitted_.statistics.effective_samples < 300


def test_smoothers_alone_have_nothing_to_learn_but_their_errors(rng):
    y = season(rng)
    model = pe.SmootherBank(horizon=3).fit(y[:600])
    expected = pe.SmootherBank(horizon=3).fit(y[:600]).update(y[600:]).forecast()
    np.testing.assert_allclose(model.partial_fit(y[600:]).forecast(), expected, rtol=1e-12)


# -- live data -------------------------------------------------------------------------------------


def live_models(rng):
    y, (x, targets) = season(rng), product_task(rng, 700)
    yield "members", pe.ReservoirForecaster(horizon=4).fit(y[:600]), y[600:, None]
    loop = pe.ReservoirForecaster(horizon=3, strategy="closed-loop")
    yield "loop", loop.fit(y[:600]), y[600:, None]
    both = np.column_stack([y, y[::-1]])
    shared = StateForecaster(horizon=5, difference="inputs", shared=True, every=3)
    yield "steps", shared.fit(both[:600]), both[600:]
    yield "regressor", regressor().fit(x[:600], targets[:600]), np.hstack([x, targets])[600:]


@pytest.mark.parametrize("kind", ["members", "loop", "steps", "regressor"])
@pytest.mark.parametrize("factor", [1.0, 0.99])
def test_live_learning_is_partial_fit_and_resumes_bit_identically(kind, factor, rng, tmp_path):
    model, rows = next((m, r) for name, m, r in live_models(rng) if name == kind)
    pe.save(model, tmp_path / "model")
    whole = Live(model, learn=True, forget=factor)
    found = [whole.read(row) for row in rows]
    again = Live(pe.load(tmp_path / "model"), learn=True, forget=factor)
    for row in rows[:40]:
        again.read(row)
    pe.save(again.state, tmp_path / "state")
    again = Live(pe.load(tmp_path / "model"), learn=True, forget=factor)
    again.state = pe.load(tmp_path / "state")
    for row, expected in zip(rows[40:], found[40:], strict=True):
        np.testing.assert_array_equal(again.read(row), expected)
    other, last = pe.load(tmp_path / "model"), None
    for row in rows:
        if kind == "regressor":
            last = other.predict(row[None, :2], state=other.state_)
        if factor < 1 and not (kind == "steps" and not _learns_now(other)):
            other.forget(factor)
        if kind == "regressor":
            other.partial_fit(row[None, :2], row[None, 2:])
        else:
            other.partial_fit(row[None] if kind == "steps" else row)
    if last is None:
        last = np.reshape(other.forecast(), found[-1].shape)
    np.testing.assert_allclose(found[-1], last, rtol=1e-6, atol=1e-8)
    learnt = whole.learnt_model()
    pe.save(learnt, tmp_path / "learnt")
    learnt = pe.load(tmp_path / "learnt")
    if kind == "regressor":
        np.testing.assert_allclose(
            learnt.predict(rows[:5, :2], state=learnt.state_),
            other.predict(rows[:5, :2], state=other.state_), rtol=1e-7,
        )  # fmt: skip
    else:
        np.testing.assert_allclose(learnt.forecast(), other.forecast(), rtol=1e-6)
        np.testing.assert_allclose(
            learnt.update(rows[:3]).forecast(), other.update(rows[:3]).forecast(), rtol=1e-6
        )
    np.testing.assert_array_equal(
        Live(model).read(rows[0, : whole.width]),
        Live(pe.load(tmp_path / "model")).read(rows[0, : whole.width]),
    )


def _learns_now(model):
    """Whether the next row of a model that learns from every third one is learnt from."""
    return (model.fitted_.position - 100) % 3 == 0


def test_live_rows_without_a_target_are_only_predicted(rng):
    x, y = product_task(rng, 300)
    model = regressor().fit(x[:200], y[:200])
    live = Live(model, learn=True)
    live.read(x[200])
    live.read(np.r_[x[201], np.nan, 1.0])
    assert live.state.learnt.n_samples_seen_ == 150
    live.read(np.r_[x[202], y[202]])
    assert live.state.learnt.n_samples_seen_ == 151
    state = live.state
    with pytest.raises(ValueError, match="must be of shapes"):
        live.read(np.r_[x[203], 1.0])
    assert live.state is state
    with pytest.raises(ValueError, match="forget must be 1 without learn"):
        Live(model, forget=0.9)
    with pytest.raises(ValueError, match="needs learn=True"):
        Live(model).learnt_model()
    with pytest.raises(ValueError, match="nothing is learnt"):
        Live(model).read(np.r_[x[203], y[203]])


def test_a_regressor_with_feedback_learns_on_as_from_everything(rng):
    x, y = rng.uniform(size=(400, 1)), np.zeros(400)
    for t in range(1, 400):
        y[t] = 0.6 * y[t - 1] + 0.3 * x[t, 0] - 0.1 * y[t - 1] * x[t, 0]

    def model():
        return pe.ReservoirRegressor(
            pe.ESN(units=20, rho=0.5), pe.Ridge([1e-3]), feedback=True, standardize=False, washout=0
        )

    whole, parts = model().fit(x, y), model().fit(x[:250], y[:250])
    for start, stop in ((250, 251), (251, 260), (260, 400)):
        parts.partial_fit(x[start:stop], y[start:stop])
    np.testing.assert_allclose(parts.readout_.coef_, whole.readout_.coef_, rtol=1e-7, atol=1e-9)
    for mine, theirs in zip(parts.state_.layers, whole.state_.layers, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    with pytest.raises(ValueError, match="live learning needs a regressor without feedback"):
        Live(parts, learn=True)

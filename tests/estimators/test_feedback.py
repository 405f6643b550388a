"""Output feedback against a loop written out, and on tasks that need it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge as SkRidge
from sklearn.metrics import r2_score

import paralesn as pe
from paralesn import sources
from paralesn.estimators.feedback import prepare
from paralesn.estimators.live import Live
from paralesn.estimators.targets import targets_for


def generator(steps=2600, seed=0):
    """A frequency as input, a tone of that frequency as target: the phase is not in the input."""
    rng = np.random.default_rng(seed)
    control = np.repeat(rng.uniform(0.15, 0.4, steps // 50), 50)
    return control, np.sin(np.cumsum(control))


def model(**more):
    reservoir = pe.ESN(units=100, rho=0.8, input_scale=0.5, bias_scale=0.5)
    settings = {"feedback": True, "feedback_noise": 1e-2} | more
    return pe.ReservoirRegressor(reservoir, **settings)


@pytest.fixture(scope="module")
def fitted():
    x, y = generator()
    return model().fit(x[:2000], y[:2000])


# -- the equations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("readout", [None, SkRidge(1e-4)])
def test_it_is_the_loop_written_out(standardize, readout, rng):
    X, Y = rng.normal(size=(300, 2)), np.empty((300, 2))
    past = np.zeros(2)
    for t in range(300):
        past = Y[t] = np.tanh(0.5 * past[::-1] + X[t]) + np.array([0.5, 0.0])
    found = pe.ReservoirRegressor(
        pe.ESN(units=30, bias_scale=0.3), readout, washout=20, standardize=standardize,
        feedback=True,
    ).fit(X[:250], Y[:250])  # fmt: skip
    (layer,) = found.reservoir_.layers_
    assert layer.w_in.shape == (30, 4)
    assert found.n_features_in_ == 2
    mean, scale = np.zeros(4), np.ones(4)
    if standardize:
        both = np.hstack([Y[:250], X[:250]])
        mean, scale = both.mean(axis=0), both.std(axis=0)

    def step(h, fed, x):
        u = (np.concatenate([fed, x]) - mean) / scale
        return np.tanh(layer.recurrent.matrix @ h + layer.w_in @ u + layer.bias)

    h, fed, states = np.zeros(30), mean[:2], []
    for x, y in zip(X[:250], Y[:250], strict=True):  # the teacher's turn
        h = step(h, fed, x)
        states.append(h)
        fed = y
    learner = clone(readout) if readout is not None else pe.Ridge()
    learner.fit(np.array(states)[20:], Y[20:250])
    np.testing.assert_allclose(found.readout_.coef_, learner.coef_, atol=1e-6)
    expected = []
    for x in X[250:]:  # on its own
        h = step(h, fed, x)
        fed = np.ravel(found.readout_.coef_ @ h + found.readout_.intercept_)
        expected.append(fed)
    predicted = found.predict(X[250:], state=found.state_)
    np.testing.assert_allclose(predicted, expected, atol=1e-9)


def test_it_is_reservoirpys_connection_back(rng):
    nodes = pytest.importorskip("reservoirpy.nodes")
    x, y = rng.uniform(-1, 1, (600, 1)), np.zeros((600, 1))
    for t in range(1, 600):
        y[t] = np.tanh(0.5 * y[t - 1] + x[t])
    ours = pe.ReservoirRegressor(
        pe.ESN(units=30, bias_scale=0.2, rho=0.5), pe.Ridge([1e-3]), washout=50, standardize=False,
        feedback=True,
    ).fit(x[:500], y[:500])  # fmt: skip
    (layer,) = ours.reservoir_.layers_
    reservoir = nodes.Reservoir(  # which reads the input first, then what is fed back
        W=layer.recurrent.matrix, Win=layer.w_in[:, ::-1], bias=layer.bias, lr=1.0
    )
    readout = nodes.Ridge(ridge=1e-3)
    theirs = (reservoir >> readout) & (reservoir << readout)
    theirs.fit(x[:500], y[:500], warmup=50)
    readout.Wout = np.reshape(ours.readout_.coef_, (30, 1))  # penalties mean different things
    readout.bias = np.ravel(ours.readout_.intercept_)
    predicted = ours.predict(x[500:], state=ours.state_)
    np.testing.assert_allclose(predicted, theirs.run(x[500:]), atol=1e-12)


def test_noise_is_seeded_and_of_the_size_asked_for():
    x, y = generator(1000)
    one, two, other = (
        model(seed=seed, feedback_noise=0.1).fit(x, 5 * y).readout_.coef_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - other).max() > 1e-4
    source, targets = sources.source(x), targets_for(5 * y, sources.source(x))
    clean, _ = prepare(source, targets, True, 0.0, np.random.default_rng(0))
    noisy, _ = prepare(source, targets, True, 0.1, np.random.default_rng(0))
    np.testing.assert_allclose(clean.fed[0][1:, 0], 5 * y[:-1])
    assert (noisy.fed[0] - clean.fed[0]).std() == pytest.approx(0.5 * y.std(), rel=0.05)


# -- what it is for --------------------------------------------------------------------------------


def test_a_tone_of_a_given_frequency_needs_feedback(fitted):
    x, y = generator()
    without = model(feedback=False).fit(x[:2000], y[:2000])
    blind = without.predict(x[2000:2100], state=without.state_)
    heard = fitted.predict(x[2000:2100], state=fitted.state_)
    assert np.corrcoef(blind, y[2000:2100])[0, 1] < 0.3
    assert np.corrcoef(heard, y[2000:2100])[0, 1] > 0.9


def test_a_pattern_goes_on_without_input_where_noise_taught_it_to():
    t = np.arange(3200)
    y = np.stack([np.sin(t / 8), np.sin(t / 8) ** 3 + 0.5 * np.cos(t / 16)], axis=1)
    reservoir = pe.ESN(units=200, input_scale=0.3, bias_scale=0.3, tau=0.5)
    errors = []
    for noise in (0.0, 1e-4):
        found = pe.ReservoirRegressor(reservoir, feedback=True, feedback_noise=noise)
        found.fit(np.zeros(1200), y[:1200])
        made = found.predict(np.zeros(2000), state=found.state_)
        errors.append(np.abs(made - y[1200:]).max())
    assert errors[1] < 0.01 < 1.0 < errors[0]


# -- states ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["cpu", "reference", "torch"])
@pytest.mark.parametrize("kind", [pe.ESN, pe.ParalESN])
def test_predictions_continue_exactly(engine, kind):
    if engine == "torch":
        pytest.importorskip("torch")
    x, y = generator(700)
    found = pe.ReservoirRegressor(
        kind(units=40, engine=engine, input_scale=0.5), feedback=True, feedback_noise=0.05
    ).fit(x[:500], y[:500])
    whole, end = found.predict(x[500:600], state=found.state_, return_state=True)
    first, state = found.predict(x[500:537], state=found.state_, return_state=True)
    rest, last = found.predict(x[537:600], state=state, return_state=True)
    tolerance = 0.0 if engine == "cpu" else 1e-10
    np.testing.assert_allclose(np.concatenate([first, rest]), whole, rtol=0, atol=tolerance)
    for a, b in zip(last.layers, end.layers, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)
    fed = found.fitted_.feedback.scaling.apply(whole[-1:])
    np.testing.assert_allclose(end.layers[-1], fed, atol=1e-12)


def test_blocks_change_nothing(fitted, monkeypatch):
    from paralesn.estimators import feedback

    x, _ = generator()
    whole = fitted.predict(x[2000:], state=fitted.state_)
    monkeypatch.setattr(feedback, "_ROWS", 70)
    np.testing.assert_array_equal(fitted.predict(x[2000:], state=fitted.state_), whole)


def test_live_rows_and_files_go_on(fitted, tmp_path):
    x, _ = generator()
    expected = fitted.predict(x[2000:2100], state=fitted.state_)
    pe.save(fitted, tmp_path / "model")
    loaded = pe.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(x[2000:2100], state=loaded.state_), expected)
    live = Live(loaded)
    half = [live.read(row)[0, 0] for row in x[2000:2050, None]]
    with pytest.raises(ValueError, match="finite"):  # a bad row changes nothing
        live.read(np.array([np.nan]))
    pe.save(live.state, tmp_path / "state")
    live = Live(pe.load(tmp_path / "model"))
    live.state = pe.load(tmp_path / "state")
    half += [live.read(row)[0, 0] for row in x[2050:2100, None]]
    np.testing.assert_allclose(half, expected, atol=1e-9)


def test_known_targets_warm_it_up(fitted):
    x, y = generator()
    state = fitted.warm_up(x[:2000], y[:2000])  # what training ended with
    for a, b in zip(state.layers, fitted.state_.layers, strict=True):
        np.testing.assert_allclose(a, b, atol=0.2)  # but for the noise
    half = fitted.warm_up(x[:900], y[:900])
    rest = fitted.warm_up(x[900:2000], y[900:2000], half)
    for a, b in zip(rest.layers, state.layers, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    heard = fitted.predict(x[2000:2100], state=state)
    assert np.corrcoef(heard, y[2000:2100])[0, 1] > 0.9


def test_a_score_is_of_the_loop_after_a_washout_that_is_taught(fitted):
    x, y = generator()
    state = fitted.warm_up(x[2000:2050], y[2000:2050])
    made = fitted.predict(x[2050:2150], state=state)
    assert fitted.set_params(washout=50).score(x[2000:2150], y[2000:2150]) == pytest.approx(
        r2_score(y[2050:2150], made)
    )
    pairs = [x[2000:2150], x[2200:2290]], [y[2000:2150], y[2200:2290]]
    other = fitted.predict(x[2250:2290], state=fitted.warm_up(x[2200:2250], y[2200:2250]))
    expected = r2_score(np.concatenate([y[2050:2150], y[2250:2290]]), np.concatenate([made, other]))
    assert fitted.score(*pairs) == pytest.approx(expected)


def test_batches_and_lists_are_series_on_their_own(fitted):
    x, y = generator()
    pairs = [(x[a : a + n], y[a : a + n]) for a, n in ((0, 600), (700, 500), (1300, 600))]
    found = model(feedback_noise=0.0).fit([a for a, _ in pairs], [b for _, b in pairs])
    last = found.fitted_.feedback.restore(found.state_.layers[-1])
    np.testing.assert_allclose(last.ravel(), [b[-1] for _, b in pairs])
    later = [x[2000:2040], x[2000:2030], x[2100:2140]]
    predicted, end = found.predict(later, state=found.state_, return_state=True)
    for b, of_one in enumerate(predicted):
        state = pe.State(tuple(h[b] for h in found.state_.layers), found.state_.origin)
        alone, last = found.predict(later[b], state=state, return_state=True)
        np.testing.assert_allclose(of_one, alone, atol=1e-9)
        np.testing.assert_allclose(end.layers[0][b], last.layers[0], atol=1e-9)
    batch = np.stack([x[2000:2040], x[2100:2140]])[:, :, None]
    zero = found.predict(batch)
    np.testing.assert_allclose(zero[1], found.predict(batch[1]), atol=1e-9)


# -- what is refused -------------------------------------------------------------------------------


def test_a_loop_that_runs_away_is_an_error():
    x, y = generator(1000)
    found = pe.ReservoirRegressor(pe.NVAR(2, 3), feedback=True, washout=5)
    found.fit(x[:800], y[:800] + 0.3 * np.random.default_rng(0).normal(size=800))
    with pytest.raises(ValueError, match=r"the output feedback ran away: at step .* of series 0"):
        found.predict(50.0 * np.ones(200), state=found.state_)


def test_states_of_others_and_wrong_arguments_are_refused(fitted):
    x, y = generator(500)
    plain = model(feedback=False).fit(x, y)
    with pytest.raises(ValueError, match="state must come from this model, whose output"):
        fitted.predict(x, state=plain.state_)
    with pytest.raises(ValueError, match="state must come from this model"):
        plain.predict(x, state=fitted.state_)
    with pytest.raises(ValueError, match="feedback must be True in fit"):
        plain.warm_up(x, y)
    with pytest.raises(ValueError, match="y must have 1 targets as in fit, got 2"):
        fitted.warm_up(x, np.stack([y, y], axis=1))
    with pytest.raises(TypeError, match="feedback must be True or False, got 1"):
        model(feedback=1).fit(x, y)
    with pytest.raises(ValueError, match="feedback_noise must be a finite number"):
        model(feedback_noise=-1.0).fit(x, y)
    broken = y.copy()
    broken[7] = np.nan
    with pytest.raises(ValueError, match="y must be finite, got nan at step 7"):
        model(readout=pe.Ridge(nan_targets="omit")).fit(x, broken)
    with pytest.raises(ValueError, match="X must be finite, got NaN at step 3"):
        fitted.predict(np.where(np.arange(20) == 3, np.nan, 0.0))


def test_missing_inputs_are_read_as_without_feedback():
    x, y = generator(900)
    holes = x.copy()
    holes[[40, 300, 301]] = np.nan
    known = ~np.isnan(holes)
    filled = np.interp(np.arange(900), np.flatnonzero(known), holes[known])
    one = model(missing="interpolate").fit(holes[:800], y[:800])
    two = model().fit(filled[:800], y[:800])
    expected = two.predict(filled[800:], state=two.state_)
    np.testing.assert_allclose(one.predict(holes[800:], state=one.state_), expected, atol=1e-9)
    masked = model(missing="mask").fit(holes[:800], y[:800])
    assert masked.n_features_in_ == 1
    assert masked.reservoir_.n_features_in_ == 3  # the output, the input, whether it is missing
    live = Live(masked)
    found = [live.read(row)[0, 0] for row in holes[800:850, None]]
    np.testing.assert_allclose(
        found, masked.predict(holes[800:850], state=masked.state_), atol=1e-9
    )

"""Forecasts of fields: one readout for all patches, against loops and least squares by hand."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import Ridge as SklearnRidge

import paralesn as pe
from paralesn.estimators.live import Live
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.workflows.predict import PredictionRequest, predict_file
from paralesn.workflows.stream import LineReader, StateSaver, resume, start

FEATURES, SIZE, OVERLAP, PATCHES = 8, 2, 1, 4
WASHOUT = 20
INNER = {
    "paralesn": lambda **how: pe.ParalESN(units=12, bias_scale=0.3, mix_scale=0.5, **how),
    "deep": lambda **how: pe.ParalESN(units=8, layers=2, concat=True, mix_scale=0.5, **how),
    "esn": lambda **how: pe.ESN(units=12, input_scale=0.3, seed=2, **how),
    "nvar": lambda **how: pe.NVAR(delay=2, order=2, **how),
}
inner_reservoirs = pytest.mark.parametrize("kind", INNER)


def local(kind="paralesn", **how):
    return pe.LocalReservoirs(INNER[kind](**how), size=SIZE, overlap=OVERLAP)


def lattice(steps=400, features=FEATURES, seed=0):
    """Logistic maps on a ring, each coupled to its neighbours: chaos in space and time."""
    x = np.random.default_rng(seed).uniform(size=features)
    rows = []
    for _ in range(steps + 100):
        f = 1 - 1.55 * x**2
        x = 0.6 * f + 0.2 * (np.roll(f, 1) + np.roll(f, -1))
        rows.append(x)
    return np.array(rows[100:])


def waves(steps=400, features=FEATURES):
    t, place = np.arange(steps)[:, None], 2 * np.pi * np.arange(features) / features
    return 3 + np.sin(place - 0.05 * t) + 0.5 * np.sin(2 * place + 0.11 * t)


def read_by(patch, x):
    """What a patch reads of fields (…, features)."""
    first, n = patch * SIZE, x.shape[-1]
    columns = [*range(first, first + SIZE), *range(first - OVERLAP, first),
               *range(first + SIZE, first + SIZE + OVERLAP)]  # fmt: skip
    return x[..., np.array(columns) % n]


def own(patch, x):
    return x[..., patch * SIZE : (patch + 1) * SIZE]


def stacked(kind, y, horizon=1, washout=WASHOUT, difference=True):
    """States and targets of all patches below each other, as the definition says."""
    Z, targets = [], []
    for g in range(y.shape[1] // SIZE):
        states = INNER[kind]().run(read_by(g, y))[0]
        for t in range(washout, len(y) - horizon):
            Z.append(states[t])
            ahead = own(g, y)[t + 1 : t + 1 + horizon]
            targets.append((ahead - (own(g, y)[t] if difference else 0.0)).ravel())
    return np.array(Z), np.array(targets)


def ridge(Z, targets, alpha):
    """Weights and intercept by scikit-learn (or least squares) on standardised states."""
    mean, scale = Z.mean(axis=0), Z.std(axis=0)
    S = (Z - mean) / scale
    if alpha:
        found = SklearnRidge(alpha, solver="svd").fit(S, targets)
        coef, intercept = found.coef_ / scale, found.intercept_
    else:
        solution = np.linalg.lstsq(np.column_stack([S, np.ones(len(S))]), targets, rcond=None)[0]
        coef, intercept = solution[:-1].T / scale, solution[-1]
    return coef, intercept - coef @ mean


def loop_by_hand(kind, y, predict, steps, horizon=1, difference=True):
    """Feed back what `predict` says of each patch's state, `horizon` steps at a time."""
    fields, reservoir = list(y), INNER[kind]()
    while len(fields) < len(y) + steps:
        x, parts = np.array(fields), []
        for g in range(x.shape[1] // SIZE):
            z = reservoir.last(read_by(g, x))
            ahead = np.reshape(predict(z), (horizon, SIZE))
            parts.append(ahead + (own(g, x)[-1] if difference else 0.0))
        fields.extend(np.concatenate(parts, axis=1))
    return np.array(fields[len(y) : len(y) + steps])


def bare(kind="paralesn", readout=None, **options):
    """A forecaster that reads a field as it is."""
    readout = pe.Ridge([0.01]) if readout is None else readout
    return StateForecaster(local(kind), readout, standardize=False, washout=WASHOUT, **options)


# -- the readout and the loop ------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("difference", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.01])
@inner_reservoirs
def test_one_readout_learns_from_all_patches(kind, alpha, difference, horizon):
    y = lattice(200)
    model = bare(kind, pe.Ridge([alpha]), horizon=horizon, difference=difference).fit(y)
    Z, targets = stacked(kind, y, horizon, difference=difference)
    coef, intercept = ridge(Z, targets, alpha)
    assert model.readout_.n_samples_seen_ == PATCHES * (200 - horizon - WASHOUT) == len(Z)
    assert model.readout_.coef_.shape == coef.shape == (horizon * SIZE, Z.shape[1])
    tolerance = {"rtol": 1e-5, "atol": 1e-6 * np.abs(coef).max()}
    np.testing.assert_allclose(model.readout_.coef_, coef, **tolerance)
    np.testing.assert_allclose(model.readout_.intercept_, intercept, **tolerance)
    expected = loop_by_hand(
        kind, y, lambda z: model.readout_.coef_ @ z + model.readout_.intercept_, 7, horizon,
        difference,
    )  # fmt: skip
    np.testing.assert_allclose(model.forecast(7), expected, atol=1e-8)


@pytest.mark.parametrize("engine", ["reference", "torch"])
def test_the_engine_does_not_matter(engine):
    if engine == "torch":
        pytest.importorskip("torch")
    y = lattice()
    found, expected = (
        StateForecaster(local(engine=name), pe.Ridge([0.01])).fit(y).forecast(5, interval=0.8)
        for name in (engine, "cpu")
    )
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)


def test_threads_change_no_bit():
    y = lattice()
    one, two = (
        pe.ReservoirForecaster(local(n_jobs=jobs), strategy="closed-loop").fit(y) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.readout_.coef_, two.readout_.coef_)
    for a, b in zip(one.forecast(9, interval=0.8), two.forecast(9, interval=0.8), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("horizon", [1, 3])
def test_readouts_of_others(horizon):
    y = lattice()
    model = bare(readout=SklearnRidge(0.1), horizon=horizon).fit(y)
    Z, targets = stacked("paralesn", y, horizon)
    by_hand = SklearnRidge(0.1).fit(Z, targets)
    np.testing.assert_allclose(model.readout_.coef_, by_hand.coef_, atol=1e-7)
    expected = loop_by_hand("paralesn", y, lambda z: by_hand.predict(z[None])[0], 5, horizon)
    np.testing.assert_allclose(model.forecast(5), expected, atol=1e-7)
    same = pe.ReservoirForecaster(
        local(), SklearnRidge(0.1), strategy="closed-loop", horizon=horizon
    )
    assert same.fit(y).forecast(5, interval=0.8).lower.shape == (5, FEATURES)


def test_patches_of_a_single_value_have_flat_targets():
    y = lattice()
    one = pe.LocalReservoirs(INNER["paralesn"](), size=1, overlap=1)
    values = [
        StateForecaster(one, readout, standardize=False, washout=WASHOUT).fit(y).forecast(3)
        for readout in (pe.Ridge([0.0]), SklearnRidge(1e-10, solver="svd"))
    ]
    np.testing.assert_allclose(*values, atol=1e-5)


@inner_reservoirs
def test_a_moved_field_has_a_moved_forecast(kind):
    y = lattice()
    model = pe.ReservoirForecaster(local(kind), strategy="closed-loop").fit(y[:300])
    start = y[300:360]
    expected = model.forecast(6, y=start)
    for patches in (1, 3):
        moved = model.forecast(6, y=np.roll(start, patches * SIZE, axis=1))
        np.testing.assert_allclose(moved, np.roll(expected, patches * SIZE, axis=1), atol=1e-7)
    other = model.forecast(1, y=np.roll(start, 1, axis=1))  # by part of a patch: another field
    assert np.abs(other - np.roll(expected[:1], 1, axis=1)).max() > 1e-4


def test_learning_does_not_depend_on_where_the_ring_is_cut():
    y = lattice()
    models = [bare(readout=pe.Ridge([0.1])).fit(np.roll(y, by, axis=1)) for by in (0, SIZE)]
    np.testing.assert_allclose(*(m.readout_.coef_ for m in models), rtol=1e-6, atol=1e-9)


def test_it_forecasts_a_law_that_holds_everywhere():
    """A readout of NVAR finds the coupled maps themselves: products of neighbours of one step."""
    y = lattice(300, 16, seed=3)
    law = pe.LocalReservoirs(pe.NVAR(1, 2), size=2, overlap=1)
    model = pe.ReservoirForecaster(law, pe.Ridge([0.0]), strategy="closed-loop").fit(y[:200])
    np.testing.assert_allclose(model.forecast(10), y[200:210], atol=1e-9)
    np.testing.assert_allclose(model.forecast(10, y=lattice(60, 16, seed=9)[:40]),
                               lattice(60, 16, seed=9)[40:50], atol=1e-9)  # fmt: skip


# -- units -------------------------------------------------------------------------------------------


def test_all_values_of_a_field_have_one_unit():
    y = lattice() * 20 + 5
    y[:, 3] = 7.0  # a value that never changes is no reason for another unit
    model = pe.ReservoirForecaster(local(), pe.Ridge([0.01]), strategy="closed-loop").fit(y)
    scaling = model.fitted_.loop.scaling_
    np.testing.assert_allclose(scaling.mean, np.full(FEATURES, y.mean()), rtol=1e-12)
    np.testing.assert_allclose(scaling.scale, np.full(FEATURES, y.std()), rtol=1e-12)
    plain = bare().set_params(washout=80).fit((y - y.mean()) / y.std())
    expected = plain.forecast(2) * y.std() + y.mean()
    np.testing.assert_allclose(model.forecast(2), expected, rtol=1e-6)
    tiny = pe.ReservoirForecaster(local(), pe.Ridge([0.01]), strategy="closed-loop").fit(1e-6 * y)
    np.testing.assert_allclose(tiny.forecast(2), 1e-6 * expected, rtol=1e-5)


def test_a_loop_runs_away_from_the_range_of_the_whole_field():
    """A place where nothing happened yet may see what others did."""
    y = waves(features=16)
    y[:, :6] = 3.0
    model = pe.ReservoirForecaster(local(), pe.Ridge([1e-6]), strategy="closed-loop").fit(y)
    values = model.fitted_.loop.forecast(80)
    assert np.abs(values[:, :6] - 3).max() > 1.0  # more than the unit of a value without a range
    np.testing.assert_array_equal(model.forecast(80), values)


def test_a_field_that_is_constant():
    y = np.full((200, FEATURES), 4.0)
    model = pe.ReservoirForecaster(local(), strategy="closed-loop").fit(y)
    np.testing.assert_allclose(model.forecast(5), np.full((5, FEATURES), 4.0), atol=1e-9)


def test_single_precision():
    y = waves()
    exact, single = (
        pe.ReservoirForecaster(local(dtype=dtype), pe.Ridge([1.0]), strategy="closed-loop")
        for dtype in ("float64", "float32")
    )
    expected = exact.fit(y).forecast(10)
    np.testing.assert_allclose(single.fit(y).forecast(10), expected, atol=1e-3)


# -- going on ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [1, 3])
@inner_reservoirs
def test_learning_in_parts_is_learning_everything(kind, horizon):
    y = lattice()
    parts, whole = (bare(kind, horizon=horizon, held_out=0.0) for _ in range(2))
    parts.fit(y[:250])
    for first, last in ((250, 251), (251, 320), (320, 400)):
        parts.partial_fit(y[first:last])
    whole.fit(y)
    assert parts.readout_.n_samples_seen_ == whole.readout_.n_samples_seen_
    size = np.abs(whole.readout_.coef_).max()
    np.testing.assert_allclose(parts.readout_.coef_, whole.readout_.coef_, atol=1e-6 * size)
    np.testing.assert_allclose(parts.forecast(6), whole.forecast(6), atol=1e-7)


def test_an_update_only_reads():
    y = lattice()
    model = pe.ReservoirForecaster(local(), strategy="closed-loop").fit(y[:300])
    expected, coef = model.forecast(6, y=y[:350]), model.readout_.coef_
    model.update(y[300:349]).update(y[349:350])
    np.testing.assert_array_equal(model.readout_.coef_, coef)
    np.testing.assert_allclose(model.forecast(6), expected, atol=1e-10)


def test_predictions_from_every_step_are_forecasts_from_there():
    y = lattice()
    for horizon in (1, 3):
        model = bare(horizon=horizon).fit(y[:300])
        found = model.predict(y[300:310], follow=True).reshape(10, horizon, FEATURES)
        for t in range(10):
            expected = model.reading(y[: 301 + t]).forecast(horizon)
            np.testing.assert_allclose(found[t], expected, atol=1e-10)


def test_the_score_is_that_of_scikit_learn():
    from sklearn.metrics import r2_score

    y = lattice()
    for horizon in (1, 3):
        model = bare(horizon=horizon).fit(y[:300])
        truth = np.stack([y[300 + i : 400 - horizon + i] for i in range(1, horizon + 1)], axis=1)
        values = model.predict(y[300 : 400 - horizon]).reshape(truth.shape)
        skip = min(WASHOUT, len(truth) - 1)
        flat = (part[skip:].reshape(len(truth) - skip, -1) for part in (truth, values))
        assert model.score(y[300:]) == pytest.approx(r2_score(*flat), rel=1e-12)


# -- files and live data -----------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [1, 3])
def test_files_hold_everything(horizon, tmp_path):
    y = lattice()
    model = pe.ReservoirForecaster(
        local(), strategy="closed-loop", horizon=horizon, noise=1e-3, spin_up=30
    ).fit(y[:300])
    pe.save(model, tmp_path / "model")
    for same in (pe.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        for a, b in zip(same.forecast(5, interval=0.8), model.forecast(5, interval=0.8),
                        strict=True):  # fmt: skip
            np.testing.assert_array_equal(a, b)
        for y_new in (y[300:310], y[310:340]):
            same.partial_fit(y_new)
        whole = pe.load(tmp_path / "model").partial_fit(y[300:340])
        np.testing.assert_allclose(same.forecast(4), whole.forecast(4), atol=1e-6)
        assert same.get_params()["noise"] == 1e-3
        assert same.fitted_.loop.fitted_.windows.patches == model.reservoir_.patches_


@pytest.mark.parametrize("horizon", [1, 3])
@pytest.mark.parametrize("readout", [pe.Ridge([0.01]), SklearnRidge(0.01)])
def test_rows_one_by_one(horizon, readout):
    y = lattice()
    options = {"strategy": "closed-loop", "horizon": horizon}
    model = pe.ReservoirForecaster(local(), readout, **options).fit(y[:300])
    expected = model.predict(y[300:330]).reshape(30, horizon, FEATURES)
    live, fresh = Live(model), Live(model, fresh=True)
    for t in range(30):
        np.testing.assert_allclose(live.read(y[300 + t]), expected[t], atol=1e-9)
        from_zero = fresh.read(y[300 + t])
    np.testing.assert_allclose(from_zero, model.forecast(horizon, y=y[300:330]), atol=1e-9)


@pytest.mark.parametrize("horizon", [1, 3])
def test_learning_row_by_row(horizon):
    y = lattice()
    options = {"strategy": "closed-loop", "horizon": horizon}
    model = pe.ReservoirForecaster(local(), pe.Ridge([0.01]), **options).fit(y[:300])
    before = model.forecast(4)
    live = Live(model, learn=True)
    for row in y[300:340]:
        found = live.read(row)
    np.testing.assert_array_equal(model.forecast(4), before)
    learnt = live.learnt_model()
    model.partial_fit(y[300:340])
    coef = model.readout_.coef_
    np.testing.assert_allclose(learnt.readout_.coef_, coef, atol=1e-7 * np.abs(coef).max())
    np.testing.assert_allclose(found, model.forecast(horizon), atol=1e-8)
    np.testing.assert_allclose(learnt.forecast(5), model.forecast(5), atol=1e-7)


def test_a_stream_of_lines_goes_on_after_an_interruption(tmp_path):
    y, path, state = lattice(), tmp_path / "model", tmp_path / "state"
    model = pe.ReservoirForecaster(local(), strategy="closed-loop", noise=1e-3).fit(y[:300])
    pe.save(model, path)
    lines = [",".join(map(repr, row.tolist())).encode() for row in y[300:310]]
    live = start(pe.load(path), path)
    expected = [LineReader(live).read(line, i) for i, line in enumerate(lines, 1)]
    np.testing.assert_allclose(np.array(expected)[:, 0], model.predict(y[300:310]), atol=1e-10)
    first = start(pe.load(path), path)
    with StateSaver(first, state, 0, on_error=pytest.fail) as saver:
        for i, line in enumerate(lines[:5], 1):
            LineReader(first).read(line, i)
            saver.answered()
    second = start(pe.load(path), path)
    resume(second, pe.load(state), state)
    for i, line in enumerate(lines[5:], 6):
        np.testing.assert_array_equal(LineReader(second).read(line, i), expected[i - 1])
    with pytest.raises(ValueError, match="without noise"):
        Live(model, learn=True)


def test_commands_on_a_saved_field(tmp_path):
    pd = pytest.importorskip("pandas")
    from typer.testing import CliRunner

    from paralesn.cli import app

    hours = pd.date_range("2020-01-01", periods=400, freq="h", name="time")
    frame = pd.DataFrame(lattice(), index=hours, columns=[f"p{i}" for i in range(FEATURES)])
    model = pe.ReservoirForecaster(local(), strategy="closed-loop", noise=1e-3).fit(frame[:300])
    pe.save(model, tmp_path / "model")
    frame[:340].to_csv(tmp_path / "new.csv")
    found = predict_file(model, tmp_path / "new.csv", PredictionRequest(steps=4))
    after = pe.load(tmp_path / "model").update(frame[300:340]).forecast(4)
    for name in frame:
        np.testing.assert_allclose(found.columns[name], after[name], rtol=1e-9)
    assert found.columns["time"][0] == str(hours[340])
    line = ",".join(map(repr, frame.iloc[300].tolist()))
    done = CliRunner().invoke(app, ["stream", str(tmp_path / "model")], input=line + "\n")
    assert done.exit_code == 0, done.output
    values = np.array(done.stdout.strip().split(","), float)
    expected = pe.load(tmp_path / "model").update(frame[300:301]).forecast(1)
    np.testing.assert_allclose(values, expected.to_numpy()[0], rtol=1e-6)
    done = CliRunner().invoke(app, ["inspect", str(tmp_path / "model")])
    assert done.exit_code == 0, done.output
    assert "LocalReservoirs" in done.stdout


# -- intervals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [1, 3])
def test_intervals_are_order_statistics_of_loops_into_held_out_steps(horizon):
    y, steps, held, level = lattice(250), 6, 50, 0.8
    model = bare(horizon=horizon).fit(y)
    values, lower, upper = model.forecast(steps, interval=level)
    judge = bare(horizon=horizon, held_out=0.0).fit(y[: 250 - held])
    errors = np.full((held, steps, FEATURES), np.nan)
    for k in range(held):
        o = 250 - held - 1 + k  # the last step known
        truth = y[o + 1 : o + 1 + steps]
        errors[k, : len(truth)] = truth - judge.reading(y[: o + 1]).forecast(steps)[: len(truth)]
    for i in range(steps):
        known = np.sort(errors[: held - i, i], axis=0)
        rank = int(np.floor((len(known) + 1) * (1 - level) / 2 + 1e-9))
        np.testing.assert_allclose(lower[i], values[i] + known[rank - 1], atol=1e-7)
        np.testing.assert_allclose(upper[i], values[i] + known[-rank], atol=1e-7)


# -- what is refused ---------------------------------------------------------------------------------


def test_what_fields_do_not_do():
    y = lattice()
    with pytest.raises(ValueError, match="a reservoir of patches needs strategy='closed-loop'"):
        pe.ReservoirForecaster(local()).fit(y)
    with pytest.raises(ValueError, match="X must be None with a reservoir of patches"):
        pe.ReservoirForecaster(local(), strategy="closed-loop").fit(y, np.zeros((400, 1)))
    with pytest.raises(ValueError, match="shared must be False with a reservoir of patches"):
        StateForecaster(local(), shared=True).fit(y)
    with pytest.raises(ValueError, match="multiple of size"):
        pe.ReservoirForecaster(local(), strategy="closed-loop").fit(y[:, :7])
    with pytest.raises(ValueError, match="at most the number of features"):
        pe.ReservoirForecaster(local(), strategy="closed-loop").fit(y[:, :2])
    model = pe.ReservoirForecaster(local(), strategy="closed-loop").fit(y)
    with pytest.raises(ValueError, match="X must be None"):
        model.forecast(3, X=np.zeros((3, 1)))


def test_backtests_and_searches_take_fields():
    y = waves(300)
    model = pe.ReservoirForecaster(local(), strategy="closed-loop", noise=1e-3, spin_up=30)
    judged = pe.backtest(model, y, horizon=4, origins=[260, 280], yardsticks=False)
    errors = []
    for o in (260, 280):
        fitted = pe.ReservoirForecaster(**model.get_params(deep=False)).fit(y[:260])
        fitted = fitted.update(y[260:o]) if o > 260 else fitted
        errors.append(np.abs(fitted.forecast(4) - y[o : o + 4]))
    np.testing.assert_allclose(judged.errors["model"]["mae"], np.mean(errors, axis=(0, 1)))
    result = pe.tune(model, y, budget=4, horizon=4, origins=2)
    assert all(np.isfinite(trial.error) for trial in result.trials), result.trials
    assert result.trials[0].error == pytest.approx(
        pe.backtest(model, y, horizon=4, origins=2, yardsticks=False).overall()
    )
    space = {"noise": [1e-4, 1e-2], "spin_up": [10], "reservoir__overlap": [2]}
    result = pe.tune(model, y, space=space, budget=5, horizon=4, origins=2)
    assert all(np.isfinite(trial.error) for trial in result.trials), result.trials
    assert result.model.forecast(2).shape == (2, FEATURES)


# -- other starts, and rings of another size ---------------------------------------------------------


def test_a_loop_starts_from_several_stretches_at_once():
    series = pe.datasets.lorenz63(1500, seed=3)
    reservoir = pe.ParalESN(units=40, bias_scale=0.5, mix_scale=1.0)
    model = pe.ReservoirForecaster(reservoir, strategy="closed-loop").fit(series[:1000])
    starts = np.stack([series[first : first + 60] for first in (1000, 1200, 1400)])
    loops = model.closed_loop_.started(starts).forecast(15)
    for loop, stretch in zip(loops, starts, strict=True):
        np.testing.assert_allclose(loop, model.forecast(15, y=stretch), rtol=0, atol=1e-9)
        alone = model.closed_loop_.started(stretch).forecast(15)
        np.testing.assert_allclose(loop, alone[0], rtol=0, atol=1e-9)


def test_the_same_weights_forecast_a_ring_of_another_size():
    """A field that repeats itself around a larger ring goes on as it does on the small one."""
    t, place = np.arange(400)[:, None], 2 * np.pi * np.arange(12) / 12
    field = np.sin(place - 0.05 * t) + 0.5 * np.sin(3 * place + 0.11 * t)
    local = pe.LocalReservoirs(pe.ParalESN(units=50), size=3, overlap=2)
    model = pe.ReservoirForecaster(local, strategy="closed-loop").fit(field)
    twice = np.tile(field[-100:], 2)
    small = model.closed_loop_.started(field[-100:]).forecast(30)[0]
    large = model.closed_loop_.started(twice).forecast(30)[0]
    np.testing.assert_allclose(large, np.tile(small, 2), rtol=0, atol=1e-10)
    assert model.closed_loop_.reservoir.n_features_in_ == 12  # the model is as it was


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros((5, 13)), "must be a multiple of size"),
        (np.zeros(12), r"y must be of shape \(time, D\)"),
        (np.zeros((1, 12)), "at least two steps"),
        (np.full((9, 12), np.nan), "NaN"),
    ],
)
def test_a_wrong_start_is_named(y, message):
    local = pe.LocalReservoirs(pe.ParalESN(units=9), size=3, overlap=1)
    field = np.random.default_rng(0).normal(size=(60, 12))
    loop = pe.ReservoirForecaster(local, strategy="closed-loop").fit(field).closed_loop_
    with pytest.raises(ValueError, match=message):
        loop.started(y)

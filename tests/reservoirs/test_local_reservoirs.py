"""Reservoirs on patches of a field: every patch run alone by the reservoir inside."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import paralesn as pe
from paralesn.layers.patches import Patches
from paralesn.reservoirs.local_reservoirs import default_reservoir

FEATURES, SIZE, OVERLAP = 8, 2, 1
MIXED = {"bias_scale": 0.2, "mix_scale": 0.7, "mix_bias_scale": 0.3, "seed": 3}
INNER = {
    "shallow": lambda **how: pe.ParalESN(units=9, **MIXED, **how),
    "deep": lambda **how: pe.ParalESN(units=9, layers=3, **MIXED, **how),
    "concat": lambda **how: pe.ParalESN(units=9, layers=2, concat=True, **MIXED, **how),
    "raw": lambda **how: pe.ParalESN(units=9, mixing=False, **MIXED, **how),
    "real": lambda **how: pe.ParalESN(units=9, layers=2, real=True, **MIXED, **how),
    "esn": lambda **how: pe.ESN(units=9, seed=3, **how),
    "nvar": lambda **how: pe.NVAR(delay=3, order=2, **how),
}
ENGINES = ["cpu", "reference", "torch"]
inner_reservoirs = pytest.mark.parametrize("kind", INNER)


def local(kind, size=SIZE, overlap=OVERLAP, **how):
    return pe.LocalReservoirs(INNER[kind](**how), size=size, overlap=overlap)


def read_by(patch, x, size=SIZE, overlap=OVERLAP):
    """What a patch reads of fields (…, features): its own values, those to the left, to the right."""
    n, first = x.shape[-1], patch * size
    own = [first + i for i in range(size)]
    left = [(first - overlap + i) % n for i in range(overlap)]
    right = [(first + size + i) % n for i in range(overlap)]
    return x[..., own + left + right]


def alone(kind, call, x, size=SIZE, overlap=OVERLAP):
    """What `call` makes of each patch, by a reservoir of its own."""
    patches = x.shape[-1] // size
    return [call(INNER[kind](), read_by(g, x, size, overlap)) for g in range(patches)]


# -- where patches lie -----------------------------------------------------------------------------


@given(st.integers(1, 6), st.integers(1, 5), st.data())
def test_patches_own_the_field_once_and_read_around_its_end(count, size, data):
    overlap = data.draw(st.integers(0, (count - 1) * size // 2))
    patches = Patches(count * size, size, overlap)
    field = np.arange(count * size)
    expected = [read_by(g, field, size, overlap) for g in range(count)]
    np.testing.assert_array_equal(patches.columns(), expected)
    assert patches.columns().shape == (patches.count, patches.width) == (count, size + 2 * overlap)
    values = np.arange(3 * field.size).reshape(3, -1)
    np.testing.assert_array_equal(patches.own(values)[:, -1], values[:, -size:])
    np.testing.assert_array_equal(patches.joined(patches.own(values)), values)


# -- states are those of each patch alone ----------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@inner_reservoirs
def test_states_are_those_of_every_patch_alone(kind, engine, rng):
    if engine == "torch":
        pytest.importorskip("torch")
    for dtype, off in (("float64", 1e-12), ("float32", 2e-5)):
        res = local(kind, engine=engine, dtype=dtype)
        batch = rng.normal(size=(3, 40, FEATURES))
        for x in (batch[0], batch):
            expected = alone(kind, lambda one, part: one.run(part)[0], x)
            found, _ = res.run(x)
            assert found.dtype == dtype
            assert found.shape[-1] == res.n_features_out_
            np.testing.assert_allclose(found, np.concatenate(expected, axis=-1), atol=off)
            ends = alone(kind, lambda one, part: one.last(part), x)
            np.testing.assert_allclose(res.last(x), np.concatenate(ends, axis=-1), atol=off)
            last, _ = res.last(x, return_state=True)
            np.testing.assert_allclose(last, found[..., -1, :], atol=off)


@inner_reservoirs
def test_series_of_different_lengths(kind, rng):
    several = [rng.normal(size=(steps, FEATURES)) for steps in (17, 1, 40)]
    res = local(kind)
    found, _ = res.run(several)
    pools = res.pool(several, ("mean", "std"))
    for x, states, pooled, last in zip(several, found, pools, res.last(several), strict=True):
        expected = np.concatenate(alone(kind, lambda one, part: one.run(part)[0], x), axis=1)
        np.testing.assert_allclose(states, expected, atol=1e-12)
        np.testing.assert_allclose(last, expected[-1], atol=1e-12)
        moments = np.concatenate([expected.mean(axis=0), expected.std(axis=0)])
        np.testing.assert_allclose(pooled, moments, atol=1e-11)


@pytest.mark.parametrize("engine", ENGINES)
@inner_reservoirs
def test_pools_are_of_each_segment_over_all_patches(kind, engine, rng):
    if engine == "torch":
        pytest.importorskip("torch")
    x = rng.normal(size=(4, 31, FEATURES))
    names, segments = ("max", "mean", "last", "ppv"), 3
    states = np.concatenate(alone(kind, lambda one, part: one.run(part)[0], x), axis=-1)
    expected = []
    for s in range(segments):
        part = states[:, 31 * s // segments : 31 * (s + 1) // segments]
        expected += [part.max(axis=1), part.mean(axis=1), part[:, -1], (part > 0).mean(axis=1)]
    found = local(kind, engine=engine).pool(x, names, segments)
    np.testing.assert_allclose(found, np.concatenate(expected, axis=1), atol=1e-11)
    single = local(kind, engine=engine).pool(x[1], names, segments)
    np.testing.assert_allclose(single, found[1], atol=1e-12)


@inner_reservoirs
def test_steps_and_blocks_lead_to_the_states_of_a_run(kind, rng):
    x = rng.normal(size=(2, 30, FEATURES))
    res = local(kind)
    expected, end = res.run(x)
    state, rows = None, []
    for t in range(30):
        z, state = res.step(x[:, t], state)
        rows.append(z)
    np.testing.assert_allclose(np.stack(rows, axis=1), expected, atol=1e-12)
    stream = res.stream(x, block=7)
    np.testing.assert_array_equal(np.concatenate(list(stream), axis=1), expected)
    for h, of_stream, of_steps in zip(end.layers, stream.state.layers, state.layers, strict=True):
        np.testing.assert_array_equal(of_stream, h)
        np.testing.assert_allclose(of_steps, h, atol=1e-12)
    single, _ = res.step(x[0, 0])
    np.testing.assert_allclose(single, expected[0, 0], atol=1e-12)
    pieces = res.stream(iter([x[0, :11], x[0, 11:]]))
    np.testing.assert_array_equal(np.concatenate(list(pieces)), expected[0])


@inner_reservoirs
@settings(max_examples=8)
@given(cut=st.integers(1, 39))
def test_a_run_goes_on_from_a_state_wherever_it_was_cut(kind, cut):
    x = np.random.default_rng(cut).normal(size=(40, FEATURES))
    res = local(kind)
    expected, end = res.run(x)
    first, state = res.run(x[:cut])
    rest, after = res.run(x[cut:], state)
    np.testing.assert_array_equal(np.concatenate([first, rest]), expected)
    for h, same in zip(end.layers, after.layers, strict=True):
        np.testing.assert_array_equal(h, same)
    np.testing.assert_allclose(res.last(x[cut:], state), expected[-1], atol=1e-12)
    plain, _ = res.run(x[cut:], list(state.layers))  # as arrays
    np.testing.assert_array_equal(plain, rest)


def test_blocks_of_series_that_ended(rng):
    several = [rng.normal(size=(steps, FEATURES)) for steps in (5, 23, 12)]
    res = local("deep")
    whole, _ = res.run(several)
    blocks = list(res.stream(several, block=6))
    for b, expected in enumerate(whole):
        np.testing.assert_array_equal(np.concatenate([block[b] for block in blocks]), expected)


@inner_reservoirs
def test_the_number_of_threads_changes_no_bit(kind, rng):
    x = rng.normal(size=(3, 400, FEATURES))
    one, two = local(kind, n_jobs=1), local(kind, n_jobs=2)
    np.testing.assert_array_equal(one.run(x)[0], two.run(x)[0])
    np.testing.assert_array_equal(one.last(x), two.last(x))
    np.testing.assert_array_equal(one.pool(x, ("mean", "std"), 4), two.pool(x, ("mean", "std"), 4))


@inner_reservoirs
def test_a_field_moved_by_a_patch_moves_the_states(kind, rng):
    x, res = rng.normal(size=(50, FEATURES)), local(kind)
    states, _ = res.run(x)
    moved, _ = res.run(np.roll(x, SIZE, axis=1))
    columns = res.n_features_out_ // res.patches_.count
    np.testing.assert_allclose(moved, np.roll(states, columns, axis=1), atol=1e-13)
    assert np.abs(res.run(np.roll(x, 1, axis=1))[0] - np.roll(states, columns, axis=1)).max() > 0.01


def test_one_patch_without_overlap_is_the_reservoir_itself(rng):
    x = rng.normal(size=(30, 3))
    whole = pe.LocalReservoirs(INNER["deep"](), size=3, overlap=0)
    np.testing.assert_allclose(whole.run(x)[0], INNER["deep"]().run(x)[0], atol=1e-13)


def test_the_patch_reads_no_further_than_its_overlap(rng):
    x = rng.normal(size=(20, 12))
    res = pe.LocalReservoirs(INNER["shallow"](), size=3, overlap=2)
    other = x.copy()
    other[:, 5:10] += 1.0  # patch 0 owns 0, 1, 2 and reads 10, 11 and 3, 4
    before, after = res.run(x)[0], res.run(other)[0]
    np.testing.assert_array_equal(before[:, :9], after[:, :9])
    assert (before[:, 9:] != after[:, 9:]).any(axis=0).all()


# -- the closed loop -------------------------------------------------------------------------------


@pytest.mark.parametrize("difference", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
@inner_reservoirs
def test_the_closed_loop_is_the_loop_written_out(kind, engine, difference, rng):
    if engine == "torch":
        pytest.importorskip("torch")
    res = local(kind, engine=engine).fit(np.zeros((1, FEATURES)))
    past = 0.3 * rng.normal(size=(2, 25, FEATURES))
    _, state = res.run(past)
    columns = res.n_features_out_ // res.patches_.count
    weights = 0.2 * rng.normal(size=(SIZE, columns)) / np.sqrt(columns)
    intercept, x0 = 0.1 * rng.normal(size=SIZE), 0.3 * rng.normal(size=(2, FEATURES))
    inputs = np.zeros((6, 2, FEATURES))
    inputs[0] = x0
    found = res.close_loop(inputs, state, weights, intercept, difference)
    for b in range(2):
        x, fields = x0[b], []
        history = [read_by(g, past[b]) for g in range(4)]
        for _ in range(6):
            parts = []
            for g in range(4):
                history[g] = np.vstack([history[g], read_by(g, x)])
                z = INNER[kind]().run(history[g])[0][-1]
                own = x[g * SIZE : (g + 1) * SIZE] if difference else 0.0
                parts.append(weights @ z + intercept + own)
            x = np.concatenate(parts)
            fields.append(x)
        np.testing.assert_allclose(found[:, b], fields, atol=1e-12)


# -- parameters, files and copies ------------------------------------------------------------------


@inner_reservoirs
def test_saved_pickled_and_cloned(kind, rng, tmp_path):
    x, res = rng.normal(size=(20, FEATURES)), local(kind, dtype="float32")
    expected, state = res.run(x)
    pe.save(res, tmp_path / "local")
    for same in (pe.load(tmp_path / "local"), pickle.loads(pickle.dumps(res))):
        found, _ = same.run(x)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(same.run(x, state)[0], res.run(x, state)[0])
        assert same.fingerprint_ == res.fingerprint_
        assert same.patches_ == res.patches_
    copy = clone(res)
    assert not hasattr(copy, "layers_")
    np.testing.assert_array_equal(copy.run(x)[0], expected)


def test_a_file_that_does_not_fit_together_is_refused(rng, tmp_path):
    res = local("shallow").fit(np.zeros((1, FEATURES)))
    for change, message in (
        ({"size": 4}, "size and overlap"),
        ({"overlap": 2}, "size and overlap"),
    ):
        other = clone(res).set_params(**change)
        with pytest.raises(ValueError, match=message):
            other.fitted_ = res.fitted_
    other = pe.LocalReservoirs(pe.ESN(units=9), size=SIZE, overlap=OVERLAP)
    with pytest.raises(TypeError, match="is a ParalESN"):
        other.fitted_ = res.fitted_
    with pytest.raises(AttributeError, match="not drawn"):
        _ = local("shallow").fitted_


def test_parameters_of_the_reservoir_are_its_own(rng):
    x = rng.normal(size=(5, FEATURES))
    res = pe.LocalReservoirs(size=4, overlap=2).set_params(reservoir__units=6)
    assert res.run(x)[0].shape == (5, 12)
    res.set_params(reservoir__units=7, reservoir__dtype="float32", size=2, overlap=3)
    again = res.fit(x).transform(x)
    assert again.shape == (5, 28)
    assert again.dtype == np.float32
    alone = default_reservoir().set_params(units=7, dtype="float32")
    expected = alone.run(read_by(1, x, 2, 3))[0]
    np.testing.assert_allclose(again[:, 7:14], expected, atol=1e-6)
    assert pe.LocalReservoirs().component("reservoir").units == 512
    given = pe.ParalESN(units=4)
    pe.LocalReservoirs(given, size=4, overlap=0).fit(x)
    assert not hasattr(given, "layers_")  # what is given stays as it is


def test_parameters_are_counted_once(rng):
    res = local("deep").fit(np.zeros((1, FEATURES)))
    inner = INNER["deep"]().fit(np.zeros((1, SIZE + 2 * OVERLAP)))
    assert res.n_parameters_ == inner.n_parameters_
    assert res.n_features_in_ == FEATURES
    assert res.get_feature_names_out().size == res.n_features_out_ == 4 * inner.n_features_out_


def test_frames_with_names(rng):
    pd = pytest.importorskip("pandas")
    x = rng.normal(size=(6, FEATURES))
    frame = pd.DataFrame(x, columns=[f"place {i}" for i in range(FEATURES)])
    res = local("shallow").fit(frame)
    np.testing.assert_array_equal(res.transform(frame), res.transform(x))
    assert list(res.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        res.transform(frame[frame.columns[::-1]])


def test_estimators_read_all_patches_side_by_side(rng):
    x = rng.normal(size=(300, 4))
    y = x[:, 0] * np.roll(x[:, 3], 1)
    local_nvar = pe.LocalReservoirs(pe.NVAR((0, 1), 2), size=2, overlap=1)
    model = pe.ReservoirRegressor(local_nvar, washout=5).fit(x[:250], y[:250])
    assert model.score(x[250:], y[250:]) > 1 - 1e-6
    features = pe.PooledStates(local("shallow"), pool="mean", segments=1, standardize=False).fit(
        x.reshape(10, 15, 8)
    )
    expected = local("shallow").pool(x.reshape(10, 15, 8), "mean")
    np.testing.assert_allclose(features.transform(x.reshape(10, 15, 8)), expected, atol=1e-12)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "overlap", "features", "error", "message"),
    [
        (3, 0, 8, ValueError, "number of features must be a multiple of size (3), got 8"),
        (2, 4, 8, ValueError, "must be at most the number of features (8), got 2 + 2 * 4"),
        (16, 0, 8, ValueError, "multiple of size (16), got 8"),
        (0, 1, 8, ValueError, "size must be a whole number of at least 1, got 0"),
        (2.0, 1, 8, TypeError, "size must be a whole number of at least 1, got 2.0"),
        (2, -1, 8, ValueError, "overlap must be a whole number of at least 0, got -1"),
        (2, True, 8, TypeError, "overlap must be a whole number of at least 0, got True"),
        ("2", 1, 8, TypeError, "size must be a whole number"),
    ],
)
def test_patches_that_do_not_fit(size, overlap, features, error, message):
    res = pe.LocalReservoirs(pe.ParalESN(units=4), size=size, overlap=overlap)
    for call in (res.fit, res.run, lambda x: res.step(x[0])):
        with pytest.raises(error, match=re.escape(message)):
            call(np.zeros((3, features)))
    assert not hasattr(res, "layers_")


@pytest.mark.parametrize(
    ("reservoir", "message"),
    [
        (pe.PlasticESN(units=5), "does not adapt"),
        (pe.ParalESN(units=5, vocabulary=7), "reads numbers"),
        (pe.LocalReservoirs(size=2, overlap=0), "not local"),
        ("ParalESN", "None or a reservoir"),
        (pe.ParalESN, "None or a reservoir"),
        (pe.Ridge(), "None or a reservoir"),
        (pe.ParalESN(units=0), "units must be"),
        (pe.ParalESN(units=5, engine="gpu"), "engine must be one of"),
    ],
)
def test_reservoirs_that_no_patch_can_have(reservoir, message):
    res = pe.LocalReservoirs(reservoir, size=2, overlap=1)
    for call in (res.fit, res.run):
        with pytest.raises((TypeError, ValueError), match=message):
            call(np.zeros((3, 8)))


def test_states_of_other_models_are_refused(rng):
    x = rng.normal(size=(5, 16))
    res = pe.LocalReservoirs(pe.ParalESN(units=5), size=4, overlap=1)
    _, state = res.run(x)
    # The same reservoir inside, as many patches of another field.
    other = pe.LocalReservoirs(pe.ParalESN(units=5), size=2, overlap=2)
    with pytest.raises(ValueError, match="state must come from this model"):
        other.run(x[:, :8], state)
    with pytest.raises(ValueError, match="state must come from this model"):
        res.reservoir_.run(x[:, :6], state)
    one = pe.LocalReservoirs(pe.ParalESN(units=5, seed=1), size=4, overlap=1)
    with pytest.raises(ValueError, match="state must come from this model"):
        one.run(x, state)
    with pytest.raises(ValueError, match=re.escape("must have shape (2, 20) here, got (20,)")):
        res.run(np.stack([x, x]), state)


def test_fields_that_cannot_be_read(rng):
    res = local("shallow").fit(np.zeros((1, FEATURES)))
    with pytest.raises(ValueError, match="8 features"):
        res.run(np.zeros((3, 6)))
    x = np.zeros((3, FEATURES))
    x[1, 5] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        res.run(x)
    with pytest.raises(ValueError, match="segments must be at most"):
        res.pool(np.zeros((3, FEATURES)), segments=4)

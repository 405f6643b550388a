"""Drawing, parameters, given layers, and scikit-learn's conventions."""

import pickle
from inspect import Parameter, signature

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import paralesn as pe
from paralesn.paper.protocols import regression


def layers_of(features=1, **hyper):
    return pe.ParalESN(**hyper).fit(np.zeros((2, features))).layers_


def same(a, b):
    return all(
        np.array_equal(getattr(x, name), getattr(y, name))
        for x, y in zip(a, b, strict=True)
        for name in ("eigenvalues", "w_in", "bias", "tau", "mix_kernel", "mix_bias")
    )


def test_constructor_has_exactly_the_agreed_parameters():
    names = """units layers rho theta phases draw radii ring kernel tau input_scale bias_scale mix_scale mix_bias_scale
    mix_size inter concat real mixing vocabulary dtype engine device n_jobs seed"""
    assert " ".join(signature(pe.ParalESN).parameters) == " ".join(names.split())


@pytest.mark.parametrize("kind", [pe.ParalESN, pe.ESN, pe.ResESN, pe.SCR, pe.StructuredRC])
def test_parameters_after_units_are_keyword_only(kind):
    units, *others = signature(kind).parameters.values()
    assert units.name == "units"
    assert {parameter.kind for parameter in others} == {Parameter.KEYWORD_ONLY}


# -- the paper's distributions -------------------------------------------------------------------


def test_eigenvalues_follow_the_paper():
    (layer,) = layers_of(units=50_000, rho=(0.3, 0.8), theta=(0.5, 2.0))
    radius, phase = np.abs(layer.eigenvalues), np.angle(layer.eigenvalues)
    for values, (low, high) in ((radius, (0.3, 0.8)), (phase, (0.5, 2.0))):
        assert values.min() >= low - 1e-12
        assert values.max() <= high + 1e-12
        # uniform: mean and standard deviation within five standard errors
        assert abs(values.mean() - (low + high) / 2) < 5 * (high - low) / np.sqrt(12 * 50_000)
        assert abs(values.std() - (high - low) / np.sqrt(12)) < 0.01 * (high - low)


def test_even_phases_change_nothing_else():
    (random,) = layers_of(units=50, theta=(0.5, 2.5))
    (even,) = layers_of(units=50, theta=(0.5, 2.5), phases="even")
    np.testing.assert_allclose(np.angle(even.eigenvalues), 0.5 + 2 * np.arange(50) / 50)
    np.testing.assert_allclose(np.abs(even.eigenvalues), np.abs(random.eigenvalues), rtol=1e-15)
    np.testing.assert_array_equal(even.bias, random.bias)
    np.testing.assert_allclose(even.w_in, random.w_in, rtol=1e-14)
    with pytest.raises(ValueError, match="phases must be one of 'random', 'even', got 'odd'"):
        layers_of(phases="odd")


def test_radii_uniform_in_area():
    (layer,) = layers_of(units=50_000, rho=(0.3, 0.8), radii="area")
    squared = np.abs(layer.eigenvalues) ** 2
    low, high = 0.3**2, 0.8**2
    assert abs(squared.mean() - (low + high) / 2) < 5 * (high - low) / np.sqrt(12 * 50_000)
    assert abs(squared.std() - (high - low) / np.sqrt(12)) < 0.01 * (high - low)


def test_a_bare_ring_has_no_random_factor():
    first, later = layers_of(units=30, layers=2, ring="bare", input_scale=0.7)
    expected = 0.7 * np.sqrt(1 - np.abs(later.eigenvalues) ** 2)
    np.testing.assert_allclose(later.w_in, expected, rtol=1e-15)
    assert same([first], layers_of(units=30, layers=2, input_scale=0.7)[:1])  # which is no ring


@pytest.mark.parametrize("real", [False, True])
def test_a_normalized_kernel_has_the_norm_of_its_scale(real):
    (uniform,) = layers_of(units=5, mix_scale=0.3, mix_size=5, real=real)
    (normalized,) = layers_of(units=5, mix_scale=0.3, mix_size=5, real=real, kernel="normalized")
    assert np.linalg.norm(normalized.mix_kernel) == pytest.approx(0.3, rel=1e-14)
    ratios = normalized.mix_kernel / uniform.mix_kernel
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-14)


def test_the_draw_is_a_word_for_three_details():
    details = {"radii": "area", "ring": "bare", "kernel": "normalized"}
    whole = layers_of(units=20, layers=3, draw="authors")
    assert same(whole, layers_of(units=20, layers=3, **details))
    but_the_ring = layers_of(units=20, layers=3, draw="authors", ring="random")
    del details["ring"]
    assert same(but_the_ring, layers_of(units=20, layers=3, **details))
    later = layers_of(units=20, layers=3, inter={"kernel": "normalized"})
    assert np.linalg.norm(later[0].mix_kernel) != pytest.approx(0.1)
    assert np.linalg.norm(later[1].mix_kernel) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="draw must be one of 'paper', 'authors', got 'text'"):
        layers_of(draw="text")
    with pytest.raises(ValueError, match="inter ring must be one of 'random', 'bare', got 'none'"):
        layers_of(layers=2, inter={"ring": "none"})


@pytest.mark.slow
@pytest.mark.parametrize(("layers", "printed", "spread"), [(1, 114.5, 1.4), (5, 125.0, 0.2)])
def test_the_authors_draw_comes_nearer_to_the_memory_that_they_print(layers, printed, spread):
    def capacities(draw):
        hyper = {"rho": (0.9, 0.9), "mix_scale": 0.01, "layers": layers, "draw": draw}
        reservoirs = [pe.ParalESN(units=128, seed=seed, **hyper) for seed in range(4)]
        outcomes = [
            regression.measure("memcap", res, 0.0, seed) for seed, res in enumerate(reservoirs)
        ]
        return np.array([outcome.metrics["memory_capacity"] for outcome in outcomes])

    authors, paper = capacities("authors"), capacities("paper")
    assert authors.mean() > paper.mean() + 2
    assert abs(authors.mean() - printed) < 1.5 + spread
    assert authors.std() < paper.std()


def test_the_leak_is_folded_into_the_eigenvalues():
    (plain,) = layers_of(units=100)
    (leaky,) = layers_of(units=100, tau=0.25)
    np.testing.assert_allclose(leaky.eigenvalues, 0.75 + 0.25 * plain.eigenvalues, rtol=1e-15)
    assert leaky.tau == 0.25


@pytest.mark.parametrize("layers", [1, 2])
def test_input_weights_are_scaled_by_the_leaky_eigenvalues(layers):
    layer = layers_of(units=20_000, layers=layers, tau=0.5, input_scale=3.0)[-1]
    scale = 3.0 * np.sqrt(1 - np.abs(layer.eigenvalues) ** 2)
    weights = layer.w_in.reshape(20_000) / scale
    for part in (weights.real, weights.imag):
        assert 0.99 < np.abs(part).max() <= 1 + 1e-12
        assert abs(part.std() - 1 / np.sqrt(3)) < 0.01
    assert abs(np.corrcoef(weights.real, weights.imag)[0, 1]) < 0.05


def test_bias_and_kernel_have_their_ranges():
    (layer,) = layers_of(
        units=20_000, bias_scale=0.3, mix_scale=0.7, mix_bias_scale=0.2, mix_size=63
    )
    for values, scale in ((layer.bias, 0.3), (layer.mix_kernel, 0.7), (layer.mix_bias, 0.2)):
        assert np.abs(np.real(values)).max() <= scale
        assert np.abs(np.imag(values)).max() <= scale
    assert np.abs(layer.bias.real).max() > 0.299
    assert np.abs(layer.bias.imag).max() > 0.299
    assert np.abs(layer.mix_kernel.imag).max() > 0.5


def test_real_variant_is_real_with_both_signs():
    (layer,) = layers_of(units=10_000, real=True, rho=(0.2, 0.6), bias_scale=1, mix_bias_scale=1)
    assert not any(
        np.iscomplexobj(getattr(layer, name))
        for name in ("eigenvalues", "w_in", "bias", "mix_kernel", "mix_bias")
    )
    assert abs((layer.eigenvalues > 0).mean() - 0.5) < 0.03
    radius = np.abs(layer.eigenvalues)
    assert radius.min() >= 0.2
    assert radius.max() <= 0.6
    assert same([layer], layers_of(units=10_000, real=True, rho=(0.2, 0.6), theta=(1, 1), bias_scale=1, mix_bias_scale=1))  # fmt: skip


# -- draws and seeds -----------------------------------------------------------------------------


def test_a_seed_fixes_the_draw_whatever_runs_it():
    first = layers_of(seed=3, layers=2)
    assert same(first, layers_of(seed=3, layers=2))
    assert same(first, layers_of(seed=3, layers=2, dtype="float32", engine="reference", n_jobs=1))
    assert same(first, layers_of(seed=np.random.default_rng(3), layers=2))
    assert not same(first, layers_of(seed=4, layers=2))
    assert not same(layers_of(seed=None), layers_of(seed=None))


def test_a_generator_is_drawn_from():
    rng = np.random.default_rng(3)
    res = pe.ParalESN(seed=rng)
    a = res.fit(np.zeros((2, 1))).layers_
    b = res.fit(np.zeros((2, 1))).layers_
    assert not same(a, b)


def test_one_hyperparameter_does_not_reshuffle_the_others():
    (a,) = layers_of(mix_size=3)
    (b,) = layers_of(mix_size=9, bias_scale=1.0, rho=(0.0, 0.45))
    np.testing.assert_allclose(b.eigenvalues, a.eigenvalues / 2, rtol=1e-14)
    assert same(layers_of(layers=2)[:1], layers_of(layers=5)[:1])


def test_inter_overrides_only_later_layers():
    layers = layers_of(layers=3, inter={"rho": (0.95, 0.99), "mix_size": 7, "tau": 0.5})
    assert [layer.mix_kernel.size for layer in layers] == [3, 7, 7]
    assert [layer.tau for layer in layers] == [1.0, 0.5, 0.5]
    assert np.abs(layers[0].eigenvalues).max() <= 0.9
    spectrum = (layers[1].eigenvalues - 0.5) / 0.5
    assert np.abs(spectrum).min() >= 0.95 - 1e-12


def test_concat_divides_units_with_the_remainder_to_the_first(rng):
    res = pe.ParalESN(units=11, layers=3, concat=True)
    states, state = res.run(rng.normal(size=(7, 2)))
    assert [layer.eigenvalues.size for layer in res.layers_] == [5, 3, 3]
    assert states.shape == (7, 11)
    alone = pe.ParalESN.from_layers(res.layers_[:1]).run(np.zeros((1, 2)))[0]
    assert alone.shape == (1, 5)
    assert [h.shape for h in state.layers] == [(5,), (3,), (3,)]


@pytest.mark.parametrize(("layers", "expected"), [(1, 2048), (5, 10_240)])
def test_parameters_are_counted_as_in_the_paper(layers, expected):
    assert pe.ParalESN(units=1024, layers=layers).fit(np.zeros((2, 1))).n_parameters_ == expected


def test_drawn_arrays_are_frozen():
    (layer,) = layers_of()
    with pytest.raises(ValueError, match="read-only"):
        layer.eigenvalues[0] = 2
    with pytest.raises(AttributeError):
        layer.tau = 2.0


def test_a_hundred_thousand_units(rng):
    """Nothing quadratic: at 100 000 units a square matrix would take 80 GB."""
    x = rng.normal(size=(20, 1))
    res = pe.ParalESN(units=100_000)
    last = res.last(x)
    small = pe.ParalESN.from_layers([_first_units(res.layers_[0], 500)]).last(x)
    np.testing.assert_array_equal(last[:499], small[:499])  # the last unit misses its neighbour


def _first_units(layer, n):
    return pe.DiagonalLayer(
        layer.eigenvalues[:n], layer.w_in[:n], layer.bias[:n], layer.tau, layer.mix_kernel, layer.mix_bias
    )  # fmt: skip


# -- given layers --------------------------------------------------------------------------------


def test_from_layers_runs_what_was_drawn(rng):
    x = rng.normal(size=(50, 2))
    drawn = pe.ParalESN(units=40, layers=2, concat=True)
    states, state = drawn.run(x)
    made = pe.ParalESN.from_layers(drawn.layers_, concat=True)
    np.testing.assert_array_equal(made.run(x)[0], states)
    np.testing.assert_array_equal(made.run(x, state)[0], drawn.run(x, state)[0])
    again = clone(made).fit(x)
    np.testing.assert_array_equal(again.transform(x), states)
    assert clone(made).set_params(mixing=False).run(x)[0].shape == (50, 80)
    with pytest.raises(ValueError, match="rho must be left alone"):
        made.set_params(rho=(0, 0.5)).fit(x)


# -- states --------------------------------------------------------------------------------------


def test_a_state_is_not_changed_by_those_who_use_it(rng):
    x = rng.normal(size=(30, 1))
    res = pe.ParalESN(units=70, layers=2)
    _, state = res.run(x)
    kept = [h.copy() for h in state.layers]
    for use in (
        res.run,
        res.last,
        lambda x, s: list(res.stream(x, 7, s)),
        lambda x, s: res.step(x[0], s),
    ):
        use(x, state)
    for h, before in zip(state.layers, kept, strict=True):
        np.testing.assert_array_equal(h, before)


def test_a_state_may_be_given_as_arrays_and_travel(rng):
    x = rng.normal(size=(30, 1))
    res = pe.ParalESN(units=20, layers=2)
    states, _ = res.run(x)
    _, middle = res.run(x[:10])
    np.testing.assert_array_equal(res.run(x[10:], list(middle.layers))[0], states[10:])
    np.testing.assert_array_equal(
        res.run(x[10:], pickle.loads(pickle.dumps(middle)))[0], states[10:]
    )
    same_model = pe.ParalESN(units=20, layers=2).fit(x)
    np.testing.assert_array_equal(same_model.run(x[10:], middle)[0], states[10:])


# -- input ---------------------------------------------------------------------------------------


def test_kinds_of_input_give_the_same_states(tmp_path, rng):
    x = rng.integers(-3, 4, size=(60, 2))
    expected = pe.ParalESN(units=20).run(x.astype(float))[0]
    memory = np.memmap(tmp_path / "x", dtype="float64", mode="w+", shape=x.shape)
    memory[:] = x
    columns = pd.DataFrame(x, columns=["a", "b"])
    for X in (x, x.tolist(), x.astype("float32"), x.astype("int8"), memory, columns, np.asfortranarray(x), x[::-1][::-1]):  # fmt: skip
        np.testing.assert_array_equal(pe.ParalESN(units=20).run(X)[0], expected)
    one = pe.ParalESN(units=20).run(x[:, :1])[0]
    for X in (x[:, 0], x[:, 0].tolist(), pd.Series(x[:, 0])):
        np.testing.assert_array_equal(pe.ParalESN(units=20).run(X)[0], one)


def test_batches_and_ragged_collections(rng):
    X = rng.normal(size=(4, 30, 2))
    res = pe.ParalESN(units=20, layers=2)
    states, state = res.run(X)
    assert states.shape == (4, 30, 20)
    ragged = [X[0], X[1, :7], X[2, :1], X[3, :29]]
    pieces, after = res.run(ragged)
    for b, (piece, x) in enumerate(zip(pieces, ragged, strict=True)):
        np.testing.assert_array_equal(piece, states[b, : len(x)])
        np.testing.assert_array_equal(res.last(ragged)[b], piece[-1])
        np.testing.assert_array_equal(after.layers[1][b], res.run(x)[1].layers[1])
    np.testing.assert_array_equal(after.layers[0][0], state.layers[0][0])
    blocks = list(res.stream(ragged, 10))
    assert [len(z) for z in blocks[1]] == [10, 0, 0, 10]
    for b in range(4):
        np.testing.assert_array_equal(np.concatenate([block[b] for block in blocks]), pieces[b])
    frames = [pd.DataFrame(x) for x in ragged]
    np.testing.assert_array_equal(res.run(frames)[0][1], pieces[1])


def test_stream_takes_an_iterator_of_blocks(rng):
    x = rng.normal(size=(100, 1))
    states, state = pe.ParalESN(units=20).run(x)
    res = pe.ParalESN(units=20)  # drawn from the first block
    stream = res.stream(iter([x[:3], x[3:50], x[50:]]), block=20)
    blocks = list(stream)
    assert [len(z) for z in blocks] == [3, 20, 20, 7, 20, 20, 10]
    np.testing.assert_array_equal(np.concatenate(blocks), states)
    np.testing.assert_array_equal(stream.state.layers[0], state.layers[0])
    endless = (x[:10] for _ in iter(int, 1))
    assert next(res.stream(endless)).shape == (10, 20)


# -- scikit-learn --------------------------------------------------------------------------------


def test_in_a_pipeline_with_pandas_output():
    x = np.sin(np.arange(300) / 7)
    frame = pd.DataFrame({"level": x[:-1]})
    model = make_pipeline(pe.ParalESN(units=30), Ridge(1e-6)).fit(frame[:200], x[1:201])
    assert model.score(frame[200:], x[201:]) > 0.99
    states = pe.ParalESN(units=3).set_output(transform="pandas").fit_transform(frame)
    assert list(states.columns) == ["paralesn0", "paralesn1", "paralesn2"]
    assert (states.index == frame.index).all()


def test_transform_wants_a_fit_and_a_mistyped_name_is_an_error():
    with pytest.raises(NotFittedError):
        pe.ParalESN().transform(np.zeros((3, 1)))
    with pytest.raises(TypeError, match="unit"):
        pe.ParalESN(unit=3)
    with pytest.raises(ValueError, match="mix_sizes"):
        pe.ParalESN().set_params(mix_sizes=3)


def test_pickle_gives_the_same_model(rng):
    x = rng.normal(size=(30, 1))
    res = pe.ParalESN(units=20, seed=None)
    states, _ = res.run(x)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(res)).run(x)[0], states)


def test_how_it_runs_may_change_after_the_draw(rng):
    x = rng.normal(size=(30, 1))
    res = pe.ParalESN(units=20)
    states, _ = res.run(x)
    res.set_params(dtype="float32")
    assert res.run(x)[0].dtype == np.float32
    assert np.abs(res.run(x)[0] - states).max() < 1e-5
    res.set_params(dtype="float64", engine="reference")
    assert np.abs(res.run(x)[0] - states).max() < 1e-14
    res.set_params(engine="cpu", mixing=False)
    assert res.run(x)[0].shape == (30, 40)

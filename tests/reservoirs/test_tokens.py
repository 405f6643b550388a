"""Tokens as input: the same states as their one-hot rows, whatever the engine; padding; errors."""

import numpy as np
import pytest
from sklearn.base import clone

import paralesn as pe

SIZE = 11
SCALES = {"bias_scale": 0.2, "mix_scale": 0.7, "mix_bias_scale": 0.3}


@pytest.fixture
def texts(rng):
    return [rng.integers(0, SIZE, length) for length in (40, 7, 133, 1)]


def one_hot(texts):
    return [np.eye(SIZE)[text] for text in texts]


def padded(texts, width):
    batch = np.full((len(texts), width, 1), -1)
    for row, text in zip(batch, texts, strict=True):
        row[: text.size, 0] = text
    return batch


@pytest.mark.parametrize("engine", ["cpu", "reference", "torch"])
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize(("layers", "concat"), [(1, False), (2, True), (2, False)])
def test_tokens_are_their_one_hot_rows(texts, engine, real, layers, concat):
    if engine == "torch":
        pytest.importorskip("torch")
    for dtype, off in (("float64", 1e-12), ("float32", 1e-5)):
        same = {"units": 70, "layers": layers, "concat": concat, "real": real, "seed": 3}
        plain = pe.ParalESN(**same, **SCALES, engine="reference")
        res = pe.ParalESN(**same, **SCALES, vocabulary=SIZE, dtype=dtype, engine=engine)
        wanted, ours = plain.run(one_hot(texts))[0], res.run(texts)[0]
        for a, b in zip(wanted, ours, strict=True):
            np.testing.assert_allclose(b, a, atol=off)
        np.testing.assert_allclose(res.last(texts), [a[-1] for a in wanted], atol=off)
        pools = ("mean", "std", "max", "ppv")
        expected = plain.pool(one_hot(texts), pools)
        np.testing.assert_allclose(res.pool(texts, pools), expected, atol=10 * off)


def test_last_states_of_many_series_of_tokens(rng):
    texts = list(rng.integers(0, SIZE, (80, 30)))  # as many as make numbers a matrix product
    plain = pe.ParalESN(units=24, **SCALES).last(one_hot(texts))
    np.testing.assert_allclose(pe.ParalESN(24, vocabulary=SIZE, **SCALES).last(texts), plain)


@pytest.mark.parametrize("layers", [1, 2])
def test_padding_does_not_touch_the_state(texts, layers):
    res = pe.ParalESN(units=32, layers=layers, vocabulary=SIZE, **SCALES)
    batch = padded(texts, 150)
    np.testing.assert_array_equal(res.last(batch), res.last(texts))
    np.testing.assert_array_equal(
        res.pool(batch, ("mean", "std")), res.pool(texts, ("mean", "std"))
    )
    states, after = res.run(batch)
    expected, wanted = res.run(texts)
    for a, b in zip(states, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(after.layers, wanted.layers, strict=True):
        np.testing.assert_array_equal(a, b)
    blocks = list(res.stream(batch, block=40))
    for b, whole in enumerate(expected):
        np.testing.assert_array_equal(np.concatenate([block[b] for block in blocks]), whole)


def test_steps_and_shapes(texts):
    res = pe.ParalESN(units=16, layers=2, vocabulary=SIZE, **SCALES)
    states, _ = res.run(texts[0])
    state = None
    for token, wanted in zip(texts[0], states, strict=True):
        z, state = res.step(int(token), state)
        np.testing.assert_array_equal(z, wanted)
    assert res.step([[3], [4]])[0].shape == (2, 16)
    np.testing.assert_array_equal(res.run(texts[0][:, None])[0], states)
    assert (res.n_features_in_, res.layers_[0].w_in.shape) == (1, (16, SIZE))


def test_threads_do_not_change_a_bit(texts):
    one, two = (
        pe.ParalESN(units=300, layers=2, vocabulary=SIZE, n_jobs=n, **SCALES).pool(texts)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_tensors_of_tokens(texts):
    torch = pytest.importorskip("torch")
    res = pe.ParalESN(units=16, vocabulary=SIZE, engine="torch", **SCALES)
    batch = padded(texts, 140)
    states, _ = res.run(torch.from_numpy(batch))
    for a, b in zip(states, res.run(texts)[0], strict=True):
        np.testing.assert_allclose(a.numpy(), b, atol=1e-12)
    from paralesn.torch import ParalESNBlock

    with pytest.raises(ValueError, match="reads numbers, not tokens"):
        ParalESNBlock(res)


def test_saved_cloned_and_given(texts, tmp_path):
    res = pe.ParalESN(units=16, vocabulary=SIZE, **SCALES)
    wanted = res.last(texts)
    pe.save(res, tmp_path / "res.safetensors")
    for other in (
        pe.load(tmp_path / "res.safetensors"),
        clone(res),
        pe.ParalESN.from_layers(res.layers_),
    ):
        assert other.vocabulary == SIZE
        np.testing.assert_array_equal(other.last(texts), wanted)
    given = pe.ParalESN.from_layers(res.layers_).set_params(vocabulary=SIZE + 1)
    with pytest.raises(ValueError, match="vocabulary must be 11, as given to from_layers"):
        given.check_hyperparameters()


def test_a_classifier_of_tokens(rng):
    words = ([1, 2, 3], [3, 2, 1])  # the same letters in another order
    y = np.arange(60) % 2
    X = [np.tile(words[label], rng.integers(5, 20)) for label in y]
    reservoir = pe.ParalESN(units=64, vocabulary=5, mix_scale=1.0, mix_bias_scale=1.0)
    model = pe.ReservoirClassifier(
        pe.PooledStates(reservoir, pool="mean", segments=1, standardize=False)
    )
    assert model.fit(X[:40], y[:40]).score(X[40:], y[40:]) == 1.0


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([0, 1, SIZE], f"whole numbers from 0 to {SIZE - 1}.* got {SIZE} at series 0, step 2"),
        ([0.0, 1.5], "got 1.5 at series 0, step 1"),
        ([3, -2], "got -2 at series 0, step 1"),
        ([3, -1, 4], "padding .-1. at the end of a series only, got token 4 .* step 2"),
        ([-1, -1], "at least one token of each series, got none in series 0"),
        (np.zeros((4, 2)), "has 2 features, but ParalESN is expecting 1"),
        ([np.array([1, 2]), np.array([1, SIZE])], "at series 1, step 1"),
        (np.array([1.0, np.nan]), "X must be finite, got NaN"),
        (["a"], "must hold real numbers"),
    ],
)
def test_what_is_no_token_is_refused(X, said):
    X = X if isinstance(X, list) and isinstance(X[0], np.ndarray) else np.array(X)
    with pytest.raises(ValueError, match=said):
        pe.ParalESN(units=8, vocabulary=SIZE).run(X)


def test_wrong_steps_and_vocabularies_are_refused():
    res = pe.ParalESN(units=8, vocabulary=SIZE)
    for x in (SIZE, -1, 0.5, float("nan"), "a"):
        with pytest.raises(
            ValueError, match=f"x must be a token, a whole number from 0 to {SIZE - 1}"
        ):
            res.step(x)
    for size, error in ((1, ValueError), (2**25, ValueError), (2.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="vocabulary must be a whole number from 2 to"):
            pe.ParalESN(vocabulary=size).run([0, 1])
    first = pe.ParalESN(units=8, layers=2, vocabulary=SIZE).fit([1]).layers_[0]
    ring = pe.DiagonalLayer(
        first.eigenvalues, first.eigenvalues, first.bias, 1.0, first.mix_kernel, 0.0, tokens=True
    )
    with pytest.raises(ValueError, match="tokens of layer 2 must be False"):
        pe.ParalESN.from_layers([first, ring])

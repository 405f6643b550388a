"""Engines and ways of running must agree: same numbers everywhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paralesn as pe

LIVELY = {"bias_scale": 0.5, "mix_scale": 1.0, "mix_bias_scale": 0.3, "tau": 0.8}


def as_list(states):
    return states if isinstance(states, list) else [states]


def largest_difference(a, b):
    return max(np.abs(x - y).max(initial=0) for x, y in zip(as_list(a), as_list(b), strict=True))


shapes = st.fixed_dictionaries(
    {
        "units": st.sampled_from([1, 2, 15, 16, 17, 63, 64, 65, 100, 128, 130, 200]),
        "mix_size": st.integers(1, 16) | st.just(63),
        "layers": st.integers(1, 4),
        "concat": st.booleans(),
        "real": st.booleans(),
        "mixing": st.booleans(),
        "seed": st.integers(0, 1000),
    }
).filter(lambda hyper: hyper["units"] >= hyper["layers"])


@given(
    hyper=shapes,
    features=st.integers(1, 9),
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    dtype=st.sampled_from(["float64", "float32"]),
    n_jobs=st.integers(1, 3),
)
def test_cpu_equals_reference(hyper, features, lengths, dtype, n_jobs):
    rng = np.random.default_rng(hyper["seed"])
    X = [rng.normal(size=(steps, features)) for steps in lengths]
    reference = pe.ParalESN(engine="reference", **hyper, **LIVELY)
    cpu = pe.ParalESN(engine="cpu", dtype=dtype, n_jobs=n_jobs, **hyper, **LIVELY)
    expected, expected_state = reference.run(X)
    states, state = cpu.run(X)
    # float64: 1e-12 of states of order one; a raw state of order one sums `features` terms
    tolerance = (1e-12 if dtype == "float64" else 1e-4) * features
    assert largest_difference(states, expected) <= tolerance
    assert largest_difference(list(state.layers), list(expected_state.layers)) <= tolerance
    assert largest_difference(cpu.last(X), np.stack([z[-1] for z in expected])) <= tolerance
    assert states[0].dtype == dtype


@given(
    hyper=shapes,
    steps=st.integers(1, 40),
    cut=st.integers(1, 39),
    block=st.integers(1, 41),
    batch=st.integers(0, 3),
)
def test_run_in_pieces_is_the_same_to_the_last_bit(hyper, steps, cut, block, batch):
    rng = np.random.default_rng(hyper["seed"])
    X = rng.normal(size=(*[batch] * (batch > 0), steps, 2))
    res = pe.ParalESN(**hyper, **LIVELY)
    states, state = res.run(X)

    stream = res.stream(X, block)
    np.testing.assert_array_equal(np.concatenate(list(stream), axis=-2), states)
    cut = min(cut, steps)
    first, middle = res.run(X[..., :cut, :])
    if cut < steps:
        rest, end = res.run(X[..., cut:, :], middle)
        np.testing.assert_array_equal(np.concatenate([first, rest], axis=-2), states)
    else:
        end = middle
    stepwise, walked = [], None
    for t in range(steps):
        z, walked = res.step(X[..., t, :], walked)
        stepwise.append(z)
    np.testing.assert_array_equal(np.stack(stepwise, axis=-2), states)
    last, final = res.last(X, return_state=True)
    np.testing.assert_array_equal(last, states[..., -1, :])
    for other in (stream.state, end, walked, final):
        for h, expected in zip(other.layers, state.layers, strict=True):
            np.testing.assert_array_equal(h, expected)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("shape", [(20_000, 1), (37, 400, 2), (2, 3000, 1)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_number_of_threads_does_not_change_a_bit(layers, shape, dtype, rng):
    X = rng.normal(size=shape)
    one = pe.ParalESN(units=200, layers=layers, dtype=dtype, n_jobs=1, **LIVELY)
    states, state = one.run(X)
    for n_jobs in (2, 3, 8, None):
        other = pe.ParalESN(units=200, layers=layers, dtype=dtype, n_jobs=n_jobs, **LIVELY)
        again, after = other.run(X)
        np.testing.assert_array_equal(again, states)
        for h, expected in zip(after.layers, state.layers, strict=True):
            np.testing.assert_array_equal(h, expected)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 8])
@pytest.mark.parametrize("concat", [False, True])
@pytest.mark.parametrize("mixing", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_deep_runs_over_many_blocks(monkeypatch, n_jobs, concat, mixing, last, rng):
    """Blocks of 16 steps: layers hand over, overlap and leave off where they should."""
    from paralesn.engines.cpu import diagonal_layer, program

    monkeypatch.setattr(program, "_CACHED_BYTES", 1)
    monkeypatch.setattr(diagonal_layer, "_LEAST_WORK", 1)
    hyper = {"units": 150, "layers": 3, "concat": concat, "mixing": mixing, **LIVELY}
    reference = pe.ParalESN(engine="reference", **hyper)
    res = pe.ParalESN(n_jobs=n_jobs, **hyper)
    for X in (rng.normal(size=(1500, 1)), [rng.normal(size=(n, 1)) for n in (33, 1, 100, 16, 70)]):
        _, start = reference.run([x[:5] for x in X] if isinstance(X, list) else X[:5])
        expected, state = reference.run(X, start)
        if last:
            final, after = res.last(X, start, return_state=True)
            expected = np.stack([z[-1] for z in as_list(expected)]).reshape(final.shape)
            assert largest_difference(final, expected) <= 1e-12
        else:
            states, after = res.run(X, start)
            assert largest_difference(states, expected) <= 1e-12
        assert largest_difference(list(after.layers), list(state.layers)) <= 1e-12


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 8])
def test_a_deep_stream_keeps_the_states_of_series_that_ended(n_jobs, rng):
    """Blocks after the end of all series of a task must hand their states on."""
    X = [rng.normal(size=(n, 1)) for n in (7, 30, 1, 29, 12)]
    _, expected = pe.ParalESN(units=20, layers=3, n_jobs=1, **LIVELY).run(X)
    stream = pe.ParalESN(units=20, layers=3, n_jobs=n_jobs, **LIVELY).stream(X, block=9)
    assert len(list(stream)) == 4
    for h, end in zip(stream.state.layers, expected.layers, strict=True):
        np.testing.assert_array_equal(h, end)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_last_by_matrix_product_is_bit_identical_for_every_thread_count(dtype, rng):
    X = rng.normal(size=(1500, 50, 1))
    one = pe.ParalESN(units=150, dtype=dtype, n_jobs=1, **LIVELY).last(X)
    for n_jobs in (2, 5, None):
        again = pe.ParalESN(units=150, dtype=dtype, n_jobs=n_jobs, **LIVELY).last(X)
        np.testing.assert_array_equal(again, one)


@given(
    hyper=shapes.filter(lambda hyper: hyper["layers"] == 1),
    lengths=st.lists(st.integers(1, 30), min_size=64, max_size=80),
    features=st.integers(1, 3),
    regular=st.booleans(),
    from_state=st.booleans(),
)
def test_last_by_matrix_product_equals_the_recurrence(
    hyper, lengths, features, regular, from_state
):
    rng = np.random.default_rng(hyper["seed"])
    X = [rng.normal(size=(steps, features)) for steps in lengths]
    if regular:
        X = rng.normal(size=(len(lengths), lengths[0], features))
    res = pe.ParalESN(**hyper, **LIVELY)
    state = res.run(X)[1] if from_state else None
    recurrence, _ = res.last(X, state, return_state=True)
    assert np.abs(res.last(X, state) - recurrence).max() <= 1e-12 * features


def test_last_by_matrix_product_in_many_pieces(monkeypatch, rng):
    """Pieces of the matrix, of the batch and of the units must fit together."""
    from paralesn.engines.cpu import last as response

    X = rng.normal(size=(100, 61, 2))
    res = pe.ParalESN(units=77, mix_size=4, rho=(0.5, 0.999), **LIVELY)
    expected, _ = res.last(X, return_state=True)
    monkeypatch.setattr(response, "_ENTRIES", 500)
    monkeypatch.setattr(response, "_ROWS", 7)
    assert np.abs(res.last(X) - expected).max() <= 1e-12


def test_long_memory_keeps_its_accuracy(rng):
    """Radii close to one over many steps: reference, recurrence and product stay together."""
    X = rng.normal(size=(64, 3000, 1))
    hyper = {"units": 20, "rho": (0.999, 0.9999), "mix_scale": 0.1}
    res = pe.ParalESN(**hyper)
    slow = pe.ParalESN(engine="reference", **hyper).run(X[0])[0]
    fast = res.run(X[0])[0]
    assert np.abs(fast - slow).max() <= 1e-12
    assert np.abs(res.last(X)[0] - slow[-1]).max() <= 1e-11


@pytest.mark.parametrize("real", [False, True])
def test_impulse_response_has_its_closed_form(real):
    """h_t = lambda^t tau w for a single unit impulse at t = 0."""
    x = np.zeros((40, 1))
    x[0] = 1.0
    res = pe.ParalESN(units=33, real=real, mixing=False, tau=0.7)
    states, _ = res.run(x)
    layer = res.layers_[0]
    h = layer.eigenvalues ** np.arange(40)[:, None] * layer.tau * layer.w_in[:, 0]
    expected = h if real else np.hstack([h.real, h.imag])
    np.testing.assert_allclose(states, expected, rtol=1e-12, atol=1e-15)


def test_recurrence_equals_scipys_filter(rng):
    """A unit is a first-order recursive filter."""
    from scipy.signal import lfilter

    x = rng.normal(size=500)
    res = pe.ParalESN(units=20, mixing=False)
    states, _ = res.run(x)
    for i, (pole, gain) in enumerate(
        zip(res.layers_[0].eigenvalues, res.layers_[0].w_in[:, 0], strict=True)
    ):
        h = lfilter([gain], [1, -pole], x)
        np.testing.assert_allclose(states[:, i] + 1j * states[:, 20 + i], h, rtol=1e-10, atol=1e-13)


def test_mixing_equals_numpys_convolution(rng):
    """Correlation with the kernel, zeros outside: np.convolve with the kernel reversed."""
    x = rng.normal(size=50)
    for size in (1, 2, 5, 6, 15):
        res = pe.ParalESN(units=70, mix_size=size, **LIVELY)
        raw = pe.ParalESN(units=70, mix_size=size, mixing=False, **LIVELY)
        states, h = res.run(x)[0], raw.run(x)[0]
        layer = res.layers_[0]
        right = size // 2
        for t in range(50):
            full = np.convolve(h[t, :70] + 1j * h[t, 70:], layer.mix_kernel[::-1])
            z = np.tanh((full[right : right + 70] + layer.mix_bias).real)
            np.testing.assert_allclose(states[t], z, rtol=0, atol=1e-13)


def test_a_layer_wider_than_the_one_below_wraps_the_ring(rng):
    layers = pe.ParalESN(units=10, **LIVELY).fit(np.zeros((1, 1))).layers_
    wide = pe.ParalESN(units=150, layers=2, **LIVELY).fit(np.zeros((1, 1))).layers_[1]
    x = rng.normal(size=(30, 1))
    made = [
        pe.ParalESN.from_layers([*layers, wide], engine=engine).run(x)[0]
        for engine in ("reference", "cpu")
    ]
    assert np.abs(made[0] - made[1]).max() <= 1e-12


def test_a_dense_deeper_layer(rng):
    layers = pe.ParalESN(units=70, **LIVELY).fit(np.zeros((1, 1))).layers_
    dense = pe.ParalESN(units=90, **LIVELY).fit(np.zeros((1, 70))).layers_
    x = rng.normal(size=(30, 1))
    made = [
        pe.ParalESN.from_layers([*layers, *dense], engine=engine).run(x)[0]
        for engine in ("reference", "cpu")
    ]
    assert np.abs(made[0] - made[1]).max() <= 1e-12

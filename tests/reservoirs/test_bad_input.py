"""Every mistake gets an error that names the argument, what came and what was expected."""

import numpy as np
import pytest

import paralesn as pe

GOOD = np.zeros((10, 2))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("units", 0, "units must be a whole number of at least 1, got 0"),
        ("units", 2.5, "units must be a whole number of at least 1, got 2.5"),
        ("units", True, "units must be a whole number"),
        ("units", "many", "units must be a whole number of at least 1, got 'many'"),
        ("layers", 0, "layers must be a whole number of at least 1, got 0"),
        ("rho", (0.9, 0.5), r"rho must be a pair \(min, max\) with min <= max, got \(0.9, 0.5\)"),
        ("rho", (-0.1, 0.5), r"rho\[0\] \(min\) must be a finite number in \[0, 1\), got -0.1"),
        ("rho", (0.5, 1.0), r"rho\[1\] \(max\) must be a finite number in \[0, 1\), got 1.0"),
        ("rho", (0.5, np.nan), r"rho\[1\] \(max\) must be a finite number"),
        ("rho", 0.9, r"rho must be a pair \(min, max\) of numbers, got 0.9"),
        ("rho", (0.1, 0.2, 0.3), "rho must be a pair"),
        ("rho", "ab", "rho must be a pair"),
        ("theta", (0, np.inf), r"theta\[1\] \(max\) must be a finite number"),
        ("theta", (2, 1), "theta must be a pair .* min <= max"),
        ("tau", 0, r"tau must be a finite number in \(0, 1\], got 0"),
        ("tau", 1.5, r"tau must be a finite number in \(0, 1\], got 1.5"),
        ("tau", np.nan, "tau must be a finite number"),
        ("input_scale", -1, "input_scale must be a finite number in .* got -1"),
        ("bias_scale", np.inf, "bias_scale must be a finite number"),
        ("mix_scale", "big", "mix_scale must be a finite number .* got 'big'"),
        ("mix_bias_scale", -0.1, "mix_bias_scale must be"),
        ("mix_size", 0, "mix_size must be a whole number from 1 to 63, got 0"),
        ("mix_size", 64, "mix_size must be a whole number from 1 to 63, got 64"),
        (
            "inter",
            {"rhoo": (0, 1)},
            "inter must be a dict with keys among rho, .* got the unknown 'rhoo'",
        ),
        ("inter", [1], "inter must be None or a dict"),
        ("inter", {"tau": 2}, r"inter tau must be a finite number in \(0, 1\], got 2"),
        ("concat", 1, "concat must be True or False, got 1"),
        ("real", None, "real must be True or False"),
        ("mixing", "yes", "mixing must be True or False"),
        ("dtype", "float16", "dtype must be one of 'float32', 'float64', got 'float16'"),
        ("dtype", "nonsense", "dtype must be one of"),
        ("engine", "gpu", "engine must be one of 'auto', 'cpu', 'reference', 'torch'.*, got 'gpu'"),
        ("device", "cuda", "device must be None with engine='auto', got 'cuda'"),
        ("n_jobs", 0, "n_jobs must be None .* got 0"),
        ("n_jobs", 1.5, "n_jobs must be None .* got 1.5"),
        ("seed", -1, "seed must be a whole number of at least 0, .* got -1"),
        ("seed", "x", "seed must be a whole number"),
    ],
)
@pytest.mark.parametrize("call", ["fit", "run"])
def test_hyperparameters(name, value, message, call):
    res = pe.ParalESN(**{name: value})
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(res, call)(GOOD)


def test_combinations_of_hyperparameters():
    with pytest.raises(ValueError, match=r"units must be at least layers \(5\) with concat, got 3"):
        pe.ParalESN(units=3, layers=5, concat=True).fit(GOOD)
    with pytest.raises(ValueError, match=r"eigenvalues of layer 1 must stay below 1 .* tau is too"):
        pe.ParalESN(tau=1e-17).run(GOOD)
    with pytest.raises(ValueError, match="after rounding to float32"):
        pe.ParalESN(rho=(1 - 1e-9, 1 - 1e-9), theta=(0, 0), dtype="float32").run(GOOD)
    with pytest.raises(ValueError, match="n_jobs must be None"):
        pe.ParalESN().fit(GOOD).set_params(n_jobs=0).run(GOOD)
    used = pe.ParalESN()
    used.run(GOOD)
    with pytest.raises(ValueError, match="n_jobs must be None"):
        used.set_params(n_jobs=0).run(GOOD)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((2, 3, 4, 5)), r"X must be \(time, features\) or .* got a 4-dimensional array"),
        (3.0, "X must be .* got a 0-dimensional array"),
        (np.zeros((0, 2)), "X must hold at least one time step, got .*shape=.0, 2."),
        (np.zeros((3, 0, 2)), "X must hold at least one time step"),
        (np.zeros((0, 3, 2)), "X must hold at least one series"),
        (np.zeros((3, 0)), "X must hold at least one feature"),
        ([], "X must hold at least one time step"),
        ([np.zeros((3, 2)), np.zeros((0, 2))], r"X\[1\] must hold at least one time step"),
        ([np.zeros((3, 2)), np.zeros((3, 1))], r"X\[1\] has 1 features, but .* expecting 2"),
        ([np.zeros((3, 2, 2))], r"X\[0\] must be one series"),
        ([[1, 2], [3]], "X must be an array of numbers or a list of arrays"),
        (np.array(["a", "b"]), "X must hold real numbers, got dtype <U1"),
        (np.array([None, 1]), "X must be finite, got NaN at step 0"),
        (np.array(["a", 1], object), "X must hold real numbers, got dtype object, such as 'a'"),
        (np.zeros((3, 1), complex), "X must be real.* got complex128"),
        ([np.zeros((3, 2)), np.array([["a", "b"]])], r"X\[1\] must hold real numbers"),
    ],
)
@pytest.mark.parametrize("call", ["fit", "run", "last", "stream"])
def test_shape_and_dtype_of_input(X, message, call):
    method = getattr(pe.ParalESN(), call)
    use = (lambda X: list(method(X))) if call == "stream" else method
    with pytest.raises((ValueError, TypeError), match=message):
        use(X)


@pytest.mark.parametrize(
    ("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
@pytest.mark.parametrize("call", ["fit", "run", "last", "stream", "transform"])
def test_values_that_are_not_finite_are_named_by_position(bad, word, call, rng):
    def use(X):
        res = pe.ParalESN(units=5)
        if call == "transform":
            res.fit(np.zeros((2, 2)))
        result = getattr(res, call)(X)
        return list(result) if call == "stream" else result

    X = rng.normal(size=(9000, 2))
    X[8123, 1] = bad
    with pytest.raises(ValueError, match=f"X must be finite, got {word} at step 8123, feature 1"):
        use(X)
    batch = rng.normal(size=(3, 20, 2))
    batch[2, 5, 0] = bad
    with pytest.raises(ValueError, match=f"got {word} at series 2, step 5, feature 0"):
        use(batch)
    with pytest.raises(
        ValueError, match=rf"X\[2\] must be finite, got {word} at step 5, feature 0"
    ):
        use(list(batch))


def test_a_number_beyond_float32_is_not_clipped():
    X = np.zeros((5, 1))
    X[3] = 1e300
    with pytest.raises(ValueError, match=r"got .*1e\+300.* which is beyond float32 at step 3"):
        pe.ParalESN(dtype="float32").run(X)
    with pytest.raises(ValueError, match="beyond float32"):
        pe.ParalESN(dtype="float32").step(np.array([1e300]))
    assert np.isfinite(pe.ParalESN().run(X)[0]).all()
    assert np.isfinite(pe.ParalESN().step([1e200])[0]).all()  # its square overflows, it does not


def test_feature_count_must_stay(rng):
    res = pe.ParalESN(units=5).fit(GOOD)
    message = "X has 3 features, but ParalESN is expecting 2 features as input"
    for call in (res.run, res.last, res.transform, lambda X: list(res.stream(X))):
        with pytest.raises(ValueError, match=message):
            call(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=message):
        list(res.stream(iter([np.zeros((4, 2)), np.zeros((4, 3))])))
    fresh = pe.ParalESN(units=5)
    with pytest.raises(ValueError, match=message):
        list(fresh.stream(iter([np.zeros((4, 2)), np.zeros((4, 3))])))


def test_a_stream_says_where_in_the_source_a_bad_value_lies():
    blocks = [np.zeros((50, 1)) for _ in range(3)]
    blocks[2][7] = np.nan
    stream = pe.ParalESN(units=5).stream(iter(blocks), block=20)
    with pytest.raises(ValueError, match="got NaN at step 107, feature 0"):
        list(stream)


@pytest.mark.parametrize("block", [0, -1, 2.5, "all", None])
def test_block_of_a_stream(block):
    with pytest.raises((ValueError, TypeError), match="block must be a whole number of at least 1"):
        pe.ParalESN().stream(GOOD, block)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros(3), r"x must be one time step, \(2,\) or \(batch, 2\), got shape \(3,\)"),
        (1.0, r"x must be one time step, .* got shape \(\)"),
        (np.zeros((2, 2, 2)), "x must be one time step"),
        (np.zeros((0, 2)), "x must be one time step"),
        ([np.nan, 0], "x must be finite, got NaN"),
        ([0, np.inf], "x must be finite, got infinity"),
        (["a", "b"], "x must hold real numbers"),
        ([1j, 0], "x must be real"),
    ],
)
def test_one_step(x, message):
    res = pe.ParalESN(units=5).fit(GOOD)
    _, state = res.run(GOOD)
    kept = state.layers[0].copy()
    with pytest.raises((ValueError, TypeError), match=message):
        res.step(x, state)
    np.testing.assert_array_equal(state.layers[0], kept)


def test_states(rng):
    res = pe.ParalESN(units=5, layers=2).fit(GOOD)
    _, single = res.run(GOOD)
    _, batch = res.run(np.zeros((3, 4, 2)))
    _, foreign = pe.ParalESN(units=5, layers=2, seed=9).run(GOOD)
    cases = [
        (GOOD, foreign, "state must come from this model, got the state of another one"),
        (GOOD, batch, r"state of layer 1 must have shape \(5,\) here, got \(3, 5\)"),
        (np.zeros((2, 4, 2)), batch, r"state of layer 1 must have shape \(2, 5\) here"),
        (np.zeros((3, 4, 2)), single, r"state of layer 1 must have shape \(3, 5\) here"),
        (GOOD, [np.zeros(5)], r"state must be None, .* one array per layer \(2\), got list"),
        (GOOD, [np.zeros(5), np.zeros(4)], r"state of layer 2 must have shape \(5,\) here"),
        (GOOD, [np.zeros(5), np.full(5, np.nan)], "state of layer 2 must be finite"),
        (GOOD, [np.zeros(5), np.array(list("abcde"))], "state of layer 2 must be convertible"),
        (GOOD, "zero", "state must be None"),
        (GOOD, np.zeros((2, 5)), "state must be None"),
    ]
    for X, state, message in cases:
        for call in (res.run, res.last, lambda X, s: next(res.stream(X, state=s))):
            with pytest.raises((ValueError, TypeError), match=message):
                call(X, state)
    real = pe.ParalESN(units=5, real=True).fit(GOOD)
    with pytest.raises(TypeError, match="must be convertible to float64, got complex128"):
        real.run(GOOD, [np.zeros(5, complex)])


def one_layer(**changes):
    arrays = {
        "eigenvalues": np.full(4, 0.5j), "w_in": np.ones((4, 2)), "bias": np.zeros(4), "tau": 1.0,
        "mix_kernel": np.ones(3), "mix_bias": 0.0,
    }  # fmt: skip
    return pe.DiagonalLayer(**(arrays | changes))


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], "layers must be a list of at least one DiagonalLayer"),
        (["x"], "layers must be a list of at least one DiagonalLayer"),
        ([one_layer(eigenvalues=[0.5j, 1j, 0, 0])], r"eigenvalues of layer 1 must lie inside the unit circle .* \|eigenvalues\[1\]\| = 1"),
        ([one_layer(eigenvalues=[0.5j, -1.5, 0, 0])], r"\|eigenvalues\[1\]\| = 1.5"),
        ([one_layer(eigenvalues=[np.nan, 0, 0, 0j])], "eigenvalues of layer 1 must be finite"),
        ([one_layer(eigenvalues=np.zeros((2, 2), complex))], r"eigenvalues of layer 1 must be \(N,\)"),
        ([one_layer(w_in=np.ones(4))], r"w_in of layer 1 must have shape \(4, features\), got \(4,\)"),
        ([one_layer(w_in=np.ones((3, 2)))], r"w_in of layer 1 must have shape \(4, features\)"),
        ([one_layer(), one_layer()], r"w_in of layer 2 must have shape \(4,\) or \(4, 4\), got \(4, 2\)"),
        ([one_layer(bias=np.ones(3))], r"bias of layer 1 must have shape \(4,\), got \(3,\)"),
        ([one_layer(bias=[0, 0, np.inf, 0])], "bias of layer 1 must be finite"),
        ([one_layer(mix_kernel=np.ones(64))], "mix_kernel of layer 1 must be .* from 1 to 63"),
        ([one_layer(mix_bias=np.zeros(1))], "mix_bias of layer 1 must be a number"),
        ([one_layer(tau=0.0)], "tau of layer 1 must be a finite number"),
        ([one_layer(), one_layer(eigenvalues=np.full(4, 0.5), w_in=np.ones(4))], "arrays of layer 2 must be complex or real as"),
    ],
)  # fmt: skip
def test_given_layers(layers, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pe.ParalESN.from_layers(layers)


def test_given_layers_want_their_features():
    with pytest.raises(ValueError, match="X has 3 features, but ParalESN is expecting 2"):
        pe.ParalESN.from_layers([one_layer()]).run(np.zeros((5, 3)))
    with pytest.raises(ValueError, match="X has 3 features, but ParalESN is expecting 2"):
        pe.ParalESN.from_layers([one_layer()]).fit(np.zeros((5, 3)))

"""The compiled engine of recurrent layers: the reference's numbers, the same bits in every way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hadamard

import paralesn as pe
from paralesn.engines.cpu import program, recurrent_layer
from paralesn.engines.cpu.kernels.hadamard import walsh_hadamard
from paralesn.engines.cpu.kernels.product import add_products, pack_panels
from paralesn.runtime.compiler import kernel

KINDS = {
    "dense": (pe.ESN, {"tau": 0.7}),
    "without leak": (pe.ESN, {}),
    "sparse": (pe.ESN, {"density": 0.3, "tau": 0.7}),
    "linear": (pe.ESN, {"linear": True, "tau": 0.7}),
    "random branch": (pe.ResESN, {}),
    "cyclic branch": (pe.ResESN, {"orthogonal": "cyclic"}),
    "identity branch": (pe.ResESN, {"orthogonal": "identity", "density": 0.5}),
    "cycle": (pe.SCR, {"tau": 0.7}),
    "hadamard": (pe.StructuredRC, {}),
}


def make(kind, **more):
    reservoir, hyper = KINDS[kind]
    return reservoir(bias_scale=0.3, input_scale=0.5, **hyper, **more)


def largest_difference(a, b):
    return max(np.abs(x - y).max(initial=0) for x, y in zip(a, b, strict=True))


shapes = st.fixed_dictionaries(
    {
        "units": st.sampled_from([1, 2, 7, 8, 9, 31, 33, 64, 100]),
        "layers": st.integers(1, 3),
        "concat": st.booleans(),
        "seed": st.integers(0, 1000),
    }
).filter(lambda hyper: hyper["units"] >= hyper["layers"])


@given(
    kind=st.sampled_from(sorted(KINDS)),
    hyper=shapes,
    features=st.integers(1, 9),
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=9),
    dtype=st.sampled_from(["float64", "float32"]),
    n_jobs=st.integers(1, 3),
)
def test_compiled_equals_reference(kind, hyper, features, lengths, dtype, n_jobs):
    rng = np.random.default_rng(hyper["seed"])
    X = [rng.normal(size=(steps, features)) for steps in lengths]
    start = list(make(kind, engine="reference", **hyper).run(X)[1].layers)
    expected, expected_state = make(kind, engine="reference", **hyper).run(X, start)
    res = make(kind, dtype=dtype, n_jobs=n_jobs, **hyper)
    states, state = res.run(X, start)
    scale = max(1.0, max(np.abs(z).max() for z in expected))  # linear states may be large
    tolerance = (1e-12 if dtype == "float64" else 2e-4) * features * scale
    assert largest_difference(states, expected) <= tolerance
    assert largest_difference(state.layers, expected_state.layers) <= tolerance
    pooled = make(kind, engine="reference", **hyper).pool(X, ("mean", "max"), state=start)
    assert np.abs(res.pool(X, ("mean", "max"), state=start) - pooled).max() <= tolerance
    assert states[0].dtype == dtype


@given(
    kind=st.sampled_from(sorted(KINDS)),
    hyper=shapes,
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=15),
    block=st.integers(1, 31),
    n_jobs=st.integers(1, 3),
)
def test_company_blocks_and_threads_change_no_bit(kind, hyper, lengths, block, n_jobs):
    rng = np.random.default_rng(hyper["seed"])
    X = [rng.normal(size=(steps, 2)) for steps in lengths]
    together, state = make(kind, n_jobs=n_jobs, **hyper).run(X)
    alone = make(kind, n_jobs=1, **hyper)
    b = rng.integers(len(X))
    np.testing.assert_array_equal(alone.run(X[b])[0], together[b])
    streamed = alone.stream(X[b], block=block)
    np.testing.assert_array_equal(np.vstack(list(streamed)), together[b])
    for h, every in zip(streamed.state.layers, state.layers, strict=True):
        np.testing.assert_array_equal(h, every[b])
    np.testing.assert_array_equal(alone.last(X), np.stack([z[-1] for z in together]))
    here, rows = None, []
    for x in X[b]:
        z, here = alone.step(x, here)
        rows.append(z)
    np.testing.assert_array_equal(rows, together[b])


@pytest.mark.parametrize("kind", ["dense", "sparse", "random branch", "hadamard", "linear"])
@pytest.mark.parametrize("layers", [1, 2])
def test_threads_share_out_the_units_of_a_step(monkeypatch, kind, layers, rng):
    """One series and a large matrix: every step is cut into panels, or not at all."""
    monkeypatch.setattr(recurrent_layer, "_LEAST_STEP", 1)
    monkeypatch.setattr(recurrent_layer, "_LEAST_WORK", 1)
    x = rng.normal(size=(40, 3))
    expected, state = make(kind, units=70, layers=layers, n_jobs=1).run(x)
    for n_jobs in (2, 3, 8):
        res = make(kind, units=70, layers=layers, n_jobs=n_jobs)
        states, after = res.run(x)
        np.testing.assert_array_equal(states, expected)
        np.testing.assert_array_equal(after.layers[-1], state.layers[-1])
        np.testing.assert_array_equal(res.last(x), expected[-1])


@pytest.mark.parametrize("kind", ["dense", "cycle"])
@pytest.mark.parametrize("count", [1, 5])
def test_deep_runs_over_many_blocks(monkeypatch, kind, count, rng):
    monkeypatch.setattr(program, "_CACHED_BYTES", 1)
    X = rng.normal(size=(count, 300, 1))
    expected, state = make(kind, units=30, layers=3, concat=True, engine="reference").run(X)
    for n_jobs in (1, 2, 4):
        states, after = make(kind, units=30, layers=3, concat=True, n_jobs=n_jobs).run(X)
        assert np.abs(states - expected).max() <= 1e-12
        assert largest_difference(after.layers, state.layers) <= 1e-12


KINDS_OF_OPERATORS = ("dense", "sparse", "cycle", "hadamard", "identity")


def draw_operator(kind, units, rng):
    if kind == "dense":
        return pe.operators.Dense(0.3 * rng.normal(size=(units, units)) / np.sqrt(units))
    if kind == "sparse":
        columns = np.sort(np.stack([rng.choice(units, 2, replace=False) for _ in range(units)]))
        return pe.operators.Sparse(columns, 0.3 * rng.normal(size=(units, 2)))
    if kind == "hadamard":
        size = 1 << (units - 1).bit_length()
        return pe.operators.Hadamard(units, 0.4, rng.integers(0, 2, (3, size)) * 2 - 1)
    return getattr(pe.operators, kind.capitalize())(units, 0.3)


@pytest.mark.parametrize("recurrent", KINDS_OF_OPERATORS)
@pytest.mark.parametrize("branch", KINDS_OF_OPERATORS)
def test_every_operator_in_either_place(recurrent, branch, rng):
    units, x = 37, rng.normal(size=(3, 20, 2))
    layer = pe.RecurrentLayer(
        recurrent=draw_operator(recurrent, units, rng),
        w_in=rng.normal(size=(units, 2)),
        bias=rng.normal(size=units),
        branch=draw_operator(branch, units, rng),
        gain=0.5,
    )
    expected, _ = pe.ESN.from_layers([layer], engine="reference").run(x)
    assert np.abs(pe.ESN.from_layers([layer]).run(x)[0] - expected).max() <= 1e-12


@pytest.mark.parametrize("kind", ["dense", "cycle"])
def test_read_only_input_compiles_nothing_anew(kind, rng):
    from paralesn.engines.cpu.kernels import operators, recurrent

    kinds = {"dense": operators.DENSE, "cycle": operators.CYCLE}
    run_together = recurrent.together_kernel(kinds[kind], operators.DENSE, operators.IDENTITY)
    x, res = rng.normal(size=(20, 1)), make(kind, units=20)
    states, state = res.run(x)
    assert run_together.signatures
    known = len(run_together.signatures)
    x.setflags(write=False)
    for h in state.layers:
        h.setflags(write=False)
    np.testing.assert_array_equal(res.run(x)[0], states)
    res.run(x, state)
    res.step(x[0], state)
    assert len(run_together.signatures) == known


def test_a_kernel_compiles_no_operator_but_its_own():
    """Of a dense layer's kernel, nothing that it calls is of another kind."""
    from paralesn.engines.cpu.kernels import operators, recurrent
    from paralesn.runtime.kernel_cache import described

    def calls(function):
        found = set()
        for cell in function.__closure__ or ():
            if hasattr(cell.cell_contents, "py_func"):
                called = cell.cell_contents.py_func
                found |= {called.__name__} | calls(called)
        return found

    dense = recurrent.together_kernel(operators.DENSE, operators.DENSE, operators.IDENTITY).py_func
    assert calls(dense) == {"advance", "_add_dense", "_add_identity", "_drive_dense"}
    cycle = recurrent.together_kernel(operators.CYCLE, operators.RING, operators.HADAMARD).py_func
    assert calls(cycle) == {"advance", "_add_cycle_rows", "_add_hadamard_rows", "_drive_ring"}
    assert described(dense) != described(cycle)


# -- what it is made of ----------------------------------------------------------------------------


@kernel
def _products(h, panels, out):
    add_products(h, panels, out, 0, panels.shape[0])


@kernel
def _transform(x):
    walsh_hadamard(x)


@given(
    units=st.integers(1, 70),
    inputs=st.integers(1, 70) | st.integers(1020, 1030),
    rows=st.integers(1, 20),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_products(units, inputs, rows, dtype):
    """Against NumPy, added to what was there; each row has the same bits alone."""
    rng = np.random.default_rng(units * inputs)
    matrix = rng.normal(size=(units, inputs)).astype(dtype)
    h = rng.normal(size=(rows, inputs)).astype(dtype)
    panels = pack_panels(matrix, np.dtype(dtype))
    there = rng.normal(size=(rows, panels.shape[0] * panels.shape[2])).astype(dtype)
    out = there.copy()
    _products(h, panels, out)
    expected = there[:, :units] + h.astype(float) @ matrix.T.astype(float)
    eps = np.finfo(dtype).eps
    assert np.abs(out[:, :units] - expected).max() <= 4 * eps * inputs
    np.testing.assert_array_equal(out[:, units:], there[:, units:])
    for r in range(rows):
        alone = there[r : r + 1].copy()
        _products(h[r : r + 1], panels, alone)
        np.testing.assert_array_equal(alone[0], out[r])


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32, 64, 512])
def test_walsh_hadamard(size, rng):
    x = rng.integers(-100, 100, size).astype(float)
    expected = hadamard(size) @ x
    _transform(x)
    np.testing.assert_array_equal(x, expected)  # whole numbers: exact


def test_a_hundred_thousand_structured_units(rng):
    """Far more than a matrix would fit: norms are those of an orthogonal matrix."""
    units = 1 << 17
    res = pe.StructuredRC(units=units, scale=0.5, input_scale=0.0, linear=False)
    h = 1e-6 * rng.normal(size=units)  # so small that tanh is the identity
    _, state = res.run(np.zeros((3, 1)), [h])
    np.testing.assert_allclose(
        np.linalg.norm(state.layers[0]), 0.5**3 * np.linalg.norm(h), rtol=1e-9
    )

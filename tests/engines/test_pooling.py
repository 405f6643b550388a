"""States pooled in the block loop against the same statistics of stored states."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paralesn as pe
from paralesn.engines.cpu import program

ALL = ("last", "mean", "std", "max", "min", "ppv")
LIVELY = {"bias_scale": 0.5, "mix_scale": 1.0, "mix_bias_scale": 0.3}


@given(
    units=st.sampled_from([1, 7, 64, 130, 200]),
    layers=st.integers(1, 3),
    concat=st.booleans(),
    mixing=st.booleans(),
    lengths=st.lists(st.integers(5, 60), min_size=1, max_size=4),
    pools=st.lists(st.sampled_from(ALL), min_size=1, unique=True),
    segments=st.integers(1, 5),
    dtype=st.sampled_from(["float64", "float32"]),
    n_jobs=st.integers(1, 3),
)
def test_equals_statistics_of_stored_states(
    units, layers, concat, mixing, lengths, pools, segments, dtype, n_jobs
):
    rng = np.random.default_rng(sum(lengths))
    X = [rng.normal(size=(steps, 2)) for steps in lengths]
    hyper = {"units": max(units, layers), "layers": layers, "concat": concat, "mixing": mixing}
    res = pe.ParalESN(**hyper, **LIVELY, dtype=dtype, n_jobs=n_jobs)
    pooled = res.pool(X, pools, segments)
    reference = pe.ParalESN(**hyper, **LIVELY, engine="reference").pool(X, pools, segments)
    assert np.abs(pooled - reference).max() <= (1e-12 if dtype == "float64" else 1e-4)
    assert pooled.dtype == dtype
    rows = []
    for states in res.run(X)[0]:
        row = []
        cuts = [len(states) * s // segments for s in range(segments + 1)]
        for part in np.split(states.astype(float), cuts[1:-1]):
            values = {
                "last": part[-1], "mean": part.mean(0), "std": part.std(0), "max": part.max(0),
                "min": part.min(0), "ppv": (part > 0).mean(0),
            }  # fmt: skip
            row += [values[name] for name in pools]
        rows.append(np.concatenate(row))
    np.testing.assert_allclose(pooled, rows, rtol=0, atol=1e-12 if dtype == "float64" else 1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("layers", [1, 3])
def test_blocks_threads_and_company_change_nothing(layers, dtype, monkeypatch, rng):
    X = [rng.normal(size=(steps, 1)) for steps in (400, 37, 5000, 1234, 5)]
    whole = pe.ParalESN(units=70, layers=layers, dtype=dtype, n_jobs=1, **LIVELY).pool(X, ALL, 3)
    threaded = pe.ParalESN(units=70, layers=layers, dtype=dtype, n_jobs=3, **LIVELY)
    np.testing.assert_array_equal(threaded.pool(X, ALL, 3), whole)
    for b, x in enumerate(X):
        np.testing.assert_array_equal(threaded.pool(x, ALL, 3), whole[b])
    monkeypatch.setattr(program, "_CACHED_BYTES", 16 * 70 * 8)
    small = pe.ParalESN(units=70, layers=layers, dtype=dtype, n_jobs=2, **LIVELY)
    np.testing.assert_array_equal(small.pool(X, ALL, 3), whole)


def test_goes_on_from_a_state(rng):
    X = rng.normal(size=(3, 90, 1))
    res = pe.ParalESN(units=20, **LIVELY)
    states, _ = res.run(X)
    _, middle = res.run(X[:, :40])
    rest = res.pool(X[:, 40:], ("mean", "last"), state=middle)
    np.testing.assert_allclose(rest[:, :20], states[:, 40:].mean(axis=1), atol=1e-14)
    np.testing.assert_array_equal(rest[:, 20:], states[:, -1])


def test_states_that_do_not_change_have_no_spread():
    """A constant input from its fixed point: rounding must not look like variance."""
    layer = pe.DiagonalLayer(
        eigenvalues=[0.5, 0.1], w_in=[[0.5], [0.9]], bias=[0, 0], tau=1.0, mix_kernel=[1.0],
        mix_bias=0.1,
    )  # fmt: skip
    res = pe.ParalESN.from_layers([layer])
    state = res.run(np.full(200, 0.7))[1]
    assert (res.pool(np.full(1000, 0.7), "std", state=state) == 0).all()


def test_states_are_not_stored():
    """Peak memory of pooling is far below that of the states (400 MB)."""
    import tracemalloc

    res, X = pe.ParalESN(units=500), np.zeros((100, 1000, 1))
    res.pool(X[:2], ("mean", "std"))
    tracemalloc.start()
    res.pool(X, ("mean", "std"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"pools": "median"}, ValueError, "pools must be one of 'last', 'mean'.*got 'median'"),
        ({"pools": ()}, TypeError, "pools must be a name or a sequence of names"),
        ({"pools": 3}, TypeError, "pools must be a name or a sequence of names, got 3"),
        ({"pools": ("mean", "mean")}, ValueError, "without repetitions"),
        ({"segments": 0}, ValueError, "segments must be a whole number of at least 1, got 0"),
        ({"segments": 9}, ValueError, "segments must be at most the number.*got 9 for 8 steps in"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        pe.ParalESN(units=4).pool(np.zeros((3, 8, 1)), **arguments)

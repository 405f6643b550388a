"""The compiled closed loop against stepping by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paralesn as pe
from paralesn.engines import reference
from paralesn.engines.cpu import engine as cpu

LIVELY = {"bias_scale": 0.5, "mix_scale": 1.0, "mix_bias_scale": 0.3}


@given(
    units=st.sampled_from([1, 5, 64, 130]),
    layers=st.integers(1, 3),
    concat=st.booleans(),
    mixing=st.booleans(),
    batch=st.sampled_from([1, 3, 20]),
    outputs=st.integers(1, 3),
    known=st.integers(0, 2),
    difference=st.booleans(),
    n_jobs=st.integers(1, 2),
)
def test_equals_the_reference(
    units, layers, concat, mixing, batch, outputs, known, difference, n_jobs
):
    rng = np.random.default_rng(units + batch)
    hyper = {"units": max(units, layers), "layers": layers, "concat": concat, "mixing": mixing}
    features = outputs + known
    plans = [
        pe.ParalESN(**hyper, **LIVELY, engine=engine).fit(np.zeros((2, features))).plan()
        for engine in ("cpu", "reference")
    ]
    state = tuple(rng.normal(size=(batch, n)) * (1 + 1j) for n in plans[0].widths)
    columns = plans[0].outputs
    arguments = (
        rng.normal(size=(9, batch, features)), state,
        0.1 * rng.normal(size=(outputs, columns)) / columns, rng.normal(size=outputs), difference,
    )  # fmt: skip
    before = [array.copy() for array in (arguments[0], *state)]
    predicted = cpu.loop(plans[0].program, *arguments, n_jobs=n_jobs)
    expected = reference.loop(plans[1].program, *arguments)
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-12)
    for array, copy in zip((arguments[0], *state), before, strict=True):
        np.testing.assert_array_equal(array, copy)  # what was handed in is left alone


def test_equals_steps_by_hand(rng):
    res = pe.ParalESN(units=50, layers=2, **LIVELY)
    _, state = res.run(rng.normal(size=(20, 1)))
    weights, intercept = rng.normal(size=50) / 20, 0.3
    batch = pe.State(tuple(h[None] for h in state.layers), state.origin)
    inputs = np.zeros((15, 1, 1))
    inputs[0] = x = 0.2
    predicted = res.close_loop(inputs, batch, weights[None], np.array([intercept]), False)
    for value in predicted[:, 0, 0]:
        z, state = res.step(x, state)
        x = z @ weights + intercept
        assert value == pytest.approx(x, abs=1e-13)


def test_layers_of_different_kinds(rng):
    """Given layers may mix ring and dense input weights; then the loop is stepped."""
    drawn = pe.ParalESN(units=12, layers=3, **LIVELY).fit(np.zeros((2, 1))).layers_
    dense = pe.DiagonalLayer(
        drawn[1].eigenvalues, rng.normal(size=(12, 12)), drawn[1].bias, 1.0, drawn[1].mix_kernel,
        drawn[1].mix_bias,
    )  # fmt: skip
    layers = [drawn[0], dense, drawn[2]]
    results = []
    for engine in ("cpu", "reference"):
        plan = pe.ParalESN.from_layers(layers, engine=engine).plan()
        state = tuple(np.zeros((2, 12), complex) for _ in layers)
        weights = np.linspace(-1, 1, 12)[None] / 10
        results.append(
            plan.engine.loop(plan.program, np.ones((6, 2, 1)), state, weights, np.ones(1), False)
        )
    np.testing.assert_allclose(*results, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_compiled_code_is_found_again_by_another_process(tmp_path):
    """A loop's kernel closes over layer kernels; its cache key must not change with the process."""
    import os
    import subprocess
    import sys

    program = """
import numpy as np, paralesn as pe
from paralesn.engines.cpu.closed_loop import loop_kernel
res = pe.ParalESN(units=8).fit(np.zeros((2, 1)))
state = pe.State(tuple(np.zeros((1, 8), complex) for _ in res.layers_), res.fingerprint_)
res.close_loop(np.zeros((2, 1, 1)), state, np.zeros((1, 8)), np.zeros(1), False)
layer = res.plan().program.layers[0]
print(sum(loop_kernel(layer.kernel, None).stats.cache_hits.values()))
"""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    hits = [
        subprocess.run(
            [sys.executable, "-c", program], env=environment, check=True, capture_output=True,
            text=True,
        ).stdout.strip()
        for _ in range(2)
    ]  # fmt: skip
    assert hits == ["0", "1"]

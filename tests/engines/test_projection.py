"""Inputs of many features, projected some steps at a time: numbers, and bits, are those of one."""

import numpy as np
import pytest

from paralesn import ParalESN
from paralesn.engines import reference
from paralesn.engines.base import Batch
from paralesn.engines.cpu import engine
from paralesn.engines.cpu.kernels import projection
from paralesn.engines.cpu.kernels.projection import AHEAD, MANY


def _inputs(steps, features, *batch):
    return np.random.default_rng(0).uniform(-1, 1, (*batch, steps, features))


@pytest.mark.parametrize("mixing", [True, False])
@pytest.mark.parametrize(
    "options", [{"bias_scale": 0.5, "tau": 0.8}, {"real": True, "bias_scale": 0.5}, {"layers": 2}]
)
@pytest.mark.parametrize(
    ("units", "features"), [(8, MANY), (100, MANY + 1), (600, MANY), (30, 1100)]
)
def test_states_are_those_of_the_reference(units, features, options, mixing):
    steps = 2 * AHEAD + 5
    x = _inputs(steps, features)
    layers = tuple(ParalESN(units=units, **options).fit(x).layers_)
    wanted = (layers, True, mixing, np.dtype(float))
    program, plain = engine.prepare(*wanted), reference.prepare(*wanted)
    batch = Batch.end_to_end(np.array([7, steps - 7]))
    kind = complex if layers[0].is_complex else float
    state = tuple(np.full((2, layer.units), 0.1, kind) for layer in layers)
    columns = sum(layer.n_columns(mixing) for layer in layers)
    ours, theirs = np.empty((steps, columns)), np.empty((steps, columns))
    after = engine.run(program, x, batch, state, ours)
    expected = reference.run(plain, x, batch, state, theirs)
    assert np.abs(ours - theirs).max() < 1e-12
    for end, wanted_end in zip(after, expected, strict=True):
        assert np.abs(end - wanted_end).max() < 1e-12


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("units", [70, 600])
def test_bits_are_those_of_one_step_after_the_other(monkeypatch, units, dtype):
    x = _inputs(3 * AHEAD + 1, MANY + 3)
    together = ParalESN(units=units, dtype=dtype).run(x)[0]
    monkeypatch.setattr(projection, "MANY", MANY + 4)
    alone = ParalESN(units=units, dtype=dtype).run(x)[0]
    assert np.array_equal(together, alone)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bits_depend_neither_on_portions_nor_on_threads(dtype):
    x = _inputs(2000, MANY)
    whole = ParalESN(units=200, dtype=dtype, n_jobs=1)
    states = whole.run(x)[0]
    assert np.array_equal(ParalESN(units=200, dtype=dtype, n_jobs=3).run(x)[0], states)
    assert np.array_equal(np.vstack(list(whole.stream(x, block=33))), states)
    step = whole.stepper()
    assert np.array_equal([step(row) for row in x[: AHEAD + 2]], states[: AHEAD + 2])
    many = whole.run(x.reshape(50, 40, MANY))[0]
    assert np.array_equal(many[0], states[:40])


def test_pooled_states_are_those_of_the_stored_ones():
    X = _inputs(2 * AHEAD + 7, MANY, 5)
    reservoir = ParalESN(units=100)
    pooled = reservoir.pool(X, ("mean", "max"))
    states = reservoir.run(X)[0]
    assert np.abs(pooled[:, :100] - states.mean(axis=1)).max() < 1e-12
    assert np.array_equal(pooled[:, 100:], states.max(axis=1))


def test_the_closed_loop_is_made_of_steps():
    D, units = MANY, 60
    rng = np.random.default_rng(0)
    reservoir = ParalESN(units=units).fit(np.zeros((2, D)))
    inputs = rng.uniform(-1, 1, (4, 2, D))
    weights, intercept = rng.normal(size=(D, units)) / units, rng.normal(size=D) / 10
    state = reservoir.step(inputs[0])[1]
    looped = reservoir.close_loop(inputs.copy(), state, weights, intercept, False)
    x = inputs[0]
    for predicted in looped:
        z, state = reservoir.step(x, state)
        x = z @ weights.T + intercept
        assert np.abs(predicted - x).max() < 1e-12

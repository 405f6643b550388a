"""The protocol of engines: batches, names of pools, and engines that users register."""

import sys
from types import ModuleType

import numpy as np
import pytest

import paralesn as pe
from paralesn.engines import base, reference
from paralesn.engines.base import Batch
from paralesn.engines.cpu.kernels.statistics import STATISTICS


def test_a_batch_says_where_series_lie():
    steps = np.array([3, 1, 2])
    assert list(Batch.end_to_end(steps).each()) == [(0, 0, 3), (3, 3, 1), (4, 4, 2)]
    assert list(Batch.one_row_each(steps).each()) == [(0, 0, 3), (3, 1, 1), (4, 2, 2)]
    assert list(Batch.single_steps(2).each()) == [(0, 0, 1), (1, 1, 1)]
    batch = Batch.end_to_end(steps)
    assert (batch.size, batch.longest) == (3, 3)
    assert list(batch.part(slice(1, 3)).each()) == [(3, 3, 1), (4, 4, 2)]


@pytest.mark.parametrize("engine", ["cpu", "reference", "torch"])
def test_rows_may_lie_anywhere(engine, rng):
    """Series that overlap in the input and change places in the output."""
    if engine == "torch":
        pytest.importorskip("torch")
    x, batch = rng.normal(size=(20, 1)), Batch(*np.array([[5, 0, 7], [9, 0, 4], [11, 4, 5]]))
    res = pe.ParalESN(units=6, layers=2, engine=engine).fit(x)
    plan = res.plan()
    state = tuple(np.zeros((3, 6), complex) for _ in range(2))
    out = np.full((20, 6), np.nan)
    plan.engine.run(plan.program, x, batch, state, out)
    for start, target, steps in batch.each():
        expected, _ = pe.ParalESN(units=6, layers=2, engine="reference").run(
            x[start : start + steps]
        )
        assert np.abs(out[target : target + steps] - expected).max() <= 1e-12


def test_every_engine_has_every_pool():
    assert tuple(reference.STATISTICS) == base.POOLS
    assert tuple(STATISTICS) == base.POOLS


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(base, "_engines", dict(base._engines))


def test_an_engine_of_ones_own(registry, rng):
    """An object with the functions of the protocol: here the reference, counting its runs."""
    runs = []

    class Counting:
        def __getattr__(self, name):
            return getattr(reference, name)

        def run(self, *arguments, **options):
            runs.append(arguments[2].size)
            return reference.run(*arguments, **options)

    base.register_engine("counting", Counting())
    x = rng.normal(size=(4, 10, 2))
    states, _ = pe.ParalESN(units=5, engine="counting").run(x)
    np.testing.assert_array_equal(states, pe.ParalESN(units=5, engine="reference").run(x)[0])
    assert runs == [4]


def test_a_registered_module_is_imported_when_it_is_used(registry, monkeypatch, rng):
    base.register_engine("mine", "an_engine_of_mine")
    res = pe.ESN(units=5, engine="mine")
    with pytest.raises(ModuleNotFoundError, match="an_engine_of_mine"):
        res.run(rng.normal(size=10))
    module = ModuleType("an_engine_of_mine")
    vars(module).update(vars(reference))
    monkeypatch.setitem(sys.modules, "an_engine_of_mine", module)
    assert res.run(rng.normal(size=10))[0].shape == (10, 5)


def test_devices_are_for_engines_that_have_them(registry, rng):
    x = rng.normal(size=10)
    base.register_engine("placed", reference, devices=True)
    assert pe.ESN(units=5, engine="placed", device="anywhere").run(x)[0].shape == (10, 5)
    base.register_engine("elsewhere", reference)
    with pytest.raises(ValueError, match="device must be None with engine='elsewhere', got 'x'"):
        pe.ESN(units=5, engine="elsewhere", device="x").run(x)


@pytest.mark.parametrize("name", ["auto", "cpu", "reference", "torch"])
def test_the_names_of_built_in_engines_are_taken(name):
    with pytest.raises(ValueError, match=f"name must be none of 'auto', .* got '{name}'"):
        base.register_engine(name, reference)


@pytest.mark.parametrize("engine", ["gpu", None, ["cpu"]])
def test_unknown_engines_are_refused(engine):
    with pytest.raises(
        ValueError, match="engine must be one of 'auto', 'cpu', 'reference', 'torch'"
    ):
        pe.ParalESN(engine=engine).run([1.0, 2.0])

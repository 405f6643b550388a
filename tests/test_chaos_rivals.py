"""Contestants of other libraries in the benchmark of chaotic series do what they are said to."""

import importlib.util
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from paralesn.datasets import lorenz63, lorenz96

sys.path.insert(0, str(Path(__file__).parents[1]))  # the benchmarks are no part of the package

from benchmarks import chaos_rivals

TRAIN, KNOWN, LYAPUNOV = 4000, 500, 55

RESERVOIRPY = {
    "sr": 0.6, "lr": 0.5, "input_scaling": 0.3, "input_connectivity": 0.5, "rc_connectivity": 0.1,
    "bias": 0.5, "ridge": 1e-8,
}  # fmt: skip
ORC = {
    "Wr_spectral_radius": 0.8, "leak_rate": 0.6, "embedding_scaling": 0.2, "bias": 1.6,
    "Wr_density": 0.02, "quadratic": True, "beta": 1e-9,
}  # fmt: skip


def reservoirpy_esn():
    pytest.importorskip("reservoirpy", reason="reservoirpy is not installed")
    return chaos_rivals.ReservoirpyESN()


def orc():
    """The module of ORC's contestants, imported without what its dependencies warn of."""
    for name in ("jax", "equinox", "orc"):
        if importlib.util.find_spec(name) is None:
            pytest.skip("OpenReservoirComputing is not installed")
    from benchmarks import chaos_orc

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chaos_orc._orc()
    return chaos_orc


CONTESTANTS = [(reservoirpy_esn, RESERVOIRPY), (lambda: orc().OrcESN(), ORC)]
each = pytest.mark.parametrize(("make", "hyper"), CONTESTANTS, ids=["reservoirpy", "ORC"])


def places(series, count, steps):
    """Known values and the truth at evenly spaced places behind the training stretch."""
    at = np.linspace(TRAIN + KNOWN, len(series) - steps, count).astype(int)
    known = np.stack([series[p - KNOWN : p] for p in at])
    return known, np.stack([series[p : p + steps] for p in at])


@pytest.fixture(scope="module")
def lorenz():
    series = lorenz63(9000, seed=3)
    return (series - series[:TRAIN].mean(axis=0)) / series[:TRAIN].std(axis=0)


@each
@pytest.mark.slow
def test_forecasts_stay_valid(make, hyper, lorenz):
    loop = make().fit(hyper, 0, 200, lorenz[:TRAIN])
    known, truth = places(lorenz, 8, 4 * LYAPUNOV)
    errors = np.sqrt(((loop(known, 4 * LYAPUNOV) - truth) ** 2).mean(axis=2))
    valid = np.logical_and.accumulate(errors < 0.4, axis=1).sum(axis=1)
    assert np.median(valid) >= 2 * LYAPUNOV


@each
@pytest.mark.slow
def test_places_do_not_know_of_each_other(make, hyper, lorenz):
    loop = make().fit(hyper, 1, 120, lorenz[:1000])
    known, _ = places(lorenz, 3, 50)
    together = loop(known, 50)
    alone = np.concatenate([loop(one[None], 50) for one in known])
    assert together.shape == (3, 50, 3)
    np.testing.assert_allclose(together, alone, atol=1e-6)


@each
@pytest.mark.slow
def test_what_diverged_ends_in_nan(make, hyper, lorenz):
    loop = make().fit(hyper, 1, 120, lorenz[:1000])
    known, _ = places(lorenz, 3, 50)
    lost = known.copy()
    lost[1] = np.nan
    forecasts = loop(lost, 50)
    assert np.isnan(forecasts[1]).all()
    np.testing.assert_allclose(forecasts[[0, 2]], loop(known, 50)[[0, 2]], atol=1e-6)


@each
@pytest.mark.slow
def test_configurations_and_seeds_differ(make, hyper, lorenz):
    contestant = make()
    known, _ = places(lorenz, 2, 20)
    fits = ((hyper, 0), (hyper, 1), ({**hyper, "bias": 0.1}, 0), (hyper, 0))
    one, seed, bias, again = (
        contestant.fit(h, s, 120, lorenz[:1000])(known, 20) for h, s in fits
    )  # fmt: skip
    assert np.abs(one - seed).max() > 1e-9
    assert np.abs(one - bias).max() > 1e-9
    np.testing.assert_array_equal(one, again)


def test_nothing_follows_the_first_lost_step():
    forecasts = np.zeros((3, 4, 2))
    forecasts[0, 2, 1] = 1e4
    forecasts[1, 1, 0] = np.inf
    lost = np.isnan(chaos_rivals.blank_lost(forecasts)).all(axis=2)
    assert lost.tolist() == [[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]]


def test_reservoirpy_stops_where_it_diverges():
    reservoir = SimpleNamespace(units=1, _step=lambda state, x: {"out": 2 * x})
    readout = SimpleNamespace(_step=lambda state, x: {"out": x})
    known = np.array([1.0, -200.0, 0.0])[:, None, None]
    forecasts = chaos_rivals._reservoirpy_loop(reservoir, readout, known, 12)[..., 0]
    powers = 2.0 ** np.arange(1, 13)
    np.testing.assert_array_equal(forecasts[0], np.where(powers <= 1e3, powers, np.nan))
    np.testing.assert_array_equal(forecasts[1], [-400, -800] + 10 * [np.nan])
    assert not forecasts[2].any()


@pytest.mark.slow
def test_parallel_reservoirs():
    series = lorenz96(TRAIN + 2000, dims=8, seed=0)[0, 500:]
    series = (series - series[:TRAIN].mean(axis=0)) / series[:TRAIN].std(axis=0)
    contestant = orc().OrcParallelESN(series.shape[1])
    drawn = contestant.draw(np.random.default_rng(0))
    assert series.shape[1] % drawn["chunks"] == 0
    hyper = {**ORC, "beta": 1e-6, "chunks": 4, "locality": 2, "noise": 1e-3}
    known, truth = places(series, 4, 10)
    forecasts = contestant.fit(hyper, 0, 200, series[:TRAIN])(known, 10)
    assert np.sqrt(((forecasts - truth) ** 2).mean()) < 0.05

"""Replicas under one input: rates and correlations with closed forms, and known cases."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.theory import consistency, edge_of_stability


def diagonal(eigenvalues, **more):
    n = len(eigenvalues)
    parts = {"w_in": np.ones((n, 1)), "bias": np.zeros(n), "tau": 1.0, "mix_kernel": [1.0]}
    return pe.DiagonalLayer(eigenvalues=eigenvalues, **{**parts, "mix_bias": 0.0, **more})


def test_equal_radii_forget_at_exactly_their_rate(rng):
    turns = np.exp(2j * np.pi * rng.random(9))
    layer = diagonal(0.95 * turns, w_in=rng.normal(size=(9, 1)) + 0j)
    found = consistency(pe.ParalESN.from_layers([layer]), rng.normal(size=400))
    assert found.rate[0] == pytest.approx(np.log(0.95), abs=1e-7)
    steps = np.arange(1, 200)
    np.testing.assert_allclose(found.distance[1:200, 0], found.distance[0, 0] * 0.95**steps)
    assert found.synchronises


def test_the_largest_eigenvalue_has_the_last_word(rng):
    found = consistency(pe.ParalESN.from_layers([diagonal([0.1, 0.5, -0.9])]), rng.normal(size=400))
    assert found.rate[0] == pytest.approx(np.log(0.9), abs=1e-6)
    assert found.correlation == pytest.approx(1.0, abs=1e-6)
    assert [len(units) for units in found.per_unit] == [3]


def test_correlations_are_those_of_the_definition(rng):
    """Against the sums of the docstring, for replicas that have not met."""
    x, units = rng.normal(size=(300, 1)), 6
    res = pe.ParalESN(units=units, rho=(0.97, 0.99)).fit(x)
    found = consistency(res, x, replicas=3, washout=20, seed=5)
    raw = pe.ParalESN.from_layers(res.layers_, mixing=False)
    driven = raw.run(x)[0][20:]
    draw = np.random.default_rng(5).normal(size=(2, 3, units)) * np.sqrt((driven**2).mean())
    states, _ = raw.run(np.stack([x] * 3), [draw[0] + 1j * draw[1]])
    h = states[:, 20:, :units] + 1j * states[:, 20:, units:]
    h = h - h.mean(axis=(0, 1))
    pairs = [(h[a].conj() * h[b]).real.mean(axis=0) for a in range(3) for b in range(3) if a != b]
    expected = np.mean(pairs, axis=0) / (np.abs(h) ** 2).mean(axis=(0, 1))
    np.testing.assert_allclose(found.per_unit[0], expected, rtol=1e-10)
    assert found.correlation == pytest.approx(expected.mean())
    assert 0.2 < found.correlation < 0.999


def test_a_chaotic_reservoir_synchronises_only_to_a_strong_input(rng):
    x = rng.uniform(-1, 1, 1500)
    res = pe.ESN(units=100, rho=2.5)
    weak, strong = consistency(res, 0.01 * x, replicas=4), consistency(res, 20 * x, replicas=4)
    assert not weak.synchronises
    assert weak.correlation < 0.2
    assert abs(weak.rate[0]) < 0.005
    assert strong.synchronises
    assert strong.correlation == pytest.approx(1.0)
    # Infinitesimal differences shrink where replicas meet, and at the same rate.
    assert edge_of_stability(res, 0.01 * x).exponents[0][0] > 0
    exponent = edge_of_stability(res, 20 * x).exponents[0][0]
    assert strong.rate[0] == pytest.approx(exponent, rel=0.25)


def test_replicas_that_rest_in_different_places_do_not_agree():
    """tanh(2 h) has two stable fixed points, and without input a replica stays where it began."""
    layer = pe.RecurrentLayer(
        recurrent=pe.operators.Dense([[2.0]]), w_in=[[1.0]], bias=[0.0],
        branch=pe.operators.Identity(1, 0.0), gain=1.0,
    )  # fmt: skip
    found = consistency(pe.ESN.from_layers([layer]), np.zeros(300), replicas=8)
    assert found.correlation < 0.5
    assert not found.synchronises
    driven = consistency(pe.ESN.from_layers([layer]), np.r_[3.0, np.zeros(300)], replicas=8)
    assert driven.correlation == 1.0  # all in the same place, for good
    assert driven.synchronises


def test_noise_of_their_own_keeps_replicas_apart(rng):
    """One unit h = a h + x + noise: the shared part of its variance is 1 / (1 + noise^2)."""
    x, unit = rng.normal(size=20_000), pe.ParalESN.from_layers([diagonal([0.6])])
    found = consistency(unit, x, noise=0.5, replicas=6)
    assert found.correlation == pytest.approx(1 / 1.25, abs=0.02)
    assert not found.synchronises


def test_every_layer_is_measured(rng):
    x = rng.uniform(-1, 1, (600, 2))
    found = consistency(pe.ParalESN(units=20, layers=3, concat=True), x, replicas=3)
    assert found.distance.shape == (600, 3)
    assert [len(units) for units in found.per_unit] == [8, 6, 6]
    assert found.synchronises
    assert (found.rate < np.log(0.95)).all()
    assert str(found).count("\n") == 3


def test_long_series_are_measured_in_blocks(monkeypatch, rng):
    x, res = rng.uniform(-1, 1, 400), pe.ESN(units=10, rho=0.99)
    whole = consistency(res, x)
    monkeypatch.setattr("paralesn.theory.forgetting._ENTRIES", 1500)
    pieces = consistency(res, x)
    np.testing.assert_allclose(pieces.distance, whole.distance, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(pieces.per_unit, whole.per_unit, rtol=1e-10)


def test_a_reservoir_without_memory_forgets_at_once():
    found = consistency(pe.ParalESN.from_layers([diagonal([0.0, 0.0])]), np.arange(200.0))
    assert found.rate[0] == -np.inf
    assert found.synchronises


def test_bad_arguments_are_named():
    x = np.zeros(100)
    with pytest.raises(ValueError, match="replicas must be a whole number of at least 2, got 1"):
        consistency(pe.ESN(), x, replicas=1)
    with pytest.raises(ValueError, match=r"X must be longer than washout \(100 steps\), got 100"):
        consistency(pe.ESN(), x)
    with pytest.raises(ValueError, match="noise must be a finite number"):
        consistency(pe.ESN(), x, noise=-1.0)
    with pytest.raises(TypeError, match="reservoir must be a reservoir"):
        consistency("esn", x)
    with pytest.raises(ValueError, match="reservoir must be one that is not local"):
        consistency(pe.LocalReservoirs(size=2, overlap=0), np.zeros((200, 4)))
    with pytest.raises(TypeError, match="forgets an input after exactly 2 steps"):
        consistency(pe.NVAR(delay=2), x)


def test_the_figure_shows_distances(tmp_path, rng):
    pytest.importorskip("matplotlib")
    found = consistency(pe.ESN(units=10, rho=0.9), rng.normal(size=150))
    line = found.plot(tmp_path / "consistency.png").axes[0].lines[0]
    np.testing.assert_allclose(line.get_ydata()[:20], (found.distance / found.size)[:20, 0])
    assert (tmp_path / "consistency.png").stat().st_size > 1000

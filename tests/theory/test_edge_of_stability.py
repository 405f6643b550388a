"""Jacobians and Lyapunov exponents against closed forms, finite differences and bounds."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.theory import edge_of_stability


def jacobians(layer, x):
    """Of every step, by central differences of the equation itself."""
    W, B, n = layer.recurrent.dense(), layer.branch.dense(), layer.units

    def step(h, u):
        return B @ h + layer.gain * np.tanh(W @ h + layer.w_in @ u + layer.bias)

    h, found = np.zeros(n), []
    for u in x:
        bumps = 1e-6 * np.eye(n)
        found.append(np.array([(step(h + e, u) - step(h - e, u)) / 2e-6 for e in bumps]).T)
        h = step(h, u)
    return found


@pytest.mark.parametrize("proximity", [0.02, 0.1, 0.3])
def test_eigenvalues_of_es2n_lie_in_the_annulus(proximity, rng):
    x = rng.uniform(-1, 1, (80, 1))
    res = pe.ES2N(units=15, proximity=proximity, rho=0.8, bias_scale=0.1)
    edge = edge_of_stability(res, x, washout=10)
    (layer,) = res.fit(x).layers_
    reach = proximity * np.linalg.norm(layer.recurrent.matrix, 2)
    assert edge.annulus[0] == pytest.approx((max(0, 1 - proximity - reach), 1 - proximity + reach))
    sizes = np.abs([np.linalg.eigvals(J) for J in jacobians(layer, x)[11:]])
    assert edge.annulus[0][0] <= sizes.min()
    assert sizes.max() <= edge.annulus[0][1]
    assert edge.moduli[0][0] >= sizes.min() - 1e-6
    assert edge.moduli[0][1] <= sizes.max() + 1e-6
    low, high = np.log(edge.annulus[0])
    assert low <= edge.exponents[0][0] <= high


def test_exponents_are_the_stretching_of_products_of_jacobians(rng):
    x = rng.uniform(-1, 1, (400, 1))
    res = pe.ESN(units=4, rho=1.2, tau=0.5, bias_scale=0.1).fit(x)
    edge = edge_of_stability(res, x, count=4, washout=0)
    steps = jacobians(res.layers_[0], x)[1:]
    # The sum of all exponents is the mean logarithm of the determinants ...
    determinants = np.mean([np.log(abs(np.linalg.det(J))) for J in steps])
    assert edge.exponents[0].sum() == pytest.approx(determinants, abs=1e-6)
    # ... and the first one is how a product of all stretches what it stretches most.
    product, scale = np.eye(4), 0.0
    for J in steps:
        product = J @ product
        size = np.linalg.norm(product)
        product, scale = product / size, scale + np.log(size)
    assert edge.exponents[0][0] == pytest.approx(scale / len(steps), abs=0.02)


def test_one_unit_is_a_mean_of_logarithms(rng):
    x = rng.uniform(-1, 1, (300, 1))
    res = pe.ESN(units=1, rho=0.9).fit(x)
    J = np.ravel(jacobians(res.layers_[0], x))[1:]
    edge = edge_of_stability(res, x, washout=50)
    assert edge.exponents[0][0] == pytest.approx(np.log(np.abs(J[50:])).mean(), abs=1e-6)


def test_linear_and_diagonal_layers_have_their_eigenvalues(rng):
    x = rng.uniform(-1, 1, (600, 1))
    esn = pe.SCR(units=9, rho=0.8, linear=True)
    edge = edge_of_stability(esn, x, count=9)
    np.testing.assert_allclose(edge.exponents[0], np.log(0.8), atol=1e-10)
    assert edge.moduli[0] == pytest.approx((0.8, 0.8))
    res = pe.ParalESN(units=7, layers=2).fit(x)
    edge = edge_of_stability(res, x, count=3)
    for layer, exponents in zip(res.layers_, edge.exponents, strict=True):
        expected = np.log(np.sort(np.abs(layer.eigenvalues))[::-1][:3])
        np.testing.assert_allclose(exponents, expected)


def test_a_smaller_proximity_is_closer_to_the_edge(rng):
    x = rng.uniform(-1, 1, (500, 1))
    found = [
        edge_of_stability(pe.ES2N(units=40, proximity=beta), x).exponents[0][0]
        for beta in (0.5, 0.1, 0.02)
    ]
    assert found[0] < found[1] < found[2] < 0
    assert found[2] > -0.03
    deep = edge_of_stability(pe.ES2N(units=20, layers=2, proximity=0.1), x)
    assert len(deep.exponents) == len(deep.annulus) == 2
    assert "layer 2: eigenvalues from" in str(deep)


def test_bad_arguments_are_named(rng):
    x = rng.normal(size=50)
    with pytest.raises(ValueError, match="X must be longer than washout"):
        edge_of_stability(pe.ES2N(units=5), x)
    with pytest.raises(ValueError, match="count must be a whole number of at least 1, got 0"):
        edge_of_stability(pe.ES2N(units=5), x, count=0)
    with pytest.raises(TypeError, match="reservoir must be a reservoir"):
        edge_of_stability("es2n", x)

"""Intrinsic plasticity against a plain loop, reservoirpy, and the distribution it aims at."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

import paralesn as pe


def plain(layer, series, mean, std, rate, epochs=1, washout=0):
    """Gains and biases by the published rule, written out."""
    W, tau = layer.recurrent.dense(), layer.gain
    a, b = np.ones(layer.units), np.zeros(layer.units)
    for _ in range(epochs):
        for x in series:
            h = np.zeros(layer.units)
            for t, u in enumerate(x):
                r = W @ h + layer.w_in @ u + layer.bias
                y = np.tanh(a * r + b)
                h = (1 - tau) * h + tau * y
                if t >= washout:
                    db = -rate * (-mean / std**2 + y / std**2 * (2 * std**2 + 1 - y**2 + mean * y))
                    a, b = a + rate / a + db * r, b + db
    return a, b


@pytest.mark.parametrize("density", [1.0, 0.2])
def test_gains_and_biases_are_those_of_the_rule(density, rng):
    X = [rng.uniform(-1, 1, (n, 2)) for n in (150, 80)]
    hyper = {"units": 20, "tau": 0.6, "bias_scale": 0.2, "density": density}
    rule = {"mean": 0.1, "std": 0.3, "rate": 2e-3, "epochs": 2, "washout": 10}
    (drawn,) = pe.ESN(**hyper).fit(X).layers_
    (layer,) = pe.PlasticESN(**hyper, **rule).fit(X).layers_
    a, b = plain(drawn, X, **rule)
    assert np.abs(a - 1).max() > 0.05
    np.testing.assert_allclose(
        layer.recurrent.dense(), a[:, None] * drawn.recurrent.dense(), atol=1e-12
    )
    np.testing.assert_allclose(layer.w_in, a[:, None] * drawn.w_in, atol=1e-12)
    np.testing.assert_allclose(layer.bias, a * drawn.bias + b, atol=1e-12)
    assert type(layer.recurrent) is type(drawn.recurrent)


def test_it_is_reservoirpys(rng):
    nodes = pytest.importorskip("reservoirpy.nodes")
    x = rng.uniform(-1, 1, (500, 2))
    (drawn,) = pe.ESN(units=40, bias_scale=0.2).fit(x).layers_
    ours = pe.PlasticESN(units=40, bias_scale=0.2, mean=0.1, std=0.3, rate=1e-3).fit(x)
    theirs = nodes.IPReservoir(
        W=drawn.recurrent.matrix, Win=drawn.w_in, bias=drawn.bias, mu=0.1, sigma=0.3,
        learning_rate=1e-3,
    ).fit(x)  # fmt: skip
    theirs.reset()
    np.testing.assert_allclose(ours.run(x)[0], theirs.run(x), atol=1e-12)


@pytest.mark.parametrize(("mean", "std"), [(0.0, 0.1), (0.0, 0.3), (0.2, 0.2)])
def test_outputs_approach_the_target_distribution(mean, std, rng):
    x = rng.normal(size=4000)
    before = pe.ESN(units=80).run(x)[0][100:]
    plastic = pe.PlasticESN(units=80, mean=mean, std=std, epochs=4, washout=100)
    after = plastic.fit(x).run(x)[0][100:]
    assert after.mean() == pytest.approx(mean, abs=0.03)
    assert after.std(axis=0).mean() == pytest.approx(std, rel=0.1)
    grid = np.linspace(-0.99, 0.99, 200)
    target = np.exp(-0.5 * ((grid - mean) / std) ** 2)
    distribution = np.cumsum(target) / target.sum()
    distances = [
        np.abs((states.ravel()[:, None] < grid[::10]).mean(axis=0) - distribution[::10]).max()
        for states in (before, after)
    ]  # of Kolmogorov and Smirnov
    assert distances[1] < 0.05 < 0.1 < distances[0]


def test_upper_layers_are_adapted_to_the_lower_ones(rng):
    x = rng.uniform(-1, 1, (300, 1))
    hyper = {"units": 15, "layers": 2, "tau": 0.7}
    _lower, upper = pe.ESN(**hyper).fit(x).layers_
    res = pe.PlasticESN(**hyper).fit(x)
    states, _ = pe.ESN.from_layers(res.layers_[:1]).run(x)
    a, b = plain(upper, [states], 0.0, 0.2, 1e-3)
    np.testing.assert_allclose(res.layers_[1].bias, b, atol=1e-12)
    np.testing.assert_allclose(res.layers_[1].w_in, a[:, None] * upper.w_in, atol=1e-12)


def test_threads_engines_and_batches_change_nothing(rng):
    X = rng.uniform(-1, 1, (3, 60, 2))
    layers = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            layers.append(pe.PlasticESN(units=50, n_jobs=threads).fit(X).layers_[0])
    layers.append(pe.PlasticESN(units=50, engine="reference").fit(list(X)).layers_[0])
    for layer in layers[1:]:
        np.testing.assert_array_equal(layer.recurrent.matrix, layers[0].recurrent.matrix)
    res = pe.PlasticESN(units=50)
    again = [res.fit(X).layers_[0].bias for _ in range(2)]  # from the start every time
    np.testing.assert_array_equal(*again)


def test_tensors_are_adapted_to(rng):
    torch = pytest.importorskip("torch")
    x = rng.uniform(-1, 1, (80, 2))
    a = pe.PlasticESN(units=10, engine="torch").fit(torch.tensor(x)).layers_[0]
    np.testing.assert_array_equal(a.bias, pe.PlasticESN(units=10).fit(x).layers_[0].bias)


def test_estimators_show_it_their_inputs(tmp_path, rng):
    x = 5.0 + 3.0 * rng.normal(size=600)
    model = pe.ReservoirRegressor(pe.PlasticESN(units=30)).fit(x[:500], np.roll(x, 1)[:500])
    scaled = model.scaling_.apply(x[:500, None])
    expected = pe.PlasticESN(units=30).fit(scaled).layers_[0]
    np.testing.assert_array_equal(model.reservoir_.layers_[0].bias, expected.bias)
    pe.save(model, tmp_path / "plastic")
    loaded = pe.load(tmp_path / "plastic")
    np.testing.assert_array_equal(loaded.predict(x), model.predict(x))
    raw = pe.ReservoirRegressor(pe.PlasticESN(units=30, rate=1e-5), standardize=False)
    raw.fit(x[:500], np.roll(x, 1)[:500])
    expected = pe.PlasticESN(units=30, rate=1e-5).fit(x[:500]).layers_[0]
    np.testing.assert_array_equal(raw.reservoir_.layers_[0].bias, expected.bias)
    X = rng.normal(size=(6, 40, 1))
    pooled = pe.PooledStates(pe.PlasticESN(units=30), standardize=False).fit(X)
    expected = pe.PlasticESN(units=30).fit(X).layers_[0]
    np.testing.assert_array_equal(pooled.reservoir_.layers_[0].bias, expected.bias)
    y = np.sin(np.arange(800) / 7)
    closed = pe.ReservoirForecaster(
        pe.PlasticESN(units=60, input_scale=0.3), strategy="closed-loop"
    ).fit(y[:780])
    assert np.abs(closed.forecast(20) - y[780:]).max() < 0.05


def test_what_it_cannot_do_is_refused(rng):
    x = rng.normal(size=50)
    with pytest.raises(NotFittedError, match="this PlasticESN is not fitted yet: fit adapts it"):
        pe.PlasticESN(units=5).run(x)
    with pytest.raises(ValueError, match="linear must be False with plasticity"):
        pe.PlasticESN(units=5, linear=True).fit(x)
    with pytest.raises(ValueError, match=r"X must be longer than the washout \(50 steps\), got 50"):
        pe.PlasticESN(units=5, washout=50).fit(x)
    with pytest.raises(
        ValueError, match=r"rate must be smaller, or the inputs scaled, .* in epoch 1 with 50.0"
    ):
        pe.PlasticESN(units=5, rate=50.0).fit(x)
    with pytest.raises(ValueError, match=r"std must be a finite number in \(0, 1\], got 0"):
        pe.PlasticESN(units=5, std=0).fit(x)
    with pytest.raises(ValueError, match=r"mean must be a finite number in \(-1, 1\), got 1"):
        pe.PlasticESN(units=5, mean=1).fit(x)
    with pytest.raises(ValueError, match="epochs must be a whole number of at least 1, got 0"):
        pe.PlasticESN(units=5, epochs=0).fit(x)
    with pytest.raises(ValueError, match="reservoir must be one that does not adapt to its input"):
        pe.ReservoirForecaster(pe.PlasticESN(units=5)).fit(x)
    with pytest.raises(ValueError, match="reservoir must be fitted: it adapts to its input"):
        pe.theory.memory_capacity(pe.PlasticESN(units=5))


def test_given_layers_stay_as_they_are(rng):
    x = rng.normal(size=(50, 1))
    layers = pe.PlasticESN(units=5).fit(x).layers_
    given = pe.PlasticESN.from_layers(layers)
    assert given.fit(x).layers_ is layers

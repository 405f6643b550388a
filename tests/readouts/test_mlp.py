"""MLP against autograd, a NumPy Adam, scikit-learn's perceptron, and itself."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from paralesn.readouts import mlp_network, training_rows
from paralesn.readouts.mlp import MLP

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


def quick(**options):
    return MLP(**{"hidden": 16, "learning_rate": 5e-3, "batch_size": 32, "epochs": 5} | options)


def of_torch(model, X):
    """Outputs of a network of torch.nn with the weights of `model`, in float32."""
    w1, b1, w2, b2 = (torch.from_numpy(part) for part in model.weights_)
    net = torch.nn.Sequential(
        torch.nn.Linear(*w1.shape), torch.nn.ReLU(), torch.nn.Linear(*w2.shape)
    )
    inverse = np.divide(1, model.scale_, where=model.scale_ > 0, out=np.zeros_like(model.scale_))
    z = torch.from_numpy(((X - model.mean_) * inverse).astype(np.float32))
    with torch.no_grad():
        for parameter, value in zip(net.parameters(), (w1.T, b1, w2.T, b2), strict=True):
            parameter.copy_(value)
        return net(z).numpy()


def same_weights(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one.weights_, other.weights_, strict=True))


# -- how well it learns ----------------------------------------------------------------------------


def test_as_accurate_as_scikit_learns_perceptron_on_digits(digits):
    X, y = digits
    ours = MLP().fit(X[:1300], y[:1300])
    theirs = make_pipeline(
        StandardScaler(), MLPClassifier(128, learning_rate_init=5e-4, max_iter=30, tol=0)
    )
    theirs.set_params(mlpclassifier__random_state=0, mlpclassifier__n_iter_no_change=30)
    # Steps this small are many times slower when BLAS shares them out among busy cores.
    with threadpool_limits(1), pytest.warns(UserWarning, match="Maximum iterations"):
        theirs.fit(X[:1300], y[:1300])
    accuracy = ours.score(X[1300:], y[1300:])
    assert accuracy > 0.95
    assert accuracy > theirs.score(X[1300:], y[1300:]) - 0.02
    assert ours.n_parameters_ == 64 * 128 + 128 + 128 * 10 + 10


@pytest.mark.parametrize("units", [1e-6, 1.0, 1e6])
def test_a_function_no_linear_readout_learns_in_any_units(units):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (1500, 2))
    y = np.column_stack([np.sin(2 * X[:, 0]) * X[:, 1], X[:, 0] ** 2 + 5]) * units
    model = MLP(64, learning_rate=5e-3, epochs=60).fit(X[:1200], y[:1200])
    linear = LinearRegression().fit(X[:1200], y[:1200])
    assert linear.score(X[1200:], y[1200:]) < 0.2
    assert model.score(X[1200:], y[1200:]) > 0.97
    assert model.predict(X).shape == (1500, 2)


def test_predictions_in_the_units_and_shape_of_the_targets(rng):
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, -1.0, 0.5]
    flat, column = quick().fit(X, y), quick().fit(X, y[:, None])
    np.testing.assert_array_equal(flat.predict(X), column.predict(X)[:, 0])
    shifted = quick().fit(X, 1e3 * y + 1e6)
    np.testing.assert_allclose((shifted.predict(X) - 1e6) / 1e3, flat.predict(X), atol=1e-4)
    constant = quick().fit(X, np.column_stack([y, np.full(200, 0.1)]))
    np.testing.assert_array_equal(constant.predict(X)[:, 1], 0.1)


# -- the arithmetic --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numpy_predicts_what_the_network_of_torch_does(dtype, rng):
    """Also for a state whose mean is large against its deviation, and one without variance."""
    y = rng.integers(0, 3, 400)
    X = rng.normal(size=(400, 5)) + np.eye(3, 5)[y]
    X = (X * [1, 1e-3, 1, 1e4, 1] + [0, 10, 0, 0, 0]).astype(dtype)
    X[:, 4] = 0.1
    model = quick().fit(X, y)
    out = of_torch(model, X)
    np.testing.assert_allclose(model._outputs(X), out, atol=3e-5 if dtype == np.float32 else 3e-6)
    expected = torch.softmax(torch.from_numpy(out), 1).numpy()
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(1))
    assert model.predict_proba(X).dtype == dtype
    X[:, 4] = 7  # without variance in training, so without influence
    np.testing.assert_allclose(model._outputs(X), out, atol=3e-5)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_gradients_are_those_of_autograd(task, rng):
    drawn = mlp_network.draw_weights((6, 9, 4), rng)
    network = mlp_network.Network(drawn, torch.device("cpu"))
    x = torch.from_numpy(rng.normal(size=(20, 6)).astype(np.float32))
    w = torch.from_numpy(rng.uniform(0, 2, (20, 1)).astype(np.float32))
    if task == "classification":
        t = torch.from_numpy(rng.integers(0, 4, 20))
        each = torch.nn.CrossEntropyLoss(reduction="none")
    else:
        t = torch.from_numpy(rng.normal(size=(20, 4)).astype(np.float32))
        each = lambda out, t: ((out - t) ** 2).mean(1)  # noqa: E731
    loss = network.backward(x, t, w, 0.0, None)
    leaves = [part.clone().requires_grad_() for part in network.weights]
    out = torch.relu(x @ leaves[0] + leaves[1]) @ leaves[2] + leaves[3]
    expected = (each(out, t) * w[:, 0]).mean()
    expected.backward()
    np.testing.assert_allclose(float(loss) / 20, float(expected.detach()), rtol=1e-5)
    for ours, leaf in zip(network.gradients, leaves, strict=True):
        np.testing.assert_allclose(ours.numpy(), leaf.grad.numpy(), atol=1e-6)


def test_steps_are_those_of_adam(rng):
    """Against Kingma and Ba's algorithm in float64, and against torch.optim."""
    network = mlp_network.Network(mlp_network.draw_weights((6, 9, 4), rng), torch.device("cpu"))
    adam = mlp_network.Adam(network, 0.01, 0.1)
    leaf = network.flat.clone().requires_grad_()
    theirs = torch.optim.Adam([leaf], lr=0.01, weight_decay=0.1)
    theta = network.flat.numpy().astype(float)
    m, v = np.zeros_like(theta), np.zeros_like(theta)
    for t in range(1, 6):
        gradient = rng.normal(size=theta.size).astype(np.float32)
        network.gradient.copy_(torch.from_numpy(gradient))
        adam.step()
        leaf.grad = torch.from_numpy(gradient)
        theirs.step()
        g = gradient + 0.1 * theta
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        theta = theta - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        np.testing.assert_allclose(network.flat.numpy(), theta, atol=1e-6)
        np.testing.assert_allclose(network.flat.numpy(), leaf.detach().numpy(), atol=1e-6)


def test_a_whole_fit_in_numpy(rng):
    """Three epochs of full batches, from the first weights that the seed draws."""
    X, y = rng.normal(size=(50, 3)) * [1, 5, 0.2] + 2, rng.normal(size=50)
    model = MLP(7, epochs=3, learning_rate=0.01, batch_size=50, validation_fraction=0).fit(X, y)
    seeded = np.random.default_rng(0)
    seeded.integers(2**63)  # for the split
    w = [
        part.astype(np.float32).astype(float)
        for part in mlp_network.draw_weights((3, 7, 1), seeded)
    ]
    z, target = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    m, v, losses = [0.0] * 4, [0.0] * 4, []
    for t in range(1, 4):
        h = np.maximum(z @ w[0] + w[1], 0)
        error = h @ w[2] + w[3] - target[:, None]
        losses.append((error**2).mean())
        d = 2 * error / 50
        back = d @ w[2].T * (h > 0)
        for i, g in enumerate((z.T @ back, back.sum(0), h.T @ d, d.sum(0))):
            m[i], v[i] = 0.9 * m[i] + 0.1 * g, 0.999 * v[i] + 0.001 * g**2
            step = (m[i] / (1 - 0.9**t)) / (np.sqrt(v[i] / (1 - 0.999**t)) + 1e-8)
            w[i] = w[i] - 0.01 * step
    np.testing.assert_allclose(model.loss_curve_, losses, rtol=1e-5)
    for ours, expected in zip(model.weights_, w, strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-5)


def test_dropout_leaves_units_out_at_random_and_keeps_the_mean(rng):
    network = mlp_network.Network(mlp_network.draw_weights((3, 400, 1), rng), torch.device("cpu"))
    network.weights[0].zero_()
    network.weights[1].fill_(1.0)
    network.weights[2].fill_(1.0)
    network.weights[3].zero_()
    chance = torch.Generator().manual_seed(0)
    x, one = torch.zeros(500, 3), torch.ones(500, 1)
    network.backward(x, torch.zeros(500, 1), one, 0.25, chance)  # slope 2 h / 500
    # b2's gradient is twice the mean output, w2's holds E[h out] = 400 + var(h) / h.
    assert float(network.gradients[3]) / 2 == pytest.approx(400, rel=0.01)
    assert float(network.gradients[2].mean()) / 2 == pytest.approx(400 + 1 / 3, rel=0.01)
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    assert quick(dropout=0.5).fit(X, y).loss_curve_ != quick().fit(X, y).loss_curve_
    assert same_weights(quick(dropout=0.5).fit(X, y), quick(dropout=0.5).fit(X, y))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_are_numpys(dtype, rng, monkeypatch):
    monkeypatch.setattr(training_rows, "_ENTRIES", 100)  # several blocks
    X = (rng.normal(size=(500, 6)) * np.logspace(-3, 3, 6) + 7).astype(dtype)
    X[:, 2] = 0.1
    rows, weight = np.sort(rng.permutation(500)[:300]), rng.integers(1, 4, 500).astype(float)
    mean, scale = training_rows.moments(X, rows, weight, "X")
    repeated = np.repeat(X[rows], weight[rows].astype(int), axis=0).astype(float)
    exact = repeated.mean(0).astype(dtype), repeated.std(0).astype(dtype)
    np.testing.assert_allclose(mean, exact[0], rtol=1e-12)
    assert scale[2] == 0
    np.testing.assert_allclose(np.delete(scale, 2), np.delete(exact[1], 2), rtol=1e-9)


# -- stopping --------------------------------------------------------------------------------------


def test_the_best_epoch_is_kept(rng):
    """On noise, validation soon gets worse: what is kept has the lowest loss of the curve."""
    X, y = rng.normal(size=(120, 20)), rng.integers(0, 3, 120)
    X_held, y_held = rng.normal(size=(200, 20)), rng.integers(0, 3, 200)
    model = quick(epochs=100, patience=4, learning_rate=2e-3)
    model.fit(X, y, validation=(X_held, y_held))
    curve = np.array(model.validation_curve_)
    assert model.n_iter_ == len(curve) == len(model.loss_curve_) < 100
    assert model.best_epoch_ == curve.argmin() + 1 == model.n_iter_ - 4
    assert log_loss(y_held, model.predict_proba(X_held)) == pytest.approx(curve.min(), rel=1e-5)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    shorter = clone(model).set_params(epochs=model.best_epoch_)
    assert same_weights(shorter.fit(X, y, validation=(X_held, y_held)), model)


def test_validation_of_numbers_is_in_units_of_deviation(rng):
    X, X_held = rng.normal(size=(120, 4)), rng.normal(size=(50, 4))
    y, y_held = 100 * X[:, :2] ** 2, 100 * X_held[:, :2] ** 2
    model = quick().fit(X, y, validation=(X_held, y_held))
    error = (((model.predict(X_held) - y_held) / y.std(0)) ** 2).mean()
    assert error == pytest.approx(model.validation_curve_[model.best_epoch_ - 1], rel=1e-5)


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_too_few_rows_to_hold_any_out(rows, rng):
    X = rng.normal(size=(rows, 2))
    model = quick(epochs=8).fit(X, np.arange(rows) % 2)
    assert model.validation_curve_ == []
    assert len(model.loss_curve_) == 8
    assert model.best_epoch_ == np.argmin(model.loss_curve_) + 1
    np.testing.assert_allclose(model.mean_, X.mean(0), rtol=1e-12)


def test_rows_held_out_are_a_like_share_of_every_class(rng):
    codes = np.repeat([0, 1, 2, 3, 4], [500, 90, 13, 2, 1])
    codes = rng.permutation(codes)
    train, held = training_rows.hold_out(codes, 0.1, rng)
    assert sorted([*train, *held]) == list(range(606))
    counts = np.bincount(codes[held], minlength=5)
    assert abs(counts[0] - 50) <= 1
    assert abs(counts[1] - 9) <= 1
    assert 1 <= counts[2] <= 2
    assert counts[4] == 0
    assert set(codes[train]) == set(range(5))
    other = training_rows.hold_out(codes, 0.1, rng)[1]
    assert set(other.tolist()) != set(held.tolist())


# -- randomness, memory, threads -------------------------------------------------------------------


def test_equal_seeds_give_equal_bits_and_global_states_stay(blobs):
    X, y = blobs
    before = torch.get_rng_state()
    model = quick(dropout=0.2).fit(X, y)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(5)
    again = quick(dropout=0.2).fit(X, y)
    assert same_weights(model, again)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert not same_weights(model, quick(dropout=0.2, seed=1).fit(X, y))
    drawn = [quick(dropout=0.2, seed=np.random.default_rng(0)).fit(X, y) for _ in range(2)]
    assert same_weights(*drawn)
    assert same_weights(drawn[0], model)
    assert not same_weights(quick(seed=None).fit(X, y), quick(seed=None).fit(X, y))


@pytest.mark.parametrize("features", [5, 64, 300])
def test_threads_change_no_bit_and_their_number_comes_back(features, rng):
    """7 rows are left for the last batch: products of such shapes depend on threads."""
    X, y = rng.normal(size=(135, features)), rng.integers(0, 10, 135)
    before, models = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            models.append(MLP(150, epochs=4, validation_fraction=0).fit(X, y))
            assert torch.get_num_threads() == threads
            with pytest.raises(ValueError, match="learning_rate"):
                MLP(learning_rate=1e29, epochs=3).fit(X, y)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert same_weights(models[0], models[1])
    assert same_weights(models[0], models[2])


def test_fits_side_by_side(blobs):
    X, y = blobs
    before, alone = torch.get_num_threads(), quick(epochs=30).fit(X, y)
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(quick(epochs=30).fit, X, y) for _ in range(8)]
        assert all(same_weights(job.result(), alone) for job in jobs)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_states_are_not_copied(dtype, rng):
    quick(epochs=1).fit(rng.normal(size=(50, 4)), np.arange(50) % 2)  # imports are not counted
    X = rng.standard_normal((20_000, 500), dtype=np.float32).astype(dtype, copy=False)
    y = np.arange(20_000) % 2
    X.flags.writeable = False  # as from a memory map, and to be sure that it is not written to
    tracemalloc.start()
    try:
        model = quick(epochs=1, batch_size=512).fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
        assert peak < 0.6 * 40e6
        tracemalloc.reset_peak()
        model.predict(X)
        assert tracemalloc.get_traced_memory()[1] < 0.6 * 40e6
    finally:
        tracemalloc.stop()


def test_precisions_and_layouts_agree(blobs):
    X, y = blobs
    model = quick().fit(X, y)
    single = quick().fit(X.astype(np.float32), y)
    np.testing.assert_allclose(model.predict_proba(X), single.predict_proba(X), atol=1e-4)
    assert same_weights(model, quick().fit(np.asfortranarray(X), y))
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert same_weights(model, quick().fit(frame, pd.Series(y)))
    np.testing.assert_allclose(model.predict_proba(X)[5:9], model.predict_proba(X[5:9]), rtol=1e-12)


def test_predictions_in_blocks(blobs, monkeypatch):
    X, y = blobs
    model = quick().fit(X, y)
    whole = model.predict_proba(X)
    monkeypatch.setattr(training_rows, "_ENTRIES", 200)
    np.testing.assert_allclose(model.predict_proba(X), whole, rtol=1e-12)


# -- labels, weights, tasks ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-3, 10, 4]),
        np.array(["left", "up", "right"]),
        np.array(["left", "up", "right"], dtype=object),
        np.array([1.0, 2.0, 7.0]),
    ],
)
def test_labels_of_any_type(labels, blobs):
    X, y = blobs
    task = "classification" if labels.dtype.kind == "f" else None
    model = quick(epochs=20, task=task).fit(X, labels[y])
    np.testing.assert_array_equal(model.classes_, np.sort(labels))
    assert model.classes_.dtype == labels.dtype
    assert model.score(X, labels[y]) > 0.85
    held = quick(epochs=20, task=task).fit(X, labels[y], validation=(X[:50], labels[y[:50]]))
    assert len(held.validation_curve_) == held.n_iter_


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_rows_without_weight_are_as_if_absent(task, rng):
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    weight = rng.permutation(np.repeat([0.0, 0.5], 100))
    X[weight == 0] *= 1e6
    kept = weight > 0
    model = quick(task=task).fit(X, y, sample_weight=weight)
    absent = quick(task=task).fit(X[kept], y[kept])
    assert same_weights(model, absent)
    np.testing.assert_array_equal(model.predict(X), absent.predict(X))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_weight_two_is_a_row_twice(task, rng):
    """In full batches without validation there is no randomness but the first weights."""
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    times = rng.integers(1, 4, 100)
    options = {"task": task, "validation_fraction": 0.0, "batch_size": 1000, "epochs": 20}
    weighted = quick(**options).fit(X, y, sample_weight=times)
    repeated = quick(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.loss_curve_, repeated.loss_curve_, rtol=1e-4)
    np.testing.assert_allclose(weighted._outputs(X), repeated._outputs(X), atol=1e-3)

"""Tasks against direct recurrences; splits, streams and metrics against values by hand."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from paralesn.datasets import (
    Dataset,
    Split,
    ctxor,
    load,
    lorenz63,
    lorenz96,
    mackey_glass,
    memcap,
    metrics,
    narma,
    sinmem,
    stratified_split,
)
from paralesn.datasets.seeds import stream

GENERATED = [
    *("memcap", "ctxor5", "ctxor10", "sinmem10", "sinmem20"),
    *("lz25", "lz50", "mg", "mg84", "narma10", "narma30", "lorenz63"),
]


def whole(task):
    """Inputs and targets of the three splits of one series, joined."""
    splits = (task.train, task.validation, task.test)
    return [
        np.concatenate([getattr(one, part) for one in splits]) for part in ("inputs", "targets")
    ]


@pytest.mark.parametrize(
    ("name", "shapes", "outputs", "washout"),
    [
        ("memcap", [(5000, 1), (1000, 1), (1000, 1)], 200, 100),
        ("ctxor5", [(5000, 1), (1000, 1), (1000, 1)], 1, 100),
        ("ctxor10", [(5000, 1), (1000, 1), (1000, 1)], 1, 100),
        ("sinmem10", [(5000, 1), (1000, 1), (1000, 1)], 1, 100),
        ("sinmem20", [(5000, 1), (1000, 1), (1000, 1)], 1, 100),
        ("lz25", [(128, 400, 5)] * 3, 5, 200),
        ("lz50", [(128, 400, 5)] * 3, 5, 200),
        ("mg", [(5000, 1), (2500, 1), (2500, 1)], 1, 200),
        ("mg84", [(5000, 1), (2500, 1), (2500, 1)], 1, 200),
        ("narma10", [(5000, 1), (2500, 1), (2500, 1)], 1, 200),
        ("narma30", [(5000, 1), (2500, 1), (2500, 1)], 1, 200),
        ("lorenz63", [(5000, 3), (2500, 3), (2500, 3)], 3, 200),
    ],
)
def test_lengths_splits_and_washouts(name, shapes, outputs, washout):
    task = load(name)
    splits = (task.train, task.validation, task.test)
    assert [one.inputs.shape for one in splits] == shapes
    assert [one.targets.shape for one in splits] == [(*shape[:-1], outputs) for shape in shapes]
    assert task.washout == washout
    assert task.metric == ("memory_capacity" if name == "memcap" else "nrmse")
    assert task.name == name
    assert task.citation
    assert all(np.isfinite(one.targets).all() for one in splits)


def test_memcap_gives_back_the_past():
    x, y = whole(load("memcap", seed=4))
    for t in (200, 201, 999, 5000, 5003, 6500, 6999):
        assert [y[t, k - 1] for k in range(1, 201)] == [x[t - k, 0] for k in range(1, 201)]
    # Before the first row there were inputs, too: each row shifts the one before it.
    np.testing.assert_array_equal(y[1:, 1:], y[:-1, :-1])
    assert np.unique(y[0]).size == 200


def test_inputs_of_memory_tasks_are_uniform():
    for task in ("memcap", "ctxor5", "sinmem10"):
        x, _ = whole(load(task))
        assert -0.8 <= x.min() < -0.79
        assert 0.79 < x.max() < 0.8
        np.testing.assert_allclose([x.mean(), x.std()], [0, 0.8 / 3**0.5], atol=0.02)


@pytest.mark.parametrize("delay", [5, 10])
def test_ctxor_by_its_definition(delay):
    x, y = whole(load(f"ctxor{delay}", seed=1))
    for t in (delay + 1, delay + 2, 500, 5000, 6999):
        r = x[t - delay - 1, 0] * x[t - delay, 0]
        assert math.isclose(y[t, 0], r**2 * math.copysign(1, r), rel_tol=1e-14)
    assert (y[: delay + 1] != 0).all()


@pytest.mark.parametrize("delay", [10, 20])
def test_sinmem_by_its_definition(delay):
    x, y = whole(load(f"sinmem{delay}", seed=1))
    for t in (delay, 500, 5001, 6999):
        assert math.isclose(y[t, 0], math.sin(math.pi * x[t - delay, 0]), rel_tol=1e-12)
    assert (np.abs(y[:delay]) > 0).all()


@pytest.mark.parametrize("order", [10, 30])
def test_narma_by_its_recurrence_from_zero(order):
    """In plain Python, from the inputs the seed draws; bit by bit."""
    total = order + 200 + 1501
    x = stream(5, "narma", 0).uniform(0.0, 0.5, total).tolist()
    y = [0.0] * total
    for t in range(order, total):
        past = 0.0
        for i in range(1, order + 1):
            past += y[t - i]
        y[t] = 0.3 * y[t - 1] + 0.01 * y[t - 1] * past + 1.5 * x[t - order] * x[t - 1] + 0.1
    inputs, targets, redraws = narma(1500, order, seed=5)
    np.testing.assert_array_equal(inputs[:, 0], x[order + 200 : -1])
    np.testing.assert_array_equal(targets[:, 0], y[order + 201 :])
    assert redraws == 0


@pytest.mark.parametrize("order", [10, 30])
def test_narma_target_is_the_next_state(order):
    """Row t's target follows from inputs up to row t alone, through all three splits."""
    x, y = (part[:, 0] for part in whole(load(f"narma{order}", seed=2)))
    assert 0 <= x.min() < 0.001
    assert 0.499 < x.max() < 0.5
    for t in (order, 777, 5000, 7500, 9999):
        feedback = 0.3 * y[t - 1] + 0.01 * y[t - 1] * sum(y[t - order : t])
        expected = feedback + 1.5 * x[t - order + 1] * x[t] + 0.1
        assert math.isclose(y[t], expected, rel_tol=1e-12)


def test_diverging_narma_is_redrawn_and_counted():
    inputs, targets, redraws = narma(3000, order=62, seed=2)
    assert redraws == 5
    assert np.abs(targets).max() <= 1
    np.testing.assert_array_equal(
        inputs[:, 0], stream(2, "narma", 5).uniform(0.0, 0.5, 3263)[262:-1]
    )
    with pytest.raises(ValueError, match="order=80 and steps=500, 100 series out of 100 diverged"):
        narma(500, order=80)
    assert load("narma30").meta["redraws"] == 0


@pytest.mark.parametrize(("name", "horizon"), [("mg", 1), ("mg84", 84), ("lorenz63", 1)])
def test_forecasts_look_ahead_along_one_series(name, horizon):
    x, y = whole(load(name, seed=6))
    generate = lorenz63 if name == "lorenz63" else mackey_glass
    series = generate(10_000 + horizon, seed=6)
    np.testing.assert_array_equal(x, series[:10_000])
    np.testing.assert_array_equal(y, series[horizon:])


@pytest.mark.parametrize("horizon", [25, 50])
def test_lorenz96_has_series_of_its_own_in_every_split(horizon):
    task = load(f"lz{horizon}", seed=1)
    splits = (task.train, task.validation, task.test)
    for k, one in enumerate(splits):
        series = lorenz96(400 + horizon, 128, seed=stream(1, "lorenz96", k))
        np.testing.assert_array_equal(one.inputs, series[:, :400])
        np.testing.assert_array_equal(one.targets, series[:, horizon:])
    starts = np.concatenate([one.inputs[:, 0] for one in splits])
    assert np.unique(starts).size == starts.size


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATED)
def test_seeds_decide_everything(name):
    first, again, other, drawn = (load(name, seed=seed) for seed in (0, 0, 1, None))
    np.testing.assert_array_equal(first.test.targets, again.test.targets)
    for task in (other, drawn):
        assert np.mean(first.test.targets != task.test.targets) > 0.99
        assert np.mean(first.train.inputs != task.train.inputs) > 0.99
    np.testing.assert_array_equal(
        drawn.test.inputs, load(name, seed=drawn.meta["seed"]).test.inputs
    )


def test_threads_do_not_matter():
    with ThreadPoolExecutor(4) as pool:
        tasks = list(pool.map(lambda _: load("lz25", seed=3), range(4)))
    for task in tasks[1:]:
        np.testing.assert_array_equal(task.test.targets, tasks[0].test.targets)


def test_lengths_and_delays_reshuffle_nothing():
    np.testing.assert_array_equal(memcap(300, 20)[0], memcap(500, 30)[0][:300])
    np.testing.assert_array_equal(memcap(300, 20)[1], memcap(500, 30)[1][:300, :20])
    np.testing.assert_array_equal(ctxor(300, 5)[0], ctxor(500, 9)[0][:300])
    np.testing.assert_array_equal(sinmem(300, 5)[0], sinmem(500, 9)[0][:300])
    np.testing.assert_array_equal(narma(300, 10).targets, narma(500, 10).targets[:300])


def test_values_do_not_drift():
    """What seeds mean is a promise: these must be the same on every machine and ever after."""
    pinned = {
        "memcap": load("memcap").test.targets[-1, 0],
        "narma30": load("narma30").test.targets[-1, 0],
        "lz50": load("lz50").test.targets[-1, -1, -1],
    }
    assert {name: float(value).hex() for name, value in pinned.items()} == {
        "memcap": "-0x1.4ed8e0b276d2fp-1",
        "narma30": "0x1.4c72b891159d6p-2",
        "lz50": "0x1.cd5f5892d657fp+1",
    }


def test_a_dataset_survives_pickling():
    task = load("mg84")
    copy = pickle.loads(pickle.dumps(task))
    np.testing.assert_array_equal(copy.test.targets, task.test.targets)
    assert copy.meta == task.meta


def test_names_ignore_case_and_near_ones_are_suggested():
    assert load(" NARMA10 ").name == "narma10"
    with pytest.raises(ValueError, match="no dataset 'lz52'; did you mean lz"):
        load("lz52")
    with pytest.raises(ValueError, match="no dataset 'qqq'; known: memcap, ctxor5"):
        load("qqq")
    with pytest.raises(TypeError, match="name must be a string, got 3"):
        load(3)
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0, got -1"):
        load("memcap", seed=-1)
    with pytest.raises(TypeError, match=r"seed must be a whole number of at least 0, got 0\.5"):
        load("memcap", seed=0.5)


def test_evaluation_leaves_the_washout_out():
    rows = np.arange(4.0)[:, None]
    split = Split(rows, rows)  # targets 0, 1, 2, 3
    task = Dataset("small", split, split, split, washout=2, metric="nrmse", citation="")
    found = task.evaluate([[99.0], [99.0], [2.0], [5.0]])
    expected = {"nrmse": (2 / 6.5) ** 0.5, "nrmse_std": 8**0.5, "rmse": 2**0.5, "mse": 2, "mae": 1}
    assert found == pytest.approx(expected, rel=1e-14)
    assert next(iter(load("memcap").evaluate(load("memcap").test.targets))) == "memory_capacity"
    with pytest.raises(ValueError, match=r"shape of the test targets, \(4, 1\), got \(4,\)"):
        task.evaluate(np.zeros(4))
    with pytest.raises(ValueError, match="split must be 'train', 'validation' or 'test'"):
        task.evaluate(rows, split="training")
    with pytest.raises(ValueError, match=r"got shapes \(4, 1\) and \(3, 1\)"):
        Split(rows, rows[1:])


def test_errors_by_hand():
    target = np.array([[[1.0, 10.0], [3.0, 10.0]], [[5.0, 14.0], [7.0, 14.0]]])  # (B, T, D)
    prediction = target + np.array([[[1.0, 0.0], [-1.0, 2.0]], [[0.0, 0.0], [0.0, 2.0]]])
    assert metrics.mse(target, prediction) == 10 / 8
    assert metrics.rmse(target, prediction) == 1.25**0.5
    assert metrics.mae(target, prediction) == 6 / 8
    mean_square = (1 + 100 + 9 + 100 + 25 + 196 + 49 + 196) / 8
    assert metrics.nrmse(target, prediction) == pytest.approx(
        (1.25 / mean_square) ** 0.5, rel=1e-15
    )
    variance = (9 + 1 + 1 + 9 + 4 * 4) / 8  # about the means 4 and 12
    assert metrics.nrmse_std(target, prediction) == pytest.approx((1.25 / variance) ** 0.5)
    assert metrics.accuracy([1, 2, 3, 3], [1, 2, 2, 3]) == 0.75


def test_memory_capacity_by_numpy(rng):
    target, noise = rng.normal(size=(2, 3, 50, 4))
    prediction = 2 + 5 * target + noise * [0.0, 1.0, 10.0, 0.0]
    prediction[..., 3] = 1.1  # a constant adds nothing
    expected = sum(
        np.corrcoef(target[..., k].ravel(), prediction[..., k].ravel())[0, 1] ** 2 for k in range(3)
    )
    assert metrics.memory_capacity(target, prediction) == pytest.approx(expected, rel=1e-12)
    assert metrics.memory_capacity(target, -target) == pytest.approx(4, rel=1e-12)


def test_metrics_refuse_what_has_no_answer():
    with pytest.raises(ValueError, match=r"one shape .* got shapes \(2,\) and \(3,\)"):
        metrics.mse([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="prediction must be finite"):
        metrics.rmse([1.0], [np.nan])
    with pytest.raises(ValueError, match="target must not be zero throughout"):
        metrics.nrmse([0.0, 0.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="target must vary"):
        metrics.nrmse_std([2.0, 2.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="target must vary in every column"):
        metrics.memory_capacity([[1.0], [1.0]], [[1.0], [2.0]])
    with pytest.raises(ValueError, match="labels of the same cases"):
        metrics.accuracy([1, 2], [1])


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("counts", [[70, 20, 10], [5, 5, 5], [33, 1, 2], [1000, 999]])
def test_stratified_split(counts, fraction, rng):
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    kept, held = stratified_split(y, fraction, seed=1)
    np.testing.assert_array_equal(np.sort(np.concatenate([kept, held])), np.arange(y.size))
    assert held.size == math.floor(fraction * y.size + 0.5)
    share = fraction * np.array(counts)
    assert (np.abs(np.bincount(y[held], minlength=len(counts)) - share) < 1).all()
    np.testing.assert_array_equal(held, stratified_split(y, fraction, seed=1)[1])
    if y.size > 50:
        assert not np.array_equal(held, stratified_split(y, fraction, seed=2)[1])


def test_stratified_split_refuses_nonsense():
    with pytest.raises(ValueError, match=r"fraction must be between 0 and 1, got 1.0"):
        stratified_split([1, 2], 1.0)
    with pytest.raises(ValueError, match=r"y must be a sequence of labels, got shape \(1, 2\)"):
        stratified_split([[1, 2]])

"""Estimators on Dask: as fitted here, with the same bits for any workers, whatever dies."""

import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import paralesn as pe
from paralesn import distributed as passes
from paralesn.readouts import dual_statistics

pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

import dask  # noqa: E402
import dask.array as da  # noqa: E402
import dask.bag as db  # noqa: E402

from paralesn.dask import fit, predict, transform  # noqa: E402
from paralesn.dask.fitting import runs_of  # noqa: E402
from paralesn.estimators.forecaster.panel import LongNames  # noqa: E402
from paralesn.runtime import threads  # noqa: E402

pytestmark = pytest.mark.slow
RESERVOIR = pe.ParalESN(units=24, rho=(0.5, 0.9), bias_scale=0.3)
CASES, STEPS = 24, 400


def cluster(workers):
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0",
        worker_dashboard_address=":0",
    )  # fmt: skip


@pytest.fixture(scope="module")
def client():
    with cluster(2) as two, distributed.Client(two) as client:
        yield client


def case(number, pause=0.0):
    """A series and its targets, which a worker makes by itself."""
    time.sleep(pause)
    x = np.random.default_rng(number).normal(size=(STEPS, 2))
    return x, np.convolve(x[:, 0], [1.0, 0.5, -0.3])[:STEPS] * x[:, 1] + x[:, 1]


def block(first, pause=0.0):
    series = [case(first + k, pause) for k in range(2)]
    return np.stack([x for x, _ in series]), np.stack([y for _, y in series])


def blocks(pause=0.0):
    made = [dask.delayed(block, nout=2)(first, pause) for first in range(0, CASES, 2)]
    return [pair[0] for pair in made], [pair[1] for pair in made]


def everything():
    series = [case(number) for number in range(CASES)]
    return np.stack([x for x, _ in series]), np.stack([y for _, y in series])


@pytest.fixture(scope="module")
def here():
    return pe.ReservoirRegressor(RESERVOIR).fit(*everything())


def bits(model):
    readout = model.readout_
    return readout.coef_.tobytes(), readout.fitted_.statistics.factors[0].tobytes()


# -- bits ------------------------------------------------------------------------------------------


def test_the_same_bits_for_one_and_two_workers_threads_and_processes(client, here):
    X, y = blocks()
    model = pe.ReservoirRegressor(RESERVOIR)
    on_two = fit(model, X, y, client=client, progress=False)
    with cluster(1) as one, distributed.Client(one, set_as_default=False) as alone:
        on_one = fit(model, X, y, client=alone, progress=False)
    assert bits(on_one) == bits(on_two)
    assert bits(in_processes(model)) == bits(on_two)
    new = everything()[0][:3]
    np.testing.assert_allclose(on_two.predict(new), here.predict(new), rtol=1e-10, atol=1e-10)
    with pytest.raises(AttributeError, match="states at the ends of series are not kept"):
        on_two.state_  # noqa: B018


def in_processes(model):
    """The same runs and the same tree on a pool of processes."""
    step = passes.plan(model)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        while passes.is_plan(step):
            numbers = [_Sized(first) for first in range(0, CASES, 2)]
            runs = list(runs_of(numbers, step))
            firsts = [[part.first for part in run] for run in runs]
            level = list(pool.map(_digested, [step] * len(runs), firsts))
            while len(level) > 1:
                pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
                level = [passes.merge(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
            with passes.one_thread():
                step = passes.finish(step, level[0])
    return step


class _Sized:
    count, rows = 2, 2 * STEPS

    def __init__(self, first):
        self.first = first


def _digested(step, firsts):
    partial = None
    with passes.one_thread():
        for first in firsts:
            partial = passes.digest(step, *block(first), first=first, into=partial)
    return partial


def test_a_killed_worker_costs_its_tasks_and_no_bit(client):
    quick, slow = blocks(), blocks(pause=0.08)
    model = pe.ReservoirRegressor(RESERVOIR)
    expected = bits(fit(model, *quick, client=client, progress=False))
    pids = client.run(os.getpid)
    result = {}

    def work():
        result["model"] = fit(model, *slow, client=client, progress=False)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(2.0)  # in the second pass: partials are held by both workers
    held = client.who_has()
    victim = next(iter(pids))
    os.kill(pids[victim], signal.SIGKILL)
    thread.join(60)
    assert bits(result["model"]) == expected
    assert held, "the worker was killed too late to hold anything"
    client.wait_for_workers(2, timeout=30)
    assert client.run(os.getpid) != pids  # another process took its place


def test_threads_of_this_process_do_as_well(here):
    X, y = everything()
    arrays = da.from_array(X, chunks=(5, 150, 1)), da.from_array(y, chunks=(7, 400))
    model = fit(pe.ReservoirRegressor(RESERVOIR), *arrays, progress=False)
    np.testing.assert_allclose(model.predict(X), here.predict(X), rtol=1e-10, atol=1e-10)


def test_tasks_have_one_thread():
    before = threads.available()
    with passes.one_thread():
        assert threads.available() == threads.count(None) == threads.count(8) == 1
    assert threads.available() == before


# -- cuts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_random_cuts_over_cases_and_over_time(client, seed):
    rng = np.random.default_rng(seed)
    X, y = everything()
    cuts = np.sort(rng.choice(np.arange(1, CASES), rng.integers(1, 8), replace=False))
    chunks = tuple(np.diff([0, *cuts, CASES]).tolist())
    model = pe.ReservoirRegressor(RESERVOIR, washout=int(rng.integers(0, 300)))
    here = clone_fitted(model, X, y)
    there = fit(model, da.from_array(X, chunks=(chunks, 100, 2)), y, client=client, progress=False)
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-10, atol=1e-10)

    x, wanted = X.reshape(-1, 2), y.reshape(-1)
    here = clone_fitted(model, x, wanted)
    cuts = np.sort(rng.choice(np.arange(1, len(x)), 9, replace=False))
    chunks = tuple(np.diff([0, *cuts, len(x)]).tolist())
    long = da.from_array(x, chunks=(chunks, 1))
    there = fit(model, long, wanted, client=client, progress=False)
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(there.state_.layers[0], here.state_.layers[0], rtol=1e-12)
    lazy = predict(there, long, client=client)
    assert lazy.chunks[0] == chunks
    np.testing.assert_allclose(lazy.compute(), here.predict(x), rtol=1e-10, atol=1e-10)


def clone_fitted(model, X, y):
    from sklearn.base import clone

    return clone(model).fit(X, y)


@pytest.mark.parametrize("layers", [1, 3])
def test_halo_and_exact_carry_over_on_short_chunks(client, layers):
    """A radius near one: a halo would be longer than the chunks, states carry over."""
    reservoir = pe.ParalESN(units=8, layers=layers, rho=(0.9, 0.99), bias_scale=0.2)
    model = pe.ReservoirRegressor(reservoir, pe.Ridge((1e-3, 1.0)))
    X, y = (part.reshape(-1, *part.shape[2:]) for part in everything())
    here = clone_fitted(model, X, y)
    arrays = da.from_array(X, chunks=(311, 2)), da.from_array(y, chunks=577)
    there = fit(model, *arrays, client=client, progress=False)
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-10, atol=1e-10)
    with_halo = fit(model, *arrays, client=client, halo=9000, progress=False)
    np.testing.assert_allclose(with_halo.predict(X), here.predict(X), rtol=1e-10, atol=1e-10)
    blind = fit(model, *arrays, client=client, halo=0, progress=False)
    assert np.abs(blind.predict(X) - here.predict(X)).max() > 1e-8
    ahead = predict(here, arrays[0], client=client).compute()
    np.testing.assert_allclose(ahead, here.predict(X), rtol=1e-9, atol=1e-10)


def test_missing_inputs_over_time(client):
    X, y = (part.reshape(-1, *part.shape[2:]) for part in everything())
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    model = pe.ReservoirRegressor(RESERVOIR, missing="mask")
    here = clone_fitted(model, X, y)
    there = fit(model, da.from_array(X, chunks=(1000, 2)), y, client=client, progress=False)
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(there.fitted_.missing.last, here.fitted_.missing.last)
    with pytest.raises(ValueError, match="missing must be 'error' or 'mask' for a series in piec"):
        fit(model.set_params(missing="interpolate"), da.from_array(X), y, client=client)


# -- whole series ----------------------------------------------------------------------------------


def tones(count, steps=48):
    rng = np.random.default_rng(0)
    labels = np.arange(count) % 3
    phase = rng.uniform(0, 6, (count, 1))
    X = np.sin(np.arange(steps) / (2 + labels[:, None]) + phase)
    return X + 0.7 * rng.normal(size=X.shape), np.array(["a", "b", "c"])[labels]


@pytest.mark.parametrize(
    ("model", "tolerance"),
    [
        (pe.ReservoirClassifier(pe.FilterBank(units=64, thresholds=2)), 1e-9),
        (pe.ReservoirClassifier(pe.FilterBank(units=64), class_weight="balanced"), 1e-9),
        (pe.ReservoirClassifier(pe.PooledStates(RESERVOIR)), 1e-9),
        (pe.ReservoirClassifier(pe.PooledStates(RESERVOIR), class_weight={"a": 3.0}), 1e-9),
    ],
)
def test_classifiers(client, model, tolerance):
    X, y = tones(90)
    here = clone_fitted(model, X, y)
    lazy = da.from_array(X, chunks=(17, 30))
    there = fit(model, lazy, y, client=client, progress=False)
    for method in ("decision_function", "predict_proba"):
        ours, theirs = getattr(here, method)(X), predict(there, lazy, method=method).compute()
        np.testing.assert_allclose(theirs, ours, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(predict(there, lazy).compute(), here.predict(X))
    features = transform(here.features_, lazy)
    np.testing.assert_array_equal(features.compute(), here.features_.transform(X))


def test_more_series_than_features_are_summed_up(client):
    """Products of features, and a sample that does not depend on blocks."""
    bank = pe.FilterBank(units=192, thresholds=6)
    X, y = tones(1700, 40)
    here = pe.ReservoirClassifier(bank).fit(X, y)
    assert X.shape[0] > here.features_.n_features_out_ > dual_statistics.SMALL
    there = fit(pe.ReservoirClassifier(bank), da.from_array(X, chunks=(333, 40)), y, client=client,
                progress=False)  # fmt: skip
    np.testing.assert_array_equal(here.readout_.left_out_.rows, there.readout_.left_out_.rows)
    decided = there.decision_function(X[:50]), here.decision_function(X[:50])
    np.testing.assert_allclose(*decided, rtol=1e-4, atol=1e-5)


def test_regressors_of_whole_series_with_weights(client):
    X, _ = tones(80)
    targets = np.column_stack([X.std(axis=1), X[:, 0]])
    weight = np.random.default_rng(1).uniform(0.1, 2, 80)
    for features in (pe.FilterBank(units=64, levels=True), pe.PooledStates(RESERVOIR)):
        model = pe.ReservoirSeriesRegressor(features)
        here = clone_fitted(model, X, targets)
        there = fit(
            model, da.from_array(X, chunks=(31, 48)), targets, client=client, progress=False
        )
        np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-7, atol=1e-8)
    model = pe.ReservoirSeriesRegressor(pe.PooledStates(RESERVOIR))
    weighted = model.fit(X, targets, weight)
    there = fit(model, da.from_array(X, chunks=(31, 48)), targets, sample_weight=weight,
                client=client, progress=False)  # fmt: skip
    np.testing.assert_allclose(there.predict(X), weighted.predict(X), rtol=1e-9, atol=1e-9)


# -- containers ------------------------------------------------------------------------------------


def test_bags_of_ragged_series(client):
    series = [case(k)[0][: 200 + 7 * k] for k in range(11)]
    targets = [case(k)[1][: 200 + 7 * k] for k in range(11)]
    here = pe.ReservoirRegressor(RESERVOIR).fit(series, targets)
    bags = db.from_sequence(series, npartitions=4), db.from_sequence(targets, npartitions=4)
    there = fit(pe.ReservoirRegressor(RESERVOIR), *bags, client=client, progress=False)
    for ours, theirs in zip(here.predict(series), there.predict(series), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-10, atol=1e-10)
    blocks = dask.compute(*predict(there, bags[0]))
    np.testing.assert_allclose(blocks[0][0], here.predict(series)[0], rtol=1e-10, atol=1e-10)


def test_a_folder_of_parquet_files(client, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    series, targets, labels = [], [], []
    for file in range(3):
        frames = []
        for k in range(4):
            x, y = case(4 * file + k)
            frame = pd.DataFrame(
                {"id": k, "t": np.arange(STEPS), "u": x[:, 0], "v": x[:, 1], "y": y}
            )
            frames.append(frame.assign(label="even" if k % 2 == 0 else "odd"))
            series.append(x)
            targets.append(y)
            labels.append("even" if k % 2 == 0 else "odd")
        table = pd.concat(frames).sample(frac=1.0, random_state=0)  # rows in any order
        table.to_parquet(tmp_path / f"part-{file}.parquet")
    columns = {"id": "id", "time": "t", "features": ["u", "v"]}
    here = pe.ReservoirRegressor(RESERVOIR).fit(series, targets)
    there = fit(
        pe.ReservoirRegressor(RESERVOIR), tmp_path, "y", client=client, progress=False, **columns
    )
    np.testing.assert_allclose(
        there.predict(series[0]), here.predict(series[0]), rtol=1e-10, atol=1e-10
    )
    model = pe.ReservoirClassifier(pe.PooledStates(RESERVOIR))
    there = fit(model, str(tmp_path), "label", client=client, progress=False, **columns)
    decided = there.decision_function(series), model.fit(series, labels).decision_function(series)
    np.testing.assert_allclose(*decided, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="must have a column 'price'"):
        fit(model, tmp_path, "price", client=client, progress=False, id="id")
    with pytest.raises(FileNotFoundError, match=r"folder of \.parquet files"):
        fit(model, tmp_path / "nothing", "label", client=client)


# -- checkpoints -----------------------------------------------------------------------------------


def test_a_stopped_fit_is_taken_up(client, tmp_path):
    """The last of twenty blocks fails the first time: those of complete subtrees are not read."""
    model = pe.ReservoirRegressor(pe.ParalESN(units=8, rho=(0.0, 0.5)), standardize=False)
    folder, marks = tmp_path / "partials", tmp_path / "marks"
    marks.mkdir()
    y = np.random.default_rng(0).normal(size=(600, 40))

    def made(number, fails):
        def load():
            if not fails:  # tasks of the first fit may end after it
                (marks / f"{number}-{time.time_ns()}").touch()
            if fails and number == 19:
                deadline = time.monotonic() + 60  # until the first subtree was kept
                while not list(folder.glob("*.safetensors")) and time.monotonic() < deadline:
                    time.sleep(0.05)
                raise RuntimeError("no power")
            return np.random.default_rng(number).normal(size=(30, 40, 1))

        return da.from_delayed(dask.delayed(load, pure=False)(), (30, 40, 1), float)

    def all_of(fails):
        return da.concatenate([made(number, fails) for number in range(20)])

    with pytest.raises(RuntimeError, match="no power"):
        fit(model, all_of(True), y, client=client, progress=False, checkpoint=folder, persist=False)
    again = fit(model, all_of(False), y, client=client, progress=False, checkpoint=folder)
    loaded = {int(mark.name.split("-")[0]) for mark in marks.iterdir()}
    whole = fit(model, all_of(False), y, client=client, progress=False)
    assert bits(again) == bits(whole)
    assert {16, 17, 18, 19} <= loaded
    assert len(loaded) <= 12  # one subtree of eight blocks, or both, were not read again
    assert not [name for name in os.listdir(folder) if name.startswith(".")]


# -- messages --------------------------------------------------------------------------------------


def test_an_ordinary_fit_says_what_to_call():
    X, y = da.zeros((6, 50, 1)), np.zeros((6, 50))
    for call in (
        lambda: pe.ReservoirRegressor().fit(X, y),
        lambda: pe.ReservoirClassifier().fit(X, [0, 1] * 3),
        lambda: pe.ReservoirClassifier().fit(X.compute(), da.from_array([0, 1] * 3)),
        lambda: pe.ParalESN().run(X),
        lambda: pe.ReservoirForecaster().fit(X[:, :, 0]),
        lambda: pe.Ridge().fit(X[:, :, 0], y),
        lambda: pe.ReservoirRegressor().fit(X.compute(), da.from_array(y)),
    ):
        with pytest.raises(TypeError, match=r"must be in memory, got a dask array: paralesn\.dask"):
            call()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((9, 9))}, "X must be a dask array, a bag, .* got ndarray"),
        ({"y": np.zeros(7)}, "y must have 40 rows as X has, got 7"),
        ({"halo": -1}, "halo must be a whole number of at least 0, got -1"),
        (
            {"model": pe.ReservoirRegressor(feedback=True)},
            "feedback must be False for data in blocks",
        ),
        (
            {"model": pe.Ridge(), "X": da.zeros((40, 5))},
            "an estimator that is fitted in blocks, got R",
        ),
        ({"client": "tcp://here"}, "client must be None or a client of dask.distributed, got 'tcp"),
        (
            {"X": da.zeros((4, 4, 4, 4))},
            r"X must be \(time, features\) or \(cases, time, features\)",
        ),
        ({"id": "id"}, "id is for files of tables, got X of type Array"),
    ],
)
def test_messages(change, message):
    call = {
        "model": pe.ReservoirRegressor(RESERVOIR),
        "X": da.zeros(40),
        "y": np.zeros(40),
    } | change
    with pytest.raises((ValueError, TypeError), match=message):
        fit(call.pop("model"), call.pop("X"), call.pop("y"), progress=False, **call)


def test_dense_reservoirs_are_cut_over_cases_only(client):
    X, y = everything()
    model = pe.ReservoirRegressor(pe.ESN(units=5), pe.Ridge([1.0]))
    long = da.from_array(X.reshape(-1, 2), chunks=(1000, 2))
    with pytest.raises(ValueError, match="of diagonal layers for a series that is cut over time"):
        fit(model, long, y.reshape(-1), client=client, progress=False)
    there = fit(model, da.from_array(X, chunks=(5, 400, 2)), y, client=client, progress=False)
    here = clone_fitted(model, X, y)
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-10, atol=1e-10)


def test_other_readouts_are_given_all_rows(client):
    from sklearn.linear_model import Lasso

    X, y = everything()
    model = pe.ReservoirRegressor(RESERVOIR, Lasso(1e-3))
    there = fit(model, da.from_array(X, chunks=(10, 400, 2)), y, client=client, progress=False)
    here = clone_fitted(model, X, y)
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-6, atol=1e-8)


def test_progress_is_shown(client, capsys):
    X, y = everything()
    fit(pe.ReservoirRegressor(RESERVOIR), da.from_array(X, chunks=(8, 400, 2)), y, client=client)
    shown = capsys.readouterr().out
    assert "pass 1" in shown
    assert "3/3" in shown


# -- forecasters -----------------------------------------------------------------------------------


def demand(count):
    rng = np.random.default_rng(0)
    lengths = rng.integers(60, 160, count)
    return [
        50 + 9 * np.sin(2 * np.pi * np.arange(n) / 12 + k) + np.cumsum(rng.normal(size=n))
        for k, n in enumerate(lengths)
    ]


@pytest.mark.parametrize("model", [pe.ReservoirForecaster(horizon=6), pe.SmootherBank(horizon=6)])
def test_forecasters_of_many_series(client, model):
    series = demand(23)
    here = clone_fitted_to(model, series)
    there = fit(model, db.from_sequence(series, npartitions=5), client=client, progress=False)
    ours, theirs = here.forecast(interval=0.9), there.forecast(interval=0.9)
    for one, other in zip(ours, theirs, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-8)
    table = np.column_stack([values[:60] for values in series])
    there = fit(model, da.from_array(table, chunks=(20, 7)), client=client, progress=False)
    ahead = there.forecast()
    np.testing.assert_allclose(
        ahead, clone_fitted_to(model, table).forecast(), rtol=1e-8, atol=1e-8
    )


def clone_fitted_to(model, y):
    from sklearn.base import clone

    return clone(model).fit(y)


def test_forecasters_of_parquet_files(client, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frames = []
    for k, values in enumerate(demand(9)):
        when = pd.date_range("2020-01-01", periods=len(values), freq="MS")
        price = np.cos(np.arange(len(values)))
        frames.append(
            pd.DataFrame({"shop": f"s{k}", "month": when, "sold": values + price, "price": price})
        )
    for file in range(3):
        pd.concat(frames[3 * file : 3 * file + 3]).to_parquet(tmp_path / f"{file}.parquet")
    names = {"id": "shop", "time": "month", "target": "sold"}
    whole = pd.concat(frames)
    model = pe.ReservoirForecaster(horizon=3)
    here = pe.ReservoirForecaster(horizon=3).fit(whole, ["price"], **names)
    inputs = passes.SeriesInputs(X=["price"], names=LongNames(*names.values()))
    there = fit(model, tmp_path, inputs=inputs, client=client, progress=False)
    coming = pd.concat(
        pd.DataFrame({"shop": frame.shop.iloc[0], "price": [0.1, 0.2, 0.3],
                      "month": pd.date_range(frame.month.iloc[-1], periods=4, freq="MS")[1:]})
        for frame in frames
    )  # fmt: skip
    ours, theirs = (m.forecast(X=coming) for m in (here, there))
    pd.testing.assert_frame_equal(theirs, ours, rtol=1e-8)
    with pytest.raises(ValueError, match="y must be None for a forecaster, whose series are X"):
        fit(model, tmp_path, "sold", client=client)

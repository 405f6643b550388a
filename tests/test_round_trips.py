"""Every public estimator through every way to keep it: the same answers afterwards."""

import inspect
import io
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import paralesn as pe
from paralesn.reservoirs.base import Reservoir

RNG = np.random.default_rng(2)
X = RNG.normal(size=(250, 2))
Y = np.roll(X, 1, axis=0)
SERIES = RNG.normal(size=(24, 40)) * np.linspace(0.5, 2, 24)[:, None]
LABELS = np.array(["calm", "wild"])[(np.arange(24) > 11).astype(int)]
WAVE = np.sin(np.arange(200) / 5) + 0.1 * RNG.normal(size=200)

CLASSES = [
    value
    for value in (getattr(pe, name) for name in pe.__all__)
    if inspect.isclass(value) and hasattr(value, "get_params")
]
SMALL = {"units": 64, "washout": 5, "size": 1, "overlap": 0}


def fitted(cls):
    """A small fitted model, and what it says."""
    model = cls()
    names = model.get_params(deep=False)
    model.set_params(**{k: v for k, v in SMALL.items() if k in names})
    if isinstance(model, Reservoir):
        model.fit(X)
        return model, lambda again: again.run(X)[0]
    if hasattr(model, "forecast"):
        model.fit(WAVE)
        return model, lambda again: again.forecast(3)
    if is_classifier(model) and hasattr(model, "features"):
        model.fit(SERIES, LABELS)
        return model, lambda again: again.decision_function(SERIES)
    if hasattr(model, "transform") and not hasattr(model, "predict"):
        model.fit(SERIES)
        return model, lambda again: again.transform(SERIES)
    if "Series" in cls.__name__:
        model.fit(SERIES, np.linspace(0.5, 2, 24))
        return model, lambda again: again.predict(SERIES)
    if "task" in names:
        model.set_params(task="regression")
    model.fit(X, Y)
    return model, lambda again: again.predict(X)


def by_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


def by_cloudpickle(model, folder):
    cloudpickle = pytest.importorskip("cloudpickle")
    return cloudpickle.loads(cloudpickle.dumps(model))


def by_joblib(model, folder):
    buffer = io.BytesIO()
    joblib.dump(model, buffer, compress=3)
    buffer.seek(0)
    return joblib.load(buffer)


def by_mapped_joblib(model, folder):
    """Arrays stay in the file, where they cannot be written to."""
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib", mmap_mode="r")


def by_skops(model, folder):
    sio = pytest.importorskip("skops.io", reason="skops is not installed: pip install skops")
    data = sio.dumps(model)
    untrusted = sio.get_untrusted_types(data=data)
    assert all(name.startswith("paralesn.") for name in untrusted), untrusted
    return sio.loads(data, trusted=untrusted)


def by_save(model, folder):
    pe.save(model, folder / "model")
    return pe.load(folder / "model")


WAYS = [by_pickle, by_cloudpickle, by_joblib, by_mapped_joblib, by_skops, by_save]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_estimator_comes_back_to_the_bit(cls, tmp_path):
    model, answer = fitted(cls)
    before = answer(model)
    for way in WAYS:
        again = way(model, tmp_path)
        assert type(again) is cls
        np.testing.assert_array_equal(answer(again), before, err_msg=way.__name__)
        assert repr(clone(again)) == repr(clone(model))


def test_the_public_estimators_are_found():
    assert {pe.ParalESN, pe.Ridge, pe.ReservoirClassifier, pe.FilterBank} <= set(CLASSES)
    assert len(CLASSES) >= 13

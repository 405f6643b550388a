"""Pooled states: what `Reservoir.pool` gives, as a transformer of series."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paralesn as pe
from paralesn.features import pooled_states as module

SMALL = {"units": 30, "bias_scale": 0.5, "mix_scale": 1.0, "rho": (0.5, 0.99)}


@pytest.mark.parametrize("pool", ["last", ("mean", "std", "ppv")])
@pytest.mark.parametrize("segments", [1, 3])
def test_equals_the_pools_of_standardised_series(rng, pool, segments):
    X = rng.normal(5, [1, 20], (25, 40, 2))
    res = pe.ParalESN(**SMALL)
    features = pe.PooledStates(res, pool=pool, segments=segments)
    scaler = StandardScaler().fit(X.reshape(-1, 2))
    new = rng.normal(5, [1, 20], (9, 31, 2))
    scaled = scaler.transform(new.reshape(-1, 2)).reshape(new.shape)
    expected = clone(res).pool(scaled, pool, segments)
    np.testing.assert_allclose(features.fit(X).transform(new), expected, atol=1e-9)
    raw = clone(features).set_params(standardize=False).fit(X)
    np.testing.assert_array_equal(raw.transform(new), clone(res).pool(new, pool, segments))
    assert features.n_features_out_ == expected.shape[1] == len(features.get_feature_names_out())


def test_blocks_are_the_rows_in_pieces(rng, monkeypatch):
    X = [rng.normal(size=(20 + b, 2)) for b in range(12)]
    features = pe.PooledStates(pe.ParalESN(**SMALL)).fit(X)
    whole = features.transform(X)
    monkeypatch.setattr(module, "_VALUES", 200)
    blocks = list(features.blocks(X))
    assert len(blocks) > 3
    np.testing.assert_array_equal(np.concatenate(blocks), whole)
    X[11][3] = np.nan
    with pytest.raises(ValueError, match=r"X\[11\] must be finite, got NaN at step 3"):
        features.transform(X)


def test_in_a_pipeline_of_scikit_learn(rng):
    y = np.arange(60) % 3
    phase = rng.uniform(0, 6, (60, 1))
    X = np.sin(np.arange(80) * (0.2 + 0.15 * y[:, None]) + phase)
    X += 0.3 * rng.normal(size=X.shape)
    features = pe.PooledStates(pe.ParalESN(**SMALL))
    pipeline = make_pipeline(features, StandardScaler(), RidgeClassifier(1.0)).fit(X[:40], y[:40])
    assert pipeline.score(X[40:], y[40:]) > 0.8
    ours = pe.ReservoirClassifier(features, pe.Ridge([1.0])).fit(X[:40], y[:40])
    np.testing.assert_allclose(
        ours.decision_function(X[40:]), pipeline.decision_function(X[40:]), atol=1e-8
    )


def test_saved_and_loaded(rng, tmp_path):
    X = rng.normal(size=(9, 40, 2))
    for standardize in (True, False):
        features = pe.PooledStates(pe.ParalESN(**SMALL), standardize=standardize).fit(X)
        pe.save(features, tmp_path / "features")
        loaded = pe.load(tmp_path / "features")
        np.testing.assert_array_equal(loaded.transform(X), features.transform(X))
    assert repr(pe.PooledStates(segments=3)) == "PooledStates(segments=3)"


def test_wrong_arguments_and_use(rng):
    X = rng.normal(size=(4, 9))
    with pytest.raises(ValueError, match="standardize must be False with a reservoir that reads"):
        pe.PooledStates(pe.ParalESN(vocabulary=5)).fit(np.zeros((4, 9), int))
    with pytest.raises(ValueError, match="not fitted"):
        pe.PooledStates().transform(X)
    features = pe.PooledStates(pe.ParalESN(**SMALL)).fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but PooledStates is expecting 1"):
        features.transform(np.zeros((2, 9, 2)))
    with pytest.raises(ValueError, match="X must be a collection of series"):
        features.transform(X[0])

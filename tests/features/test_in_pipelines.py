"""Features of series in scikit-learn's company: pipelines, frames, clusters and outliers."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.pipeline import make_pipeline, make_union

import paralesn as pe

FEATURES = {
    "bank": pe.FilterBank(units=64),
    "levels": pe.FilterBank(units=64, levels=True),
    "pooled": pe.PooledStates(pe.ParalESN(units=16, rho=(0.5, 0.99), bias_scale=0.5)),
}


def tones(periods, rng):
    phase = rng.uniform(0, 6, (len(periods), 1))
    X = np.sin(2 * np.pi * np.arange(120) / np.asarray(periods)[:, None] + phase)
    return X + 0.5 * rng.normal(size=X.shape)


@pytest.mark.parametrize("name", FEATURES)
def test_frames_hold_what_arrays_hold(rng, name):
    X = tones(rng.uniform(8, 20, 12), rng)
    plain = clone(FEATURES[name]).fit(X)
    frames = clone(FEATURES[name]).set_output(transform="pandas")
    found = frames.fit_transform(X)
    assert isinstance(found, pd.DataFrame)
    np.testing.assert_array_equal(found.to_numpy(), plain.transform(X))
    assert list(found.columns) == list(plain.get_feature_names_out())
    assert found.columns.is_unique
    np.testing.assert_array_equal(frames.transform(X[:3]).to_numpy(), plain.transform(X[:3]))


@pytest.mark.parametrize("name", FEATURES)
def test_estimators_do_not_mind_frames(rng, name):
    X, y = tones(rng.uniform(8, 20, 12), rng), np.arange(12) % 2
    expected = pe.ReservoirClassifier(FEATURES[name]).fit(X, y).predict_proba(X)
    framed = clone(FEATURES[name]).set_output(transform="pandas")
    found = pe.ReservoirClassifier(framed).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(found, expected)
    with sklearn.config_context(transform_output="pandas"):
        found = pe.ReservoirClassifier(FEATURES[name]).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(found, expected)


def test_a_union_of_features(rng):
    X = tones(rng.uniform(8, 20, 12), rng)
    both = make_union(FEATURES["bank"], FEATURES["pooled"])
    rows = both.fit_transform(X)
    bank = clone(FEATURES["bank"]).fit_transform(X)
    np.testing.assert_array_equal(rows[:, : bank.shape[1]], bank)
    np.testing.assert_array_equal(
        rows[:, bank.shape[1] :], clone(FEATURES["pooled"]).fit_transform(X)
    )
    assert len(both.get_feature_names_out()) == rows.shape[1]


@pytest.mark.parametrize(
    "cluster", [KMeans(3, n_init=10, random_state=0), AgglomerativeClustering(3)]
)
def test_clusters_are_the_kinds_there_are(rng, cluster):
    kind = np.arange(60) % 3
    X = tones(np.array([24, 17, 12])[kind], rng)
    found = make_pipeline(pe.FilterBank(units=128), PCA(5, random_state=0), cluster).fit_predict(X)
    assert adjusted_rand_score(kind, found) > 0.95
    assert adjusted_rand_score(kind, clone(cluster).fit_predict(X)) < 0.5


def test_odd_series_are_far_from_usual_ones(rng):
    usual, odd = tones(np.full(80, 17), rng), np.arange(40) % 4 == 0
    X = tones(np.where(odd, 13, 17), rng)
    forest = make_pipeline(pe.FilterBank(units=128), PCA(10), IsolationForest(random_state=0))
    score = -forest.fit(usual).score_samples(X)
    assert roc_auc_score(odd, score) > 0.95

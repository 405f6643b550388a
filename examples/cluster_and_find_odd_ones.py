"""
Cluster series, and find the odd ones
=====================================

Without any label: `FilterBank` is a transformer of scikit-learn, so whatever clusters rows or finds
outliers among them does so with series. Real data from the UCR archive: *Symbols*, the path of a
pen that 13 people drew six symbols with, and *Wafer*, a sensor's record of the making of computer
chips, where one wafer in ten is faulty.
"""

# %%

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.pipeline import make_pipeline

import paralesn as pe
from paralesn import datasets

# %%
# Clusters
# --------
# A filter bank, principal components, k-means: a pipeline. The labels of the archive only judge
# what it finds; 1 is perfect, 0 is chance.

data = datasets.load("ucr:Symbols")
X, symbols = data.X_test, data.y_test
describe = make_pipeline(pe.FilterBank(units=256), PCA(10, random_state=0))
rows = describe.fit_transform(X)
kmeans = KMeans(6, n_init=20, random_state=0)
cluster = kmeans.fit_predict(rows)
of_values = kmeans.fit_predict(X[:, :, 0])
print(f"{len(X)} series of {X.shape[1]} steps")
for name, found in (("features", cluster), ("values themselves", of_values)):
    agreement = adjusted_rand_score(symbols, found)
    print(f"k-means of the {name:17s} adjusted Rand index {agreement:.2f}")

# %%
# Odd ones
# --------
# The components of good wafers span a space; how far the features of another wafer are from it
# says how odd the wafer is. An isolation forest is another way. Only good wafers are learnt
# from.

data = datasets.load("ucr:Wafer")
good, is_faulty = data.X_train[data.y_train == 1], data.y_test != 1


def strangeness(features, components):
    """Squared distance of every row to the space of the components."""
    inside = components.inverse_transform(components.transform(features))
    return ((features - inside) ** 2).mean(axis=1)


bank = pe.FilterBank(units=256).fit(good)
components = PCA(20, random_state=0).fit(bank.transform(good))
score = strangeness(bank.transform(data.X_test), components)
limit = np.quantile(strangeness(bank.transform(good), components), 0.99)
forest = make_pipeline(bank, components, IsolationForest(random_state=0)).fit(good)
values = PCA(20, random_state=0).fit(good[:, :, 0])
print(f"{len(good)} good wafers to learn from; {is_faulty.sum()} of {len(score)} others faulty")
for name, found in (
    ("distance to good wafers", score),
    ("the same, of the values themselves", strangeness(data.X_test[:, :, 0], values)),
    ("isolation forest", -forest.score_samples(data.X_test)),
):
    print(f"{name:35s} area under the ROC curve {roc_auc_score(is_faulty, found):.3f}")
print(f"beyond the limit: {(score > limit)[is_faulty].mean():.0%} of the faulty wafers, "
      f"{(score > limit)[~is_faulty].mean():.1%} of the good ones")  # fmt: skip

# %%

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
colors = plt.get_cmap("tab10")(range(6))
for k, color in enumerate(colors):
    left.plot(*rows[cluster == k, :2].T, ".", color=color, markersize=3)
    members = X[cluster == k, :, 0]
    middle.plot(members[::20].T - 4 * k, color=color, linewidth=0.6, alpha=0.6)
left.set(xlabel="first component", ylabel="second component", title="995 pen strokes, six clusters")
middle.set(xlabel="time step", yticks=[], title="Some strokes of each cluster")
bins = np.geomspace(score.min(), score.max(), 50)
for label, shown, color in (("good", ~is_faulty, "tab:blue"), ("faulty", is_faulty, "tab:red")):
    right.hist(score[shown], bins, color=color, alpha=0.7, label=label)
right.axvline(limit, color="0.5", linestyle="--", linewidth=1)
right.set(xscale="log", yscale="log", xlabel="distance to good wafers", ylabel="wafers",
          title=f"Faulty wafers, ROC area {roc_auc_score(is_faulty, score):.3f}")  # fmt: skip
right.legend(frameon=False)

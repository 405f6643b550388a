"""
Hear whether an engine is faulty
================================

Real data: FordA, recordings of engine noise, 500 measurements each; 3 601 of them to learn from and
1 320 to test on. Is a certain fault there or not?
"""

# %%

import time

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe
from paralesn import datasets

data = datasets.load("forda")
print(f"{len(data.X_train)} series to learn from, {len(data.X_test)} to test on")

# %%
# Two ways to describe a series: by the last state of a reservoir, as in the paper, and by a
# `FilterBank`, which is what `ReservoirClassifier` does when it is left alone. Neither is
# tuned here: the paper's way needs it, a filter bank does not.

reservoir = pe.ParalESN(units=256, rho=(0.9, 0.999))
last_state = pe.PooledStates(reservoir, pool="last", segments=1, standardize=False)
models = {
    "last state": pe.ReservoirClassifier(last_state),
    "filter bank": pe.ReservoirClassifier(),
}
accuracy = {}
for name, model in models.items():
    start = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    accuracy[name] = model.score(data.X_test, data.y_test)
    seconds = time.perf_counter() - start
    print(f"{name:13s} accuracy {accuracy[name]:.3f}, {seconds:.1f} s to learn and to test")

# %%
# The decision of a linear readout has a size, too: far from zero it is sure. Where it is not, it is
# wrong more often.

model = models["filter bank"]
decision = model.decision_function(data.X_test)
is_right = model.predict(data.X_test) == data.y_test

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for k, label in enumerate(model.classes_):
    series = np.ravel(data.X_train[np.flatnonzero(data.y_train == label)[0]])
    left.plot(series[:200] - 5 * k, linewidth=1.0, label=f"class {label}")
left.set(xlabel="time step", yticks=[], title="One series of each class")
left.legend(frameon=False, loc="upper right", ncols=2)
left.margins(y=0.12)
bins = np.linspace(-2, 2, 41)
right.hist([decision[is_right], decision[~is_right]], bins, stacked=True,
           color=["tab:blue", "tab:red"], label=["right", "wrong"])  # fmt: skip
right.set(xlabel="decision", ylabel="test series", title=f"Accuracy {accuracy['filter bank']:.3f}")
right.legend(frameon=False)

"""
How sure is a classifier?
=========================

Real data: the sound of flying insects (*InsectWingbeatSound*), 220 recordings of 11 species to
learn from and 1 980 to test on. Two in three are named right; probabilities say which ones to
trust.
"""

# %%

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

import paralesn as pe
from paralesn import datasets

data = datasets.load("ucr:InsectWingbeatSound")
model = pe.ReservoirClassifier().fit(data.X_train, data.y_train)
probability = model.predict_proba(data.X_test)
best = probability.max(axis=1)
is_right = model.classes_[probability.argmax(axis=1)] == data.y_test
print(f"accuracy {is_right.mean():.2f}, mean probability of the answers {best.mean():.2f}")
print(f"log loss {log_loss(data.y_test, probability):.2f}, "
      f"of a guess {np.log(len(model.classes_)):.2f}")  # fmt: skip

# %%
# Probabilities are calibrated on what the readout says of each training series when it is left out,
# which it knows in closed form: no series is set aside, and nothing is fitted twice. Where the
# classifier says 80 %, it should be right four times in five.

edges = np.linspace(0, 1, 11)
group = np.digitize(best, edges[1:-1])
for k in np.unique(group):
    inside = group == k
    print(f"{edges[k]:3.0%} to {edges[k + 1]:4.0%}: {inside.sum():4d} series, "
          f"said {best[inside].mean():3.0%}, right {is_right[inside].mean():3.0%}")  # fmt: skip

# %%
# An answer can also be refused, and a person asked: the surest half of the answers is right far
# more often than the rest.

order = np.argsort(-best)
answered = np.arange(1, len(order) + 1) / len(order)
accuracy = np.cumsum(is_right[order]) / np.arange(1, len(order) + 1)
print(f"of the surest half, {accuracy[len(order) // 2]:.0%} are right")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
left.plot([0, 1], [0, 1], color="0.6", linewidth=1)
said = [best[group == k].mean() for k in np.unique(group)]
shares = [is_right[group == k].mean() for k in np.unique(group)]
counts = np.array([(group == k).sum() for k in np.unique(group)])
spread = 2 * np.sqrt(np.multiply(shares, 1 - np.array(shares)) / counts)
left.errorbar(said, shares, spread, fmt="o", color="tab:blue", capsize=3)
left.set(xlabel="probability of the answer", ylabel="share that is right",
         title="As sure as it is right", xlim=(0, 1), ylim=(0, 1.02))  # fmt: skip
right.plot(100 * answered[20:], 100 * accuracy[20:], color="tab:blue")
right.axhline(100 * is_right.mean(), color="0.6", linewidth=1, linestyle="--")
right.set(xlabel="surest answers given (%)", ylabel="right (%)", title="Answer only when sure")

"""
Read a temperature off loads
============================

Real data: ETTh1, an electricity transformer in China, its oil temperature and six loads every hour
for two years. From two days of the loads alone, how warm was the oil on average? A regressor of
whole series gives a number for each.
"""

# %%
# Every third week is held out; a case never leaves its week. The loader brings the columns to zero
# mean and unit variance; the temperature, the last column, goes back into degrees.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import mean_absolute_error

import paralesn as pe
from paralesn import datasets

task = datasets.load("etth1")
ahead = task.meta["horizon"]  # the last hours of a part are only among its targets
parts = (task.train, task.validation, task.test)
rows = np.vstack([np.vstack([part.inputs, part.targets[-ahead:]]) for part in parts])
loads = rows[:, :-1]
oil = rows[:, -1] * task.meta["std"][-1] + task.meta["mean"][-1]
week, hours = 168, 48
starts = np.arange(0, len(rows) - week, 6)
starts = starts[starts % week <= week - hours]
X = np.stack([loads[s : s + hours] for s in starts])
y = np.array([oil[s : s + hours].mean() for s in starts])
is_test = starts // week % 3 == 2
print(f"{(~is_test).sum()} cases to learn from, {is_test.sum()} to test on, shape {X.shape[1:]}")

# %%
# The default describes every series by a filter bank, which hears how it changes, and by its
# levels; a `DualRidge` reads both.

model = pe.ReservoirSeriesRegressor().fit(X[~is_test], y[~is_test])
predicted = model.predict(X[is_test])
print(f"R2 {model.score(X[is_test], y[is_test]):.2f}, "
      f"mean error {mean_absolute_error(y[is_test], predicted):.1f} degrees; "
      f"of the mean temperature {np.abs(y[is_test] - y[~is_test].mean()).mean():.1f}")  # fmt: skip

# %%
# Several targets at once: the mean and how far the temperature ranged.

both = np.column_stack([y, [np.ptp(oil[s : s + hours]) for s in starts]])
several = pe.ReservoirSeriesRegressor().fit(X[~is_test], both[~is_test])
print(several.predict(X[is_test][:2]).round(1), both[is_test][:2].round(1))

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained",
                                     width_ratios=(2, 1))  # fmt: skip
days = starts[is_test] / 24
left.plot(days, y[is_test], ".", color="0.6", markersize=4, label="measured")
left.plot(days, predicted, ".", color="tab:blue", markersize=3, label="from the loads")
left.set(xlabel="day", ylabel="mean oil temperature (°C)", title="Weeks that were held out")
left.legend(frameon=False, ncols=2)
low, high = y.min(), y.max()
right.plot([low, high], [low, high], color="0.6", linewidth=1)
right.plot(y[is_test], predicted, ".", color="tab:blue", markersize=3)
right.set(xlabel="measured (°C)", ylabel="from the loads (°C)",
          title=f"R2 {model.score(X[is_test], y[is_test]):.2f}")  # fmt: skip

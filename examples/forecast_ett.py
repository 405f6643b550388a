"""
Forecast a transformer's oil temperature
========================================

Real data: ETTh1, an electricity transformer in China, its oil temperature and six loads every hour
for two years. The model reads a year, then forecasts the four months that follow, two days at a
time, beside the two forecasts everybody should try first: the last value, and the same hour of the
day before.
"""

# %%
# The loader brings the seven columns to zero mean and unit variance by the training rows; we put
# the temperature (the last column) back into degrees.

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe
from paralesn import datasets

task = datasets.load("etth1")
horizon = 48


def degrees(split):
    rows = np.vstack([split.inputs, split.targets[-task.meta["horizon"] :]])
    return rows[:, -1] * task.meta["std"][-1] + task.meta["mean"][-1]


train, test = degrees(task.train), degrees(task.test)
print(f"{len(train)} hours to learn from, {len(test)} to test on")

# %%
# The default model, told only how far to look ahead. It finds the day in the data by itself, and
# weighs a bank of smoothers and a reservoir by the errors they make inside the training year.

model = pe.ReservoirForecaster(horizon=horizon).fit(train)
print(f"season {model.season_}, weights {model.weights_}")

# %%
# `update` reads the months between without learning from them; `predict` then forecasts from every
# hour of the test months as if it were the last one known.

model.update(degrees(task.validation))
values, lower, upper = model.forecast(interval=0.9)
first = 23
wanted = np.lib.stride_tricks.sliding_window_view(test[1:], horizon)[first:]  # (origins, 48)
origins = len(wanted)
forecasts = {
    "ParalESN": model.predict(test)[first : first + origins],
    "last value": np.repeat(test[first : first + origins, None], horizon, axis=1),
    "day before": np.stack(
        [np.tile(test[t - 23 : t + 1], horizon // 24) for t in range(first, first + origins)]
    ),
}
errors = {name: np.abs(values - wanted).mean(axis=0) for name, values in forecasts.items()}
for name, error in errors.items():
    print(f"{name:11s} mean absolute error {error.mean():.2f} degrees")

# %%
# How the error grows with the distance, and the forecast of the first two days with the interval
# that should hold nine observations of ten.

week = 7 * 24

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
hours = np.arange(1, horizon + 1)
for (name, error), color in zip(errors.items(), ("tab:blue", "0.6", "tab:orange"), strict=True):
    left.plot(hours, error, color=color, label=name)
left.set(xlabel="hours ahead", ylabel="mean absolute error (degrees)", ylim=(0, None))
left.legend(frameon=False)
before = degrees(task.validation)[-week:]
right.plot(np.arange(-week, 0) + 1, before, color="0.5", label="observed")
right.plot(hours, test[:horizon], color="0.5")
right.fill_between(hours, lower, upper, color="tab:blue", alpha=0.2, linewidth=0, label="90 %")
right.plot(hours, values, color="tab:blue", label="forecast")
right.set(xlabel="hours", ylabel="oil temperature (degrees)")
right.legend(frameon=False)

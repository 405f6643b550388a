"""
Close the loop on chaos
=======================

A model that predicts one step can predict any number of them: it takes its own predictions for
observations. On the Lorenz attractor every error grows e-fold within a Lyapunov time, so no
forecast stays right for ever; a good one stays right for long, and stays on the attractor after
that.
"""

# %%

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe
from paralesn import datasets

lyapunov = 55  # samples in which an error grows e-fold
train, ahead = 6000, 2000
series = datasets.lorenz63(train + ahead, seed=0)  # (time, 3)
model = pe.ReservoirForecaster(strategy="closed-loop").fit(series[:train])
forecast = model.forecast(ahead)

# %%
# How long is it valid? Until the error, in units of the standard deviation, exceeds 0.4. One number
# could be luck, so we start from twenty places of the attractor.


def valid_time(predicted, truth):
    errors = np.sqrt((((predicted - truth) / series.std(axis=0)) ** 2).mean(axis=1))
    wrong = np.flatnonzero(errors > 0.4)
    return (wrong[0] if wrong.size else len(errors)) / lyapunov


times = []
for seed in range(1, 21):
    other = datasets.lorenz63(1000 + ahead, seed=seed)
    times.append(valid_time(model.update(other[:1000]).forecast(ahead), other[1000:]))
print(f"valid for {np.median(times):.1f} Lyapunov times in the median of 20 starts,")
print(f"from {min(times):.1f} to {max(times):.1f}")

# %%

figure = plt.figure(figsize=(11, 4.2), layout="constrained")
left = figure.add_subplot(1, 2, 1)
shown = 12 * lyapunov
t = np.arange(1, shown + 1) / lyapunov
left.plot(t, series[train : train + shown, 0], color="0.6", linewidth=3, label="Lorenz")
left.plot(t, forecast[:shown, 0], color="tab:blue", linewidth=1.2, label="closed loop")
left.axvline(valid_time(forecast, series[train:]), color="0.3", linestyle=":")
left.set(xlabel="Lyapunov times after the last observation", ylabel="x")
left.legend(frameon=False, loc="upper left", ncols=2)
left.margins(y=0.15)
right = figure.add_subplot(1, 2, 2, projection="3d")
right.plot(*series[train:].T, color="0.7", linewidth=0.8)
right.plot(*forecast.T, color="tab:blue", linewidth=0.8)
right.set(title="2 000 steps: the truth and the loop", xticks=[], yticks=[], zticks=[])

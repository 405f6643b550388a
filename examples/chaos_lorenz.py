"""
Close the loop on chaos
=======================

A model that predicts one step can predict any number of them: it takes its own predictions for
observations. On the Lorenz attractor every error grows e-fold within a Lyapunov time, so no
forecast stays right for ever; a good one stays right for long, and stays on the attractor after
that.
"""

# %%
# The defaults: `fit` tries several reservoirs and penalties, and takes what goes on best by itself
# into the last fifth of the series.

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe
from paralesn import datasets, theory

train, ahead, dt, exponent = 6000, 2000, 0.02, 0.906
lyapunov_time = 1 / (exponent * dt)  # 55 samples, in which an error grows e-fold
series = datasets.lorenz63(train + ahead, dt=dt, seed=0)  # (time, 3)
model = pe.ReservoirForecaster(strategy="closed-loop").fit(series[:train])
forecast = model.forecast(ahead)

# %%
# How long is it valid? Until the error, in units of the standard deviation, reaches 0.4. One number
# could be luck, so we start from twenty places of the attractor: with `y`, a forecast follows
# another stretch of the same system, of which the reservoir reads 500 steps here.


def valid_time(predicted, truth):
    call = {"scale": series.std(axis=0), "lyapunov_time": lyapunov_time}
    return theory.valid_prediction_time(predicted, truth, **call)


times = []
for seed in range(1, 21):
    other = datasets.lorenz63(500 + ahead, dt=dt, seed=seed)
    times.append(valid_time(model.forecast(ahead, y=other[:500]), other[500:]))
print(f"valid for {np.median(times):.1f} Lyapunov times in the median of 20 starts,")
print(f"from {min(times):.1f} to {max(times):.1f}")

# %%
# Is it still a Lorenz system when it has parted from the truth? The trained loop is a dynamical
# system of its own, so its Lyapunov exponents can be computed. The true ones are 0.906, 0 and
# -14.57, and the Kaplan-Yorke dimension is 2.06. A reservoir with more memory than this one would
# show exponents of its own before the third.

print(theory.lyapunov_exponents(model, dt=dt))

# %%
# The climate is what remains of a forecast in the long run: spectra and distributions. Distances
# between series of this length are never zero, so beside that of the loop stands that of another
# true trajectory.

length = 20_000
truth, other = (datasets.lorenz63(length, dt=dt, seed=seed) for seed in (21, 22))
print("closed loop:", theory.climate_distance(model.forecast(length), truth))
print("the truth:  ", theory.climate_distance(other, truth))

# %%

figure = plt.figure(figsize=(11, 4.2), layout="constrained")
left = figure.add_subplot(1, 2, 1)
shown = round(24 * lyapunov_time)
t = np.arange(1, shown + 1) / lyapunov_time
left.plot(t, series[train : train + shown, 0], color="0.6", linewidth=3, label="Lorenz")
left.plot(t, forecast[:shown, 0], color="tab:blue", linewidth=1.2, label="closed loop")
left.axvline(valid_time(forecast, series[train:]), color="0.5", linestyle=":")
left.set(xlabel="Lyapunov times after the last observation", ylabel="x")
left.legend(frameon=False, loc="upper left", ncols=2)
left.margins(y=0.15)
right = figure.add_subplot(1, 2, 2, projection="3d")
right.plot(*series[train:].T, color="0.7", linewidth=0.8)
right.plot(*forecast.T, color="tab:blue", linewidth=0.8)
right.set(title="2 000 steps: the truth and the loop", xticks=[], yticks=[], zticks=[])

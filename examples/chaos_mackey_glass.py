"""
Chaos from a delay: the Mackey-Glass equation
=============================================

How many white blood cells are made today depends on how many there were some time ago. Such a delay
makes a single number chaotic: the state of the system is not one value, but the course of the last
17 units of time. A model that sees only the newest value has to remember the others, and a
reservoir does.
"""

# %%
# The series is tanh(f - 1) of the solution f, as usual in the field. Of the reservoirs that the
# default tries, `fit` takes the one that goes on best by itself into the last fifth of the series:
# here the one of three layers, whose first bends the values and whose others remember them, as the
# equation bends a value of 17 steps ago.

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe
from paralesn import datasets, theory

delay, train, ahead, spin_up = 17, 6000, 2400, 1000
system = datasets.chaotic_system("mackey_glass")
series = system.generate(train + ahead, seed=0)[:, 0]
model = pe.ReservoirForecaster(strategy="closed-loop").fit(series[:train])
print(f"layers of the reservoir: {model.reservoir_.layers}")
forecast = model.forecast(ahead)

# %%
# How long is it valid? A Lyapunov time, in which errors grow e-fold, is almost 200 steps here. From
# ten other starts, of which the reservoir reads 1 000 steps:


def valid_time(predicted, truth):
    call = {"scale": series.std(), "lyapunov_time": system.lyapunov_steps}
    return theory.valid_prediction_time(predicted, truth, **call)


times = []
for seed in range(1, 11):
    other = system.generate(spin_up + ahead, seed=seed)[:, 0]
    times.append(valid_time(model.forecast(ahead, y=other[:spin_up]), other[spin_up:]))
print(f"a Lyapunov time: {system.lyapunov_steps:.0f} steps")
print(f"valid for {np.median(times):.1f} Lyapunov times in the median of 10 starts,")
print(f"from {min(times):.1f} to {max(times):.1f}")

# %%
# The loop as a system of its own: its largest exponent beside that of the equation, and its climate
# beside that of another true series of the same length.

length = 20_000
found = theory.lyapunov_exponents(model, length, count=1)
print(f"largest exponent {found.exponents[0]:.5f} +- {found.standard_error[0]:.5f},", end=" ")
print(f"of the equation {system.exponent}")
truth, other = (system.generate(length, seed=seed)[:, 0] for seed in (11, 12))
loop = model.forecast(length)
print("closed loop:", theory.climate_distance(loop, truth))
print("the truth:  ", theory.climate_distance(other, truth))

# %%
# The portrait x(t) against x(t - 17) is how this attractor is known. The loop's is drawn from its
# last 3 000 steps, long after it parted from the truth.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained",
                                             width_ratios=(2, 1, 1))  # fmt: skip
first = round(8 * system.lyapunov_steps)
t = np.arange(1, first + 1) / system.lyapunov_steps
left.plot(t, series[train : train + first], color="0.6", linewidth=3, label="Mackey-Glass")
left.plot(t, forecast[:first], color="tab:blue", linewidth=1.2, label="closed loop")
left.axvline(valid_time(forecast, series[train:]), color="0.5", linestyle=":")
left.set(xlabel="Lyapunov times after the last observation", ylabel="x")
left.legend(frameon=False, loc="upper left", ncols=2)
left.margins(y=0.15)
for axes, values, color, title in ((middle, truth, "0.55", "Mackey-Glass"),
                                   (right, loop, "tab:blue", "closed loop")):  # fmt: skip
    shown = values[-3000:]
    axes.plot(shown[:-delay], shown[delay:], color=color, linewidth=0.6)
    axes.set(title=title, xlabel=f"x(t - {delay})", xlim=(-0.6, 0.4), ylim=(-0.6, 0.4))
    axes.set_aspect("equal")
middle.set_ylabel("x(t)")
right.tick_params(labelleft=False)

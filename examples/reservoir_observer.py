"""
Infer variables that nobody measures
====================================

A sensor often sees one variable of a system and misses the others. If all of them were measured
once, in a laboratory or by an expensive instrument, a model can learn to tell the others from the
one: a *reservoir observer* (Lu, Pathak, Hunt, Girvan, Brockett and Ott, Chaos, 2017). The reservoir
remembers how the measured variable came about, and the readout is fitted as for any other target.
"""

# %%
# All three variables of the Lorenz system were measured over 4 000 steps. On another trajectory
# there is x only. The error is the NRMSE: 0 is perfect, and the mean of the training series would
# score about 1. The yardstick is a linear regression on the last 20 values of x.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

import paralesn as pe
from paralesn import datasets

delays, skipped = 20, 100  # the first steps of a trajectory, in which the reservoir starts
lorenz, rossler = datasets.chaotic_system("lorenz63"), datasets.chaotic_system("rossler")
train, test = lorenz.generate(4000, seed=0), lorenz.generate(3000, seed=1)


def nrmse(predicted, truth):
    errors = (predicted - truth)[skipped:]
    return np.sqrt((errors**2).mean(axis=0)) / truth[skipped:].std(axis=0)


def reservoir(known, wanted, new):
    return pe.ReservoirRegressor().fit(known, wanted).predict(new)


def linear(known, wanted, new):
    """From the last values; before the first there is the first."""
    rows = [
        np.lib.stride_tricks.sliding_window_view(np.pad(x, (delays - 1, 0), mode="edge"), delays)
        for x in (known, new)
    ]
    model = RidgeCV(10.0 ** np.arange(-8, 3)).fit(rows[0][delays:], wanted[delays:])
    return model.predict(rows[1])


print("NRMSE                    reservoir   linear")
others = rossler.generate(4000, seed=0), rossler.generate(3000, seed=1)
for system, a, b in ((lorenz, train, test), (rossler, *others)):
    found = [method(a[:, 0], a[:, 1:], b[:, 0]) for method in (reservoir, linear)]
    errors = [nrmse(predicted, b[:, 1:]) for predicted in found]
    for k, name in enumerate("yz"):
        print(f"{system.title:12s} {name} from x  {errors[0][k]:9.2g} {errors[1][k]:8.2g}")
    if system is lorenz:
        y_and_z = found[0]

# %%
# The variable y of Lorenz' system is x plus a tenth of its slope, so recent values give it even
# linearly. z is another matter. If (x, y, z) is a solution, so is (-x, -y, z): the same z belongs
# to x and to -x. No linear function of x can do that, so the regression is no better than the mean.
# The reservoir can, because a tanh with a bias is neither odd nor even.
#
# The symmetry also says what cannot be observed. From z, nobody can tell x from -x, whatever the
# model and the data. What does follow from z is the size of x.

x_from_z = reservoir(train[:, 2], train[:, 0], test[:, 2])
size = reservoir(train[:, 2], np.abs(train[:, 0]), test[:, 2])
print(f"Lorenz x from z: {nrmse(x_from_z, test[:, 0]):.2f},", end=" ")
print(f"its size |x| from z: {nrmse(size, np.abs(test[:, 0])):.3f}")

# %%
# How much has to be measured? Errors of z from x, medians of five training trajectories.

lengths = (150, 300, 600, 1200, 2400)
curves = {"reservoir": reservoir, "linear, 20 values of x": linear}
for name, method in curves.items():
    scores = []
    for seed in range(5):
        a = lorenz.generate(max(lengths), seed=10 + seed)
        scores.append([nrmse(method(a[:n, 0], a[:n, 2], test[:, 0]), test[:, 2]) for n in lengths])
    curves[name] = np.median(scores, axis=0)
    print(name, dict(zip(lengths, curves[name].round(3).tolist(), strict=True)))

# %%

figure = plt.figure(figsize=(11, 5.4), layout="constrained")
grid = figure.add_gridspec(3, 2, width_ratios=(2, 1))
shown = slice(skipped, skipped + 900)
t = np.arange(3000)[shown] * lorenz.dt
panels = (
    ("y from x", test[:, 1], y_and_z[:, 0]),
    ("z from x", test[:, 2], y_and_z[:, 1]),
    ("x from z: the sign is lost", test[:, 0], x_from_z),
)
for row, (title, truth, predicted) in enumerate(panels):
    axes = figure.add_subplot(grid[row, 0])
    axes.plot(t, truth[shown], color="0.6", linewidth=3, label="never measured")
    axes.plot(t, predicted[shown], color="tab:blue", linewidth=1.2, label="reservoir observer")
    axes.set_title(title, loc="left", fontsize="medium")
    axes.tick_params(labelbottom=row == 2)
axes.set_xlabel("time")
figure.axes[0].legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
right = figure.add_subplot(grid[:, 1])
for (name, curve), color in zip(curves.items(), ("tab:blue", "0.55"), strict=True):
    right.loglog(lengths, curve, "o-", color=color, label=name)
right.minorticks_off()
right.set_xticks(lengths, map(str, lengths))
right.set_yticks((0.03, 0.1, 0.3, 1), ("0.03", "0.1", "0.3", "1"))
right.set(xlabel="training steps", ylabel="NRMSE of z from x")
right.legend(frameon=False)

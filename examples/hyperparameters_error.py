"""
What hyperparameters do to the error
====================================

One hyperparameter at a time, everything else as it was, three seeds: how does the error on NARMA10
(a nonlinear system with a memory of ten steps) and on Mackey-Glass, 84 steps ahead, change?
"""

# %%

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe
from paralesn import datasets

pi, seeds = np.pi, range(3)
shared = {"units": 100, "rho": (0.4, 0.9), "mix_size": 3, "input_scale": 1.0, "bias_scale": 0.1}
bases = {
    "narma10": shared | {"theta": (0, 2 * pi), "tau": 1.0, "mix_scale": 0.1},
    "mg84": shared | {"theta": (0, pi / 4), "tau": 0.5, "mix_scale": 1.0},
}
sweeps = {
    "rho (largest)": ("rho", [(0.4, r) for r in (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995)]),
    "theta (largest, over pi)": ("theta", [(0, a * pi) for a in (0.05, 0.125, 0.25, 0.5, 1, 2)]),
    "tau": ("tau", [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0]),
    "mix_scale": ("mix_scale", [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]),
    "input_scale": ("input_scale", [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]),
    "bias_scale": ("bias_scale", [0.0, 0.1, 0.3, 1.0, 3.0]),
    "mix_size": ("mix_size", [1, 3, 5, 9, 17]),
    "units": ("units", [25, 50, 100, 200, 400]),
}
tasks = {name: [datasets.load(name, seed=seed) for seed in seeds] for name in bases}


def error(task, seed, **hyper):
    model = pe.ReservoirRegressor(
        pe.ParalESN(seed=seed, **hyper), washout=task.washout, standardize=False
    )
    model.fit(task.train.inputs, task.train.targets)
    return task.evaluate(model.predict(task.validation.inputs), "validation")[task.metric]


def shown(name, value):
    return (value[1] / pi if name == "theta" else value[1]) if isinstance(value, tuple) else value


# %%
# Lines are medians over the seeds, bands reach from the best to the worst, and the dotted lines are
# where the other sweeps of a task stand. All panels have the same vertical axis.

figure, axes = plt.subplots(2, 4, figsize=(12, 6), layout="constrained", sharey=True)
for plot, (label, (name, values)) in zip(axes.flat, sweeps.items(), strict=True):
    x = [shown(name, value) for value in values]
    for (task, sets), color in zip(tasks.items(), ("tab:blue", "tab:orange"), strict=True):
        found = np.array(
            [[error(sets[s], s, **bases[task] | {name: value}) for s in seeds] for value in values]
        )
        middle = np.median(found, axis=1)
        plot.fill_between(x, found.min(axis=1), found.max(axis=1), color=color, alpha=0.2)
        plot.plot(x, middle, "o-", color=color, markersize=3, label=task)
        plot.axvline(shown(name, bases[task][name]), color=color, linestyle=":", linewidth=0.9)
        best = int(middle.argmin())
        print(f"{task:8s} {label:25s} best at {x[best]:<6g} NRMSE {middle[best]:.4f}")
    plot.set(xlabel=label, yscale="log", ylim=(0.003, 1.0))
    if name in ("mix_scale", "input_scale", "tau"):
        plot.set_xscale("log")
    if name == "bias_scale":
        plot.set_xscale("symlog", linthresh=0.1)
        plot.set_xlim(left=0)
axes[0, 0].set_ylabel("NRMSE")
axes[1, 0].set_ylabel("NRMSE")
axes[0, 0].legend(frameon=False)

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
base = {"units": 64, "rho": (0.4, 0.9), "theta": (0, pi / 2), "tau": 0.5, "mix_scale": 1.0,
        "mix_size": 3, "input_scale": 1.0, "bias_scale": 0.1}  # fmt: skip
sweeps = {
    "rho (largest)": ("rho", [(0.4, r) for r in (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995)]),
    "theta (largest, over pi)": ("theta", [(0, a * pi) for a in (0.05, 0.125, 0.25, 0.5, 1, 2)]),
    "tau": ("tau", [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0]),
    "mix_scale": ("mix_scale", [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]),
    "input_scale": ("input_scale", [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]),
    "bias_scale": ("bias_scale", [0.0, 0.1, 0.3, 1.0, 3.0]),
    "mix_size": ("mix_size", [1, 3, 5, 9, 17]),
    "units": ("units", [16, 32, 64, 128, 256]),
}
tasks = {name: [datasets.load(name, seed=seed) for seed in seeds] for name in ("narma10", "mg84")}


def error(task, seed, **hyper):
    model = pe.ReservoirRegressor(pe.ParalESN(seed=seed, **hyper), washout=task.washout)
    model.fit(task.train.inputs, task.train.targets)
    return task.evaluate(model.predict(task.validation.inputs), "validation")[task.metric]


def shown(name, value):
    return (value[1] / pi if name == "theta" else value[1]) if isinstance(value, tuple) else value


# %%
# Lines are medians over the seeds, bands reach from the best to the worst; the dotted line is where
# the other sweeps stand.

figure, axes = plt.subplots(2, 4, figsize=(12, 6), layout="constrained", sharey=True)
for plot, (label, (name, values)) in zip(axes.flat, sweeps.items(), strict=True):
    for (task, sets), color in zip(tasks.items(), ("tab:blue", "tab:orange"), strict=True):
        found = np.array(
            [[error(sets[s], s, **base | {name: value}) for s in seeds] for value in values]
        )
        x = [shown(name, value) for value in values]
        plot.fill_between(x, found.min(axis=1), found.max(axis=1), color=color, alpha=0.2)
        plot.plot(x, np.median(found, axis=1), "o-", color=color, markersize=3, label=task)
        best = int(np.median(found, axis=1).argmin())
        print(f"{task:8s} {label:25s} best at {x[best]:<6g} NRMSE {np.median(found[best]):.4f}")
    plot.axvline(shown(name, base[name]), color="0.5", linestyle=":", linewidth=0.9)
    plot.set(xlabel=label, yscale="log")
    if name in ("mix_scale", "input_scale", "units", "tau"):
        plot.set_xscale("log")
    if name == "bias_scale":
        plot.set_xscale("symlog", linthresh=0.1)
axes[0, 0].set_ylabel("NRMSE")
axes[1, 0].set_ylabel("NRMSE")
axes[0, 0].legend(frameon=False)

"""
What hyperparameters do to the eigenvalues
==========================================

A unit of a ParalESN is one complex number: its eigenvalue. The radius says how long the unit
remembers, the angle which frequency it resonates with. `rho`, `theta`, `tau` and `phases` do
nothing but place these numbers.
"""

# %%

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe

pi = np.pi
settings = [
    ("defaults", {}),
    ("rho=(0.9, 0.99)", {"rho": (0.9, 0.99)}),
    ("rho=(0.95, 0.95)", {"rho": (0.95, 0.95)}),
    ("theta=(0, pi/4)", {"theta": (0, pi / 4)}),
    ("tau=0.5", {"tau": 0.5}),
    ("tau=0.1", {"tau": 0.1}),
    ('phases="even", rho=(0.95, 0.95)', {"phases": "even", "rho": (0.95, 0.95)}),
    ("real=True", {"real": True}),
]
angle = np.linspace(0, 2 * pi, 300)
figure, axes = plt.subplots(2, 4, figsize=(12, 6.4), layout="constrained")
for plot, (title, changed) in zip(axes.flat, settings, strict=True):
    reservoir = pe.ParalESN(units=128, seed=0, **changed).fit(np.zeros((2, 1)))
    eigenvalues = reservoir.layers_[0].eigenvalues
    plot.plot(np.cos(angle), np.sin(angle), color="0.5", linewidth=0.8)
    plot.scatter(eigenvalues.real, np.imag(eigenvalues), s=8)
    plot.set(title=title, aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    plot.title.set_fontsize("small")
    memory = -1 / np.log(np.abs(eigenvalues).max())
    plot.text(0, -1.28, f"slowest unit: {memory:.0f} steps", ha="center", fontsize="small")
    plot.set(xlim=(-1.15, 1.15), ylim=(-1.4, 1.15))

# %%
# A unit forgets by a factor of e within ``-1 / log(radius)`` steps: 10 steps at a radius of 0.9, 20
# at 0.95, 100 at 0.99. A leaky rate `tau` below one pulls every eigenvalue towards 1: slower units,
# lower frequencies. `theta` chooses frequencies: an angle of pi / 4 is a period of 8 steps.
#
# What a unit does to a pulse is a spiral; drawn over time, a damped oscillation.

figure, axes = plt.subplots(1, 3, figsize=(11, 2.8), sharey=True, layout="constrained")
steps = np.arange(60)
for plot, (radius, phase) in zip(
    axes, [(0.9, pi / 4), (0.97, pi / 4), (0.97, pi / 16)], strict=True
):
    response = (radius * np.exp(1j * phase)) ** steps
    plot.plot(steps, response.real, label="real part")
    plot.plot(steps, np.abs(response), "--", color="0.5", label="radius")
    plot.set(title=f"radius {radius}, period {2 * pi / phase:.0f}", xlabel="steps after a pulse")
axes[0].legend(frameon=False, fontsize="small")

"""
See a reservoir forget
======================

The echo state property: two copies of a reservoir that start from different states and read the
same input become the same. For a ParalESN this is no hope but arithmetic: the distance of two
states shrinks with the powers of the largest radius, whatever the input.
"""

# %%

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe
from paralesn import theory

x = np.random.default_rng(0).uniform(-1, 1, (300, 1))
reservoirs = {f"radius {radius}": pe.ParalESN(units=64, rho=(radius, radius), seed=0).fit(x)
              for radius in (0.7, 0.9, 0.98)}  # fmt: skip
for name, reservoir in reservoirs.items():
    print(name, "-", theory.echo_state_property(reservoir))

# %%
# Dense reservoirs with a tanh have conditions that decide some cases, and the code says which.

for rho in (0.5, 0.9, 1.2):
    print(f"ESN, rho={rho} -", theory.echo_state_property(pe.ESN(units=64, rho=rho).fit(x)))

# %%

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for name, reservoir in reservoirs.items():
    curve = theory.forgetting_curve(reservoir, x)
    (line,) = axes.semilogy(curve.distance[:, 0], label=name)
    axes.semilogy(curve.bound[:, 0], "--", color=line.get_color(), linewidth=1)
axes.plot([], [], "--", color="0.4", linewidth=1, label="the theorem's bound")
axes.set(xlabel="time step", ylabel="largest distance of two states", ylim=(1e-16, None))
axes.legend(frameon=False)

"""
How far back a reservoir remembers
==================================

Feed noise and ask a linear readout for the noise of k steps before. The squared correlation, summed
over all k, is the memory capacity, at most the number of units. Where the eigenvalues lie decides
how much of it is reached.
"""

# %%

import matplotlib.pyplot as plt

import paralesn as pe
from paralesn import theory

units, linear = 100, {"mix_scale": 0.01}  # a small scale keeps the tanh in its linear part
reservoirs = {
    "ParalESN, default radii": pe.ParalESN(units, **linear),
    "ParalESN, radius 0.95": pe.ParalESN(units, rho=(0.95, 0.95), **linear),
    "ParalESN, radius 0.95, even phases": pe.ParalESN(
        units, rho=(0.95, 0.95), phases="even", **linear
    ),
    "ESN, rho 0.95": pe.ESN(units, rho=0.95, input_scale=0.01),
}
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for name, reservoir in reservoirs.items():
    capacity = theory.memory_capacity(reservoir)
    print(f"{name:36s} {capacity.total:5.1f} of {capacity.bound}")
    axes.plot(capacity.per_delay, label=f"{name}: {capacity.total:.0f}")
axes.set(xlabel="delay in steps", ylabel="squared correlation", ylim=(0, 1.03))
axes.legend(frameon=False)

"""
An echo state network, made diagonal
====================================

The paper's universality rests on a fact that can be run: a linear echo state network and a diagonal
reservoir with its eigenvalues have the same states, up to a change of basis. `theory.diagonalize`
makes the one from the other and carries a trained readout over.
"""

# %%

import time

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe
from paralesn import datasets, theory

task = datasets.narma(4000, seed=0)
x, y = task.inputs, task.targets
esn = pe.ESN(units=200, rho=0.95, linear=True, seed=0)
states, _ = esn.run(x)
same = theory.diagonalize(esn)
raw, _ = same.reservoir.run(x)
print(f"{esn.n_parameters_:,} parameters became {same.reservoir.n_parameters_:,}")

# %%
# A readout trained on the states of the network predicts from the diagonal states, after the change
# of basis is folded into its weights.

readout = pe.Ridge().fit(states[100:], y[100:])
carried = same.carry(readout)
difference = np.abs(carried.predict(raw) - readout.predict(states)).max()
print(f"largest difference of predictions: {difference:.1e}")


def seconds(reservoir):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        reservoir.run(x)
        times.append(time.perf_counter() - start)
    return np.median(times)


print(f"states took {seconds(esn) / seconds(same.reservoir):.1f} times as long before")

# %%

figure, axes = plt.subplots(figsize=(4.8, 4.8), layout="constrained")
angle = np.linspace(0, 2 * np.pi, 300)
axes.plot(np.cos(angle), np.sin(angle), color="0.5", linewidth=0.8)
eigenvalues = same.reservoir.layers_[0].eigenvalues
axes.scatter(eigenvalues.real, eigenvalues.imag, s=12)
axes.set(title="Eigenvalues of the network, units of the reservoir", aspect="equal")

"""
Learn from a stream that changes
================================

A sensor delivers a sample at a time, and half-way the system behind it changes. `Reservoir.step`
runs a reservoir sample by sample, and `Ridge` learns from them as they come; with `Ridge.forget`,
old samples fade and the model follows.
"""

# %%
# A pendulum whose frequency drops by a third in the middle, measured with noise.

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe

rng = np.random.default_rng(0)
steps, change = 6000, 3000
frequency = np.where(np.arange(steps) < change, 0.30, 0.20)
y = np.sin(np.cumsum(frequency)) * np.cos(np.cumsum(0.07 * frequency))
y += 0.02 * rng.normal(size=steps)

# %%
# Three readouts of one reservoir: one learns from the first thousand samples and stops, one learns
# from all there were so far, and one lets them fade by 12 % every 25 samples. The state goes from
# step to step, as it would in a live program; what was predicted is learnt 25 samples later.

reservoir, state = pe.ParalESN(units=64, rho=(0.5, 0.95), theta=(0, np.pi / 2), seed=0), None
readouts = {name: pe.Ridge(alphas=[1e-2]) for name in ("stopped", "never forgets", "forgets")}
errors = {name: np.full(steps, np.nan) for name in readouts}
batch, states = 25, []
for t in range(steps - 1):
    z, state = reservoir.step(y[t : t + 1], state)
    states.append(z)
    if len(states) < batch:
        continue
    seen, come = np.array(states), y[t - batch + 2 : t + 2]  # what followed on each of them
    states = []
    for name, readout in readouts.items():
        if t > 300:
            errors[name][t - batch + 1 : t + 1] = np.abs(readout.predict(seen) - come)
        if t > 100 and (name != "stopped" or t < 1000):  # before, the reservoir is waking up
            if name == "forgets" and t > 300:
                readout.forget(0.88)
            readout.partial_fit(seen, come)

# %%

figure, (above, below) = plt.subplots(2, 1, figsize=(10, 5), sharex=True, layout="constrained")
above.plot(y, color="0.5", linewidth=0.6)
above.set(ylabel="sensor", title="The frequency drops by a third at step 3 000")
window = np.ones(100) / 100
for (name, error), color in zip(errors.items(), ("tab:red", "tab:orange", "tab:blue"), strict=True):
    known = np.flatnonzero(~np.isnan(error))
    smooth = np.convolve(error[known], window, mode="valid")
    below.semilogy(known[99:], smooth, color=color, label=name)
    print(f"{name:14s} mean error of the last thousand steps {np.nanmean(error[-1000:]):.4f}")
below.axhline(0.02 * np.sqrt(2 / np.pi), color="0.4", linestyle=":", label="noise alone")
below.set(xlabel="step", ylabel="error, mean of 100 steps")
below.legend(frameon=False, ncols=4, loc="upper left")
below.set_ylim(top=3)

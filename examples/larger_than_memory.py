"""
Train on a series larger than memory
====================================

The readout keeps a triangular factor of what it has seen, a few hundred kilobytes, and the states
it sees exist a block at a time. So memory does not grow with the series: here we measure it.
"""

# %%
# A source that never exists as a whole: an iterator of pieces, as they would come from files or a
# database. The task: recall the input of ten steps before, squared.

import time
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe

units, piece = 128, 8192


def source(steps, seed=0):
    rng = np.random.default_rng(seed)
    tail = np.zeros(10)
    for start in range(0, steps, piece):
        x = rng.uniform(-1, 1, min(piece, steps - start))
        before = np.concatenate([tail, x])
        tail = before[-10:]
        yield x[:, None], before[: len(x)] ** 2


# %%
# In pieces: run a block, learn from it, forget it.


def learn_in_pieces(steps):
    reservoir, readout, state = pe.ParalESN(units=units, rho=(0.8, 0.98)), pe.Ridge(), None
    for x, y in source(steps):
        states, state = reservoir.run(x, state)
        readout.partial_fit(states, y)
    return readout


# %%
# All at once: every state in memory, then the same readout. Both find the same coefficients.


def learn_at_once(steps):
    pieces = list(source(steps))
    x = np.concatenate([x for x, _ in pieces])
    states, _ = pe.ParalESN(units=units, rho=(0.8, 0.98)).run(x)
    return pe.Ridge().fit(states, np.concatenate([y for _, y in pieces]))


a, b = learn_in_pieces(50_000).coef_, learn_at_once(50_000).coef_
print(f"largest difference of coefficients: {np.abs(a - b).max():.1e}, of {np.abs(b).max():.1f}")

# %%


def measured(learn, steps):
    tracemalloc.start()
    start = time.perf_counter()
    learn(steps)
    seconds = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20, seconds


lengths = [3_000, 10_000, 30_000, 100_000, 300_000]
pieces = [measured(learn_in_pieces, steps) for steps in lengths]
whole = [measured(learn_at_once, steps) for steps in lengths[:4]]
for steps, (memory, seconds) in zip(lengths, pieces, strict=True):
    print(f"{steps:9,d} steps in pieces: {memory:6.1f} MiB at most, {seconds:5.2f} s")

figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
axes.loglog(lengths, [memory for memory, _ in pieces], "o-", label="in pieces")
axes.loglog(lengths[:4], [memory for memory, _ in whole], "s--", color="0.5", label="at once")
axes.set(xlabel="time steps", ylabel="most memory in use (MiB)", ylim=(1, None))
axes.legend(frameon=False)

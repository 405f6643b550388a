"""
Chaos in space: learn a small ring, forecast a larger one
=========================================================

The Kuramoto-Sivashinsky equation describes flame fronts and thin films: waves on a ring that split,
merge and never repeat. A reservoir that reads the whole ring has to grow with it. But what happens
at a place depends on its neighbourhood only, and the same law holds everywhere, so
`LocalReservoirs` puts copies of one reservoir on patches of the ring, with one readout for all of
them (Pathak, Hunt, Girvan, Lu and Ott, Physical Review Letters, 2018).
"""

# %%
# A ring of length 22, seen at 64 places: eight patches of eight values, which read eight more on
# either side. The noise on what is learnt from, a ten-thousandth of the standard deviation, keeps
# the loop from running away. Settings were chosen on another series.

import time

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe
from paralesn import datasets, theory

dt, train, ahead, spin_up = 0.25, 6000, 1000, 100
small = {"length": 22, "points": 64, "exponent": 0.048}
large = {"length": 44, "points": 128, "exponent": 0.0805}


def generate(ring, steps, seed):
    field = {"length": ring["length"], "points": ring["points"]}
    return datasets.kuramoto_sivashinsky(steps, dt=dt, seed=seed, **field)


def valid_time(predicted, truth, ring):
    call = {"scale": truth.std(), "lyapunov_time": 1 / (ring["exponent"] * dt)}
    return theory.valid_prediction_time(predicted, truth, **call)


field = generate(small, train, seed=0)
patch = pe.ParalESN(units=512, rho=(0, 0.3), input_scale=0.05, bias_scale=1, mix_scale=1,
                    mix_size=1)  # fmt: skip
model = pe.ReservoirForecaster(
    pe.LocalReservoirs(patch, size=8, overlap=8),
    pe.Ridge(10.0 ** np.arange(-8, 3)),
    strategy="closed-loop",
    noise=1e-4,
)
begin = time.perf_counter()
model.fit(field)
print(f"fit to {train} steps of {small['points']} places: {time.perf_counter() - begin:.0f} s")
print(f"readout: {model.readout_.coef_.shape[0]} values from {model.readout_.coef_.shape[1]} units")

# %%
# Forecasts from eight other starts. The reservoir reads a hundred steps of each and then goes on by
# itself.

starts = [generate(small, spin_up + ahead, seed) for seed in range(1, 9)]
loops = [model.forecast(ahead, y=start[:spin_up]) for start in starts]
times = [valid_time(loop, start[spin_up:], small)
         for loop, start in zip(loops, starts, strict=True)]  # fmt: skip
print(f"length 22: valid for {np.median(times):.1f} Lyapunov times in the median of 8 starts,")
print(f"           from {min(times):.1f} to {max(times):.1f}")

# %%
# The point of locality: **the same weights forecast a ring of twice the length**, which they never
# saw: started on a larger field, the closed loop has the same reservoir on 16 patches instead of 8,
# and nothing else is new. The larger ring is more chaotic, so its Lyapunov time is
# shorter, and times are counted in these.

larger = np.stack([generate(large, spin_up + ahead, seed) for seed in range(1, 9)])
wide_loops = model.closed_loop_.started(larger[:, :spin_up]).forecast(ahead)
wide_times = [valid_time(loop, start[spin_up:], large)
              for loop, start in zip(wide_loops, larger, strict=True)]  # fmt: skip
print(f"length 44: valid for {np.median(wide_times):.1f} Lyapunov times in the median of 8 starts,")
print(f"           from {min(wide_times):.1f} to {max(wide_times):.1f}")

# %%
# The start of each ring whose valid time, the dotted line, is next to the median.

figure, panels = plt.subplots(3, 2, figsize=(11, 5.6), sharex=True, sharey="col",
                              layout="constrained")  # fmt: skip
shown = 10  # Lyapunov times
columns = ((small, starts, loops, times), (large, larger, wide_loops, wide_times))
for column, (ring, truths, predictions, valid) in zip(panels.T, columns, strict=True):
    k = int(np.argsort(valid)[len(valid) // 2])
    steps = round(shown / (ring["exponent"] * dt))
    truth, predicted = truths[k][spin_up:][:steps], predictions[k][:steps]
    for axes, values in zip(column, (truth, predicted, predicted - truth), strict=True):
        image = axes.imshow(values.T, cmap="RdBu_r", vmin=-3.5, vmax=3.5, aspect="auto",
                            extent=(0, shown, 0, ring["length"]), origin="lower",
                            interpolation="bilinear")  # fmt: skip
        axes.axvline(valid[k], color="0.15", linestyle=":", linewidth=1.5)
    column[0].set_title(f"ring of length {ring['length']}")
    column[2].set_xlabel(f"Lyapunov times of {1 / ring['exponent']:.0f} units")
for axes, name in zip(panels[:, 0], ("truth", "forecast", "error"), strict=True):
    axes.set_ylabel(f"{name}\nplace")
figure.colorbar(image, ax=panels, shrink=0.6, pad=0.02, label="u")

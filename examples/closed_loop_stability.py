"""
What keeps a closed loop on the attractor
=========================================

A forecaster in closed loop reads its own predictions. Training only showed it true observations, so
it never learnt what to do next to them, and a loop that predicts single steps very well may still
leave the attractor and never return. Three settings decide about that: noise on what is learnt
from, the penalty of the readout, and how long the reservoir reads before it goes on alone.
"""

# %%
# A system on which it shows: the atmosphere of Lorenz (1984), three variables, 2 000 steps for
# training; then the same with a measurement error of 1 % of the standard deviation, in training and
# at the starts of forecasts. Every setting is tried with four reservoirs, each trained on a series
# of its own, and from six starts; they have a long memory, as delays and hidden variables need it,
# which makes loops hard to keep. *Valid* is the median of the valid prediction times, in Lyapunov
# times, and *bounded* the share of loops that stay within ten standard deviations for 3 000 steps.

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe
from paralesn import datasets, theory

system = datasets.chaotic_system("lorenz84")
train, read, ahead, long, draws = 2000, 300, 700, 3000, 4
truths = np.stack([system.generate(read + ahead, seed=seed) for seed in range(6)])
series = [system.generate(train, seed=10 + draw) for draw in range(draws)]
spread = truths.std(axis=(0, 1))


def measured(values, error, seed):
    return values + error * spread * np.random.default_rng(seed).normal(size=values.shape)


def fitted(draw, error, noise=0.0, readout=None):
    reservoir = pe.ParalESN(units=256, rho=(0.6, 0.95), theta=(0, np.pi / 2), tau=0.7,
                            input_scale=0.1, bias_scale=0.1, mix_scale=2, seed=draw)  # fmt: skip
    model = pe.ReservoirForecaster(reservoir, readout, strategy="closed-loop", noise=noise)
    return model.fit(measured(series[draw], error, draw))


def valid_and_bounded(models, error, steps_read=read):
    """Median valid prediction time of loops from all starts, and share of bounded loops."""
    valid, bounded = [], []
    observed = measured(truths[:, :read], error, 99)[:, -steps_read:]
    for loop in (model.closed_loop_ for model in models):
        predicted = loop.started(observed).forecast(long)
        call = {"scale": spread, "lyapunov_time": system.lyapunov_steps}
        valid.append(theory.valid_prediction_time(predicted[:, :ahead], truths[:, read:], **call))
        bounded.append((np.abs(predicted - loop.mean) < 10 * loop.scale).all(axis=(1, 2)))
    return np.median(valid), np.mean(bounded)


def exponent(model):
    try:
        return theory.lyapunov_exponents(model, 2500, count=1, dt=system.dt).exponents[0]
    except ValueError:  # it diverged
        return np.nan


# %%
# **Noise on what is learnt from** shows the readout places next to the attractor and the way back.
# The penalty is chosen by `fit`. Beside it the diagnosis: the largest Lyapunov exponent of the
# trained loops, which should be that of the system. One near zero is no chaos at all.

noises, errors, by_noise, models = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1), (0.0, 0.01), {}, {}
print(f"exponent of the system: {system.exponent}")
for error in errors:
    print(f"measurement error {error:4.0%}:  noise   valid  bounded  exponents of four loops")
    for noise in noises:
        models[error, noise] = [fitted(draw, error, noise) for draw in range(draws)]
        valid, bounded = by_noise[error, noise] = valid_and_bounded(models[error, noise], error)
        found = "".join(f"{exponent(model):7.2f}" for model in models[error, noise])
        print(f"{noise:29g} {valid:7.1f} {bounded:8.0%} {found}")

# %%
# Without noise, half of the loops are lost, and three of four exponents are far off. With 1e-4 or
# 1e-3 all loops stay, forecasts are valid for more than twice as long, and exponents are about
# right. From 1e-2 on, forecasts get worse again. A measurement error is noise already: all loops
# stay, and more noise adds little.
#
# **The penalty**, now fixed, without noise and with a noise of 1e-3.

penalties, by_penalty = 10.0 ** np.arange(-8, 3, 2), {}
for noise in (0.0, 1e-3):
    print(f"no measurement error, noise {noise:g}:  penalty  valid  bounded")
    for penalty in penalties:
        tried = [fitted(draw, 0.0, noise, pe.Ridge([penalty])) for draw in range(draws)]
        valid, bounded = by_penalty[noise, penalty] = valid_and_bounded(tried, 0.0)
        print(f"{penalty:43g} {valid:6.1f} {bounded:8.0%}")

# %%
# No penalty does what noise does. Without noise, the best one loses loops and is valid for half as
# long as small penalties with noise are; the largest keeps all loops, but none of them is valid for
# any time worth the name. With noise, penalties up to 1e-6 are equally good.
#
# **The spin-up**: how many steps the reservoir reads before it goes on alone, trained with a noise
# of 1e-3. It starts from zero and has to forget that, as it has at the beginning of training, where
# `spin_up` is the number of steps not learnt from (100 by default).

spin_ups, by_spin_up = (2, 5, 10, 20, 40, 80, 150, 300), {}
for error in errors:
    for steps in spin_ups:
        by_spin_up[error, steps] = valid_and_bounded(models[error, 1e-3], error, steps)
    found = {steps: round(float(by_spin_up[error, steps][0]), 1) for steps in spin_ups}
    print(f"measurement error {error:.0%}, valid by steps read:", found)

# %%
# After two steps most loops run away. After five most of them stay, but what they say is not valid:
# the reservoir does not know yet where it is. Beyond 100 steps, more of them hardly matter; where
# measurements have errors, it takes somewhat longer.
#
# **A reservoir with hardly any memory** has none of these troubles where all variables are measured
# exactly: it needs no spin-up to speak of, and its loops stay without noise. The default tries some
# of those as well, and closed loops into the last fifth of the series choose.

defaults = [pe.ReservoirForecaster(strategy="closed-loop").fit(one) for one in series]
valid, bounded = valid_and_bounded(defaults, 0.0)
print(f"the default, without noise: valid for {valid:.1f} Lyapunov times, {bounded:.0%} bounded")

figure, panels = plt.subplots(2, 3, figsize=(11, 5), sharex="col", layout="constrained")
by_error = {0.0: "measured exactly", 0.01: "error 1 %"}
swept = {
    "noise on what is learnt from": (by_noise, by_error, noises, "standard deviations"),
    "penalty": (by_penalty, {0.0: "no noise", 1e-3: "noise 1e-3"}, penalties, "penalty"),
    "spin-up": (by_spin_up, by_error, spin_ups, "steps read before the forecast"),
}
for column, (title, (found, kinds, levels, label)) in zip(panels.T, swept.items(), strict=True):
    for (kind, name), color in zip(kinds.items(), ("tab:blue", "tab:orange"), strict=True):
        places = np.where(np.equal(levels, 0), 1e-6, levels)  # no noise at all, on a log scale
        curves = np.transpose([found[kind, level] for level in levels])
        for axes, curve in zip(column, curves, strict=True):
            axes.semilogx(places, curve, "o-", color=color, label=name, alpha=0.85)
    column[0].set(title=title, ylim=(0, 4.2))
    column[1].set(xlabel=label, ylim=(-0.05, 1.05))
    column[0].legend(frameon=False, fontsize="small")
panels[1, 0].minorticks_off()
panels[1, 0].set_xticks((1e-6, 1e-5, 1e-3, 1e-1), ("0", "1e-5", "1e-3", "0.1"))
panels[0, 0].set_ylabel("valid, Lyapunov times")
panels[1, 0].set_ylabel("share of loops bounded")

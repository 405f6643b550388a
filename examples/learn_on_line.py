"""
Keep learning from a transformer
================================

Real data: ETTh1, an electricity transformer in China, its oil temperature and six loads every hour
for two years. How warm is the oil, read off the loads of the day and the temperatures of the day
before? What the loads mean drifts with the seasons and the years, so a model that was fitted once
goes astray; `partial_fit` and `forget` keep it up to date, day by day.
"""

# %%
# The first third, 200 days, is there to begin with. The loader brings the columns to zero mean and
# unit variance; the temperature, the last column, goes back into degrees.

import time

import matplotlib.pyplot as plt
import numpy as np

import paralesn as pe
from paralesn import datasets

task = datasets.load("etth1")
ahead = task.meta["horizon"]  # the last hours of a part are only among its targets
parts = (task.train, task.validation, task.test)
rows = np.vstack([np.vstack([part.inputs, part.targets[-ahead:]]) for part in parts])
day, begun = 24, 200 * 24
degrees = rows[:, -1] * task.meta["std"][-1] + task.meta["mean"][-1]
oil, yesterday = degrees[day:], degrees[:-day]
inputs = np.column_stack([rows[day:, :-1], rows[:-day, -1]])


def fitted(first, last):
    reservoir = pe.ParalESN(units=128, rho=(0.5, 0.99), mix_scale=1.0, bias_scale=0.3)
    model = pe.ReservoirRegressor(reservoir, pe.Ridge(np.logspace(0, 5, 6)))
    return model.fit(inputs[first:last], oil[first:last])


def learning(factor, first, last):
    """Predictions of each day, after which its temperatures are learnt; seconds of learning."""
    model, predictions, seconds = fitted(0, first), [], []
    for t in range(first, last, day):
        X, y = inputs[t : t + day], oil[t : t + day]
        predictions.append(model.predict(X, state=model.state_))
        start = time.perf_counter()
        model.forget(factor).partial_fit(X, y)
        seconds.append(time.perf_counter() - start)
    return np.concatenate(predictions), np.median(seconds)


# %%
# How fast to forget is chosen within the first third: fitted to 100 days, tried on the next 100.

half = begun // 2
tried = {
    factor: np.abs(learning(factor, half, begun)[0] - oil[half:begun]).mean()
    for factor in (1.0, 0.99, 0.97, 0.95, 0.9, 0.8)
}
factor = min(tried, key=tried.get)
print({key: round(float(error), 2) for key, error in tried.items()}, "chosen:", factor)

# %%
# Then 400 days that were not looked at: by a model that stays as it was, by models that learn every
# day, with and without forgetting, and by one that is fitted anew to everything every 30 days.

last = begun + (len(oil) - begun) // day * day
frozen = fitted(0, begun)
found = {
    "yesterday's temperature": yesterday[begun:last],
    "frozen": frozen.predict(inputs[begun:last], state=frozen.state_),
}
again, refit_seconds = [], []
for t in range(begun, last, 30 * day):
    start = time.perf_counter()
    model = fitted(0, t)
    refit_seconds.append(time.perf_counter() - start)
    again.append(model.predict(inputs[t : min(t + 30 * day, last)], state=model.state_))
found["fitted anew every 30 days"] = np.concatenate(again)
found["learns every day"], _ = learning(1.0, begun, last)
found["learns and forgets"], seconds = learning(factor, begun, last)
for name, predicted in found.items():
    print(f"{name:26s} mean error {np.abs(predicted - oil[begun:last]).mean():.2f} degrees")
print(f"to learn a day took {seconds * 1e3:.1f} ms, a new fit "
      f"{np.median(refit_seconds) / seconds:.0f} times as long")  # fmt: skip

# %%

figure, (above, below) = plt.subplots(2, 1, figsize=(10, 5.4), sharex=True, layout="constrained")
days = np.arange(begun, last, day) / day
above.plot(days, oil[begun:last].reshape(-1, day).mean(axis=1), color="0.6", label="measured",
           linewidth=2.5)  # fmt: skip
colors = {
    "frozen": "tab:red",
    "fitted anew every 30 days": "tab:orange",
    "learns and forgets": "tab:blue",
}
for name, color in colors.items():
    by_day = found[name].reshape(-1, day)
    error = np.abs(by_day - oil[begun:last].reshape(-1, day)).mean(axis=1)
    if name != "fitted anew every 30 days":
        above.plot(days, by_day.mean(axis=1), color=color, linewidth=1, label=name)
    month = np.convolve(error, np.ones(30) / 30, mode="valid")
    label = f"{name}: {error.mean():.1f} °C"
    below.plot(days[29:], month, color=color, label=label)
above.set(ylabel="oil, daily mean (°C)", title="A model stays as it was, another learns every day")
below.set(xlabel="day", ylabel="error, mean of 30 days (°C)", ylim=(0, None))
above.legend(frameon=False, ncols=3, loc="upper right")
below.legend(frameon=False, loc="upper left")

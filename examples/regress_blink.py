"""
One electrode from the others
=============================

Real data: Blink, recordings of four electrodes while people blink, two seconds each. What would the
first electrode have measured, if only the other three are known? A target for every time step, from
inputs now and before.
"""

# %%

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

import paralesn as pe
from paralesn import datasets

data = datasets.load("blink")
recordings = np.asarray(data.X_train)
train, test = recordings[::4], recordings[2::4]  # of the same people
X, y, X_test, y_test = train[:, :, 1:], train[:, :, 0], test[:, :, 1:], test[:, :, 0]
print(f"{len(X)} series to learn from, {len(X_test)} to test on, {X.shape[1]} time steps each")

# %%
# Without any setting, beside a linear regression on the same three values, which has no memory. The
# first tenth of every series is left out: a reservoir that starts from zero knows no past there.

model = pe.ReservoirRegressor().fit(X, y)
memory = model.predict(X_test)
linear = LinearRegression().fit(X.reshape(-1, 3), y.ravel())
at_once = linear.predict(X_test.reshape(-1, 3)).reshape(y_test.shape)
scores = {
    name: r2_score(y_test[:, 51:].ravel(), values[:, 51:].ravel())
    for name, values in (("ReservoirRegressor", memory), ("linear regression", at_once))
}
for name, score in scores.items():
    print(f"{name:18s} R2 {score:.3f}")

# %%
# The test part of the archive has recordings of other trials, where both know less: electrodes sit
# differently every time.

others = np.asarray(data.X_test)[::5]
wanted, values = others[:, 51:, 0].ravel(), model.predict(others[:, :, 1:])[:, 51:].ravel()
print(f"other trials       R2 {r2_score(wanted, values):.3f}")
values = linear.predict(others[:, 51:, 1:].reshape(-1, 3))
print(f"linear regression  R2 {r2_score(wanted, values):.3f}")

# %%
# A series that was not learnt from, and the errors of all.

case = 7
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
steps = np.arange(60, 160)
left.plot(steps, y_test[case, steps], color="0.6", linewidth=3, label="electrode 1")
left.plot(steps, memory[case, steps], color="tab:blue", linewidth=1.2, label="from the other three")
left.set(xlabel="time step", ylabel="microvolt", title="A blink that was not learnt from")
left.legend(frameon=False, loc="upper right")
left.margins(y=0.15)
bins = np.linspace(-100, 100, 61)
for (name, score), values, color in zip(
    scores.items(), (memory, at_once), ("tab:blue", "tab:orange"), strict=True
):
    errors = (values - y_test)[:, 51:].ravel()
    right.hist(errors, bins, histtype="step", color=color, label=f"{name}, R2 {score:.3f}")
right.set(xlabel="error, microvolt", yticks=[], title="Errors of all test series")
right.legend(frameon=False, loc="upper left")
right.margins(y=0.25)

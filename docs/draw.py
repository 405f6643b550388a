"""Draw the committed pictures of the documentation: ``python docs/draw.py [NAME ...]``.

Without names, every picture. Those of the gallery's examples are drawn by the examples themselves;
those on real data need ``PARALESN_DATA``. ``python docs/draw.py --clear FILE.png`` takes the white
background away from a picture that a command saved.
"""

import re
import runpy
import sys
from functools import partial
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext")]

import figure_style  # noqa: E402

FOLDER = HERE / "pictures"
EXAMPLES = {path.stem: path for path in sorted((HERE.parent / "examples").glob("*.py"))}


def save(figure, name):
    """A PNG with a palette of 256 colours: a quarter of the size, and no difference to the eye."""
    from PIL import Image

    path = FOLDER / f"{name}.png"
    figure.savefig(path, dpi=110)
    Image.open(path).quantize(256, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)
    print(f"{path.relative_to(HERE)}: {path.stat().st_size / 1000:.0f} kB")


def example(name):
    """Run a script of the gallery and keep its first figure."""
    import matplotlib.pyplot as plt

    runpy.run_path(str(EXAMPLES[name]))
    save(plt.figure(1), name)


def overview():
    """What the README opens with: a forecast, a model of a target, and classes."""
    import matplotlib.pyplot as plt

    import paralesn as pe
    from paralesn import datasets

    figure, panels = plt.subplots(1, 3, figsize=(12, 2.9), layout="constrained")
    series = datasets.lorenz63(4600, seed=0)
    closed = pe.ReservoirForecaster(strategy="closed-loop")
    loop = closed.fit(series[:4000]).forecast(600)
    t = np.arange(1, 601) / 55
    panels[0].plot(t, series[4000:, 0], color="0.6", linewidth=3, label="Lorenz system")
    panels[0].plot(t, loop[:, 0], color="tab:blue", linewidth=1.2, label="forecast")
    panels[0].set(title="Forecast", xlabel="Lyapunov times after the last observation")

    series = datasets.mackey_glass(6084, seed=0)[:, 0]
    model = pe.ReservoirRegressor().fit(series[:5000], series[84:5084])
    ahead = model.predict(series[5000:-84], state=model.state_)
    panels[1].plot(series[5084:5684], color="0.6", linewidth=3, label="Mackey-Glass")
    panels[1].plot(ahead[:600], color="tab:blue", linewidth=1.2, label="84 steps before")
    panels[1].set(title="Model", xlabel="time step", yticks=[])

    rng, steps = np.random.default_rng(0), np.arange(120)
    labels = np.array(["low", "high"] * 100)
    pitch = np.where(labels == "low", 0.30, 0.36)[:, None]
    X = np.sin(pitch * steps + rng.uniform(0, 6, (200, 1))) + 2.0 * rng.normal(size=(200, 120))
    classifier = pe.ReservoirClassifier().fit(X[:100], labels[:100])
    decision = classifier.decision_function(X[100:])
    sign = 1 if classifier.classes_[1] == "high" else -1
    bins = np.linspace(-2, 2, 33)
    for label, color in (("low", "tab:orange"), ("high", "tab:blue")):
        shown = sign * decision[labels[100:] == label]
        panels[2].hist(shown, bins, color=color, alpha=0.75, label=f"{label} tone")
    accuracy = classifier.score(X[100:], labels[100:])
    print(f"accuracy {accuracy:.2f}")
    panels[2].set(title="Classify", xlabel="decision for noisy tones", ylabel="test series")
    for panel in panels:
        panel.margins(y=0.2)
        panel.legend(frameon=False, loc="upper left", ncols=2, fontsize="small")
    panels[0].set_yticks([])
    save(figure, "overview")


def reservoirs():
    """What the other reservoirs are for: memory, plasticity, feedback, and laws."""
    import matplotlib.pyplot as plt

    import paralesn as pe
    from paralesn import datasets

    figure, panels = plt.subplots(2, 2, figsize=(11, 5.6), layout="constrained")
    memory, plastic, tones, law = panels.ravel()
    shown = ((pe.ESN(units=50), "0.55"), (pe.ES2N(units=50, proximity=0.05), "tab:blue"))
    for reservoir, color in shown:
        capacity = pe.theory.memory_capacity(reservoir)
        curve = capacity.per_delay[:71]
        memory.plot(curve, color=color, label=f"{type(reservoir).__name__}: {capacity.total:.0f}")
    memory.set(title="What 50 units remember", xlabel="delay", ylabel="squared correlation")

    x, bins = np.random.default_rng(0).uniform(-5, 5, 4000), np.linspace(-1, 1, 61)
    before, after = pe.ESN(units=100), pe.PlasticESN(units=100, std=0.3).fit(x)
    for reservoir, color, label in (
        (before, "0.55", "ESN"), (after, "tab:blue", "after plasticity"),
    ):  # fmt: skip
        states = reservoir.run(x)[0][100:].ravel()
        plastic.hist(states, bins, density=True, color=color, alpha=0.7, label=label)
    target = np.exp(-0.5 * (bins / 0.3) ** 2) / (0.3 * np.sqrt(2 * np.pi))
    plastic.plot(bins, target, color="tab:orange", label="target")
    plastic.set(title="Outputs of units, inputs too large", xlabel="state", yticks=[])

    pitch = np.repeat(np.random.default_rng(0).uniform(0.15, 0.4, 52), 50)
    tone = np.sin(np.cumsum(pitch))
    esn = pe.ESN(units=200, rho=0.8, input_scale=0.5, bias_scale=0.5)
    model = pe.ReservoirRegressor(esn, feedback=True, feedback_noise=0.01)
    model = model.fit(pitch[:2000], tone[:2000])
    made = model.predict(pitch[2000:2200], state=model.state_)
    tones.plot(tone[2000:2200], color="0.6", linewidth=3, label="target")
    tones.plot(made, color="tab:blue", linewidth=1.2, label="output, fed back")
    tones.plot(4 * pitch[2000:2200] - 3.2, color="tab:orange", label="input: the frequency")
    tones.set(title="Output feedback", xlabel="time step", yticks=[])

    series = datasets.lorenz63(1400, seed=0)
    loop = pe.ReservoirForecaster(pe.NVAR(order=3), strategy="closed-loop").fit(series[:600])
    t = np.arange(1, 801) / 55.2
    law.plot(t, series[600:, 0], color="0.6", linewidth=3, label="Lorenz system")
    law.plot(t, loop.forecast(800)[:, 0], color="tab:blue", linewidth=1.2, label="NVAR")
    law.set(title="A law from 600 points", xlabel="Lyapunov times", yticks=[])
    for panel in panels.ravel():
        panel.margins(y=0.25)
        panel.legend(frameon=False, loc="upper left", ncols=3, fontsize="small")
    save(figure, "reservoirs")


def start():
    """The forecast of the ten-minute start."""
    import matplotlib.pyplot as plt

    import paralesn as pe

    t = np.arange(24 * 7 * 8)
    load = 10 + np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 168)
    load += 0.1 * np.random.default_rng(0).normal(size=len(t))
    values, lower, upper = pe.ReservoirForecaster(horizon=24).fit(load).forecast(interval=0.9)
    hours = np.arange(1, 25)
    figure, axes = plt.subplots(figsize=(9, 2.9), layout="constrained")
    axes.plot(np.arange(-167, 1), load[-168:], color="0.5", label="observed")
    axes.fill_between(hours, lower, upper, color="tab:blue", alpha=0.25, linewidth=0, label="90 %")
    axes.plot(hours, values, color="tab:blue", label="forecast")
    axes.set(xlabel="hours", ylabel="load")
    axes.legend(frameon=False, ncols=3, loc="upper left")
    axes.margins(y=0.2)
    save(figure, "start")


def forecast_classics():
    """Two series of every textbook: a forecast with its interval, and anomalies."""
    import matplotlib.pyplot as plt

    import paralesn as pe
    from paralesn import datasets

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 3.3), layout="constrained")
    y, ahead = datasets.airline_passengers(), 36
    years = 1949 + np.arange(144) / 12
    model = pe.ReservoirForecaster(horizon=ahead).fit(y[:-ahead])
    values, lower, upper = model.forecast(interval=0.9)
    left.plot(years, y, color="0.6", linewidth=2.5, label="observed")
    left.fill_between(years[-ahead:], lower, upper, color="tab:blue", alpha=0.25, linewidth=0,
                      label="90 %")  # fmt: skip
    left.plot(years[-ahead:], values, color="tab:blue", label="forecast from the end of 1957")
    left.set(title="Airline passengers, thousands a month")
    left.legend(frameon=False, loc="upper left")

    flow, years = datasets.nile(), np.arange(1871, 1971)
    odd, values, lower, upper = pe.ReservoirForecaster(horizon=5).fit(flow).anomalies(level=0.95)
    right.fill_between(years[1:], lower[1:], upper[1:], color="tab:blue", alpha=0.2, linewidth=0,
                       label="95 % around one-step forecasts")  # fmt: skip
    right.plot(years, flow, color="0.6", linewidth=1.2)
    right.plot(years[odd], flow[odd], "o", color="tab:red", label="anomalies")
    right.set(title="Flow of the Nile, $10^8$ m$^3$ a year")
    right.legend(frameon=False, loc="upper right")
    save(figure, "forecast_classics")


def torch_scan():
    """Times of the chunked scan beside the recursive one, from the saved table."""
    import matplotlib.pyplot as plt

    text = (HERE / "benchmarks" / "torch_scan.txt").read_text(encoding="utf-8")
    row = r"scan T=(\d+),.*?│ +([\d.]+) (us|ms|s) against ([\d.]+) (us|ms|s)"
    unit = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
    times = [
        (int(steps), float(ours) * unit[a], float(theirs) * unit[b])
        for steps, ours, a, theirs, b in re.findall(row, text)
    ]
    steps, ours, theirs = np.transpose(times)
    figure, axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
    axes.loglog(steps, theirs, "s--", color="0.5", label="recursive associative scan")
    axes.loglog(steps, ours, "o-", color="tab:blue", label="chunked scan")
    axes.set(xlabel="time steps", ylabel="seconds, two CPU cores")
    axes.legend(frameon=False)
    save(figure, "torch_scan")


def _sensitivity(model, name):
    """What each hyperparameter of a model does on NARMA10, from the trials of the package."""
    from paralesn.paper.bayesian import Study
    from paralesn.paper.studies.sensitivity import effects
    from paralesn.paper.studies.sensitivity_plot import figure
    from paralesn.paper.studies.sensitivity_trials import of_package

    save(figure(effects(of_package(Study("narma10", model, "paper")))), name)


def small_digits():
    """Accuracy against minutes of every model on small digits, from the records of the package."""
    import matplotlib.pyplot as plt

    from paralesn.paper import selection, shipped_records

    runs = [run for run in shipped_records.shipped().runs if run["task"] == "smnist14"]
    places = {"LRU": (-8, -3, "right"), "LSTM": (8, -3, "left"), "Mamba": (8, -3, "left"),
              "Transformer": (0, -14, "center"), "ParalESN (pooled)": (8, -3, "left")}  # fmt: skip
    figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    for (_, row), cell in selection.table_cells(runs).items():
        minutes, accuracy = cell.costs["total seconds"][0] / 60, 100 * cell.mean
        axes.plot(minutes, accuracy, "o", color="tab:blue" if "ParalESN" in row.model else "0.5")
        x, y, side = places.get(row.model, (0, 7, "center"))
        axes.annotate(row.model, (minutes, accuracy), (x, y), textcoords="offset points",
                      ha=side, fontsize="small")  # fmt: skip
    axes.set(xscale="log", xlabel="minutes of a core, training and test", ylabel="accuracy, %")
    axes.margins(0.14, 0.12)
    save(figure, "small_digits")


def classify_page():
    """Parts of the page that `paralesn classify` writes, without its background."""
    import os
    import shutil
    import tempfile

    from PIL import Image
    from playwright.sync_api import sync_playwright

    from paralesn.report import own_cases
    from paralesn.workflows.classify import classify_files

    data = Path(os.environ["PARALESN_DATA"]) / "UCR" / "Fish" / "Fish_TRAIN.tsv.xz"
    style = """
        :root { --paper: transparent; --card: transparent; --ink: #7d8491; --soft: #868d9a;
                --line: #9aa1ad66; --grid: #9aa1ad33; --c1: #3b82d6; --c4: #c98a2b; }
        .chart .count.on { fill: #fff; } .scroll { background: none; }
        nav, header, footer, .lead, h2, .table, #chosen, #cases figure:nth-of-type(n+3) {
            display: none; }
        .frame { display: block; padding: 0; } section { padding: 0; } figcaption { margin: 0; }
    """
    path = FOLDER / "classify_page.png"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as session:
        page_file = Path(folder) / "report.html"
        page_file.write_text(own_cases.made(classify_files(data), "Fish_TRAIN.tsv"), "utf-8")
        installed = shutil.which("chromium")
        browser = session.chromium.launch(executable_path=installed, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 900, "height": 500}, color_scheme="light")
        page.goto(page_file.as_uri())
        page.add_style_tag(content=style)
        page.screenshot(path=path, full_page=True, omit_background=True)
        browser.close()
    Image.open(path).quantize(256, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)
    print(f"{path.relative_to(HERE)}: {path.stat().st_size / 1000:.0f} kB")


def clear(path):
    """White to transparent, black to grey, colours as they are."""
    from PIL import Image

    rgb = np.asarray(Image.open(path).convert("RGB"), dtype=float) / 255
    alpha = 1 - rgb.min(axis=2, keepdims=True)
    color = (rgb - (1 - alpha)) / np.maximum(alpha, 1e-9)
    grey = np.array([int(figure_style.GREY[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    saturation = color.max(axis=2, keepdims=True)
    color = color + (1 - saturation) * grey  # black turns grey, a full colour stays
    image = np.concatenate([color, alpha], axis=2).clip(0, 1)
    image = Image.fromarray((image * 255).round().astype(np.uint8))
    image.quantize(256, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)


OTHERS = {
    "classify_page": classify_page,
    "forecast_classics": forecast_classics,
    "overview": overview,
    "reservoirs": reservoirs,
    "sensitivity": partial(_sensitivity, "ParalESN", "sensitivity"),
    "sensitivity_deep": partial(_sensitivity, "ParalESN (deep)", "sensitivity_deep"),
    "small_digits": small_digits,
    "start": start,
    "torch_scan": torch_scan,
}


def main(arguments):
    """Draw what is named, or everything."""
    if arguments[:1] == ["--clear"]:
        for path in arguments[1:]:
            clear(path)
        return
    import matplotlib.pyplot as plt

    FOLDER.mkdir(exist_ok=True)
    for name in arguments or [*OTHERS, *EXAMPLES]:
        plt.close("all")
        figure_style.apply()
        OTHERS[name]() if name in OTHERS else example(name)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Speed and memory of the ParalESN reservoir."""

import json
import subprocess
import sys
import time
from functools import partial

import numpy as np

from benchmarks import rivals
from benchmarks.contestant import NAMES, race
from benchmarks.timing import Report, medians
from paralesn import ParalESN, State, Stepper


def run() -> Report:
    """Measure every claim about the core."""
    report = Report("ParalESN reservoir, one input feature, default hyperparameters")
    whole_states(report)
    one_thread(report)
    two_threads(report)
    last_states(report)
    streaming(report)
    single_steps(report)
    start_up(report)
    return report


def _series(steps: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, (steps, 1))


def whole_states(report: Report) -> None:
    """All states of one series: rivals and ours with all cores."""
    for units, names, wanted in (
        (128, NAMES, {"reservoirpy ESN": 60, "NumPy ESN loop": 20, "PyTorch scan": 25}),
        (1024, NAMES[:3], {"PyTorch scan": 60}),
    ):
        seconds = race(names, units, steps=5000, rounds=15)
        for name in names[1:]:
            claim = f"states N={units} T=5000 float64, against {name}"
            report.ratio(claim, seconds["ours"], seconds[name], wanted.get(name))


def one_thread(report: Report) -> None:
    """One thread against C++ with -Ofast and vector libm."""
    for units, steps in ((128, 5000), (1024, 2000)):
        for dtype in ("float64", "float32"):
            x = _series(steps)
            ours = ParalESN(units=units, dtype=dtype, n_jobs=1)
            states = ours.run(x)[0]
            rival = rivals.cpp_kernel(x, ours.layers_[0], dtype)
            claim = f"one thread N={units} {dtype}, against C++ -Ofast"
            if rival is None:
                report.note(claim, "skipped: no g++ here")
                continue
            if np.abs(rival() - states).max() > 1e-4:
                raise AssertionError("the C++ kernel computes something else")
            seconds = medians({"ours": partial(ours.run, x), "C++": rival}, rounds=41)
            report.ratio(claim, seconds["ours"], seconds["C++"], 1.0)


def two_threads(report: Report) -> None:
    """Two threads against one."""
    many = np.random.default_rng(0).uniform(-1, 1, (64, 5000, 1))
    for claim, X, layers, wanted in (
        ("64 series of 5000 steps", many, 1, 1.7),
        ("one series of a million steps", _series(1_000_000), 1, 1.85),
        ("one series of a million steps, 3 layers", _series(1_000_000), 3, 1.85),
    ):
        one, two = (ParalESN(layers=layers, n_jobs=n) for n in (1, 2))
        contestants = {
            "one": partial(one.run, X),
            "two": partial(two.run, X),
        }
        seconds = medians(contestants, rounds=7)
        report.ratio(
            f"two threads against one, N=128, {claim}", seconds["two"], seconds["one"], wanted
        )


def last_states(report: Report) -> None:
    """Last states of a batch: matrix product against the recurrence without stored states."""
    X = np.random.default_rng(0).uniform(-1, 1, (10_000, 784, 1)).astype("float32")
    ours = ParalESN(units=1024, dtype="float32")
    contestants = {
        "product": lambda: ours.last(X),
        "recurrence": lambda: ours.last(X, return_state=True),
    }
    seconds = medians(contestants, rounds=5)
    claim = "last states of 10000 x 784, N=1024 float32, against the recurrence"
    report.ratio(claim, seconds["product"], seconds["recurrence"], 10)
    deep_last_states(report)


def deep_last_states(report: Report) -> None:
    """Last states of five layers, against layers that store all their states."""
    count, digits = 200, 70_000
    X = np.random.default_rng(0).uniform(-1, 1, (count, 784, 1)).astype("float32")
    ours = ParalESN(units=1024, layers=5, dtype="float32").fit(X)
    all_layers = ParalESN.from_layers(ours.layers_, concat=True, dtype="float32")

    def stored() -> np.ndarray:
        parts = np.array_split(X, 10)  # states of all series at once would take 3 GB
        return np.concatenate([all_layers.run(part)[0][:, -1, -1024:] for part in parts])

    if np.abs(stored() - ours.last(X)).max() > 1e-4:
        raise AssertionError("stored states are others")
    seconds = medians({"ours": lambda: ours.last(X), "stored": stored}, rounds=3)
    claim = f"last states of {count} x 784, 5 layers, N=1024 float32, against stored states"
    report.ratio(claim, seconds["ours"], seconds["stored"])
    scaled = seconds["ours"] * digits / count
    report.value(f"the same for {digits} series, scaled up", scaled, "s", 30)


def streaming(report: Report) -> None:
    """Memory and time of long streams and of a million units, in processes of their own."""
    measured = _measure("""
def blocks():
    rng = np.random.default_rng(0)
    for _ in range(20_000_000 // 50_000):
        yield rng.uniform(-1, 1, (50_000, 1))
res = pe.ParalESN(units=128)
steps = sum(len(z) for z in res.stream(blocks()))
assert steps == 20_000_000
""")
    report.value(
        "streaming 20 million steps from an iterator, N=128: peak memory",
        measured["megabytes"], "MB", 600, f"{measured['seconds']:.3g} s",
    )  # fmt: skip
    res = ParalESN(units=128)
    per_step = {}
    for exponent in (4, 5, 6, 7):
        steps = 10**exponent
        source = _series(min(steps, 10**6))
        for _ in res.stream(source[:10_000]):
            pass
        start = time.perf_counter()
        for _ in res.stream(iter([source] * (steps // len(source)))):
            pass
        per_step[steps] = (time.perf_counter() - start) / steps * 1e9
    shown = ", ".join(f"10^{int(np.log10(n))}: {t:.0f}" for n, t in per_step.items())
    spread = max(per_step.values()) / min(per_step.values())
    report.value("time per step from 10^4 to 10^7 steps: largest / smallest", spread, "x",
                 detail=f"ns per step at {shown}")  # fmt: skip
    measured = _measure("pe.ParalESN(units=1_000_000).last(rng.uniform(-1, 1, 1000))")
    report.value("a million units, 1000 steps, last: peak memory", measured["megabytes"], "MB",
                 detail=f"{measured['seconds']:.3g} s, draw included")  # fmt: skip


def _measure(work: str) -> dict[str, float]:
    """Seconds and peak memory of `work` in a process of its own."""
    program = f"""
import json, re, time
import numpy as np, paralesn as pe
rng = np.random.default_rng(0)
pe.ParalESN(units=10).run(np.zeros(5))
start = time.perf_counter()
{work}
seconds = time.perf_counter() - start
# not ru_maxrss, which a child inherits from its parent
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
print(json.dumps({{"seconds": seconds, "megabytes": peak}}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def single_steps(report: Report) -> None:
    """One call of `step` and of a stepper, Python included."""
    x = np.array([0.5])
    for layers in (1, 5):
        res = ParalESN(units=128, layers=layers)
        state, stepper = res.step(x)[1], res.stepper()

        def steps(res: ParalESN = res, state: State = state) -> None:
            for _ in range(400):
                _, state = res.step(x, state)

        def calls(stepper: Stepper = stepper) -> None:
            for _ in range(400):
                stepper(x)

        seconds = medians({"step": steps, "stepper": calls}, rounds=24)
        of = f"N=128, {layers} layer{'s' * (layers > 1)}"
        for name, wanted in (("step", 15), ("stepper", 8)):
            bound = wanted if layers == 1 else None
            report.value(f"one {name} call, {of}", seconds[name] / 400 * 1e6, "us", bound)


def start_up(report: Report) -> None:
    """Import and first run in a second process."""
    program = """
import time
start = time.perf_counter()
import paralesn as pe
imported = time.perf_counter()
pe.ParalESN().run([0.0] * 10)
print(imported - start, time.perf_counter() - imported)
"""
    runs = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        )
        runs.append([float(word) for word in done.stdout.split()])
    imports, firsts = np.median(runs, axis=0)
    report.value("import and first run in a second process", float(imports + firsts), "s", 2,
                 f"import {imports:.2f} s, first run {firsts:.2f} s")  # fmt: skip

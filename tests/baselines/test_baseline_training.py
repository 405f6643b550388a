"""The training loop: it learns, stops, keeps the best, and goes on after a kill."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from paralesn.baselines.models import build  # noqa: E402
from paralesn.baselines.training import Data, Settings, fit, measure  # noqa: E402

SETTINGS = Settings(learning_rate=0.02, batch_size=16, epochs=6, checkpoint_seconds=0.0)


pytestmark = pytest.mark.usefixtures("one_torch_thread")


def task(cases=96, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, cases)
    X = rng.normal(size=(cases, 12, 1)) * 0.3
    X[y == 1, :6] += 1
    X[y == 0, 6:] += 1
    return Data(X.astype(np.float32), y)


def small():
    return build("LRU", classes=2, width=6, state=6, layers=1, dropout=0.1)


def equal(model, other):
    pairs = zip(model.state_dict().values(), other.state_dict().values(), strict=True)
    return all((a == b).all() for a, b in pairs)


@pytest.mark.slow
def test_it_learns_and_keeps_the_best_weights():
    model, validation = small(), task(seed=1)
    before = torch.get_rng_state()
    trained = fit(model, task(), validation, SETTINGS)
    assert (torch.get_rng_state() == before).all()
    assert trained.epochs == len(trained.scores) == 6
    assert trained.best.accuracy > 0.9
    loss, accuracy = measure(model, validation)
    assert loss == pytest.approx(trained.best.loss, rel=1e-5)
    assert accuracy == trained.best.accuracy
    assert trained.best.loss == min(score.loss for score in trained.scores)


def test_it_stops_when_nothing_gets_better_or_time_is_up():
    noise = Data(task().X, np.random.default_rng(2).integers(0, 2, 96))
    trained = fit(small(), task(), noise, replace(SETTINGS, epochs=100, patience=2))
    best = min(range(trained.epochs), key=lambda i: trained.scores[i].loss) + 1
    assert trained.epochs == best + 2 < 100
    trained = fit(small(), task(), task(seed=1), replace(SETTINGS, seconds=0.0))
    assert trained.epochs == 0
    assert len(trained.scores) == 1
    often = replace(SETTINGS, epochs=1, evaluate_seconds=0.0)
    assert len(fit(small(), task(), task(seed=1), often).scores) == 6


KILLED = """
import sys, time, torch
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_baseline_training import SETTINGS, small, task
from paralesn.baselines.training import fit
torch.set_num_threads(1)
steps = torch.optim.Adam.step
def slowly(self):  # so that the kill falls into the middle
    steps(self)
    time.sleep(0.05)
torch.optim.Adam.step = slowly
fit(small(), task(), task(seed=1), SETTINGS, Path({path!r}))
"""


@pytest.mark.slow
def test_a_killed_training_goes_on_bit_for_bit(tmp_path):
    path = tmp_path / "training.pt"
    tests = os.path.dirname(__file__)
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED.format(tests=tests, path=str(path))], cwd=tmp_path
    )
    deadline = time.monotonic() + 300
    middle = None
    while time.monotonic() < deadline and child.poll() is None:
        if path.exists():
            at = torch.load(path, weights_only=True)["progress"]
            if at["epoch"] >= 1 and at["batch"] >= 2:
                middle = at
                break
        time.sleep(0.01)
    assert middle is not None, "the training ended before it could be killed"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert not torch.load(path, weights_only=True)["progress"]["done"]

    resumed, whole = small(), small()
    trained = fit(resumed, task(), task(seed=1), SETTINGS, path)
    expected = fit(whole, task(), task(seed=1), SETTINGS)
    assert trained.epochs == expected.epochs
    assert [s.loss for s in trained.scores] == [s.loss for s in expected.scores]
    assert trained.seconds > middle["seconds"]
    assert equal(resumed, whole)
    again = small()  # what is done is not done again
    assert fit(again, task(), task(seed=1), SETTINGS, path).seconds == trained.seconds
    assert equal(again, whole)
    with pytest.raises(ValueError, match="checkpoint must be of a training with the same model"):
        fit(small(), task(), task(seed=1), replace(SETTINGS, learning_rate=0.01), path)


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match=r"train must hold series \(n, T, F\)"):
        fit(small(), Data(np.zeros((3, 4)), np.zeros(3)), task(), SETTINGS)
    huge = task()._replace(X=np.full((96, 12, 1), 1e38, np.float32))
    with pytest.raises(FloatingPointError, match="learning_rate must be small enough"):
        fit(small(), huge, task(), SETTINGS)

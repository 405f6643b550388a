"""Arguments that no machine has memory for: refused at once, with the number that is needed."""

import time

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.reservoirs.structured import SCR
from paralesn.runtime import memory

HUGE = 10**13
Y = np.sin(np.arange(400) / 9)
X = np.random.default_rng(0).normal(size=(60, 5))


def closed_loop():
    return pe.ReservoirForecaster(strategy="closed-loop").fit(Y)


ABSURD = {
    "units": lambda: pe.ParalESN(units=HUGE).run(Y),
    "units of a matrix": lambda: pe.ESN(units=10**7).run(Y),
    "units of an orthogonal one": lambda: pe.ES2N(units=10**7).run(Y),
    "units of a ring": lambda: SCR(units=HUGE).run(Y),
    "layers": lambda: pe.ParalESN(layers=HUGE).run(Y),
    "layers of a matrix": lambda: pe.ESN(units=8, layers=HUGE).run(Y),
    "delay": lambda: pe.NVAR(delay=HUGE).run(Y),
    "stride": lambda: pe.NVAR(delay=2, stride=HUGE).run(Y),
    "X": lambda: pe.ParalESN(units=10**6, n_jobs=1).run(np.broadcast_to(0.1, (10**8,))),
    "X of so many features": lambda: pe.ParalESN().stepper(n_features=HUGE),
    "batch": lambda: pe.ParalESN().stepper(batch=HUGE),
    "alphas": lambda: pe.Ridge(alphas=np.broadcast_to(0.1, (HUGE,))).fit(X, X[:, 0]),
    "units of filters": lambda: pe.FilterBank(units=64 * HUGE).fit(X),
    "thresholds": lambda: pe.FilterBank(thresholds=HUGE).fit(X),
    "horizon": lambda: pe.ReservoirForecaster(horizon=HUGE).fit(Y),
    "horizon of smoothers": lambda: pe.SmootherBank(horizon=HUGE).fit(Y),
    "steps": lambda: pe.SmootherBank(horizon=3).fit(Y).forecast(HUGE),
    "steps of a reservoir": lambda: pe.ReservoirForecaster(horizon=3).fit(Y).forecast(HUGE),
    "steps of a loop": lambda: closed_loop().forecast(HUGE),
    "steps of an autonomous one": lambda: closed_loop().closed_loop_.run(HUGE),
    "steps of states": lambda: StateForecaster().fit(Y).forecast(HUGE),
}


@pytest.mark.skipif(np.isinf(memory.machine_bytes()), reason="nobody says how much memory there is")
@pytest.mark.parametrize("name", ABSURD)
def test_what_no_machine_can_hold_is_refused_at_once(name):
    if "loop" in name or "autonomous" in name:
        closed_loop().forecast(1)  # compiles its kernels
    began = time.process_time()
    with pytest.raises(
        ValueError, match=r"must fit the memory of this machine, .* needs at least "
    ) as e:
        ABSURD[name]()
    assert str(e.value).startswith(name.split()[0])
    assert time.process_time() - began < 10


def test_hidden_units_of_a_perceptron():
    pytest.importorskip("torch")
    from paralesn.readouts.mlp import MLP

    with pytest.raises(ValueError, match="hidden must fit the memory of this machine"):
        MLP(hidden=HUGE).fit(X, X[:, 0])


def test_a_container_may_have_less(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    limit.write_text("1000000000\n")
    monkeypatch.setattr(memory, "_GROUP_LIMITS", (str(tmp_path / "none"), str(limit)))
    assert memory.machine_bytes.__wrapped__() == 1e9
    limit.write_text("max\n")
    assert memory.machine_bytes.__wrapped__() > 1e9


def test_what_fits_is_not_refused(monkeypatch):
    monkeypatch.setattr(memory, "machine_bytes", lambda: 1e9)
    memory.require_room("steps", 10, 1e9)
    expected = (
        "steps must fit the memory of this machine, 0.9 GiB, got 10, which needs at least 1.9 GiB"
    )
    with pytest.raises(ValueError, match=expected):
        memory.require_room("steps", 10, 2e9)
    monkeypatch.setattr(memory, "machine_bytes", lambda: 1.0)
    memory.require_room("steps", 10, 1e6)  # too few to ask

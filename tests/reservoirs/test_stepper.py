"""A stepper equals `run` bit for bit, whatever the reservoir, and refuses what `step` refuses."""

import threading

import numpy as np
import pytest

import paralesn as pe

RESERVOIRS = {
    "shallow": pe.ParalESN(units=70),
    "deep": pe.ParalESN(units=40, layers=3),
    "deep, all layers": pe.ParalESN(units=40, layers=3, concat=True),
    "raw": pe.ParalESN(units=40, mixing=False),
    "deep, raw": pe.ParalESN(units=40, layers=2, mixing=False),
    "deep, all layers raw": pe.ParalESN(units=40, layers=3, concat=True, mixing=False),
    "real": pe.ParalESN(units=40, real=True),
    "float32": pe.ParalESN(units=40, layers=2, dtype="float32"),
    "reference": pe.ParalESN(units=20, layers=2, engine="reference"),
    "ESN": pe.ESN(units=40),
    "deep ESN": pe.ESN(units=40, layers=2),
    "SCR": pe.SCR(units=40),
    "ES2N": pe.ES2N(units=40),
    "NVAR": pe.NVAR(),
    "local": pe.LocalReservoirs(pe.ParalESN(units=20), size=1, overlap=1),
}


@pytest.fixture
def series() -> np.ndarray:
    """Two series of three features."""
    return np.random.default_rng(0).normal(size=(2, 30, 3))


@pytest.mark.parametrize("name", RESERVOIRS)
@pytest.mark.parametrize("copy", [True, False])
def test_steps_are_those_of_run(name: str, copy: bool, series: np.ndarray) -> None:
    res = RESERVOIRS[name].fit(series)
    for x in (series[0], series):
        states, end = res.run(x)
        step = res.stepper(batch=2 if x.ndim == 3 else None, copy=copy)
        taken = np.stack([step(x[..., t, :]).copy() for t in range(x.shape[-2])], axis=-2)
        assert (taken == states).all()
        reached = step.state
        assert all((a == b).all() for a, b in zip(reached.layers, end.layers, strict=True))
        assert reached.origin == end.origin


def test_it_starts_from_a_state_which_stays_as_it_was(series: np.ndarray) -> None:
    res = pe.ParalESN(units=40, layers=2).fit(series)
    for x in (series[0], series):
        states, _ = res.run(x)
        _, state = res.run(x[..., :10, :])
        kept = [h.copy() for h in state.layers]
        step = res.stepper(state)  # of as many series as the state
        assert (step(x[..., 10, :]) == states[..., 10, :]).all()
        middle = step.state
        assert (step(x[..., 11, :]) == states[..., 11, :]).all()
        assert (res.stepper(middle)(x[..., 11, :]) == states[..., 11, :]).all()
        assert all((a == b).all() for a, b in zip(state.layers, kept, strict=True))


def test_states_are_copies_unless_asked_not_to_be() -> None:
    res = pe.ParalESN(units=16)
    kept, lent = res.stepper(), res.stepper(copy=False)
    first, second = kept(0.5), kept(-0.5)
    assert (first != second).any()
    assert lent(0.5) is lent(-0.5)


def test_numbers_of_any_kind_are_read() -> None:
    res = pe.ParalESN(units=16)
    expected = res.run([1.0, 1.0, 1.0, 1.0, 1.0])[0]
    step = res.stepper()
    given = (1.0, 1, np.float64(1), np.ones(1), [1.0])
    assert (np.array([step(x) for x in given]) == expected).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("x", [np.nan, np.inf, [1.0, 2.0], np.ones((1, 1)), "a", None])
def test_a_wrong_input_is_refused_and_changes_nothing(x: object) -> None:
    res = pe.ParalESN(units=16)
    step = res.stepper()
    step(0.5)
    with pytest.raises((ValueError, TypeError)):
        step(x)
    assert (step(-0.5) == res.run([0.5, -0.5])[0][1]).all()


def test_a_number_beyond_float32_is_refused() -> None:
    with pytest.raises(ValueError, match="must be finite"):
        pe.ParalESN(units=16, dtype="float32").stepper()(1e39)


def test_tokens() -> None:
    res = pe.ParalESN(units=16, vocabulary=5)
    step = res.stepper()
    tokens = [3, 1, 4]
    assert (np.array([step(t) for t in tokens]) == res.run(np.array(tokens))[0]).all()
    with pytest.raises(ValueError, match="token"):
        step(5)


def test_wrong_arguments_are_named(series: np.ndarray) -> None:
    res = pe.ParalESN(units=16).fit(series)
    with pytest.raises(ValueError, match="n_features"):
        res.stepper(n_features=2)
    with pytest.raises(ValueError, match="batch"):
        res.stepper(batch=0)
    with pytest.raises(ValueError, match="another"):
        res.stepper(pe.ParalESN(units=16, seed=1).fit(series).run(series[0])[1])
    with pytest.raises(ValueError, match="shape"):
        res.stepper(res.run(series)[1], batch=3)
    with pytest.raises(ValueError, match="for this stepper"):
        res.stepper()(series[:, 0])


def test_a_closed_loop_in_python_is_the_one_of_the_engine() -> None:
    y = np.sin(np.arange(400) / 7)
    res = pe.ParalESN(units=32)
    states, _ = res.run(y)
    readout = pe.Ridge([1e-6]).fit(states[50:-1], y[51:])
    _, before = res.run(y[:-1])
    batch = pe.State(tuple(h[None] for h in before.layers), before.origin)
    inputs = np.zeros((30, 1, 1))
    inputs[0] = y[-1]
    weights, intercept = readout.coef_[None], np.array([readout.intercept_])
    expected = res.close_loop(inputs, batch, weights, intercept, False)[:, 0, 0]
    step, value, values = res.stepper(before), y[-1], []
    for _ in range(30):
        value = step(value) @ readout.coef_ + readout.intercept_
        values.append(value)
    assert np.abs(np.array(values) - expected).max() < 1e-9


@pytest.mark.parametrize("layers", [1, 3])
def test_steps_on_several_threads_do_not_meet(layers: int) -> None:
    """`step` of several layers takes prepared steps: each call has its own."""
    res = pe.ParalESN(units=64, layers=layers)
    data = np.random.default_rng(0).normal(size=(4, 300))
    expected = [res.run(x)[0] for x in data]
    wrong: list[int] = []

    def work(k: int) -> None:
        state = None
        for t, value in enumerate(data[k]):
            z, state = res.step(value, state)
            if (z != expected[k][t]).any():
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong

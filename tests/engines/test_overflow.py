"""Finite inputs that make states which are not: refused wherever states leave an engine."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.engines.overflow import LIMIT, Overflow, largest_input
from paralesn.layers.operators import Identity, Sparse
from paralesn.layers.state import State

HUGE = [0.1, 3.4e38, 0.1, 0.1]
ENGINES = ["cpu", "reference", "torch"]
REFUSED = r"must be small enough for states in float32, got values up to 3\.4e\+38 and states that"


def single(**parameters):
    return pe.ParalESN(**{"units": 50, "dtype": "float32", "input_scale": 10.0} | parameters)


RESERVOIRS = {
    "one layer": single,
    "raw": lambda **p: single(mixing=False, **p),
    "real": lambda **p: single(real=True, **p),
    "three layers": lambda **p: single(layers=3, concat=True, **p),
    "many features": lambda **p: single(**p),
    "linear esn": lambda **p: pe.ESN(
        50, linear=True, input_scale=10.0, dtype="float32", rho=0.5, **p
    ),
    "nvar": lambda **p: pe.NVAR(delay=4, dtype="float32", **p),
    "local": lambda **p: pe.LocalReservoirs(single(**p), size=1, overlap=0),
}


@pytest.fixture(params=ENGINES)
def engine(request):
    if request.param == "torch":
        pytest.importorskip("torch")
    return request.param


@pytest.mark.parametrize("name", RESERVOIRS)
def test_no_way_through_a_reservoir_returns_them(name, engine):
    width = 40 if name == "many features" else 1
    x = np.tile(np.array(HUGE)[:, None], width)
    res = RESERVOIRS[name](engine=engine)
    batch = np.stack([np.full_like(x, 0.1)] * 70 + [x])
    calls = {
        "run": lambda: res.run(x),
        "batch": lambda: res.run(batch),
        "ragged": lambda: res.run([x[:1], x]),
        "stream": lambda: list(res.stream(x, block=2)),
        "last": lambda: res.last(batch),
        "last state": lambda: res.last(x, return_state=True),
        "mean": lambda: res.pool(x),
        "ppv": lambda: res.pool(batch, "ppv", segments=2),
        "states after": lambda: res.states_after(x, [1, 3]),
    }
    for call in calls.values():
        with pytest.raises(Overflow, match=REFUSED + r".* at or before step [123]"):
            call()
    with pytest.raises(Overflow, match="^x " + REFUSED + " are not finite: scale the inputs"):
        res.step(x[1], res.run(x[:1])[1])


@pytest.mark.parametrize("name", RESERVOIRS)
def test_a_stepper_stays_where_it_was(name, engine):
    res = RESERVOIRS[name](engine=engine)
    if name == "many features":
        res.fit(np.zeros((1, 40)))
    x, step = np.full(res.stepper()._x.shape[1], 0.1), res.stepper()
    step(x)
    before = step.state
    with pytest.raises(Overflow, match=REFUSED):
        step(x * 3.4e39)
    for kept, h in zip(before.layers, step.state.layers, strict=True):
        np.testing.assert_array_equal(kept, h)
    np.testing.assert_array_equal(step(x), res.step(x, before)[0])


def test_the_message_counts_series_and_steps_as_the_data_do():
    res = single()
    with pytest.raises(Overflow, match=r"at or before step 1: scale the inputs or take dtype='fl"):
        res.run(HUGE)
    with pytest.raises(Overflow, match=r"at or before step 1 of series 1: "):
        res.run([np.zeros(7), np.array(HUGE)])
    pieces = iter([np.array(HUGE[:1]), np.array(HUGE[1:])])
    with pytest.raises(Overflow, match=r"at or before step 1: "):
        list(res.stream(pieces))
    with pytest.raises(
        Overflow, match=r"in float64, .*not finite at or before step 0: scale the inputs$"
    ):
        single(dtype="float64").run([1.7e308])


def test_tanh_takes_any_number():
    """Inputs that a layer of tanh saturates at are no error: states are at most 1."""
    states, state = pe.ESN(units=50, dtype="float32", input_scale=10.0).run(HUGE)
    expected, _ = pe.ESN(units=50, dtype="float32", input_scale=10.0, engine="reference").run(HUGE)
    np.testing.assert_allclose(states, expected, atol=1e-5)
    assert all(np.isfinite(h).all() for h in state.layers)


@pytest.mark.parametrize("way", ["run", "last", "pool", "step", "loop"])
def test_large_numbers_that_fit_are_no_error(way, engine):
    res = single(engine=engine)
    x = np.array([1e30, -1e30, 3e29], np.float32)
    reference = single(engine="reference")
    got = {
        "run": lambda r: r.run(x)[0],
        "last": lambda r: r.last(np.tile(x, (70, 1))[:, :, None]),
        "pool": lambda r: r.pool(x, ("mean", "max")),
        "step": lambda r: r.step(x[0])[0],
        "loop": lambda r: r.run(np.zeros(5), r.run(x)[1])[0],
    }[way]
    np.testing.assert_allclose(got(res), got(reference), atol=1e-4)


def test_a_state_that_nobody_reads_may_overflow(engine):
    """A linear unit that forgets at once: its state is finite again at the end of the run."""
    layer = pe.RecurrentLayer(
        recurrent=Sparse([[1], [0]], [[0.0], [0.0]]), w_in=[[10.0], [1.0]], bias=[0.0, 0.0],
        branch=Identity(2, 0.0), gain=1.0, linear=True,
    )  # fmt: skip
    res = pe.ESN.from_layers([layer], dtype="float32", engine=engine)
    with pytest.raises(Overflow, match="not finite at or before step 1"):
        res.run(HUGE)


def test_a_state_that_is_not_finite_is_refused(engine):
    res = single(engine=engine)
    _, state = res.run([0.1, 0.2])
    with pytest.raises(ValueError, match="state of layer 1 must be finite, got NaN or infinity"):
        State((np.full(50, np.nan + 0j, np.complex64),), state.origin)
    state.layers[0][3] = np.nan
    for call in (res.run, res.last, res.pool, res.step):
        with pytest.raises(ValueError, match="must be finite, got NaN or infinity"):
            call([0.1], state=state)
    with pytest.raises(ValueError, match="must be finite, got NaN or infinity"):
        res.stepper(state)(0.1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reservoir", [pe.ParalESN, pe.ESN, pe.ES2N])
def test_usual_reservoirs_need_no_second_look(reservoir, dtype):
    for layers in (1, 2):
        res = reservoir(units=64, layers=layers, dtype=dtype).fit(np.zeros((1, 3)))
        assert largest_input(res.layers_, np.dtype(dtype)) > LIMIT


def test_below_the_largest_input_nothing_overflows(rng):
    """The bound that spares engines a look, tried at the bound."""
    for seed in range(20):
        res = pe.ParalESN(units=9, seed=seed, dtype="float32", rho=(0.9, 0.999), input_scale=5.0)
        res.fit(np.zeros((1, 2)))
        most = largest_input(res.layers_, np.dtype("float32"))
        x = most * np.where(rng.normal(size=(500, 2)) > 0, 0.99, -0.99)
        states, state = res.run(x)
        assert np.isfinite(states).all()
        assert np.isfinite(state.layers[0]).all()


@pytest.mark.parametrize("pool", ["mean", "std"])
def test_pooled_states_are_right_or_refused(engine, pool):
    """Raw states that fit single precision, whose sums or squares may not."""
    raw = {"mixing": False, "units": 3, "input_scale": 1.0}
    x = np.full(40, 0.1)
    x[5:9] = 1.5e38
    expected = single(**raw, dtype="float64").pool(x, pool)
    try:
        pooled = single(**raw, engine=engine).pool(x, pool)
    except Overflow:
        return
    np.testing.assert_allclose(pooled, expected, rtol=1e-4)

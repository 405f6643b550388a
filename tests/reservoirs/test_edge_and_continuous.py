"""ES2N and ContinuousESN against plain loops, reservoirpy, and SciPy's solver of the equation."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import paralesn as pe

ENGINES = ("reference", "cpu", "torch")


def needs(engine):
    if engine == "torch":
        pytest.importorskip("torch")


# -- ES2N ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["random", "cyclic", "identity"])
def test_es2n_is_its_papers_equation(kind, engine, rng):
    needs(engine)
    x = rng.normal(size=(60, 2))
    res = pe.ES2N(units=20, proximity=0.3, rho=0.8, orthogonal=kind, bias_scale=0.1, engine=engine)
    states, _ = res.run(x)
    (layer,) = res.layers_
    W, O = layer.recurrent.matrix, layer.branch.dense() / 0.7  # noqa: E741
    np.testing.assert_allclose(O @ O.T, np.eye(20), atol=1e-13)
    assert np.abs(np.linalg.eigvals(W)).max() == pytest.approx(0.8)
    h = np.zeros(20)
    for t in range(60):
        h = 0.7 * O @ h + 0.3 * np.tanh(W @ h + layer.w_in @ x[t] + layer.bias)
        np.testing.assert_allclose(states[t], h, atol=1e-13)


def test_es2n_is_that_of_reservoirpy(rng):
    nodes = pytest.importorskip("reservoirpy.nodes")
    x = rng.normal(size=(200, 3))
    res = pe.ES2N(units=30, proximity=0.2, bias_scale=0.3).fit(x)
    (layer,) = res.layers_
    theirs = nodes.ES2N(
        proximity=0.2, W=layer.recurrent.matrix, Win=layer.w_in, bias=layer.bias,
        O=layer.branch.matrix / 0.8,
    )  # fmt: skip
    np.testing.assert_allclose(res.run(x)[0], theirs.run(x), atol=1e-13)


def test_es2n_is_a_residual_network_of_two_halves(rng):
    x = rng.normal(size=(40, 1))
    one = pe.ES2N(units=20, proximity=0.25, layers=2, inter={"proximity": 0.25})
    two = pe.ResESN(units=20, alpha=0.75, beta=0.25, layers=2)
    np.testing.assert_array_equal(one.run(x)[0], two.run(x)[0])
    assert one.n_parameters_ == two.n_parameters_
    plain = pe.ES2N(units=20, proximity=1.0)
    np.testing.assert_allclose(plain.run(x)[0], pe.ESN(units=20).run(x)[0], atol=1e-14)


def test_es2n_remembers_longer_than_an_esn():
    long, short = (
        pe.theory.memory_capacity(res).total
        for res in (pe.ES2N(units=50, proximity=0.05), pe.ESN(units=50, rho=0.9))
    )
    assert long > 45 > 15 > short


# -- continuous time -------------------------------------------------------------------------------


def solution(layer, leak, scale, until, signal):
    """SciPy's solution of c h' = -a h + tanh(W h + W_in x(t) + b) at the time `until`."""
    W, w_in = layer.recurrent.dense(), layer.w_in[:, 0]

    def slope(t, h):
        return (-leak * h + np.tanh(W @ h + w_in * signal(t) + layer.bias)) / scale

    found = solve_ivp(slope, (0, until), np.zeros(layer.units), rtol=1e-11, atol=1e-12)
    return found.y[:, -1]


@pytest.mark.parametrize("method", ["exponential", "euler"])
@pytest.mark.parametrize(("leak", "scale"), [(1.0, 1.0), (0.5, 0.3)])
def test_steps_converge_to_the_differential_equation(method, leak, scale):
    def signal(t):
        return np.sin(1.7 * t) + 0.5 * np.cos(0.6 * t)

    errors = []
    for dt in (0.04, 0.02, 0.01, 0.005):
        res = pe.ContinuousESN(
            units=15, dt=dt, time_constant=scale, leak=leak, method=method, bias_scale=0.2
        )
        times = dt * np.arange(1, round(6.0 / dt) + 1)
        last = res.last(signal(times))
        (layer,) = res.layers_
        errors.append(np.abs(last - solution(layer, leak, scale, times[-1], signal)).max())
    ratios = np.array(errors[:-1]) / errors[1:]
    np.testing.assert_allclose(ratios, 2.0, atol=0.25)  # of first order
    assert errors[-1] < 0.02


def test_the_leak_is_integrated_exactly():
    """Without a recurrence and with a constant input, steps of any length are the solution."""
    for dt in (0.01, 0.5, 40.0):
        res = pe.ContinuousESN(units=5, rho=0.0, dt=dt, time_constant=0.7, leak=1.3)
        states, _ = res.run(np.full(8, 0.4))
        (layer,) = res.layers_
        times = dt * np.arange(1, 9)[:, None]
        level = np.tanh(0.4 * layer.w_in[:, 0]) / 1.3
        np.testing.assert_allclose(states, level * -np.expm1(-1.3 * times / 0.7), rtol=1e-12)


def test_euler_with_unit_leak_is_the_leaky_esn(rng):
    x = rng.normal(size=(50, 2))
    ours = pe.ContinuousESN(units=20, dt=0.3, method="euler", bias_scale=0.1)
    np.testing.assert_allclose(
        ours.run(x)[0], pe.ESN(units=20, tau=0.3, bias_scale=0.1).run(x)[0], atol=1e-14
    )


def test_the_network_stays_the_same_at_another_rate(rng):
    a, b = (pe.ContinuousESN(units=10, dt=dt).fit(np.zeros((2, 1))).layers_[0] for dt in (0.1, 0.2))
    np.testing.assert_array_equal(a.recurrent.matrix, b.recurrent.matrix)
    np.testing.assert_array_equal(a.w_in, b.w_in)
    x = rng.normal(size=20)  # the rate changes on the way: states are handed over as arrays
    slow, fast = pe.ContinuousESN(units=10, dt=0.2), pe.ContinuousESN(units=10, dt=0.1)
    _, state = slow.run(x)
    with pytest.raises(ValueError, match="state must come from this model"):
        fast.fit(x).run(x, state)
    h, (layer,) = np.array(state.layers[0]), fast.layers_
    kept = np.exp(-0.1)
    states, _ = fast.run(x, list(state.layers))
    for t, value in enumerate(x):
        inner = np.tanh(layer.recurrent.matrix @ h + layer.w_in[:, 0] * value)
        h = kept * h + (1 - kept) * inner
        np.testing.assert_allclose(states[t], h, atol=1e-13)


# -- as the other reservoirs -----------------------------------------------------------------------

MAKERS = {
    "es2n": lambda **more: pe.ES2N(units=24, proximity=0.2, **more),
    "euler": lambda **more: pe.ContinuousESN(units=24, dt=0.5, method="euler", **more),
    "exponential": lambda **more: pe.ContinuousESN(units=24, dt=0.5, leak=0.7, **more),
}


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_run_stream_step_and_save_agree(name, tmp_path, rng):
    x = rng.normal(size=(30, 2))
    res = MAKERS[name](layers=2, concat=True, n_jobs=2)
    expected, end = MAKERS[name](layers=2, concat=True, engine="reference").run(x)
    states, _ = res.run(x)
    np.testing.assert_allclose(states, expected, atol=1e-12)
    np.testing.assert_array_equal(np.vstack(list(res.stream(x, block=7))), states)
    state = None
    for t in range(30):
        z, state = res.step(x[t], state)
    np.testing.assert_array_equal(z, states[-1])
    pe.save(res, tmp_path / "model")
    np.testing.assert_array_equal(pe.load(tmp_path / "model").run(x, end)[0], res.run(x, end)[0])


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_sine_is_forecast_in_closed_loop(name):
    y = np.sin(np.arange(830) / 7)
    forecaster = pe.ReservoirForecaster(MAKERS[name](input_scale=0.3), strategy="closed-loop").fit(
        y[:800]
    )
    assert np.abs(forecaster.forecast(30) - y[800:]).max() < 0.05


@pytest.mark.parametrize(
    ("reservoir", "error", "message"),
    [
        (pe.ES2N(proximity=0.0), ValueError, r"proximity must be a finite number in \(0, 1\], got 0.0"),
        (pe.ES2N(proximity="a"), TypeError, "proximity must be a finite number"),
        (pe.ES2N(layers=2, inter={"proximity": 2}), ValueError, "inter proximity must be"),
        (pe.ES2N(layers=2, inter={"alpha": 2}), ValueError, "keys among proximity, rho, .* unknown 'alpha'"),
        (pe.ES2N(orthogonal="ring"), ValueError, "orthogonal must be one of"),
        (pe.ContinuousESN(dt=0), ValueError, r"dt must be a finite number in \(0, inf\), got 0"),
        (pe.ContinuousESN(time_constant=-1), ValueError, "time_constant must be"),
        (pe.ContinuousESN(leak=0.0), ValueError, "leak must be"),
        (pe.ContinuousESN(method="rk4"), ValueError, "method must be one of 'exponential', 'euler', got 'rk4'"),
        (pe.ContinuousESN(dt=2.0, method="euler"), ValueError, r"dt must be at most time_constant / leak \(1\) with method='euler'.*got 2.0"),
        (pe.ContinuousESN(dt=0.5, method="euler", layers=2, inter={"time_constant": 0.1}), ValueError, r"dt must be at most inter time_constant / leak \(0.1\)"),
    ],
)  # fmt: skip
def test_hyperparameters_are_checked(reservoir, error, message):
    with pytest.raises(error, match=message):
        reservoir.run(np.zeros((3, 1)))


def test_given_layers_know_nothing_of_a_step_length(rng):
    x = rng.normal(size=(10, 1))
    given = pe.ContinuousESN.from_layers(pe.ContinuousESN(units=5).fit(x).layers_)
    with pytest.raises(ValueError, match="dt must be left alone"):
        given.set_params(dt=0.2).fit(x)

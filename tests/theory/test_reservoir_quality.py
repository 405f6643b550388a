"""Memory capacity and kernel quality against closed forms."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.layers.operators import Dense, Identity
from paralesn.theory import kernel_quality, memory_capacity


def linear(matrix, w_in):
    n = len(matrix)
    zero = np.zeros(n), Identity(n, 0.0)
    return pe.ESN.from_layers(
        [pe.RecurrentLayer(Dense(matrix), np.reshape(w_in, (n, 1)), *zero, 1.0, True)]
    )


def shift_register(n):
    """States x_t, x_{t-1}, ..., x_{t-n+1}."""
    return linear(np.eye(n, k=-1), np.eye(n)[0])


# -- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 20])
def test_a_shift_register_recalls_exactly_its_length(n):
    found = memory_capacity(shift_register(n), delays=2 * n + 3)
    np.testing.assert_allclose(found.per_delay[:n], 1.0, atol=1e-9)
    assert found.per_delay[n:].max() < 0.01
    assert found.total == pytest.approx(n, abs=0.05)
    assert found.bound == n


@pytest.mark.parametrize("a", [0.0, 0.5, -0.9])
def test_a_single_leaky_unit_recalls_geometrically(a):
    # h_t = sum_k a^k x_{t-k}, so corr^2(x_{t-k}, h_t) = a^{2k} (1 - a^2).
    found = memory_capacity(linear([[a]], [1.0]), delays=40, steps=40_000)
    np.testing.assert_allclose(found.per_delay, a ** (2 * np.arange(40)) * (1 - a**2), atol=0.01)
    assert found.total == pytest.approx(1.0, abs=0.1)  # two standard errors


def test_a_distinct_spectrum_recalls_as_much_as_it_has_units():
    # Any controllable linear reservoir spans N delays' worth of the past: capacity N.
    found = memory_capacity(linear(np.diag([0.9, 0.5, -0.4, -0.8]), np.ones(4)), delays=60)
    assert found.total == pytest.approx(4.0, abs=0.15)


def test_equal_units_recall_no_more_than_one():
    found = memory_capacity(linear(0.8 * np.eye(6), np.ones(6)))
    assert found.total == pytest.approx(1.0, abs=0.05)
    assert found.bound == 6


def test_a_reservoir_without_input_recalls_nothing():
    found = memory_capacity(pe.ParalESN(units=5, input_scale=0.0, bias_scale=1.0), washout=2000)
    assert found.total < 0.05


@pytest.mark.parametrize(
    "reservoir",
    [
        pe.ParalESN(units=30, mixing=False),
        pe.ParalESN(units=30, layers=2, concat=True),
        pe.ESN(units=30, input_scale=0.1),
        pe.SCR(units=30, input_scale=0.1),
    ],
    ids=str,
)
def test_no_capacity_exceeds_the_number_of_columns(reservoir):
    found = memory_capacity(reservoir)
    columns = reservoir.fit(np.zeros((2, 1))).run(np.zeros(3))[0].shape[1]
    assert found.bound == columns
    assert 0.1 * columns < found.total <= columns + 0.1
    assert found.total == found.per_delay.sum()
    assert len(found.per_delay) == 2 * columns
    assert (found.per_delay >= 0).all()
    assert (found.per_delay <= 1 + 1e-12).all()


# -- kernels -------------------------------------------------------------------------------------


def test_a_shift_register_tells_inputs_apart_and_is_as_blurred_as_they_are():
    found = kernel_quality(shift_register(12), jitter=1e-6)
    assert (found.kernel_rank, found.generalisation_rank, found.streams) == (12, 1, 12)
    # its final states are the last inputs, reversed
    rng = np.random.default_rng(0)
    last = rng.uniform(-1, 1, (12, 200, 1))[:, :-13:-1, 0]
    values = np.linalg.svd(last, compute_uv=False)
    np.testing.assert_allclose(found.kernel_values, values / values[0], rtol=1e-12)


def test_equal_units_tell_nothing_apart_but_size():
    found = kernel_quality(linear(0.8 * np.eye(6), np.ones(6)))
    assert (found.kernel_rank, found.generalisation_rank) == (1, 1)


def test_equal_inputs_have_rank_one():
    assert kernel_quality(pe.ParalESN(units=20), jitter=0.0).generalisation_rank == 1


def test_a_chaotic_reservoir_takes_noise_for_signal():
    calm = kernel_quality(pe.ESN(units=40, rho=0.8, input_scale=0.5))
    wild = kernel_quality(pe.ESN(units=40, rho=5.0, input_scale=0.5))
    assert calm.generalisation_rank < 5 < 30 < wild.generalisation_rank
    assert wild.kernel_rank >= calm.kernel_rank


def test_streams_limit_the_rank():
    found = kernel_quality(shift_register(12), streams=7)
    assert (found.streams, found.kernel_rank) == (7, 7)


# -- both ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", [memory_capacity, kernel_quality])
def test_the_callers_reservoir_is_left_alone(measure):
    seed = np.random.default_rng(3)
    reservoir = pe.ParalESN(units=5, seed=seed)
    measure(reservoir)
    assert not hasattr(reservoir, "layers_")
    assert seed.bit_generator.state == np.random.default_rng(3).bit_generator.state
    fitted = pe.ParalESN(units=5, seed=None).fit(np.zeros((2, 1)))
    layers = fitted.layers_
    measure(fitted)
    assert fitted.layers_ is layers


def test_a_seed_fixes_the_numbers():
    reservoir = pe.ParalESN(units=10)
    first, again, other = (memory_capacity(reservoir, seed=s).per_delay for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("measure", [memory_capacity, kernel_quality])
def test_bad_input_is_named(measure):
    with pytest.raises(ValueError, match="reservoir must be one for 1 feature, got one for 3"):
        measure(pe.ParalESN(units=5).fit(np.zeros((2, 3))))
    with pytest.raises(TypeError, match="reservoir must be a reservoir"):
        measure("esn")
    with pytest.raises(ValueError, match="steps must be"):
        measure(pe.ParalESN(units=5), steps=0)
    name = "delays" if measure is memory_capacity else "streams"
    with pytest.raises(ValueError, match=f"{name} must be"):
        measure(pe.ParalESN(units=5), **{name: 0})


def test_kernel_arguments_are_named():
    for name, value in (("jitter", -1.0), ("tolerance", 0.0), ("tolerance", 1.0)):
        with pytest.raises(ValueError, match=f"{name} must be"):
            kernel_quality(pe.ParalESN(units=5), **{name: value})


def test_the_figure_shows_the_numbers(tmp_path):
    pytest.importorskip("matplotlib")
    found = memory_capacity(pe.ParalESN(units=10))
    figure = found.plot(tmp_path / "memory.png")
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), found.per_delay)
    assert f"{found.total:.1f}" in figure.axes[0].get_title()
    assert [path.name for path in tmp_path.iterdir()] == ["memory.png"]

"""Trainable models: two forms of the same thing agree, and each learns a task that can be solved."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from paralesn.baselines import causal_convolution, lru, s4, selective_scan, transformer  # noqa: E402
from paralesn.baselines.diagonal_scan import complex_scan, diagonal_scan  # noqa: E402
from paralesn.baselines.linear import linear  # noqa: E402
from paralesn.baselines.models import (  # noqa: E402
    MODELS,
    build,
    count_parameters,
)

SMALL = {
    "LSTM": {"hidden": 12},
    "Transformer": {"width": 8, "feedforward": 16, "layers": 1, "heads": 2},
    "S4": {"width": 6, "state": 8, "layers": 1, "steps": 16},
    "LRU": {"width": 6, "state": 8, "layers": 1},
    "Mamba": {"width": 8, "state": 4, "layers": 1},
}


@pytest.fixture(autouse=True)
def precise():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("LSTM", 151_690),
        ("Transformer", 188_650),
        ("S4", 144_874),
        ("LRU", 159_643),
        ("Mamba", 197_066),
    ],
)
def test_parameters(name, expected):
    assert count_parameters(build(name)) == expected


def test_hippo_is_diagonal_plus_low_rank():
    """The matrix whose eigenvalues are -1, -2, …, -N."""
    w, p, b = s4.hippo(8)
    w, p, b = (np.concatenate([part, part.conj()]) for part in (w, p, b))
    eigenvalues = np.linalg.eigvals(np.diag(w) - np.outer(p, p.conj()))
    np.testing.assert_allclose(np.sort(eigenvalues.real), -np.arange(8, 0, -1), atol=1e-8)
    np.testing.assert_allclose(eigenvalues.imag, 0, atol=1e-8)
    assert np.vdot(b, b).real == pytest.approx(np.sum(2 * np.arange(8) + 1))


@pytest.mark.parametrize("steps", [16, 31])
def test_s4_convolution_is_its_recurrence(steps):
    block = s4.Block(s4.Config(width=3, state=8, steps=steps))
    x = torch.randn(2, steps, 3)
    found = block.convolve(x)
    A, B, C = block.kernel.recurrence()
    h = torch.zeros(2, 3, 8, dtype=torch.complex128)
    for t in range(steps):
        h = torch.einsum("hmn,bhn->bhm", A, h) + B * x[:, t, :, None]
        y = (C * h).sum(-1) + block.skip * x[:, t]
        assert y.imag.abs().max() <= 1e-10
        assert (y.real - found[:, t]).abs().max() <= 1e-10
    assert (torch.linalg.eigvals(A).abs() < 1).all()


def test_lru_scan_is_its_loop():
    unit = lru.Unit(lru.Config(width=4, state=7))
    x = torch.randn(2, 40, 4, requires_grad=True)
    assert (unit(x) - unit.loop(x)).abs().max() <= 1e-12
    by_scan = torch.autograd.grad(unit(x).square().sum(), (x, *unit.parameters()))
    by_loop = torch.autograd.grad(unit.loop(x).square().sum(), (x, *unit.parameters()))
    for a, b in zip(by_scan, by_loop, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def scanned(series, steps, channels, states):
    x, delta = torch.randn(series, steps, channels), torch.rand(series, steps, channels)
    A, D = -torch.rand(channels, states), torch.randn(channels)
    B, C = torch.randn(series, steps, states), torch.randn(series, steps, states)
    return [part.requires_grad_() for part in (x, delta, A, B, C, D)]


@pytest.mark.parametrize("form", ["selective_scan", "chunked_scan"])
@pytest.mark.parametrize("sizes", [(2, 23, 3, 4), (3, 61, 17, 2), (1, 28, 32, 1), (2, 1, 5, 3)])
def test_forms_of_the_selective_scan_are_the_naive_loop(form, sizes, monkeypatch):
    """Steps in one stretch and in several, whole and not; channels that fill vectors and not."""
    monkeypatch.setattr(selective_scan, "_CHUNK", 7)
    parts = scanned(*sizes)
    found = getattr(selective_scan, form)(*parts)
    expected = selective_scan.naive_scan(*parts)
    assert (found - expected).abs().max() <= 1e-12
    slopes = torch.autograd.grad(found.sin().sum(), parts)
    others = torch.autograd.grad(expected.sin().sum(), parts)
    for a, b in zip(slopes, others, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_the_fused_scan_has_the_slopes_of_its_differences():
    assert torch.autograd.gradcheck(selective_scan.selective_scan, scanned(2, 9, 3, 2))


def test_the_fused_scan_does_not_depend_on_the_number_of_threads():
    x, delta, A, B, C, D = (part.detach().float() for part in scanned(9, 40, 20, 4))
    parts = [part.requires_grad_() for part in (x, delta, A, B, C, D)]
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        y = selective_scan.selective_scan(*parts)
        found.append([y, *torch.autograd.grad(y.sin().sum(), parts)])
    for one, two in zip(*found, strict=True):
        assert (one == two).all()


def test_the_fused_scan_reads_parts_of_larger_tensors():
    """The maps are slices of one product; what follows may hand back a slope that is expanded."""
    x, delta, A, B, C, D = (part.detach() for part in scanned(2, 20, 3, 4))
    both = torch.cat([B, C], -1).requires_grad_()
    slopes = [
        torch.autograd.grad(form(x, delta, A, *both.split(4, -1), D).sum(), both)[0]
        for form in (selective_scan.selective_scan, selective_scan.naive_scan)
    ]
    torch.testing.assert_close(*slopes)


@pytest.mark.parametrize("name", ["Transformer", "S4", "LRU", "Mamba"])
def test_the_last_step_alone_is_the_last_of_all(name):
    """The last layer computes only what the class head reads."""
    model = build(name, **SMALL[name])
    x = torch.randn(3, 16, 1)
    width = model.config.width
    if name == "Transformer":
        assert (model.states(x, last=True) - model.states(x)[:, -1:]).abs().max() <= 1e-12
        return
    block = model.mixers[-1] if name == "Mamba" else model.blocks[-1]
    z = torch.randn(3, 16, width)
    assert block(z, last=True).shape == (3, 1, width)
    assert (block(z, last=True) - block(z)[:, -1:]).abs().max() <= 1e-12


@pytest.mark.parametrize(("series", "bias"), [(20, True), (20, False), (3, True)])
def test_a_convolution_of_width_one_is_a_linear_map(series, bias):
    x, weight = torch.randn(series, 7, 5), torch.randn(4, 5)
    parts = [x, weight, *([torch.randn(4)] if bias else [])]
    parts = [part.requires_grad_() for part in parts]
    found, expected = linear(*parts), torch.nn.functional.linear(*parts)
    torch.testing.assert_close(found, expected)
    slopes = torch.autograd.grad(found.sin().sum(), parts)
    others = torch.autograd.grad(expected.sin().sum(), parts)
    for a, b in zip(slopes, others, strict=True):
        torch.testing.assert_close(a, b)


def test_the_fused_convolution_is_that_of_its_parts():
    x, weight, bias = torch.randn(2, 9, 5), torch.randn(5, 1, 4), torch.randn(5)
    parts = [part.requires_grad_() for part in (x, weight, bias)]
    torch.testing.assert_close(
        causal_convolution.convolved(*parts), causal_convolution.parts(*parts)
    )
    assert torch.autograd.gradcheck(causal_convolution.convolved, parts)


def test_the_diagonal_scan_has_the_slopes_of_its_differences():
    u, re, im = torch.randn(2, 8, 6), torch.rand(3), torch.rand(3)
    parts = [part.requires_grad_() for part in (u, re, im)]
    assert torch.autograd.gradcheck(diagonal_scan, parts)
    torch.testing.assert_close(diagonal_scan(*parts), complex_scan(*parts))


@pytest.mark.parametrize("causal", [False, True])
def test_the_transformer_sees_the_future_only_if_it_may(causal):
    model = transformer.Transformer(transformer.Config(width=8, heads=2, causal=causal))
    x = torch.randn(1, 12, 1)
    later = x.clone()
    later[:, 8:] += 1
    difference = (model.states(later) - model.states(x)).abs().amax((0, 2))
    assert (difference[8:] > 1e-6).all()
    assert (difference[:8] == 0).all() if causal else (difference[:8] > 1e-9).all()


def test_the_gates_of_an_lstm_begin_with_memories_up_to_the_length_of_series():
    model = build("LSTM", seed=0, hidden=2000, layers=2, steps=101)
    for layer in range(2):
        biases = [getattr(model.recurrent, f"bias_{kind}_l{layer}") for kind in ("ih", "hh")]
        gates = sum(biases).detach().numpy().reshape(4, -1)
        times = np.exp(gates[1])  # of forgetting: 1 / (1 - sigmoid(b)) is one more
        assert 1 <= times.min() < 2 < 98 < times.max() <= 100
        np.testing.assert_allclose(gates[0], -gates[1])
        assert np.abs(gates[2:]).max() < 2 * 2000**-0.5  # the others as PyTorch draws them


@pytest.mark.parametrize("name", ["LSTM", "S4", "LRU", "Mamba"])
def test_recurrent_models_read_the_whole_series(name):
    model = build(name, classes=2, **SMALL[name])
    x = torch.randn(2, 16, 1)
    first = x.clone()
    first[:, 0] += 5
    assert (model(first) - model(x)).abs().max() > 1e-9
    assert model(x).shape == (2, 2)


@pytest.mark.parametrize("name", MODELS)
def test_each_learns_which_half_is_louder(name):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 128)
    x = rng.normal(size=(128, 16, 1)) * 0.3
    x[y == 1, :8] += 1
    x[y == 0, 8:] += 1
    x, y = torch.tensor(x), torch.tensor(y)
    model = build(name, classes=2, **SMALL[name])
    adam = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(40):
        adam.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        adam.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.25 * losses[0]


def test_seeds_fix_the_first_weights_and_leave_the_world_alone():
    before = torch.get_rng_state()
    one, same, other = build("LRU", 1), build("LRU", 1), build("LRU", 2)
    assert (torch.get_rng_state() == before).all()
    assert (one.encoder.weight == same.encoder.weight).all()
    assert (one.encoder.weight != other.encoder.weight).any()


def test_radii_and_names():
    radius = (
        build("LRU", rho_min=0.5, rho_max=0.9, theta_max=0.1).blocks[0].unit.eigenvalues().abs()
    )
    assert 0.49 < radius.min() < radius.max() < 0.91
    with pytest.raises(ValueError, match="model must be one of LSTM, "):
        build("GRU")

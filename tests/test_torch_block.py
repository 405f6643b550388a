"""The reservoir as a module: parity, learning, what modules must bear."""

import copy
import io

import numpy as np
import pytest

import paralesn as pe

torch = pytest.importorskip("torch")

from paralesn.torch import ParalESNBlock  # noqa: E402

LIVELY = {"bias_scale": 0.5, "mix_scale": 1.0, "mix_bias_scale": 0.3, "tau": 0.8}


pytestmark = pytest.mark.usefixtures("one_torch_thread")


def small(**options):
    return ParalESNBlock(pe.ParalESN(units=6, layers=2, **LIVELY), features=2, **options)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("concat", [False, True])
@pytest.mark.parametrize("mixing", [False, True])
@pytest.mark.parametrize("trainable", [False, True])
def test_equals_the_reference_and_back(layers, real, concat, mixing, trainable, rng):
    X = rng.normal(size=(3, 40, 2))
    hyper = {"layers": layers, "real": real, "concat": concat, "mixing": mixing, "mix_size": 4}
    res = pe.ParalESN(units=20, engine="reference", **hyper, **LIVELY)
    expected, middle = res.run(X)
    again, _ = res.run(X, middle)
    for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 1e-4)):
        block = ParalESNBlock(res, trainable=trainable, dtype=dtype)
        x = torch.tensor(X, dtype=dtype)
        z, state = block(x, return_state=True)
        assert np.abs(z.detach().numpy() - expected).max() <= tolerance
        assert np.abs(block(x, state).detach().numpy() - again).max() <= tolerance
        alone = block(x[0], [h[0] for h in state])
        assert np.abs(alone.detach().numpy() - again[0]).max() <= tolerance
        assert np.abs(block.to_reservoir().run(X)[0] - expected).max() <= tolerance
        assert bool(list(block.parameters())) is trainable


def test_gradients_of_parameters_are_those_of_differences():
    block = small(trainable=True, dtype=torch.float64)
    x = torch.randn(2, 18, 2, dtype=torch.float64, requires_grad=True)
    names, values = zip(*block.named_parameters(), strict=True)

    def states(x, *values):
        return torch.func.functional_call(block, dict(zip(names, values, strict=True)), (x,))

    assert torch.autograd.gradcheck(states, (x, *values), fast_mode=True)
    short = x[:, :3].detach().requires_grad_()
    assert torch.autograd.gradgradcheck(states, (short, *values), fast_mode=True)


def test_only_what_was_asked_for_is_learnt():
    block = small(trainable=["mixing"])
    assert {name.split(".")[-1] for name, _ in block.named_parameters()} == {"taps", "mix_bias"}
    with pytest.raises(ValueError, match="trainable must be one of 'eigenvalues', 'inputs'"):
        small(trainable=["kernel"])


def test_it_learns_a_filter():
    """The task is another block of the same shape, so the loss can reach zero."""
    torch.manual_seed(0)
    x = torch.randn(8, 30, 1)
    teacher = ParalESNBlock(pe.ParalESN(units=4, rho=(0.3, 0.9), mix_scale=1.0, seed=3))
    with torch.no_grad():
        target = teacher(x)
    block = ParalESNBlock(pe.ParalESN(units=4, rho=(0.3, 0.9), mix_scale=1.0), trainable=True)
    adam = torch.optim.Adam(block.parameters(), lr=0.02)
    losses = []
    for _ in range(120):
        adam.zero_grad()
        loss = (block(x) - target).square().mean()
        loss.backward()
        adam.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 10


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("value", [-1e4, -30.0, 0.0, 1e4])
def test_eigenvalues_stay_inside_the_unit_circle_whatever_is_learnt(dtype, value):
    block = ParalESNBlock(pe.ParalESN(units=500), trainable=True, dtype=dtype)
    layer = block.layers[0]
    with torch.no_grad():
        layer.log_decay.fill_(value)
        layer.turn.uniform_(-100, 100)
        assert (layer().eigenvalues.abs() < 1).all()
    pe.theory.echo_state_property(block.to_reservoir())


def test_state_dict_and_copies():
    x = torch.randn(2, 10, 2)
    block = small()
    file = io.BytesIO()
    torch.save(block.state_dict(), file)
    file.seek(0)
    other = ParalESNBlock(
        pe.ParalESN(units=6, layers=2, seed=5, **LIVELY), features=2, trainable=True
    )
    assert (other(x) != block(x)).any()
    other.load_state_dict(torch.load(file))
    np.testing.assert_allclose(other(x).detach(), block(x), atol=1e-6)
    np.testing.assert_array_equal(copy.deepcopy(block)(x), block(x))


def test_precision():
    x = torch.randn(2, 50, 2)
    block = small(trainable=True)
    z = block(x)
    for half, tolerance in ((torch.float16, 1e-3), (torch.bfloat16, 1e-2)):
        found = block(x.to(half))
        assert found.dtype == half
        assert (found.float() - z).abs().max() <= tolerance
        found.float().sum().backward()
        with torch.autocast("cpu", dtype=half):
            assert (block(x) == z).all()
    assert block.half()(x.half()).dtype == torch.float16
    assert block.layers[0].log_decay.dtype == torch.float32
    double = block.to(torch.float64)
    assert (double(x.double()) - z).abs().max() <= 1e-5
    with pytest.raises(TypeError, match=r"x must be torch.float64 as the block"):
        double(x)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_export_and_compile():
    block = ParalESNBlock(pe.ParalESN(units=3, layers=2, **LIVELY), features=2, trainable=True)
    x, more = torch.randn(4, 20, 2), torch.randn(7, 20, 2)
    batch = torch.export.Dim("batch")
    exported = torch.export.export(block, (x,), dynamic_shapes=({0: batch},))
    np.testing.assert_allclose(exported.module()(more).detach(), block(more).detach(), atol=1e-6)
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    np.testing.assert_allclose(compiled(x).detach(), block(x).detach(), atol=1e-6)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_on_cuda():
    x = torch.randn(3, 100, 2)
    block = small(trainable=True)
    expected = block(x)
    found = block.to("cuda")(x.to("cuda"))
    assert found.device.type == "cuda"
    assert (found.cpu() - expected).abs().max() <= 1e-4


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(2, 5, 3), r"x must be \(batch, time, 2\)"),
        (torch.zeros(5), r"x must be \(batch, time, 2\)"),
        (torch.zeros(2, 0, 2), r"x must be \(batch, time, 2\)"),
    ],
)
def test_wrong_inputs(x, message):
    with pytest.raises(ValueError, match=message):
        small()(x)
    with pytest.raises(ValueError, match="state of layer 1 must be"):
        small()(torch.zeros(2, 5, 2), [torch.zeros(3, 6), torch.zeros(3, 6)])

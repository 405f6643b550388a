"""The engine of PyTorch: the reference's numbers, tensors in and out, gradients, bounded memory."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paralesn as pe
from paralesn.estimators.state_forecaster.forecaster import StateForecaster

torch = pytest.importorskip("torch")

from paralesn.engines.torch import advance, scan  # noqa: E402

LIVELY = {"bias_scale": 0.5, "mix_scale": 1.0, "mix_bias_scale": 0.3, "tau": 0.8}
POOLS = ("mean", "std", "max", "min", "ppv", "last")
DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
    ),
]


pytestmark = pytest.mark.usefixtures("one_torch_thread")


def as_list(states):
    return states if isinstance(states, (list, tuple)) else [states]


def array(z):
    return z.detach().cpu().numpy() if isinstance(z, torch.Tensor) else z


def largest(found, expected):
    pairs = zip(as_list(found), as_list(expected), strict=True)
    return max(np.abs(array(a) - b).max(initial=0) for a, b in pairs)


def as_tensors(X, **options):
    if isinstance(X, list):
        return [torch.tensor(x, **options) for x in X]
    return torch.tensor(X, **options)


hypers = st.fixed_dictionaries(
    {
        "units": st.sampled_from([1, 2, 7, 20]),
        "mix_size": st.sampled_from([1, 2, 3, 6, 63]),
        "layers": st.integers(1, 3),
        "concat": st.booleans(),
        "real": st.booleans(),
        "mixing": st.booleans(),
        "seed": st.integers(0, 1000),
    }
).filter(lambda hyper: hyper["units"] >= hyper["layers"])


@settings(max_examples=40)
@given(
    hyper=hypers,
    features=st.integers(1, 4),
    lengths=st.lists(st.sampled_from([1, 3, 16, 17, 18, 40, 150]), min_size=1, max_size=4),
    kind=st.sampled_from(["ragged", "batch", "single"]),
    dtype=st.sampled_from(["float64", "float32"]),
    gradients=st.booleans(),
    entries=st.sampled_from([1, 100, 1 << 19]),
)
def test_equals_the_reference(hyper, features, lengths, kind, dtype, gradients, entries):
    rng = np.random.default_rng(hyper["seed"])
    X = [rng.normal(size=(steps, features)) for steps in lengths]
    if kind != "ragged":
        X = rng.normal(size=(*[len(lengths)] * (kind == "batch"), lengths[0], features))
    reference = pe.ParalESN(engine="reference", **hyper, **LIVELY)
    expected, middle = reference.run(X)
    again, end = reference.run(X, middle)
    res = pe.ParalESN(engine="torch", dtype=dtype, **hyper, **LIVELY)
    tolerance = 1e-10 if dtype == "float64" else 1e-4
    before = dict(advance._ENTRIES)
    advance._ENTRIES["cpu"] = entries  # blocks and portions of any size
    try:
        for data in (X, as_tensors(X, requires_grad=gradients)):
            states, state = res.run(data)
            assert largest(states, expected) <= tolerance
            states, state = res.run(data, state)
            assert largest(states, again) <= tolerance
            assert largest(state.layers, end.layers) <= tolerance
            last, state = res.last(data, middle, return_state=True)
            assert largest(last, reference.last(X, middle)) <= tolerance
            assert largest(state.layers, end.layers) <= tolerance
            pooled = reference.pool(X, POOLS, state=middle)
            assert np.abs(array(res.pool(data, POOLS, state=middle)) - pooled).max() <= tolerance
    finally:
        advance._ENTRIES.update(before)


@pytest.mark.parametrize("device", DEVICES)
def test_tensors_stay_on_their_device(device, rng):
    x = torch.tensor(rng.normal(size=(2, 50, 3)), device=device)
    res = pe.ParalESN(units=9, layers=2, engine="torch", **LIVELY)
    states, state = res.run(x)
    assert states.device == x.device == state.layers[0].device
    expected = pe.ParalESN(units=9, layers=2, **LIVELY).run(x.cpu().numpy())[0]
    assert largest(states, expected) <= 1e-10
    there = pe.ParalESN(units=9, layers=2, engine="torch", device=device, **LIVELY)
    assert largest(there.run(x.cpu().numpy())[0], expected) <= 1e-10
    assert largest(there.run(x)[0], expected) <= 1e-10


@pytest.mark.parametrize("kind", ["array", "tensor"])
def test_streams_and_steps(kind, rng):
    X = rng.normal(size=(2, 30, 2))
    expected = pe.ParalESN(units=9, layers=2, **LIVELY).run(X)[0]
    res = pe.ParalESN(units=9, layers=2, engine="torch", **LIVELY)
    data = X if kind == "array" else torch.tensor(X)
    blocks = list(res.stream(data, block=7))
    assert largest(np.concatenate([array(z) for z in blocks], axis=1), expected) <= 1e-12
    pieces = res.stream(iter([data[:, :11], data[:, 11:]]), block=5)
    assert largest(np.concatenate([array(z) for z in pieces], axis=1), expected) <= 1e-12
    state = None
    for t in range(30):
        z, state = res.step(data[:, t], state)
        assert isinstance(z, type(data))
        assert largest(z, expected[:, t]) <= 1e-12
    assert largest(res.step(data[0, 0])[0], expected[0, 0]) <= 1e-12
    ragged = [data[0], data[1, :4]]
    parts = list(res.stream(ragged, block=6))
    assert largest(np.concatenate([array(part[1]) for part in parts]), expected[1, :4]) <= 1e-12


@pytest.mark.parametrize(
    "make",
    [
        lambda **k: pe.ESN(units=12, layers=2, concat=True, bias_scale=0.3, tau=0.5, **k),
        lambda **k: pe.ESN(units=12, density=0.3, linear=True, **k),
        lambda **k: pe.ResESN(units=12, **k),
        lambda **k: pe.SCR(units=12, layers=2, **k),
        lambda **k: pe.StructuredRC(units=12, **k),
    ],
)
def test_other_reservoirs(make, rng):
    X = [rng.normal(size=(n, 2)) for n in (30, 1, 25)]
    expected, state = make(engine="reference").run(X)
    states, after = make(engine="torch").run(X)
    assert largest(states, expected) <= 1e-12
    assert largest(after.layers, state.layers) <= 1e-12


@pytest.mark.parametrize("real", [False, True])
def test_gradients_of_the_input_are_those_of_differences(real, rng):
    res = pe.ParalESN(units=5, layers=2, real=real, mix_size=4, engine="torch", **LIVELY)
    x = torch.tensor(rng.normal(size=(2, 20, 2)), requires_grad=True)
    start = [h.requires_grad_() for h in res.run(x.detach())[1].layers]
    assert torch.autograd.gradcheck(lambda x, *h: res.run(x, h)[0], (x, *start), fast_mode=True)
    assert torch.autograd.gradcheck(lambda x: res.last(x), (x,), fast_mode=True)
    pools = ("mean", "std", "max")
    assert torch.autograd.gradcheck(lambda x: res.pool(x, pools, 2), (x,), fast_mode=True)
    ragged = [x[0], x[1, :13]]
    assert res.run(ragged)[1].layers[0].requires_grad

    def second(x):
        return res.run([x[0], x[1, :13]])[0][1]

    assert torch.autograd.gradcheck(second, (x,), fast_mode=True)


@pytest.mark.parametrize("steps", [1, 24, 25, 64, 135, 1000, 2047, 2048, 5003, 16_384, 20_011])
@pytest.mark.parametrize("dtype", [torch.complex128, torch.float64])
def test_the_scan_is_the_loop(steps, dtype):
    torch.manual_seed(0)
    factor = torch.rand(6, dtype=dtype) / 1.5
    u, h = torch.randn(3, steps, 6, dtype=dtype), torch.randn(3, 6, dtype=dtype)
    expected, before = [], h
    for t in range(steps):
        h = factor * h + u[:, t]
        expected.append(h)
    expected = torch.stack(expected, 1)
    assert (scan.final(factor, u, before) - h).abs().max() <= 1e-13
    wide = torch.randn(3, steps + 4, 6, dtype=dtype)
    wide[:, 2:-2] = u
    found = scan.scan_(factor, wide[:, 2:-2], before)  # a piece of a longer series
    assert (found - expected).abs().max() <= 1e-13
    inputs = (
        factor.requires_grad_(),
        u[:1, :40].clone().requires_grad_(),
        before[:1].requires_grad_(),
    )
    assert torch.autograd.gradcheck(scan.scan, inputs, fast_mode=True)


def test_the_input_is_left_alone_and_not_copied(rng):
    x = torch.tensor(rng.normal(size=(2, 300, 4)))
    kept = x.clone()
    res = pe.ParalESN(units=5, real=True, engine="torch")
    res.run(x)
    assert (x == kept).all()
    assert res.read(x).rows.data_ptr() == x.data_ptr()


def test_memory_is_bounded_by_blocks(monkeypatch, rng):
    """What a layer computes at once never exceeds the block, however long the series."""
    seen = []
    whole = scan.final

    def watched(factor, u, before):
        seen.append(u.numel())
        return whole(factor, u, before)

    monkeypatch.setattr("paralesn.engines.torch.packed_layers.final", watched)
    monkeypatch.setitem(advance._ENTRIES, "cpu", 1 << 12)
    res = pe.ParalESN(units=8, engine="torch")
    res.last(rng.normal(size=(100, 2000, 1)))
    assert max(seen) <= 1 << 12
    assert sum(seen) == 100 * 2000 * 8


def test_estimators_take_it(rng):
    y = np.sin(np.arange(400) / 9)
    expected = (
        StateForecaster(pe.ParalESN(units=30), difference=False, standardize=False)
        .fit(y)
        .forecast(20)
    )
    found = (
        StateForecaster(pe.ParalESN(units=30, engine="torch"), difference=False, standardize=False)
        .fit(y)
        .forecast(20)
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (torch.full((3, 2), float("nan")), "X must be finite, got NaN at step 0, feature 0"),
        (torch.zeros(3, 2, dtype=torch.complex64), "X must be real"),
        (torch.zeros(3, 5), "X has 5 features"),
        ([torch.zeros(3, 2), np.zeros((3, 2))], "got tensors and ndarray"),
        (torch.zeros(2, 3, 2, 2), "X must be"),
    ],
)
def test_wrong_tensors(X, message):
    res = pe.ParalESN(units=4, engine="torch").fit(np.zeros((1, 2)))
    with pytest.raises((ValueError, TypeError), match=message):
        res.run(X)


def test_wrong_devices_and_states():
    x = torch.zeros(3, 1)
    with pytest.raises(ValueError, match="device must be one that PyTorch can use, got 'nowhere'"):
        pe.ParalESN(engine="torch", device="nowhere").run(np.zeros(3))
    with pytest.raises(ValueError, match="device must be None with engine='cpu'"):
        pe.ParalESN(engine="cpu", device="cuda").run(np.zeros(3))
    with pytest.raises(ValueError, match="X must be on the device of the reservoir, meta, got cpu"):
        pe.ParalESN(engine="torch", device="meta").run(x)
    res = pe.ParalESN(units=4, engine="torch")
    _, state = pe.ParalESN(units=4, seed=1, engine="torch").run(x)
    with pytest.raises(ValueError, match="state must come from this model"):
        res.run(x, state)
    with pytest.raises(ValueError, match=r"state of layer 1 must have shape \(4,\)"):
        res.run(x, [torch.zeros(5)])
    with pytest.raises(ValueError, match="x must be one time step"):
        res.step(torch.zeros(2, 2, 1))


@pytest.mark.slow
def test_without_pytorch_the_error_says_what_to_install():
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'torch': raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import paralesn as pe\n"
        "try: pe.ParalESN(engine='torch').run([0.0])\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("pip install 'paralesn[torch]'")

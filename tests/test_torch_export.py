"""Blocks and fitted models in graphs of other tools: exported, compiled, written as ONNX."""

import json

import numpy as np
import pytest

import paralesn as pe

torch = pytest.importorskip("torch")

from paralesn.engines.torch import matrix_scan  # noqa: E402
from paralesn.torch import ParalESNBlock, export_onnx, to_module  # noqa: E402

LIVELY = {"bias_scale": 0.5, "mix_scale": 1.0, "mix_bias_scale": 0.3, "tau": 0.8}
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-11}
SIZES = [(1, 1), (1, 32), (4, 33), (3, 300), (2, 5000)]  # (3, 70) is exported

pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.fixture
def runtime():
    """Opens ONNX files."""
    for package in ("onnx", "onnxscript"):
        pytest.importorskip(package)
    runtime = pytest.importorskip("onnxruntime")

    def opened(path):
        return runtime.InferenceSession(path, providers=["CPUExecutionProvider"])

    return opened


def reservoir(**options):
    return pe.ParalESN(units=12, **{"engine": "reference", "rho": (0.5, 0.999)} | LIVELY | options)


def exported(module, x, *more, **named):
    batch, time = torch.export.Dim("batch"), torch.export.Dim("time")
    shapes = {"x": {0: batch, 1: time}} | {
        name: [{0: batch} for _ in value] if isinstance(value, list) else None
        for name, value in named.items()
    }
    return torch.export.export(module, (x, *more), named, dynamic_shapes=shapes).module()


# -- the scan as products of matrices ------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 31, 32, 33, 256, 2049])
@pytest.mark.parametrize("is_complex", [True, False])
def test_the_recurrence_is_that_of_a_loop(steps, is_complex, rng):
    radius = np.array([0.0, 1e-3, 0.5, 0.99, 1 - 1e-12])
    turns = rng.uniform(size=5) if is_complex else np.array([0.0, 0.5, 0.5, 0.0, 0.5])
    u = rng.normal(size=(5, 2, steps)) + (1j * rng.normal(size=(5, 2, steps)) if is_complex else 0)
    h = rng.normal(size=(5, 2)) + 0j
    eigenvalues = radius * np.exp(2j * np.pi * turns)
    expected = np.empty((5, 2, steps), complex)
    before = h
    for t in range(steps):
        h = eigenvalues[:, None] * h + u[..., t]
        expected[..., t] = h

    def planes(array):
        parts = (array.real, array.imag) if is_complex else (array.real,)
        return tuple(torch.tensor(np.array(part)) for part in parts)

    spectrum = matrix_scan.Spectrum(
        torch.tensor(np.log(np.maximum(radius, 1e-300))), torch.tensor(turns), is_complex
    )
    drive = tuple(matrix_scan.filled(plane, matrix_scan.RADICES[0]) for plane in planes(u))
    came = matrix_scan.scan(spectrum, drive, planes(before))
    for plane, wanted in zip(came, planes(expected), strict=True):
        assert (plane[..., :steps] - wanted).abs().max() <= 1e-11 * np.abs(expected).max()


def test_a_series_longer_than_all_chunks_of_a_level(rng):
    """So that the last level has several steps, too."""
    steps = 3 * int(np.prod(matrix_scan.RADICES)) + 7
    x = rng.normal(size=(1, steps, 1))
    res = pe.ParalESN(units=2, rho=(0.99999, 0.999999), **LIVELY)
    expected, state = res.run(x)
    block = ParalESNBlock(res, dtype=torch.float64)
    z, after = block.run_pairs(torch.tensor(x))
    assert np.abs(z.numpy() - expected).max() <= 1e-9
    pair = np.stack([state.layers[0].real, state.layers[0].imag], -1)
    assert np.abs(after[0].numpy() - pair).max() <= 1e-9 * np.abs(pair).max()


# -- torch.export, torch.compile, torch.func -----------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_exported_block_equals_the_reference_at_any_size(layers, real, dtype, rng):
    res = reservoir(layers=layers, real=real, concat=layers == 2, mixing=layers != 3)
    res.fit(np.zeros((1, 2)))
    block = ParalESNBlock(res, dtype=dtype, trainable=layers == 1)
    graph = exported(block, torch.zeros(3, 70, 2, dtype=dtype))
    for count, steps in SIZES:
        X = rng.normal(size=(count, steps, 2))
        z = graph(torch.tensor(X, dtype=dtype)).detach().numpy()
        expected = res.run(X)[0]
        assert np.abs(z - expected).max() <= TOLERANCE[dtype] * np.abs(expected).max()


@pytest.mark.slow
@pytest.mark.parametrize("real", [False, True])
def test_an_exported_block_goes_on_from_a_state(real, rng):
    res = reservoir(layers=2, real=real)
    X = rng.normal(size=(2, 90, 2))
    expected, end = res.run(X)
    block = ParalESNBlock(res, dtype=torch.float64)
    x = torch.zeros(3, 70, 2, dtype=torch.float64)
    _, state = block(x, return_state=True)
    graph = exported(block, x, state=list(state), return_state=True)
    x, state = torch.tensor(X), [torch.zeros_like(h[:2]) for h in state]
    pieces = []
    for first, stop in ((0, 1), (1, 50), (50, 90)):
        z, state = graph(x[:, first:stop], state=list(state), return_state=True)
        pieces.append(z)
    assert np.abs(torch.cat(pieces, 1).numpy() - expected).max() <= 1e-12
    for h, wanted in zip(state, end.layers, strict=True):
        assert np.abs(h.numpy() - wanted).max() <= 1e-11


@pytest.mark.slow
def test_a_saved_export_of_a_model_with_a_head(tmp_path, rng):
    torch.manual_seed(0)
    block = ParalESNBlock(reservoir(layers=2), features=2)
    model = torch.nn.Sequential(block, torch.nn.Linear(12, 1))
    x = torch.zeros(3, 70, 2)
    shapes = ({0: torch.export.Dim("batch"), 1: torch.export.Dim("time")},)
    torch.export.save(
        torch.export.export(model, (x,), dynamic_shapes=shapes), tmp_path / "model.pt2"
    )
    graph = torch.export.load(tmp_path / "model.pt2").module()
    x = torch.tensor(rng.normal(size=(5, 123, 2)), dtype=torch.float32)
    assert (graph(x) - model(x)).abs().max() <= 1e-5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the compiler's own
def test_compiled_with_gradients(rng):
    """The graph that compilers are given, and the one of its gradients, run operation by operation."""
    block = ParalESNBlock(reservoir(layers=2), features=2, trainable=True, dtype=torch.float64)
    compiled = torch.compile(block, fullgraph=True, dynamic=True, backend="aot_eager")
    for count, steps in ((2, 50), (3, 77)):
        x = torch.tensor(rng.normal(size=(count, steps, 2)))
        slopes = []
        for model in (block, compiled):
            block.zero_grad()
            z = model(x)
            z.square().sum().backward()
            slopes.append((z.detach(), *(p.grad.clone() for p in block.parameters())))
        for a, b in zip(*slopes, strict=True):
            assert (a - b).abs().max() <= 1e-10 * max(1.0, float(a.abs().max()))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the compiler's own
def test_compiled_by_inductor(rng):
    """One size and no gradients: compiling its C++ takes most of a minute."""
    block = ParalESNBlock(reservoir(), features=2, dtype=torch.float64)
    compiled = torch.compile(block, fullgraph=True, dynamic=True)
    x = torch.tensor(rng.normal(size=(2, 50, 2)))
    try:
        z = compiled(x)
    except torch._dynamo.exc.BackendCompilerFailed as error:
        pytest.skip(f"no compiler that inductor can use: {error}")
    assert (z - block(x)).abs().max() <= 1e-12


def test_transforms_of_torch_func():
    blocks = [
        ParalESNBlock(reservoir(seed=seed), features=2, trainable=True, dtype=torch.float64)
        for seed in range(3)
    ]
    x = torch.randn(4, 40, 2, dtype=torch.float64)
    parameters, buffers = torch.func.stack_module_state(blocks)

    def one(parameters, buffers, x):
        return torch.func.functional_call(blocks[0], (parameters, buffers), (x,))

    together = torch.vmap(one, in_dims=(0, 0, None))(parameters, buffers, x)
    for block, z in zip(blocks, together, strict=True):
        assert (z - block(x)).abs().max() <= 1e-11
    short = x[0, :5]
    slopes = torch.func.jacrev(blocks[0])(short)
    wanted = torch.autograd.functional.jacobian(blocks[0], short)
    assert (slopes - wanted).abs().max() <= 1e-11


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_what_torch_jit_would_get_wrong_is_refused():
    block = ParalESNBlock(reservoir(), features=2)
    with pytest.raises(NotImplementedError, match=r"use torch\.export\.export"):
        torch.jit.trace(block, torch.zeros(2, 10, 2))
    with pytest.raises(NotImplementedError, match=r"use torch\.compile or"):
        torch.jit.script(block)


# -- ONNX ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layers", "real", "dtype"),
    [(1, False, torch.float32), (3, False, torch.float64), (2, True, torch.float64)],
)
def test_a_file_equals_the_reference_and_goes_on(layers, real, dtype, runtime, tmp_path, rng):
    res = reservoir(layers=layers, real=real, concat=layers == 2)
    res.fit(np.zeros((1, 2)))
    block = ParalESNBlock(res, dtype=dtype)
    written = export_onnx(block, tmp_path / "block.onnx", state=True)
    assert written.path == tmp_path / "block.onnx"
    assert written.difference <= TOLERANCE[dtype]
    session = runtime(written.path)
    assert tuple(i.name for i in session.get_inputs()) == written.inputs
    assert tuple(o.name for o in session.get_outputs()) == written.outputs
    kind = str(dtype).rpartition(".")[2]
    for count, steps in SIZES:
        X = rng.normal(size=(count, steps, 2))
        expected, end = res.run(X)
        state = [np.zeros((count, *shape), kind) for shape in block.state_shapes]
        pieces = []
        for piece in np.array_split(X, min(steps, 2), axis=1):
            feed = dict(zip(written.inputs, (piece.astype(kind), *state), strict=True))
            z, *state = session.run(None, feed)
            pieces.append(z)
        limit = TOLERANCE[dtype] * max(1.0, np.abs(expected).max())
        assert np.abs(np.concatenate(pieces, 1) - expected).max() <= limit
        for h, wanted in zip(state, end.layers, strict=True):
            whole = h if real else h[..., 0] + 1j * h[..., 1]
            assert np.abs(whole - wanted).max() <= TOLERANCE[dtype] * max(1, np.abs(wanted).max())


@pytest.mark.slow
@pytest.mark.parametrize("state", [False, True])
def test_a_file_of_a_model_with_a_head(state, runtime, tmp_path, rng):
    torch.manual_seed(0)
    block = ParalESNBlock(reservoir(), features=2, trainable=True)
    model = torch.nn.Sequential(block, torch.nn.Dropout(0.9), torch.nn.Linear(12, 3))
    written = export_onnx(model, tmp_path / "model.onnx", state=state)
    assert model.training  # as it was
    assert model[1].training
    x = rng.normal(size=(2, 47, 2)).astype("float32")
    feed = {"x": x} | ({"state_1": np.zeros((2, 12, 2), "float32")} if state else {})
    with torch.no_grad():
        wanted = model.eval()(torch.tensor(x)).numpy()
    y = runtime(written.path).run(["y"], feed)[0]
    assert np.abs(y - wanted).max() <= 1e-5


@pytest.fixture
def labelled(rng):
    t = np.arange(90)
    y = np.array(["up", "down", "flat"])[np.arange(45) % 3]
    speed = {"up": 0.25, "down": 0.35, "flat": 0.5}
    X = np.array([[np.sin(speed[label] * t + c) for c in (0, 1)] for label in y]).transpose(0, 2, 1)
    return X + 0.3 * rng.normal(size=X.shape), y


@pytest.mark.slow
@pytest.mark.parametrize("flat", [True, False])
def test_a_regressor_as_a_file(flat, runtime, tmp_path, rng):
    X = rng.uniform(size=(4, 200, 2))
    target = np.roll(X[..., 0], 2, 1) * X[..., 1]
    model = pe.ReservoirRegressor(pe.ParalESN(units=20, layers=2)).fit(
        X, target if flat else np.stack([target, X[..., 0]], -1)
    )
    module = to_module(model)
    new = rng.uniform(size=(3, 77, 2))
    assert np.abs(module(torch.tensor(new)).numpy() - model.predict(new)).max() <= 1e-9
    written = export_onnx(model, tmp_path / "model.onnx", state=True)
    session = runtime(written.path)
    state = [np.zeros((3, *shape)) for shape in module.state_shapes]
    pieces = []
    for piece in (new[:, :30], new[:, 30:]):
        feed = dict(zip(written.inputs, (piece, *state), strict=True))
        y, *state = session.run(None, feed)
        pieces.append(y)
    assert np.abs(np.concatenate(pieces, 1) - model.predict(new)).max() <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "features",
    [
        pe.FilterBank(units=128),
        pe.FilterBank(units=64, normalize=False, thresholds=3),
        pe.PooledStates(
            pe.ParalESN(units=10), pool=("mean", "std", "max", "min", "ppv", "last"), segments=3
        ),
    ],
    ids=["filter bank", "unnormalised", "pooled"],
)
def test_a_classifier_as_a_file(features, n_classes, runtime, tmp_path, labelled):
    X, y = labelled
    y = y if n_classes == 3 else y == "up"
    model = pe.ReservoirClassifier(features).fit(X[:30], y[:30])
    written = export_onnx(model, tmp_path / "model.onnx")
    session = runtime(written.path)
    classes = np.array(json.loads(session.get_modelmeta().custom_metadata_map["classes"]))
    assert (classes == model.classes_).all()
    counts = isinstance(features, pe.FilterBank)
    for new in (X[30:], X[30:, :61], X[:1]):
        given = new.astype("float32" if counts else "float64")
        label, decision, *probabilities = session.run(None, {"x": given})
        expected = model.decision_function(new)
        limit = 0.02 if counts else 1e-9  # a response may lie on a threshold
        assert np.abs(decision - expected).max() <= limit
        sure = np.abs(expected) if n_classes == 2 else -np.diff(np.sort(-expected, 1)[:, :2])[:, 0]
        same = classes[label] == model.predict(new)
        assert same[np.abs(sure) > 2 * limit].all()
        if probabilities:
            assert np.abs(probabilities[0] - model.predict_proba(new)).max() <= 2 * limit


def test_features_of_a_filter_bank_are_those_of_the_kernels(labelled):
    X, _ = labelled
    for bank in (pe.FilterBank(units=128), pe.FilterBank(units=64, normalize=False)):
        expected = bank.fit(X[:30]).transform(X[30:])
        came = to_module(bank)(torch.tensor(X[30:])).numpy()
        assert np.abs(came - expected).max() <= 1e-4
        # Thresholds are responses to training series: rounding decides on which side those lie.
        again = to_module(bank)(torch.tensor(X[:30])).numpy()
        assert (np.abs(again - bank.transform(X[:30])) > 1e-3).mean() < 0.02
    flat = np.zeros((2, 50, 2))
    bank = pe.FilterBank(units=64).fit(X)
    assert np.abs(to_module(bank)(torch.tensor(flat)).numpy() - bank.transform(flat)).max() < 1e-3


def test_scikit_learns_linear_readouts(labelled):
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.neighbors import KNeighborsClassifier

    X, y = labelled
    pooled = pe.PooledStates(pe.ParalESN(units=10))
    for readout in (LogisticRegression(), RidgeClassifier()):
        for labels in (y, y == "up"):
            model = pe.ReservoirClassifier(pooled, readout).fit(X, labels)
            label, decision = to_module(model)(torch.tensor(X))[:2]
            assert np.abs(decision.numpy() - model.decision_function(X)).max() <= 1e-9
            assert (model.classes_[label.numpy()] == model.predict(X)).all()
    with pytest.raises(ValueError, match="whose readout is linear"):
        to_module(pe.ReservoirClassifier(pooled, KNeighborsClassifier()).fit(X, y))


def test_numbers_of_whole_series(labelled):
    if not hasattr(pe, "ReservoirSeriesRegressor"):
        pytest.skip("this version has no ReservoirSeriesRegressor")
    X, _ = labelled
    for targets in (X[:, -1, 0] + 5, 100 * X[:, -1]):
        model = pe.ReservoirSeriesRegressor(pe.PooledStates(pe.ParalESN(units=10)))
        model.fit(X, targets)
        came = to_module(model)(torch.tensor(X)).numpy()
        assert np.abs(came - model.predict(X)).max() <= 1e-7


# -- what cannot be had --------------------------------------------------------------------------


def test_refusals(runtime, tmp_path, rng):
    X = rng.normal(size=(2, 200, 2))
    esn = pe.ReservoirRegressor(pe.ESN(units=10)).fit(X, X[..., 0])
    block = ParalESNBlock(reservoir(), features=2)
    path = tmp_path / "model.onnx"
    path.write_text("as it was")
    for model, options, error, message in (
        (esn, {}, ValueError, "whose reservoir is a ParalESN"),
        (pe.ReservoirRegressor(), {}, Exception, "not fitted yet"),
        (pe.ReservoirForecaster().fit(X[0, :, 0]), {}, TypeError, "model must be a fitted"),
        ("model", {}, TypeError, "model must be a fitted"),
        (torch.nn.Linear(2, 1), {}, ValueError, "a module with a ParalESNBlock"),
        (torch.nn.Sequential(torch.nn.Tanh(), block), {"state": True}, ValueError, "state must be"),
        (block, {"state": 1}, TypeError, "state must be"),
        (block, {"dtype": torch.float64}, ValueError, "convert the module itself"),
        (block, {"tolerance": -1}, ValueError, "tolerance must be"),
        (block, {"tolerance": 0}, ArithmeticError, "nothing was written"),
    ):
        with pytest.raises(error, match=message):
            export_onnx(model, path, **options)
    assert path.read_text() == "as it was"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.onnx"]
    with pytest.raises(ValueError, match="path must be the name of a file"):
        export_onnx(block, tmp_path)


def test_the_extra_is_named(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'paralesn\[onnx\]'"):
        export_onnx(ParalESNBlock(), tmp_path / "model.onnx")

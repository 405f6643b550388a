"""Saved models: the same to the last bit elsewhere, and no file can do harm."""

import json
import os
import subprocess
import sys
from dataclasses import make_dataclass

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

import paralesn as pe
from paralesn.persistence import load_metadata, model_file

X = np.random.default_rng(3).normal(size=(300, 2))
Y = np.roll(X, 1, axis=0)


def models():
    fitted = pe.ParalESN(units=20, layers=2, inter={"tau": 0.5}, seed=4).fit(X)
    yield "reservoir", fitted
    yield "unfitted", pe.ParalESN(units=7, rho=(0.1, 0.2), seed=None)
    yield "real", pe.ParalESN(units=20, real=True, dtype="float32").fit(X)
    yield "given", pe.ParalESN.from_layers(fitted.layers_, mixing=False)
    yield "generator", pe.ParalESN(seed=np.random.default_rng(1)).fit(X)
    yield "named", pe.ParalESN(units=5).fit(pd.DataFrame(X, columns=["a", "b"]))
    yield "ridge", pe.Ridge((0, 0.5, 3), per_target=True).fit(X, Y)
    yield "ridge flat", pe.Ridge().fit(X, Y[:, 0])
    yield "ridge omit", pe.Ridge(nan_targets="omit").fit(X, np.where(Y > 2, np.nan, Y))
    yield (
        "regressor",
        pe.ReservoirRegressor(pe.ParalESN(units=30), washout=10, standardize=False).fit(X, Y),
    )
    yield "default regressor", pe.ReservoirRegressor().fit(X, Y[:, 0])
    yield "state", fitted.run(X)[1]


MODELS = dict(models())


def output(model):
    if isinstance(model, pe.State):
        return np.concatenate([h.ravel() for h in model.layers])
    if hasattr(model, "predict"):
        return model.predict(X)
    return model.run(X)[0] if hasattr(model, "layers_") else np.array(str(model.get_params()))


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_the_saved_one(name, tmp_path):
    model, path = MODELS[name], tmp_path / "model.with.dots"
    pe.save(model, path)
    assert os.listdir(tmp_path) == ["model.with.dots"]
    again = pe.load(path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(output(again), output(model))
    if hasattr(model, "get_params"):
        assert str(again.get_params()).split("0x")[0] == str(model.get_params()).split("0x")[0]
    if hasattr(model, "feature_names_in_"):
        np.testing.assert_array_equal(again.feature_names_in_, model.feature_names_in_)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reservoir", "real", "regressor"])
def test_another_process_gets_the_same_bits(name, tmp_path):
    pe.save(MODELS[name], tmp_path / "model")
    np.save(tmp_path / "x.npy", X)
    call = "predict(x)" if name == "regressor" else "run(x)[0]"
    program = f"import numpy as np, paralesn as pe; x = np.load('x.npy'); np.save('z.npy', pe.load('model').{call})"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), output(MODELS[name]))


def test_another_model_than_the_expected_is_an_error(tmp_path):
    pe.save(pe.Ridge(), tmp_path / "model")
    assert isinstance(pe.load(tmp_path / "model", pe.Ridge), pe.Ridge)
    with pytest.raises(
        ValueError, match=r"model cannot be loaded: it holds a Ridge, expected a MLP"
    ):
        pe.load(tmp_path / "model", pe.MLP)
    with pytest.raises(TypeError, match="expect must be a class, got 'Ridge'"):
        pe.load(tmp_path / "model", "Ridge")


def test_a_loaded_model_goes_on_learning(tmp_path):
    half = pe.Ridge().fit(X[:100], Y[:100])
    pe.save(half, tmp_path / "half")
    whole = pe.load(tmp_path / "half").partial_fit(X[100:], Y[100:])
    np.testing.assert_allclose(whole.coef_, pe.Ridge().fit(X, Y).coef_, rtol=1e-10, atol=1e-14)
    res = MODELS["reservoir"]
    _, state = res.run(X[:100])
    pe.save(res, tmp_path / "res")
    pe.save(state, tmp_path / "state")
    rest, _ = pe.load(tmp_path / "res").run(X[100:], pe.load(tmp_path / "state"))
    np.testing.assert_array_equal(rest, res.run(X)[0][100:])


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model"
    pe.save(MODELS["ridge"], path)
    before = path.read_bytes()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        pe.save(MODELS["reservoir"], path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_what_is_not_ours_cannot_be_saved(tmp_path):
    for model in (KMeans(), "model", None, pe.ParalESN):
        with pytest.raises(TypeError, match="model must be one of"):
            pe.save(model, tmp_path / "model")
    foreign = pe.ReservoirRegressor(
        pe.ParalESN(units=5), KNeighborsRegressor(), standardize=False
    ).fit(X, Y)
    with pytest.raises(TypeError, match="holds a KNeighborsRegressor, which cannot be saved"):
        pe.save(foreign, tmp_path / "model")
    assert os.listdir(tmp_path) == []
    with pytest.raises(OSError, match="nowhere"):
        pe.save(MODELS["ridge"], tmp_path / "nowhere" / "model")


def test_damaged_files_are_refused(tmp_path):
    """Truncated anywhere, or any byte changed: one kind of error, and never a wrong model."""
    path = tmp_path / "model"
    pe.save(MODELS["ridge flat"], path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for cut in [*range(40), *rng.integers(0, len(good), 60)]:
        path.write_bytes(good[:cut])
        with pytest.raises(ValueError, match="model"):
            pe.load(path)
    for place in [*range(60), *rng.integers(0, len(good), 300)]:
        bad = bytearray(good)
        bad[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bad)
        with pytest.raises(ValueError, match="model"):
            pe.load(path)


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"\x80\x04\x95", b"\xff" * 100, os.urandom(500)]
)
def test_foreign_files_are_refused(content, tmp_path):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ValueError, match=r"is not a model file of paralesn|cannot be loaded"):
        pe.load(tmp_path / "model")
    write = write_tensors({"a": np.zeros(3)})
    (tmp_path / "model").write_bytes(write)
    with pytest.raises(ValueError, match="is not a model file of paralesn"):
        pe.load(tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        pe.load(tmp_path / "absent")


def forged(model, tmp_path, change, change_arrays=None):
    """A file whose checksum is right but whose content was changed by `change`."""
    path = tmp_path / "forged"
    pe.save(model, path)
    data = path.read_bytes()
    arrays, content = read_tensors(data), json.loads(model_file.read_header(data)["paralesn"])
    change(content)
    (change_arrays or (lambda arrays: None))(arrays)
    body = json.dumps(content)
    header = {"paralesn": body, "sha256": model_file.checksum(body, arrays)}
    path.write_bytes(write_tensors(arrays, header))
    return path


HOSTILE = {
    "older format": (
        lambda c: (c.update(format=1), c.pop("version")),
        None,
        "format 1 is older than 2.*an early paralesn wrote it; fit the model again and save it",
    ),
    "newer format": (lambda c: c.update(format=99), None, "format 99 is newer"),
    "no format": (lambda c: c.pop("format"), None, "not a model file"),
    "unknown class": (lambda c: c["model"].update(object="Popen"), None, "no class 'Popen' is"),
    "wrong class": (lambda c: c["model"].update(object="Ridge"), None, "cannot be loaded"),
    "wrong state": (
        lambda c: c["model"]["content"].update(
            fitted={"object": "State", "content": {"layers": {"tuple": []}, "origin": ""}}
        ),
        None,
        "fitted_ of ParalESN must be a Drawn, got State",
    ),
    "state of no class": (
        lambda c: c["model"]["content"].update(fitted=3),
        None,
        "fitted_ of ParalESN must be a Drawn, got int",
    ),
    "unknown parameter": (
        lambda c: c["model"]["content"]["parameters"]["dict"].update(evil=1),
        None,
        "evil",
    ),
    "wrong parameter": (
        lambda c: c["model"]["content"]["parameters"]["dict"].update(units="x"),
        None,
        "units must be",
    ),
    "unknown attribute": (
        lambda c: c["model"]["content"]["fitted"]["content"].update(run="x"),
        None,
        "Drawn has no 'run'",
    ),
    "missing array": (lambda c: None, lambda a: a.pop(sorted(a)[0]), "not a model file"),
    "shorter array": (
        lambda c: None,
        lambda a: a.update({k: v[:3] for k, v in a.items() if "bias" in k}),
        "bias of layer 1 must have shape",
    ),
    "unstable": (
        lambda c: None,
        lambda a: a.update({k: v + 2 for k, v in a.items() if "eigenvalues.re" in k}),
        "inside the unit circle",
    ),
    "not finite": (
        lambda c: None,
        lambda a: a.update({k: v * np.nan for k, v in a.items() if "w_in.re" in k}),
        "w_in of DiagonalLayer must be an array of finite",
    ),
    "wrong features": (
        lambda c: c["model"]["content"]["fitted"]["content"].update(
            feature_names={"names": ["a", "b", "c"]}
        ),
        None,
        "feature_names_in_ must be 2 names",
    ),
    "nonsense": (lambda c: c.update(model={"sum": 3}), None, "not a model file"),
    "two things": (lambda c: c.update(model={"list": [], "dict": {}}), None, "not a model file"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_forged_files_are_refused(name, tmp_path):
    change, change_arrays, message = HOSTILE[name]
    path = forged(MODELS["reservoir"], tmp_path, change, change_arrays)
    with pytest.raises(ValueError, match=message):
        pe.load(path)


def test_a_file_nested_without_end_is_refused(tmp_path):
    deep = '{"list": [' * 100_000 + "1" + "]}" * 100_000
    for model in (deep, '{"object": "ParalESN", "content": ' + deep + "}"):
        body = '{"format": 2, "model": ' + model + "}"
        header = {"paralesn": body, "sha256": model_file.checksum(body, {})}
        (tmp_path / "deep").write_bytes(write_tensors({}, header))
        with pytest.raises(ValueError, match=r"deep cannot be loaded|is not a model file"):
            pe.load(tmp_path / "deep")


def test_forged_readouts_are_refused(tmp_path):
    def smaller(arrays):
        for name in arrays:
            if "coefs" in name:
                arrays[name] = np.ascontiguousarray(arrays[name][:, :1])

    with pytest.raises(ValueError, match="do not fit together"):
        pe.load(forged(MODELS["ridge"], tmp_path, lambda c: None, smaller))
    learnt = lambda c: c["model"]["content"]["fitted"]["content"]  # noqa: E731
    with pytest.raises(ValueError, match="must hold a readout, got a int"):
        pe.load(forged(MODELS["regressor"], tmp_path, lambda c: learnt(c).update(readout=1)))
    with pytest.raises(ValueError, match="does not belong to the reservoir"):
        pe.load(
            forged(
                MODELS["regressor"],
                tmp_path,
                lambda c: learnt(c)["state"]["content"].update(origin="somewhere"),
            )
        )


def test_an_undrawn_reservoir_keeps_its_given_layers(tmp_path):
    fresh = clone(MODELS["given"])
    pe.save(fresh, tmp_path / "model")
    np.testing.assert_array_equal(
        pe.load(tmp_path / "model").run(X)[0], MODELS["given"].run(X)[0], strict=True
    )


def test_only_whole_classes_of_their_own_names_are_registered():
    with pytest.raises(
        TypeError, match=r"frozen dataclass or a class with .*get_params, got Plain"
    ):
        pe.register(type("Plain", (), {}))
    with pytest.raises(TypeError, match="must decorate a class, got 3"):
        pe.register(3)
    with pytest.raises(TypeError, match="must decorate a frozen dataclass, got Loose"):
        pe.register(make_dataclass("Loose", ["values"]))
    with pytest.raises(TypeError, match="Bare must annotate fitted_ with the frozen dataclass"):
        pe.register(type("Bare", (BaseEstimator,), {}))
    with pytest.raises(ValueError, match=r"paralesn\.layers\.state\.State is registered"):
        pe.register(make_dataclass("State", ["layers"], frozen=True))
    assert pe.register(pe.State) is pe.State  # again, as a cell of a notebook would


def test_what_a_parameter_cannot_be(tmp_path):
    for value in (LinearRegression, object(), np.datetime64("2020"), {1, 2}):
        with pytest.raises(TypeError, match=r"model\.parameters\.units .*cannot be saved"):
            pe.save(pe.ParalESN(units=value), tmp_path / "model")


def test_metadata_lie_beside_the_model_and_under_its_checksum(tmp_path):
    path = tmp_path / "model"
    pe.save(pe.ParalESN(units=3), path, metadata={"reading": {"sep": ";"}, "rows": 12})
    assert pe.load(path).units == 3
    assert load_metadata(path) == {"reading": {"sep": ";"}, "rows": 12}
    path.write_bytes(path.read_bytes().replace(b"rows", b"rowz"))
    with pytest.raises(ValueError, match="its checksum does not match"):
        load_metadata(path)
    pe.save(pe.ParalESN(units=3), path)
    assert load_metadata(path) == {}
    (tmp_path / "text").write_text("no model")
    with pytest.raises(ValueError, match="not a model file"):
        load_metadata(tmp_path / "text")

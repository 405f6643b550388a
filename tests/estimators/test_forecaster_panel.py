"""Many series: the same bank as alone, one readout for all, and files that cannot lie."""

import json

import numpy as np
import pytest
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

import paralesn as pe
from paralesn.persistence import model_file

pd = pytest.importorskip("pandas")

DAYS = pd.date_range("2024-01-01", periods=200)


def weekly(seed, n):
    rng = np.random.default_rng(seed)
    season = np.tile(rng.normal(size=7), n // 7 + 1)[:n]
    return 20 + 3 * season + np.cumsum(0.1 * rng.normal(size=n)) + 0.2 * rng.normal(size=n)


YS = [weekly(s, n) for s, n in ((1, 90), (2, 120), (3, 60), (4, 120))]


def long_frame(ys, names="abcd", first=0):
    return pd.concat(
        [pd.DataFrame({"unique_id": name, "ds": DAYS[first : first + len(y)] if np.isscalar(first) else DAYS[f : f + len(y)], "y": y})
         for name, y, f in zip(names, ys, [0] * len(ys) if np.isscalar(first) else first, strict=False)],
        ignore_index=True,
    )  # fmt: skip


def bits(model, steps=9):
    """All numbers of a forecast."""
    ahead = model.forecast(steps, interval=[0.5, 0.95])
    if isinstance(ahead, pe.Forecast):
        parts = [part if isinstance(part, list) else [part] for part in ahead]
        return np.concatenate([np.ravel(x) for part in parts for x in part])
    return ahead.filter(like="yhat").to_numpy().ravel()


def test_a_panel_of_one_is_the_series():
    """A list, a table and a long frame of one series: all as the series by itself."""
    alone = pe.ReservoirForecaster(horizon=7, season=7).fit(YS[1])
    listed = pe.ReservoirForecaster(horizon=7, season=7).fit([YS[1]])
    table = pe.ReservoirForecaster(horizon=7, season=7).fit(YS[1][:, None])
    frame = pe.ReservoirForecaster(horizon=7, season=7).fit(long_frame(YS[1:2]))
    np.testing.assert_array_equal(listed.forecast()[0], alone.forecast())
    np.testing.assert_array_equal(table.forecast()[:, 0], alone.forecast())
    np.testing.assert_array_equal(frame.forecast()["yhat"], alone.forecast())


def test_a_shared_readout_learns_from_all():
    """From one series of 60 steps a readout cannot learn; from forty of them it can."""
    ys = [weekly(s, 60) for s in range(40)]
    model = pe.ReservoirForecaster(horizon=7, season=7).fit(ys)
    assert all(any(name.startswith("reservoir") for name in w) for w in model.weights_)
    assert all(
        "reservoir" not in name
        for name in pe.ReservoirForecaster(horizon=7, season=7).fit(ys[0]).weights_
    )


def test_the_order_of_series_matters_little():
    """Sums of the readout have another order, banks do not care."""
    model, turned = (pe.ReservoirForecaster(horizon=7, season=7).fit(ys) for ys in (YS, YS[::-1]))
    for one, other in zip(model.forecast(), turned.forecast()[::-1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_constant_and_intermittent_series_do_no_harm():
    odd = [np.full(50, 3.0), np.zeros(40), np.r_[np.zeros(30), 1, 0, 2.0], np.array([1.0, 2.0])]
    with_odd = pe.ReservoirForecaster(horizon=7, season=7).fit([*YS, *odd])
    ahead = with_odd.forecast(interval=0.9)
    for part in ahead:
        assert all(np.isfinite(x).all() for x in part)
    np.testing.assert_allclose(ahead.values[4], 3.0)
    np.testing.assert_allclose(ahead.values[5], 0.0)
    plain = pe.ReservoirForecaster(horizon=7, season=7).fit(YS).forecast()
    for one, other in zip(ahead.values[:4], plain, strict=True):
        np.testing.assert_allclose(one, other, atol=1.5)


def test_some_series_of_a_frame_move_on():
    frame = long_frame(YS)
    model = pe.ReservoirForecaster(horizon=7, season=7).fit(frame)
    before = model.forecast()
    new = weekly(2, 125)[120:]
    rows = pd.DataFrame({"unique_id": "b", "ds": DAYS[120:125], "y": new})
    after = model.update(rows).forecast()
    for name in "acd":
        np.testing.assert_array_equal(*(f[f["unique_id"] == name]["yhat"] for f in (before, after)))
    moved = after[after["unique_id"] == "b"]
    assert moved["ds"].iloc[0] == DAYS[125]
    # The same as a model in which all others stood still, too.
    listed = pe.ReservoirForecaster(horizon=7, season=7).fit(YS)
    part, _ = listed.fitted_.ensemble.part([1]).follow(
        [YS[1]], [new], [np.zeros((5, 0))], [np.array([4])]
    )
    np.testing.assert_allclose(part[0][0], moved["yhat"], rtol=1e-9)
    with pytest.raises(ValueError, match="y must hold series of fit, got 'z', which is new"):
        model.update(rows.assign(unique_id="z"))


def test_pieces_are_one_update_for_every_series():
    once = pe.ReservoirForecaster(horizon=7, season=7).fit([y[:-20] for y in YS])
    pieces = pe.ReservoirForecaster(horizon=7, season=7).fit([y[:-20] for y in YS])
    once.update([y[-20:] for y in YS])
    for part in (slice(-20, -19), slice(-19, -5), slice(-5, None)):
        pieces.update([y[part] for y in YS])
    np.testing.assert_allclose(bits(once), bits(pieces), rtol=1e-9)


def test_series_never_seen(rng):
    """Forecast by what was learnt from others, near what a model of them all says."""
    model = pe.ReservoirForecaster(horizon=7, season=7).fit(YS)
    new = weekly(9, 100)
    ahead = model.forecast(y=[new])[0]
    future = weekly(9, 107)[100:]
    naive = np.abs(future - new[-1]).mean()
    assert np.abs(ahead - future).mean() < 0.6 * naive
    np.testing.assert_array_equal(model.forecast(new[None].T)[:, 0], ahead)
    np.testing.assert_array_equal(model.forecast(y=new), ahead)
    short = model.forecast(y=[np.array([1.0, 2.0])])[0]
    assert np.isfinite(short).all()
    known = pe.ReservoirForecaster(horizon=7).fit(YS[0], X=np.sin(np.arange(90.0)))
    with pytest.raises(
        ValueError, match="series never seen need a model without inputs known in advance"
    ):
        known.forecast(y=new)


def test_updates_in_another_form_are_refused():
    model = pe.SmootherBank(horizon=2).fit(YS)
    with pytest.raises(
        ValueError, match=r"y must come in the form of fit \(list, 4 series\), got flat with 1"
    ):
        model.update([1.0, 2.0])
    with pytest.raises(ValueError, match="y must hold 4 series, got 2"):
        model.update([np.ones(2), np.ones(3)])
    wide = pd.DataFrame({"a": YS[1], "b": YS[3]})
    fitted = pe.SmootherBank(horizon=2).fit(wide)
    with pytest.raises(
        ValueError, match=r"y must have the columns \['a', 'b'\] as in fit, got \['b', 'a'\]"
    ):
        fitted.update(pd.DataFrame({"b": [1.0], "a": [2.0]}, index=[120]))


# -- files -----------------------------------------------------------------------------------------

X = np.random.default_rng(8).normal(size=(120, 2))
MODELS = {
    "bank": lambda: pe.SmootherBank(horizon=4).fit(YS[0]),
    "list": lambda: pe.ReservoirForecaster(horizon=4).fit(YS),
    "long": lambda: pe.ReservoirForecaster(horizon=4).fit(long_frame(YS)),
    "intermittent": lambda: pe.SmootherBank(horizon=4).fit([np.r_[0, 0, 0, 1.0, 0, 2], YS[2]]),
    "past": lambda: pe.ReservoirForecaster(horizon=4).fit(YS[1], past=X),
    "zone": lambda: pe.SmootherBank(horizon=4).fit(pd.Series(YS[0], DAYS[:90].tz_localize("Asia/Tokyo"))),
    "two": lambda: pe.SmootherBank(horizon=4).fit([1.0, 2.0]),
    "static": lambda: pe.ReservoirForecaster(horizon=4).fit(YS, static=np.array(["a", "b", "a", "b"])),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_gives_the_same_bits(name, tmp_path):
    model = MODELS[name]()
    pe.save(model, tmp_path / "model")
    again = pe.load(tmp_path / "model")
    np.testing.assert_array_equal(bits(again), bits(model))
    assert again.notes_ == model.notes_
    assert again.weights_ == model.weights_
    assert again.season_ == model.season_
    ahead = again.forecast()
    if isinstance(ahead, pd.DataFrame | pd.Series):
        assert ahead.equals(model.forecast())


def test_a_loaded_model_goes_on(tmp_path):
    model = pe.ReservoirForecaster(horizon=4).fit([y[:-10] for y in YS])
    pe.save(model, tmp_path / "model")
    again = pe.load(tmp_path / "model")
    for each in (model, again):
        each.update([y[-10:] for y in YS])
    np.testing.assert_array_equal(bits(again), bits(model))
    np.testing.assert_array_equal(
        np.concatenate(again.anomalies().is_anomaly), np.concatenate(model.anomalies().is_anomaly)
    )


def forged(model, path, change):
    """A file whose checksum is right but in which `change` was made to arrays or content."""
    pe.save(model, path)
    data = path.read_bytes()
    arrays, content = read_tensors(data), json.loads(model_file.read_header(data)["paralesn"])
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(arrays, content)
    body = json.dumps(content)
    header = {"paralesn": body, "sha256": model_file.checksum(body, arrays)}
    path.write_bytes(write_tensors(arrays, header))
    return path


@pytest.mark.parametrize("name", ["bank", "list", "static"])
def test_no_array_can_be_cut_short(name, tmp_path):
    """Whatever array of a file lost its last row, the model is refused or as it was."""
    model = MODELS[name]()
    expected = bits(model)
    pe.save(model, tmp_path / "model")
    names = list(read_tensors((tmp_path / "model").read_bytes()))
    refused = 0
    for label in names:

        def cut(arrays, content, label=label):
            array = arrays[label]
            arrays[label] = np.ascontiguousarray(array[:-1]) if array.ndim and len(array) else array

        path = forged(model, tmp_path / "forged", cut)
        try:
            loaded = pe.load(path)
        except ValueError:
            refused += 1
            continue
        np.testing.assert_array_equal(bits(loaded), expected, err_msg=label)
    assert refused > len(names) / 2


@pytest.mark.parametrize("name", ["bank", "list"])
def test_no_number_can_be_nan(name, tmp_path):
    """NaN in any array of floats, but observations, is refused or does not matter."""
    model = MODELS[name]()
    pe.save(model, tmp_path / "model")
    names = list(read_tensors((tmp_path / "model").read_bytes()))
    for label in names:

        def spoil(arrays, content, label=label):
            if arrays[label].dtype.kind == "f" and arrays[label].size:
                arrays[label].flat[0] = np.nan

        path = forged(model, tmp_path / "forged", spoil)
        try:
            loaded = pe.load(path)
        except ValueError:
            continue
        assert np.isfinite(bits(loaded)).all(), label

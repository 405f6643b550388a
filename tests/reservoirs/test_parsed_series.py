"""Series that were parsed once go through a reservoir as they are."""

import numpy as np
import pytest

import paralesn as pe
from paralesn import series


@pytest.mark.parametrize("kind", [pe.ParalESN, pe.ESN])
def test_parsed_series_are_not_read_again(kind, monkeypatch, rng):
    data = [rng.normal(size=(n, 2)) for n in (30, 20)]
    parsed = series.read(data, np.dtype("float64"))

    def everything(res, X):
        states, state = res.run(X)
        blocks = [np.concatenate(block) for block in res.stream(X, block=8)]
        return [*states, *state.layers, *blocks, res.last(X), res.pool(X, ("mean", "std"))]

    expected = everything(kind(units=7).fit(data), data)

    def refuse(*arguments, **options):
        raise AssertionError("converted again")

    monkeypatch.setattr(series, "convert", refuse)
    monkeypatch.setattr(series, "numeric", refuse)
    res = kind(units=7).fit(parsed)
    assert res.n_features_in_ == 2
    for result, wanted in zip(everything(res, parsed), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_parsed_series_of_another_precision_are_converted(rng):
    data = rng.normal(size=(30, 2))
    parsed = series.read(data, np.dtype("float64"))
    states, _ = pe.ParalESN(units=7, dtype="float32").run(parsed)
    np.testing.assert_array_equal(states, pe.ParalESN(units=7, dtype="float32").run(data)[0])
    with pytest.raises(ValueError, match=r"X must be finite, got .* which is beyond float32"):
        pe.ParalESN(units=7, dtype="float32").run(series.read([1e300], np.dtype("float64")))


def test_parsed_series_with_other_features_are_refused(rng):
    res = pe.ParalESN(units=7).fit(rng.normal(size=(30, 2)))
    with pytest.raises(ValueError, match="X has 3 features, but ParalESN is expecting 2 features"):
        res.run(series.read(rng.normal(size=(30, 3)), np.dtype("float64")))

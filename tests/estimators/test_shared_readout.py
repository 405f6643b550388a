"""One readout learnt from all series."""

import numpy as np

import paralesn as pe


def test_the_size_of_blocks_does_not_matter(rng, monkeypatch):
    series = [rng.normal(size=n).cumsum() for n in (150, 90, 200, 120)]
    together = pe.ReservoirForecaster(horizon=5).fit(series)
    monkeypatch.setattr("paralesn.estimators.forecaster.shared_readout._BLOCK", 1)
    apart = pe.ReservoirForecaster(horizon=5).fit(series)
    np.testing.assert_allclose(together.forecast(), apart.forecast(), rtol=1e-7)
    one, other = (model.fitted_.ensemble.shared[0].readout for model in (together, apart))
    assert one.alpha_ == other.alpha_

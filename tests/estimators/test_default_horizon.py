"""How far forecasts go where nobody says."""

import pytest

import paralesn as pe
from paralesn.estimators.forecaster.fitting import default_horizon


@pytest.mark.parametrize(
    ("seasons", "lengths", "horizon"),
    [
        ([(12,)], [144], 24),  # two seasons
        ([()], [100], 8),  # or 8 steps
        ([()], [12], 3),  # a quarter of the series at most
        ([(168,)], [10_000], 100),
        ([(), (96,), ()], [500] * 3, 8),  # what most series have
        ([(7,), (7, 365), ()], [500] * 3, 14),
    ],
)
def test_two_seasons_of_most_series(seasons, lengths, horizon):
    assert default_horizon(seasons, lengths) == horizon


def test_it_is_what_a_forecaster_uses(rng):
    assert pe.ReservoirForecaster().fit(rng.normal(size=12).cumsum()).forecast().shape == (3,)

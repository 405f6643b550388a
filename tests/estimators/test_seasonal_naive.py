"""The seasonal naive against a plain loop, with values missing anywhere."""

import numpy as np
import pytest

from paralesn.estimators.forecaster.bank import repeat_season


def looked_up(y, m, origin, step):
    """The last value of the same place in the season; None where none was seen."""
    at = origin + step
    while at > origin:
        at -= m
    while at >= 0 and np.isnan(y[at]):
        at -= m
    return y[at] if at >= 0 else None


@pytest.mark.parametrize("m", [1, 2, 5, 12])
def test_missing_values_are_those_of_the_season_before(m, rng):
    y = rng.normal(size=61)
    y[rng.random(61) < 0.3] = np.nan
    y[0] = 1.0
    origins = np.arange(2 * m, 60)
    found = repeat_season(y, m, origins, 15)
    checked = 0
    for row, origin in enumerate(origins):
        for step in range(1, 16):
            expected = looked_up(y, m, origin, step)
            if expected is not None:
                assert found[row, step - 1] == expected
                checked += 1
    assert checked > 0.8 * found.size

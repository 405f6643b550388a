import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Compilation makes a first example slow, which is no failure; CI must not be a lottery.
settings.register_profile(
    "house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def blobs(rng):
    """Three classes of points."""
    y = rng.integers(0, 3, 300)
    return rng.normal(size=(300, 4)) + 2.0 * np.eye(3, 4)[y], y

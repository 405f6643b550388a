"""Classifier and forecaster as aeon's users meet them."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import paralesn as pe

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of aeon's own making, on import
    pytest.importorskip("aeon", reason="aeon is not installed: pip install 'paralesn[aeon]'")
    from aeon.testing.estimator_checking import parametrize_with_checks

    from paralesn.aeon import ParalESNClassifier, ParalESNForecaster


@parametrize_with_checks([ParalESNClassifier, ParalESNForecaster])
@pytest.mark.filterwarnings("ignore")
def test_aeons_own_checks(check):
    check()


@pytest.mark.filterwarnings("ignore")
def test_it_is_the_classifier_with_channels_before_time(rng):
    X, y = rng.normal(size=(12, 30, 2)), np.array(["a", "b"] * 6)
    theirs = ParalESNClassifier(units=64, random_state=3).fit(X.transpose(0, 2, 1), y)
    ours = pe.ReservoirClassifier(pe.FilterBank(units=64, seed=3)).fit(X, y)
    new = rng.normal(size=(20, 30, 2))
    np.testing.assert_array_equal(theirs.predict(new.transpose(0, 2, 1)), ours.predict(new))
    ragged = [x[:, : 20 + i] for i, x in enumerate(X.transpose(0, 2, 1)[:10])]
    assert len(ParalESNClassifier(units=64).fit(ragged, y[:10]).predict(ragged)) == 10


@pytest.mark.slow
def test_without_aeon_it_says_what_to_install():
    code = "import sys; sys.modules['aeon'] = None; import paralesn.aeon"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'paralesn[aeon]'" in done.stderr

"""The forecaster as sktime's users meet it."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import paralesn as pe

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of sktime's own making, on import
    pytest.importorskip("sktime", reason="sktime is not installed: pip install 'paralesn[sktime]'")
    import pandas as pd
    from sktime.forecasting.base import ForecastingHorizon
    from sktime.utils.estimator_checks import check_estimator, parametrize_with_checks

    from paralesn.sktime import ParalESNForecaster


@parametrize_with_checks(ParalESNForecaster, obj_varname="forecaster")
@pytest.mark.filterwarnings("ignore")
def test_sktimes_own_checks(forecaster, test_name):
    check_estimator(forecaster, tests_to_run=test_name, raise_exceptions=True, verbose=False)

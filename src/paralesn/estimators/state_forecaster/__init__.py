"""The forecaster: windows, the closed loop, intervals, the estimator."""

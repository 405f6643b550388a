"""Benchmarks: every claim measured beside its rivals in the same run."""

SUITES = {
    "core": "Speed and memory of the ParalESN reservoir",
    "first_use": "What a user waits for: compilation at first use, imports, the help",
    "torch_scan": "Speed of the scan in PyTorch",
    "reservoirs": "Speed of the other reservoirs",
    "readouts": "Speed of the ridge readout",
    "online": "Speed and exactness of learning row by row",
    "estimators": "Speed of whole fits, of pooling and of the closed loop",
    "latency": "How long a forecast, its intervals and a fit to 3 000 points take",
    "scale_out": "Training on Dask by numbers of workers: time, bytes, memory, merging",
    "chaos": "How long closed-loop forecasts of chaotic systems stay valid",
    "spatial": "The same for systems that extend in space, by local reservoirs",
    "features": "Speed and memory of features of whole datasets",
    "defaults": "Accuracy without any choice of hyperparameters, on real data",
    "regression": "R2 of default regressors on ordinary tasks, beside other reservoirs",
    "forecasting": "Accuracy of default forecasts of real series, beside statsforecast",
    "probabilities": "How calibrated the classifier is, beside scikit-learn's calibration",
    "series_regression": "A number for every series, beside aeon's Rocket regressors",
    "classifiers": "Accuracy against time, beside MiniRocket, MultiRocket and Hydra",
    "scaling": "What a step, a unit and a series cost as their numbers grow",
    "energy": "Joules for a fit and for a million predictions",
}

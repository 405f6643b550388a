"""Apply a saved model to new data: forecast after a table, label series, or predict rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.estimators.classifier import ReservoirClassifier
from paralesn.estimators.forecaster.estimator import Forecaster, ReservoirForecaster, SmootherBank
from paralesn.estimators.regressor import ReservoirRegressor
from paralesn.estimators.series_regressor import ReservoirSeriesRegressor
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.runtime.memory import require_room
from paralesn.tables.cleaning import Cleaning
from paralesn.tables.clock import format_times
from paralesn.tables.labels import free_name
from paralesn.tables.observations import Observations, read_observations
from paralesn.tables.reader import TableError, column_names
from paralesn.tables.reading import Reading
from paralesn.workflows.case_answers import classify_with, regress_with
from paralesn.workflows.case_record import prediction_columns
from paralesn.workflows.continuation import ROW_BYTES, Continuation, continue_forecast, read_newer
from paralesn.workflows.describe import learnt_columns
from paralesn.workflows.evaluation import ClassEvaluation, NumberEvaluation
from paralesn.workflows.trained_cases import CaseTraining, read_newer_cases
from paralesn.workflows.trained_file import Training, training_of

MODELS = (
    ReservoirForecaster,
    SmootherBank,
    StateForecaster,
    ReservoirClassifier,
    ReservoirSeriesRegressor,
    ReservoirRegressor,
)


@dataclass(frozen=True)
class PredictionRequest:
    """How to read new data, and what to predict from it.

    Attributes
    ----------
    steps : int, optional
        Steps to forecast. Default: the model's horizon.
    follow : bool
        Whether new rows without times follow on those the model has seen; otherwise they are a
        series of their own. Times tell by themselves.
    fresh : bool
        Whether new rows are a series of their own, whatever their times.
    interval : float
        Share of values that a forecaster's intervals should hold.
    reading : Reading, optional
        How the file is written, where that is another way than in training.
    cleaning : Cleaning, optional
        What to do about missing values, skipped times and repeated times. Default: as in training.
    columns : mapping of str to str or tuple of str
        For models of whole series, columns of a long table (case, time, values, label) that have
        another name than in training.
    """

    steps: int | None = None
    follow: bool = False
    fresh: bool = False
    interval: float = 0.9
    reading: Reading | None = None
    cleaning: Cleaning | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Predictions:
    """Predictions as columns by name, what to know about them, and how good they are.

    `evaluation` is that of a model of whole series on cases with labels, else None.
    """

    columns: dict[str, list[Any]]
    notes: tuple[str, ...] = ()
    evaluation: ClassEvaluation | NumberEvaluation | None = None


def predict_file(
    model: Any,
    path: Path,
    request: PredictionRequest | None = None,
    *,
    training: Training | CaseTraining | None = None,
) -> Predictions:
    """Predict from a file with a fitted model.

    A forecaster reads on from the rows it has not seen, and forecasts the steps after them. A
    classifier or a regressor of series takes the files that `classify_files` takes. A regressor
    predicts every row from the columns it learnt from.

    Parameters
    ----------
    model : ReservoirForecaster, SmootherBank, StateForecaster, ReservoirClassifier, \
        ReservoirSeriesRegressor or ReservoirRegressor
        A `StateForecaster` that follows is updated.
    path : Path
    request : PredictionRequest, optional
    training : Training or CaseTraining, optional
        What a model remembers of the file it learnt from. Default: what the model itself knows of
        it.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd, paralesn as pe
    >>> from pathlib import Path
    >>> from paralesn.workflows.predict import predict_file
    >>> days = pd.date_range("2023-01-01", periods=400, name="day")
    >>> table = pd.DataFrame({"wave": np.sin(np.arange(400) / 7).round(6)}, index=days)
    >>> model = pe.ReservoirForecaster(horizon=2).fit(table[:380])
    >>> path = Path(tempfile.mkdtemp()) / "new.csv"
    >>> table.to_csv(path)
    >>> predictions = predict_file(model, path)
    >>> predictions.columns["day"], [round(value, 2) for value in predictions.columns["wave"]]
    (['2024-02-05', '2024-02-06'], [0.56, 0.67])
    >>> predictions.notes[-1]
    '380 rows up to 2024-01-15, where training ended: left out'
    """
    request = request or PredictionRequest()
    if isinstance(model, Forecaster):
        known = training if isinstance(training, Training) else training_of(model)
        return _continue(model, path, request, known)
    if isinstance(model, StateForecaster):
        return _forecast(model, path, request)
    if isinstance(model, (ReservoirClassifier, ReservoirSeriesRegressor)):
        of_cases = training if isinstance(training, CaseTraining) else None
        return _answer_cases(model, path, request, of_cases)
    if isinstance(model, ReservoirRegressor):
        return _regress(model, path, request)
    expected = ", ".join(kind.__name__ for kind in MODELS)
    raise TypeError(f"model must be one of {expected}, got {type(model).__name__}")


def _continue(
    model: Forecaster, path: Path, request: PredictionRequest, training: Training
) -> Predictions:
    """Forecast the steps after the new rows of a table."""
    series = read_newer(path, training, request.cleaning, request.reading)
    wanted = Continuation(request.steps, request.interval, request.follow, request.fresh)
    try:
        columns, notes = continue_forecast(model, series, training, wanted)
    except TableError:
        raise
    except ValueError as error:
        raise TableError(f"{path.name}: {error}") from error
    return Predictions(columns, tuple(notes))


def _answer_cases(
    model: ReservoirClassifier | ReservoirSeriesRegressor,
    path: Path,
    request: PredictionRequest,
    training: CaseTraining | None,
) -> Predictions:
    """A class or a number for every series of a file."""
    missing = None if request.cleaning is None else request.cleaning.missing
    missing = None if missing == "keep" else missing  # which is for forecasts
    cases = read_newer_cases(path, training, request.columns, missing, request.reading)
    result = classify_with(model, cases) if isinstance(model, ReservoirClassifier) else \
        regress_with(model, cases)  # fmt: skip
    return Predictions(prediction_columns(result) or {}, cases.notes, result.evaluation)


def _regress(model: ReservoirRegressor, path: Path, request: PredictionRequest) -> Predictions:
    """Predict for every row of a table."""
    names = [str(name) for name in getattr(model, "feature_names_in_", column_names(path))]
    if len(names) != model.n_features_in_:
        raise TableError(
            f"{path.name} has the columns {', '.join(names)}, expected {model.n_features_in_} "
            "inputs as the model learnt from"
        )
    observations = _observations(path, names, (), request)
    state = None
    if request.follow:
        state = model.state_
        if any(layer.ndim != 1 for layer in state.layers):
            raise TableError(
                "`follow` needs a model that learnt from one series", parameter="follow"
            )
    values = np.asarray(model.predict(_named(model, observations), state=state))
    values = values.reshape(observations.rows, -1)
    suffixes = [""] if values.shape[1] == 1 else [f"_{k}" for k in range(1, values.shape[1] + 1)]
    columns = {f"prediction{suffix}": values[:, k].tolist() for k, suffix in enumerate(suffixes)}
    return Predictions({"row": list(range(1, len(values) + 1)), **columns})


def _observations(
    path: Path, targets: list[str], exog: Sequence[str], request: PredictionRequest
) -> Observations:
    """The columns of a table, rows as they are."""
    cleaning = request.cleaning or Cleaning()
    if cleaning.gaps == "auto":
        cleaning = replace(cleaning, gaps="keep")
    return read_observations(path, targets, exog, cleaning=cleaning, reading=request.reading)


def _named(model: ReservoirRegressor, observations: Observations) -> Any:
    """The rows, with names of columns where the model learnt from such."""
    import pandas as pd

    if not hasattr(model, "feature_names_in_"):
        return observations.y
    return pd.DataFrame(observations.y, columns=list(observations.targets))


def _forecast(model: StateForecaster, path: Path, request: PredictionRequest) -> Predictions:
    """Forecast the steps after the last row of a table."""
    targets, exog = learnt_columns(model)
    if targets is None or (model.n_known_ and not exog):
        raise TableError(
            "the model does not know the names of its columns: fit it to pandas frames"
        )
    observations = _observations(path, targets, exog, request)
    notes = list(observations.notes)
    steps = request.steps or model.horizon_
    require_room("steps", steps, ROW_BYTES * steps * len(targets))
    ahead = _inputs_ahead(model, observations, steps)
    try:
        model = _after(model, observations, request.follow, notes)
        values, lower, upper = _with_interval(model, steps, ahead, request.interval, notes)
    except ValueError as error:
        raise TableError(f"{path.name}: {error}") from error
    # Only the last step, where that is all the model predicts.
    time = observations.time or free_name("step", targets)
    columns: dict[str, list[Any]] = {time: format_times(observations.ahead(steps))[-len(values) :]}
    taken = {*targets, time}
    for k, name in enumerate(targets):
        columns[name] = values[:, k].tolist()
        if lower is not None and upper is not None:
            columns[free_name(f"{name}_lower", {*taken, *columns})] = lower[:, k].tolist()
            columns[free_name(f"{name}_upper", {*taken, *columns})] = upper[:, k].tolist()
    return Predictions(columns, tuple(notes))


def _inputs_ahead(
    model: StateForecaster, observations: Observations, steps: int
) -> np.ndarray | None:
    """Known inputs of whole horizons after the last target, or None where the model has none."""
    if not observations.exog:
        return None
    rows, whole = observations.rows, ceil(steps / model.horizon_) * model.horizon_
    if observations.future < whole:
        raise TableError(
            f"{', '.join(observations.exog)} must be known for {whole} rows after the last target, "
            f"got {observations.future}",
            parameter="steps",
        )
    return observations.X[rows : rows + whole]


def _after(
    model: StateForecaster, observations: Observations, follow: bool, notes: list[str]
) -> StateForecaster:
    """The model after reading all rows, from where it was or from zero."""
    rows = observations.rows
    known = observations.X[:rows] if observations.exog else None
    if follow:
        return model.update(observations.y, known)
    if rows < model.washout + model.horizon_:
        notes.append(f"{rows} rows are few to begin from zero with; `follow` continues instead")
    return model.reading(observations.y, known)


def _with_interval(
    model: StateForecaster, steps: int, X: Any, interval: float, notes: list[str]
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """A forecast and its bounds, (steps, targets) each; no bounds without calibration."""
    width = model.n_features_in_
    try:
        forecast = model.forecast(steps, X, interval=interval)
    except ValueError as error:
        values = model.forecast(steps, X).reshape(-1, width)
        notes.append(f"no intervals: {error}")
        return values, None, None
    values, lower, upper = (part.reshape(-1, width) for part in forecast)
    return values, lower, upper

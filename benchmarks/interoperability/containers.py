"""Whatever holds data: frames of several libraries, arrays of several kinds."""

from functools import partial
from typing import Any

import numpy as np

import paralesn as pe
from benchmarks.interoperability.case import (
    INPUTS,
    LABELS,
    SERIES,
    TARGET,
    WAVE,
    case,
    check,
    refusal,
    same,
)
from benchmarks.interoperability.searches import classifier, regressor

GROUP = "containers"


def long_frame() -> Any:
    """Two series with dates, one below the other, as pandas has them."""
    import pandas as pd

    days = pd.date_range("2024-01-01", periods=WAVE.size, freq="h")
    return pd.concat(
        [
            pd.DataFrame({"unique_id": n, "ds": days, "y": WAVE * k})
            for n, k in (("a", 1), ("b", 2))
        ],
        ignore_index=True,
    )


def forecasts(frame: Any, kind: str) -> str:
    """Forecast a long frame; the numbers are those of pandas, the frame is of its own kind."""
    ours = pe.ReservoirForecaster(horizon=4).fit(frame).forecast()
    pandas = pe.ReservoirForecaster(horizon=4).fit(long_frame()).forecast()
    check(type(ours).__module__.startswith(kind), f"a {type(ours).__module__} came back")
    values = np.asarray(ours["yhat"], float)
    off = np.abs(values - np.asarray(pandas["yhat"])).max()
    check(off < 1e-9, f"off by {off:.1e}")
    return f"forecast of {len(values)} rows in a {type(ours).__module__.split('.')[0]} frame"


@case(GROUP, "forecaster: long frame of pandas", "pandas")
def pandas_frame() -> str:
    return forecasts(long_frame(), "pandas")


@case(GROUP, "forecaster: long frame of polars", "pandas", "polars")
def polars_frame() -> str:
    import polars as pl

    return forecasts(pl.from_pandas(long_frame()), "polars")


@case(GROUP, "forecaster: table of pyarrow", "pandas", "pyarrow")
def arrow_table() -> str:
    import pyarrow as pa

    return forecasts(pa.Table.from_pandas(long_frame(), preserve_index=False), "pyarrow")


@case(GROUP, "forecaster: relation of DuckDB", "pandas", "duckdb", "pyarrow")
def duckdb_relation() -> str:
    import duckdb

    frame = long_frame()
    relation = duckdb.from_df(frame)
    said = refusal(lambda: pe.ReservoirForecaster().fit(relation))
    table = relation.order("unique_id, ds").to_arrow_table()
    return f"{said}; then: {forecasts(table, 'pyarrow')}"


@case(GROUP, "forecaster: lazy frame of Dask", "pandas", "dask", "pyarrow")
def dask_frame() -> str:
    import dask.dataframe as dd

    frame = dd.from_pandas(long_frame(), npartitions=2)
    said = refusal(lambda: pe.ReservoirForecaster().fit(frame))
    return f"{said}; then: {forecasts(frame.compute(), 'pandas')}"


@case(GROUP, "regressor: frames of pandas, polars, pyarrow", "pandas", "polars", "pyarrow")
def regressed_frames() -> str:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    truth = regressor().fit(INPUTS, TARGET).predict(INPUTS)
    frame = pd.DataFrame(INPUTS, columns=["x", "z"])
    for X in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        same(regressor().fit(X, TARGET).predict(X), truth, f"those of {type(X).__module__}")
    return "the same to the bit"


@case(GROUP, "regressor: nullable and Arrow dtypes of pandas", "pandas", "pyarrow")
def nullable() -> str:
    import pandas as pd

    truth = regressor().fit(INPUTS, TARGET).predict(INPUTS)
    frame = pd.DataFrame(INPUTS, columns=["x", "z"])
    for kind in ("Float64", "double[pyarrow]"):
        X, y = frame.astype(kind), pd.Series(TARGET).astype(kind)
        same(regressor().fit(X, y).predict(X), truth, kind)
    frame = frame.astype("Float64")
    frame.iloc[3, 1] = pd.NA
    return refusal(lambda: regressor().fit(frame, TARGET))


@case(GROUP, "forecaster: index of dates and of periods", "pandas")
def dated_index() -> str:
    import pandas as pd

    days = pd.date_range("2024-01-01", periods=WAVE.size, freq="D")
    ahead = pe.ReservoirForecaster(horizon=2).fit(pd.Series(WAVE, days)).forecast()
    months = pd.Series(WAVE, pd.period_range("1990-01", periods=WAVE.size, freq="M"))
    later = pe.ReservoirForecaster(horizon=2).fit(months).forecast()
    check(ahead.index[0] == days[-1] + pd.Timedelta(days=1), f"index {ahead.index}")
    check(later.index[0] == months.index[-1] + 1, f"index {later.index}")
    return f"goes on at {ahead.index[0].date()} and {later.index[0]}"


@case(GROUP, "classifier: categorical, string and bool labels", "pandas", "polars")
def labels() -> str:
    import pandas as pd
    import polars as pl

    for y in (
        pd.Series(LABELS, dtype="category"),
        pd.Series(LABELS, dtype="string"),
        pl.Series(LABELS),
        pl.Series(LABELS, dtype=pl.Categorical),
        LABELS.tolist(),
        LABELS == "slow",
    ):
        model = classifier(64).fit(SERIES, y)
        same(model.predict(SERIES).astype(str), np.asarray(y).astype(str), str(type(y)))
    return "category, string, Categorical, list, bool"


@case(GROUP, "DataArray of xarray", "xarray")
def labelled_array() -> str:
    import xarray as xr

    array = xr.DataArray(SERIES[:, :, None], dims=["case", "time", "channel"])
    truth = classifier().fit(SERIES, LABELS).decision_function(SERIES)
    y = xr.DataArray(LABELS, dims=["case"])
    same(classifier().fit(array, y).decision_function(array), truth, "decisions")
    return "(case, time, channel) as it is"


@case(GROUP, "tensor of PyTorch as input", "torch")
def tensor() -> str:
    import torch

    truth = classifier().fit(SERIES, LABELS).decision_function(SERIES)
    X = torch.from_numpy(SERIES)
    same(classifier().fit(X, LABELS).decision_function(X), truth, "decisions")
    return "to the bit; " + refusal(lambda: classifier().fit(X.clone().requires_grad_(), LABELS))


@case(GROUP, "array of Dask", "dask")
def dask_array() -> str:
    import dask.array as da

    from paralesn.dask import fit

    X = da.from_array(INPUTS, chunks=(100, 2))
    truth = regressor().fit(INPUTS, TARGET).predict(INPUTS)
    fitted = fit(regressor(), X, TARGET, progress=False)
    off = np.abs(fitted.predict(INPUTS) - truth).max() / np.abs(truth).max()
    assert off < 1e-9, f"predictions off by {off:.1e}"
    return f"off by {off:.0e}; " + refusal(lambda: regressor().fit(X, TARGET))


@case(GROUP, "memory-mapped and read-only arrays")
def mapped() -> str:
    np.save("x.npy", INPUTS)
    X = np.load("x.npy", mmap_mode="r")
    truth = regressor().fit(INPUTS, TARGET).predict(INPUTS)
    same(regressor().fit(X, TARGET).predict(X), truth, "predictions")
    return f"{type(X).__name__}: the same to the bit"


@case(GROUP, "views, Fortran order, big-endian, float16, integers")
def layouts() -> str:
    truth = regressor().fit(INPUTS, TARGET).predict(INPUTS)
    wide = np.repeat(INPUTS, 2, axis=1)
    for X in (np.asfortranarray(INPUTS), wide[:, ::2], INPUTS.astype(">f8")):
        same(regressor().fit(X, TARGET).predict(X), truth, str(X.dtype))
    whole = (INPUTS * 100).astype("int16")
    same(
        regressor().fit(whole, TARGET).predict(whole),
        regressor().fit(whole.astype(float), TARGET).predict(whole.astype(float)),
        "predictions of integers",
    )
    half = INPUTS.astype("float16")
    same(
        regressor().fit(half, TARGET).predict(half),
        regressor().fit(half.astype(float), TARGET).predict(half.astype(float)),
        "predictions of float16",
    )
    return "the same to the bit"


@case(GROUP, "masked array: not read as if nothing were masked")
def masked() -> str:
    hidden = np.ma.masked_array(INPUTS, mask=INPUTS > 0.99)
    return refusal(lambda: regressor().fit(hidden, TARGET))


@case(GROUP, "structured, sparse, complex, text: refused")
def refused_arrays() -> str:
    from scipy.sparse import csr_array

    structured = np.zeros(100, [("a", float), ("b", float)])
    arrays = (structured, csr_array(INPUTS[:100]), INPUTS[:100] * 1j, INPUTS[:100].astype(str))
    said = [refusal(partial(regressor().fit, X, TARGET[:100])) for X in arrays]
    return f"{len(said)} refusals, such as: {said[1]}"


@case(GROUP, "lists of series of different lengths")
def ragged() -> str:
    series = [x[: 40 + k % 30] for k, x in enumerate(SERIES)]
    model = classifier().fit(series, LABELS)
    right = model.score(series, LABELS)
    check(right > 0.9, f"accuracy {right:.2f}")
    return f"accuracy {right:.2f}"

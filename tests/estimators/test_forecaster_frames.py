"""Frames in and out: times go on exactly as pandas would continue them."""

import numpy as np
import pytest

import paralesn as pe

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

Y = 10 + np.sin(np.arange(80) * 2 * np.pi / 7) + 0.1 * np.random.default_rng(3).normal(size=80)
INDEXES = {
    "days": pd.date_range("2024-01-30", periods=66, freq="D"),
    "hours": pd.date_range("2024-01-30 05:00", periods=66, freq="h"),
    "quarter hours": pd.date_range("2024-01-30", periods=66, freq="15min"),
    "weeks": pd.date_range("2024-01-30", periods=66, freq="W-WED"),
    "month begins": pd.date_range("2019-01-01", periods=66, freq="MS"),
    "month ends": pd.date_range("2019-01-31", periods=66, freq="ME"),
    "quarters": pd.date_range("2001-01-01", periods=66, freq="QS"),
    "quarter ends": pd.date_range("2001-01-01", periods=66, freq="QE"),
    "years": pd.date_range("1950-01-01", periods=66, freq="YS"),
    "business days": pd.date_range("2024-01-01", periods=66, freq="B"),
    "Berlin days": pd.date_range("2024-02-01", periods=66, freq="D", tz="Europe/Berlin"),
    "Berlin hours over spring": pd.date_range(
        "2024-03-29", periods=66, freq="h", tz="Europe/Berlin"
    ),
    "Berlin hours over autumn": pd.date_range(
        "2024-10-25 08:00", periods=66, freq="h", tz="Europe/Berlin"
    ),
    "New York months": pd.date_range("2019-01-01", periods=66, freq="MS", tz="America/New_York"),
    "two days": pd.date_range("2024-01-30", periods=66, freq="2D"),
}
NUMBERS = {
    "counted": pd.RangeIndex(66),
    "from 1990": pd.RangeIndex(1990, 2056),
    "by fives": pd.RangeIndex(0, 330, 5),
    "tenths": pd.Index(np.arange(66) / 10),
    "tiny steps": pd.Index(np.arange(66) * 1e-12),
}
PERIODS = {
    f"periods {freq}": pd.period_range("2019-01", periods=66, freq=freq)
    for freq in ("D", "M", "Q", "W", "Y", "h")
}
EVERY = INDEXES | NUMBERS | PERIODS


def bank(**options):
    return pe.SmootherBank(horizon=6, **options)


def assert_same_times(got, expected):
    assert len(got) == len(expected)
    if isinstance(expected[0], float):
        np.testing.assert_allclose(got, expected, rtol=1e-9)
        return
    assert list(got) == list(expected)
    assert str(getattr(got, "tz", None)) == str(getattr(expected, "tz", None))


@pytest.mark.parametrize("knows", [True, False], ids=["with frequency", "without"])
@pytest.mark.parametrize("name", EVERY)
def test_a_series_goes_on_as_its_index_does(name, knows):
    index = EVERY[name]
    if not knows and isinstance(index, pd.DatetimeIndex):
        index = pd.DatetimeIndex(list(index))  # forgets its frequency
    index = index.rename("when")
    y = pd.Series(Y[:60], index[:60], name="load")
    model = bank().fit(y)
    ahead = model.forecast()
    assert isinstance(ahead, pd.Series)
    assert ahead.name == "load"
    assert ahead.index.name == "when"
    assert_same_times(ahead.index, index[60:])
    np.testing.assert_array_equal(ahead.to_numpy(), bank(season=model.season_ or 1).fit(Y[:60]).forecast())  # fmt: skip
    # One row, then two: every one leaves the index where it should be.
    for part in (slice(60, 61), slice(61, 63)):
        model.update(pd.Series(Y[part], index[part]))
    assert model.fitted_.ends.counts.tolist() == [63]
    assert_same_times(model.forecast(3).index, index[63:])
    assert_same_times(model.anomalies().index, index[:63])


@pytest.mark.parametrize(
    "name", ["days", "month ends", "Berlin hours over autumn", "periods M", "business days"]
)
def test_a_wide_frame_keeps_names_and_index(name):
    index = EVERY[name]
    frame = pd.DataFrame({"a": Y[:60], "b": -Y[:60], 3: Y[:60] ** 2}, index=index[:60])
    model = bank(season=7).fit(frame)
    ahead = model.forecast(interval=[0.5, 0.9])
    assert_same_times(ahead.index, index[60:])
    assert list(ahead.columns[:5]) == ["a", "a-lo-50", "a-hi-50", "a-lo-90", "a-hi-90"]
    assert list(model.forecast().columns) == ["a", "b", 3]
    arrays = bank(season=7).fit(frame.to_numpy()).forecast(interval=0.9)
    np.testing.assert_array_equal(ahead[["a", "b", 3]].to_numpy(), arrays.values)
    np.testing.assert_array_equal(ahead["b-lo-90"].to_numpy(), arrays.lower[:, 1])


def long_frame(index, rng=None):
    parts = [pd.DataFrame({"unique_id": label, "ds": index[:n], "y": sign * Y[:n]})
             for label, n, sign in (("b", 60, 1), ("a", 50, -1), ("c", 3, 2))]  # fmt: skip
    frame = pd.concat(parts, ignore_index=True)
    return frame if rng is None else frame.iloc[rng.permutation(len(frame))]


BACKENDS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("name", [*INDEXES, "counted", "by fives"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_long_frame_of_any_library(backend, name):
    index = EVERY[name]
    frame = BACKENDS[backend](long_frame(index))
    model = bank(season=7).fit(frame)
    ahead = model.forecast(interval=0.8)
    assert type(ahead) is type(frame)
    rows = ahead if backend == "pandas" else ahead.to_pandas()
    assert list(rows.columns) == ["unique_id", "ds", "yhat", "yhat-lo-80", "yhat-hi-80"]
    assert rows["unique_id"].tolist() == ["b"] * 6 + ["a"] * 6 + ["c"] * 6  # as they first appear
    for label, n in (("b", 60), ("a", 50), ("c", 3)):
        own = rows[rows["unique_id"] == label]
        times = pd.Index(own["ds"])
        assert list(times) == list(index[n : n + 6])
        assert str(getattr(times, "tz", None)) == str(getattr(index, "tz", None))
    arrays = bank(season=7).fit([Y[:60], -Y[:50], 2 * Y[:3]]).forecast(interval=0.8)
    np.testing.assert_array_equal(rows["yhat"], np.concatenate(arrays.values))
    np.testing.assert_array_equal(rows["yhat-hi-80"], np.concatenate(arrays.upper))


def test_the_order_of_rows_does_not_matter(rng):
    frame = long_frame(INDEXES["days"])
    sorted_rows = bank().fit(frame)
    mixed = bank().fit(long_frame(INDEXES["days"], rng))
    assert "not in the order of time: sorted" in " ".join(mixed.notes_)
    first, second = (m.forecast().sort_values(["unique_id", "ds"], ignore_index=True)
                     for m in (sorted_rows, mixed))  # fmt: skip
    pd.testing.assert_frame_equal(first, second)


def test_columns_of_other_names():
    frame = long_frame(INDEXES["days"])
    frame.columns = ["shop", "day", "sold"]
    ahead = bank(season=7).fit(frame, id="shop", time="day", target="sold").forecast()
    assert list(ahead.columns) == ["shop", "day", "yhat"]
    expected = bank(season=7).fit(long_frame(INDEXES["days"])).forecast()
    np.testing.assert_array_equal(ahead["yhat"], expected["yhat"])


def test_text_that_is_a_date_and_dates_without_time():
    days = INDEXES["days"][:40]
    frame = pd.DataFrame({"ds": days, "y": Y[:40]})
    as_text = frame.assign(ds=days.strftime("%Y-%m-%d"))
    with_zone = frame.assign(ds=days.strftime("%Y-%m-%dT00:00:00Z"))  # becomes UTC
    assert bank().fit(with_zone).forecast()["ds"].tolist() == INDEXES["days"][40:46].tolist()
    as_dates = pl.DataFrame({"ds": list(days.date), "y": Y[:40]})
    expected = INDEXES["days"][40:46].tolist()
    assert bank().fit(as_text).forecast()["ds"].tolist() == expected
    ahead = bank().fit(as_dates).forecast()
    assert [pd.Timestamp(t) for t in ahead["ds"]] == expected


def test_columns_alone_of_polars_and_pyarrow():
    missing = [*Y[:30], None, *Y[31:60]]
    expected = bank(season=7).fit(np.array(missing, float)).forecast()
    for column in (pl.Series("load", missing), pa.array(missing), pa.chunked_array([missing])):
        ahead = bank(season=7).fit(column).forecast()
        np.testing.assert_array_equal(ahead.to_numpy(), expected)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int64[pyarrow]", "float32"])
def test_missing_values_of_extension_types(dtype):
    values = [1, None, 3, 4, 8, 7, 7, 9]
    column = pd.Series(values, dtype=dtype, name="y")
    expected = bank().fit([1, np.nan, 3, 4, 8, 7, 7, 9]).forecast()
    np.testing.assert_array_equal(bank().fit(column).forecast(), expected)
    np.testing.assert_array_equal(bank().fit(column.to_frame()).forecast()["y"], expected)


def test_masked_values_are_missing():
    masked = np.ma.masked_array([1.0, 2.0, 3.0, 4.0], [False, True, False, False])
    expected = bank().fit([1, np.nan, 3, 4.0]).forecast()
    np.testing.assert_array_equal(bank().fit(masked).forecast(), expected)


def test_quantiles_are_columns():
    y = pd.Series(Y[:60], INDEXES["days"][:60])
    ahead = bank().fit(y).forecast(quantiles=[0.05, 0.5, 0.975])
    assert list(ahead.columns) == ["yhat", "yhat-q-5", "yhat-q-50", "yhat-q-97.5"]
    np.testing.assert_array_equal(ahead["yhat"], ahead["yhat-q-50"])


DAYS = INDEXES["days"]
WRONG = {
    "time twice": (pd.Series(Y[:3], DAYS[[0, 1, 1]]), r"times of y must be in order and different, got 2024-01-31 twice"),
    "time back": (pd.Series(Y[:3], DAYS[[0, 2, 1]]), r"times of y must be in order and different, got 2024-01-31 after 2024-02-01"),
    "long, twice": (pd.DataFrame({"unique_id": ["a", "b", "b"], "ds": DAYS[[0, 0, 0]], "y": Y[:3]}), r"times of y\['b'\] must be in order and different, got 2024-01-30 twice"),
    "NaT": (pd.Series(Y[:3], pd.DatetimeIndex(["2024-01-01", None, "2024-01-03"])), r"y must have a time in every row of its index, got none in row 1"),
    "NaN": (pd.Series(Y[:3], [0.0, 1.0, np.nan]), r"y must have a time in every row of its index, got none in row 2"),
    "NaT in a column": (pd.DataFrame({"ds": pd.DatetimeIndex(["2024-01-01", None]), "y": Y[:2]}), r"y\['ds'\] must hold times, got none in row 1"),
    "NaN in a column": (pd.DataFrame({"ds": [1.0, np.nan], "y": Y[:2]}), r"y\['ds'\] must hold times, got nan"),
    "words for times": (pd.DataFrame({"ds": ["soon", "later"], "y": Y[:2]}), r"y\['ds'\] must hold dates, numbers or ISO text, got 'soon'"),
    "no name": (pd.DataFrame({"unique_id": ["a", None], "ds": DAYS[:2], "y": Y[:2]}), r"y\['unique_id'\] must name a series in every row, got none in row 1"),
    "several levels": (pd.Series(Y[:4], pd.MultiIndex.from_product([[1, 2], [1, 2]])), "y must have one index of times, got several levels"),
    "column twice": (pd.DataFrame(np.ones((4, 2)), columns=["a", "a"]), "y must have columns of different names, got 'a' twice"),
    "number and text": (pd.DataFrame(np.ones((4, 2)), columns=[0, "0"]), "y must have columns of different names, got '0' twice"),
    "text": (pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), r"y(\['a'\])? must (be a frame of numbers|hold real numbers).*got"),
    "text alone": (pd.Series(["x", "y"]), "y must hold real numbers, got dtype"),
    "no columns": (pd.DataFrame(), "y must be a frame of numbers.*got no columns"),
    "no rows": (pd.Series([], dtype=float), "y must hold at least 2 values, got 0"),
    "long without rows": (pd.DataFrame({"unique_id": [], "ds": [], "y": []}), "y must not be empty"),
    "a single row": (pd.DataFrame({"unique_id": ["a", "a", "b"], "ds": [1, 2, 1], "y": Y[:3]}), r"y\['b'\] must hold at least 2 values, got 1"),
    "infinite": (pd.Series([1.0, np.inf]), "y must be finite or NaN, got infinity at step 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(case):
    y, words = WRONG[case]
    with pytest.raises(ValueError, match=words):
        bank().fit(y)


def test_a_lazy_frame_must_be_collected():
    with pytest.raises(TypeError, match="LazyFrame: call collect"):
        bank().fit(pl.DataFrame({"a": Y}).lazy())


def test_searches_of_scikit_learn_are_refused(rng):
    """With frames, fit(X, y) looks like fit(y, X)."""
    from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    y = pd.Series(rng.normal(size=60))
    for strategy in ("auto", "closed-loop"):
        model = pe.ReservoirForecaster(horizon=2, strategy=strategy)
        search = GridSearchCV(model, {"horizon": [2]}, cv=TimeSeriesSplit(2), scoring="r2",
                              error_score="raise")  # fmt: skip
        with pytest.raises(TypeError, match=r"call fit\(X, y\).*paralesn\.tune"):
            search.fit(X, y)

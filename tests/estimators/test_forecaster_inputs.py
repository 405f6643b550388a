"""Inputs: known effects are recovered, useless ones ignored, and what is wrong is named."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.forecaster import relearning
from paralesn.estimators.forecaster.calendar import calendar_columns, check_calendar
from paralesn.estimators.forecaster.effects import measure_effect
from paralesn.tables.clock import Clock

pd = pytest.importorskip("pandas")

N, H = 200, 5
RNG = np.random.default_rng(11)
PRICE = RNG.normal(size=N + H)
PROMO = (RNG.random(N + H) < 0.3).astype(float)
BASE = 50 + np.cumsum(0.1 * RNG.normal(size=N + H))
SALES = BASE - 3.0 * PRICE + 7.0 * PROMO + 0.05 * RNG.normal(size=N + H)
X = np.column_stack([PRICE, PROMO])
DAYS = pd.date_range("2024-01-01", periods=N + H)


def model(**options):
    return pe.ReservoirForecaster(horizon=H, **options)


def test_known_effects_are_recovered():
    fitted = model().fit(SALES[:N], X[:N])
    np.testing.assert_allclose(fitted.fitted_.effects.coefficients[0], [-3, 7], atol=0.1)
    ahead = fitted.forecast(X=X[N:])
    np.testing.assert_allclose(ahead, SALES[N:], atol=1.0)
    assert np.abs(model().fit(SALES[:N]).forecast() - SALES[N:]).max() > 3


def test_effects_by_least_squares_on_changes(rng):
    x = rng.normal(size=(400, 2))
    y = np.cumsum(0.1 * rng.normal(size=400)) + x @ [2.0, -1.0]
    _, coefficients = measure_effect(y, x, 1)
    expected = np.linalg.lstsq(np.diff(x, axis=0), np.diff(y), rcond=None)[0]
    np.testing.assert_allclose(coefficients, expected, atol=0.02)


def test_a_season_is_no_effect(rng):
    """An input with the season of the series, and nothing else in common, explains nothing."""
    season = np.tile([0, 0, 5.0, 0, 0, -5.0, 0], 40)
    y = season + 0.1 * rng.normal(size=280)
    x = season[:, None] + rng.normal(size=(280, 1))
    _, coefficients = measure_effect(y, x, 7)
    assert abs(coefficients[0]) < 0.05


def test_a_useless_input_is_ignored(rng):
    noise = rng.normal(size=(N + H, 1))
    with_noise = model().fit(BASE[:N], noise[:N])
    assert not with_noise.fitted_.effects.helps.any()
    assert "known inputs did not help with 1 of 1 series" in with_noise.notes_
    np.testing.assert_allclose(with_noise.forecast(X=noise[N:]), model().fit(BASE[:N]).forecast())


def test_forms_of_inputs_agree():
    expected = model().fit(SALES[:N], X[:N]).forecast(X=X[N:])
    frame = pd.DataFrame(X, DAYS, ["price", "promo"])
    y = pd.Series(SALES, DAYS)
    by_index = model(season=1).fit(y[:N], frame[:N])
    plain = model(season=1).fit(SALES[:N], X[:N]).forecast(X=X[N:])
    np.testing.assert_allclose(by_index.forecast(X=frame[N:]), plain)
    np.testing.assert_allclose(by_index.forecast(X=frame), plain)  # rows are found by time
    np.testing.assert_allclose(by_index.forecast(X=frame[N:][::-1]), plain)
    long = frame.assign(unique_id="a", ds=DAYS, y=SALES).reset_index(drop=True)
    by_name = model(season=1).fit(long[:N], X=["price", "promo"])
    later = long[N:].drop(columns="y")
    np.testing.assert_allclose(by_name.forecast(X=later)["yhat"], plain)
    listed = model(season=1).fit([SALES[:N]], X=[X[:N]])
    np.testing.assert_allclose(listed.forecast(X=[X[N:]])[0], plain)
    np.testing.assert_allclose(expected, plain, atol=1.0)


def test_a_table_shares_its_inputs():
    table = np.column_stack([SALES, 2 * SALES])
    both = model(season=1).fit(table[:N], X[:N])
    np.testing.assert_allclose(both.fitted_.effects.coefficients[1], [-6, 14], atol=0.2)


def test_inputs_follow_in_updates():
    short = model(season=1).fit(SALES[: N - 10], X[: N - 10])
    short.update(SALES[N - 10 : N], X[N - 10 : N])
    assert np.abs(short.forecast(X=X[N:]) - SALES[N:]).max() < 1.5
    pieces = model(season=1).fit(SALES[: N - 10], X[: N - 10])
    for t in range(N - 10, N):
        pieces.update(SALES[t : t + 1], X[t : t + 1])
    np.testing.assert_allclose(pieces.forecast(X=X[N:]), short.forecast(X=X[N:]), rtol=1e-9)
    again = short.update(SALES[N : N + 1], X[N : N + 1], refit=True)
    whole = model(season=1).fit(SALES[: N + 1], X[: N + 1])
    np.testing.assert_allclose(again.forecast(4, X=X[N + 1 :]), whole.forecast(4, X=X[N + 1 :]))


def test_predictions_from_every_step_use_inputs_of_the_steps_to_come():
    fitted = model(season=1).fit(SALES[: N - 10], X[: N - 10])
    every = fitted.predict(SALES[N - 10 : N], X=X[N - 10 : N + H])
    assert every.shape == (10, H)
    for t in (0, 9):
        updated = model(season=1).fit(SALES[: N - 10], X[: N - 10])
        updated.update(SALES[N - 10 : N - 9 + t], X[N - 10 : N - 9 + t])
        ahead = updated.forecast(X=X[N - 9 + t : N - 9 + t + H])
        np.testing.assert_allclose(every[t], ahead, rtol=1e-9)


def test_gaps_in_updates_are_gaps_of_their_inputs():
    long = pd.DataFrame({"unique_id": "a", "ds": DAYS, "y": SALES, "price": PRICE})
    fitted = model(season=1).fit(long[: N - 5], X=["price"])
    fitted.update(long[N - 5 : N].drop(index=[N - 3]))
    assert fitted.fitted_.ends.counts[0] == N
    assert np.isnan(fitted.fitted_.memory.y[N - 3])
    assert np.isfinite(fitted.forecast(X=long[N:])["yhat"]).all()


def test_inputs_are_averaged_with_the_series():
    hours = pd.date_range("2024-01-01", periods=24 * 60, freq="h")
    price = np.repeat(PRICE[:60], 24) + np.tile(np.arange(24) - 11.5, 60)  # means are the same
    y = pd.Series(np.repeat(SALES[:60], 24), hours)
    frame = pd.DataFrame({"price": price}, hours)
    fitted = model(season=1, frequency="D").fit(y[: 24 * 50], frame[: 24 * 50])
    np.testing.assert_allclose(fitted.fitted_.memory.known[:, 0], PRICE[:50], atol=1e-12)
    fitted.update(y[24 * 50 : 24 * 52], frame[24 * 50 : 24 * 52])
    np.testing.assert_allclose(fitted.fitted_.memory.known[:, 0], PRICE[:52], atol=1e-12)


def test_categories_are_encoded(rng):
    kinds = rng.choice(["rain", "snow", "sun"], N + H)
    y = BASE + np.where(kinds == "snow", -9.0, 0) + np.where(kinds == "sun", 4.0, 0)
    frame = pd.DataFrame({"weather": kinds})
    fitted = model(season=1).fit(y[:N], frame[:N])
    assert fitted.fitted_.known.categories == {"weather": ["rain", "snow", "sun"]}
    np.testing.assert_allclose(fitted.fitted_.effects.coefficients[0], [-9, 4], atol=0.2)
    np.testing.assert_allclose(fitted.forecast(X=frame[N:]), y[N:], atol=1)
    as_category = frame.astype("category")
    again = model(season=1).fit(y[:N], as_category[:N])
    np.testing.assert_array_equal(again.forecast(X=as_category[N:]), fitted.forecast(X=frame[N:]))
    strange = frame[N:].assign(weather="hail")
    with pytest.raises(
        ValueError,
        match=r"X\['weather'\] must be one of the categories of training, 'rain', 'snow', 'sun', got 'hail'",
    ):
        fitted.forecast(X=strange)


def test_a_missing_category_is_interpolated(rng):
    kinds = rng.choice(["a", "b"], N).astype(object)
    kinds[::17] = None
    for missing in (None, np.nan, pd.NA):
        kinds[5] = missing
        fitted = model(season=1).fit(BASE[:N], pd.DataFrame({"kind": kinds}))
        assert fitted.fitted_.known.categories == {"kind": ["a", "b"]}
        assert any("values of X are missing: interpolated" in note for note in fitted.notes_)


# -- the past, and what is known of a whole series ------------------------------------------------


@pytest.mark.slow
def test_a_leading_indicator_helps(rng):
    """What is measured now moves the series five steps later."""
    signal = rng.normal(size=900)
    y = np.cumsum(np.concatenate([np.zeros(5), signal[:-5]])) + 0.05 * rng.normal(size=900)
    errors = {}
    for name, past in (("with", signal), ("without", None)):
        fitted = model(season=1).fit(y[:700], past=None if past is None else past[:700])
        new = None if past is None else past[700:]
        every = fitted.predict(y[700:], past=new)
        future = np.lib.stride_tricks.sliding_window_view(y[701:], H)
        errors[name] = np.abs(every[: len(future)] - future).mean()
    assert errors["with"] < 0.4 * errors["without"]


def test_the_past_is_needed_in_updates(rng):
    past = rng.normal(size=(N, 2))
    fitted = model(season=1).fit(BASE[:N], past=past)
    with pytest.raises(ValueError, match="past must hold '0', '1' of 1 steps"):
        fitted.update(BASE[N : N + 1])
    fitted.update(BASE[N : N + 1], past=past[:1])
    assert fitted.fitted_.memory.past.shape == (N + 1, 2)


@pytest.mark.slow
def test_static_columns_tell_series_apart(rng):
    """Half of the series rise, half fall after a jump; only a static column says which."""
    ys, kind = [], []
    for i in range(40):
        rises = i % 2
        y, trend = [0.0], 0.0
        for t in range(1, 60):
            trend = (1.0 if rises else -1.0) if t % 15 == 14 else 0.8 * trend
            y.append(y[-1] + trend + 0.02 * rng.normal())
        ys.append(np.array(y))
        kind.append("up" if rises else "down")
    parts = [y[:-5] for y in ys]
    errors = []
    for static in (np.array(kind), None):
        ahead = pe.ReservoirForecaster(horizon=5, season=1).fit(parts, static=static).forecast()
        errors.append(np.mean([np.abs(f - y[-5:]).mean() for f, y in zip(ahead, ys, strict=True)]))
    assert errors[0] < errors[1]


def test_static_in_all_forms():
    frame = pd.concat([pd.DataFrame({"unique_id": label, "ds": DAYS[:60], "y": k * BASE[:60], "size": float(k), "kind": "xy"[k % 2]})
                       for k, label in enumerate("abcd", 1)], ignore_index=True)  # fmt: skip
    by_name = model().fit(frame, static=["size", "kind"])
    table = pd.DataFrame({"unique_id": list("dcba"), "size": [4.0, 3, 2, 1], "kind": list("xyxy")})
    by_frame = model().fit(frame[["unique_id", "ds", "y"]], static=table)
    as_array = model().fit(
        [k * BASE[:60] for k in (1, 2, 3, 4)], static=np.array([[1.0, 1], [2, 0], [3, 1], [4, 0]])
    )
    assert by_name.fitted_.fixed.categories == {"kind": ["x", "y"]}
    np.testing.assert_array_equal(by_name.forecast()["yhat"], by_frame.forecast()["yhat"])
    np.testing.assert_allclose(
        by_name.forecast()["yhat"], np.concatenate(as_array.forecast()), rtol=1e-9
    )
    alone = pd.DataFrame({"ds": DAYS[:60], "y": BASE[:60], "size": 1.0})
    assert model().fit(alone, static=["size"]).fitted_.fixed.names == ["size"]


def test_static_of_new_series_is_encoded_as_in_fit():
    ys = [k * BASE[:80] for k in (1, 2, 3, 4)]
    fitted = model(season=1).fit(ys, static=np.array(["a", "b", "a", "b"]))
    for i, kind in enumerate("ab"):  # the first category is zero, the second one
        new, _ = relearning.of_new_series(fitted.fitted_, [ys[0]], None, None, np.array([kind]), H)
        expected = fitted.fitted_.ensemble.shared[0].static[i]
        np.testing.assert_allclose(new.ensemble.shared[0].static[0], expected)
    with pytest.raises(
        ValueError,
        match=r"static\['0'\] must be one of the categories of training, 'a', 'b', got 'c'",
    ):
        fitted.forecast(y=[ys[0]], static=np.array(["c"]))
    with pytest.raises(
        ValueError, match="static must hold '0' of every series, as in fit, got None"
    ):
        fitted.forecast(y=[ys[0]])


# -- the calendar ----------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["hour", "weekday", "month", "quarter", "day", "weekend", "week"])
def test_parts_of_the_calendar_are_those_of_pandas(part):
    times = pd.date_range("2023-12-27 05:30", periods=900, freq="11h")
    truth = {"weekend": times.weekday > 4, "day": times.day - 1, "month": times.month - 1,
             "quarter": times.quarter - 1, "week": (times.dayofyear - 1) // 7}  # fmt: skip
    values = np.asarray(truth.get(part, getattr(times, part, None))).astype(int)
    columns = calendar_columns(times.to_numpy(), [part])
    assert columns.sum(axis=1).max() == 1
    decoded = np.where(columns.any(axis=1), columns.argmax(axis=1) + 1, 0)
    np.testing.assert_array_equal(decoded, values)


def test_the_calendar_explains():
    """First days of months sell more: no season, but known from the date."""
    y = BASE[:N] + np.where(DAYS[:N].day == 1, 20.0, 0.0)
    fitted = model(season=1, calendar="day").fit(pd.Series(y[:-20], DAYS[: N - 20]))
    ahead = fitted.forecast(20)
    is_first = ahead.index.day == 1
    assert is_first.sum() == 1
    assert ahead[is_first].iloc[0] > ahead[~is_first].mean() + 5


def test_a_calendar_by_itself():
    assert check_calendar("auto", Clock("dates", 3600e9)) == ("hour", "weekday")
    assert check_calendar("auto", Clock("dates", 86400e9)) == ("weekday", "month")
    assert check_calendar("auto", Clock("workdays", 1.0)) == ("weekday", "month")
    assert check_calendar("auto", Clock("months", 1.0)) == ("month",)
    assert check_calendar("auto", Clock("months", 12.0)) == ()
    with pytest.raises(ValueError, match=r"calendar must be one of .*, got 'easter'"):
        check_calendar(["hour", "easter"], Clock("dates", 3600e9))


# -- what is wrong is named ------------------------------------------------------------------------

WRONG = {
    "short": (X[: N - 1], f"X must have {N} time steps here, got {N - 1}"),
    "empty": (np.zeros((0, 2)), f"X must have {N} time steps here, got 0"),
    "three axes": (np.zeros((N, 1, 1)), r"X must be \(time,\) or \(time, inputs\), got shape \(200, 1, 1\)"),
    "ragged": ([[1, 2], [1]], r"X must be \(time,\) or \(time, inputs\), got a list that is neither"),
    "names": (["price"], "X names columns of y, which must be a long frame then"),
    "infinite": (np.where(X[:N] > 2, np.inf, X[:N]), "X must be finite or NaN, got infinity in series 0"),
    "dates": (pd.DataFrame({"when": DAYS[:N]}), r"X\['when'\] must hold real numbers, got dtype datetime64"),
    "complex": (X[:N] * 1j, r"X\['0'\] must be real"),
    "many categories": (np.array([str(k) for k in range(N)]), r"X\['0'\] must have at most 50 categories, got 200"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_inputs_that_do_not_fit(case):
    inputs, words = WRONG[case]
    with pytest.raises(ValueError, match=words):
        model().fit(SALES[:N], inputs)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (None, "X must hold '0', '1' of 5 steps to come, as the model was fitted with these inputs; got None"),
        (X[N : N + 3], "X must have 5 time steps here, got 3"),
        (X[N:, :1], "X must have the columns '0', '1' as in fit, got '0'"),
        (np.full((H, 2), np.nan), "X must be finite in the steps to come, got nan in step 1"),
        (np.array([["a", "b"]] * H), r"X\['0'\] must hold real numbers"),
    ],
)  # fmt: skip
def test_inputs_to_come_that_do_not_fit(inputs, words):
    fitted = model().fit(SALES[:N], X[:N])
    with pytest.raises(ValueError, match=words):
        fitted.forecast(X=inputs)


def test_times_of_inputs_that_are_not_there_are_named():
    frame, y = pd.DataFrame({"x": PRICE}, DAYS), pd.Series(SALES, DAYS)
    with pytest.raises(
        ValueError, match="X must have a row for every time step, got none for 2024-01-08"
    ):
        model().fit(y[:N], frame[:N].drop(index=DAYS[7]))
    fitted = model().fit(y[:N], frame[:N])
    with pytest.raises(
        ValueError, match="X must have a row for every time step, got none for 2024-07-23"
    ):
        fitted.forecast(X=frame[N:-1])
    with pytest.raises(
        ValueError, match="X must be None: the model was fitted without such inputs"
    ):
        model().fit(y[:N]).forecast(X=frame[N:])


def test_inputs_of_a_frequency_that_only_pandas_knows():
    ends = pd.date_range("2015-01-01", periods=100, freq="BME", tz="Europe/Berlin")
    frame, y = pd.DataFrame({"x": PRICE[:100]}, ends), pd.Series(SALES[:100], ends)
    fitted = model(season=1).fit(y[:90], frame[:90])
    np.testing.assert_array_equal(
        fitted.forecast(X=frame), fitted.forecast(X=frame[90:95].reset_index(drop=True))
    )
    fitted.update(y[90:92], frame[90:92])
    assert list(fitted.forecast(3, X=frame[92:95]).index) == list(ends[92:95])


def test_too_little_to_measure_an_effect():
    fitted = model().fit([1.0, np.nan, 3.0], np.ones((3, 1)))
    assert not fitted.fitted_.effects.helps.any()


def test_static_that_does_not_fit():
    ys = [BASE[:50], BASE[:60]]
    for static, words in (
        (5, r"static must be \(series, columns\), got shape \(\)"),
        (np.ones(3), "static must have 2 rows, one for each series"),
        (np.array([1.0, np.nan]), "static must be finite"),
        (["size"], "static names columns of y, which must be a long frame then"),
    ):
        with pytest.raises(ValueError, match=words):
            model().fit(ys, static=static)
    frame = pd.DataFrame({"unique_id": "a", "ds": DAYS[:50], "y": BASE[:50]})
    with pytest.raises(ValueError, match="static must name columns of y, got 'size'"):
        model().fit(frame, static=["size"])
    with pytest.raises(
        ValueError, match="static must have a row for every series, got none for 'a'"
    ):
        model().fit(frame, static=pd.DataFrame({"unique_id": ["b"], "size": [1.0]}))


def test_the_order_of_scikit_learn_is_refused():
    with pytest.raises(ValueError, match=r"called as fit\(X, y\)"):
        model().fit(X[:N], SALES[:N])

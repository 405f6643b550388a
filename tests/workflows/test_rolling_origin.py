"""Backtests against loops and sums that are written out here."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.workflows.yardsticks import naive_forecast

METHODS = ["model", "seasonal naive", "last value", "drift", "mean", "smoothers"]


def seasonal(n, seed=0, m=12):
    t, rng = np.arange(n), np.random.default_rng(seed)
    return 50 + 0.2 * t + 9 * np.sin(2 * np.pi * t / m + seed) + rng.normal(size=n)


class Constant:
    """A foreign model: the mean of what it saw, or of what followed, too."""

    def fit(self, y):
        self.seen_ = [np.asarray(y)]
        return self

    def forecast(self, steps):
        value = np.concatenate(self.seen_).mean(axis=0)
        return np.full((steps, *np.shape(value)), value)


class Updated(Constant):
    def update(self, y):
        self.seen_.append(np.asarray(y))
        return self


def test_metrics_of_a_tiny_series_by_hand():
    y = np.array([1.0, 3.0, 2.0, 6.0, 4.0, 5.0])
    result = pe.backtest(Constant(), y, horizon=2, origins=[3, 4], refit=True, yardsticks=False)
    # Forecasts: 2, 2 for 6, 4 and 3, 3 for 4, 5.
    errors = np.array([2 - 6, 2 - 4, 3 - 4, 3 - 5])
    found = {name: value[0] for name, value in result.errors["model"].items()}
    assert found["mae"] == np.abs(errors).mean() == 9 / 4
    assert found["rmse"] == pytest.approx(np.sqrt((16 + 4 + 1 + 4) / 4))
    assert found["mase"] == pytest.approx((9 / 4) / 1.5)  # changes before the origin: 2 and 1
    assert found["smape"] == pytest.approx(200 / 4 * (4 / 8 + 2 / 6 + 1 / 7 + 2 / 8))
    assert found["wape"] == pytest.approx(100 * 9 / 19)
    assert found["bias"] == -9 / 4
    assert found["crps"] == found["mae"]
    assert np.isnan([found["coverage"], found["width"], found["msis"]]).all()
    assert result.overall() == found["mase"]
    np.testing.assert_allclose(result.by_step("mae")["model"], [2.5, 2.0])
    np.testing.assert_array_equal(result.truth[:, 0], [[6, 4], [4, 5]])


def test_naive_forecasts_are_those_of_numpy(rng):
    y = rng.normal(size=90).cumsum()
    y += 20 * np.sin(2 * np.pi * np.arange(90) / 7)
    result = pe.backtest(pe.SmootherBank(season=7), y, horizon=10, origins=[50, 61, 80])
    assert result.methods == [name for name in METHODS if name != "smoothers"]
    for row, o in enumerate([50, 61, 80]):
        before = y[:o]
        k = np.arange(1, 11)
        expected = {
            "seasonal naive": np.tile(before[-7:], 2)[:10], "last value": np.full(10, before[-1]),
            "drift": before[-1] + k * (before[-1] - before[0]) / (o - 1),
            "mean": np.full(10, before.mean()),
        }  # fmt: skip
        for name, values in expected.items():
            np.testing.assert_allclose(result.paths[name].values[row, 0], values, atol=1e-12)
    scale = np.abs(y[7:50] - y[:43]).mean()
    np.testing.assert_allclose(result.scale, [scale])
    mae = np.mean([np.abs(y[o : o + 10] - y[o - 1]) for o in (50, 61, 80)])
    assert result.errors["last value"]["mase"][0] == pytest.approx(mae / scale)


def test_naive_forecasts_skip_missing_values():
    y = np.array([1.0, 2.0, 3.0, 4.0, np.nan, 6.0, np.nan])
    np.testing.assert_array_equal(naive_forecast("last value", y, 2, 1), [6, 6])
    np.testing.assert_array_equal(naive_forecast("seasonal naive", y, 3, 3), [2, 6, 4])
    np.testing.assert_allclose(naive_forecast("drift", y, 2, 1), [8, 9])
    np.testing.assert_allclose(naive_forecast("mean", y, 1, 1), [16 / 5])


@pytest.mark.parametrize("model", [pe.ReservoirForecaster(horizon=6), pe.SmootherBank(horizon=6)])
def test_reading_on_gives_the_forecasts_of_predict(model):
    y = seasonal(240)
    result = pe.backtest(model, y, origins=5)
    first = int(result.origins[0, 0])
    every = type(model)(horizon=6).fit(y[:first]).predict(y[first:])
    np.testing.assert_allclose(
        result.paths["model"].values[1:, 0], every[result.origins[1:, 0] - first - 1], rtol=1e-9
    )
    assert not hasattr(model, "fitted_")


def test_refit_is_a_loop_over_origins():
    y, x = seasonal(150), np.random.default_rng(3).normal(size=(150, 2))
    y = y + 5 * x[:, 0]
    model = pe.ReservoirForecaster(horizon=5)
    result = pe.backtest(model, y, x, origins=3, refit=True, interval=0.8, yardsticks=False)
    np.testing.assert_array_equal(result.origins[:, 0], [120, 132, 145])
    widths = []
    for row, o in enumerate([120, 132, 145]):
        fitted = pe.ReservoirForecaster(horizon=5).fit(y[:o], x[:o])
        values, lower, upper = fitted.forecast(X=x[o : o + 5], interval=0.8)
        path = result.paths["model"]
        np.testing.assert_allclose(path.values[row, 0], values)
        np.testing.assert_allclose(path.lower[row, 0], lower)
        np.testing.assert_allclose(path.upper[row, 0], upper)
        widths.append(upper - lower)
    truth, found = result.truth[:, 0], result.errors["model"]
    inside = (truth >= result.paths["model"].lower[:, 0]) & (
        truth <= result.paths["model"].upper[:, 0]
    )
    assert found["coverage"][0] == inside.mean()
    assert found["width"][0] == pytest.approx(np.mean(widths))
    penalty = np.maximum(result.paths["model"].lower[:, 0] - truth, 0)
    penalty += np.maximum(truth - result.paths["model"].upper[:, 0], 0)
    interval_score = np.mean(np.array(widths) + 2 / 0.2 * penalty)
    assert found["msis"][0] == pytest.approx(interval_score / result.scale[0])


def test_crps_is_twice_the_mean_pinball_loss():
    y = seasonal(120)
    result = pe.backtest(pe.SmootherBank(horizon=4), y, origins=[116])
    shares = np.arange(0.05, 1, 0.1)
    quantiles = pe.SmootherBank(horizon=4).fit(y[:116]).forecast(quantiles=shares.tolist())
    error = y[116:, None] - quantiles
    loss = np.maximum(shares * error, (shares - 1) * error)
    assert result.errors["model"]["crps"][0] == pytest.approx(2 * loss.mean())


def test_series_of_different_lengths_are_cut_before_their_ends():
    ragged = [seasonal(90, 1), seasonal(60, 2), seasonal(75, 3)]
    model = pe.ReservoirForecaster(horizon=4)
    result = pe.backtest(model, ragged, origins=[-8, -4], yardsticks=["last value"])
    np.testing.assert_array_equal(result.origins, [[82, 52, 67], [86, 56, 71]])
    fitted = pe.ReservoirForecaster(horizon=4).fit([y[:-8] for y in ragged])
    np.testing.assert_allclose(result.paths["model"].values[0], fitted.forecast())
    fitted.update([y[-8:-4] for y in ragged])
    np.testing.assert_allclose(result.paths["model"].values[1], fitted.forecast())
    assert result.methods == ["model", "last value"]
    assert result.errors["model"]["mase"].shape == (3,)
    assert result.overall() == pytest.approx(result.errors["model"]["mase"].mean())


def test_long_frames_in_any_order_with_gaps_inputs_and_static_columns(rng):
    pd = pytest.importorskip("pandas")
    dates = pd.date_range("2024-01-01", periods=80)
    rows = []
    for name, n in (("b", 80), ("a", 64)):
        price = rng.normal(size=n)
        y = 20 + 3 * np.sin(2 * np.pi * np.arange(n) / 7) + 4 * price
        frame = pd.DataFrame({"item": name, "day": dates[-n:], "sales": y, "price": price})
        frame["kind"] = "red" if name == "a" else "blue"
        rows.append(frame)
    whole = pd.concat(rows, ignore_index=True)
    gap = whole.drop(index=[30, 71, 72]).sample(frac=1, random_state=1)
    names = {"id": "item", "time": "day", "target": "sales"}
    model = pe.ReservoirForecaster(horizon=7)
    result = pe.backtest(model, gap, ["price"], static=["kind"], origins=[-8, -7], **names)
    first = gap["item"].iloc[0]
    assert result.names == [first, "a" if first == "b" else "b"]
    assert np.isnan(result.y[result.names.index("b")]).sum() == 3
    whole.loc[[30, 71, 72], ["sales", "price"]] = np.nan
    whole["price"] = whole["price"].interpolate()
    known = whole[whole["day"] < dates[-8]]
    known = pd.concat([known[known["item"] == name] for name in result.names])
    fitted = pe.ReservoirForecaster(horizon=7).fit(known, ["price"], static=["kind"], **names)
    ahead = whole.loc[whole["day"].between(dates[-8], dates[-2]), ["item", "day", "price"]]
    expected = fitted.forecast(X=ahead)
    for i, name in enumerate(result.names):
        np.testing.assert_allclose(
            result.paths["model"].values[0, i], expected.loc[expected["item"] == name, "yhat"],
        )  # fmt: skip
    table = result.forecasts()
    assert table.shape == (2 * 2 * 7, 8)
    row = table[(table["series"] == "a") & (table["origin"] == 64 - 7) & (table["step"] == 1)]
    assert row["time"].item() == dates[-7]
    truth = whole[(whole["item"] == "a") & (whole["day"] == dates[-7])]["sales"].item()
    assert row["y"].item() == truth


def test_wide_frames_and_their_calendar():
    pd = pytest.importorskip("pandas")
    index = pd.date_range("2020-01-01", periods=200)
    frame = pd.DataFrame({"x": seasonal(200, 1, 7), "y": seasonal(200, 2, 7)}, index=index)
    frame.iloc[3, 0] = np.nan
    model = pe.ReservoirForecaster(horizon=7, calendar="weekday")
    result = pe.backtest(model, frame, origins=[180, 193], refit=True)
    expected = model.fit(frame[:193]).forecast()
    np.testing.assert_allclose(result.paths["model"].values[1].T, expected)
    assert result.names == ["x", "y"]
    assert any("missing" in note for note in result.notes)
    assert result.to_frame("series").loc[("model", "x"), "mae"] == result.errors["model"]["mae"][0]


def test_one_origin_on_twelve_points():
    y = np.array([3.0, 4, 3, 5, 6, 5, 7, 6, 8, 9, 8, 10])
    result = pe.backtest(pe.ReservoirForecaster(), y, origins=1)
    assert result.horizon == 3
    np.testing.assert_array_equal(result.origins, [[9]])
    expected = pe.ReservoirForecaster(horizon=3).fit(y[:9]).forecast()
    np.testing.assert_allclose(result.paths["model"].values[0, 0], expected)
    assert "seasonal naive" not in result.methods
    assert result.overall("seasonal naive") == result.overall("last value")


def test_origins_are_evenly_spaced_up_to_the_end():
    y = np.arange(1000.0) + np.tile([0, 1], 500)
    at = pe.backtest(pe.SmootherBank(), y, horizon=10, origins=5, yardsticks=False).origins[:, 0]
    assert at[0] == 800
    assert at[-1] == 990
    assert set(np.diff(at)) <= {47, 48}
    at = pe.backtest(pe.SmootherBank(), y[:30], horizon=6, origins=10, yardsticks=False).origins
    assert (at[0, 0], at[-1, 0]) == (15, 24)  # half of the series comes before


def test_missing_values_are_not_judged():
    y = seasonal(100)
    y[[70, 92, 95]] = np.nan
    result = pe.backtest(pe.SmootherBank(horizon=5), y, origins=[90, 95])
    error = np.abs(result.paths["model"].values[:, 0] - result.truth[:, 0])
    assert np.isnan(error).sum() == 2
    assert result.errors["model"]["mae"][0] == pytest.approx(np.nanmean(error))
    assert np.isfinite([result.overall(name) for name in result.methods]).all()


def test_constant_series_have_no_scale_and_count_by_absolute_errors():
    y = np.concatenate([np.full(20, 5.0), [5.0, 7.0]])
    result = pe.backtest(pe.SmootherBank(horizon=2), y, origins=1)
    assert np.isnan(result.scale).all()
    assert result.overall("last value") == 1.0
    assert result.best() in result.methods


def test_foreign_models():
    y = seasonal(60)
    table = np.stack([y, y + 1], axis=1)
    result = pe.backtest(Updated(), table, horizon=3, origins=[50, 57])
    np.testing.assert_allclose(
        result.paths["model"].values[1], np.repeat(table[:57].mean(0), 3).reshape(2, 3)
    )
    assert result.paths["model"].lower is None
    np.testing.assert_allclose(result.overall("model"), result.overall("mean"))
    with pytest.raises(ValueError, match="refit must be True: Constant has no update"):
        pe.backtest(Constant(), y, horizon=3)


def test_closed_loop():
    t = np.arange(600)
    y = np.stack([np.sin(t / 5), np.cos(t / 5)], axis=1)
    model = pe.ReservoirForecaster(strategy="closed-loop")
    result = pe.backtest(model, y, horizon=4, origins=[500, 550])
    loop = pe.ReservoirForecaster(strategy="closed-loop").fit(y[:500])
    np.testing.assert_allclose(result.paths["model"].values[0], loop.forecast(4).T)
    np.testing.assert_allclose(
        result.paths["model"].values[1], loop.update(y[500:550]).forecast(4).T
    )
    assert result.best() in ("model", "smoothers")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"horizon": 99}, "horizon must leave at least 2 steps"),
        ({"origins": 0}, "origins must be"),
        ({"origins": []}, "origins must be"),
        ({"origins": [99]}, "origins must have at least 2 steps before"),
        ({"origins": [1]}, "origins must have at least 2 steps before"),
        ({"origins": "all"}, "origins must be"),
        ({"refit": 1}, "refit must be"),
        ({"interval": 1.0}, "interval must be"),
        ({"yardsticks": ["naive"]}, "yardsticks must be one of"),
        ({"yardsticks": "mean"}, "yardsticks must be"),
        ({"X": np.zeros((99, 1))}, "X must have 100 time steps"),
    ],
)
def test_wrong_arguments_are_named(arguments, words):
    with pytest.raises((ValueError, TypeError), match=words):
        pe.backtest(pe.SmootherBank(horizon=5), seasonal(100), **arguments)


def test_other_mistakes_are_named():
    with pytest.raises(TypeError, match="model must be a forecaster"):
        pe.backtest(pe.Ridge(), seasonal(50))
    with pytest.raises(ValueError, match="origins must be negative"):
        pe.backtest(pe.SmootherBank(horizon=2), [seasonal(50), seasonal(40)], origins=[30])
    late = np.concatenate([np.full(40, np.nan), seasonal(10)])
    with pytest.raises(ValueError, match="at least 2 values before the first"):
        pe.backtest(pe.SmootherBank(horizon=2), late)
    result = pe.backtest(pe.SmootherBank(horizon=2), seasonal(50), origins=2, yardsticks=False)
    with pytest.raises(ValueError, match="method must be one of 'model'"):
        result.beats("mean")


def test_text_html_frames_and_pictures():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    result = pe.backtest(pe.ReservoirForecaster(horizon=6), seasonal(120), origins=3)
    text = str(result)
    assert text.splitlines()[0] == "Backtest of 1 series: 3 origins, fitted once, 6 steps ahead"
    assert f"{result.best()} *" in text
    assert result._repr_html_().count("<tr>") == 1 + len(result.methods)
    frame = result.to_frame()
    assert list(frame.index) == METHODS
    assert frame.loc["drift", "rmse"] == result.errors["drift"]["rmse"][0]
    steps = result.to_frame("step")
    np.testing.assert_allclose(steps.loc["mean", "mae"], result.by_step("mae")["mean"])
    ax = result.plot()
    assert len(ax.lines) == 4
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), result.paths["model"].values[0, 0])
    pyplot.close(ax.figure)


def test_progress_is_told():
    told = []
    pe.backtest(
        pe.ReservoirForecaster(horizon=3),
        seasonal(60),
        origins=2,
        progress=lambda *a: told.append(a),
    )
    assert [share for _, share in told] == [0, 0.25, 0.5, 0.75]


def test_what_follows_an_origin_does_not_change_its_forecast(rng):
    y, past = seasonal(200), rng.normal(size=(200, 1))
    y[[150, 151, 170]] = np.nan
    other, other_past = y.copy(), past.copy()
    other[171:], other_past[171:] = 1e3, -1e3
    model = pe.ReservoirForecaster(horizon=5)
    for refit in (False, True):
        options = {"origins": [152, 171], "refit": refit}
        first = pe.backtest(model, y, past=past, **options)
        second = pe.backtest(model, other, past=other_past, **options)
        for name in first.methods:
            np.testing.assert_array_equal(first.paths[name].values, second.paths[name].values)


def test_forecasts_that_are_not_finite_are_named():
    class Broken(Constant):
        def forecast(self, steps):
            return np.full(steps, np.nan)

    with pytest.raises(ValueError, match="model must forecast finite numbers, got nan 1 steps"):
        pe.backtest(Broken(), seasonal(50), horizon=3, refit=True)

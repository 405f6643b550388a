"""One page about a forecast of people's own data: `report.html` beside `forecast.csv`."""

from collections.abc import Callable
from datetime import date

import numpy as np

from paralesn import __version__
from paralesn.report import own_forecast_checks as checks
from paralesn.report.elements import Figure, Look, Section, Table, Tiles
from paralesn.report.page import page
from paralesn.report.time_charts import Line, timeline
from paralesn.workflows.forecast import ForecastResult
from paralesn.workflows.forecast_picture import latest_test
from paralesn.workflows.forecast_report import verdicts, weights_of
from paralesn.workflows.yardsticks import MODEL

Words = Callable[[str], str]  # how parameters in messages are spelled

PICTURES = 4  # series that are drawn
_LISTED = 200  # series in the table of all
_STEPS = 500  # of a forecast in its table
OBSERVED, FORECAST, TESTED = "observed", "forecast", "forecast in the test"
LOOKS = {OBSERVED: Look(6), FORECAST: Look(1), TESTED: Look(4, deep=True)}


def made(result: ForecastResult, words: Words = str) -> str:
    """The page as HTML; `words` spells parameters in sentences of the library."""
    series = result.series
    names = ", ".join(series.targets)
    of = f"{len(series.parts)} series by {', '.join(series.by)}" if series.is_long else \
        f"{int(series.rows[0]):,} row{'s' if series.rows[0] != 1 else ''}"  # fmt: skip
    lead = f"{series.path.name}: {of}{'' if series.clock is None else f', {series.clock}'}."
    by = f"Made by paralesn {__version__} on {date.today():%d %B %Y}."
    sections = [overview(result), checks.test(result), checks.residuals(result, PICTURES),
                all_series(result), chosen(result, words)]  # fmt: skip
    shown = [section for section in sections if section is not None]
    return page(f"Forecast of {names}", lead, shown, by)


def overview(result: ForecastResult) -> Section:
    """What is forecast, and how far to trust it."""
    drawn = range(min(PICTURES, len(result.series)))
    figures = [figure for i in drawn for figure in _pictures(result, i)]
    more = len(result.series) - len(drawn)
    text = " ".join(verdicts(result))
    if more > 0:
        text += f" Drawn are the first {len(drawn)} series; {more} more are in forecast.csv."
    return Section("forecast", "Forecast", text, [_tiles(result), *figures, *_numbers(result)])


def _tiles(result: ForecastResult) -> Tiles:
    series, test = result.series, result.test
    end = series.when(series.ahead(0, result.horizon))[-1]
    until = f"steps ahead, to {end}" if series.time is not None else "steps ahead"
    pairs = [(str(result.horizon), until)]
    season = str(result.season or "none")
    if len(series) == 1 and result.seasons[0]:
        season = ", ".join(map(str, result.seasons[0]))
    pairs.append((season, "season in steps, " + (
        "given" if result.request.season != "auto" else "looked for in the data")))  # fmt: skip
    if test.result is not None:
        best, naive = test.best(), test.best_naive()
        measure = test.measure()
        other = naive if best == MODEL else MODEL
        error, compared = (test.error(method, measure) for method in (best, other))
        pairs.append((f"{error:.3g}", f"{measure.upper()} of the {best} in the test; {other} "
                                      f"{compared:.3g}"))  # fmt: skip
        if test.coverage is not None:
            level = f"{result.request.interval:.0%}"
            pairs.append((f"{test.coverage:.0%}", f"of test values inside the model's {level} "
                                                  "intervals"))  # fmt: skip
    return Tiles(pairs)


def _pictures(result: ForecastResult, i: int) -> list[Figure]:
    """The series, the part it was tested on, and the forecast; the end anew where it is small."""
    rows, h = result.series.values[i].size, result.horizon
    shown = min(rows, max(15 * h, 2 * result.test.rows, 150))
    name, near = result.series.names[i], min(rows, max(5 * h, 30))
    if shown <= 20 * h:
        return [_picture(result, i, name, shown)]
    return [_picture(result, i, name, shown), _picture(result, i, f"{name}, the end", near)]


def _picture(result: ForecastResult, i: int, name: str, shown: int) -> Figure:
    """The last rows of a series, and the forecast."""
    series = result.series
    part, y = series.part_of(i), series.values[i]
    when = np.arange(1.0, y.size + 1) if part.times is None else part.times[: y.size]
    ahead = y.size + series.ahead(i, result.horizon) if part.times is None else \
        series.ahead(i, result.horizon)  # fmt: skip
    lines = [Line(OBSERVED, when[-shown:], y[-shown:], LOOKS[OBSERVED])]
    tested = latest_test(result, i)
    if tested is not None:
        lines.append(Line(TESTED, when[-len(tested) :], tested, LOOKS[TESTED]))
    lines.append(
        Line(FORECAST, ahead, result.values[i], LOOKS[FORECAST], result.lower[i], result.upper[i])
    )
    marked = None
    if i in result.test.row_of:
        span = when[[-min(result.test.rows, shown), -1]]
        marked = (span, "tested on")
    by = result.method_of(i)
    caption = f"By the {by}, with the {result.request.interval:.0%} interval."
    if shown < y.size:
        caption += f" The last {shown:,} of {y.size:,} rows are shown."
    legend = [line.name for line in lines]
    drawing = timeline(f"{name} and its forecast", lines, marked)
    return Figure(name, drawing, caption, legend, LOOKS, wide=True)


def _numbers(result: ForecastResult) -> list[Table]:
    """The forecast of the first series, folded."""
    series, steps = result.series, min(result.horizon, _STEPS)
    tables = []
    for i in range(min(PICTURES, len(series))):
        when = series.when(series.ahead(i, steps))
        rows = [
            [
                when[k],
                *(f"{array[i, k]:.6g}" for array in (result.values, result.lower, result.upper)),
            ]
            for k in range(steps)
        ]
        columns = [series.time or "step", "forecast", "lower", "upper"]
        tables.append(Table(f"Numbers: {series.names[i]}", columns, rows, folded=True))
    return tables


def all_series(result: ForecastResult) -> Section | None:
    """A table of all series, where there are several."""
    series, test = result.series, result.test
    if len(series) == 1:
        return None
    weights, rows = weights_of(result), []
    at = test.row_of
    for i in range(min(_LISTED, len(series))):
        errors = ["", ""]
        if test.result is not None and i in at:
            naive = test.best_naive()
            errors = [_short(float(test.result.errors[method]["mase"][at[i]]))
                      for method in (MODEL, naive)]  # fmt: skip
        season = ", ".join(map(str, result.seasons[i])) or "none"
        members = max(weights[i], key=lambda name: weights[i][name]) if weights else ""
        rows.append([
            series.names[i], f"{series.part_of(i).rows:,}", season, *errors,
            f"{result.values[i, 0]:.4g}", f"{result.values[i, -1]:.4g}", members,
        ])  # fmt: skip
    naive = test.best_naive() if test.result is not None else "naive"
    columns = ["series", "rows", "season", "MASE model", f"MASE {naive}", "next step", "last step",
               "largest member"]  # fmt: skip
    more = len(series) - len(rows)
    note = f"{more} more series are in forecast.csv." if more else ""
    lead = "MASE is the error in the test, in units of the mean change over a season before it."
    table = Table(f"{len(series)} series", columns, rows, note, text=(7,))
    return Section("series", "All series", lead, [table])


def _short(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else ""


def chosen(result: ForecastResult, words: Words) -> Section:
    """Settings, weights of members and notes."""
    series, content = result.series, []
    for i, weights in enumerate(weights_of(result)[:PICTURES]):
        ranked = sorted(weights.items(), key=lambda item: -item[1])
        rows = [[name, f"{share:.1%}"] for name, share in ranked]
        caption = "What members count" + (f": {series.names[i]}" if len(series) > 1 else "")
        content.append(Table(caption, ["member", "share"], rows, narrow=True))
    inputs = "known in advance" if result.known_in_advance else "known up to now"
    settings = [
        ["forecast by", ", ".join(dict.fromkeys(result.methods))],
        ["horizon", f"{result.horizon} steps"],
        ["interval", f"{result.request.interval:.0%}"],
        ["extra inputs", f"{', '.join(series.exog)}: {inputs}" if series.exog else "none"],
        ["calendar", str(result.request.calendar or "none")],
    ]
    search = result.search
    if search is not None:
        settings += [["settings tried", str(len(search.trials))]]
        settings += [[name, str(value)] for name, value in search.settings.items()]
    content.append(Table("Settings", ["setting", "value"], settings, text=(1,), narrow=True))
    if result.notes:
        notes = [[k, words(str(note))] for k, note in enumerate(result.notes, 1)]
        content.append(Table("Notes", ["", "what to know"], notes, text=(1,)))
    lead = (
        "The model weighs its members by the errors of their forecasts from rolling origins, those "
        "of recent ones counting more."
    )
    return Section("chosen", "What was chosen", lead, content)

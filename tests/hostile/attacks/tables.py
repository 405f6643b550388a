"""People's tables: what was written is what is read, dates go on by the calendar, nothing is lost."""

import csv
import io
import json
import math
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from hostile import table_files as files
from paralesn.tables.cleaning import Cleaning
from paralesn.tables.errors import TableError
from paralesn.tables.formulas import unescaped
from paralesn.tables.observations import Observations, read_observations
from paralesn.workflows.forecast import ForecastRequest, ForecastResult, forecast
from paralesn.workflows.forecast_report import as_record, error_table, write_csv

CASES = 120
RECIPES = files.SERIES
FIRST, AFTER_LAST = datetime(1678, 1, 1), datetime(2262, 1, 1)


def attack(recipe: dict[str, Any], folder: Path) -> str:
    recipe = _possible(recipe)
    count = len(recipe["values"])
    every = files.times_after(files.first_time(recipe), recipe["step"], count + 3)
    if every is None:
        return "refused"  # by Python's calendar, which says what is right
    rows = [k for k in range(count) if k not in recipe["left_out"]]
    cells = {
        k: [recipe["values"][(k + j) % count] for j in range(len(recipe["names"]))] for k in rows
    }
    path = _written(recipe, folder, [every[k] for k in rows], list(cells.values()))
    pattern = files.PATTERNS.get(recipe["dates"]) if recipe["given"] else None
    if recipe["then"] == "command":
        return _command(recipe, path, folder)
    cleaning = Cleaning(gaps=recipe["gaps"], time_format=pattern)
    found, error = files.tried(
        TableError, read_observations, path, recipe["names"], time=recipe["time"], cleaning=cleaning
    )
    if found is None:
        assert not _must_hold(recipe, every[:count], cells), f"refused a plain table: {error}"
        return "refused"
    if not recipe["layout"]["damage"] and not _is_lossy(recipe):
        _check_values(recipe, found, {every[k]: cells[k] for k in rows})
        if len(rows) == count >= 12 and recipe["step"] != "odd":
            _check_ahead(found, every)
    return _forecast(recipe, found, folder) if recipe["then"] == "forecast" else "held"


def _possible(recipe: dict[str, Any]) -> dict[str, Any]:
    """The recipe with what its format can say."""
    dates, step, names = recipe["dates"], recipe["step"], recipe["names"]
    is_coarse = step in ("day", "week", "month", "month end", "workday", "year")
    can = {"years": step == "year", "yyyymmdd": is_coarse, "epoch": step != "nanosecond"}
    recipe = recipe | {
        "dates": dates if can.get(dates, True) else "iso",
        "layout": {**recipe["layout"]},
    }
    if recipe["dates"] == "years":
        recipe["day"] = 0
    if not is_coarse:
        recipe["given"] = recipe["given"] and recipe["dates"] == "epoch"
    if recipe["layout"]["kind"] != "csv":
        plain = [name for name in dict.fromkeys(names) if name.isprintable()]
        recipe |= {"names": plain or ["y"], "note": None, "numbers": "plain", "missing": ""}
        recipe["layout"] |= {"packed": ""}
    recipe["names"] = [n for n in recipe["names"] if n not in (recipe["time"], "note")] or ["y"]
    return recipe


def _written(
    recipe: dict[str, Any], folder: Path, times: list[datetime], cells: list[list[Any]]
) -> Path:
    note, rows = recipe["note"], []
    for k, (time, values) in enumerate(zip(times, cells, strict=True)):
        texts: list[Any] = [files.number(v, recipe["numbers"], recipe["missing"]) for v in values]
        texts = values if recipe["layout"]["kind"] != "csv" else texts
        rows.append(
            [files.as_text(time, recipe["dates"]), *texts, *([note[k % len(note)]] if note else [])]
        )
    head = [recipe["time"], *recipe["names"], *(["note"] if note else [])]
    return files.write(
        folder / "table", [head, *files.mixed(rows, recipe["order"])], recipe["layout"]
    )


def _must_hold(recipe: dict[str, Any], times: list[datetime], cells: dict[int, Any]) -> bool:
    """Whether there is nothing about a table to refuse."""
    layout = recipe["layout"]
    columns = list(zip(*cells.values(), strict=True)) if cells else []
    return (
        not layout["damage"]
        and layout["encoding"] in ("utf-8", "utf-8-sig", "utf-16")
        and set(recipe["names"]) <= set(files.PLAIN)
        and len(set(recipe["names"])) == len(recipe["names"])
        and recipe["note"] is None
        and recipe["dates"] == "iso"
        and recipe["numbers"] == "plain"
        and recipe["missing"] in ("", "NA")
        and recipe["gaps"] != "fill"
        and all(FIRST <= time < AFTER_LAST for time in times)
        and len(columns) > 0
        and all(any(value is not None for value in column) for column in columns)
    )


def _is_lossy(recipe: dict[str, Any]) -> bool:
    """Whether the encoding cannot hold the names, so that others were written."""
    text = "".join(recipe["names"])
    return text.encode(recipe["layout"]["encoding"], "replace").decode(
        recipe["layout"]["encoding"], "replace"
    ) != text  # fmt: skip


def _check_values(
    recipe: dict[str, Any], found: Observations, truth: dict[datetime, list[float | None]]
) -> None:
    """Every row is there, at its time, with its values."""
    assert found.times is not None
    assert any(value is not None for values in truth.values() for value in values)
    values = [tuple(math.nan if v is None else v for v in row) for row in truth.values()]
    kept = [tuple(row) for row in found.values.tolist() if not all(map(math.isnan, row))]
    wanted = [row for row in values if not all(map(math.isnan, row))]
    assert Counter(map(repr, kept)) == Counter(map(repr, wanted)), (kept, wanted)
    if found.times.dtype.kind != "M" or any("rows then follow" in note for note in found.notes):
        return
    is_of_seconds = any("counts seconds" in note for note in found.notes)
    if any("set back" in note for note in found.notes) or (
        recipe["dates"] == "epoch" and not is_of_seconds  # as a note says
    ):
        return
    shift = timedelta(hours=2) if recipe["dates"] == "iso zone" else timedelta(0)
    at = dict(zip(found.times.astype("M8[us]").tolist(), found.values.tolist(), strict=True))
    for time, row in truth.items():
        if recipe["dates"] == "short":
            assert any(known.year % 100 == time.year % 100 for known in at)
            continue
        assert FIRST <= time < AFTER_LAST, f"{time} was read as something else"
        assert repr(at[time - shift]) == repr([math.nan if v is None else v for v in row]), time


def _check_ahead(found: Observations, every: list[datetime]) -> None:
    """The times to come are those of Python's calendar."""
    if found.clock is None or found.times is None or found.times.dtype.kind != "M":
        return
    if found.times[0] != np.datetime64(every[0]):  # another century, another zone
        return
    wanted = every[found.rows : found.rows + 3]
    ahead, error = files.tried(TableError, found.ahead, 3)
    if ahead is None:
        assert "go beyond" in str(error)
        assert wanted[-1] >= datetime(2262, 1, 1)
        return
    ahead = ahead.astype("M8[us]").tolist()
    assert ahead == wanted, (found.clock, ahead, wanted)


# -- forecasts -------------------------------------------------------------------------------------


def _forecast(recipe: dict[str, Any], found: Observations, folder: Path) -> str:
    # Of a ValueError, the command makes a line and an exit code.
    request = ForecastRequest(horizon=2, season=1, test=0.1)
    result, _ = files.tried(ValueError, forecast, found, request)
    if result is None:
        return "refused"
    write_csv(result, folder / "forecast.csv")
    json.dumps(as_record(result), allow_nan=False)
    _print(result)
    _check_forecast(recipe["names"], recipe["time"], result, folder / "forecast.csv")
    return "held"


def _print(result: ForecastResult) -> None:
    from rich.console import Console

    table = error_table(result)
    if table is not None:
        file = io.StringIO()
        Console(file=file, width=10_000).print(table)
        assert "\x1b" not in file.getvalue()


def _check_forecast(names: list[str], time: str, result: ForecastResult | None, path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    head = unescaped(head)
    assert head[0] == time
    assert len(head) == len(set(head)) == 1 + 4 * len(names), head
    assert [name for name in head if name in names] == names
    assert len(rows) == 2
    again = read_observations(path, names, time=time, cleaning=Cleaning(duplicates="first"))
    assert list(again.targets) == names
    for k, name in enumerate(names):
        written = [float(row[head.index(name)]) for row in rows]
        assert result is None or written == result.values[k].tolist()


def _command(recipe: dict[str, Any], path: Path, folder: Path) -> str:
    from typer.testing import CliRunner

    from paralesn.cli import app

    targets = [part for name in recipe["names"] for part in ("--target", name)]
    out = folder / "out"
    done = CliRunner().invoke(
        app, ["forecast", str(path), "--time", recipe["time"], *targets, "--horizon", "2", "--season",
              "1", "--test", "0.1", "--out", str(out)],
    )  # fmt: skip
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert "\x1b" not in done.output
    assert "Traceback" not in done.output
    if done.exit_code:
        assert done.exit_code in (2, 3)
        assert "Error" in done.stderr
        assert not out.exists() or not list(out.iterdir())
        return "refused"
    _check_forecast(recipe["names"], recipe["time"], None, out / "forecast.csv")
    json.loads((out / "report.json").read_text("utf-8"), parse_constant=_refuse)
    return "held"


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")

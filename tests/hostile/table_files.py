"""Tables as recipes: what is in them, and the files that programs would write of that."""

import bz2
import csv
import gzip
import io
import lzma
import random
import zipfile
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

PLAIN = ["y", "load", "Temp_2", "b7"]
NAMES = [
    *PLAIN, "y_lower", "y_upper", "y_by", "step", "time", "[/nope]", "$x_{$", "=1+1", "+a", "-b", "@c",
    "a,b", "a;b", 'say "x"', "two\nlines", "tab\tbed", "\x1b[31m", "naïve", "日本", "a" * 300, "0", "1e5",
    "nan", "#", "'", "\\", "None",
]  # fmt: skip
NOTES = [
    "x", "", "a,b", "a;b", 'q"q', '"', "line\nline", "line\r\nline", "\r", "=1+1", "1,5", "2020-01-01",
    "NA", "é", "日本", "\x1b", "\x00", "z" * 140_000, "\ufeff", "\u2028", "#", "12", "'",
]  # fmt: skip
ENCODINGS = [
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "cp1252",
    "latin-1",
]
DATES = ["iso", "iso zone", "dots", "us", "eu", "words", "short", "yyyymmdd", "epoch", "years"]
STEPS = [
    "day",
    "hour",
    "minute",
    "week",
    "month",
    "month end",
    "workday",
    "year",
    "nanosecond",
    "odd",
]

_rows = st.integers(0, 40)
DAMAGE = st.lists(
    st.tuples(st.sampled_from(["cut", "drop", "put", "swap"]), st.floats(0, 1), st.integers(0, 255)),
    max_size=3,
)  # fmt: skip
LAYOUTS = st.fixed_dictionaries({
    "kind": st.sampled_from(["csv"] * 8 + ["xlsx", "parquet"]),
    "sep": st.sampled_from(",;\t|"),
    "newline": st.sampled_from(["\n", "\r\n", "\r"]),
    "encoding": st.one_of(*[st.just("utf-8")] * 2, st.sampled_from(ENCODINGS)),
    "packed": st.sampled_from(["", "", "", "gz", "bz2", "xz", "zip"]),
    "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    "damage": st.one_of(st.just([]), st.just([]), DAMAGE),
})  # fmt: skip
NUMBERS = st.one_of(
    st.floats(-1000, 1000).map(lambda v: round(v, 2) + 0.0),
    st.integers(-9, 9).map(float),
    st.sampled_from([1e300, -1e-300, 2.0**53 + 2, 123456.75, 0.1, 1e16]),
    st.none(),
)
SERIES = st.fixed_dictionaries({
    "what": st.just("series"),
    "layout": LAYOUTS,
    "time": st.sampled_from(["day", "Datum", "date", "when"]),
    "names": st.lists(st.one_of(*[st.sampled_from(PLAIN)] * 3, st.sampled_from(NAMES)), min_size=1,
                      max_size=3, unique=True),
    "values": st.lists(NUMBERS, min_size=3, max_size=25),
    "year": st.one_of(*[st.integers(1950, 2030)] * 4, st.integers(1600, 2300), st.sampled_from([1, 9999])),
    "day": st.integers(0, 364),
    "step": st.sampled_from(STEPS),
    "dates": st.sampled_from(DATES),
    "given": st.booleans(),
    "left_out": st.lists(_rows, max_size=3),
    "order": st.sampled_from(["as it is", "newest first", "mixed"]),
    "numbers": st.sampled_from(["plain", "plain", "comma", "thousands"]),
    "missing": st.sampled_from(["", "NA", "-", "?"]),
    "note": st.one_of(st.none(), st.none(), st.lists(st.sampled_from(NOTES), min_size=1, max_size=4)),
    "gaps": st.sampled_from(["keep", "fill", "auto"]),
    "then": st.sampled_from(["read"] * 18 + ["forecast", "forecast", "command"]),
})  # fmt: skip


def tried(errors: Any, call: Callable[..., Any], *args: Any, **more: Any) -> tuple[Any, Any]:
    """What a call gives and None, or None and its error, if that is one of those expected."""
    try:
        return call(*args, **more), None
    except errors as error:
        return None, error


def first_time(recipe: dict[str, Any]) -> datetime:
    return datetime(recipe["year"], 1, 1) + timedelta(days=min(recipe["day"], 364))


def times_after(first: datetime, step: str, count: int) -> list[datetime] | None:
    """Times by Python's own calendar; None beyond the years that it has."""
    try:
        return [_after(first, step, k) for k in range(count)]
    except (OverflowError, ValueError):
        return None


def _after(first: datetime, step: str, k: int) -> datetime:
    even = {"day": timedelta(1), "hour": timedelta(hours=1), "minute": timedelta(minutes=1),
            "week": timedelta(7), "nanosecond": timedelta(microseconds=1)}  # fmt: skip
    if step in even:
        return first + k * even[step]
    if step == "odd":
        return first + timedelta(days=k * k, hours=k % 3)
    if step == "workday":
        monday = first - timedelta(first.weekday())
        return monday + timedelta(7 * (k // 5) + k % 5)
    months = k * (12 if step == "year" else 1) + first.month - 1
    if step == "month end":
        months += 1
        end = date(first.year + months // 12, months % 12 + 1, 1) - timedelta(1)
        return datetime(end.year, end.month, end.day)
    return datetime(first.year + months // 12, months % 12 + 1, min(first.day, 28))


def as_text(time: datetime, notation: str) -> str:
    day, month, year = f"{time.day:02}", f"{time.month:02}", f"{time.year:04}"
    clock = f" {time:%H:%M:%S}" if time.time() != datetime.min.time() else ""
    clock += f".{time.microsecond:06}" if time.microsecond else ""
    if notation.startswith("iso"):
        zone = f"{clock or ' 00:00:00'}+02:00" if "zone" in notation else clock
        return f"{year}-{month}-{day}{zone}"
    if notation == "epoch":
        return str(round((time - datetime(1970, 1, 1)) / timedelta(seconds=1)))
    words = f"{time.day} {['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'][time.month - 1]}"
    return {
        "dots": f"{day}.{month}.{year}", "us": f"{month}/{day}/{year}", "eu": f"{day}/{month}/{year}",
        "words": f"{words} {year}", "short": f"{day}.{month}.{year[2:]}", "years": year,
        "yyyymmdd": year + month + day,
    }[notation] + ("" if notation in ("years", "yyyymmdd") else clock)  # fmt: skip


PATTERNS = {"iso": "%Y-%m-%d", "dots": "%d.%m.%Y", "us": "%m/%d/%Y", "eu": "%d/%m/%Y",
            "short": "%d.%m.%y", "yyyymmdd": "%Y%m%d", "epoch": "epoch seconds",
            "years": "years"}  # fmt: skip


def number(value: float | None, notation: str, missing: str) -> str:
    if value is None:
        return missing
    if notation == "plain" or abs(value) >= 1e15 or value != round(value, 2):
        return repr(value)
    text = f"{value:,.2f}" if notation == "thousands" else f"{value:.2f}"
    return text.replace(".", ",") if notation == "comma" else text


def write(path: Path, rows: list[list[Any]], layout: dict[str, Any]) -> Path:
    """Write rows, the first of which are names, in the layout of a recipe; the file."""
    path = path.with_suffix("." + layout["kind"])
    if layout["kind"] == "csv":
        file = io.StringIO(newline="")
        csv.writer(file, delimiter=layout["sep"], lineterminator=layout["newline"],
                   quoting=layout["quoting"]).writerows(rows)  # fmt: skip
        data = file.getvalue().encode(layout["encoding"], errors="replace")
    else:
        data = _binary(rows, layout["kind"])
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zip": _zipped}
    data = pack.get(layout["packed"], bytes)(data)
    path.write_bytes(damaged(data, layout["damage"]))
    return path


def _binary(rows: list[list[Any]], kind: str) -> bytes:
    import pandas as pd

    file, table = io.BytesIO(), pd.DataFrame(rows[1:], columns=rows[0])
    table.to_excel(file, index=False) if kind == "xlsx" else table.to_parquet(file, index=False)
    return file.getvalue()


def _zipped(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("table.csv", data)
    return file.getvalue()


def damaged(data: bytes, damage: list[Any]) -> bytes:
    content = bytearray(data)
    for what, share, byte in damage:
        at = int(share * len(content))
        if what == "cut":
            del content[at:]
        elif what == "put":
            content[at:at] = bytes([byte])
        elif at < len(content):
            content[at : at + 1] = b"" if what == "drop" else bytes([byte])
    return bytes(content)


def mixed(rows: list[Any], order: str) -> list[Any]:
    if order == "newest first":
        return rows[::-1]
    return random.Random(len(rows)).sample(rows, len(rows)) if order == "mixed" else rows

"""Options that several commands have, and how the library's parameters are spelled as options."""

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from paralesn.tables.cleaning import Cleaning
    from paralesn.tables.errors import TableError
    from paralesn.tables.reading import Reading

# -- parameters of the library and options of the command line -------------------------------------

_SINGULAR = {"targets": "target", "values": "value"}  # given once for each
_PARAMETERS = (
    "targets", "exog", "time", "time_format", "missing", "gaps", "duplicates", "sep", "decimal",
    "thousands", "by", "case", "values", "label", "horizon", "test", "season", "interval", "search",
    "seed", "steps", "follow", "fresh", "calendar", "class_weight", "regress", "folds", "repeats",
)  # fmt: skip
_MARKED = re.compile(rf"`({'|'.join(_PARAMETERS)})(?:=('[^']*'|[^`']*))?`")


def option_of(parameter: str) -> str:
    """The option that sets a parameter: ``--time-format`` for ``time_format``."""
    return "--" + _SINGULAR.get(parameter, parameter).replace("_", "-")


def as_options(message: str) -> str:
    """A message of the library with its parameters, which stand in backticks, as options.

    Examples
    --------
    >>> as_options("2 values missing; `missing='interpolate'` fills them")
    '2 values missing; --missing interpolate fills them'
    >>> as_options("20 rows are fewer than `horizon=24`; see `time_format`")
    '20 rows are fewer than --horizon 24; see --time-format'
    >>> as_options("`regress=False` takes them as classes")
    '--no-regress takes them as classes'
    """

    def spelled(match: re.Match[str]) -> str:
        parameter, value = match.groups()
        if value is None or value == "True":
            return option_of(parameter)
        if value == "False":
            return option_of(parameter).replace("--", "--no-", 1)
        return f"{option_of(parameter)} {shlex.quote(value.strip(chr(39)))}"

    return _MARKED.sub(spelled, message)


# -- every command ---------------------------------------------------------------------------------

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
ModelFile = Annotated[
    Path, typer.Argument(help="A saved model.", exists=True, dir_okay=False, readable=True)
]
ResultFolder = Annotated[Path, typer.Option(help="Folder for the results.")]

# -- tables ----------------------------------------------------------------------------------------

TableFile = Annotated[
    Path,
    typer.Argument(help="CSV, Excel or Parquet; also compressed.", exists=True, dir_okay=False),
]
Interval = Annotated[
    float, typer.Option(min=0.01, max=0.999, help="Share of values that intervals should hold.")
]
TimeFormat = Annotated[
    str | None,
    typer.Option(
        help="How dates are written, in strptime's notation, or: day first, month first, years, "
        "epoch seconds, ...",
        show_default="as they look",
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(help="Missing values: keep, error or interpolate.", show_default="keep"),
]
Gaps = Annotated[
    str | None,
    typer.Option(
        help="Skipped times: fill (put rows in), keep (take rows as equal steps), or auto.",
        show_default="auto",
    ),
]
Duplicates = Annotated[
    str | None,
    typer.Option(
        help="Repeated times with other values: error, first, last or mean.", show_default="error"
    ),
]

Sep = Annotated[
    str | None,
    typer.Option(help="What separates columns: a character, tab or space.", show_default="found"),
]
Decimal = Annotated[
    str | None, typer.Option(help="Decimal separator: . or ,", show_default="found")
]
Thousands = Annotated[
    str | None, typer.Option(help="Separator of thousands, such as ,", show_default="found")
]
By = Annotated[
    list[str] | None,
    typer.Option(help="Column that tells series of a long table apart; may be repeated."),
]
_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}


def reading(sep: str | None, decimal: str | None, thousands: str | None) -> "Reading":
    """How a table is written; what cannot be is a wrong call."""
    from paralesn.tables.reader import TableError
    from paralesn.tables.reading import Reading

    try:
        return Reading(_SEPARATORS.get(sep or "", sep), decimal, thousands)
    except TableError as error:
        raise _wrong_call(error) from None


def _wrong_call(error: "TableError") -> typer.BadParameter:
    """An error of the library as one of the command line."""
    option = option_of(error.parameter or "")
    return typer.BadParameter(as_options(str(error)), param_hint=option)


def cleaning(
    missing: str | None, gaps: str | None, duplicates: str | None, time_format: str | None = None
) -> "Cleaning":
    """What to do about an untidy table; another choice than there is, is a wrong call."""
    from paralesn.tables.cleaning import Cleaning
    from paralesn.tables.reader import TableError

    try:
        return Cleaning(missing or "keep", gaps or "auto", duplicates or "error", time_format)
    except TableError as error:
        raise _wrong_call(error) from None


# -- series to classify ----------------------------------------------------------------------------

_LONG = "of a long table"
CaseFile = Annotated[
    Path, typer.Argument(help="Labelled series.", exists=True, dir_okay=False, show_default=False)
]
Case = Annotated[
    str | None,
    typer.Option("--case", help=f"Column {_LONG} that tells series apart.", show_default="case"),
]
CaseTime = Annotated[
    str | None, typer.Option("--time", help=f"Column {_LONG} with the time.", show_default="time")
]
Value = Annotated[
    list[str] | None,
    typer.Option(
        "--value", help=f"Column {_LONG} with a channel; may be repeated.", show_default="value"
    ),
]
CaseMissing = Annotated[
    str, typer.Option("--missing", help="Missing values: error or interpolate.")
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label", help=f"Column {_LONG} with the class, or the number.", show_default="label"
    ),
]


def case_missing(missing: str) -> None:
    """Check what to do about missing values of series to classify."""
    if missing not in ("error", "interpolate"):
        expected = f"--missing is {missing!r}, expected error or interpolate"
        raise typer.BadParameter(expected, param_hint="--missing")


def case_columns(
    case: str | None, time: str | None, values: list[str] | None, label: str | None
) -> dict[str, Any]:
    """Names of the columns of a long table, as far as they are given."""
    given = {"case": case, "time": time, "values": tuple(values or ()), "label": label}
    return {role: name for role, name in given.items() if name}


def class_weight(texts: list[str] | None) -> "dict[str, float] | str | None":
    """Weights of classes from balanced, or from LABEL=WEIGHT once for each."""
    if not texts:
        return None
    if [text.strip().lower() for text in texts] == ["balanced"]:
        return "balanced"
    from paralesn.tables.numerals import plain_numbers

    weights: dict[str, float] = {}
    for text in texts:
        label, equals, number = text.rpartition("=")
        try:
            (weight,) = plain_numbers([number])
        except ValueError:
            weight = -1.0
        if not equals or not label or not 0 <= weight < float("inf"):
            expected = "balanced, or a label and its weight such as sick=5"
            raise typer.BadParameter(
                f"--class-weight is {text!r}, expected {expected}", param_hint="--class-weight"
            )
        if label in weights:
            raise typer.BadParameter(
                f"--class-weight gives {label!r} two weights", param_hint="--class-weight"
            )
        weights[label] = weight
    return weights


# -- values ----------------------------------------------------------------------------------------


def season(text: str) -> str | int:
    """Rows of a season from auto or a number; 1: none."""
    if text.strip().lower() == "auto":
        return "auto"
    if re.fullmatch("[0-9]{1,9}", text.strip()) and int(text) >= 1:
        return int(text)
    raise typer.BadParameter(
        f"--season is {text!r}, expected auto or a number of rows", param_hint="--season"
    )


def calendar(text: str | None) -> list[str] | str | None:
    """Parts of the calendar from names with commas between them, or auto."""
    if text is None or text.strip().lower() == "none":
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    return "auto" if names == ["auto"] else names


def seconds(text: str | None) -> float | None:
    """Seconds from 90, 60s, 2m, 1h or 500ms."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|min|h)?\s*", text)
    factor = {None: 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
    found = float(match[1]) * factor[match[2]] if match else 0.0
    if not 0 < found < float("inf"):
        expected = "a time above zero such as 60s, 2m or 90 (seconds)"
        raise typer.BadParameter(f"expected {expected}, got {text!r}", param_hint="--search")
    return found


def finite_seconds(value: float) -> float:
    """Seconds that can be spent."""
    if not 0 < value < float("inf"):
        raise typer.BadParameter(f"expected seconds above zero, got {value:g}")
    return value


_NAME, _RESULT = 255, 80  # bytes of a name, and of the longest of a result in a folder


def check_name(path: Path, option: str) -> None:
    """Raise for a name that no file or folder can have, before hours of work and not after."""
    why: object = None
    if any(len(os.fsencode(part)) > _NAME for part in path.parts):
        why = f"a name is longer than {_NAME} bytes"
    else:
        try:
            os.lstat(path / ("x" * _RESULT))
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError) as error:  # too long a path; a character that cannot be in it
            why = getattr(error, "strerror", None) or error
    raise typer.BadParameter(f"{str(path)[:60]!r} cannot be written: {why}", param_hint=option)


def folder(out: Path, option: str = "--out") -> Path:
    """The folder, checked to be one or that it can be made, with files in it."""
    check_name(out, option)
    if not out.parent.is_dir():
        raise typer.BadParameter(f"the folder {out.parent} does not exist", param_hint=option)
    if out.exists() and not out.is_dir():
        raise typer.BadParameter(f"{out} is not a folder", param_hint=option)
    place = out if out.is_dir() else out.parent
    if not os.access(place, os.W_OK | os.X_OK):  # said before hours of work, not after
        raise typer.BadParameter(f"the folder {place} cannot be written to", param_hint=option)
    return out


def file_in_folder(path: Path | None, option: str) -> None:
    """Check that a file can be written: its folder exists, and nothing else has its name."""
    if path is None:
        return
    check_name(path, option)
    if not path.parent.is_dir():
        raise typer.BadParameter(f"the folder {path.parent} does not exist", param_hint=option)
    if not path.name or (path.exists() and not path.is_file()):  # a folder, a device
        raise typer.BadParameter(f"{path} is not a file", param_hint=option)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise typer.BadParameter(
            f"the folder {path.parent} cannot be written to", param_hint=option
        )

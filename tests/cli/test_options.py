"""The library names its parameters, the command line its options; help is grouped."""

import ast
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import paralesn
from paralesn.cli import app
from paralesn.cli.options import as_options, option_of
from paralesn.cli.panels import PANELS
from paralesn.tables.cleaning import Cleaning
from paralesn.tables.reader import TableError

PACKAGE = Path(paralesn.__file__).parent


def string_literals(path):
    """The strings of a module, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value


def test_only_the_command_line_speaks_of_options():
    modules = [
        path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "cli"
    ]
    assert len(modules) > 100
    speaking = {
        f"{path.relative_to(PACKAGE)}: {text[:60]!r}"
        for path in modules
        for text in string_literals(path)
        if re.search(r"(?<![\w-])--[a-z]", text)
    }
    assert speaking == set()


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("no column 'x' (`targets`); its", "no column 'x' (--target); its"),
        ("`time_format='%d %m'` is no pattern", "--time-format '%d %m' is no pattern"),
        ("fewer than `horizon=24`: more rows", "fewer than --horizon 24: more rows"),
        ("`gaps='fill'` puts rows in", "--gaps fill puts rows in"),
        ("`units` is the library's", "`units` is the library's"),
        ("a column named `odd", "a column named `odd"),
    ],
)
def test_parameters_are_spelled_as_options(message, expected):
    assert as_options(message) == expected


def test_every_parameter_is_an_option_of_a_command():
    from typer.main import get_command

    from paralesn.cli.options import _PARAMETERS

    options = {
        option
        for command in get_command(app).commands.values()
        for parameter in command.params
        for option in parameter.opts
    }
    assert {option_of(parameter) for parameter in _PARAMETERS} <= options


@pytest.mark.parametrize("parameter", ["missing", "gaps", "duplicates"])
def test_errors_carry_the_name_of_the_parameter(parameter):
    with pytest.raises(TableError, match=f"`{parameter}` is 'zero', expected ") as caught:
        Cleaning(**{parameter: "zero"})
    assert caught.value.parameter == parameter


def test_help_groups_the_commands_and_fits_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = CliRunner().invoke(app, ["--help"]).output.splitlines()
    assert max(map(len, lines)) <= 80
    titles = [i for i, line in enumerate(lines) for panel in PANELS if f"─ {panel} ─" in line]
    assert len(titles) == len(PANELS)
    for first, names in zip(titles, PANELS.values(), strict=True):
        end = next(k for k in range(first, len(lines)) if lines[k].startswith("╰"))
        listed = [line[2:].split()[0] for line in lines[first + 1 : end] if line[2] != " "]
        assert tuple(listed) == names


def test_every_command_has_a_panel():
    from typer.main import get_command

    assert sorted(get_command(app).commands) == sorted(sum(PANELS.values(), ()))


def test_how_a_table_is_written():
    from typer import BadParameter

    from paralesn.cli.options import reading
    from paralesn.tables.reading import Reading

    assert reading("tab", ",", None) == Reading(sep="\t", decimal=",")
    assert reading(None, None, "'") == Reading(thousands="'")
    with pytest.raises(BadParameter, match="--decimal is 'x', expected"):
        reading(None, "x", None)

"""Records of runs and of studies, damaged on purpose: what is intact must still be reported.

A case is a folder of real records with edits: fields dropped and replaced, bytes flipped, lines torn,
repeated and put between. The truth is what was not touched.
"""

import io
import json
import re
import warnings
from copy import deepcopy
from functools import cache
from html.parser import HTMLParser

from hypothesis import strategies as st
from rich.console import Console

import stored_records as made
from paralesn.files import DamagedFileWarning
from paralesn.paper import (
    configurations,
    records,
    reproduce,
    results,
    runs,
    selection,
    shipped_records,
)
from paralesn.paper.catalogue import models
from paralesn.paper.table import as_csv, as_latex, as_rich
from paralesn.report import build, stored

CASES = 40

SCRIPT = "<script>alert(1)</script>"
VALUES = [
    None, True, False, -1, 0, 1, 1.5, -1e308, 1e308, 1e-320, 2**70, 10**400, "", SCRIPT, "\"' onx='",
    "]]>&amp;<!--", "\u2028", "a\0b", "[/nope]", "[red]", "$x_{$", "=1+1", "x" * 5000, "paper",
    "narma10", "blink", "ParalESN", "ESN", "LSTM", "nrmse", [], {}, [1], [[1, 2]], ["a"], {"a": 1},
    {"a": {SCRIPT: []}}, {SCRIPT: 1.0}, "race", "lra", "lra trial", "ucr", "regression",
]  # fmt: skip
LINES = [
    b"", b" ", b"\r", b"null", b"[]", b"{}", b"\xff\xfe", b"\0" * 50, b'{"kind": "regression"', b"}",
    b'{"kind": NaN}', b'{"kind": "a", "kind": "b"}', b'{"kind": %s}' % (b"9" * 5000), b"[" * 20_000,
    b'{"a":' * 3000, b'{"kind": "\\ud800"}', b'{"kind": 1e999}', b'{"kind": "\xe2\x80\xa8"}',
    b'\xef\xbb\xbf{"kind": "race"}', b'{"kind": "unknown", "task": "mg", "\xc2\x85": 1}',
]  # fmt: skip
STUDIES = ("complexity", "sensitivity", "universality")

_at = st.integers(0, 10_000)
RECIPES = st.fixed_dictionaries(
    {
        "lines": st.lists(_at, min_size=1, max_size=8),
        "studies": st.lists(st.sampled_from(STUDIES), unique=True),
        "edits": st.lists(
            st.one_of(
                st.tuples(st.just("drop"), _at, _at),
                st.tuples(st.just("set"), _at, _at, st.integers(0, len(VALUES) - 1)),
                st.tuples(st.just("byte"), _at, _at, st.integers(0, 255)),
                st.tuples(st.just("repeat"), _at),
                st.tuples(st.just("put"), _at, st.integers(0, len(LINES) - 1)),
                st.tuples(st.just("tear"), _at),
                st.tuples(st.just("no end")),
            ).map(list),
            max_size=5,
        ),
    }
)


@cache
def _real():
    """Records of every kind, as commands leave them."""
    kinds = ("classification", "mnist")
    shipped = [
        {name: value for name, value in run.items() if name != "shipped"}
        for run in shipped_records.shipped().runs
        if run["kind"] in kinds
    ]
    chosen = configurations.shipped("smnist", "ParalESN", "extended")
    arena = made.run(chosen, 0, 0.8) | {"kind": "lra", "task": "lra-text"}
    long_term = made.run(chosen, 0, 0.4) | {
        "kind": "long-term", "task": "etth1", "model": "ReservoirForecaster", "metric": "mse",
        "alpha": 1.0, "metrics": {"mse": 0.4, "mae": 0.3},
    }  # fmt: skip
    archive = {
        "kind": "ucr", "task": "FordA", "model": "ReservoirClassifier", "configuration": {},
        "seed": 0, "metric": "accuracy", "metrics": {"accuracy": 0.9712}, "seconds": 4.0,
        "timing": {"total": 5.5}, "sizes": [3601, 1320, 500, 2], **made.SURROUNDINGS,
    }  # fmt: skip
    trial = {
        "kind": "lra trial", "task": "lra-text", "model": "ParalESN (deep)", "space": "extended",
        "seed": 1000, "configuration": {"units": 8}, "trial_cases": 60, "validation": 0.7,
        "chosen": 10.0, "seconds": 3.0, **made.SURROUNDINGS,
    }  # fmt: skip
    return [
        *made.regression()[::9], *shipped[::5],
        *made.race(), arena, long_term, archive, trial, made.run(chosen, 1, 0.9),
    ]  # fmt: skip


@cache
def _studies():
    errors = [
        {"units": units, "seed": 0, "linear": 0.9, "perceptron": 1 / units, "formula": 0.1 / units}
        for units in (2, 8, 32)
    ]
    universality = {"experiment": "universality", "settings": {"seeds": 1}, "results": errors}
    return {
        "complexity": made.complexity(),
        "sensitivity": made.sensitivity(),
        "universality": universality | made.SURROUNDINGS,
    }


# -- edits -----------------------------------------------------------------------------------------


def _places(value, place=()):
    """Paths to everything in a record."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        yield (*place, key)
        if isinstance(item, dict | list):
            yield from _places(item, (*place, key))


def _holder(record, place):
    for key in place[:-1]:
        record = record[key]
    return record


def _edited(record, edit):
    """A copy of a record with a field dropped or replaced."""
    record = deepcopy(record)
    places = list(_places(record))
    if not places:
        return record
    place = places[edit[2] % len(places)]
    holder = _holder(record, place)
    if edit[0] == "drop":
        del holder[place[-1]]
    else:
        holder[place[-1]] = VALUES[edit[3]]
    return record


def _flipped(line, edit):
    at = edit[2] % max(1, len(line))
    return line[:at] + bytes([edit[3]]) + line[at + 1 :]


class Folder:
    """Lines of a file and texts of studies, each with the record that it holds if it is untouched."""

    def __init__(self, recipe):
        real = _real()
        self.lines = [(_line(real[at % len(real)]), real[at % len(real)]) for at in recipe["lines"]]
        self.studies = {
            name: (_line(_studies()[name]), _studies()[name]) for name in recipe["studies"]
        }
        self.end = b"\n"
        for edit in recipe["edits"]:
            self._apply(edit)

    def _apply(self, edit):
        names = [*range(len(self.lines)), *self.studies]
        if edit[0] in ("drop", "set", "byte"):
            name = names[edit[1] % len(names)]
            held = self.studies if isinstance(name, str) else self.lines
            held[name] = (self._changed(*held[name], edit), None)
        elif edit[0] == "repeat":
            self.lines.append(self.lines[edit[1] % len(self.lines)])
        elif edit[0] == "put":
            self.lines.insert(edit[1] % (len(self.lines) + 1), (LINES[edit[2]], None))
        elif edit[0] == "tear":
            line, _ = self.lines[-1]
            self.lines[-1], self.end = (line[: edit[1] % max(1, len(line))], None), b""
        else:
            self.end = b""

    @staticmethod
    def _changed(line, record, edit):
        if edit[0] == "byte" or record is None:
            return _flipped(line, ["byte", 0, edit[2], edit[3] if edit[0] == "byte" else 0]) or b"?"
        return _line(_edited(record, edit))

    def write(self, folder):
        content = b"\n".join(line for line, _ in self.lines) + self.end
        (folder / "records.jsonl").write_bytes(content)
        for name, (text, _) in self.studies.items():
            (folder / f"{name}.json").write_bytes(text)

    def intact(self):
        return [record for _, record in self.lines if record is not None]

    def touched(self):
        return sum(record is None for _, record in self.lines)


def _line(record):
    return json.dumps(record, sort_keys=True).encode() or b"?"


# -- the attack ------------------------------------------------------------------------------------


def attack(recipe, folder):
    """Read, continue and report records of which some are damaged."""
    case = Folder(recipe)
    case.write(folder)
    path = folder / "records.jsonl"
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = records.read(path)
        _check_read(case, path, found, warned)
        _check_ledger(case, path)
        outcome = _check_report(case, folder)
    strange = [w for w in warned if not issubclass(w.category, DamagedFileWarning)]
    assert not strange, [str(w.message) for w in strange]
    return outcome


def _check_read(case, path, found, warned):
    """All that is intact, in order, and a note on each line that is not."""
    rest = iter(found)
    assert all(any(record == one for one in rest) for record in case.intact()), "a record is lost"
    lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
    noted = 0
    for warning in warned:
        text = str(warning.message)
        assert str(path) in text
        more = re.search(r"; and (\d+) more$", text)
        noted += min(text.count("line "), 5) + (int(more[1]) if more else 0)
    assert len(found) + noted == len(lines), (len(found), noted, len(lines))


def _check_ledger(case, path):
    """Runs that are not repeated, and one more."""
    known = runs.known(path)
    everything = records.read(path, runs.problem)
    last = {runs._key(record): record for record in everything}
    last.pop(None, None)
    assert known == last
    sound = [record for record in case.intact() if runs._key(record) is not None]
    assert {runs._key(record) for record in sound} <= known.keys()
    new = made.regression()[0] | {"seed": 77}
    ledger = runs._ledger(path)
    assert ledger.add(new) == ledger.add(new | {"seconds": 9.0}) == known.get(runs._key(new), new)
    again = runs.known(path)
    assert again == known | {runs._key(new): ledger.records[runs._key(new)]}


def _check_report(case, folder):
    """The page and the tables: everything intact is in them, and nothing else is markup."""
    out = folder / "report"
    try:
        held = stored.load([folder])
    except ValueError as error:
        if "records must be of protocols" not in str(error) or case.intact():
            raise
        return "refused"
    assert all(record in held.runs for record in case.intact())
    for name, (_, record) in case.studies.items():
        assert record is None or held.of_experiment(name) == [record]
    out.mkdir()
    findings = build.gather(held)
    sections = build.sections(findings)
    page = build.write(findings, sections, out).read_text(encoding="utf-8")
    _check_page(page)
    json.dumps(build.data(sections), allow_nan=False)
    runs_of_tables = [run for run in case.intact() if runs._key(run) is not None]
    expected = selection.table_cells(runs_of_tables)
    assert expected.keys() <= findings.cells.keys()
    _check_tables(findings.cells, out)
    return "held"


def _check_tables(cells, out):
    """What `reproduce` prints and writes."""
    tables = reproduce.tables(cells)
    written = reproduce.write(cells, tables, out)
    assert all(path.stat().st_size >= 0 for path in written)
    console = Console(file=io.StringIO(), width=200)
    for table in (
        *(one for each in tables.values() for one in each),
        results.times(cells, list(models())),
    ):
        if table.lines:
            console.print(as_rich(table))
            as_latex(table)
            as_csv(table)
    results.notes(cells.values())
    results.summary(cells)


class Outline(HTMLParser):
    """Checks that what is opened is closed, and that nothing can act but our own script."""

    VOID = ("meta", "link", "br", "input")

    def __init__(self):
        super().__init__()
        self.open, self.scripts = [], 0

    def handle_starttag(self, tag, attributes):
        assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9]*", tag), tag
        assert tag not in ("img", "iframe", "object", "embed", "base"), tag
        self.scripts += tag == "script"
        for name, value in attributes:
            assert re.fullmatch(r"[a-zA-Z:_-]+[0-9]*", name), name
            assert not name.startswith("on"), name
            assert not str(value).lower().startswith("javascript:")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def _check_page(page):
    assert SCRIPT not in page
    outline = Outline()
    outline.feed(page)
    outline.close()
    assert not outline.open
    assert outline.scripts == 1

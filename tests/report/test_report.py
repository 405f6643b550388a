"""The report: which records count, ranks and trade-offs against other truths, the page's markup."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from markupsafe import Markup, escape
from typer.testing import CliRunner

import stored_records as made
from paralesn.cli import app
from paralesn.files import DamagedFileWarning
from paralesn.paper import configurations, reproduce
from paralesn.paper.catalogue import MAIN, models
from paralesn.paper.results import Row
from paralesn.paper.selection import table_cells
from paralesn.report import build, comparison, scales, stored
from paralesn.report.elements import LOOKS, Figure, Findings, Note, Section, Table
from paralesn.report.labels import Box, Label, place_labels
from paralesn.report.page import page
from paralesn.report.sections import SECTIONS, archive, long_range

CHOSEN = configurations.shipped("narma10", "ParalESN", "extended")
PAPER = configurations.shipped("narma10", "ParalESN", "paper")
OTHER = replace(CHOSEN, configuration={**CHOSEN.configuration, "tau": 0.123})


@pytest.fixture
def folders(tmp_path):
    return made.write_all(tmp_path)


def _page(folders, out):
    found = build.gather(stored.load(folders))
    sections = build.sections(found)
    return found, sections, build.write(found, sections, out).read_text(encoding="utf-8")


# -- which records count ---------------------------------------------------------------------------


def test_the_best_on_validation_data_counts_whatever_was_recorded_last():
    worse = replace(OTHER, validation=CHOSEN.validation * 2)
    better = replace(OTHER, validation=CHOSEN.validation / 2)
    for other, expected in ((worse, 0.1), (better, 0.5)):
        for order in (1, -1):
            runs = [made.run(CHOSEN, 0, 0.1), made.run(other, 0, 0.5)][::order]
            assert table_cells(runs)["narma10", Row("ParalESN")].mean == expected


def test_records_without_a_validation_score_take_that_of_the_package():
    old = [made.run(OTHER, 0, 0.5), made.run(CHOSEN, 0, 0.1), made.run(OTHER, 1, 0.5)]
    for one in old:
        del one["validation"]
    assert table_cells(old)["narma10", Row("ParalESN")].mean == 0.1
    unknown = [one for one in old if one["configuration"] == OTHER.configuration]
    assert table_cells(unknown)["narma10", Row("ParalESN")].seeds == 2


def test_rows_are_the_better_space_and_the_papers(tmp_path):
    runs = [made.run(CHOSEN, s, 0.1 + s) for s in (0, 1)] + [made.run(PAPER, 0, 0.7)]
    best, paper = (CHOSEN, PAPER) if CHOSEN.validation < PAPER.validation else (PAPER, CHOSEN)
    cells = table_cells(runs)
    assert cells["narma10", Row("ParalESN")].space == best.space
    assert cells["narma10", Row("ParalESN", "paper")].mean == 0.7
    assert paper.space in ("paper", "extended")


def test_a_run_that_was_recorded_twice_counts_once():
    first, again = made.run(CHOSEN, 0, 0.9), made.run(CHOSEN, 0, 0.1)
    cell = table_cells([first, again])["narma10", Row("ParalESN")]
    assert (cell.seeds, cell.mean) == (1, 0.1)


def test_cells_agree_with_those_of_reproduce(tmp_path):
    """A real run of two configurations, by the command itself."""
    done = reproduce.reproduce(["mg"], ["SCR", "ParalESN"], tmp_path, seeds=1)
    cells = table_cells(stored.load([tmp_path]).runs)
    assert cells == done.cells
    assert len(cells) == 4


def test_a_record_that_is_not_whole_is_passed_over_by_what_it_lacks(tmp_path):
    whole, lacking = made.run(CHOSEN, 0, 0.1), made.run(CHOSEN, 1, 0.3)
    del lacking["metrics"], lacking["space"]
    made.write(tmp_path, [whole, lacking])
    with pytest.warns(DamagedFileWarning, match=r"line 2 is without space, metrics"):
        found = stored.load([tmp_path])
    assert table_cells(found.runs)["narma10", Row("ParalESN")].seeds == 1


# -- reading ---------------------------------------------------------------------------------------


def test_folders_files_and_what_is_neither(tmp_path, folders, monkeypatch):
    everything = stored.load(folders)
    assert {one["experiment"] for one in everything.experiments} == {
        "complexity", "sensitivity", "universality",
    }  # fmt: skip
    assert "results.json" not in [file.name for file in everything.files]
    assert len(stored.load([folders[1] / "race.jsonl"]).runs) == 2
    monkeypatch.chdir(tmp_path)
    assert stored.load().runs == everything.runs  # the folders that commands write to
    (tmp_path / "other.json").write_text("{}")
    for wrong in ("other.json", "absent"):
        with pytest.raises(ValueError, match=rf"records must be.*{wrong}"):
            stored.load([tmp_path / wrong])
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(ValueError, match="there are no records in results, complexity"):
        stored.load()


# -- the page --------------------------------------------------------------------------------------


class Outline(HTMLParser):
    """Headings, ids, and whether what is opened is closed."""

    VOID = ("meta", "link")  # in HTML; in SVG what is empty says so

    def __init__(self):
        super().__init__()
        self.open, self.levels, self.ids, self.tags = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_accessible(tmp_path, folders):
    _, sections, text = _page(folders, tmp_path / "report")
    outline = Outline()
    outline.feed(text)
    assert outline.open == []
    assert len(set(outline.ids)) == len(outline.ids)
    assert outline.levels[0] == 1
    assert outline.levels.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(outline.levels, outline.levels[1:], strict=False))
    by_tag = {}
    for tag, attributes in outline.tags:
        by_tag.setdefault(tag, []).append(attributes)
    assert len(by_tag["caption"]) == len(by_tag["table"])
    assert all(one.get("scope") in ("row", "col") for one in by_tag["th"])
    charts = [one for one in by_tag["svg"] if "chart" in one.get("class", "")]
    assert len(charts) > 8
    assert all(one["role"] == "img" and one["aria-label"] for one in charts)
    links = [one["href"] for one in by_tag["a"]]
    assert all(link[1:] in outline.ids for link in links if link.startswith("#"))
    assert not re.search(
        r"""(src|href)=["']?(https?:)?//|url\(|@import""", text.split("<script>")[0]
    )
    assert len(text) < 1_000_000
    assert {s.key for s in sections if s.missing} == {"classification", "earlier"}


def test_tables_hold_the_numbers_of_the_records(tmp_path, folders):
    found, _, text = _page(folders, tmp_path / "report")
    shown = re.findall(
        r'<td([^>]*) data-task="(\w+)" data-model="([^"]+)" data-mean="([^"]+)">(.*?)</td>', text
    )
    runs = made.regression()
    assert {task for _, task, *_ in shown} >= {run["task"] for run in runs}
    for kind, task, model, mean, content in shown:
        cell = found.cells[task, Row(model)]
        same = [
            r["metrics"]["nrmse"]
            for r in runs
            if (r["task"], r["model"], r["space"]) == (task, model, cell.space)
        ]
        if same:
            assert float(mean) == pytest.approx(np.mean(same))
        assert f'<span class="ours">{float(mean) / cell.task.scale:.2f}</span>' in content
        if cell.paper is not None:
            assert f"paper {cell.paper.mean / cell.task.scale:.1f}" in content
            assert f"{cell.difference:+.0%}" in content
        if model in MAIN and not task.startswith("smnist") and "best" in kind:
            losses = [cell.task.loss(found.cells[task, Row(m)].mean) for m in MAIN]
            assert cell.task.loss(cell.mean) <= max(losses)
    for table in re.findall(r"<table>.*?</table>", text, re.DOTALL):
        if "<caption>Memory" in table or "<caption>Forecasting" in table:
            for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]:
                entries = re.findall(
                    r'<td( class="best")? data-task="(\w+)".*?data-mean="(.*?)"', row
                )
                task = found.cells[entries[0][1], Row("ESN")].task
                bold = [float(mean) for kind, _, mean in entries if kind]
                assert bold == [min((float(m) for *_, m in entries), key=task.loss)]


def test_what_has_no_records_is_said_and_not_shown(tmp_path):
    made.write(tmp_path, made.race(), "race.jsonl")
    _, sections, text = _page([tmp_path], tmp_path / "report")
    missing = [section.title for section in sections if section.missing]
    assert len(missing) == len(SECTIONS) - 3  # the race, versions and machine, nothing run again
    absent = text[text.index('id="absent"') :]
    for title in missing:
        assert f"<dt>{escape(title)}</dt>" in absent
    assert 'id="race"' in text
    assert 'id="scaling"' not in text


def test_text_is_escaped_wherever_it_stands():
    """Only `Markup` is taken for HTML."""
    bad = '<b id="x"> & \''
    table = Table(bad, [bad, bad], [[bad, bad], [Markup("<i>"), Markup("<s>")]], note=bad)
    figure = Figure(bad, Markup("<svg></svg>"), bad, legend=["ESN"], data=table)
    sections = [
        Section("one", bad, bad, [table, figure, Note(bad)]),
        Section("two", bad, missing=bad),
    ]
    text = page(bad, bad, sections, bad)
    body = text[text.index("<body>") : text.index("<script>")]
    assert "<b id" not in text
    assert body.count(str(escape(bad))) >= 15
    assert body.count("<i>") == body.count("<s>") == 2
    assert "<svg></svg>" in body


def test_every_model_can_be_drawn():
    assert set(models()) <= set(LOOKS)


@pytest.mark.parametrize("scheme", [0, 1])
def test_colours_have_contrast(scheme):
    """4.5 for text and 3 for what is drawn, by WCAG 2, in the light and the dark."""
    style = files("paralesn.report").joinpath("assets", "style.css").read_text()
    colours = dict(re.findall(r"--(\w+): (#\w{6})", style.split(":root {")[1 + scheme]))

    def light(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return np.dot(linear, (0.2126, 0.7152, 0.0722))

    def contrast(a, b):
        high, low = sorted((light(colours[a]), light(colours[b])), reverse=True)
        return (high + 0.05) / (low + 0.05)

    for text in ("ink", "soft", "accent", "win", "loss", "even"):
        for ground in ("paper", "card", "wash"):
            assert contrast(text, ground) >= 4.5, (text, ground)
    for drawn in ("c0", "c1", "c2", "c3", "c4", "c5"):
        assert contrast(drawn, "card") >= 3, drawn


# -- axes ------------------------------------------------------------------------------------------


def test_ticks_are_round_and_within():
    assert scales.Scale(0, 1, 0, 100).ticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert scales.Scale(1, 1e6, 0, 100, True).ticks() == [10.0**i for i in range(7)]
    assert scales.Scale(0.9, 55, 0, 1, True).ticks() == pytest.approx([1, 2, 5, 10, 20, 50])
    one = scales.scale([3.0], 0, 10)
    assert one.low < 3 < one.high
    assert scales.Scale(1, 100, 0, 10, True)(10) == pytest.approx(5)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.2, "0.2"), (0.005, "0.005"), (1e-6, "10⁻⁶"), (2e-7, "2·10⁻⁷"), (1500, "1.5k"), (1e9, "1G"), (-20, "-20")],
)  # fmt: skip
def test_labels_are_short(value, text):
    assert scales.short(value) == text


# -- labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [3.0, 15.0, 80.0])
def test_labels_stand_apart_and_inside(spread):
    """Of four crowded points, as of the paper's four models: no label over another or a mark."""
    pane = (46.0, 12.0, 390.0, 230.0)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        centre = rng.uniform((80, 40), (350, 200))
        points = np.clip(centre + rng.normal(0, spread, (4, 2)), (50, 20), (386, 226))
        labels = [Label(*map(float, p), name) for p, name in zip(points, MAIN, strict=True)]
        spots = place_labels(labels, [(one.x, one.y) for one in labels], pane)
        boxes = [one.box(spot) for one, spot in zip(labels, spots, strict=True)]
        marks = [Box(x - 4, y - 4, x + 4, y + 4) for x, y, _ in labels]
        for i, box in enumerate(boxes):
            assert all(box.overlap(other) == 0 for other in boxes[i + 1 :])
            assert all(box.overlap(mark) == 0 for mark in marks)
            assert box.overlap(Box(*pane)) == pytest.approx(box.area)


# -- the command -----------------------------------------------------------------------------------


def test_the_command_writes_a_page_and_prints_data(tmp_path, folders):
    arguments = ["report", *map(str, folders), "--fresh-only", "--out", str(tmp_path / "page")]
    arguments.append("--json")
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    cells = table_cells(stored.load(folders).runs)
    scores = {(task, row.model): cell.mean for (task, row), cell in cells.items() if not row.space}
    ranked = comparison.ranking(scores, MAIN)
    assert data["comparison"]["ranking"]["average_ranks"] == dict(
        zip(ranked.models, ranked.ranks, strict=True)
    )
    assert set(data["comparison"]["trade_off"]["models"]) == set(MAIN)
    assert data["page"] == str(tmp_path / "page" / "index.html")
    assert "classification" in data["missing"]
    assert "Left out: Time series classification" in result.stderr
    assert (tmp_path / "page" / "index.html").exists()


def test_without_what_draws_the_picture_the_page_is_there(tmp_path, folders, monkeypatch):
    for name in ("aeon", "aeon.visualisation", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    result = CliRunner().invoke(
        app, ["report", *map(str, folders), "--out", str(tmp_path / "page")]
    )
    assert result.exit_code == 0, result.output
    assert "pip install 'paralesn[aeon,plot]'" in result.output
    assert (tmp_path / "page" / "index.html").exists()


@pytest.mark.slow
def test_nothing_to_report_is_an_error_that_says_what_to_do(tmp_path):
    call = [sys.executable, "-m", "paralesn", "report", "--fresh-only"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "`paralesn reproduce` makes some" in done.stderr
    assert not (tmp_path / "report").exists()
    done = subprocess.run(
        [*call, "absent"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "absent" in done.stderr


def test_the_archive_stands_beside_its_rivals(tmp_path, monkeypatch):
    monkeypatch.delenv("PARALESN_DATA", raising=False)  # the rivals that come with the package
    made.write_all(tmp_path)
    found = archive.section(build.gather(stored.load([tmp_path / "results"])))
    accuracies, ahead = found.content
    assert accuracies.rows[0][0] == "FordA"
    assert accuracies.rows[0][1].best
    assert accuracies.rows[0][1].shown == "0.9712"
    figures = [entry.shown for entry in ahead.rows[0][1:4]]
    assert [ahead.rows[0][0], *figures] == ["MiniROCKET", "1", "0.9712", "0.9485"]
    assert found.data["rivals"]["QUANT"]["better"] == 1
    assert archive.section(Findings(stored.Stored())).missing


def test_the_arena_stands_below_the_papers_rows():
    shown = configurations.shipped("smnist", "ParalESN", "extended")
    run = made.run(replace(shown, task="lra-text", model="ParalESN (deep)"), 0, 0.8)
    cells = table_cells([run | {"kind": "lra"}])
    table, seconds, *_ = long_range.section(Findings(stored.Stored(), cells)).content
    assert table.rows[-1][0] == "ParalESN (deep), ours"
    assert table.rows[-2][3] == "80.2"  # as the paper prints it
    assert table.rows[-1][3].shown == "80.0"
    assert "-" in table.rows[-1][5]  # no average of one task
    assert len(seconds.rows) == 3
    assert long_range.section(Findings(stored.Stored())).missing

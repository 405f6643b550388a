"""Figures on the page about the paper are those of the records that come with the package."""

import re
from functools import cache
from pathlib import Path

import pytest

from paralesn.paper import protocols, selection, shipped_records
from paralesn.paper.catalogue import MAIN
from paralesn.paper.markdown_table import as_markdown
from paralesn.paper.results import Row

NO_RESULT = "\N{EN DASH}"
PAGE = Path(__file__).parents[2] / "docs" / "paper.md"


@cache
def cells():
    return selection.table_cells(shipped_records.shipped().runs)


def tables_after(text):
    """Rows of cells of each table below a text, as far as the next heading."""
    page = PAGE.read_text(encoding="utf-8")
    below = page[page.index(text) + len(text) :].split("\n#", 1)[0]
    found = [[]]
    for line in below.splitlines():
        if line.startswith("|"):
            found[-1].append([part.strip() for part in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [rows for rows in found if rows]


def bare(text):
    """Without bold and the mark of a shipped record."""
    return text.replace("*", "")


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("regression", "**Every model, memory**"),
        ("regression", "**Every model, forecasting**"),
        ("earlier", "**Memory-based tasks, by an earlier protocol**"),
    ],
)
def test_tables_of_regression_are_those_that_the_records_make(kind, title):
    made = [as_markdown(table) for table in protocols.of_kind(kind).tables(cells())]
    (expected,) = [text for text in made if text.startswith(title)]
    rows = [line.strip("|").split("|") for line in expected.splitlines() if line.startswith("|")]
    printed = tables_after(title)[0]
    assert [[bare(c.strip()) for c in row] for row in rows] == [
        [bare(c) for c in row] for row in printed
    ]


def accuracy(cell, usual):
    """Percent, deviation, seeds where they are not as many as usual, and the paper's figure."""
    text = f"{100 * cell.mean:.2f}"
    text += f" ±{100 * cell.std:.2f}" if cell.seeds > 1 else ""
    text += f" [{cell.seeds}]" if cell.seeds != usual else ""
    return text + (f" ({100 * cell.paper.mean:.1f})" if cell.paper else "")


@pytest.mark.parametrize(("which", "space"), [(0, ""), (1, "paper")])
def test_tables_of_classification_are_those_of_the_records(which, space):
    table = tables_after("## Classification")[which]
    assert table[0] == ["task", *MAIN]
    tasks = protocols.of_kind("classification").tasks()
    by_title = {task.title: name for name, task in tasks.items()}
    assert {row[0] for row in table[2:]} == set(by_title) - {"FaultDetectionA"}
    for title, *printed in table[2:]:
        for model, text in zip(MAIN, printed, strict=True):
            cell = cells().get((by_title[title], Row(model, space)))
            assert text == (NO_RESULT if cell is None else accuracy(cell, 5)), (title, model)


def test_the_tables_of_digits_are_those_of_the_records():
    table = tables_after("**MNIST.**")[0]
    scale = {"minutes": ("total seconds", 60.0), "Wh": ("kwh", 1e-3)}
    for head, *printed in table[2:]:
        title, _, what = head.partition(", ")
        for model, text in zip(table[0][1:], printed, strict=True):
            space = "paper" if what == "paper space" else ""
            cell = cells().get((title.lower(), Row(model, space)))
            if what in scale:
                name, unit = scale[what]
                ours = text.split(" (")[0]
                assert ours == ("" if cell is None else f"{cell.costs[name][0] / unit:.3g}"), head
            else:
                usual = 3 if "ParalESN" in model else 1
                ours = "" if cell is None else accuracy(cell, usual)
                assert text.strip(NO_RESULT) == (ours.split(" (")[0] if space else ours), (
                    head,
                    model,
                )


def test_the_table_of_small_digits_is_that_of_the_records():
    table = tables_after("It printed for sMNIST of 14 x 14 pixels")[0]
    shown = {row[0] for row in table[2:]}
    assert shown == {row.model for task, row in cells() if task == "smnist14"}
    for model, right, minutes, energy, epochs in table[2:]:
        cell = cells()["smnist14", Row(model)]
        assert bare(right) == accuracy(cell, 3 if cell.seeds > 1 else 1), model
        assert float(minutes) == float(f"{cell.costs['total seconds'][0] / 60:.3g}"), model
        assert float(energy) == float(f"{1e3 * cell.costs['kwh'][0]:.3g}"), model
        assert int(epochs) == round(cell.costs["epochs"][0]), model


def test_the_table_of_the_long_range_arena_is_that_of_the_records():
    table = tables_after("## Long Range Arena")[0]
    tasks = protocols.of_kind("lra").tasks().values()
    assert [row[0] for row in table[2:]] == [task.title for task in tasks]
    for task, (_, right, paper, _, times) in zip(tasks, table[2:], strict=True):
        cell = cells()[task.name, Row("ParalESN (deep)")]
        spread = f" ±{100 * cell.std:.1f}" if cell.seeds > 1 else ""
        assert right == f"{100 * cell.mean:.1f}{spread}", task.title
        assert float(paper.strip("()")) == pytest.approx(100 * cell.paper.mean), task.title
        costs = [cell.costs[f"{what} seconds"][0] for what in ("features", "training", "test")]
        assert times == ", ".join(f"{seconds:.0f} s" for seconds in costs), task.title


def test_the_table_of_the_authors_draw_is_that_of_the_records():
    for table in tables_after("### The text's draw and the authors'"):
        titles = [re.sub(r"[↑↓] | x0\.0*1", "", head) for head in table[0][1:]]
        tasks = {task.title: task for task in protocols.of_kind("regression").tasks().values()}
        for i, (_, *printed) in enumerate(table[2:]):
            model = "ParalESN (deep)" if i > 1 else "ParalESN"
            row = Row(model, "paper") if i % 2 else Row(authors(model), "paper")
            for title, text in zip(titles, printed, strict=True):
                task = tasks[title]
                cell = cells()[task.name, row]
                ours = f"{cell.mean / task.scale:.2f} ±{cell.std / task.scale:.2f}"
                paper = "" if i % 2 else f" ({cell.paper.mean / task.scale:.1f})"
                assert text == ours + paper, (model, title)


def authors(model):
    return model.replace("ParalESN", "ParalESN, authors' draw")

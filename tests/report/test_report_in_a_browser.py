"""The report in a real browser: what it shows, what can be done with it, what it asks for."""

import re

import pytest

import stored_records as made
from paralesn.paper.results import Row
from paralesn.report import build, stored

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What was found, and where the page is."""
    folder = tmp_path_factory.mktemp("records")
    found = build.gather(stored.load(made.write_all(folder)))
    return found, build.write(found, build.sections(found), folder / "report").as_uri()


@pytest.fixture
def opened(browser, report):
    """Opens the page in a context; whatever it complains of or asks for besides itself fails."""
    contexts, complaints, asked = [], [], []

    def open_page(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)  # the machine may be busy
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(report[1])
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert {url for url in asked if not url.startswith("data:")} == {report[1]}


def test_tables_show_the_numbers_of_the_records(opened, report):
    page = opened()
    found, _ = report
    shown = page.eval_on_selector_all(
        "td[data-task]",
        "cells => cells.map(c => [c.dataset.task, c.dataset.model, c.querySelector('.ours').innerText])",
    )
    assert len(shown) > 60
    for task, model, text in shown:
        cell = found.cells[task, Row(model)]
        digits = 1 if task.startswith("lra") else 2  # as the paper prints them
        assert text == f"{cell.mean / cell.task.scale:.{digits}f}"


def test_a_series_can_be_hidden_and_shown(opened):
    page = opened()
    figure = page.locator("#scaling figure").first
    line = figure.locator('.chart [data-series="ESN (deep)"]')
    button = figure.get_by_role("button", name="ESN (deep)", exact=True)
    assert line.is_visible()
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert not line.is_visible()
    assert figure.locator('.chart [data-series="ESN"]').is_visible()
    button.press("Enter")
    assert line.is_visible()


def _ticks(figure):
    return figure.locator(".chart .ticks text").all_inner_texts()


def test_a_plot_can_be_zoomed_by_buttons_keys_and_mouse(opened):
    page = opened(viewport={"width": 1280, "height": 900})
    figure = page.locator("#scaling figure").first
    whole, places = _ticks(figure), figure.locator("polyline").first.get_attribute("points")
    figure.get_by_role("button", name="Zoom in").click()
    assert _ticks(figure) != whole
    figure.get_by_role("button", name="Show all").click()
    assert _ticks(figure) == whole  # drawn by the script as they were without it
    again = figure.locator("polyline").first.get_attribute("points")
    numbers = [[float(n) for n in re.findall(r"[\d.]+", text)] for text in (places, again)]
    assert numbers[1] == pytest.approx(numbers[0], abs=1e-6)

    plot = figure.locator(".plot")
    plot.focus()
    page.keyboard.press("+")
    zoomed = _ticks(figure)
    page.keyboard.press("ArrowRight")
    assert whole != zoomed != _ticks(figure)
    page.keyboard.press("0")
    assert _ticks(figure) == whole

    plot.scroll_into_view_if_needed()
    box = figure.locator(".pane").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
    page.mouse.up()
    assert _ticks(figure) != whole
    figure.locator(".pane").dblclick()
    assert _ticks(figure) == whole


def test_a_mark_says_what_it_means(opened):
    page = opened()
    mark = page.locator("#scaling figure").first.locator(".marks .pt").first
    mark.hover(force=True)
    tip = page.locator("#tip")
    assert tip.is_visible()
    assert tip.inner_text().startswith("ESN, 100 steps:")
    page.mouse.move(1, 1)
    assert not tip.is_visible()


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_sticks_out_at_any_width(opened, width):
    page = opened(viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    texts = page.eval_on_selector_all(
        ".beside .chart",
        "charts => charts.map(c => parseFloat(getComputedStyle(c).fontSize)"
        " * c.getBoundingClientRect().width / c.viewBox.baseVal.width)",
    )
    assert min(texts) >= 9  # pixels that the letters of a plot are high


def test_light_and_dark_follow_the_system(opened):
    grounds = {
        scheme: opened(color_scheme=scheme).evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for scheme in ("light", "dark")
    }
    light, dark = (sum(map(int, re.findall(r"\d+", grounds[s]))) for s in ("light", "dark"))
    assert light > 700
    assert dark < 120


def test_without_scripts_everything_is_there_to_read(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("#regression td[data-task]").first.is_visible()
    assert page.locator("#scaling polyline").first.is_visible()
    assert page.locator("nav a").first.is_visible()
    assert page.locator("button").count() == 0  # none that would do nothing


def test_the_keyboard_skips_to_the_content(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_on_paper_there_is_nothing_to_click_and_all_is_open(opened):
    page = opened()
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.locator(".tools").first.is_hidden()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.fold:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.fold[open]").count() == 0


@pytest.mark.parametrize("width", [360, 1280])
def test_no_label_of_the_trade_off_is_printed_over_another(opened, width):
    page = opened(viewport={"width": width, "height": 900})
    figure = page.locator("#comparison figure").first
    assert figure.locator("h3").inner_text() == "Score against training time"
    overlaps = figure.locator(".chart").evaluate(
        """chart => {
            const texts = [...chart.querySelectorAll("text")].map((t) => t.getBoundingClientRect());
            const shrunk = 1; // boxes of letters have air around them
            return texts.flatMap((a, i) => texts.slice(i + 1).filter((b) =>
                Math.min(a.right, b.right) - Math.max(a.left, b.left) > shrunk &&
                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > shrunk)).length;
        }"""
    )
    assert figure.locator(".chart .beside").count() == 4
    assert overlaps == 0


def test_a_hidden_model_is_not_printed(opened):
    page = opened()
    figure = page.locator("#comparison figure").first
    item = figure.locator('.legend [data-series="ESN"]')
    series = figure.locator('.chart [data-series="ESN"]')
    page.emulate_media(media="print")
    assert item.is_visible()
    assert series.is_visible()
    page.emulate_media(media="screen")
    item.get_by_role("button").click()
    assert item.is_visible()  # to be shown again
    page.emulate_media(media="print")
    assert not item.is_visible()
    assert not series.is_visible()
    assert figure.locator('.legend [data-series="ParalESN"]').is_visible()

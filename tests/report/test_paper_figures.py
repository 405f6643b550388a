"""The paper's figures redrawn: trade-off on MNIST, complex beside real, digits until memory ends."""

from dataclasses import replace

import pytest
from scipy.stats import wilcoxon

import stored_records as made
from paralesn.paper import configurations
from paralesn.paper.catalogue import published, tasks_of
from paralesn.paper.protocols import small_mnist
from paralesn.paper.results import Row
from paralesn.paper.selection import cells, table_cells
from paralesn.report import comparison, stored
from paralesn.report.elements import Findings
from paralesn.report.sections import complex_real, digits, growth, sequential_images, small_images


def _found(runs=(), experiments=()):
    """What a report is made from."""
    held = stored.Stored(runs=list(runs), experiments=list(experiments))
    return Findings(held, table_cells(runs))


# -- trade-off on MNIST ----------------------------------------------------------------------------


def _measured(runs):
    """The same of runs that are rows of their own, without those that come with the package."""
    return Findings(stored.Stored(runs=runs), cells((Row(run["model"]), run) for run in runs))


def _mnist(task, model, accuracy, seconds):
    """A run with the given outcome."""
    chosen = configurations.shipped("smnist", "ParalESN", "extended")
    return made.run(replace(chosen, task=task, model=model), 0, accuracy, seconds)


def test_the_trade_off_is_over_both_orders_of_the_pixels():
    runs = [
        _mnist("smnist", "ESN", 0.5, 10.0), _mnist("psmnist", "ESN", 0.8, 10.0),
        _mnist("smnist", "ParalESN", 0.75, 5.0), _mnist("psmnist", "ParalESN", 1.0, 1.0),
        _mnist("smnist", "LRU", 0.9, 40.0), _mnist("psmnist", "LRU", 0.96, 80.0),
    ]  # fmt: skip
    section = sequential_images.section(_measured(runs))
    ours = section.data["trade_off"]["ours"]["models"]
    assert ours["ESN"]["improvement"] == 0
    assert ours["ParalESN"]["improvement"] == pytest.approx((50 + 25) / 2)
    assert ours["LRU"]["improvement"] == pytest.approx((80 + 20) / 2)
    assert ours["ParalESN"]["time_saved"] == pytest.approx((50 + 90) / 2)
    assert ours["LRU"]["time_saved"] == pytest.approx((-300 - 700) / 2)
    assert [ours[m]["score"] for m in ("ESN", "ParalESN", "LRU")] == pytest.approx([0, 0.75, 1])
    speeds = [ours[m]["speed"] for m in ("LRU", "ESN", "ParalESN")]
    assert speeds == pytest.approx([0, 500 / 570, 1])
    titles = [element.title for element in section.content if hasattr(element, "title")]
    assert titles[-2:] == ["Trade-off, ours", "Trade-off, the paper's"]


def test_the_papers_trade_off_is_that_of_the_figures_it_prints():
    """By hand, from its table of sMNIST and psMNIST."""
    section = sequential_images.section(_measured([_mnist("smnist", "ParalESN", 0.98, 60.0)]))
    assert section.data["trade_off"]["ours"] is None  # there is no ESN
    theirs = section.data["trade_off"]["paper"]["models"]
    assert len(theirs) == 9
    deep = theirs["ESN (deep)"]
    assert deep["improvement"] == pytest.approx(50 * (8.9 / 82.5 + 3.9 / 78.2))
    assert deep["time_saved"] == pytest.approx(50 * (-4.5 / 4.3 - 3.0 / 4.3))
    assert max(theirs, key=lambda m: theirs[m]["score"]) == "S4"
    assert max(theirs, key=lambda m: theirs[m]["speed"]) == "ParalESN"


def test_small_digits_have_a_trade_off_too():
    runs = [
        _mnist(task, model, accuracy, 10.0)
        for task in small_mnist.tasks()
        for model, accuracy in (("ESN", 0.6), ("ParalESN", 0.9), ("LRU", 0.75))
    ]
    found = small_images.section(_measured(runs)).data["trade_off"]
    assert found["tasks"] == list(small_mnist.tasks())
    assert [found["models"][m]["score"] for m in ("ESN", "LRU", "ParalESN")] == pytest.approx(
        [0, 0.5, 1]
    )


# -- complex beside real ---------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "wins"), [("ParalESN", 12), ("ParalESN (deep)", 14)])
def test_the_papers_own_figures_are_compared(model, wins):
    names = list(tasks_of("memory", "forecasting"))
    figures = {(t, m): published(t, m).mean for t in names for m in (model, f"r{model}")}
    pair = complex_real.compared(figures, model, "the paper's")
    assert (len(pair.tasks), pair.wins) == (15, wins)
    sign = {name: -1 if name == "memcap" else 1 for name in names}
    own, real = ([sign[t] * figures[t, m] for t in names] for m in (model, f"r{model}"))
    assert pair.p == pytest.approx(wilcoxon(own, real, alternative="less").pvalue)
    capacity = figures["memcap", model] / figures["memcap", f"r{model}"]
    assert pair.factors["memcap"] == pytest.approx(capacity)
    assert pair.factors["mg"] == pytest.approx(figures["mg", f"r{model}"] / figures["mg", model])


def test_complex_and_real_models_on_record_stand_side_by_side():
    section = complex_real.section(_found([*made.regression(), *made.real_valued()]))
    figure, tests, differences = section.content
    wins = {row[0]: row[1:4] for row in tests.rows}
    assert wins["ParalESN, ours"] == wins["ParalESN (deep), ours"] == [6, 6, 0]
    assert wins["ParalESN, the paper's"] == [15, 12, 3]
    p_values = {row[0]: row[-1] for row in tests.rows}
    assert p_values["ParalESN, ours"] == f"{0.5**6:.2g}"  # the least that six tasks can give
    rows = {row[0]: row for row in differences.rows}
    assert list(rows) == ["MemCap", "Lz25 x 0.01", "MG x 0.0001", "MG84 x 0.01", "N10 x 0.01",
                          "N30 x 0.01"]  # fmt: skip
    assert rows["MemCap"][1] == "0.50"
    own = float(rows["MG x 0.0001"][2])
    percent = float(rows["MG x 0.0001"][3].removesuffix(" %"))
    assert percent == pytest.approx(100 * (own / 20 - 1), abs=0.6)
    assert rows["MemCap"][4] == "+312 %"  # 114.5 for 27.8
    assert set(figure.legend) == {"ParalESN", "ParalESN (deep)"}


def test_few_tasks_are_not_tested():
    runs = [*made.regression(), *made.real_valued(["mg", "narma10"])]
    ours = complex_real.section(_found(runs)).data[0]
    assert (ours["wins"], ours["wilcoxon"]) == (2, None)
    assert complex_real.section(_found(made.regression())).missing


def test_even_figures_are_no_wins():
    figures = {(t, m): 1.0 for t in ("mg", "mg84") for m in ("ParalESN", "rParalESN")}
    assert complex_real.compared(figures, "ParalESN", "ours").wins == 0
    assert complex_real.compared({}, "ParalESN", "ours") is None
    assert comparison.shared(figures, ["ParalESN"])[1] == ["mg", "mg84"]


# -- digits until memory runs out ------------------------------------------------------------------


def test_curves_of_digits_end_with_the_reason():
    section = digits.section(_found(experiments=[made.complexity()]))
    assert "ESN is out of memory at 8,192 units: more than the 100 MB allowed; arrays" in (
        section.lead
    )
    assert "ParalESN fits up to 2,048 units" in section.lead
    assert section.data["out of memory"] == {
        "ESN": {"units": 8192, "needed_bytes": 8 * 8192**2, "limit_bytes": 10**8}
    }
    time, memory = section.content
    assert "Exponents of N: ESN 1.00" in time.caption
    assert memory.svg.count("out of memory") >= 2  # the words and the tip of the mark


def test_records_without_digits_show_the_rest():
    record = made.complexity()
    record["measurements"] = [m for m in record["measurements"] if m["kind"] != "digits"]
    assert digits.section(_found(experiments=[record])).missing
    tables = {t.caption: t for t in growth.section(_found(experiments=[record])).content
              if hasattr(t, "rows")}  # fmt: skip
    assert [row[0] for row in tables["Space complexity"].rows] == [
        "ESN", "SCR", "Structured RC", "ParalESN",
    ]  # fmt: skip
    assert tables["Space complexity"].rows[3][-1] == "2.05 MB at 2,048 units"
    assert tables["Time complexity"].rows[0][2] == "N^1.00"

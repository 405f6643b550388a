"""All benchmarks together: the trade-off of score and time, ranks, critical differences."""

import numpy as np

from paralesn.paper.catalogue import MAIN, models, published, tasks
from paralesn.report import trade_off_figure
from paralesn.report.charts import ranks
from paralesn.report.comparison import (
    LEAST_MODELS,
    LEAST_TASKS,
    LEVEL,
    Ranking,
    as_data,
    ranking,
    shared,
    trade_off,
)
from paralesn.report.elements import Element, Figure, Findings, Note, Section, Table

TITLE = "All benchmarks together"
Scores = dict[tuple[str, str], float]


def scores_of(findings: Findings) -> Scores:
    """Means of the paper's tables by task and model."""
    cells = findings.of_paper()
    return {(t, row.model): cell.mean for (t, row), cell in cells.items() if not row.space}


def section(findings: Findings) -> Section:
    """The paper's overall comparison, redrawn."""
    scores = scores_of(findings)
    seconds = {
        (task, row.model): cell.seconds
        for (task, row), cell in findings.of_paper().items()
        if not row.space
    }
    exchange, main = trade_off(scores, seconds, MAIN), ranking(scores, MAIN)
    if main is None:
        text = "It needs tasks that at least two of the paper's four models were run on."
        return Section("comparison", TITLE, missing=text)
    every = ranking(scores, _on_as_many(scores, main.tasks))
    if every is not None and set(every.models) == set(main.models):
        every = None
    paper = ranking(_published(), MAIN)
    content: list[Element] = []
    if exchange is not None:
        content.append(trade_off_figure.figure(exchange))
    content.append(_ranks("Critical differences", main))
    if every is not None:
        content.append(_ranks("Critical differences, every reservoir", every))
    content += [_table(main, paper), *_tests(main), *_left_out(scores)]
    return Section(
        "comparison",
        TITLE,
        lead=f"{len(main.tasks)} benchmarks: {', '.join(tasks()[t].title for t in main.tasks)}.",
        content=content,
        data={
            "trade_off": as_data(exchange),
            "ranking": as_data(main),
            "ranking_of_all_models": as_data(every),
            "ranking_by_the_papers_figures": as_data(paper),
        },
        records=findings.behind(
            cell
            for (task, row), cell in findings.cells.items()
            if task in main.tasks and row.model in (every or main).models and not row.space
        ),
    )


def _on_as_many(scores: Scores, among: tuple[str, ...]) -> list[str]:
    """Models with results on most of the tasks: a few of others would leave hardly any shared."""
    return [m for m in models() if 2 * sum((task, m) in scores for task in among) > len(among)]


def _published() -> Scores:
    """What the paper prints for its four models."""
    printed = {(t, m): published(t, m) for t in tasks() for m in MAIN}
    return {key: figure.mean for key, figure in printed.items() if figure is not None}


def _ranks(title: str, result: Ranking) -> Figure:
    spoken = ", ".join(f"{m} {r:.2f}" for m, r in zip(result.models, result.ranks, strict=True))
    return Figure(
        title,
        ranks(
            f"Average ranks, best first: {spoken}",
            result.models,
            result.ranks,
            result.cliques or (),
        ),
        "Average rank over the benchmarks, 1 is the best. " + _judgement(result),
    )


def _judgement(result: Ranking) -> str:
    if result.friedman is None:
        return (
            f"No tests: they need {LEAST_TASKS} benchmarks and {LEAST_MODELS} models, there are "
            f"{len(result.tasks)} and {len(result.models)}."
        )
    if result.friedman >= LEVEL:
        return (
            f"A bar joins models that are not told apart: here all, for Friedman's test sees no "
            f"difference (p = {result.friedman:.2g})."
        )
    return (
        f"A bar joins models that Wilcoxon's signed-rank test does not tell apart at {LEVEL:g}, "
        f"corrected by Holm (Friedman's test: p = {result.friedman:.2g})."
    )


def _table(result: Ranking, paper: Ranking | None) -> Table:
    theirs = dict(zip(paper.models, paper.ranks, strict=True)) if paper else {}
    rows = [
        [m, f"{rank:.2f}", f"{theirs[m]:.2f}" if m in theirs else "-"]
        for m, rank in zip(result.models, result.ranks, strict=True)
    ]
    over = len(paper.tasks) if paper else 0
    return Table(
        "Average ranks",
        ["Model", "Ours", "The paper's"],
        rows,
        narrow=True,
        note=f"Ours over {len(result.tasks)} benchmarks, the paper's from the figures it prints, "
        f"over {over}. 1 is the best.",
    )


def _tests(result: Ranking) -> list[Table]:
    if result.p_values is None:
        return []
    rows = []
    for i, better in enumerate(result.models):
        values = result.p_values[i]
        rows.append([better, *("" if np.isnan(v) else f"{v:.3g}" for v in values)])
    note = (
        f"One-sided; a difference counts below {LEVEL / (len(result.models) - 1):.3g}, which is "
        f"{LEVEL:g} over the number of models less one, if Friedman's test sees any."
    )
    heads = ["does better than …", *result.models]
    return [Table("Wilcoxon's p-values", heads, rows, note=note, folded=True)]


def _left_out(scores: Scores) -> list[Note]:
    """Tasks that not all of the models were run on."""
    measured, _, other = shared(scores, MAIN)
    if not other:
        return []
    names = ", ".join(tasks()[task].title for task in other)
    return [Note(f"Left out, for not all of {', '.join(measured)} are on record: {names}.")]

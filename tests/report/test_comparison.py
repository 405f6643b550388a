"""All benchmarks together: the trade-off by hand, ranks and critical differences against aeon."""

import numpy as np
import pytest

from paralesn.paper import protocols
from paralesn.report import comparison

TASKS = ("memcap", "mg", "mg84", "narma10", "narma30", "etth1")
MODELS = ("ESN", "ESN (deep)", "ParalESN", "ParalESN (deep)")


def _table(figures):
    """Figures (tasks, models) by name."""
    return {(t, m): float(v) for t, row in zip(TASKS, figures, strict=False)
            for m, v in zip(MODELS, row, strict=False)}  # fmt: skip


def test_the_trade_off_is_the_papers():
    """Two tasks, by hand: capacities are to be high, errors low."""
    scores = _table([[50, 100], [0.4, 0.3]])
    seconds = _table([[2, 1], [1, 3]])
    found = comparison.trade_off(scores, seconds, MODELS)
    assert found.improvement == {"ESN": 0.0, "ESN (deep)": pytest.approx((100 + 25) / 2)}
    assert found.time_saved == {"ESN": 0.0, "ESN (deep)": pytest.approx((50 - 200) / 2)}
    assert found.score == {"ESN": 0.0, "ESN (deep)": 1.0}
    assert found.speed == {"ESN": 1.0, "ESN (deep)": 0.0}


def test_normalised_scores_lie_between_the_worst_and_the_best():
    scores = _table([[50, 60, 75, 100]])
    found = comparison.trade_off(scores, scores, MODELS)
    assert list(found.score.values()) == pytest.approx([0, 0.2, 0.5, 1])
    assert list(found.speed.values()) == pytest.approx([1, 0.8, 0.5, 0])


def test_ranks_know_which_way_is_up_and_share_ties():
    scores = _table([[50, 60, 60, 10], [0.1, 0.2, 0.3, 0.4]])
    found = comparison.ranking(scores, MODELS)
    assert dict(zip(found.models, found.ranks, strict=True)) == {
        "ESN": 2.0, "ESN (deep)": 1.75, "ParalESN": 2.25, "ParalESN (deep)": 4.0,
    }  # fmt: skip
    assert found.cliques is None  # two tasks are too few to test


def test_tasks_that_not_all_models_were_run_on_are_left_out():
    scores = _table(np.ones((6, 4)))
    del scores["mg", "ESN"]
    assert comparison.shared(scores, MODELS)[1:] == ([t for t in TASKS if t != "mg"], ["mg"])
    assert comparison.ranking({}, MODELS) is None
    assert comparison.trade_off({("mg", "ParalESN"): 1.0}, {}, MODELS) is None


def test_models_that_are_all_alike_are_one_clique():
    found = comparison.ranking(_table(np.ones((6, 4))), MODELS)
    assert found.friedman == 1.0
    assert found.cliques == (MODELS,)


@pytest.mark.parametrize("seed", range(12))
def test_critical_differences_agree_with_aeon(seed):
    pytest.importorskip("aeon")
    from aeon.benchmarking.stats import check_friedman, wilcoxon_test
    from aeon.visualisation.results import _critical_difference as theirs

    rng = np.random.default_rng(seed)
    names = ["ESN", "ESN (deep)", "SCR", "Structured RC", "ParalESN", "ParalESN (deep)"]
    tasks = list(protocols.of_kind("regression").tasks())
    losses = rng.normal(size=(15, 6)) + rng.uniform(0, 2.5) * np.arange(6)
    scores = {(t, m): losses[i, j] for i, t in enumerate(tasks) for j, m in enumerate(names)}
    scores |= {("memcap", m): -scores["memcap", m] for m in names}  # higher is better there
    found = comparison.ranking(scores, names)
    ranks = theirs._compute_ranks(losses, True)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    assert found.models == tuple(names[i] for i in order)
    assert found.friedman == pytest.approx(check_friedman(ranks))
    expected = wilcoxon_test(losses[:, order], names, lower_better=True)
    upper = np.triu_indices(6, 1)
    np.testing.assert_allclose(found.p_values[upper], expected[upper])
    cliques, _ = theirs._find_cliques(
        ranks, losses[:, order], names, ranks.mean(axis=0)[order], 15, 6,
        "wilcoxon", "holm", comparison.LEVEL, True,
    )  # fmt: skip
    wanted = {tuple(np.array(found.models)[np.array(mask, bool)]) for mask in cliques}
    assert set(found.cliques) == wanted


def test_aeon_draws_the_diagram(tmp_path):
    pytest.importorskip("aeon")
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    comparison.draw(_table(rng.uniform(1, 2, (6, 4))), MODELS, tmp_path / "cd.png")
    assert (tmp_path / "cd.png").read_bytes().startswith(b"\x89PNG")

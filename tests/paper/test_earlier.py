"""Memory tasks by the protocol of an earlier repository: lengths, shift, figures beside them."""

import numpy as np

from paralesn import datasets
from paralesn.paper import catalogue, protocols, reproduce, scope
from paralesn.paper.results import Row

EARLIER = protocols.of_kind("earlier")


def test_lengths_washout_and_shift():
    for name, make, delay in (("ctxor5", "ctxor", 5), ("sinmem20", "sinmem", 20)):
        task = datasets.load(f"{name}-earlier", seed=3)
        rows = [len(s.inputs) for s in (task.train, task.validation, task.test)]
        assert rows == [3999, 999, 999]
        assert task.washout == 200
        x, y = getattr(datasets, make)(6000, delay, seed=3)
        np.testing.assert_array_equal(task.train.targets, y[1:4000])
        np.testing.assert_array_equal(task.validation.inputs, x[4000:4999])
        np.testing.assert_array_equal(task.test.targets, y[5001:])


def test_it_stands_apart_from_the_papers_tables():
    assert not set(EARLIER.tasks()) & set(protocols.of_kind("regression").tasks())
    assert "earlier" not in {wanted.protocol.name for wanted in scope.resolve(None)}
    own = EARLIER.shipped("ctxor5-earlier", "ParalESN", "paper")
    like = protocols.of_kind("regression").shipped("ctxor5", "ParalESN", "paper")
    assert (own.task, own.configuration) == ("ctxor5-earlier", like.configuration)


def test_the_authors_draw_is_run_where_it_is_asked_for():
    def models_of(*names):
        return {w.model for w in scope.resolve(names or None) if w.protocol.name == "regression"}

    assert len(models_of()) == len(models_of("regression")) == 8
    assert "ParalESN, authors' draw (deep)" in models_of("draws-memory")
    assert "ParalESN, authors' draw" in models_of("narma10")
    known = protocols.of_kind("regression").searched("ParalESN, authors' draw")
    assert known == ["paper"]


def test_its_figures_stand_beside_those_of_the_task_it_is_a_reading_of(tmp_path):
    done = reproduce.reproduce(["ctxor5-earlier"], ["ParalESN"], tmp_path, seeds=1)
    cell = done.cells["ctxor5-earlier", Row("ParalESN")]
    assert cell.paper == catalogue.published("ctxor5", "ParalESN")
    assert [table.name for table in done.tables] == ["earlier"]
    assert (tmp_path / "earlier.json").exists()
    assert not (tmp_path / "results.json").exists()

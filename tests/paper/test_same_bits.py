"""Results do not depend on how many processes and threads they are computed by, nor on who else does.

`reproduce --jobs 2` begins processes whose BLAS and PyTorch have other numbers of threads than this
one; runs must not notice.
"""

import sys
from contextlib import contextmanager

import pytest
from test_classification_tables import DENSE, DIGITS, LAYER, small  # noqa: F401  a fixture
from threadpoolctl import threadpool_limits

from paralesn.paper import catalogue, protocols, records, runs
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocols import mnist
from paralesn.runtime import threads

SHIPPED = [
    ("narma10", "ESN", "paper"),  # what a search found to differ by 2.6e-5
    ("narma10", "ParalESN (deep)", "extended"),
    ("mg", "SCR", "paper"),
    ("sinmem10", "ESN (deep)", "paper"),
]


@contextmanager
def of_machine(count):
    """Numbers of threads as on a machine of another size."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else None
    try:
        if torch:
            torch.set_num_threads(count)
        with threadpool_limits(count), threads.limited(count):
            yield
    finally:
        if torch:
            torch.set_num_threads(before)


def metrics_by_threads(wanted, folder):
    found = []
    for count in (1, 2, 3):
        with of_machine(count):
            done = runs.carry_out(wanted, folder)
        found.append({"metrics": done["metrics"], "by": done.get("read_out_by")})
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("task", "model", "space"), SHIPPED)
def test_regression_has_the_same_bits_with_any_number_of_threads(task, model, space, tmp_path):
    protocol = protocols.of_kind("regression")
    (wanted,) = runs.plan(protocol, protocol.shipped(task, model, space), 1)
    one, two, three = metrics_by_threads(wanted, tmp_path)
    assert one == two == three


@pytest.mark.slow
def test_classification_has_too(small, tmp_path):  # noqa: F811
    (wanted,) = runs.plan(protocols.of_kind("classification"), DENSE, 1)
    one, two, three = metrics_by_threads(wanted, tmp_path)
    assert one == two == three


@pytest.mark.slow
def test_what_pytorch_reads_out_has_too(small, tmp_path):  # noqa: F811
    pytest.importorskip("torch")
    model = catalogue.models()["ParalESN"]
    chosen = Tuned("psmnist", model.name, "extended", LAYER, 1.0, 0.9, 5, 1.0, 1)
    (wanted,) = runs.plan(DIGITS, chosen, 1)
    wanted["readout"] = mnist.settings(model, "paper") | {"epochs": 3}
    one, two, three = metrics_by_threads(wanted, tmp_path)
    assert one == two == three


@pytest.mark.slow
def test_one_process_and_two_record_the_same(tmp_path):
    protocol = protocols.of_kind("regression")
    wanted = [
        run
        for each in SHIPPED[:2]
        for run in runs.plan(protocol, protocol.shipped(*each), 2)
    ]  # fmt: skip
    here, there = (runs.run(wanted, tmp_path / f"{jobs}.jsonl", jobs) for jobs in (1, 2))
    assert [run["metrics"] for run in here] == [run["metrics"] for run in there]
    again = runs.run(wanted, tmp_path / "2.jsonl", 1)  # all on record
    assert again == there
    assert len(records.read(tmp_path / "2.jsonl")) == 4

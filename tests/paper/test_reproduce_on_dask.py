"""Runs on Dask, in processes and in this one: the same bits, each on record once, whoever is killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from killing_protocol import MODEL, TASK, Killing
from paralesn import datasets
from paralesn.cli import app
from paralesn.paper import (
    dask_cluster,
    dask_worker,
    process_pool,
    protocols,
    records,
    runs,
    workers,
)

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system"),
]
TESTS = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def cluster():
    with dask_cluster.connected("local", 2) as two_workers:
        yield two_workers


@pytest.fixture
def killing(tmp_path):
    """Plans of runs with this configuration, whose protocol is known while the test lasts."""

    def plan(seeds=6, **configuration):
        configuration |= {"log": str(tmp_path / "log")}
        protocol = Killing(configuration)
        if protocols.of_kind("killing") is None:
            protocols.register(protocol)
        return runs.plan(protocol, protocol.shipped(TASK, MODEL, "extended"), seeds)

    yield plan
    protocols.unregister("killing")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out" / "records.jsonl"


def begun(path):
    """Seeds of the runs that were begun, as often as they were."""
    log = path.parent.parent / "log"
    return sorted(map(int, log.read_text().split())) if log.exists() else []


def recorded(path):
    """Seeds of all records in the file, doubles included."""
    return sorted(record["seed"] for record in records.read(path))


def wait_for(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


# -- the same results ------------------------------------------------------------------------------


def test_metrics_have_the_same_bits_wherever_runs_are_done(cluster, tmp_path):
    regression = protocols.of_kind("regression")
    wanted = [
        run
        for task in ("narma10", "sinmem10")
        for run in runs.plan(regression, regression.shipped(task, "ParalESN", "paper"), 2)
    ]
    here = runs.run(wanted, tmp_path / "here.jsonl", 1)
    pool = runs.run(wanted, tmp_path / "pool.jsonl", 2)
    dask = runs.run(wanted, tmp_path / "dask.jsonl", 1, cluster=cluster)
    assert len(here) == 4
    for one, two, three in zip(here, pool, dask, strict=True):
        assert one["metrics"] == two["metrics"] == three["metrics"]
        assert one["seed"] == two["seed"] == three["seed"]
        assert set(one) == set(two) == set(three)


# -- kills -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["pool", "dask"])
def test_a_run_whose_worker_is_killed_is_done_again_and_recorded_once(
    engine, cluster, killing, path
):
    wanted = killing(killers={"1": 1}, seconds=0.05)
    runs.run(wanted, path, 2, cluster=cluster if engine == "dask" else None)
    assert recorded(path) == [0, 1, 2, 3, 4, 5]
    assert begun(path).count(1) == 2
    if engine == "pool":
        assert len(begun(path)) == 7  # Dask may have done again what the worker had not handed over


def test_a_run_that_kills_every_worker_is_named_and_the_others_are_recorded(cluster, killing, path):
    wanted = killing(seeds=4, killers={"2": 99})
    with pytest.raises(
        process_pool.KilledError, match=r"4 workers were killed.*killing, bell.* seed 2"
    ):
        runs.run(wanted, path, 2, cluster=cluster)
    assert recorded(path) == [0, 1, 3]


COORDINATOR = """
import sys
from pathlib import Path
from killing_protocol import MODEL, TASK, Killing
from paralesn.paper import dask_cluster, protocols, runs

if __name__ == "__main__":
    address, path, log, seconds = sys.argv[1:]
    protocol = protocols.register(Killing({"log": log, "seconds": float(seconds)}))
    wanted = runs.plan(protocol, protocol.shipped(TASK, MODEL, "extended"), 6)
    if address == "pool":
        runs.run(wanted, Path(path), 2)
    else:
        with dask_cluster.connected(address, 2) as cluster:
            runs.run(wanted, Path(path), 1, cluster=cluster)
"""


@pytest.fixture
def start(tmp_path, path):
    """Starts another process that wants six runs on record at the path."""
    script = tmp_path / "coordinator.py"
    script.write_text(COORDINATOR)
    paths = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    started = []

    def run(address, seconds):
        command = [sys.executable, script, address, path, tmp_path / "log", str(seconds)]
        started.append(subprocess.Popen(command, env=os.environ | {"PYTHONPATH": paths}))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize("engine", ["pool", "dask"])
def test_a_coordinator_that_is_killed_resumes(engine, cluster, start, killing, path):
    address = cluster.client.scheduler.address if engine == "dask" else engine
    killed = start(address, 0.3)
    wait_for(lambda: path.exists() and recorded(path))
    killed.kill()
    killed.wait()
    done = recorded(path)
    assert 0 < len(done) < 6
    wanted = killing(seconds=0.3)
    runs.run(wanted, path, 2, cluster=cluster if engine == "dask" else None)
    assert recorded(path) == [0, 1, 2, 3, 4, 5]
    assert all(begun(path).count(seed) == 1 for seed in done)


@pytest.mark.parametrize("engine", ["pool", "dask"])
def test_two_coordinators_at_once_record_each_run_once(engine, cluster, start, path):
    address = cluster.client.scheduler.address if engine == "dask" else engine
    both = [start(address, 0.1) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert recorded(path) == [0, 1, 2, 3, 4, 5]


# -- failures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["here", "pool", "dask"])
def test_a_run_that_fails_leaves_the_others_on_record(engine, cluster, killing, path):
    wanted = killing(fails=2, seconds=0.05)
    with pytest.raises(ZeroDivisionError, match="one of the runs fails") as caught:
        runs.run(
            wanted, path, {"here": 1}.get(engine, 2), cluster=cluster if engine == "dask" else None
        )
    assert any("seed 2" in note for note in caught.value.__notes__)
    assert {0, 1} <= set(recorded(path))
    assert len(recorded(path)) == len(set(recorded(path)))
    runs.run([run for run in wanted if run["seed"] != 2], path, 1)
    assert recorded(path) == [0, 1, 3, 4, 5]


def test_an_interruption_keeps_what_is_done_and_ends_the_rest(cluster, killing, path):
    wanted, done = killing(seconds=1.5), []

    def after_the_first():
        done.append(time.monotonic())
        if len(done) == 1:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        runs.run(wanted, path, 2, after_the_first, cluster)
    assert 1 <= len(recorded(path)) < 6
    wait_for(lambda: not any(cluster.client.processing().values()))
    before = begun(path)
    time.sleep(0.5)
    assert begun(path) == before  # nothing begins any more


def test_data_that_a_worker_lacks_are_named_with_the_worker(cluster, killing, path):
    with pytest.raises(
        datasets.MissingFileError, match=r"the worker tcp://.*PARALESN_DATA.*bell\.csv is missing"
    ):
        runs.run(killing(seeds=1, lacks=0), path, 2, cluster=cluster)


def in_turn(log, number):
    with dask_worker.at_a_worker(Path(log).parent, whole_machine=True) as folder:
        for what in ("begins", "ends"):
            with open(log, "a") as file:
                file.write(f"{number} {what}\n")
            time.sleep(0.2)
    return str(folder)


def test_runs_that_take_a_whole_machine_wait_for_each_other(cluster, tmp_path):
    log = tmp_path / "log"
    names = ["in turn 1", "in turn 2"]
    done = list(
        workers.each(in_turn, [(str(log), n) for n in (1, 2)], 0, cluster=cluster, names=names)
    )
    assert [folder for _, folder in done] == [str(tmp_path)] * 2
    lines = log.read_text().splitlines()
    assert [line.split()[1] for line in lines] == ["begins", "ends"] * 2


def test_another_version_is_refused(cluster, monkeypatch):
    cluster.compare_versions()
    monkeypatch.setattr(dask_cluster, "version", lambda package: "9.9")
    refused = r"the worker tcp://\S+ has paralesn \S+, expected 9\.9"
    with pytest.raises(dask_worker.ClusterError, match=refused):
        cluster.compare_versions()
    with pytest.raises(dask_worker.ClusterError, match=refused):  # of a worker that came later
        list(cluster.each(abs, [(1,)], None, ["one"]))


# -- the command line ------------------------------------------------------------------------------


def test_the_command_line_runs_on_a_scheduler(cluster, tmp_path):
    asked = ["reproduce", "sinmem10", "--models", "ParalESN", "--seeds", "1", "--json"]
    scheduler = ["--dask", cluster.client.scheduler.address]
    cluster.client.cluster.scale(2)  # another test may have killed one
    cluster.client.wait_for_workers(2, timeout=60)
    done = CliRunner().invoke(app, [*asked, *scheduler, "--out", str(tmp_path / "dask")])
    assert done.exit_code == 0, done.output
    assert "Runs on Dask, 2 at a time" in done.stderr
    here = CliRunner().invoke(app, [*asked, "--jobs", "1", "--out", str(tmp_path / "here")])
    means = [[row["mean"] for row in json.loads(each.stdout)["results"]] for each in (done, here)]
    assert means[0] == means[1]
    assert len(recorded(tmp_path / "dask" / "records.jsonl")) == len(means[0])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--dask", "nowhere"], "--dask: address must be 'local' or one such as"),
        (["--dask", "tcp://127.0.0.1:9"], "--dask: no Dask scheduler answers at tcp://127.0.0.1:9"),
        (["--dask", "carrier://pigeon:9"], "--dask: no Dask scheduler answers at carrier"),
        (["--dask", "tcp://127.0.0.1:9", "--jobs", "2"], "--jobs: it is for processes of this"),
    ],
)
def test_an_address_that_is_of_no_use_is_refused(options, told, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_cluster, "_PATIENCE", 0.5)
    monkeypatch.setenv("COLUMNS", "300")
    asked = ["reproduce", "sinmem10", "--models", "ParalESN", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*asked, *options])
    assert done.exit_code == 2
    assert told in " ".join(done.output.split())

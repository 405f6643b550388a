"""Journals of studies: Optuna's own format, whatever a killed process left in them."""

import json
import multiprocessing
import os
import signal
import time
from collections import Counter

import pytest

from paralesn.files import DamagedFileError, DamagedFileWarning
from paralesn.workflows import study_storage
from paralesn.workflows.study_journal import StudyJournal

optuna = pytest.importorskip("optuna")
NAME = "study.log"


def study(folder):
    return study_storage.create_study(study_storage.opened(str(folder), NAME), "a study")


def work(folder, trials):
    study(folder).optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=trials)


def values(folder):
    return [trial.value for trial in study(folder).get_trials()]


@pytest.fixture
def worked(tmp_path):
    work(tmp_path, 4)
    return tmp_path, values(tmp_path)


TORN = {
    "half a line": b'{"op_code":4,"worker_id":"a',
    "half a character": '{"op_code":8,"text":"ü'.encode()[:-1],
    "zeros": b"\0" * 4096,
    "a line that another went on": b'{"op_code":4,"wor{"op_code":4,"worker_id":"b"}\n',
    "several": b'\0\0\n{"op_code"\n[]\n{"a',
    "a long one": b'{"op_code":' + b" " * 200_000,
}


@pytest.mark.parametrize("torn", TORN.values(), ids=list(TORN))
def test_a_torn_end_is_dropped_and_told_and_everything_before_it_kept(torn, worked):
    folder, before = worked
    with (folder / NAME).open("ab") as file:
        file.write(torn)
    with pytest.warns(DamagedFileWarning, match=r"study\.log, passed over: the end behind byte"):
        assert values(folder) == before
    work(folder, 2)  # without a warning: it is mended
    assert values(folder)[:4] == before
    assert len(values(folder)) == 6
    theirs = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(folder / NAME))
    )
    (found,) = optuna.get_all_study_summaries(theirs)
    assert found.n_trials == 6


def test_an_end_is_told_once(worked):
    folder, _ = worked
    with (folder / NAME).open("ab") as file:
        file.write(b'{"op')
    with pytest.warns(DamagedFileWarning) as warned:
        work(folder, 2)
    assert len(warned) == 1


def test_a_line_that_only_lacks_its_end_is_dropped_by_readers_and_writers_alike(worked):
    folder, before = worked
    whole = (folder / NAME).read_bytes()
    (folder / NAME).write_bytes(whole[:-1])
    with pytest.warns(DamagedFileWarning):
        assert len(StudyJournal(folder / NAME).read_logs(0)) == whole.count(b"\n") - 1
    with pytest.warns(DamagedFileWarning):
        work(folder, 1)
    assert [value for value in values(folder) if value is not None][:3] == before[:3]


def test_damage_before_the_end_is_an_error_that_names_the_line(worked):
    folder, _ = worked
    lines = (folder / NAME).read_bytes().split(b"\n")
    lines[4] = b"\xff" + lines[4][1:]
    (folder / NAME).write_bytes(b"\n".join(lines))
    with pytest.raises(DamagedFileError, match=r"study\.log is damaged: line 5 is no change"):
        study(folder)


def test_what_means_nothing_to_optuna_is_an_error_that_names_the_file(tmp_path):
    for content in ('{"op_code": 99}\n', "{}\n", '{"op_code": 0}\n{"op_code": 1}\n'):
        (tmp_path / NAME).write_text(content)
        with pytest.raises(DamagedFileError, match=r"study\.log is no journal of studies: "):
            study(tmp_path)


def test_a_lock_of_a_dead_process_is_nobodys(worked):
    folder, before = worked
    (folder / f"{NAME}.lock").symlink_to(folder / NAME)  # as Optuna's own backend locks
    begun = time.monotonic()
    work(folder, 1)
    assert time.monotonic() - begun < 10  # Optuna would wait for 30 s
    assert values(folder)[:4] == before


def _hold(path, ready):
    from paralesn.runtime.file_lock import only_writer

    with open(path, "r+b") as file, only_writer(file):
        ready.set()
        time.sleep(600)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_process_that_is_killed_with_the_lock_holds_nobody_up(worked):
    folder, before = worked
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    holder = context.Process(target=_hold, args=(str(folder / NAME), ready))
    holder.start()
    assert ready.wait(60)
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    begun = time.monotonic()
    work(folder, 1)
    assert time.monotonic() - begun < 10
    assert values(folder)[:4] == before


@pytest.mark.slow
def test_many_writers_spoil_no_change(tmp_path):
    study(tmp_path)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(tmp_path, 20)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    states = Counter(trial.state for trial in study(tmp_path).get_trials())
    assert states == {optuna.trial.TrialState.COMPLETE: 60}
    for line in (tmp_path / NAME).read_bytes().splitlines():
        json.loads(line)


def test_changes_that_do_not_fit_the_disk_leave_nothing(tmp_path, monkeypatch):
    journal = StudyJournal(tmp_path / NAME)
    journal.append_logs([{"op_code": 0}])
    monkeypatch.setattr(os, "fsync", _full_disk)
    with pytest.raises(OSError, match="No space left"):
        journal.append_logs([{"op_code": 1}])
    assert (tmp_path / NAME).read_bytes() == b'{"op_code":0}\n'
    assert journal.read_logs(0) == [{"op_code": 0}]
    assert journal.read_logs(1) == []


def _full_disk(handle):
    raise OSError(28, "No space left on device")

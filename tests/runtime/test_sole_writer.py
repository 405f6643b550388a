"""One process that goes on writing a file; others are told who does."""

import os
import subprocess
import sys

import pytest

from paralesn.runtime.sole_writer import InUseError, sole_writer

pytestmark = pytest.mark.skipif(os.name == "nt", reason="names of processes")

HOLDING = """
import sys, time
from pathlib import Path
from paralesn.runtime.sole_writer import sole_writer
with sole_writer(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path / "state")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_who_holds_it_is_told_and_a_killed_one_holds_nothing(tmp_path, holder):
    with pytest.raises(InUseError, match=f"state is in use by process {holder.pid}$"):
        sole_writer(tmp_path / "state").__enter__()
    holder.kill()
    holder.wait()
    assert os.listdir(tmp_path) == [".state.lock"]
    with sole_writer(tmp_path / "state"):
        assert (tmp_path / ".state.lock").read_text() == str(os.getpid())
    assert os.listdir(tmp_path) == []


def test_other_files_of_the_folder_are_free(tmp_path, holder):
    with sole_writer(tmp_path / "other"):
        pass


@pytest.mark.parametrize("plant", [os.symlink, os.link])
def test_a_planted_lock_is_not_written_to(tmp_path, plant):
    (tmp_path / "precious").write_text("to somebody")
    plant(tmp_path / "precious", tmp_path / ".state.lock")
    with pytest.raises(OSError, match=r"\.state\.lock"):
        sole_writer(tmp_path / "state").__enter__()
    assert (tmp_path / "precious").read_text() == "to somebody"


def test_it_is_given_up_where_the_block_fails(tmp_path):
    with pytest.raises(ZeroDivisionError), sole_writer(tmp_path / "state"):
        raise ZeroDivisionError
    with sole_writer(tmp_path / "state"):
        pass


def test_an_interruption_while_it_is_given_up_leaves_no_lock(tmp_path, monkeypatch):
    unlink, times = os.unlink, []

    def interrupted(path, **options):
        times.append(path)
        if len(times) == 1:
            raise KeyboardInterrupt
        unlink(path, **options)

    with pytest.raises(KeyboardInterrupt), sole_writer(tmp_path / "state"):
        monkeypatch.setattr(os, "unlink", interrupted)
    assert os.listdir(tmp_path) == []

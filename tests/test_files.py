"""Files are written completely or not at all; a missing package is named with its extra."""

import errno
import os
import stat
import subprocess
import sys
import time
from contextlib import nullcontext

import pytest

from paralesn import files


def test_a_written_file_replaces_the_old_one_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "notes.txt"
    files.save_text("first", path)
    with files.replacing(path) as unfinished:
        assert path.read_text() == "first"
        assert unfinished.parent == tmp_path
        assert unfinished.read_bytes() == b""
        unfinished.write_text("second")
    assert path.read_text() == "second"
    assert os.listdir(tmp_path) == ["notes.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file(error, tmp_path):
    path = tmp_path / "notes.txt"
    files.save_text("first", path)

    def fail():
        with files.replacing(path) as unfinished:
            unfinished.write_text("sec")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "first"
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_a_failure_to_rename_removes_the_temporary_file(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    (path / "content").touch()
    with pytest.raises(OSError, match="folder"):
        files.save_text("text", path)
    assert os.listdir(tmp_path) == ["folder"]


def test_the_content_is_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    calls = []
    real_fsync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), real_fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda *a: (calls.append("replace"), real_replace(*a)))
    files.save_text("text", tmp_path / "notes.txt")
    assert calls == ["fsync", "replace", "fsync"]  # the second one of the folder
    calls.clear()
    with files.replacing(tmp_path / "notes.txt", durable=False) as unfinished:
        unfinished.write_text("made again in no time")
    assert calls == ["replace"]


@pytest.mark.skipif(os.name != "posix", reason="folders are opened on POSIX only")
@pytest.mark.parametrize(("error", "fails"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_folder_that_cannot_be_flushed_is_told_from_a_broken_disk(
    error, fails, tmp_path, monkeypatch
):
    real = os.fsync

    def flush(fd):
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(error, "the folder")
        real(fd)

    monkeypatch.setattr(os, "fsync", flush)
    with pytest.raises(OSError, match="the folder") if fails else nullcontext():
        files.save_text("text", tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "text"


def test_temporary_names_differ_and_existing_files_are_never_opened(tmp_path, monkeypatch):
    """A link that somebody planted under the name to come is not followed."""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    tokens = iter(["aa", "aa", "bb"])
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: next(tokens))
    (tmp_path / ".notes.txt.aa.part").symlink_to(victim)
    with files.replacing(tmp_path / "notes.txt") as unfinished:
        assert unfinished.name == ".notes.txt.bb.part"
        unfinished.write_text("text")
    assert victim.read_text() == "untouched"
    monkeypatch.undo()
    with files.replacing(victim) as first, files.replacing(victim) as second:
        assert first != second
        first.write_text("1")
        second.write_text("2")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_any_new_file(mask, tmp_path):
    """In a process of its own, since the mask is the process's."""
    code = (
        f"import os; os.umask({mask})\n"
        "from pathlib import Path; from paralesn import files\n"
        "files.save_text('x', Path('ours')); open('plain', 'w').close()\n"
        f"assert os.umask(0) == {mask}\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "plain")]
    assert modes == [0o666 & ~mask] * 2


def test_only_the_last_folder_is_made(tmp_path):
    files.save_json({"a": 1}, tmp_path / "new" / "a.json")
    assert (tmp_path / "new" / "a.json").read_text() == '{\n "a": 1\n}\n'
    with pytest.raises(FileNotFoundError):
        files.save_json({}, tmp_path / "no" / "such" / "a.json")


def test_long_names_can_be_written(tmp_path):
    path = tmp_path / ("ü" * 100 + ".txt")
    files.save_text("x", path)
    assert path.read_text() == "x"


@pytest.mark.skipif(os.name != "posix", reason="names have 255 bytes there")
@pytest.mark.parametrize("letter", ["a", "ü", "漢", "🌍", "\udcff"])
def test_names_of_255_bytes_can_be_written(letter, tmp_path):
    name = letter * (255 // len(os.fsencode(letter)))
    files.save_text("x", tmp_path / name)
    assert os.listdir(tmp_path) == [name]


KILLED = """
import os, signal, sys
from pathlib import Path
from paralesn import files
with files.{making} as unfinished:
    print(unfinished, flush=True)
    target = unfinished / "part" if unfinished.is_dir() else unfinished
    target.write_text("half of")
    sys.stdin.read()
"""


@pytest.fixture
def writer(tmp_path):
    """Starts a process that waits in the midst of writing; the process and its file."""
    started = []

    def start(making):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED.format(making=making)],
            cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
        started.append(process)
        unfinished = tmp_path / process.stdout.readline().strip()
        while not unfinished.stat().st_size:
            time.sleep(0.01)
        return process, unfinished

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="without locks leftovers stay for a day")
def test_what_a_killed_process_left_is_removed_by_the_next_one(writer, tmp_path):
    path = tmp_path / "notes.txt"
    alive, in_use = writer("replacing(Path('notes.txt'))")
    killed, leftover = writer("replacing(Path('notes.txt'))")
    killed.kill()
    killed.wait()
    others = [".notes.txt.part", ".notes.txt.0123.part", ".other.0123456789abcdef.part"]
    for name in others:
        (tmp_path / name).write_text("not ours")
    planted = [".notes.txt.0123456789abcdef.part", ".notes.txt.fedcba9876543210.part"]
    (tmp_path / planted[0]).symlink_to(path)
    (tmp_path / planted[1]).mkdir()
    files.save_text("whole", path)
    assert not leftover.exists()
    assert in_use.read_text() == "half of"
    alive.communicate()  # it ends
    assert alive.returncode == 0
    assert path.read_text() == "half of"
    left = sorted(os.listdir(tmp_path))
    assert left == sorted([*others, *planted, "notes.txt"])


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="without locks leftovers stay for a day")
def test_folders_of_killed_processes_are_removed(writer, tmp_path):
    alive, in_use = writer("folder_aside(Path('.'))")
    killed, leftover = writer("folder_aside(Path('.'))")
    killed.kill()
    killed.wait()
    with files.folder_aside(tmp_path) as aside:
        assert not leftover.exists()
        assert (in_use / "part").exists()
        assert list(aside.iterdir()) == []
    alive.communicate()
    assert os.listdir(tmp_path) == []


def test_without_locks_leftovers_stay_for_a_day(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    old, young = (tmp_path / f".notes.txt.{digit * 16}.part" for digit in "01")
    for leftover in (old, young):
        leftover.touch()
    os.utime(old, (1, 1))
    files.save_text("text", tmp_path / "notes.txt")
    assert sorted(os.listdir(tmp_path)) == [young.name, "notes.txt"]
    with files.folder_aside(tmp_path) as aside:
        assert aside.is_dir()
    assert not aside.exists()


@pytest.mark.skipif(files.fcntl is None, reason="locks of POSIX")
def test_a_file_that_is_being_removed_is_left_for_a_new_one(tmp_path, monkeypatch):
    """Between its creation and its lock, another process may take a new file for a leftover."""
    real, made = files.fcntl.flock, []

    def removed_meanwhile(handle, operation):
        (found,) = tmp_path.glob(".*.part")
        made.append(found.name)
        if len(made) == 1:
            found.unlink()
        elif len(made) == 2:
            found.unlink()
            raise BlockingIOError
        return real(handle, operation)

    monkeypatch.setattr(files.fcntl, "flock", removed_meanwhile)
    with files.replacing(tmp_path / "notes.txt") as unfinished:
        unfinished.write_text("text")
    assert len(set(made)) == 3
    assert os.listdir(tmp_path) == ["notes.txt"]


@pytest.mark.skipif(files.fcntl is None, reason="locks of POSIX")
def test_a_folder_that_is_being_removed_is_left_for_a_new_one(tmp_path, monkeypatch):
    real, tokens = os.open, iter(["0" * 16, "1" * 16, "2" * 16])
    planted = tmp_path / f".files.{'0' * 16}.part"

    def removed_meanwhile(path, *arguments, **options):
        if "1" * 16 in str(path):
            os.rmdir(path)
        return real(path, *arguments, **options)

    planted.symlink_to("nowhere")
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: next(tokens))
    monkeypatch.setattr(os, "open", removed_meanwhile)
    with files.folder_aside(tmp_path) as aside:
        assert aside.name == f".files.{'2' * 16}.part"
    assert list(tmp_path.iterdir()) == [planted]


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    message = "MLP needs PyTorch; install it with: pip install 'paralesn[torch]'"
    with pytest.raises(ModuleNotFoundError) as caught:
        files.require("torch", "torch", purpose="MLP")
    assert str(caught.value) == message
    assert caught.value.name == "torch"


def test_an_error_inside_an_installed_package_is_passed_on(tmp_path, monkeypatch):
    (tmp_path / "halfinstalled.py").write_text("import surely_not_installed\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="No module named 'surely_not_installed'"):
        files.require("halfinstalled", "plot")
    assert files.require("json", "plot").dumps(1) == "1"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_what_is_not_a_file_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(FileExistsError, match="not a file"), files.replacing(path):
            pass
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]

"""Files are written completely or not at all; a missing package is named with its extra."""

import os
import stat
import subprocess
import sys

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
    assert calls == ["fsync", "replace"]


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

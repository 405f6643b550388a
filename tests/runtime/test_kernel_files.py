"""Files of compiled code: whatever is not as it was written is compiled anew and replaced."""

import os
import pickle
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import numba
import numpy as np
import pytest

from paralesn.runtime import compiler, kernel_cache, kernel_files

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes of POSIX")
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)


def sums(x):
    return x.sum() + 1


def products(x):
    return x.prod() + 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of kernels."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(kernel_cache, "_refused", [])
    kernel_cache._warn_once.cache_clear()
    return tmp_path / "kernels"


def use(function=sums, dtype=float):
    """Call a fresh kernel; how often it was compiled."""
    made = compiler.kernel(function)
    x = np.arange(2, 5).astype(dtype)
    assert made(x) == function(x)
    return sum(made.stats.cache_misses.values())


def kept(folder, suffix):
    return sorted(path for path in folder.rglob("*") if path.suffix == suffix)


def test_what_was_sealed_is_unsealed_under_its_name_only():
    data = kernel_files.sealed(b"content", "a")
    assert kernel_files.unsealed(data, "a") == b"content"
    assert kernel_files.unsealed(kernel_files.sealed(b"", "a"), "a") == b""
    assert kernel_files.unsealed(data, "b") is None
    for place in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            assert kernel_files.unsealed(bytes(damaged), "a") is None
        assert kernel_files.unsealed(data[:place], "a") is None
    assert kernel_files.unsealed(data + b"x", "a") is None


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_files_are_compiled_anew_and_replaced(folder, suffix):
    use()
    (path,) = kept(folder, suffix)
    whole = path.read_bytes()
    for damaged in (b"", whole[:30], whole[:-1], whole + b"x", whole[:200] + b"?" + whole[201:]):
        path.write_bytes(damaged)
        assert use() == 1
        assert use() == 0


class Trap:
    def __reduce__(self):
        return pytest.fail, ("a pickle of others was loaded",)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_nothing_is_unpickled_that_was_not_sealed(folder, suffix):
    use()
    (path,) = kept(folder, suffix)
    trap = pickle.dumps(Trap())
    for data in (trap, pickle.dumps(numba.__version__) + trap, kernel_files.MAGIC + trap):
        path.write_bytes(data)
        assert use() == 1
    assert use() == 0


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_code_of_another_function_or_signature_is_not_run(folder, suffix):
    use(sums)
    use(sums, np.float32)
    use(products)
    paths = kept(folder, suffix)
    for a, b in pairwise(paths):
        one, other = a.read_bytes(), b.read_bytes()
        a.write_bytes(other)
        b.write_bytes(one)
        for _ in range(2):  # the first call mends it
            misses = use(sums) + use(sums, np.float32) + use(products)
        assert misses == 0


@pytest.mark.slow
def test_processes_that_save_at_once_do_not_mix_up_signatures(folder):
    """Both saw an empty index and gave their code the same number: the later index wins."""
    use(sums)
    (index,), (data,) = kept(folder, ".nbi"), kept(folder, ".nbc")
    ours = index.read_bytes()
    index.unlink()
    use(sums, np.float32)
    assert kept(folder, ".nbc") == [data]
    index.write_bytes(ours)  # it says that the code is for double precision
    assert use(sums) == 1
    assert use(sums) == 0


@pytest.mark.slow
def test_code_of_an_older_source_is_not_run(folder, monkeypatch):
    """A kill may leave a new index beside old code."""
    use()
    (data,) = kept(folder, ".nbc")
    old = data.read_bytes()
    monkeypatch.setattr(kernel_cache, "STAMP", "newer")
    assert use() == 1
    data.write_bytes(old)
    assert use() == 1
    assert use() == 0


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_what_is_no_file_is_replaced_or_left_alone(folder, suffix):
    use()
    (path,) = kept(folder, suffix)
    elsewhere = folder / "elsewhere"
    elsewhere.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(elsewhere)
    assert [use(), use()] == [1, 0]
    assert not path.is_symlink()
    path.unlink()
    path.mkdir()
    assert [use(), use()] == [1, 0]
    path.unlink()
    (path / "content").mkdir(parents=True)
    assert [use(), use()] == [1, 1]
    (path / "content").rmdir()
    path.rmdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(path)
        assert [use(), use()] == [1, 0]
    with path.open("r+b") as file:
        file.truncate(2**40)  # takes no room on the disk
    assert [use(), use()] == [1, 0]


@posix
@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("mode", [0o666, 0o664, 0o646])
def test_files_that_others_may_write_are_replaced(folder, suffix, mode):
    use()
    (path,) = kept(folder, suffix)
    path.chmod(mode)
    assert [use(), use()] == [1, 0]
    assert path.stat().st_mode & 0o022 == 0


@posix
@pytest.mark.slow
@pytest.mark.parametrize("mask", [0o000, 0o002])
def test_files_are_not_for_others_to_write_whatever_the_mask(folder, mask):
    before = os.umask(mask)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the folder may be for others to write
            use()
        for made in [folder, *folder.iterdir()]:
            made.chmod(0o755)
        for made in folder.rglob("*.nb?"):
            made.unlink()
        assert [use(), use()] == [1, 0]
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in folder.rglob("*.nb?")] == [0o644] * 2


@posix
@pytest.mark.slow
def test_a_folder_that_others_may_write_to_is_not_used(folder):
    use()
    (sub,) = folder.iterdir()
    sub.chmod(0o777)
    before = {path: path.read_bytes() for path in sub.iterdir()}
    with pytest.warns(RuntimeWarning, match="not kept on disk") as caught:
        made = [compiler.kernel(function) for function in (sums, products)]  # one warning for all
    for kernel, function in zip(made, (sums, products), strict=True):
        assert kernel(np.arange(2.0)) == function(np.arange(2.0))
        assert type(kernel._cache).__name__ == "NullCache"
    (said,) = caught
    assert f"other users may write to {sub} (chmod go-w would end that)" in str(said.message)
    assert "NUMBA_CACHE_DIR" in str(said.message)
    assert {path: path.read_bytes() for path in sub.iterdir()} == before
    sub.chmod(0o1777)  # nobody replaces files of others there
    assert use() == 0


@as_root
@pytest.mark.slow
def test_what_belongs_to_others_is_not_used(folder, recwarn):
    use()
    (sub,), stranger = folder.iterdir(), 54321
    for suffix in (".nbi", ".nbc"):
        (path,) = kept(folder, suffix)
        os.chown(path, stranger, -1)
        assert [use(), use()] == [1, 0]
    os.chown(sub, stranger, -1)
    with pytest.warns(RuntimeWarning, match=rf"{sub} belongs to another user \(number 54321\)"):
        compiler.kernel(sums)


@posix
def test_the_owner_of_the_source_may_own_its_code(tmp_path, monkeypatch):
    """Who can change the source need not change the cache: a container run by root."""
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    source = tmp_path / "source.py"
    assert kernel_files.trusted_owners(source) == {12345, 0}
    source.touch()
    owners = kernel_files.trusted_owners(source)
    assert owners == {12345, 0, source.stat().st_uid}
    tmp_path.chmod(0o755)
    assert kernel_files.fault_of(tmp_path, owners) is None
    assert "belongs to another user" in kernel_files.fault_of(tmp_path, frozenset({12345}))


@posix
@pytest.mark.parametrize(
    ("group", "members", "is_private"),
    [("ann", [], True), ("ann", ["ann"], True), ("ann", ["bob"], False), ("staff", [], False)],
)
def test_a_group_of_one_is_nobody_else(group, members, is_private, tmp_path, monkeypatch):
    """Where each user has a group, new folders can be written by it."""
    import grp
    import pwd
    from types import SimpleNamespace

    status = tmp_path.stat()
    owner = SimpleNamespace(pw_name="ann", pw_gid=status.st_gid)
    monkeypatch.setattr(pwd, "getpwuid", lambda user: owner)
    found = SimpleNamespace(gr_name=group, gr_mem=members)
    monkeypatch.setattr(grp, "getgrgid", lambda number: found)
    tmp_path.chmod(0o775)
    fault = kernel_files.fault_of(tmp_path, frozenset({status.st_uid}))
    assert (fault is None) == is_private
    tmp_path.chmod(0o757)
    assert kernel_files.fault_of(tmp_path, frozenset({status.st_uid})) is not None
    monkeypatch.setattr(grp, "getgrgid", {}.__getitem__)
    tmp_path.chmod(0o775)
    assert kernel_files.fault_of(tmp_path, frozenset({status.st_uid})) is not None


@pytest.mark.slow
def test_a_real_use_with_a_folder_for_all_says_so_and_goes_on(tmp_path):
    """In a process of its own, with the mask of some containers."""
    code = (
        "import os; os.umask(0)\nimport paralesn as pe\n"
        "print(float(pe.ParalESN(units=8, seed=0).run([0.0] * 3)[0].sum()))"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == float(done.stdout)
    if hasattr(os, "geteuid"):
        assert done.stderr.count("compiled kernels are not kept on disk") == 1
        assert not list(Path(tmp_path).rglob("*.nb?"))

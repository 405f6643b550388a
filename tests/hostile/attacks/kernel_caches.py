"""Files of compiled kernels, damaged in every way: results are right, and the cache is mended."""

import atexit
import json
import os
import pickle
import shutil
import signal
import tempfile
import traceback
import warnings
from functools import cache
from pathlib import Path

import numba
import numpy as np
from hypothesis import strategies as st

from paralesn.datasets.generated import ieee
from paralesn.runtime import compiler, kernel_cache, kernel_files

CASES = 15
STRANGER = 54321  # number of a user that is somebody else
STUCK = 60  # seconds
LARGE = 2**30  # bytes; a file of holes is not read
MARK = "PARALESN_HOSTILE_MARK"  # names a file that a pickle would make if it was loaded


def sums(x):
    return x[0] + x[1] + 1


def products(x):
    return x[0] * x[1] + 1


FUNCTIONS = (sums, products)

_PLACE = st.one_of(st.integers(0, 200), st.integers(0, 2**20))
_FILE = st.integers(0, 4)
_DAMAGE = st.one_of(
    st.fixed_dictionaries({"how": st.just("flip"), "file": _FILE, "at": _PLACE,
                           "bit": st.integers(0, 7)}),
    st.fixed_dictionaries({"how": st.just("cut"), "file": _FILE, "at": _PLACE}),
    st.fixed_dictionaries({"how": st.just("fill"), "file": _FILE, "at": _PLACE,
                           "with": st.binary(min_size=1, max_size=64).map(bytes.hex)}),
    st.fixed_dictionaries({"how": st.just("append"), "file": _FILE,
                           "with": st.binary(min_size=1, max_size=64).map(bytes.hex)}),
    st.fixed_dictionaries({"how": st.sampled_from(["swap", "copy", "link to"]), "file": _FILE,
                           "other": _FILE}),
    st.fixed_dictionaries({"how": st.just("trap"), "file": _FILE, "kind": st.integers(0, 3)}),
    st.fixed_dictionaries({"how": st.just("mode"), "file": _FILE,
                           "mode": st.sampled_from([0, 0o444, 0o600, 0o666, 0o664, 0o777])}),
    st.fixed_dictionaries({"how": st.just("kind"), "file": _FILE, "kind": st.sampled_from(
        ["absent", "folder", "full folder", "loop", "dangling", "zero", "fifo", "holes",
         "stranger"])}),
)  # fmt: skip
RECIPES = st.fixed_dictionaries({
    "whole engine": st.booleans(),
    "damage": st.lists(_DAMAGE, min_size=1, max_size=3),
    "folder": st.sampled_from([0o755] * 8 + [0o777, 0o1777, 0o757, 0o700, "stranger"]),
    "at once": st.sampled_from([1, 1, 1, 2]),
})  # fmt: skip


def attack(recipe, folder):
    kernels, mark = folder / "kernels", folder / "executed"
    shutil.copytree(_whole_cache(recipe["whole engine"]), kernels)
    os.environ[MARK] = str(mark)
    (sub,) = kernels.iterdir()
    blocked = _damage(sub, recipe["damage"])
    is_refused = _change(sub, recipe["folder"])
    before = _look(sub)
    for used in _in_children(kernels, recipe["whole engine"], recipe["at once"]):
        _check(used, is_refused)
    assert not mark.exists(), "a pickle was loaded"
    if is_refused:
        assert _look(sub) == before, "a folder that is not used was changed"
        return "refused"
    (again,) = _in_children(kernels, recipe["whole engine"], 1)
    _check(again, False)
    assert blocked or recipe["at once"] > 1 or not again["misses"], "the cache was not mended"
    if recipe["at once"] > 1:  # the last index may not have what another process saved
        (again,) = _in_children(kernels, recipe["whole engine"], 1)
        assert blocked or not again["misses"], "the cache was not mended"
    assert not list(sub.glob(".*")), "unfinished files are left"
    return "held"


def _check(used, is_refused):
    """Results and notes of one process."""
    assert "error" not in used, used.get("error")
    for found, (function, dtype) in zip(used["results"], _CALLS, strict=True):
        expected = float(function(_argument(dtype)))
        assert abs(found - expected) <= 1e-6 * expected, f"{function.__name__}: {found}"
    assert len(used["said"]) == int(is_refused), used["said"]
    if is_refused:
        assert "are not kept on disk" in used["said"][0]


_CALLS = [(sums, np.float64), (sums, np.float32), (products, np.float64)]


def _argument(dtype):
    return np.array([1.5, 2.25], dtype)


# -- the cache -------------------------------------------------------------------------------------


@cache
def _whole_cache(whole_engine):
    """Folder of a cache as it should be."""
    for dtype in (np.float64, np.float32):  # what Numba prepares once, children need not
        numba.njit(lambda x: x[0] + x[1] + 1)(_argument(dtype))
    home = Path(tempfile.mkdtemp(prefix="hostile-kernels-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    (made,) = _in_children(home / "kernels", whole_engine, 1)
    assert made["misses"] == len(_CALLS), made
    return home / "kernels"


def _in_children(kernels, whole_engine, count):
    """What came of using the kernels in so many processes at once."""
    ends = []
    for _ in range(count):
        ours, theirs = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads, none of which holds a lock we need
            child = os.fork()
        if child == 0:
            signal.alarm(STUCK)
            os.close(ours)
            try:
                told = _use(kernels, whole_engine)
            except BaseException:
                told = {"error": traceback.format_exc()}
            with open(theirs, "wb") as pipe:
                pipe.write(json.dumps(told).encode())
            os._exit(0)
        os.close(theirs)
        ends.append((child, ours))
    found = []
    for child, ours in ends:
        with open(ours, "rb") as pipe:
            text = pipe.read()
        _, status = os.waitpid(child, 0)
        assert status == 0, f"a process ended with {os.waitstatus_to_exitcode(status)}"
        found.append(json.loads(text))
    return found


def _use(kernels, whole_engine):
    """Call fresh kernels; their results, how many were compiled, and what was said."""
    numba.config.CACHE_DIR = str(kernels)
    kernel_cache._refused.clear()
    kernel_cache._warn_once.cache_clear()
    compiled = compiler.kernel if whole_engine else ieee.strict
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = {function: compiled(function) for function in FUNCTIONS}
        results = [float(made[function](_argument(dtype))) for function, dtype in _CALLS]
    misses = sum(sum(kernel.stats.cache_misses.values()) for kernel in made.values())
    return {"results": results, "misses": misses, "said": [str(one.message) for one in said]}


# -- damage ----------------------------------------------------------------------------------------


class _Trap:
    """A pickle that leaves a mark where it is loaded."""

    def __reduce__(self):
        return os.system, (f'touch "${MARK}"',)


def _damage(sub, damage):
    """Damage files; whether something was put where no file can be written."""
    paths, blocked = sorted(sub.glob("*.nb?")), False
    for one in damage:
        path = paths[one["file"] % len(paths)]
        if one["how"] == "kind":
            _become(path, one["kind"])
            blocked |= one["kind"] == "full folder"
        elif not path.is_file():
            continue
        elif one["how"] == "mode":
            path.chmod(one["mode"])
        elif "other" in one:
            _mix(path, paths[one["other"] % len(paths)], one["how"])
        else:
            path.write_bytes(_damaged(path.read_bytes(), one))
    return blocked


def _damaged(content, one):
    """Content of a file after damage."""
    if one["how"] == "trap":
        trap = pickle.dumps(_Trap())
        digest = bytes(len(kernel_files.sealed(b"", "")) - len(kernel_files.MAGIC))
        version = pickle.dumps(numba.__version__)
        return [trap, version + trap, kernel_files.MAGIC + digest + trap, content[:50] + trap][
            one["kind"]
        ]
    if one["how"] == "append":
        return content + bytes.fromhex(one["with"])
    at = one["at"] % max(1, len(content))
    if one["how"] == "cut":
        return content[:at]
    if one["how"] == "fill":
        data = bytes.fromhex(one["with"])
        return content[:at] + data + content[at + len(data) :]
    return content[:at] + bytes([content[at] ^ 1 << one["bit"]]) + content[at + 1 :]


def _mix(path, other, how):
    """Exchange, copy or link two files."""
    if not other.is_file() or other == path:
        return
    if max(path.stat().st_size, other.stat().st_size) >= LARGE:
        return
    ours, theirs = path.read_bytes(), other.read_bytes()
    if how == "link to":
        path.unlink()
        path.symlink_to(other)
        return
    path.write_bytes(theirs)
    if how == "swap":
        other.write_bytes(ours)


def _become(path, kind):
    """Put something else in the place of a file."""
    if kind == "stranger":
        if os.geteuid() == 0 and path.is_file():
            os.chown(path, STRANGER, -1)
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if kind in ("folder", "full folder"):
        path.mkdir()
        if kind == "full folder":
            (path / "something").touch()
    elif kind in ("loop", "dangling", "zero"):
        path.symlink_to({"loop": path, "dangling": "nothing", "zero": "/dev/zero"}[kind])
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "holes":
        with path.open("wb") as file:
            file.truncate(2**40)


def _change(sub, folder):
    """Change mode or owner of the folder; whether it must not be used then."""
    if folder == "stranger":
        if os.geteuid() != 0:
            return False
        os.chown(sub, STRANGER, -1)
        return True
    sub.chmod(folder)
    return folder in (0o777, 0o757)


def _look(sub):
    """Names in a folder, and what is in the files that are small."""
    return {
        path.name: path.read_bytes()
        if not path.is_symlink() and path.is_file() and path.stat().st_size < LARGE
        else None
        for path in sub.iterdir()
    }

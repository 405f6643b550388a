"""Compiled code on disk: found again, noticed when stale, never fatal."""

import os
import subprocess
import sys

import numpy as np
import pytest

from paralesn.runtime import compiler, kernel_cache

# A kernel made like those of the package, by a factory and from another one, but compiled in no
# time. Prints a result, how many kernels were compiled and how many came from the cache.
TOY = """
import numpy as np
from paralesn.runtime.compiler import inlined, kernel

def total_kernel(factor):
    @inlined
    def scaled(x):
        return factor * x

    @kernel
    def total(values):
        result = 0.0
        for i in range(values.size):
            result += scaled(values[i])
        return result

    return total

total = total_kernel(3)
#before
print(float(total(np.ones(5))))
print(sum(total.stats.cache_misses.values()), sum(total.stats.cache_hits.values()))
"""


@pytest.fixture
def toy(tmp_path):
    """Runs a file with the toy kernel (Numba caches no code without one); what it prints."""

    def run(first="", before="", **environment):
        (tmp_path / "toy.py").write_text(first + TOY.replace("#before", before))
        os.utime(tmp_path / "toy.py", (1, 1))  # so that only the stamp can make the cache stale
        result = subprocess.run(
            [sys.executable, str(tmp_path / "toy.py")],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout.split()

    return run


@pytest.mark.slow
def test_a_second_process_compiles_nothing(toy):
    assert toy() == ["15.0", "1", "0"]
    assert toy() == ["15.0", "0", "1"]


@pytest.mark.slow
def test_a_terminal_is_told_once_that_kernels_are_compiled(tmp_path):
    pty = pytest.importorskip("pty")
    (tmp_path / "toy.py").write_text(TOY + "total(np.ones(5, np.float32))\n")

    def said_on_terminal():
        ours, theirs = pty.openpty()
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, str(tmp_path / "toy.py")]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, stderr=theirs)
        os.write(theirs, b".")  # so that there is something to read
        os.close(theirs)
        said = os.read(ours, 10_000).decode()
        os.close(ours)
        return said.count("compiling kernels for this machine, once")

    assert said_on_terminal() == 1  # though two signatures were compiled
    assert said_on_terminal() == 0


@pytest.mark.slow
def test_where_nobody_looks_nothing_is_said(tmp_path):
    (tmp_path / "toy.py").write_text(TOY)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(tmp_path / "toy.py")]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stderr == ""


NOWHERE = """
from numba.core import caching
for locator in list(vars(caching).values()):
    if hasattr(locator, "from_function"):
        locator.from_function = classmethod(lambda *arguments: None)
"""

VANISHES = """
import os, pathlib, shutil
folder = pathlib.Path(os.environ["NUMBA_CACHE_DIR"])
shutil.rmtree(folder)
folder.write_text("a file in the way")
"""


ANOTHER_NUMBA = """
import warnings
from numba.core import caching, dispatcher
from numba.core.registry import CPUDispatcher
{change}
warnings.filterwarnings("error", message="compiled kernels are not kept")
try:
    import paralesn.runtime.compiler as c
    @c.kernel
    def f(x): return x
except RuntimeWarning as told:
    print(str(told).rpartition("knows ")[2].replace(" ", "_"))
warnings.filterwarnings("ignore", message="compiled kernels are not kept")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("del caching.IndexDataCacheFile", "'IndexDataCacheFile'"),
        ("del caching.Cache._index_key", "'_index_key'"),
        ("del caching.IndexDataCacheFile._load_data", "'_load_data'"),
        ("caching.Cache.__init__ = lambda self, function, more: None", "'more'"),
        ("caching.Cache.__init__ = lambda self, function: None", "'_cache_file'"),
    ],
)
def test_with_another_numba_it_compiles_in_memory_and_says_so(toy, change, told):
    printed = toy(ANOTHER_NUMBA.format(change=change), "print(type(total._cache).__name__)")
    assert told in printed[0]
    assert printed[1:3] == ["NullCache", "15.0"]


# Numba without a name that functions linked into kernels build on, as far as this package sees.
LACKING = """
from numba.core import codegen, compiler
kept = {owner}.{name}
del {owner}.{name}
import paralesn.runtime.compiler
{owner}.{name} = kept
"""
IS_LINKED = """
from paralesn.runtime import compiler
print("pipeline_class" in compiler._BARE)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("codegen.JITCodeLibrary", "get_pointer_to_function"),
        ("codegen.CPUCodeLibrary", "_get_module_for_linking"),
        ("compiler", "DefaultPassBuilder"),
    ],
)
def test_where_numba_lacks_a_name_functions_are_compiled_as_it_does(toy, owner, name):
    assert toy(before=IS_LINKED) == ["True", "15.0", "1", "0"]
    lacking = LACKING.format(owner=owner, name=name)
    assert toy(lacking, IS_LINKED, NUMBA_CACHE_DIR="") == ["False", "15.0", "1", "0"]


@pytest.mark.slow
def test_with_no_folder_to_write_to_it_compiles_in_memory(toy):
    printed = toy(NOWHERE, "print(type(total._cache).__name__)")
    assert printed[:2] == ["NullCache", "15.0"]


@pytest.mark.slow
def test_a_cache_folder_that_cannot_be_made_or_vanishes_is_not_fatal(toy, tmp_path):
    (tmp_path / "file").write_text("a file in the way")
    assert toy(NUMBA_CACHE_DIR=str(tmp_path / "file" / "cache"))[0] == "15.0"
    assert toy(before=VANISHES)[0] == "15.0"


@pytest.mark.slow
def test_a_damaged_cache_is_not_fatal(toy, tmp_path):
    toy()
    for pattern in ("*.nbc", "*.nbi"):
        damaged = list((tmp_path / "cache").rglob(pattern))
        assert damaged
        for path in damaged:
            path.write_bytes(b"garbage")
        assert toy()[0] == "15.0"


def test_an_edit_of_any_engine_file_makes_the_cache_stale(tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "b.py").write_text("y = 1")
    stamp = kernel_cache.source_stamp(tmp_path)
    assert kernel_cache.source_stamp(tmp_path) == stamp
    (tmp_path / "b.py").write_text("y = 2")
    assert kernel_cache.source_stamp(tmp_path) != stamp


@pytest.mark.slow
def test_the_stamp_decides(toy):
    """The same function under another stamp is compiled anew."""
    assert toy()[1:] == ["1", "0"]
    edited = "from paralesn.runtime import compiler\ncompiler._STAMP = 'edited'\n"
    assert toy(edited)[1:] == ["1", "0"]
    assert toy(edited)[1:] == ["0", "1"]


def test_contraction_is_the_only_liberty_taken():
    liberties = set(compiler.FASTMATH)
    assert liberties == {"contract"}

    @compiler.kernel
    def nan_is_nan(x):
        return x != x

    assert nan_is_nan(np.nan)


def test_kernels_of_one_factory_have_names_of_their_own():
    """Code that different processes cached must not share symbols: calls would go astray."""
    from itertools import product

    from paralesn.engines.cpu.closed_loop import loop_kernel
    from paralesn.engines.cpu.kernels.diagonal import INPUTS, ONE, layer_kernel

    layers = [layer_kernel(*made) for made in product([True, False], INPUTS, [64, 128])]
    loops = [loop_kernel(first, later) for first in layers for later in (None, *layers)]
    names = [made.py_func.__qualname__ for made in (*layers, *loops)]
    assert len(set(names)) == len(names) == 20 + 20 * 21
    again = layer_kernel.__wrapped__(True, ONE, 64)  # the same values, the same name
    assert again.py_func.__qualname__ == layer_kernel(True, ONE, 64).py_func.__qualname__

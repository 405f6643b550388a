"""Compiled code on disk: found again, noticed when stale, never fatal."""

import os
import subprocess
import sys

import numpy as np

from paralesn.runtime import compiler

# Runs a reservoir and prints how many kernels were compiled and how many came from the cache.
PROGRAM = """
import numpy as np
import paralesn as pe
print(float(pe.ParalESN(units=9).run(np.ones(5))[0].sum()))
from paralesn.engines.cpu.kernels.diagonal import layer_kernel
stats = layer_kernel(True, False, 64, False).stats
print(sum(stats.cache_misses.values()), sum(stats.cache_hits.values()))
"""


def python(program, **environment):
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


def test_a_second_process_compiles_nothing(tmp_path):
    total, misses, hits = python(PROGRAM, NUMBA_CACHE_DIR=str(tmp_path))
    assert (misses, hits) == ("1", "0")
    assert python(PROGRAM, NUMBA_CACHE_DIR=str(tmp_path)) == [total, "0", "1"]


NOWHERE = """
from numba.core import caching
for locator in list(vars(caching).values()):
    if hasattr(locator, "from_function"):
        locator.from_function = classmethod(lambda *arguments: None)
"""

VANISHES = """
import os, pathlib, shutil
from paralesn.engines.cpu.kernels import diagonal
diagonal.layer_kernel(True, False, 64, False)
folder = pathlib.Path(os.environ["NUMBA_CACHE_DIR"])
shutil.rmtree(folder)
folder.write_text("a file in the way")
"""


def test_with_no_folder_to_write_to_it_compiles_in_memory(tmp_path):
    check = "import paralesn.engines.cpu.kernels.diagonal as d; print(type(d.layer_kernel(True, False, 64, False)._cache).__name__)"
    folder = str(tmp_path / "cache")
    assert python(NOWHERE + check, NUMBA_CACHE_DIR=folder) == ["NullCache"]
    assert python(NOWHERE + PROGRAM, NUMBA_CACHE_DIR=folder)[0] == python(PROGRAM)[0]


def test_a_cache_folder_that_cannot_be_made_or_vanishes_is_not_fatal(tmp_path):
    expected = python(PROGRAM)[0]
    (tmp_path / "file").write_text("a file in the way")
    assert python(PROGRAM, NUMBA_CACHE_DIR=str(tmp_path / "file" / "cache"))[0] == expected
    assert python(VANISHES + PROGRAM, NUMBA_CACHE_DIR=str(tmp_path / "cache"))[0] == expected


def test_a_damaged_cache_is_not_fatal(tmp_path):
    expected = python(PROGRAM, NUMBA_CACHE_DIR=str(tmp_path))[0]
    for pattern in ("*.nbc", "*.nbi"):
        damaged = list(tmp_path.rglob(pattern))
        assert damaged
        for path in damaged:
            path.write_bytes(b"garbage")
        assert python(PROGRAM, NUMBA_CACHE_DIR=str(tmp_path))[0] == expected


def test_an_edit_of_any_engine_file_makes_the_cache_stale(tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "b.py").write_text("y = 1")
    stamp = compiler.source_stamp(tmp_path)
    assert compiler.source_stamp(tmp_path) == stamp
    (tmp_path / "b.py").write_text("y = 2")
    assert compiler.source_stamp(tmp_path) != stamp


def test_the_stamp_decides(tmp_path):
    """The same function under another stamp is compiled anew."""
    env = {"NUMBA_CACHE_DIR": str(tmp_path)}
    python(PROGRAM, **env)
    edited = "from paralesn.runtime import compiler\ncompiler._STAMP = 'edited'\n" + PROGRAM
    assert python(edited, **env)[1:] == ["1", "0"]
    assert python(edited, **env)[1:] == ["0", "1"]


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

    from paralesn.engines.cpu.kernels.diagonal import layer_kernel
    from paralesn.engines.cpu.loop import loop_kernel

    layers = [
        layer_kernel(*made)
        for made in product([True, False], [True, False], [64, 128], [True, False])
    ]
    loops = [loop_kernel(first, later) for first in layers for later in (None, *layers)]
    names = [made.py_func.__qualname__ for made in (*layers, *loops)]
    assert len(set(names)) == len(names) == 16 + 16 * 17
    again = layer_kernel.__wrapped__(True, False, 64, False)  # the same values, the same name
    assert again.py_func.__qualname__ == layer_kernel(True, False, 64, False).py_func.__qualname__

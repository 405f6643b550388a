"""Garbage collection waits while something is imported or compiled, and goes on as before."""

import gc
import threading

import pytest
from numba import config
from numba.extending import overload

from paralesn.runtime import garbage
from paralesn.runtime.compiler import kernel
from paralesn.runtime.garbage import collection_paused


def _note():
    """Stands for something that kernels call."""


@pytest.fixture(autouse=True)
def collector():
    """Leaves the collector as it was found."""
    was_on = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was_on else gc.disable)()


def test_it_goes_on_after_the_last_pause_even_after_an_error():
    def fail():
        with collection_paused():
            with collection_paused():
                assert not gc.isenabled()
            assert not gc.isenabled()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert gc.isenabled()


def test_where_it_was_off_it_stays_off():
    gc.disable()
    with collection_paused():
        pass
    assert not gc.isenabled()


def test_pauses_of_threads_overlap():
    """The first to pause ends first: the collector waits for the other one."""
    inside, leave = threading.Event(), threading.Event()

    def pause():
        with collection_paused():
            inside.set()
            leave.wait()

    with collection_paused():
        thread = threading.Thread(target=pause)
        thread.start()
        inside.wait()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()
    assert garbage._pauses == 0


def test_nothing_is_collected_while_a_kernel_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))  # where nothing is cached yet
    is_on = []

    @overload(_note)
    def _note_compiled():  # called while its caller is compiled
        is_on.append(gc.isenabled())
        return lambda: None

    @kernel
    def calls_it():
        _note()

    calls_it()
    assert is_on
    assert not any(is_on)
    assert gc.isenabled()

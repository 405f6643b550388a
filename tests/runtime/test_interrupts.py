"""Ctrl-C ends whatever goes on for long, soon: kernels return to Python now and then."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from runtime.long_run import KINDS

SOON = 5.0  # seconds that a loaded machine may take; a kernel gives way after some tenths of one


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_is_served_soon(kind):
    child = [sys.executable, str(Path(__file__).with_name("long_run.py")), kind]
    heeds = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        child, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeds
    )
    try:
        assert process.stdout.readline() == "begins\n"
        time.sleep(float(os.environ.get("INTERRUPT_AFTER", "1.5")))
        assert process.poll() is None, process.communicate()
        began = time.monotonic()  # of the machine: that of the child is the same
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    when, _, where = out.partition("\n")
    assert when, said
    assert float(when) - began < SOON, where

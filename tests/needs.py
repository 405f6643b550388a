"""What some tests need: files that a fresh clone does not have."""

import os

import pytest

real_files = pytest.mark.skipif(
    not os.environ.get("PARALESN_DATA"), reason="PARALESN_DATA is not set: no real files to read"
)

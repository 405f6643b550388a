"""Content of compressed files is read up to a limit."""

import gzip
import hashlib
import io
import lzma
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from paralesn import compressed
from paralesn.compressed import bounded, check_zip, largest_content, opened
from paralesn.files import DamagedFileError

PACK = {".gz": gzip.compress, ".xz": lzma.compress, "": bytes}


@pytest.fixture
def little(monkeypatch):
    """A limit that tests reach in no time."""
    monkeypatch.setattr(compressed, "SMALL", 10_000)


@pytest.mark.parametrize("suffix", PACK)
def test_content_within_the_limit_is_whole(suffix, tmp_path, little):
    content = b"0123456789" * 1000
    path = tmp_path / f"numbers{suffix}"
    path.write_bytes(PACK[suffix](content))
    with opened(path) as file:
        assert file.read() == content
    with opened(path) as file:
        assert file.readline() == content
    with opened(path) as file:
        assert hashlib.file_digest(file, "sha256").digest() == hashlib.sha256(content).digest()


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_bomb_is_refused_before_it_fills_the_memory(suffix, tmp_path):
    path = tmp_path / f"bomb{suffix}"
    packed = PACK[suffix](bytes(2**24))
    path.write_bytes(packed * 40)  # members of one file: 640 MiB of zeros
    assert largest_content(path.stat().st_size) < 40 * 2**24
    tracemalloc.start()
    with opened(path) as file, pytest.raises(DamagedFileError, match="is refused") as caught:
        hashlib.file_digest(file, "sha256")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24
    assert str(path) in str(caught.value)
    assert f"larger than {largest_content(path.stat().st_size)} bytes" in str(caught.value)


def test_large_files_may_hold_a_hundred_times_as_much(little):
    assert largest_content(1) == 10_000
    assert largest_content(1000) == 100_000
    content = io.BytesIO(bytes(100_001))
    with pytest.raises(DamagedFileError, match="larger than 100000 bytes, 100 times the size"):
        bounded(content, Path("some.gz"), 1000).read()


def test_plain_files_have_no_limit(tmp_path, little):
    (tmp_path / "numbers").write_bytes(bytes(20_000))
    with opened(tmp_path / "numbers") as file:
        assert len(file.read()) == 20_000


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_damaged_content_is_named(suffix, tmp_path):
    path = tmp_path / f"numbers{suffix}"
    packed = PACK[suffix](bytes(range(256)) * 10)
    for content in (packed[:-5], b"no such format", packed[:20] + b"?" * 20 + packed[40:]):
        path.write_bytes(content)
        with opened(path) as file, pytest.raises(DamagedFileError, match="is damaged") as caught:
            file.read()
        assert str(path) in str(caught.value)


def test_archives_are_held_to_what_their_files_say(little):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(6000))
        archive.writestr("b", bytes(6000))
    size = len(packed.getvalue())
    with zipfile.ZipFile(packed) as archive:
        with pytest.raises(DamagedFileError, match=r"some\.zip is refused: its content is larger"):
            check_zip(archive, Path("some.zip"), 100)
        check_zip(archive, Path("some.zip"), size)  # a hundred times as much is more

"""Content of compressed files, up to a limit: a small file must not fill the memory."""

import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from paralesn.files import DamagedFileError

if TYPE_CHECKING:
    from zipfile import ZipFile

EXPANSION = 100  # most bytes of content for one of a compressed file ...
SMALL = 2**28  # ... unless its content is no larger than this
_DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)  # gzip and bz2 raise OSErrors
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


def is_compressed(path: Path) -> bool:
    """Whether the name of a file says that it is compressed."""
    return path.suffix in _OPENERS


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a plain or compressed file for reading; one that does not decompress is named.

    Compressed content is refused as soon as more than `largest_content` was read.
    """
    if not is_compressed(path):
        with path.open("rb") as file:
            yield file
        return
    opener = _OPENERS[path.suffix]
    with path.open("rb") as packed:
        size = os.fstat(packed.fileno()).st_size
        with opener(packed, "rb") as content:
            yield bounded(content, path, size)


def largest_content(compressed: int) -> int:
    """Most bytes that a compressed file of a size may hold: 100 times as many, or 256 MiB."""
    return max(SMALL, EXPANSION * compressed)


def bounded(content: IO[bytes], path: Path, compressed: int) -> IO[bytes]:
    """Read decompressed content of the file `path`, of `compressed` bytes, up to the limit."""
    return io.BufferedReader(_Bounded(content, path, largest_content(compressed)))


def check_zip(archive: "ZipFile", path: Path, compressed: int) -> None:
    """Refuse an archive whose files say that they are larger than what it may hold, or elsewhere.

    None of them can be larger than it says: reading stops there.
    """
    if not all(0 <= member.header_offset < compressed for member in archive.infolist()):
        raise DamagedFileError(f"{path} is damaged: it says that content lies outside of it")
    if sum(member.file_size for member in archive.infolist()) > largest_content(compressed):
        raise _too_large(path, largest_content(compressed))


class _Bounded(io.RawIOBase):
    """Content that ends with an error where a limit is passed or it does not decompress."""

    def __init__(self, content: IO[bytes], path: Path, limit: int) -> None:
        self._content, self._path, self._limit, self._read = content, path, limit, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._content.read(len(buffer))
        except _DAMAGED as error:
            raise DamagedFileError(f"{self._path} is damaged: {error}") from error
        self._read += len(data)
        if self._read > self._limit:
            raise _too_large(self._path, self._limit)
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        pieces = []
        while piece := self.read(2**20):
            pieces.append(piece)
        return b"".join(pieces)


def _too_large(path: Path, limit: int) -> DamagedFileError:
    return DamagedFileError(
        f"{path} is refused: its content is larger than {limit} bytes, {EXPANSION} times the size "
        "of the file; if that is right, decompress it and give the content"
    )

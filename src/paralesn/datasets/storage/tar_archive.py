"""Plain files of tar archives, read in memory; nothing is ever extracted under its own name."""

import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

from paralesn.files import DamagedFileError

# ValueError and OverflowError: numbers in headers; RecursionError: headers that announce headers.
_DAMAGED = (tarfile.TarError, ValueError, OverflowError, EOFError, RecursionError)


def plain_files(
    content: bytes, path: Path, is_wanted: Callable[[str], object]
) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files of an archive whose names are wanted.

    Links, devices and files with holes, whose size may be anything, are passed over. `path` is for
    messages.
    """
    try:
        # Without a kind of compression: none may hide in what was decompressed up to a limit.
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for member in _forward(archive):
                if not is_wanted(member.name) or not member.isreg() or member.issparse():
                    continue
                file = archive.extractfile(member)
                if file is not None:
                    yield member.name, file.read()
    except _DAMAGED as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from error


def _forward(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Members as they follow each other; a negative size would lead back, again and again."""
    end = 0
    while (member := archive.next()) is not None:
        if archive.offset <= end or member.size < 0:
            raise tarfile.ReadError(f"the size of {member.name!r} is wrong")
        end = archive.offset
        yield member

"""Checksums of data files: those of the public originals, and those of earlier downloads.

They are sha256 of the decompressed content, so that the kind of compression does not matter; for
names that end as compressed files do, of the file as it is. They are compared before anything is
parsed.
"""

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import IO

from paralesn.compressed import is_compressed, opened
from paralesn.files import DamagedFileError, plain_name

SUMS = "SHA256SUMS"  # in a folder of the cache: checksums of what was downloaded into it


def sum_name(path: Path) -> str:
    """Name that the checksum of a file is known under: its own, or that of the plain file."""
    return path.name if path.name in known_sums() else plain_name(path)


def digest(path: Path) -> str:
    """Checksum of a file: of the decompressed content, unless it is known as it is."""
    with path.open("rb") if sum_name(path) == path.name else opened(path) as file:
        return _sha256(file)


def _sha256(file: IO[bytes]) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


@cache
def known_sums() -> dict[str, str]:
    """Checksums of the public originals by the name of the plain file."""
    text = resources.files("paralesn.datasets").joinpath("checksums.txt").read_text("utf-8")
    return parse_sums(text)


def parse_sums(text: str) -> dict[str, str]:
    """Checksums by name, from lines as the program sha256sum writes them."""
    pairs = (line.split(maxsplit=1) for line in text.splitlines() if line and line[0] != "#")
    return {Path(name).name: checksum for checksum, name in pairs}


def format_sums(sums: dict[str, str]) -> str:
    """Lines as the program sha256sum writes them, sorted by name."""
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))


def downloaded_sums(folder: Path) -> dict[str, str]:
    """Checksums noted when files were downloaded into a folder."""
    record = folder / SUMS
    try:
        return parse_sums(record.read_text("utf-8")) if record.is_file() else {}
    except ValueError as error:
        raise DamagedFileError(
            f"{record} is damaged: {error}; remove it and the files beside it, which it is about"
        ) from error


def expected_sum(path: Path) -> str | None:
    """Checksum a file should have: the original's, else the one noted when it was downloaded."""
    name = sum_name(path)
    if name in known_sums():
        return known_sums()[name]
    return downloaded_sums(path.parent).get(name)


def compare(path: Path, checksum: str, origin: str | None = None) -> None:
    """Refuse the file at `path` (or from `origin`) if `checksum` is not the expected one."""
    expected = expected_sum(path)
    if expected is not None and checksum != expected:
        of = "sha256" if sum_name(path) == path.name else "sha256 of its decompressed content"
        raise DamagedFileError(
            f"{origin or path} is damaged or another version: the {of} is {checksum}, expected "
            f"{expected}"
        )


def read(path: Path) -> bytes:
    """Content of a file, decompressed and compared with the expected checksum."""
    if sum_name(path) == path.name:
        compare(path, digest(path))
    with opened(path) as file:
        content = file.read()
    if sum_name(path) != path.name:
        compare(path, _sha256(io.BytesIO(content)))
    return content


@contextmanager
def checked(path: Path) -> Iterator[IO[bytes]]:
    """Open the content of a file that was compared with the expected checksum.

    A plain file stays where it is; what is compressed is not decompressed twice.
    """
    if is_compressed(path):
        yield io.BytesIO(read(path))
        return
    if expected_sum(path) is not None:
        compare(path, digest(path))
    with path.open("rb") as file:
        yield file

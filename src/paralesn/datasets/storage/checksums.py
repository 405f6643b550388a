"""Checksums of data files: those of the public originals, and those of earlier downloads.

All are sha256 of the decompressed content, so that the kind of compression does not matter.
"""

import hashlib
from functools import cache
from importlib import resources
from pathlib import Path

from paralesn.compressed import opened
from paralesn.files import DamagedFileError, plain_name

SUMS = "SHA256SUMS"  # in a folder of the cache: checksums of what was downloaded into it


def digest(path: Path) -> str:
    """Checksum of a file's decompressed content."""
    with opened(path) as file:
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
    return parse_sums(record.read_text("utf-8")) if record.is_file() else {}


def expected_sum(path: Path) -> str | None:
    """Checksum a file should have: the original's, else the one noted when it was downloaded."""
    name = plain_name(path)
    if name in known_sums():
        return known_sums()[name]
    return downloaded_sums(path.parent).get(name)


def compare(path: Path, checksum: str, origin: str | None = None) -> None:
    """Refuse the file at `path` (or from `origin`) if `checksum` is not the expected one."""
    expected = expected_sum(path)
    if expected is not None and checksum != expected:
        raise DamagedFileError(
            f"{origin or path} is damaged or another version: the sha256 of its decompressed "
            f"content is {checksum}, expected {expected}"
        )


def read(path: Path) -> bytes:
    """Content of a file, decompressed and compared with the expected checksum."""
    with opened(path) as file:
        content = file.read()
    compare(path, hashlib.sha256(content).hexdigest())
    return content

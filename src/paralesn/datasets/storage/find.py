"""Where data files are looked for, and how they are read: whole, decompressed and checked.

Files are known by their place in the layout, such as ``ETT/ETTh1.csv``, and may be stored plain
or compressed (``.gz``, ``.xz``). They are looked for in the folder that the environment variable
``PARALESN_DATA`` names, then in the cache (``PARALESN_CACHE``, else the user's).
"""

import hashlib
import os
from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import Path

from paralesn.files import SUFFIXES, DamagedFileError, opened, plain_name

SUMS = "SHA256SUMS"  # in a cache folder: sums of what was downloaded


class MissingFileError(FileNotFoundError):
    """A data file that is nowhere to be found, nor could be downloaded."""


def cache_folder() -> Path | None:
    """Folder for downloads; None if neither ``PARALESN_CACHE`` nor pooch can tell."""
    if chosen := os.environ.get("PARALESN_CACHE"):
        return Path(chosen).expanduser()
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("paralesn")).expanduser()


def roots() -> list[Path]:
    """Folders that are searched, in this order."""
    found = []
    if chosen := os.environ.get("PARALESN_DATA"):
        folder = Path(chosen).expanduser()
        if not folder.is_dir():
            raise NotADirectoryError(f"PARALESN_DATA must name a folder, got {chosen!r}")
        found.append(folder)
    if (folder_or_none := cache_folder()) is not None:
        found.append(folder_or_none)
    return found


def find(places: Iterable[str]) -> Path | None:
    """First existing file among `places` (``folder/name``), in any root and compression."""
    places = list(places)
    for root in roots():
        for place in places:
            for suffix in SUFFIXES:
                path = root / (place + suffix)
                if path.is_file():
                    return path
    return None


def digest(path: Path) -> str:
    """Sha256 of the decompressed content, so that the kind of compression is immaterial."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


@cache
def known_sums() -> dict[str, str]:
    """Sums of the public originals by the name of the plain file."""
    text = resources.files("paralesn.datasets").joinpath("checksums.txt").read_text("utf-8")
    return parse_sums(text)


def parse_sums(text: str) -> dict[str, str]:
    """Lines as the program sha256sum writes them."""
    pairs = (line.split(maxsplit=1) for line in text.splitlines() if line and line[0] != "#")
    return {Path(name).name: digest for digest, name in pairs}


def recorded_sum(path: Path) -> str | None:
    """Sum the decompressed file should have: the original's, else that of the download."""
    name = plain_name(path)
    if name in known_sums():
        return known_sums()[name]
    beside = path.with_name(SUMS)
    if not beside.is_file():
        return None
    return parse_sums(beside.read_text("utf-8")).get(name)


def compare(path: Path, found: str, origin: str | None = None) -> None:
    """Refuse the file at `path` (or from `origin`) if `found` is not the sum recorded for it."""
    expected = recorded_sum(path)
    if expected is not None and found != expected:
        raise DamagedFileError(
            f"{origin or path} is damaged or another version: the sha256 of its decompressed "
            f"content is {found}, expected {expected}"
        )


def read(path: Path) -> bytes:
    """Content of a file, decompressed and compared with the recorded sum."""
    with opened(path) as file:
        content = file.read()
    compare(path, hashlib.sha256(content).hexdigest())
    return content

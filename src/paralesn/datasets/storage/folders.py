"""Where data files are looked for.

Files are known by their path below a data folder, such as ``ETT/ETTh1.csv``, and may be stored
plain or compressed (``.gz``, ``.xz``). They are looked for in the folder that the environment
variable ``PARALESN_DATA`` names, then in the cache (``PARALESN_CACHE``, else the user's).
"""

import os
from collections.abc import Iterable
from pathlib import Path

from paralesn.files import SUFFIXES


class MissingFileError(FileNotFoundError):
    """A data file that is neither in a data folder nor could be downloaded."""


def cache_folder() -> Path | None:
    """Folder for downloads; None if ``PARALESN_CACHE`` is not set and pooch not installed."""
    if chosen := os.environ.get("PARALESN_CACHE"):
        return Path(chosen).expanduser()
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("paralesn")).expanduser()


def data_folders() -> list[Path]:
    """Folders that are searched, in this order."""
    folders = []
    if chosen := os.environ.get("PARALESN_DATA"):
        folder = Path(chosen).expanduser()
        if not folder.is_dir():
            raise NotADirectoryError(f"PARALESN_DATA must name a folder, got {chosen!r}")
        folders.append(folder)
    if (cache := cache_folder()) is not None:
        folders.append(cache)
    return folders


def find(paths: Iterable[str]) -> Path | None:
    """First existing file among `paths` (``folder/name``), in any data folder and compression."""
    paths = list(paths)
    for folder in data_folders():
        for path in paths:
            for suffix in SUFFIXES:
                file = folder / (path + suffix)
                if file.is_file():
                    return file
    return None

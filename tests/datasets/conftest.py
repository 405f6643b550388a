"""Folders in place of the user's."""

import pytest

from paralesn.datasets.storage import checksums


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Empty folder in place of the user's, and an empty cache; no checksums are known."""
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("PARALESN_DATA", str(data))
    monkeypatch.setenv("PARALESN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(checksums, "known_sums", dict)
    return data

import pytest


@pytest.fixture
def write(tmp_path):
    """Write a table to a file of its own."""

    def write(text, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return write

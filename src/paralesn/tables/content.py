"""What is inside a file: decompressed, told apart as text, Parquet or Excel, text as UTF-8.

Compression and formats are known by their first bytes, whatever the name of the file.
"""

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from paralesn.compressed import bounded, check_zip
from paralesn.files import DamagedFileError, require
from paralesn.tables.errors import TableError
from paralesn.tables.notes import listed

_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
         (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))  # fmt: skip
# RuntimeError and NotImplementedError: archives that are encrypted or compressed in other ways.
_NO_TEXT = "export it as CSV"


class Content(NamedTuple):
    """The content of a file.

    Attributes
    ----------
    kind : "text", "parquet" or "excel"
    data : bytes
        Of text: in UTF-8, without a byte order mark, lines ended by a line feed.
    encoding : str
        The encoding that text came in.
    notes : list of str
    """

    kind: str
    data: bytes
    encoding: str = "utf-8"
    notes: list[str] = []  # noqa: RUF012 (never changed in place)


def load_content(path: Path, encoding: str | None = None) -> Content:
    """Read a file; `encoding` is tried for text that is not in UTF-8."""
    notes: list[str] = []
    data = _decompress(path, path.read_bytes(), notes)
    if data[:4] == b"PAR1":
        return Content("parquet", data, notes=notes)
    if data[:4] == b"PK\x03\x04":
        return Content("excel", data, notes=notes)
    if data[:4] == b"\xd0\xcf\x11\xe0":
        raise TableError(
            f"{path.name} is a workbook in the old format of Excel: save it as .xlsx or as CSV"
        )
    text, encoding = _decode(path, data, encoding)
    if encoding not in ("utf-8", "utf-8-sig"):
        notes.append(f"the file is not in UTF-8: read as {encoding}")
        data = text.encode()
    elif encoding == "utf-8-sig":
        data = data[3:]
    return Content("text", _with_line_feeds(data), encoding, notes)


def _with_line_feeds(data: bytes) -> bytes:
    """Text whose lines end in carriage returns alone, with line feeds in their place.

    Where there are line feeds as well, a carriage return may be inside quotes, and stays.
    """
    alone = data.count(b"\r") - data.count(b"\r\n")
    if not alone or (b"\n" in data and b'"' in data):
        return data
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _decompress(path: Path, data: bytes, notes: list[str]) -> bytes:
    """The content of a compressed file, up to a limit; other content as it is."""

    def within(content: Any) -> bytes:
        return bounded(content, Path(path.name), len(data)).read()

    try:
        if data[:2] == b"\x1f\x8b":
            return within(gzip.open(io.BytesIO(data)))
        if data[:6] == b"\xfd7zXZ\0":
            return within(lzma.open(io.BytesIO(data)))
        if data[:3] == b"BZh":
            return within(bz2.open(io.BytesIO(data)))
        if data[:4] == b"\x28\xb5\x2f\xfd":
            pyarrow = require("pyarrow", "tables", purpose="reading .zst")
            with pyarrow.CompressedInputStream(pyarrow.BufferReader(data), "zstd") as stream:
                return within(stream)
        if data[:4] == b"PK\x03\x04":
            return _unzip(path, data, notes)
    except DamagedFileError as error:  # names the file
        raise TableError(str(error)) from error
    except (TableError, ModuleNotFoundError):
        raise
    except Exception as error:  # every format has kinds of its own for what is damaged
        raise TableError(f"{path.name} is damaged: {error}") from error
    return data


def _unzip(path: Path, data: bytes, notes: list[str]) -> bytes:
    """The only file of an archive; a workbook, which is an archive as well, as it is."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        check_zip(archive, Path(path.name), len(data))
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if "xl/workbook.xml" in names:
            return data
        if "[Content_Types].xml" in names or "mimetype" in names:
            raise TableError(f"{path.name} is a document that cannot be read: {_NO_TEXT}")
        names = [name for name in names if not name.startswith(("__MACOSX/", "."))]
        if len(names) != 1:
            raise TableError(
                f"{path.name} holds {len(names)} files ({listed(names, 5)}), expected one table"
            )
        notes.append(f"{names[0]!r} is read out of {path.name}")
        return archive.read(names[0])


def _decode(path: Path, data: bytes, encoding: str | None) -> tuple[str, str]:
    """Text and its encoding: by its mark, else UTF-8, else `encoding` or that of Windows."""
    marked = [name for mark, name in _BOMS if data.startswith(mark)]
    guesses = marked[:1] or ["utf-8"]
    if not marked and b"\0" in data[:1000]:
        # Letters of UTF-16 without a mark have a zero as every second byte.
        even, odd = data[:1000:2].count(0), data[1:1000:2].count(0)
        share = max(even, odd) / max(1, len(data[:1000]) // 2)
        guesses = ["utf-16-le" if odd > even else "utf-16-be"] if share > 0.3 else []
    elif not marked:
        guesses += [encoding] if encoding else []
        guesses += ["cp1252", "latin-1"]
    for guess in guesses:
        try:
            text = data.decode(guess)
        except (UnicodeDecodeError, LookupError):
            continue
        if "\0" not in text:
            return text, guess
    raise TableError(f"{path.name} is neither a text file nor Parquet nor Excel: {_NO_TEXT}")

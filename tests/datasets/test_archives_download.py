"""Downloads from a server on this machine."""

import gzip
import hashlib
import io
import sys
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from paralesn import compressed
from paralesn.datasets import DamagedFileError, MissingFileError, check, fetch, load_ucr
from paralesn.datasets.storage import checksums, download

pytest.importorskip("pooch")
TS = "@classLabel true a b\n@data\n1,2,3:a\n4,5,6:b\n"


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder; a file named short-* breaks off half way."""

    def log_message(self, *_):
        pass

    def copyfile(self, source, outputfile):
        content = source.read()
        outputfile.write(content[: len(content) // 2] if "short" in self.path else content)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Folder that is served in place of the originals; the cache is empty, no sums are known."""
    public = tmp_path / "public"
    public.mkdir()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(public)))
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    for group in download.ORIGINALS:
        monkeypatch.setitem(download.ORIGINALS, group, f"http://127.0.0.1:{httpd.server_port}/")
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("PARALESN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PARALESN_DATA", raising=False)
    monkeypatch.setattr(checksums, "known_sums", dict)
    yield public
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/").replace("DOT", "."), text)
    return buffer.getvalue()


def cached(tmp_path):
    """Files in the cache, hidden ones included."""
    return sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_an_archive_is_unpacked_and_later_held_to_its_sums(server, tmp_path):
    """Members in a folder, beside other files; the second load needs no server."""
    other = TS.replace("6:b", "7:b")
    content = zipped(Toy__Toy_TRAINDOTts=TS, Toy__Toy_TESTDOTts=other, Toy__ToyDOTtxt="about")
    (server / "Toy.zip").write_bytes(content)
    toy = load_ucr("Toy")
    np.testing.assert_array_equal(toy.X_test[:, :, 0], [[1, 2, 3], [4, 5, 7]])
    assert cached(tmp_path) == ["SHA256SUMS", "Toy_TEST.ts", "Toy_TRAIN.ts"]
    assert [row.status for row in check("ucr:Toy")] == ["ok", "ok"]
    (server / "Toy.zip").unlink()
    assert load_ucr("toy").X_train.shape == (2, 3, 1)
    path = tmp_path / "cache" / "Toy" / "Toy_TEST.ts"
    path.write_text(TS)
    with pytest.raises(DamagedFileError, match=r"Toy_TEST\.ts is damaged or another version"):
        load_ucr("Toy")


def test_the_right_sum_is_accepted_a_wrong_one_named(server, tmp_path, monkeypatch):
    good, bad = b"date\n", b"dated\n"
    sums = {"ETTh1.csv": hashlib.sha256(good).hexdigest()}
    monkeypatch.setattr(checksums, "known_sums", lambda: sums)
    (server / "ETTh1.csv").write_bytes(bad)
    with pytest.raises(DamagedFileError) as caught:
        fetch("etth1")
    message = str(caught.value)
    assert message.startswith(f"ETTh1.csv from {download.ORIGINALS['ETT']}ETTh1.csv is damaged")
    assert hashlib.sha256(bad).hexdigest() in message
    assert sums["ETTh1.csv"] in message
    assert cached(tmp_path) == []
    (server / "ETTh1.csv").write_bytes(good)
    assert fetch("etth1") == [tmp_path / "cache" / "ETT" / "ETTh1.csv"]
    assert cached(tmp_path) == ["ETTh1.csv"]


def test_sums_of_compressed_downloads_are_those_of_the_content(server, tmp_path, monkeypatch):
    stems = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]  # fmt: skip
    sums = {stem: hashlib.sha256(stem.encode()).hexdigest() for stem in stems}
    monkeypatch.setattr(checksums, "known_sums", lambda: sums)
    for level, stem in enumerate(stems):
        (server / f"{stem}.gz").write_bytes(gzip.compress(stem.encode(), level + 1))
    assert [path.name for path in fetch("smnist")] == [f"{stem}.gz" for stem in stems]
    assert {row.status for row in check("psmnist")} == {"ok"}


def test_a_download_that_breaks_off_leaves_nothing(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "RETRIES", 0)
    big = download.DataFile(("Big/short-big.csv",), "ETT", "short-big.csv")
    (server / "short-big.csv").write_bytes(b"x" * 100_000)
    with pytest.raises(MissingFileError, match=r"big\.csv is missing, and its download failed"):
        download.fetch(big)
    assert cached(tmp_path) == []

    def interrupted(_, folder):
        (folder / "big.csv").write_bytes(b"x" * 10)
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "_transfer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        download.fetch(big)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_connection_that_breaks_once_is_tried_again(server, tmp_path, monkeypatch, capfd):
    (server / "ETTh1.csv").write_bytes(b"date\n" * 1000)
    whole, attempts = Handler.copyfile, []

    def breaking(self, source, outputfile):
        attempts.append(self.path)
        if len(attempts) == 1:
            outputfile.write(source.read(10))
        else:
            whole(self, source, outputfile)

    monkeypatch.setattr(Handler, "copyfile", breaking)
    (path,) = fetch("etth1")
    assert path.read_bytes() == b"date\n" * 1000
    assert attempts == ["/ETTh1.csv"] * 2
    assert cached(tmp_path) == ["ETTh1.csv", "SHA256SUMS"]
    assert "Downloading data from" not in capfd.readouterr().err  # the bar says so


def test_an_absent_original_is_reported(server, tmp_path):
    with pytest.raises(
        MissingFileError, match=r"Nope_TRAIN\.tsv or Nope_TRAIN\.ts is missing, .*404"
    ):
        load_ucr("Nope")
    assert cached(tmp_path) == []


def test_damaged_and_foreign_archives_are_named(server, tmp_path):
    content = zipped(Toy_TRAINDOTts=TS, Toy_TESTDOTts=TS)
    (server / "Toy.zip").write_bytes(content[:-30])
    with pytest.raises(DamagedFileError, match=r"Toy\.zip: the archive is damaged"):
        load_ucr("Toy")
    (server / "Toy.zip").write_bytes(zipped(ToyDOTtxt="about"))
    with pytest.raises(DamagedFileError, match=r"Toy\.zip holds no data files, none of which"):
        load_ucr("Toy")
    (server / "Toy.zip").write_bytes(zipped(Other_TRAINDOTts=TS))
    with pytest.raises(DamagedFileError, match=r"Toy\.zip holds Other_TRAIN\.ts, none of which"):
        load_ucr("Toy")
    assert cached(tmp_path) == []


def test_archives_that_are_traps_are_refused(server, tmp_path, monkeypatch):
    monkeypatch.setattr(compressed, "SMALL", 100_000)
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w") as archive:
        archive.writestr("a/Toy_TRAIN.ts", TS)
        archive.writestr("b/Toy_TRAIN.ts", TS.replace("1", "2"))
    encrypted = bytearray(zipped(Toy_TRAINDOTts=TS))
    encrypted[encrypted.index(b"PK\1\2") + 8] |= 1
    unknown = bytearray(zipped(Toy_TRAINDOTts=TS))
    unknown[unknown.index(b"PK\1\2") + 10] = 77
    for content, said in (
        (zipped(Toy_TRAINDOTts="0" * 200_000), r"is refused: its content is larger than \d+ bytes"),
        (twice.getvalue(), r"there are two files Toy_TRAIN\.ts"),
        (encrypted, "encrypted"),
        (unknown, "compression method is not supported"),
    ):
        (server / "Toy.zip").write_bytes(content)
        with pytest.raises(DamagedFileError, match=said) as caught:
            load_ucr("Toy")
        assert f"{download.ORIGINALS['UCR']}Toy.zip: " in str(caught.value)
        assert cached(tmp_path) == []


def test_members_are_never_written_where_their_names_say(server, tmp_path):
    names = ["../../Toy_TRAIN.ts", "/etc/Toy_TEST.ts", "C:\\x\\..\\Other_TEST.ts", ".hidden.ts"]
    (server / "Toy.zip").write_bytes(zipped(**dict.fromkeys(names, TS)))
    load_ucr("Toy")
    assert all(path.parent.name == "Toy" for path in tmp_path.rglob("*.ts"))


@pytest.mark.parametrize("name", ["cifar-10-binary.tar.gz", "aclImdb_v1.tar.gz"])
def test_pinned_archives_are_compared_as_they_are(server, tmp_path, monkeypatch, name):
    dataset = {"cifar-10-binary.tar.gz": "lra-image", "aclImdb_v1.tar.gz": "lra-text"}[name]
    content = gzip.compress(b"the original")
    known = {name: hashlib.sha256(content).hexdigest()}
    monkeypatch.setattr(checksums, "known_sums", lambda: known)
    (server / name).write_bytes(gzip.compress(b"the original", 1, mtime=7))
    with pytest.raises(DamagedFileError, match="is damaged or another version"):
        fetch(dataset)
    assert cached(tmp_path) == []
    (server / name).write_bytes(content)
    assert [path.name for path in fetch(dataset)] == [name]
    assert cached(tmp_path) == [name]  # with nothing to note


def test_damaged_sums_are_named(server, tmp_path):
    (server / "ETTh1.csv").write_bytes(b"date\n")
    (path,) = fetch("etth1")
    for damage in (b"\xff\xfe", b"sum\n"):
        path.with_name("SHA256SUMS").write_bytes(damage)
        with pytest.raises(DamagedFileError, match="SHA256SUMS is damaged"):
            check("etth1")


def test_a_cache_that_cannot_be_made_is_reported(server, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(MissingFileError, match=r"ETTh1\.csv is missing, and there is no folder"):
        fetch("etth1")


def test_without_pooch_the_error_says_so(server, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingFileError, match="needs the package pooch"):
        fetch("etth1")
    monkeypatch.delenv("PARALESN_CACHE")
    with pytest.raises(MissingFileError, match=r"pooch \(pip install pooch\) or PARALESN_CACHE"):
        fetch("etth1")

"""Data of the Long Range Arena: generators against independent truths, loaders on small files."""

import gzip
import hashlib
import io
import lzma
import tarfile
import zipfile

import numpy as np
import pytest

import needs
from paralesn import datasets
from paralesn.datasets import (
    DamagedFileError,
    MissingFileError,
    listops,
    load_cifar,
    load_imdb,
)
from paralesn.datasets.archives.cifar import cifar_file
from paralesn.datasets.archives.imdb import imdb_file
from paralesn.datasets.generated.listops import TOKENS
from paralesn.datasets.storage import checksums, folders, prepared
from paralesn.datasets.storage.prepared import Sequences, prepare

# -- ListOps ---------------------------------------------------------------------------------------


def parsed(words):
    """Value and depth of an expression by recursive descent, which takes `words` from the left."""
    word = words.pop(0)
    if word.isdigit():
        return int(word), 1
    values, depths = [], []
    while words[0] != "]":
        value, depth = parsed(words)
        values.append(value)
        depths.append(depth)
    words.pop(0)
    assert 2 <= len(values) <= 10
    apply = {"[MIN": min, "[MAX": max, "[SM": lambda v: sum(v) % 10}
    apply["[MED"] = lambda v: int(np.median(v))
    return apply[word](values), 1 + max(depths)


def test_listops_are_what_their_values_say():
    expressions, values = listops(300, seed=4)
    depths = []
    for tokens, value in zip(expressions, values, strict=True):
        words = [TOKENS[token] for token in tokens]
        found, depth = parsed(words)
        assert not words
        assert found == value
        depths.append(depth)
    lengths = np.array([tokens.size for tokens in expressions])
    assert lengths.min() > 500
    assert lengths.max() < 2000
    assert max(depths) == 10
    assert set(np.concatenate(expressions)) == set(range(15))
    assert set(values) == set(range(10))


def test_listops_are_random_access_and_reproducible():
    expressions, values = listops(2100, seed=1, lengths=(20, 60))
    some, their = listops(7, seed=1, first=1020, lengths=(20, 60))
    for a, b in zip(expressions[1020:1027], some, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(values[1020:1027], their)
    text = " ".join(TOKENS[token] for token in listops(1, seed=1, lengths=(4, 12))[0][0])
    assert text == "[MAX 0 9 7 0 ]"  # on every machine
    for other in ({"seed": 2}, {"seed": 1, "split": 1}):
        changed, _ = listops(20, **other, lengths=(20, 60))
        assert not any(np.array_equal(a, b) for a, b in zip(changed, expressions, strict=False))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"count": 0}, "count must be a whole number of at least 1, got 0"),
        ({"count": 1, "lengths": (10, 11)}, "lengths must leave room"),
        ({"count": 1, "depth": 1}, "depth must be a whole number of at least 2"),
        ({"count": 1, "seed": -1}, "seed must be a whole number"),
    ],
)
def test_listops_refuse_what_cannot_be(arguments, said):
    with pytest.raises(ValueError, match=said):
        listops(**arguments)


# -- kept on disk ----------------------------------------------------------------------------------


def test_what_was_made_is_kept_and_opened_again(folder):
    made = []

    def make(_):
        made.append(1)
        return Sequences.join([np.arange(3), np.arange(5)], np.array([7, 8]))

    first, again = prepare("toy", "train", make), prepare("toy", "train", make)
    assert len(made) == 1
    for found in (first, again):
        assert [one[:, 0].tolist() for one in found.as_list()] == [[0, 1, 2], [0, 1, 2, 3, 4]]
        assert found.labels.tolist() == [7, 8]
    home = folders.cache_folder() / prepared.FOLDER
    assert [path.name for path in home.iterdir()] == [
        "toy-train"
    ]  # nothing unfinished is left behind


def test_an_interrupted_store_leaves_nothing(folder, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    toy = Sequences.join([np.arange(3)], np.array([0]))
    monkeypatch.setattr(np, "save", fail)
    with pytest.raises(KeyboardInterrupt):
        prepare("toy", "train", lambda _: toy)
    monkeypatch.undo()
    monkeypatch.setenv("PARALESN_CACHE", str(folder.parent / "cache"))
    assert not list((folders.cache_folder() / prepared.FOLDER).iterdir())
    np.testing.assert_array_equal(prepare("toy", "train", lambda _: toy).values, [0, 1, 2])


def test_without_a_cache_it_is_made_each_time(monkeypatch):
    monkeypatch.setattr(folders, "cache_folder", lambda: None)
    toy = Sequences.join([np.arange(3)], np.array([0]))
    assert prepare("toy", "train", lambda _: toy) is toy


def test_generated_sets_are_named_and_kept(folder, monkeypatch):
    for name in ("listops", "pathfinder"):
        module = __import__(f"paralesn.datasets.generated.{name}", fromlist=["SIZES"])
        monkeypatch.setattr(module, "SIZES", {"train": 30, "test": 10})
        found = datasets.load(f"lra-{name}", seed=3)
        again = datasets.load(f"lra-{name}", seed=3)
        assert (len(found.X_train), len(found.X_test), found.meta["seed"]) == (30, 10, 3)
        np.testing.assert_array_equal(found.X_train[7], again.X_train[7])
        assert not np.array_equal(found.X_train[0], found.X_test[0])
        assert not np.array_equal(datasets.load(f"lra-{name}", seed=4).X_train[0], found.X_train[0])
    assert "not the published" in found.meta["note"]
    entry = {one.name: one for one in datasets.available()}["lra-listops"]
    assert (entry.source, entry.kind) == ("generated", "classification")


# -- files -----------------------------------------------------------------------------------------


def tar(members):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, text in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    return content.getvalue()


REVIEWS = {
    "aclImdb/README": b"not a review",
    "aclImdb/train/unsup/0_0.txt": b"nor labelled",
    "aclImdb/train/pos/2_9.txt": b"good",
    "aclImdb/train/pos/10_8.txt": "très bien".encode(),
    "aclImdb/train/neg/0_1.txt": b"bad" * 5,
    "aclImdb/test/neg/0_2.txt": b"awful",
    "aclImdb/test/pos/0_10.txt": b"fine",
}


@pytest.mark.parametrize("name", ["aclImdb_v1.tar", "aclImdb_labelled.tar.xz"])
def test_reviews_are_read_as_bytes(folder, name):
    (folder / "IMDB").mkdir()
    content = tar(REVIEWS)
    (folder / "IMDB" / name).write_bytes(lzma.compress(content) if name.endswith("xz") else content)
    for _ in range(2):  # from the archive, and as it was kept
        found = load_imdb(longest=9)
        texts = [bytes(x[:, 0]) for x in (*found.X_train, *found.X_test)]
        assert texts == [b"badbadbad", b"good", "très bien".encode()[:9], b"awful", b"fine"]
        assert found.y_train.tolist() == [0, 1, 1]
        assert found.y_test.tolist() == [0, 1]


def test_archives_without_reviews_are_refused(folder):
    (folder / "IMDB").mkdir()
    path = folder / "IMDB" / "aclImdb_v1.tar"
    some = {name: text for name, text in REVIEWS.items() if "test/neg" not in name}
    path.write_bytes(tar(some))
    with pytest.raises(DamagedFileError, match="aclImdb/test/neg"):
        load_imdb()
    path.write_bytes(b"no archive at all" * 100)
    with pytest.raises(DamagedFileError, match="is damaged"):
        load_imdb()
    path.unlink()
    with pytest.raises(
        MissingFileError, match=r"aclImdb_v1.tar or aclImdb_labelled.tar is missing"
    ):
        load_imdb(download=False)


BATCHES = [
    f"cifar-10-batches-bin/{name}.bin"
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
]


def published(rng):
    """A small archive as it is published, and the grey images in it."""
    batches, grey, labels = {"cifar-10-batches-bin/readme.html": b"about"}, [], []
    for name in BATCHES:
        colours = rng.integers(0, 256, (4, 3, 1024), dtype=np.uint8)
        digits = rng.integers(0, 10, 4, dtype=np.uint8)
        batches[name] = np.column_stack([digits, colours.reshape(4, -1)]).tobytes()
        red, green, blue = colours.swapaxes(0, 1).astype(float)
        grey.append((0.2989 * red + 0.587 * green + 0.114 * blue).astype(np.uint8))
        labels.append(digits)
    return tar(batches), np.concatenate(grey), np.concatenate(labels)


@pytest.mark.parametrize("order", ["C", "F"])
def test_both_files_of_images_are_the_same(folder, rng, order):
    (folder / "CIFAR10").mkdir()
    archive, grey, labels = published(rng)
    path = folder / "CIFAR10" / "cifar-10-binary.tar.gz"
    path.write_bytes(gzip.compress(archive))
    first = load_cifar()
    path.unlink()
    arrays = {
        "x_train": np.asarray(grey[:20], order=order),
        "y_train": labels[:20],
        "x_test": np.asarray(grey[20:], order=order),
        "y_test": labels[20:],
    }
    content = io.BytesIO()
    np.savez(content, **arrays)
    (folder / "CIFAR10" / "cifar10_gray.npz.xz").write_bytes(lzma.compress(content.getvalue()))
    for found in (first, load_cifar()):
        off = found.X_train[:, :, 0].astype(int) - grey[:20]  # the order of a sum may matter
        assert np.abs(off).max() <= 1
        assert (off == 0).mean() > 0.99
        np.testing.assert_array_equal(found.y_train, labels[:20])
        np.testing.assert_array_equal(found.y_test, labels[20:])
        assert found.X_test.shape == (4, 1024, 1)


class Malicious:
    def __reduce__(self):
        return pytest.fail, ("a pickle was loaded",)


def test_pickles_are_never_read(folder, monkeypatch):
    """Neither those of the archive's version for Python nor objects in arrays."""
    monkeypatch.delenv("PARALESN_CACHE")
    (folder / "CIFAR10").mkdir()
    pickled = folder / "CIFAR10" / "cifar-10-python.tar.gz"
    pickled.write_bytes(gzip.compress(tar({"cifar-10-batches-py/data_batch_1": b"cos\nsystem"})))
    with pytest.raises(MissingFileError) as caught:
        load_cifar(download=False)
    for said in (
        f"{pickled} is there, but not read: it holds pickles",
        "cifar-10-binary.tar or cifar10_gray.npz is missing",
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    ):
        assert said in str(caught.value)
    content = io.BytesIO()
    trap = np.array([Malicious()], object)
    np.savez(content, x_train=trap, y_train=trap, x_test=trap, y_test=trap)
    (folder / "CIFAR10" / "cifar10_gray.npz").write_bytes(content.getvalue())
    with pytest.raises(DamagedFileError, match="x_train must be uint8, got object"):
        load_cifar()


def npz_that_says(header):
    """Arrays whose headers say something else than what is there."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("x_train", "y_train", "x_test", "y_test"):
            text = header.encode().ljust(118) + b"\n"
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00\x77\x00" + text + b"1234")
    return packed.getvalue()


ARCHIVES = [
    ("tar", tar({"other": b""}), r"does not hold .*data_batch_1\.bin, "),
    ("tar", b"nothing" * 200, "is damaged"),
    ("tar", tar(dict.fromkeys(BATCHES, b"x" * 3072)), "expected a multiple of 3073"),
    ("tar", tar(dict.fromkeys(BATCHES, b"x" * 3073)), "labels 0 to 9"),
    ("tar", tar(dict.fromkeys(BATCHES, b"")), "labels 0 to 9"),
    ("tar", gzip.compress(tar(dict.fromkeys(BATCHES, b"")), mtime=0), "is damaged"),
    ("npz", b"nothing", "not a zip file"),
    ("npz", npz_that_says(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({10**15},)}}"),
     "cannot reshape"),
    ("npz", npz_that_says("{'descr': 'O', 'fortran_order': False, 'shape': (4,)}"), "got object"),
    ("npz", npz_that_says("(((((((("), "is damaged"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "content", "said"), ARCHIVES)
def test_images_that_are_none_are_refused(folder, kind, content, said):
    (folder / "CIFAR10").mkdir()
    name = {"tar": "cifar-10-binary.tar", "npz": "cifar10_gray.npz"}[kind]
    (folder / "CIFAR10" / name).write_bytes(content)
    with pytest.raises(DamagedFileError, match=said) as caught:
        load_cifar()
    assert name in str(caught.value)


def test_images_of_another_size_are_refused(folder):
    (folder / "CIFAR10").mkdir()
    content = io.BytesIO()
    wrong = np.zeros((3, 1000), np.uint8)
    np.savez(content, x_train=wrong, y_train=wrong[:, 0], x_test=wrong, y_test=wrong[:, 0])
    (folder / "CIFAR10" / "cifar10_gray.npz").write_bytes(content.getvalue())
    with pytest.raises(DamagedFileError, match=r"expected images \(n, 1024\)"):
        load_cifar()


def member(kind, size=0, **attributes):
    """A member of an archive that is no plain file, under the name of a review."""
    entry = tarfile.TarInfo("aclImdb/train/pos/7_9.txt")
    entry.type, entry.size = kind, size
    for name, value in attributes.items():
        setattr(entry, name, value)
    return entry.tobuf(tarfile.GNU_FORMAT)


SPARSE = bytearray(member(tarfile.GNUTYPE_SPARSE))
SPARSE[386:410] = b"00000000000\x0000000000000\x00"  # one piece without content ...
SPARSE[483:495] = b"77777777777\x00"  # ... of a file of 8 GiB
SPARSE[148:156] = b"%06o\0 " % (sum(SPARSE[:148]) + 8 * 32 + sum(SPARSE[156:512]))
NEGATIVE = bytearray(member(tarfile.REGTYPE))
NEGATIVE[124:136] = (-1024).to_bytes(12, "big", signed=True)
NEGATIVE[148:156] = b"%06o\0 " % (sum(NEGATIVE[:148]) + 8 * 32 + sum(NEGATIVE[156:512]))


@pytest.mark.parametrize(
    ("first", "is_read"),
    [
        (member(tarfile.SYMTYPE, linkname="/etc/passwd"), True),
        (member(tarfile.LNKTYPE, linkname="aclImdb/train/pos/7_9.txt"), True),
        (member(tarfile.CHRTYPE), True),
        (bytes(SPARSE), True),
        (bytes(NEGATIVE), False),
        (member(tarfile.GNUTYPE_LONGNAME, 0) * 3000, False),
    ],
)
def test_members_that_are_no_plain_files_are_passed_over(folder, first, is_read):
    (folder / "IMDB").mkdir()
    (folder / "IMDB" / "aclImdb_v1.tar").write_bytes(first + tar(REVIEWS))
    if is_read:
        assert [x.shape[0] for x in load_imdb().X_train] == [15, 4, 10]
    else:
        with pytest.raises(DamagedFileError, match=r"aclImdb_v1\.tar is damaged"):
            load_imdb()


def test_sums_of_originals_as_they_are_come_before_everything(folder, rng, monkeypatch):
    """Not even decompressed is what is not the original."""
    (folder / "CIFAR10").mkdir()
    path = folder / "CIFAR10" / "cifar-10-binary.tar.gz"
    packed = gzip.compress(published(rng)[0])
    path.write_bytes(packed)
    known = {path.name: hashlib.sha256(packed).hexdigest()}
    monkeypatch.setattr(checksums, "known_sums", lambda: known)
    assert load_cifar().X_test.shape == (4, 1024, 1)
    assert [row.status for row in datasets.check("lra-image")] == ["ok"]
    path.write_bytes(b"no gzip")
    wrong = hashlib.sha256(b"no gzip").hexdigest()
    with pytest.raises(
        DamagedFileError, match=f"the sha256 is {wrong}, expected {known[path.name]}"
    ):
        load_cifar()
    assert [row.status for row in datasets.check("lra-image")] == ["damaged"]


@pytest.mark.parametrize(("name", "file"), [("lra-image", cifar_file()), ("lra-text", imdb_file())])
def test_all_archives_that_are_downloaded_are_pinned(name, file):
    assert file.remote in checksums.known_sums()


@pytest.mark.parametrize("field", Sequences._fields)
def test_damage_to_what_was_kept_is_named(folder, field):
    toy = Sequences.join([np.arange(3), np.arange(5)], np.array([7, 8]))
    prepare("toy", "train", lambda _: toy)
    path = folders.cache_folder() / prepared.FOLDER / "toy-train" / f"{field}.npy"
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40], whole.replace(b"descr", b"((((("), b"x" + whole):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFileError, match="toy-train is damaged"):
            prepare("toy", "train", lambda _: toy)


@needs.real_files
def test_the_real_files(tmp_path, monkeypatch):
    monkeypatch.setenv("PARALESN_CACHE", str(tmp_path))
    for entry in datasets.available():
        if entry.name in ("lra-image", "lra-text") and not entry.present:
            pytest.skip(f"{entry.name} is not in PARALESN_DATA")
    text, image = datasets.load("lra-text"), datasets.load("lra-image")
    for y in (text.y_train, text.y_test):
        assert np.bincount(y).tolist() == [12_500, 12_500]
    assert max(len(x) for x in text.X_train) == 4096
    assert (image.X_train.shape, image.X_test.shape) == ((50_000, 1024, 1), (10_000, 1024, 1))
    assert np.bincount(image.y_train).tolist() == [5000] * 10

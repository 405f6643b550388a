"""Data files of others: damaged, with traps inside, or far larger than they look.

A loader gives the arrays that were written, or refuses the file by its name. What a trap leads to is
known; for damage to compressed files, both will do.
"""

import gzip
import hashlib
import io
import lzma
import os
import zipfile
from unittest import mock

import numpy as np
from hypothesis import strategies as st

from hostile import tar_traps
from paralesn import compressed
from paralesn.datasets import load_cifar, load_imdb, load_mnist, load_ucr
from paralesn.datasets.archives.ett import FEATURES, parse_ett
from paralesn.datasets.storage import checksums, download
from paralesn.files import plain_name

CASES = 250
LIMIT = 2**20  # bytes of content that a small file may hold
PACK = {"": bytes, ".gz": lambda content: gzip.compress(content, mtime=0), ".xz": lzma.compress}

_OUTSIDE = st.one_of(
    st.none(),
    st.just({"how": "repack"}),
    st.fixed_dictionaries({"how": st.just("flip"), "at": st.integers(0, 2**20),
                           "bit": st.integers(0, 7)}),
    st.fixed_dictionaries({"how": st.just("cut"), "at": st.integers(0, 2**20)}),
    st.fixed_dictionaries({"how": st.sampled_from(["fill", "append"]), "at": st.integers(0, 2**20),
                           "with": st.binary(min_size=1, max_size=64).map(bytes.hex)}),
    st.just({"how": "bomb"}),
)  # fmt: skip


def _recipes(kind, traps):
    return st.fixed_dictionaries({
        "kind": st.just(kind),
        "trap": st.none() | st.sampled_from(traps),
        "packing": st.sampled_from(list(PACK)),
        "outside": _OUTSIDE,
        "pinned": st.booleans(),
        "seed": st.integers(0, 9),
    })  # fmt: skip


def attack(recipe, folder):
    case = KINDS[recipe["kind"]](recipe["trap"], np.random.default_rng(recipe["seed"]))
    packing = "" if recipe["kind"] == "Zip" else recipe["packing"]
    is_checked = packing or case.has_sums
    whole = PACK[packing](case.content)
    outside = recipe["outside"] if is_checked else None
    content = _damaged(whole, outside, packing, case)
    path = folder / "data" / (case.name + packing)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    for other, text in case.beside.items():
        (path.parent / other).write_bytes(text)
    known = {}
    if recipe["pinned"]:
        is_as_it_is = path.name in ("cifar-10-binary.tar.gz", "aclImdb_v1.tar.gz")
        name = path.name if is_as_it_is else plain_name(path)
        known[name] = hashlib.sha256(whole if is_as_it_is else case.content).hexdigest()
    expected = {case.outcome} if content == whole else {"held", "refused"}
    if (known and is_as_it_is and content != whole) or outside == {"how": "bomb"}:
        expected = {"refused"}
    outcome, said = _outcome(case, path, known, folder)
    assert outcome in expected, f"{outcome}, expected {expected}: {said}"
    return outcome


def _outcome(case, path, known, folder):
    """What a loader makes of a file, and what it says."""
    data = folder / "PARALESN_DATA"
    data.mkdir()
    (data / case.folder).symlink_to(path.parent)
    places = {"PARALESN_DATA": str(data), "PARALESN_CACHE": str(folder / "cache")}
    with (
        mock.patch.dict(os.environ, places),
        mock.patch.object(checksums, "known_sums", return_value=known),
        mock.patch.object(compressed, "SMALL", LIMIT),
    ):
        try:
            found = case.load(path)
        except ValueError as error:
            said = str(error)
        else:
            case.check(found)
            return "held", ""
    assert path.name in said, f"the file is not named: {said}"
    return "refused", said


def _damaged(whole, outside, packing, case):
    """A file after damage to what it is packed as."""
    if outside is None:
        return whole
    if outside["how"] == "bomb":
        return PACK[packing](bytes(8 * LIMIT)) if packing else case.bomb()
    if outside["how"] == "repack":
        again = {".gz": lambda: gzip.compress(case.content, 1, mtime=7),
                 ".xz": lambda: lzma.compress(case.content, preset=0)}  # fmt: skip
        return again[packing]() if packing else whole
    at = outside["at"] % len(whole)
    if outside["how"] == "cut":
        return whole[:at]
    if outside["how"] == "flip":
        return whole[:at] + bytes([whole[at] ^ 1 << outside["bit"]]) + whole[at + 1 :]
    data = bytes.fromhex(outside["with"])
    return (
        whole + data if outside["how"] == "append" else whole[:at] + data + whole[at + len(data) :]
    )


# -- kinds of files --------------------------------------------------------------------------------


class Case:
    """A file of a few cases, with or without a trap.

    Attributes are its name and folder, what it holds, whether it has checksums of its own, files
    beside it, and what should become of it.
    """

    name = folder = ""
    has_sums = False

    def __init__(self, trap, rng):
        self.beside, self.outcome = {}, "held"
        self.content = self.make(trap, rng)

    def check(self, found):
        """Compare data with those that were written."""
        pairs = zip((found.X_train, found.y_train, found.X_test, found.y_test), self.truth,
                    strict=True)  # fmt: skip
        for ours, expected in pairs:
            assert len(ours) == len(expected)
            for one, other in zip(ours, expected, strict=True):
                np.testing.assert_array_equal(np.ravel(one), np.ravel(other))


def _numbers(rng, cases=3):
    """Grey images and labels of both parts."""
    x, y = (
        rng.integers(0, 256, (2, cases, 1024), np.uint8),
        rng.integers(0, 10, (2, cases), np.uint8),
    )
    return x[0], y[0], x[1], y[1]


class CifarTar(Case):
    name, folder = "cifar-10-binary.tar", "CIFAR10"
    traps = (*tar_traps.PASSED_OVER, *tar_traps.REFUSED, "absent", "short", "label", "empty")

    def make(self, trap, rng):
        names = [f"cifar-10-batches-bin/data_batch_{k}.bin" for k in range(1, 6)]
        names.append("cifar-10-batches-bin/test_batch.bin")
        grey, labels, batches = [], [], {}
        for name in names:
            x = rng.integers(0, 256, (2, 1024), np.uint8)
            y = rng.integers(0, 10, 2, np.uint8)
            # Grey of three equal colours is off by the rounding of a sum: take black and white.
            x = np.where(x > 127, np.uint8(255), np.uint8(0))
            batches[name] = np.column_stack([y, x, x, x]).tobytes()
            grey.append(np.where(x > 0, 254 if 0.2989 + 0.587 + 0.114 < 1 else 255, 0))
            labels.append(y)
        self.truth = (np.concatenate(grey[:5]), np.concatenate(labels[:5]), grey[5], labels[5])
        first = names[0]
        changed = {
            "short": batches[first][:-1],
            "label": b"\x0a" + batches[first][1:],
            "empty": b"",
        }
        if trap in changed:
            batches[first] = changed[trap]
        elif trap == "absent":
            del batches[first]
        self.outcome = tar_traps.outcome(trap, (*changed, "absent"))
        if trap == "empty":  # the other four batches are whole
            self.outcome, self.truth = "held", (
                np.concatenate(grey[1:5]), np.concatenate(labels[1:5]), grey[5], labels[5])  # fmt: skip
        return tar_traps.tar(batches, trap, first)

    def load(self, path):
        return load_cifar(download=False)


class Npz(Case):
    name, folder, has_sums = "cifar10_gray.npz", "CIFAR10", True
    traps = ("compressed", "fortran", "object", "float", "more", "less", "absent", "flat")

    def make(self, trap, rng):
        self.truth = _numbers(rng)
        arrays = dict(zip(("x_train", "y_train", "x_test", "y_test"), self.truth, strict=True))
        x = arrays["x_train"]
        changed = {"fortran": np.asfortranarray(x), "object": x.astype(object), "flat": x.ravel(),
                   "float": x.astype(float)}  # fmt: skip
        arrays["x_train"] = changed.get(trap, x)
        if trap == "absent":
            del arrays["y_test"]
        packed = io.BytesIO()
        (np.savez_compressed if trap == "compressed" else np.savez)(packed, **arrays)
        content = packed.getvalue()
        if trap in ("more", "less"):
            shape = b"(9, 1024)" if trap == "more" else b"(2, 1024)"
            content = self._repacked(content, b"(3, 1024)", shape)
        self.outcome = "held" if trap in (None, "compressed", "fortran") else "refused"
        return content

    def _repacked(self, content, old, new):
        """The same archive with another header in an array."""
        packed = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(packed, "w") as after:
            for name in before.namelist():
                data = before.read(name)
                after.writestr(name, data.replace(old, new) if name == "x_train.npy" else data)
        return packed.getvalue()

    def bomb(self):
        packed = io.BytesIO()
        np.savez_compressed(packed, x_train=np.zeros(8 * LIMIT, np.uint8))
        return packed.getvalue()

    load = CifarTar.load


class Imdb(Case):
    name, folder = "aclImdb_v1.tar", "IMDB"
    traps = (*tar_traps.PASSED_OVER, *tar_traps.REFUSED, "absent", "empty")

    def make(self, trap, rng):
        reviews, self.truth = {}, []
        for part in ("train", "test"):
            texts = [rng.bytes(int(rng.integers(1, 50))) for _ in range(4)]
            for k, text in enumerate(texts):
                reviews[f"aclImdb/{part}/{('neg', 'pos')[k // 2]}/{k}_{k + 1}.txt"] = text
            self.truth += [[np.frombuffer(text, np.uint8) for text in texts], np.repeat([0, 1], 2)]
        first = "aclImdb/train/neg/0_1.txt"
        if trap == "empty":
            reviews[first] = b""
        elif trap == "absent":
            reviews = {name: text for name, text in reviews.items() if "train/neg" not in name}
        self.outcome = tar_traps.outcome(trap, ("absent", "empty"))
        return tar_traps.tar(reviews, trap, first)

    def load(self, path):
        return load_imdb(download=False)


class Mnist(Case):
    name, folder = "train-images-idx3-ubyte", "MNIST"
    traps = ("magic", "more", "less", "huge", "small images", "no header", "rank")

    def make(self, trap, rng):
        x, y = rng.integers(0, 256, (2, 3, 28, 28), np.uint8), rng.integers(0, 10, (2, 3), np.uint8)
        self.truth = (x[0] / 255, y[0], x[1] / 255, y[1])
        for part, number in (("train", 0), ("t10k", 1)):
            self.beside[f"{part}-images-idx3-ubyte"] = self._idx(x[number])
            self.beside[f"{part}-labels-idx1-ubyte"] = self._idx(y[number])
        content = self.beside.pop(self.name)
        self.outcome = "held" if trap is None else "refused"
        sizes = {"more": (4, 28, 28), "less": (2, 28, 28), "huge": (2**32 - 1,) * 3,
                 "small images": (6, 14, 28)}  # fmt: skip
        if trap in sizes:
            return content[:4] + np.array(sizes[trap], ">u4").tobytes() + content[16:]
        heads = {"magic": b"\0\0\x09\x03", "rank": b"\0\0\x08\xff", "no header": b""}
        return heads[trap] + content[4:] if trap else content

    def _idx(self, array):
        sizes = np.array(array.shape, ">u4").tobytes()
        return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()

    def load(self, path):
        return load_mnist(download=False)


class Ucr(Case):
    name, folder = "Toy_TRAIN.ts", "Toy"
    traps = (
        "infinite",
        "missing",
        "ragged",
        "label",
        "bytes",
        "zero",
        "head",
        "none",
        "timestamps",
    )

    def make(self, trap, rng):
        x, y = rng.normal(size=(2, 3, 5)), rng.integers(0, 2, (2, 3))
        self.truth = (x[0], y[0], x[1], y[1])
        head = "@timestamps\n@classLabel true 0 1\n@data\n"
        files = [
            head + "".join(
                ",".join(map(repr, map(float, series))) + f":{label}\n"
                for series, label in zip(*part, strict=True)
            )
            for part in ((x[0], y[0]), (x[1], y[1]))
        ]  # fmt: skip
        self.beside["Toy_TEST.ts"] = files[1].encode()
        lines, self.outcome = files[0].splitlines(), "held" if trap is None else "refused"
        first = {"infinite": "1e999,1,2,3,4:0", "missing": "?,1,2,3,4:0", "label": "1,2,3,4,5:7",
                 "zero": "1,\0,2,3,4:0", "ragged": "1,2,3:1,2:0"}.get(trap, lines[3])  # fmt: skip
        lines[3] = first
        if trap == "head":
            lines = lines[3:]
        elif trap == "none":
            lines = lines[:3]
        elif trap == "timestamps":
            lines[0] += " true"
        return "\n".join(lines).encode() + (b"\n1,2,\xff:0\n" if trap == "bytes" else b"\n")

    def load(self, path):
        return load_ucr("Toy", download=False)


class Ett(Case):
    name, folder = "ETTh1.csv", "ETT"
    traps = ("head", "rows", "text", "nan", "infinite", "bytes", "columns", "zero")

    def make(self, trap, rng):
        self.truth = rng.normal(size=(4, 7))
        lines = ["date," + ",".join(FEATURES)]
        lines += ["2016-07-01 00:00:00," + ",".join(map(repr, map(float, row)))
                  for row in self.truth]  # fmt: skip
        row = {"text": "a,b,c,d,e,f,g", "nan": "nan," * 6 + "1", "infinite": "1e999," * 6 + "1",
               "columns": "1,2,3", "zero": "\0,2,3,4,5,6,7", "bytes": "ü,2,3,4,5,6,7"}  # fmt: skip
        if trap in row:
            lines[2] = "2016-07-01 01:00:00," + row[trap]
        elif trap == "rows":
            del lines[2]
        elif trap == "head":
            lines[0] = lines[0].lower()
        self.outcome = "held" if trap is None else "refused"
        return ("\n".join(lines) + "\n").encode()

    def load(self, path):
        return parse_ett(checksums.read(path), str(path), 4)

    def check(self, found):
        np.testing.assert_array_equal(found, self.truth)


ANOTHER = b"another"  # content of a second file of the same name


class Zip(Case):
    name, folder, has_sums = "Toy.zip", "Toy", True
    traps = ("paths", "twice", "encrypted", "method", "link", "folder", "hidden")

    def make(self, trap, rng):
        self.truth = {f"Toy_{part}.ts": rng.bytes(40) for part in ("TRAIN", "TEST")}
        packed = io.BytesIO()
        prefix = {"paths": "../../../", "folder": "Toy/"}.get(trap, "")
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in self.truth.items():
                archive.writestr(prefix + name, data)
            archive.writestr({"hidden": "__MACOSX/._Toy_TRAIN.ts"}.get(trap, "about.txt"), b"more")
            if trap == "twice":
                archive.writestr("again/Toy_TRAIN.ts", ANOTHER)
            elif trap == "link":
                entry = zipfile.ZipInfo("Toy.tsv")
                entry.external_attr = 0o120777 << 16
                archive.writestr(entry, "/etc/passwd")
                self.truth["Toy.tsv"] = b"/etc/passwd"
        content = bytearray(packed.getvalue())
        entry = content.index(b"PK\1\2")
        if trap == "encrypted":
            content[entry + 8] |= 1
        elif trap == "method":
            content[entry + 10] = 77
        self.outcome = "refused" if trap in ("twice", "encrypted", "method") else "held"
        return bytes(content)

    def bomb(self):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("Toy_TRAIN.ts", bytes(8 * LIMIT))
        return packed.getvalue()

    def load(self, path):
        return path, download._unpack(path, download.DataFile(("Toy/Toy.ts",), "UCR", path.name))

    def check(self, found):
        """What was unpacked is what was packed, in the folder of the archive and nowhere else."""
        archive, unpacked = found
        for path in unpacked:
            assert path.parent == archive.parent
            assert not path.is_symlink()
            # Where damage renamed the first of two files of a name, the other is the only one.
            assert path.read_bytes() in (self.truth[path.name], ANOTHER)
        names = {path.name for path in archive.parents[1].rglob("*") if path.is_file()}
        assert names == {archive.name, *(path.name for path in unpacked)}


KINDS = {kind.__name__: kind for kind in (CifarTar, Npz, Imdb, Mnist, Ucr, Ett, Zip)}
RECIPES = st.one_of([_recipes(name, kind.traps) for name, kind in KINDS.items()])

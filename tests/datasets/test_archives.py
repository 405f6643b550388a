"""Loaders of files: formats on small files written here, real ones where PARALESN_DATA is set."""

import gzip
import hashlib
import lzma
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import needs
from paralesn.datasets import (
    DamagedFileError,
    MissingFileError,
    available,
    check,
    fetch,
    load,
    load_ett,
    load_mnist,
    load_ucr,
)
from paralesn.datasets.archives import ucr
from paralesn.datasets.archives.mnist import parse_idx
from paralesn.datasets.storage import checksums
from paralesn.tables.formats import labels_array, parse_ts, parse_tsv

WRITERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


def put(folder, place, content):
    """Write a file, compressed as its name says."""
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(WRITERS.get(path.suffix, bytes)(content))
    return path


TSV = "1\t0.5\t-1e-3\t2\n-1\t4\t5\t6\n"


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("home", ["Toy", "UCR/Toy"])
def test_tsv_in_every_compression(folder, suffix, home):
    put(folder, f"{home}/Toy_TRAIN.tsv{suffix}", TSV)
    put(folder, f"{home}/Toy_TEST.tsv{suffix}", "1\t4\t5\t6\n1\t4\t5\t7\n-1\t1\t2\t3\n")
    for toy in (load_ucr("Toy"), load("ucr:toy"), load("TOY")):
        np.testing.assert_array_equal(toy.X_train[:, :, 0], [[0.5, -1e-3, 2], [4, 5, 6]])
        assert toy.X_train.shape == (2, 3, 1)
        assert toy.X_test.shape == (3, 3, 1)
        assert toy.y_train.tolist() == [1, -1]
        assert toy.y_test.tolist() == [1, 1, -1]
        assert toy.classes.tolist() == [-1, 1]
        assert toy.meta["test_cases_in_training"] == 1  # 4 5 6, under another label
        assert toy.meta["note"] == "1 of the 3 test cases are exact copies of training cases"


def test_tsv_that_ends_in_nan_is_a_shorter_series():
    series, labels, _ = parse_tsv(b"a\t1\t2\t3\nb\t4\tNaN\tNaN\n", "x.tsv")
    assert [one[:, 0].tolist() for one in series] == [[1, 2, 3], [4]]
    assert labels == ["a", "b"]


TS = """# a comment

@problemName Toy
@timestamps false
@missing false
@univariate false
@dimensions 2
@equalLength false
@classLabel true up down
@data
1,2,3:4,5,6:up
7,8,9:10,11,12 :down
"""


def test_ts_with_several_channels():
    """Shapes are (cases, time, features); the data decide about lengths, not the header."""
    series, labels, _ = parse_ts(TS.encode(), "x.ts")
    np.testing.assert_array_equal(series, [[[1, 4], [2, 5], [3, 6]], [[7, 10], [8, 11], [9, 12]]])
    assert labels == ["up", "down"]


def test_ts_of_unequal_length_and_windows_line_ends():
    content = TS.replace("7,8,9:10,11,12 ", "7,8:9,10").replace("\n", "\r\n")
    series, *_ = parse_ts(content.encode(), "x.ts")
    assert [one.tolist() for one in series] == [[[1, 4], [2, 5], [3, 6]], [[7, 9], [8, 10]]]


def test_long_lines_are_read_to_the_last_bit(rng):
    """NumPy reads them; what it does not know is read value by value."""
    rows = rng.normal(size=(3, 400)) * 10.0 ** rng.integers(-300, 300, (3, 400))
    for row, text in zip(rows, ("?", " nan", "1e5"), strict=True):
        values = [repr(value) for value in row.tolist()]
        line = ",".join([*values[:-1], text])
        assert len(line) > 2048
        series, *_ = parse_ts(f"@classlabel true\n@data\n{line}:a\n".encode(), "x.ts")
        assert series[0, :-1, 0].tolist() == row[:-1].tolist()
        expected = float(text.replace("?", "nan"))
        np.testing.assert_array_equal(series[0, -1, 0], expected)
    for wrong in ("1_0", "", "1\r2", "0x10", "\u0661"):
        content = "@classlabel true\n@data\n" + ",".join([*["1.25"] * 600, wrong]) + ":a\n"
        with pytest.raises(ValueError, match="line 3: could not convert"):
            parse_ts(content.encode(), "x.ts")


def test_series_are_held_once_while_a_file_is_read(tmp_path):
    """The text is read line by line, and cases stand in one array from the first on."""
    path = tmp_path / "x.ts"
    line = ",".join(["0.12345678"] * 2000)
    path.write_text("@classLabel true a\n@data\n" + f"{line}:a\n" * 300)
    tracemalloc.start()
    with path.open("rb") as file:
        series, *_ = parse_ts(file, "x.ts")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert series.shape == (300, 2000, 1)
    assert peak < 1.4 * series.nbytes


def test_series_that_differ_after_equal_ones_stand_apart():
    content = "1,2:a\n3,4:a\n\n5,6:b\n7:b\n8,9:b\n"
    series, labels, _ = parse_ts(("@classLabel true a b\n@data\n" + content).encode(), "x.ts")
    assert [one[:, 0].tolist() for one in series] == [[1, 2], [3, 4], [5, 6], [7], [8, 9]]
    assert labels == ["a", "a", "b", "b", "b"]


def test_numbers_to_predict_are_no_classes(folder):
    numbers = TS.replace("@classLabel true up down", "@targetLabel true")
    numbers = numbers.replace(":up", ":1.5").replace(":down", ":2")
    assert parse_ts(numbers.encode(), "x.ts").is_target
    for part in ("TRAIN", "TEST"):
        put(folder, f"Toy/Toy_{part}.ts", numbers)
    with pytest.raises(ValueError, match=r"expected @classLabel true, got numbers to predict"):
        load_ucr("Toy")


def test_missing_values_are_refused_or_let_pass(folder):
    put(folder, "Toy/Toy_TRAIN.ts.gz", TS)
    put(folder, "Toy/Toy_TEST.ts", TS.replace("8,9:", "?,NaN:"))
    with pytest.raises(ValueError, match=r"Toy_TEST\.ts: 1 of 2 cases have missing .* case 1; "):
        load_ucr("Toy")
    toy = load_ucr("Toy", missing="nan")
    assert np.isnan(toy.X_test).sum() == 2
    assert np.isnan(toy.X_test[1, 1:, 0]).all()
    assert toy.y_train.tolist() == ["up", "down"]
    with pytest.raises(ValueError, match="missing must be 'error' or 'nan', got 'drop'"):
        load_ucr("Toy", missing="drop")


@pytest.mark.parametrize(
    ("parse", "content", "message"),
    [
        (parse_tsv, "", "holds no cases"),
        (parse_tsv, "1\t2\t3\n1\t2\n", "line 2: expected a label and 2 values, .* got 1 values"),
        (parse_tsv, "1 2 3\n", "line 1: expected a label and values, tab separated, got 0"),
        (parse_tsv, "1\t2\tx\n", "line 1: could not convert string to float: 'x'"),
        (parse_tsv, "1\tnan\tnan\n", "line 1: no value is present"),
        (parse_tsv, b"\xff\xfe\x00\t1", "is not a text file"),
        (parse_ts, TS.split("@data")[0], "has no @data line"),
        (parse_ts, TS.split("1,2,3")[0], "holds no cases"),
        (parse_ts, "1,2:a\n", "line 1: expected a line that begins with # or @"),
        (parse_ts, TS.replace(":up", ":left"), r"line 11: label 'left' is none of \['down', 'up'\]"),
        (parse_ts, TS.replace(":4,5,6", ""), "line 11: 1 channels where @dimensions says 2"),
        (parse_ts, TS.replace("4,5,6", "4,5"), r"line 11: .* differ in length: \[3, 2\]"),
        (parse_ts, TS.replace("@dimensions 2\n", "").replace(":4,5,6", ""), "1 to 2 channels"),
        (parse_ts, TS.replace("1,2", "1,,2"), "line 11: could not convert"),
        (parse_ts, TS.replace("timestamps false", "timestamps true"), "timestamps are not supp"),
        (parse_ts, TS.replace("@classLabel true", "@classLabel false"), "@classLabel true or @target"),
    ],
)  # fmt: skip
def test_malformed_text_is_named(parse, content, message):
    content = content if isinstance(content, bytes) else content.encode()
    with pytest.raises(ValueError, match=r"x\.file.*" + message):
        parse(content, "x.file")


def test_labels_are_whole_numbers_only_if_all_are():
    assert [part.tolist() for part in labels_array(["1", "-1.0"], ["2"])] == [[1, -1], [2]]
    assert [part.tolist() for part in labels_array(["1"], ["a"])] == [["1"], ["a"]]
    assert [part.tolist() for part in labels_array(["1.5"], ["2"])] == [["1.5"], ["2"]]


def test_published_sizes_are_compared(folder, monkeypatch):
    monkeypatch.setattr(ucr, "SIZES", {"Toy": ucr.Size(2, 2, 4, 1, 2)})
    put(folder, "Toy/Toy_TRAIN.tsv", TSV)
    put(folder, "Toy/Toy_TEST.tsv", TSV)
    with pytest.raises(DamagedFileError, match=r"expected Size\(.*length=4.*found .*length=3"):
        load_ucr("Toy")


def idx(array):
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


@pytest.mark.parametrize("suffix", WRITERS)
def test_mnist_in_sequence_and_permuted(folder, suffix, rng):
    images = rng.integers(0, 256, (7, 28, 28), dtype=np.uint8)
    labels = rng.integers(0, 10, 7).astype(np.uint8)
    for part, cases in (("train", slice(0, 5)), ("t10k", slice(5, 7))):
        put(folder, f"MNIST/{part}-images-idx3-ubyte{suffix}", idx(images[cases]))
        put(folder, f"MNIST/{part}-labels-idx1-ubyte{suffix}", idx(labels[cases]))
    plain, permuted = load("smnist"), load("psmnist", seed=3)
    np.testing.assert_array_equal(plain.X_train, images[:5].reshape(5, 784, 1) / 255)
    np.testing.assert_array_equal(plain.X_test, images[5:].reshape(2, 784, 1) / 255)
    assert plain.y_test.tolist() == labels[5:].tolist()
    assert plain.validation_fraction == 0.1
    order = permuted.meta["permutation"]
    np.testing.assert_array_equal(np.sort(order), np.arange(784))
    np.testing.assert_array_equal(permuted.X_test, plain.X_test[:, order])
    np.testing.assert_array_equal(load("psmnist", seed=3).meta["permutation"], order)
    assert (load("psmnist", seed=4).meta["permutation"] != order).any()
    single = load_mnist(dtype="float32")
    assert single.X_train.dtype == np.float32
    np.testing.assert_allclose(single.X_train, plain.X_train, rtol=1e-6)
    put(folder, f"MNIST/t10k-labels-idx1-ubyte{suffix}", idx(labels))
    with pytest.raises(DamagedFileError, match=r"expected images .* got \(2, 28, 28\) and \(7,\)"):
        load_mnist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the magic number is absent"),
        (b"\0\0\x09\x01\0\0\0\0", "the magic number is 00000901, expected 0000080n"),
        (b"\0\0\x08\x02\0\0", "the magic number"),
        (idx(np.zeros((2, 3), np.uint8))[:-1], r"5 bytes of data where the header says \(2, 3\)"),
    ],
)
def test_damaged_idx_is_named(content, message):
    with pytest.raises(DamagedFileError, match="x.idx: " + message):
        parse_idx(content, "x.idx")


def ett_csv(table):
    rows = ("2016-07-01 00:00:00," + ",".join(map(repr, row)) for row in table.tolist())
    return "date,HUFL,HULL,MUFL,MULL,LUFL,LULL,OT\n" + "\n".join(rows) + "\n"


def test_ett_is_normalised_clipped_and_split(folder, rng):
    table = rng.normal(size=(14_410, 7)) * np.arange(1, 8) + 5
    table[17, 3] = 1e4  # clipped: training
    table[9000, 3] = 1e4  # not clipped: validation
    put(folder, "ETT/ETTh1.csv.gz", ett_csv(table))
    task = load("ETTh1")
    mean, std = table[:8640].mean(axis=0), table[:8640].std(axis=0)
    normal = (table - mean) / std
    assert normal[17, 3] > 10
    normal[17, 3] = 10
    for split, a, b in ((task.train, 0, 8640), (task.validation, 8640, 11520), (task.test, 11520, 14400)):  # fmt: skip
        np.testing.assert_allclose(split.inputs, normal[a : b - 192], rtol=0, atol=1e-12)
        np.testing.assert_allclose(split.targets, normal[a + 192 : b], rtol=0, atol=1e-12)
    assert task.validation.inputs.max() > 10
    assert task.meta["clipped"] == 1
    np.testing.assert_allclose(task.meta["mean"], mean, rtol=1e-12)
    np.testing.assert_allclose(task.meta["std"], std, rtol=1e-12)
    assert (task.washout, task.metric) == (200, "nrmse")
    np.testing.assert_array_equal(load_ett("etth1", horizon=1).train.targets[:-1], load_ett("etth1", horizon=1).train.inputs[1:])  # fmt: skip
    put(folder, "ETT/ETTh2.csv", ett_csv(table[:100]))
    with pytest.raises(DamagedFileError, match=r"ETTh2\.csv: expected 14400 rows .* got 100"):
        load("etth2")
    put(folder, "ETT/ETTm1.csv", "date,OT\n")
    with pytest.raises(DamagedFileError, match=r"ETTm1\.csv: the header is b'date,OT'"):
        load("ettm1")
    with pytest.raises(ValueError, match="horizon must be less than 2880 rows, got 2880"):
        load_ett("etth1", horizon=2880)
    with pytest.raises(ValueError, match=r"name must be one of etth1, .* got 'etth3'"):
        load_ett("etth3")


@pytest.mark.parametrize("suffix", WRITERS)
def test_damaged_files_are_named_and_not_parsed(folder, monkeypatch, suffix):
    good = hashlib.sha256(TSV.encode()).hexdigest()
    monkeypatch.setattr(checksums, "known_sums", lambda: {"Toy_TRAIN.tsv": good})
    put(folder, f"Toy/Toy_TEST.tsv{suffix}", TSV)
    path = put(folder, f"Toy/Toy_TRAIN.tsv{suffix}", TSV)
    assert load_ucr("Toy").X_train.shape == (2, 3, 1)
    assert [row.status for row in check("ucr:Toy")] == ["ok", "no sum recorded"]
    changed = TSV.replace("6", "7")
    put(folder, f"Toy/Toy_TRAIN.tsv{suffix}", changed)
    found = hashlib.sha256(changed.encode()).hexdigest()
    with pytest.raises(DamagedFileError, match=f"{path.name} is damaged.*{found}, expected {good}"):
        load_ucr("Toy")
    row = check("ucr:Toy")[0]
    assert (row.status, row.expected, row.found) == ("damaged", good, found)
    if suffix:
        whole = WRITERS[suffix](TSV.encode() * 100)
        for broken in (whole[:-20], b"no archive", whole[:30] + b"\0\0\0\0" + whole[34:]):
            path.write_bytes(broken)
            with pytest.raises(DamagedFileError, match=f"{path.name} is damaged"):
                load_ucr("Toy")
            assert check("ucr:Toy")[0].status == "damaged"


def test_absent_files_are_named_with_a_place_to_put_them(folder, monkeypatch):
    with pytest.raises(MissingFileError) as caught:
        load("ettm2", download=False)
    message = str(caught.value)
    assert message.startswith("ETTm2.csv is missing, and downloading was not asked for; put it")
    assert "into the folder ETT in" in message
    assert str(folder) in message
    assert message.endswith("ETDataset/main/ETT-small/ETTm2.csv")
    assert isinstance(caught.value, FileNotFoundError)
    assert [row.status for row in check("psmnist")] == ["missing"] * 4
    monkeypatch.delenv("PARALESN_DATA")
    with pytest.raises(MissingFileError, match="or set PARALESN_DATA to a folder that holds it"):
        load("fordA", download=False)
    with pytest.raises(ValueError, match="name must be that of a dataset of the archive, got"):
        load_ucr("../secrets")
    monkeypatch.setenv("PARALESN_DATA", "/nowhere/at/all")
    with pytest.raises(NotADirectoryError, match="PARALESN_DATA must name a folder"):
        load("etth1")


def test_the_cache_comes_after_the_data_folder(folder, tmp_path):
    put(tmp_path / "cache", "Toy/Toy_TRAIN.tsv", TSV)
    put(tmp_path / "cache", "Toy/Toy_TEST.tsv", TSV)
    assert load_ucr("Toy").X_train[0, 0, 0] == 0.5
    put(folder, "Toy/Toy_TRAIN.tsv", TSV.replace("0.5", "0.25"))
    assert load_ucr("toy").X_train[0, 0, 0] == 0.25


def test_what_is_available(folder):
    rows = {row.name: row for row in available()}
    assert rows["memcap"] == ("memcap", "memory", "generated", True)
    assert rows["etth1"][1:] == (
        "forecasting",
        "https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small/ETTh1.csv",
        False,
    )
    assert not rows["blink"].present
    assert rows["lorenz63"].kind == "closed loop"
    put(folder, "ETT/ETTh1.csv.xz", "")
    put(folder, "UCR/Toy/Toy_TRAIN.tsv", TSV)
    put(folder, "UCR/Toy/Toy_TEST.tsv", TSV)
    rows = {row.name: row for row in available()}
    assert rows["etth1"][2:] == (str(folder / "ETT"), True)
    assert rows["ucr:Toy"] == ("ucr:Toy", "classification", str(folder / "UCR" / "Toy"), True)
    assert fetch("ucr:toy") == [folder / "UCR/Toy/Toy_TRAIN.tsv", folder / "UCR/Toy/Toy_TEST.tsv"]


@pytest.mark.slow
def test_importing_touches_no_network():
    code = "import sys, paralesn.datasets; print({'pooch', 'requests'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"


@needs.real_files
@pytest.mark.parametrize(
    ("name", "train", "test", "labels"),
    [
        ("blink", (500, 510, 4), (450, 510, 4), {"LongBlink": 250, "ShortBlink": 250}),
        ("forda", (3601, 500, 1), (1320, 500, 1), {-1: 1846, 1: 1755}),
        ("fordb", (3636, 500, 1), (810, 500, 1), {-1: 1860, 1: 1776}),
        ("ucr:Beef", (30, 470, 1), (30, 470, 1), dict.fromkeys([1, 2, 3, 4, 5], 6)),
        ("ecg5000", (500, 140, 1), (4500, 140, 1), {1: 292, 2: 177, 3: 10, 4: 19, 5: 2}),
    ],
)
def test_real_archives(name, train, test, labels):
    data = load(name, download=False)
    assert (data.X_train.shape, data.X_test.shape) == (train, test)
    found = zip(*np.unique(data.y_train, return_counts=True), strict=True)
    assert {label.item(): count for label, count in found} == labels
    assert data.meta["test_cases_in_training"] == (50 if name == "blink" else 0)
    assert {row.status for row in check(name)} == {"ok"}


@needs.real_files
def test_real_mnist():
    data = load_mnist(dtype="float32", download=False)
    assert (data.X_train.shape, data.X_test.shape) == ((60_000, 784, 1), (10_000, 784, 1))
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(data.y_train).tolist() == counts
    np.testing.assert_allclose(
        [data.X_train.mean(dtype=float), data.X_test.mean(dtype=float)], [0.1307, 0.1325], atol=5e-5
    )


@needs.real_files
@pytest.mark.parametrize(("name", "rows"), [("etth1", 8640), ("etth2", 8640), ("ettm1", 34560), ("ettm2", 34560)])  # fmt: skip
def test_real_ett(name, rows):
    task = load(name, download=False)
    shapes = [one.inputs.shape for one in (task.train, task.validation, task.test)]
    assert shapes == [(rows - 192, 7), (rows // 3 - 192, 7), (rows // 3 - 192, 7)]
    joined = np.concatenate([task.train.inputs[:192], task.train.targets])
    np.testing.assert_allclose(joined.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(joined.std(axis=0), 1, atol=1e-12)
    assert check(name)[0].status == "ok"


@needs.real_files
def test_recorded_files_of_the_archive_are_as_recorded():
    """Where they are present; sums are those of the decompressed files."""
    names = [entry.name for entry in available() if entry.name.startswith("ucr:")]
    rows = [row for name in names for row in check(name) if row.expected]
    if not rows:
        pytest.skip("PARALESN_DATA holds none of the recorded UCR datasets")
    assert {row.status for row in rows} == {"ok"}

"""Datasets of the UCR and UEA archives, from ``.tsv`` or ``.ts`` files."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from paralesn.datasets.dataset import ClassificationDataset
from paralesn.datasets.storage import checksums, folders
from paralesn.datasets.storage.download import DataFile
from paralesn.files import DamagedFileError, plain_name
from paralesn.tables.formats import Cases, SeriesArrays, labels_array, parse_ts, parse_tsv

_ARCHIVE = (
    "H. A. Dau et al., The UCR time series archive, IEEE/CAA Journal of Automatica Sinica 6, 2019"
)


class Size(NamedTuple):
    """What is published about a dataset."""

    train: int
    test: int
    length: int
    features: int
    classes: int


SIZES: Mapping[str, Size] = MappingProxyType(
    {
        "Blink": Size(500, 450, 510, 4, 2),
        "FaultDetectionA": Size(10912, 2728, 5120, 1, 3),
        "FordA": Size(3601, 1320, 500, 1, 2),
        "FordB": Size(3636, 810, 500, 1, 2),
        "StarLightCurves": Size(1000, 8236, 1024, 1, 3),
    }
)


def ucr_files(name: str) -> list[DataFile]:
    """Training and test file; in a folder of the dataset's name, or one in the folder UCR."""
    if not name or not all(letter.isalnum() or letter in "-_" for letter in name):
        raise ValueError(f"name must be that of a dataset of the archive, got {name!r}")
    files = []
    for part in ("TRAIN", "TEST"):
        kinds = [f"{name}_{part}.{kind}" for kind in ("tsv", "ts")]
        paths = [f"{folder}{name}/{kind}" for folder in ("", "UCR/") for kind in kinds]
        files.append(DataFile(tuple(paths), "UCR", f"{name}.zip"))
    return files


def archive_names() -> list[str]:
    """Datasets whose sums are known or whose folders are there, spelled as the archive does."""
    known = {name.rsplit("_", 1)[0] for name in checksums.known_sums() if "_TRAIN." in name}
    for folder in folders.data_folders():
        for path in (*folder.glob("*/*_TRAIN.ts*"), *folder.glob("UCR/*/*_TRAIN.ts*")):
            known.add(path.parent.name)
    return sorted(known | set(SIZES))


def spelled(name: str) -> str:
    """Spelling of the archive where it is known, whatever the case."""
    known = {archive.lower(): archive for archive in archive_names()}
    return known.get(name.lower(), name)


def _cases(path: Path) -> Cases:
    """Read and parse one file."""
    parse = parse_tsv if plain_name(path).endswith(".tsv") else parse_ts
    with checksums.checked(path) as file:
        cases = parse(file, str(path))
    if cases.is_target:
        raise ValueError(
            f"{path}: expected @classLabel true, got numbers to predict (@targetLabel)"
        )
    return cases


def _refuse_missing(series: SeriesArrays, path: Path) -> None:
    """Refuse NaN and infinity."""
    bad = [i for i, case in enumerate(series) if not np.isfinite(case).all()]
    if bad:
        raise ValueError(
            f"{path}: {len(bad)} of {len(series)} cases have missing or infinite values, the first "
            f'being case {bad[0]}; missing="nan" lets them pass'
        )


def _check_size(name: str, train: Cases, test: Cases, classes: int, where: str) -> None:
    """Compare with what is published."""
    expected = SIZES.get(name)
    if expected is None:
        return
    lengths = {len(case) for cases in (train, test) for case in cases.series}
    actual = Size(
        len(train.labels), len(test.labels), max(lengths), train.series[0].shape[1], classes
    )
    if actual != expected or len(lengths) > 1:
        raise DamagedFileError(f"{where}: expected {expected}, found {actual}")


def repeats(train: SeriesArrays, test: SeriesArrays) -> int:
    """Number of test cases that are exact copies of training cases."""
    seen = {_digest(case) for case in train}
    return sum(_digest(case) in seen for case in test)


def _digest(case: np.ndarray) -> bytes:
    """What tells a series from every other one: all of them as bytes would be a second copy."""
    return hashlib.blake2b(case.tobytes(), digest_size=16).digest()


def load_ucr(name: str, missing: str = "error", download: bool = True) -> ClassificationDataset:
    """Load a dataset of the UCR or UEA archive by its name there, such as ``"Beef"``.

    Reads ``Beef/Beef_TRAIN.tsv`` or ``.ts`` (plain, ``.gz`` or ``.xz``; the folder ``UCR`` is
    searched, too) and the test file beside it.

    Parameters
    ----------
    name : str
        The case does not matter where the dataset is known.
    missing : {"error", "nan"}
        What to do about missing values.
    download : bool
        Whether to download the archive's zip where files are absent.

    Returns
    -------
    ClassificationDataset
        `meta["test_cases_in_training"]` counts the test cases that are exact copies of training
        cases: accuracy on the official split includes them.
    """
    if missing not in ("error", "nan"):
        raise ValueError(f"missing must be 'error' or 'nan', got {missing!r}")
    name = spelled(str(name))
    paths = [file.locate(download) for file in ucr_files(name)]
    train, test = (_cases(path) for path in paths)
    if missing == "error":
        for cases, path in zip((train, test), paths, strict=True):
            _refuse_missing(cases.series, path)
    if train.series[0].shape[1] != test.series[0].shape[1]:
        raise DamagedFileError(f"{paths[0]} and {paths[1]} differ in the number of channels")
    y_train, y_test = labels_array(train.labels, test.labels)
    classes = np.unique(np.concatenate([y_train, y_test]))
    where = f"{paths[0]} and {paths[1].name}"
    _check_size(name, train, test, classes.size, where)
    copies = repeats(train.series, test.series)
    meta: dict[str, Any] = {
        "kind": "classification",
        "files": tuple(map(str, paths)),
        "test_cases_in_training": copies,
    }
    if copies:
        meta["note"] = (
            f"{copies} of the {len(y_test)} test cases are exact copies of training cases"
        )
    return ClassificationDataset(
        name,
        train.series,
        y_train,
        test.series,
        y_test,
        classes=classes,
        citation=_ARCHIVE,
        meta=meta,
    )

"""CIFAR-10 in grey, read pixel by pixel: the image task of the Long Range Arena."""

import io
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import IO

import numpy as np

from paralesn.compressed import check_zip
from paralesn.datasets.dataset import ClassificationDataset
from paralesn.datasets.storage.checksums import read
from paralesn.datasets.storage.download import DataFile
from paralesn.datasets.storage.tar_archive import plain_files
from paralesn.files import DamagedFileError, plain_name

_CITATION = (
    "A. Krizhevsky, Learning multiple layers of features from tiny images, 2009; "
    "Y. Tay et al., Long Range Arena, ICLR 2021"
)
_FOLDER = "cifar-10-batches-bin"
_BATCHES = {
    "train": tuple(f"{_FOLDER}/data_batch_{i}.bin" for i in range(1, 6)),
    "test": (f"{_FOLDER}/test_batch.bin",),
}
_RECORD = 1 + 3 * 1024  # bytes of a case: label, then red, green and blue pixels
_ARRAYS = ("x_train", "y_train", "x_test", "y_test")
_GREY = np.array([0.2989, 0.587, 0.114])  # of red, green, blue
# What headers of arrays and archives raise, besides ValueError.
_DAMAGED = (ValueError, KeyError, EOFError, OSError, zlib.error, zipfile.BadZipFile,
            NotImplementedError, RuntimeError, SyntaxError, tokenize.TokenError)  # fmt: skip


def cifar_file() -> DataFile:
    """Return the binary version of the published archive, or the grey images made of it."""
    paths = ("CIFAR10/cifar-10-binary.tar", "CIFAR10/cifar10_gray.npz")
    unread = (
        "CIFAR10/cifar-10-python.tar",
        "it holds pickles, which may run anything; the binary version has the same images",
    )
    return DataFile(paths, "CIFAR10", "cifar-10-binary.tar.gz", unread)


def _grey(batch: bytes, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (n, 1024) and labels of one batch of the published archive."""
    if len(batch) % _RECORD:
        raise ValueError(f"{name} has {len(batch)} bytes, expected a multiple of {_RECORD}")
    records = np.frombuffer(batch, np.uint8).reshape(-1, _RECORD)
    colours = records[:, 1:].reshape(-1, 3, 1024).astype(float)
    pixels = np.tensordot(colours, _GREY, axes=(1, 0))
    return pixels.astype(np.uint8), records[:, 0]


def _of_archive(content: bytes, path: Path) -> dict[str, np.ndarray]:
    """Arrays of the published archive, named as in the grey file."""
    wanted = {name for names in _BATCHES.values() for name in names}
    batches = dict(plain_files(content, path, wanted.__contains__))
    if missing := wanted - set(batches):
        raise ValueError(f"it does not hold {', '.join(sorted(missing))}")
    arrays = {}
    for part, names in _BATCHES.items():
        pairs = [_grey(batches[name], name) for name in names]
        arrays[f"x_{part}"] = np.concatenate([pixels for pixels, _ in pairs])
        arrays[f"y_{part}"] = np.concatenate([labels for _, labels in pairs])
    return arrays


def _of_npy(member: IO[bytes], name: str) -> np.ndarray:
    """An array of bytes in NumPy's format."""
    if np.lib.format.read_magic(member) != (1, 0):  # type: ignore[no-untyped-call]
        raise ValueError(f"{name} is in another version of the format")
    header = np.lib.format.read_array_header_1_0(member)  # type: ignore[no-untyped-call]
    shape, is_fortran, dtype = header
    if dtype != np.uint8:
        raise ValueError(f"{name} must be uint8, got {dtype}")
    data = np.frombuffer(member.read(), np.uint8)
    return data.reshape(shape, order="F" if is_fortran else "C")


def _of_npz(content: bytes, path: Path) -> dict[str, np.ndarray]:
    """Arrays of the grey file; memory is taken for what is there, not for what headers say."""
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        check_zip(archive, path, len(content))
        for name in _ARRAYS:
            with archive.open(f"{name}.npy") as member:
                arrays[name] = _of_npy(member, name)
    return arrays


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Read the archive or the grey file, and check shapes."""
    content = read(path)
    read_arrays = _of_npz if plain_name(path).endswith(".npz") else _of_archive
    try:
        arrays = read_arrays(content, path)
    except DamagedFileError:
        raise
    except _DAMAGED as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from error
    for part in _BATCHES:
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
        if x.shape != (y.size, 1024) or y.ndim != 1 or not y.size or y.max() > 9:
            raise DamagedFileError(
                f"{path}: expected images (n, 1024) and n labels 0 to 9 in {part}, got "
                f"{x.shape} and {y.shape}"
            )
    return arrays


def load_cifar(download: bool = True) -> ClassificationDataset:
    """CIFAR-10 as series of 1 024 shades of grey, row by row.

    Reads the binary version as published, ``cifar-10-binary.tar.gz``, or ``cifar10_gray.npz`` made
    from it. The version for Python holds pickles and is not read. Grey is 0.2989 red + 0.587 green
    + 0.114 blue, rounded down.

    Returns
    -------
    ClassificationDataset
        50 000 cases to train on, 10 000 to test: uint8 pixels (cases, 1024, 1), 0 to 255.
    """
    path = cifar_file().locate(download)
    arrays = _arrays(path)
    return ClassificationDataset(
        "lra-image",
        arrays["x_train"][:, :, None],
        arrays["y_train"].astype(np.int64),
        arrays["x_test"][:, :, None],
        arrays["y_test"].astype(np.int64),
        classes=np.arange(10),
        validation_fraction=0.1,
        citation=_CITATION,
        meta={"kind": "classification", "file": str(path)},
    )

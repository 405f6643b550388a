"""CIFAR-10 in grey, read pixel by pixel: the image task of the Long Range Arena."""

import codecs
import io
import pickle
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from paralesn.datasets.dataset import ClassificationDataset
from paralesn.datasets.storage.checksums import read
from paralesn.datasets.storage.download import DataFile
from paralesn.files import DamagedFileError, plain_name

_CITATION = (
    "A. Krizhevsky, Learning multiple layers of features from tiny images, 2009; "
    "Y. Tay et al., Long Range Arena, ICLR 2021"
)
_BATCHES = {"train": tuple(f"data_batch_{i}" for i in range(1, 6)), "test": ("test_batch",)}
_ARRAYS = ("x_train", "y_train", "x_test", "y_test")
_GREY = np.array([0.2989, 0.587, 0.114])  # of red, green, blue


def cifar_file() -> DataFile:
    """Return the published archive, or the grey images made of it."""
    paths = ("CIFAR10/cifar-10-python.tar", "CIFAR10/cifar10_gray.npz")
    return DataFile(paths, "CIFAR10", "cifar-10-python.tar.gz")


class _Arrays(pickle.Unpickler):
    """Reads pickled arrays, and refuses everything else, so nothing is executed."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("numpy") and name in ("ndarray", "dtype"):
            return getattr(np, name)
        if module.endswith("core.multiarray") and name == "_reconstruct":
            return np.ndarray.__reduce__(np.empty(0))[0]  # type: ignore[arg-type]
        if (module, name) == ("_codecs", "encode"):  # how Python 3 writes bytes for Python 2
            return codecs.encode
        raise DamagedFileError(f"expected arrays and numbers only, got {module}.{name}")


def _grey(batch: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (n, 1024) and labels of one batch of the published archive."""
    contents = _Arrays(io.BytesIO(batch), encoding="bytes").load()
    colours = np.asarray(contents[b"data"]).reshape(-1, 3, 1024).astype(float)
    pixels = np.tensordot(colours, _GREY, axes=(1, 0))
    return pixels.astype(np.uint8), np.array(contents[b"labels"], np.uint8)


def _of_archive(content: bytes) -> dict[str, np.ndarray]:
    """Arrays of the published archive, named as in the grey file."""
    arrays = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for part, names in _BATCHES.items():
            members = [archive.extractfile(f"cifar-10-batches-py/{name}") for name in names]
            pairs = [_grey(member.read()) for member in members if member is not None]
            arrays[f"x_{part}"] = np.concatenate([pixels for pixels, _ in pairs])
            arrays[f"y_{part}"] = np.concatenate([labels for _, labels in pairs])
    return arrays


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Read the archive or the grey file, and check shapes."""
    content = read(path)
    try:
        if plain_name(path).endswith(".npz"):
            with np.load(io.BytesIO(content), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in _ARRAYS}
        else:
            arrays = _of_archive(content)
    except (
        KeyError,
        ValueError,
        tarfile.TarError,
        zipfile.BadZipFile,
        pickle.PickleError,
    ) as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from error
    for part in _BATCHES:
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
        if x.shape != (y.size, 1024) or x.dtype != np.uint8 or not y.size or y.max() > 9:
            raise DamagedFileError(
                f"{path}: expected uint8 images (n, 1024) and n labels 0 to 9 in {part}, got "
                f"{x.dtype} {x.shape} and {y.shape}"
            )
    return arrays


def load_cifar(download: bool = True) -> ClassificationDataset:
    """CIFAR-10 as series of 1 024 shades of grey, row by row.

    Reads ``cifar-10-python.tar.gz`` as published, or ``cifar10_gray.npz`` made from it. Grey is
    0.2989 red + 0.587 green + 0.114 blue, rounded down.

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

"""Handwritten digits read pixel by pixel: sequential and permuted MNIST."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from paralesn.datasets.dataset import ClassificationDataset
from paralesn.datasets.seeds import entropy, stream
from paralesn.datasets.storage.checksums import read
from paralesn.datasets.storage.download import DataFile
from paralesn.files import DamagedFileError

_CITATION = (
    "Y. LeCun et al., Gradient-based learning applied to document recognition, "
    "Proceedings of the IEEE 86, 1998"
)
STEMS = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def mnist_files() -> list[DataFile]:
    """Return the four files."""
    return [DataFile((f"MNIST/{stem}",), "MNIST", f"{stem}.gz") for stem in STEMS]


def parse_idx(content: bytes, name: str) -> np.ndarray:
    """MNIST's format: magic number, sizes, bytes. Gives an array of uint8."""
    rank = content[3] if len(content) >= 4 else 0
    start = 4 + 4 * rank
    if content[:3] != b"\0\0\x08" or not 1 <= rank <= 4 or len(content) < start:
        raise DamagedFileError(
            f"{name}: the magic number is {content[:4].hex() or 'absent'}, expected 0000080n: "
            "unsigned bytes of n dimensions"
        )
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", rank, offset=4))
    if len(content) - start != math.prod(shape):
        raise DamagedFileError(
            f"{name}: {len(content) - start} bytes of data where the header says {shape}"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _pair(
    images: Path, labels: Path, order: np.ndarray | None, dtype: DTypeLike
) -> tuple[np.ndarray, np.ndarray]:
    """Series (cases, pixels, 1) in [0, 1] and labels (cases,)."""
    pixels = parse_idx(read(images), str(images))
    digits = parse_idx(read(labels), str(labels))
    if pixels.shape[1:] != (28, 28) or digits.shape != pixels.shape[:1]:
        raise DamagedFileError(
            f"{images} and {labels.name}: expected images (n, 28, 28) and n labels, "
            f"got {pixels.shape} and {digits.shape}"
        )
    flat = pixels.reshape(len(pixels), -1, 1)
    if order is not None:
        flat = flat[:, order]
    scaled = flat.astype(dtype)
    scaled /= 255
    return scaled, digits.astype(np.int64)


def load_mnist(
    permuted: bool = False,
    seed: int | None = 0,
    dtype: DTypeLike = np.float64,
    download: bool = True,
) -> ClassificationDataset:
    """MNIST as series of 784 pixels in [0, 1], row by row.

    Parameters
    ----------
    permuted : bool
        Whether the pixels come in a random order, the same for every image.
    seed : int or None
        Decides the order if `permuted`; no effect otherwise.
    dtype : dtype
        float32 halves the 430 MB the series take.
    download : bool
        Whether to download files where they are absent.

    Returns
    -------
    ClassificationDataset
        60 000 cases to train on, 10 000 to test; `meta["permutation"]` is the order.
    """
    if np.dtype(dtype).kind != "f":
        raise TypeError(f"dtype must be a floating type, got {np.dtype(dtype).name}")
    number = entropy(seed)
    order = stream(number, "psmnist").permutation(28 * 28) if permuted else None
    paths = [file.locate(download) for file in mnist_files()]
    x_train, y_train = _pair(paths[0], paths[1], order, dtype)
    x_test, y_test = _pair(paths[2], paths[3], order, dtype)
    meta: dict[str, Any] = {"kind": "classification"}
    if order is not None:
        meta |= {"seed": number, "permutation": order}
    return ClassificationDataset(
        "psmnist" if permuted else "smnist",
        x_train,
        y_train,
        x_test,
        y_test,
        classes=np.unique(np.concatenate([y_train, y_test])),
        validation_fraction=0.1,
        citation=_CITATION,
        meta=meta,
    )

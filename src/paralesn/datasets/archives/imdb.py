"""Film reviews read byte by byte: the text task of the Long Range Arena."""

import re
from pathlib import Path

import numpy as np

from paralesn import checks
from paralesn.datasets.dataset import ClassificationDataset
from paralesn.datasets.storage.checksums import read
from paralesn.datasets.storage.download import DataFile
from paralesn.datasets.storage.prepared import Sequences, prepare
from paralesn.datasets.storage.tar_archive import plain_files
from paralesn.files import DamagedFileError, plain_name

LONGEST = 4096  # bytes of a review that are read, as in the Long Range Arena
PARTS, LABELS = ("train", "test"), ("neg", "pos")
_MEMBER = re.compile(r"aclImdb/(train|test)/(neg|pos)/(\d{1,9})_\d+\.txt")
_CITATION = (
    "A. L. Maas et al., Learning word vectors for sentiment analysis, ACL 2011; "
    "Y. Tay et al., Long Range Arena, ICLR 2021"
)


def imdb_file() -> DataFile:
    """Return the archive: the published one, or its labelled half."""
    paths = ("IMDB/aclImdb_v1.tar", "IMDB/aclImdb_labelled.tar")
    return DataFile(paths, "IMDB", "aclImdb_v1.tar.gz")


def _reviews(path: Path) -> dict[str, Sequences]:
    """Reviews of both parts, in the order of their labels and numbers."""
    texts: dict[str, list[tuple[int, int, bytes]]] = {part: [] for part in PARTS}
    for name, content in plain_files(read(path), path, _MEMBER.fullmatch):
        part, label, number = _MEMBER.fullmatch(name).groups()  # type: ignore[union-attr]
        texts[part].append((LABELS.index(label), int(number), content))
    sequences = {}
    for part, reviews in texts.items():
        labels = np.array([label for label, _, _ in sorted(reviews)], np.int64)
        if not 0 < labels.sum() < labels.size or not all(text for _, _, text in reviews):
            raise DamagedFileError(
                f"{path}: expected reviews in aclImdb/{part}/neg and aclImdb/{part}/pos, none of "
                f"them empty, got {labels.size - labels.sum()} and {labels.sum()}"
            )
        series = [np.frombuffer(text, np.uint8) for _, _, text in sorted(reviews)]
        sequences[part] = Sequences.join(series, labels)
    return sequences


def load_imdb(longest: int = LONGEST, download: bool = True) -> ClassificationDataset:
    """Film reviews as bytes, favourable (1) or not (0).

    Parameters
    ----------
    longest : int
        Longest review in bytes; longer ones are cut off.
    download : bool
        Whether to download the archive where it is absent.

    Returns
    -------
    ClassificationDataset
        25 000 cases to train on, 25 000 to test: uint8 arrays (time_i, 1). The first half of each
        part is unfavourable.
    """
    longest = checks.integer("longest", longest, 1)
    path = imdb_file().locate(download)
    parsed: dict[str, Sequences] = {}

    def make(part: str) -> Sequences:
        parsed.update({} if parsed else _reviews(path))
        return parsed[part]

    name = f"text-{plain_name(path)}-{path.stat().st_size}"
    train, test = (prepare(name, part, make) for part in PARTS)
    x_train, x_test = ([review[:longest] for review in part.as_list()] for part in (train, test))
    return ClassificationDataset(
        "lra-text",
        x_train,
        train.labels,
        x_test,
        test.labels,
        classes=np.arange(2),
        validation_fraction=0.1,
        citation=_CITATION,
        meta={"kind": "classification", "file": str(path), "vocabulary": 256},
    )

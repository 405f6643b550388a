"""Film reviews read byte by byte: the text task of the Long Range Arena."""

import io
import re
import tarfile
from pathlib import Path

import numpy as np

from paralesn import checks
from paralesn.datasets.record import ClassificationDataset
from paralesn.datasets.storage.download import Wanted
from paralesn.datasets.storage.find import read
from paralesn.datasets.storage.prepared import Kept, as_list, kept
from paralesn.files import DamagedFileError, plain_name

LONGEST = 4096  # bytes of a review that are read, as in the Long Range Arena
PARTS, LABELS = ("train", "test"), ("neg", "pos")
_MEMBER = re.compile(r"aclImdb/(train|test)/(neg|pos)/(\d+)_\d+\.txt")
_CITATION = (
    "A. L. Maas et al., Learning word vectors for sentiment analysis, ACL 2011; "
    "Y. Tay et al., Long Range Arena, ICLR 2021"
)


def imdb_file() -> Wanted:
    """Return the archive: the published one, or its labelled half."""
    places = ("IMDB/aclImdb_v1.tar", "IMDB/aclImdb_labelled.tar")
    return Wanted(places, "IMDB", "aclImdb_v1.tar.gz")


def _reviews(path: Path) -> dict[str, Kept]:
    """Reviews of both parts, in the order of their labels and numbers."""
    found: dict[str, list[tuple[int, int, bytes]]] = {part: [] for part in PARTS}
    try:
        with tarfile.open(fileobj=io.BytesIO(read(path))) as archive:
            for member in archive:
                match = _MEMBER.fullmatch(member.name)
                if match is None:
                    continue
                content = archive.extractfile(member)
                part, label, number = match.groups()
                if content is not None:
                    found[part].append((LABELS.index(label), int(number), content.read()))
    except tarfile.TarError as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from error
    kept_parts = {}
    for part, reviews in found.items():
        labels = np.array([label for label, _, _ in sorted(reviews)], np.int64)
        if not 0 < labels.sum() < labels.size or not all(text for _, _, text in reviews):
            raise DamagedFileError(
                f"{path}: expected reviews in aclImdb/{part}/neg and aclImdb/{part}/pos, none of "
                f"them empty, got {labels.size - labels.sum()} and {labels.sum()}"
            )
        texts = [np.frombuffer(text, np.uint8) for _, _, text in sorted(reviews)]
        kept_parts[part] = Kept.joined(texts, labels)
    return kept_parts


def load_imdb(longest: int = LONGEST, download: bool = True) -> ClassificationDataset:
    """Film reviews as bytes, favourable (1) or not (0).

    Parameters
    ----------
    longest : int
        Bytes of a review that are read; what follows is left out.
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
    made: dict[str, Kept] = {}

    def make(part: str) -> Kept:
        made.update({} if made else _reviews(path))
        return made[part]

    name = f"text-{plain_name(path)}-{path.stat().st_size}"
    train, test = (kept(name, part, make) for part in PARTS)
    x_train, x_test = ([one[:longest] for one in as_list(part)] for part in (train, test))
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

"""Datasets by name: load one, list them all, fetch and check their files."""

from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from paralesn.datasets.archives.cifar import cifar_file, load_cifar
from paralesn.datasets.archives.ett import ROWS, ett_file, load_ett
from paralesn.datasets.archives.imdb import imdb_file, load_imdb
from paralesn.datasets.archives.mnist import load_mnist, mnist_files
from paralesn.datasets.archives.ucr import SIZES, archive_names, load_ucr, spelled, ucr_files
from paralesn.datasets.dataset import ClassificationDataset, Dataset
from paralesn.datasets.generated.listops import load_listops
from paralesn.datasets.generated.pathfinder import load_pathfinder
from paralesn.datasets.generated.tasks import TASKS
from paralesn.datasets.storage import checksums
from paralesn.datasets.storage.download import DataFile
from paralesn.files import DamagedFileError

_UCR = {name.lower(): name for name in SIZES}
_MNIST = ("smnist", "psmnist")
_DRAWN = {"lra-listops": load_listops, "lra-pathfinder": load_pathfinder}
_ARENA = {"lra-image": cifar_file, "lra-text": imdb_file}
NAMES = (*TASKS, *ROWS, *_UCR, *_MNIST, *_ARENA, *_DRAWN)


class Entry(NamedTuple):
    """A row of `available`.

    `source` is where the data come from: "generated", the folder that holds the files, or the
    address they would be downloaded from.
    """

    name: str
    kind: str
    source: str
    present: bool


class FileCheck(NamedTuple):
    """A row of `check`; `status` is "ok", "missing", "damaged" or "no sum recorded"."""

    name: str
    path: Path | None
    status: str
    expected: str | None
    found: str | None


def _resolve(name: str) -> str:
    """Name in the catalogue, or ``ucr:Name`` for another dataset of the archive."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r}")
    key = name.strip().lower()
    if key in NAMES:
        return key
    if key.startswith("ucr:") and len(key) > 4:
        archive = spelled(name.strip()[4:])
        return archive.lower() if archive.lower() in NAMES else f"ucr:{archive}"
    others = {
        archive.lower(): f"ucr:{archive}" for archive in archive_names() if archive not in SIZES
    }
    if key in others:
        return others[key]
    known = {**dict(zip(NAMES, NAMES, strict=True)), **others}
    near = [known[match] for match in get_close_matches(key, known, n=4)]
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(NAMES)}"
    raise ValueError(f"there is no dataset {name!r}; {hint} (ucr:Name loads any of the archive)")


def _files(key: str) -> list[DataFile]:
    """Files a dataset is made of; none if it is generated."""
    if key in TASKS or key in _DRAWN:
        return []
    if key in _ARENA:
        return [_ARENA[key]()]
    if key in ROWS:
        return [ett_file(key)]
    if key in _MNIST:
        return mnist_files()
    return ucr_files(_UCR.get(key) or key.removeprefix("ucr:"))


def load(name: str, seed: int | None = 0, download: bool = True) -> Dataset | ClassificationDataset:
    """Load or generate a dataset.

    Parameters
    ----------
    name : str
        ``memcap ctxor5 ctxor10 sinmem10 sinmem20`` (memory; all but the first also with
        ``-earlier`` after it, as an earlier repository of the paper's group has them: 6000 steps,
        washout 200, targets due a step earlier), ``lz25 lz50 mg mg84 narma10 narma30
        etth1 etth2 ettm1 ettm2`` (forecasting), ``lorenz63`` (closed loop), ``blink
        faultdetectiona forda fordb starlightcurves smnist psmnist lra-image lra-text lra-listops
        lra-pathfinder`` (classification), or ``ucr:Name`` for any dataset of the UCR and UEA
        archives. The case does not matter.
    seed : int or None
        Decides what is generated, and the order of the pixels of ``psmnist``; no effect on other
        files. None draws a seed, which `meta["seed"]` records.
    download : bool
        Whether to download files found neither in ``PARALESN_DATA`` nor in the cache.

    Returns
    -------
    Dataset or ClassificationDataset

    Notes
    -----
    The same seed gives the same series on every machine: generators use nothing but correctly
    rounded operations, save for a final tanh or sine, whose last bit is the library's.

    Examples
    --------
    >>> task = load("narma10", seed=1)
    >>> task.train.inputs.shape, task.test.targets.shape, task.washout, task.metric
    ((5000, 1), (2500, 1), 200, 'nrmse')
    >>> load("narma11")
    Traceback (most recent call last):
    ValueError: there is no dataset 'narma11'; did you mean narma10...
    """
    key = _resolve(name)
    if key in TASKS:
        return TASKS[key].load(seed)
    if key in ROWS:
        return load_ett(key, download=download)
    if key in _MNIST:
        return load_mnist(permuted=key == "psmnist", seed=seed, download=download)
    if key in _DRAWN:
        return _DRAWN[key](seed)
    if key == "lra-image":
        return load_cifar(download=download)
    if key == "lra-text":
        return load_imdb(download=download)
    return load_ucr(_UCR.get(key) or key.removeprefix("ucr:"), download=download)


def _kind(key: str) -> str:
    """Kind of task."""
    if key in TASKS:
        return TASKS[key].kind
    return "forecasting" if key in ROWS else "classification"


def _entry(key: str) -> Entry:
    """Row for one dataset."""
    files = _files(key)
    paths = [file.find() for file in files]
    present = None not in paths
    if not files:
        source = "generated"
    elif present and paths[0] is not None:
        source = str(paths[0].parent)
    else:
        absent = (file for file, path in zip(files, paths, strict=True) if path is None)
        source = next(absent).url
    return Entry(key, _kind(key), source, present)


def available() -> list[Entry]:
    """List the datasets `load` knows, and where each would come from.

    Datasets of the archive besides the paper's are listed where their files are present.

    Returns
    -------
    list of Entry
        Named tuples of name, kind, source and present.

    Examples
    --------
    >>> available()[0]
    Entry(name='memcap', kind='memory', source='generated', present=True)
    """
    others = (_entry(f"ucr:{name}") for name in archive_names() if name not in SIZES)
    return [*map(_entry, NAMES), *(entry for entry in others if entry.present)]


def fetch(name: str) -> list[Path]:
    """Make the files of a dataset present, downloading what is not.

    Returns
    -------
    list of Path
        Empty for what is generated.

    Examples
    --------
    >>> fetch("memcap")
    []
    """
    return [file.locate() for file in _files(_resolve(name))]


def check(name: str) -> list[FileCheck]:
    """Compare the files of a dataset with the recorded checksums.

    Checksums are those of the decompressed content, so any compression will do.

    Returns
    -------
    list of FileCheck
        Named tuples of name, path, status, expected and found; empty for what is generated.

    Examples
    --------
    >>> check("memcap")
    []
    """
    return [_check_file(file) for file in _files(_resolve(name))]


def _check_file(file: DataFile) -> FileCheck:
    """Row for one file."""
    path = file.find()
    if path is None:
        name = file.names[0]
        return FileCheck(name, None, "missing", checksums.known_sums().get(name), None)
    expected = checksums.expected_sum(path)
    try:
        found = checksums.digest(path)
    except DamagedFileError:
        return FileCheck(path.name, path, "damaged", expected, None)
    if expected is None:
        return FileCheck(path.name, path, "no sum recorded", None, found)
    return FileCheck(path.name, path, "ok" if found == expected else "damaged", expected, found)

"""Downloads of public originals: written aside, checked, then moved into the cache."""

import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paralesn.datasets.storage import find as files
from paralesn.datasets.storage.find import MissingFileError
from paralesn.files import DamagedFileError, plain_name

# Where the originals are, by group. A group's address and a file's name make an address.
ORIGINALS = {
    "CIFAR10": "https://www.cs.toronto.edu/~kriz/",
    "ETT": "https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small/",
    "IMDB": "https://ai.stanford.edu/~amaas/data/sentiment/",
    "MNIST": "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "UCR": "https://www.timeseriesclassification.com/aeon-toolkit/",
}


@dataclass(frozen=True)
class Wanted:
    """A file of a dataset: the names it may have, and where the public original is.

    Attributes
    ----------
    places : tuple of str
        Acceptable files, ``folder/name`` without compression; the first is where a download goes
        (a member of an archive keeps its own name).
    group, remote : str
        Key of `ORIGINALS`, and the name there.
    """

    places: tuple[str, ...]
    group: str
    remote: str

    @property
    def url(self) -> str:
        """Address of the public original."""
        return ORIGINALS[self.group] + self.remote

    def find(self) -> Path | None:
        """Path of the file if it is there."""
        return files.find(self.places)

    def locate(self, download: bool = True) -> Path:
        """Path of the file, downloaded if need be."""
        if (path := self.find()) is not None:
            return path
        if not download:
            raise self.missing("and downloading was not asked for")
        return fetch(self)

    def missing(self, why: str) -> MissingFileError:
        """Make the error that says what is missing and where it can be put."""
        searched = [str(root) for root in files.roots()]
        name = " or ".join(dict.fromkeys(place.rsplit("/")[-1] for place in self.places))
        folder = self.places[0].rsplit("/")[0]
        where = f"put it, plain or compressed (.gz, .xz), into the folder {folder} in "
        where += " or ".join(searched) or "a folder of your choice"
        if not os.environ.get("PARALESN_DATA"):
            where += ", or set PARALESN_DATA to a folder that holds it"
        return MissingFileError(f"{name} is missing, {why}; {where}. Public original: {self.url}")


class _Bar:
    """Progress bar as pooch drives one, drawn by rich; silent where there is no terminal."""

    def __init__(self, label: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._progress.add_task(label, total=None)
        self.total = 0

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, size: int) -> None:
        """Count bytes that arrived."""
        self._progress.update(self._task, advance=size, total=self.total or None)

    def reset(self) -> None:
        """Begin anew."""
        self._progress.reset(self._task)

    def close(self) -> None:
        """Do nothing: the bar ends with its block."""


def _transfer(wanted: Wanted, target: Path) -> None:
    """Download into `target`, or say what is missing and why."""
    try:
        import pooch
    except ImportError as error:
        why = "and downloading needs the package pooch (pip install pooch)"
        raise wanted.missing(why) from error
    with _Bar(wanted.remote) as bar:
        transfer: Callable[..., Any] = pooch.HTTPDownloader(progressbar=bar)
        try:
            transfer(wanted.url, str(target), None)
        except OSError as error:  # what requests raises, too
            raise wanted.missing(f"and its download failed ({error})") from error


def fetch(wanted: Wanted) -> Path:
    """Download a file into the cache, together with what else its archive holds for it.

    Nothing appears in the cache before it is complete and its sum is right. Where no sum of the
    original is known, that of the download is noted beside it and later reads are held to it.
    """
    folder = files.cache_folder()
    if folder is None:
        why = "and downloading needs the package pooch (pip install pooch) or PARALESN_CACHE"
        raise wanted.missing(why)
    home = folder / Path(wanted.places[0]).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise wanted.missing(f"and there is no folder to download it to ({error})") from error
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=folder) as aside:
        raw = Path(aside) / Path(wanted.remote).name
        _transfer(wanted, raw)
        arrived = _unpack(raw, wanted) if raw.suffix == ".zip" else [raw]
        name = _named(arrived, wanted)
        _check_and_note(arrived, home, wanted.url)
        for path in arrived:
            os.replace(path, home / path.name)
    return home / name


def _named(arrived: list[Path], wanted: Wanted) -> str:
    """Name of the file that was wanted among those that arrived."""
    names = [Path(place).name for place in wanted.places]
    for path in arrived:
        if plain_name(path) in names:
            return path.name
    held = ", ".join(path.name for path in arrived) or "no data files"
    raise DamagedFileError(
        f"{wanted.url} holds {held}, none of which is {' or '.join(dict.fromkeys(names))}"
    )


def _unpack(archive: Path, wanted: Wanted) -> list[Path]:
    """Extract the archive's data files (.ts or .tsv), whatever folder they are in."""
    found: dict[str, Path] = {}
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                name = member.filename.rsplit("/")[-1]
                if name.endswith((".ts", ".tsv")) and not name.startswith("."):
                    with opened.open(member) as source, open(archive.parent / name, "wb") as sink:
                        shutil.copyfileobj(source, sink)
                    found[name] = archive.parent / name
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DamagedFileError(f"{wanted.url}: the archive is damaged: {error}") from error
    return list(found.values())


def _check_and_note(arrived: list[Path], home: Path, url: str) -> None:
    """Compare files with the originals' sums; note the sum where no original's is known."""
    record = home / files.SUMS
    sums = files.parse_sums(record.read_text("utf-8")) if record.is_file() else {}
    for path in arrived:
        name, found = plain_name(path), files.digest(path)
        files.compare(path, found, origin=f"{name} from {url}")
        if name not in files.known_sums():
            sums[name] = found
    home.mkdir(parents=True, exist_ok=True)
    if sums:
        aside = arrived[0].with_name(files.SUMS)
        aside.write_text("".join(f"{sums[name]}  {name}\n" for name in sorted(sums)), "utf-8")
        os.replace(aside, record)

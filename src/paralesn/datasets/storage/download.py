"""Downloads of public originals with pooch: into a folder aside, checked, then into the cache."""

import logging
import os
import shutil
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from paralesn.compressed import check_zip
from paralesn.datasets.storage import checksums, folders
from paralesn.datasets.storage.folders import MissingFileError
from paralesn.files import DamagedFileError, folder_aside, plain_name, save_text

# Addresses of the originals, by group; the name of a file is appended.
ORIGINALS = {
    "CIFAR10": "https://www.cs.toronto.edu/~kriz/",
    "ETT": "https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small/",
    "IMDB": "https://ai.stanford.edu/~amaas/data/sentiment/",
    "MNIST": "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "UCR": "https://www.timeseriesclassification.com/aeon-toolkit/",
}
RETRIES = 1  # after a connection that broke
# RuntimeError and NotImplementedError: encrypted, or compressed in other ways.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError)


@dataclass(frozen=True)
class DataFile:
    """A file of a dataset: the names it may have, and where its public original is.

    Attributes
    ----------
    paths : tuple of str
        Acceptable files, ``folder/name`` without the suffix of a compression; a download goes to
        the folder of the first (a member of an archive keeps its own name).
    group, remote : str
        Key of `ORIGINALS`, and the name of the file there.
    unread : tuple of str, optional
        A file that people may have instead, and why it is not read.
    """

    paths: tuple[str, ...]
    group: str
    remote: str
    unread: tuple[str, str] | None = None

    @property
    def url(self) -> str:
        """Address of the public original."""
        return ORIGINALS[self.group] + self.remote

    @property
    def names(self) -> tuple[str, ...]:
        """Names it may have, each once."""
        return tuple(dict.fromkeys(Path(path).name for path in self.paths))

    def find(self) -> Path | None:
        """Path of the file, None if it is in no data folder."""
        return folders.find(self.paths)

    def locate(self, download: bool = True) -> Path:
        """Path of the file, downloaded first if it is in no data folder."""
        if (path := self.find()) is not None:
            return path
        if not download:
            raise self.missing("and downloading was not asked for")
        return fetch(self)

    def missing(self, why: str) -> MissingFileError:
        """Error that says which file is missing, why, and where it can be put."""
        searched = [str(folder) for folder in folders.data_folders()]
        name, folder = " or ".join(self.names), Path(self.paths[0]).parent
        where = f"put it, plain or compressed (.gz, .xz), into the folder {folder} in "
        where += " or ".join(searched) or "a folder of your choice"
        if not os.environ.get("PARALESN_DATA"):
            where += ", or set PARALESN_DATA to a folder that holds it"
        if self.unread is not None and (other := folders.find([self.unread[0]])) is not None:
            where += f". {other} is there, but not read: {self.unread[1]}"
        return MissingFileError(f"{name} is missing, {why}; {where}. Public original: {self.url}")


def fetch(file: DataFile) -> Path:
    """Download a file into the cache, with the other data files of its archive.

    Nothing appears in the cache before it is complete and its checksum right. Where the checksum of
    the original is not known, that of the download is noted beside it, and later reads are held to
    it.
    """
    cache = folders.cache_folder()
    if cache is None:
        why = "and downloading needs the package pooch (pip install pooch) or PARALESN_CACHE"
        raise file.missing(why)
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise file.missing(f"and there is no folder to download it to ({error})") from error
    home = cache / Path(file.paths[0]).parent
    with folder_aside(cache) as aside:
        original = _transfer(file, aside)
        members = _unpack(original, file) if original.suffix == ".zip" else [original]
        name = _requested(members, file)
        _check_and_note(members, home, file.url)
        for path in members:
            os.replace(path, home / path.name)
    return home / name


def _transfer(file: DataFile, folder: Path) -> Path:
    """Download the original into `folder`, or say what is missing and why."""
    try:
        import pooch

        from paralesn.datasets.storage.download_bar import ProgressBar
    except ImportError as error:
        why = "and downloading needs the package pooch (pip install pooch)"
        raise file.missing(why) from error
    pooch.get_logger().setLevel(logging.WARNING)  # the bar says what is downloaded
    # Checksums are of decompressed content: pooch can compare those of plain originals.
    registry = {file.remote: checksums.known_sums().get(file.remote)}
    base = ORIGINALS[file.group]
    originals = pooch.create(folder, base, registry=registry, retry_if_failed=RETRIES)
    with ProgressBar(file.remote) as bar:
        try:
            downloader = pooch.HTTPDownloader(progressbar=bar)
            return Path(originals.fetch(file.remote, downloader=downloader))
        except ValueError as error:
            raise DamagedFileError(
                f"{file.remote} from {file.url} is damaged or another version: {error}"
            ) from error
        except OSError as error:  # errors of requests are OSErrors, too
            raise file.missing(f"and its download failed ({error})") from error


def _requested(members: list[Path], file: DataFile) -> str:
    """Name of the file that was asked for, among those of its archive."""
    for path in members:
        if plain_name(path) in file.names:
            return path.name
    held = ", ".join(path.name for path in members) or "no data files"
    raise DamagedFileError(f"{file.url} holds {held}, none of which is {' or '.join(file.names)}")


def _unpack(archive: Path, file: DataFile) -> list[Path]:
    """Extract the archive's data files (.ts or .tsv), whatever folder they are in."""
    members: dict[str, Path] = {}
    try:
        with zipfile.ZipFile(archive) as opened:
            check_zip(opened, archive, archive.stat().st_size)
            for member in opened.infolist():
                name = Path(member.filename).name  # never a path
                if not name.endswith((".ts", ".tsv")) or name.startswith("."):
                    continue
                if name in members:
                    raise zipfile.BadZipFile(f"there are two files {name}")
                members[name] = archive.parent / name
                with opened.open(member) as source, members[name].open("xb") as sink:
                    shutil.copyfileobj(source, sink)
    except DamagedFileError as error:
        raise DamagedFileError(f"{file.url}: {error}") from error
    except _DAMAGED as error:
        raise DamagedFileError(f"{file.url}: the archive is damaged: {error}") from error
    return list(members.values())


def _check_and_note(members: list[Path], home: Path, url: str) -> None:
    """Compare files with the originals' checksums; note those whose original's is not known."""
    noted = checksums.downloaded_sums(home)
    for path in members:
        name, checksum = checksums.sum_name(path), checksums.digest(path)
        checksums.compare(path, checksum, origin=f"{name} from {url}")
        if name not in checksums.known_sums():
            noted[name] = checksum
    home.mkdir(parents=True, exist_ok=True)
    if noted:
        save_text(checksums.format_sums(noted), home / checksums.SUMS)

"""Electricity transformer temperatures (ETT): seven features, forecast 192 steps ahead."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from paralesn import checks
from paralesn.datasets.dataset import Dataset, Split
from paralesn.datasets.storage.checksums import read
from paralesn.datasets.storage.download import DataFile
from paralesn.files import DamagedFileError

FEATURES = ("HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT")
ROWS: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "etth1": (8640, 2880, 2880),
        "etth2": (8640, 2880, 2880),
        "ettm1": (34560, 11520, 11520),
        "ettm2": (34560, 11520, 11520),
    }
)
_CITATION = (
    "H. Zhou et al., Informer: beyond efficient transformer for long sequence time-series "
    "forecasting, AAAI 2021"
)


def ett_file(name: str) -> DataFile:
    """Return the file of one of the four datasets."""
    stem = f"ETT{name[3:]}"
    return DataFile((f"ETT/{stem}.csv",), "ETT", f"{stem}.csv")


def parse_ett(content: bytes, name: str, rows: int) -> np.ndarray:
    """First `rows` rows (rows, 7) of a csv file: a date, then the features."""
    header, _, body = content.partition(b"\n")
    expected = "date," + ",".join(FEATURES)
    if header.strip() != expected.encode():
        raise DamagedFileError(f"{name}: the header is {header[:80]!r}, expected {expected!r}")
    try:
        table = np.loadtxt(
            body.decode("ascii").splitlines()[:rows],
            delimiter=",",
            usecols=range(1, 1 + len(FEATURES)),
            ndmin=2,
        )
    except ValueError as error:
        raise DamagedFileError(f"{name}: {error}") from error
    if len(table) < rows or not np.isfinite(table).all():
        raise DamagedFileError(f"{name}: expected {rows} rows of finite numbers, got {len(table)}")
    return table


@dataclass(frozen=True)
class Rows:
    """Rows of the three splits, one after the other in time, standardised by the training rows."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    file: str


def load_ett_rows(name: str, download: bool = True) -> Rows:
    """All rows of a dataset, split as the long-term forecasting literature does, not clipped."""
    key = str(name).lower()
    if key not in ROWS:
        raise ValueError(f"name must be one of {', '.join(ROWS)}, got {name!r}")
    path = ett_file(key).locate(download)
    table = parse_ett(read(path), str(path), sum(ROWS[key]))
    train, validation, test = np.split(table, np.cumsum(ROWS[key])[:-1])
    mean, std = train.mean(axis=0), train.std(axis=0)
    if (std == 0.0).any():
        raise DamagedFileError(f"{path}: a feature does not vary over the training rows")
    train, validation, test = ((part - mean) / std for part in (train, validation, test))
    return Rows(train, validation, test, mean, std, str(path))


def load_ett(name: str, horizon: int = 192, download: bool = True) -> Dataset:
    """Load an ETT dataset: forecast all seven features, `horizon` steps ahead.

    Every feature is standardised by mean and standard deviation of the training rows; the training
    rows are then clipped to [-10, 10], validation and test are not. A split's
    targets are its own rows, so that none reaches into the next split: of n rows the first
    n - horizon are inputs and the last n - horizon targets.

    Parameters
    ----------
    name : {"etth1", "etth2", "ettm1", "ettm2"}
        Hourly or every 15 minutes, from two stations.
    horizon : int
    download : bool
        Whether to download the file where it is absent.

    Returns
    -------
    Dataset
        `meta` holds `mean` and `std` of the features, and `clipped`, the number of values that
        the clipping moved.
    """
    key = str(name).lower()
    if key not in ROWS:
        raise ValueError(f"name must be one of {', '.join(ROWS)}, got {name!r}")
    lengths, horizon = ROWS[key], checks.integer("horizon", horizon, 1)
    if horizon >= min(lengths):
        raise ValueError(f"horizon must be less than {min(lengths)} rows, got {horizon}")
    rows = load_ett_rows(key, download)
    train = np.clip(rows.train, -10.0, 10.0)
    return Dataset(
        key,
        Split(train[:-horizon], train[horizon:]),
        Split(rows.validation[:-horizon], rows.validation[horizon:]),
        Split(rows.test[:-horizon], rows.test[horizon:]),
        washout=200,
        metric="nrmse",
        citation=_CITATION,
        meta={
            "kind": "forecasting",
            "horizon": horizon,
            "rows": lengths,
            "features": FEATURES,
            "mean": rows.mean,
            "std": rows.std,
            "clipped": int((np.abs(rows.train) > 10.0).sum()),
            "file": rows.file,
        },
    )

"""What happens on a worker of a Dask cluster: its version, its folder, its turn."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from paralesn.datasets import MissingFileError

PACKAGE = "paralesn"


class ClusterError(RuntimeError):
    """A cluster that cannot be reached, or whose workers cannot be used."""


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C to the process that began this worker, and will end it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def carry_out(
    expected: str,
    prepare: Callable[[], Any] | None,
    function: Callable[..., Any],
    call: tuple[Any, ...],
) -> Any:
    """Carry out a call on a worker, which may have come after versions were compared."""
    from distributed import get_worker

    compare_version(get_worker().address, version(PACKAGE), expected)
    if prepare is not None:
        prepare()
    return function(*call)


def compare_version(worker: str, found: str | None, expected: str) -> None:
    """Refuse a worker that found another version of this package than is expected, or none."""
    if found != expected:
        has = f"has {PACKAGE} {found}" if found else f"lacks {PACKAGE}"
        raise ClusterError(f"the worker {worker} {has}, expected {expected} as here")


@contextmanager
def at_a_worker(folder: Path, whole_machine: bool) -> Iterator[Path]:
    """What a run is to know of the worker that does it.

    Yields the folder if that is there, as on storage that is shared, otherwise one of the worker's
    own, which goes when the worker ends (``dask worker --local-directory``). Runs that need a
    `whole_machine` wait for each other, not for those that need one core. A dataset that is missing
    is said to be missing there.
    """
    from distributed import Lock, get_worker

    worker, host = get_worker(), socket.gethostname()
    own = folder if folder.is_dir() else Path(worker.local_directory)
    try:
        if not whole_machine:
            yield own
            return
        with Lock(f"{PACKAGE} on {host}"):  # type: ignore[no-untyped-call]
            yield own
    except MissingFileError as error:
        where = f"on the worker {worker.address} ({host}), where PARALESN_DATA must name its folder"
        raise MissingFileError(f"{where}: {error}") from None

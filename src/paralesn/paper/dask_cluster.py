"""Calls carried out by the workers of a Dask cluster: one that is there, or one on this machine.

A call is a task, which Dask gives to another worker when the one that was at it is gone; workers
return results and keep nothing. When the client is gone, so are its tasks.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

from paralesn.files import require
from paralesn.paper.dask_worker import (
    PACKAGE,
    ClusterError,
    carry_out,
    compare_version,
    dask_setup,
)
from paralesn.paper.process_pool import given_up

LOCAL = "local"
_PATIENCE = 10  # seconds for a scheduler to answer
_ADDRESS = re.compile(r"(\w+://)?[^/\s]+:\d+/?")

Calls = Sequence[tuple[Any, ...]]


@contextmanager
def connected(address: str, jobs: int) -> Iterator["Cluster"]:
    """A cluster to give calls to.

    Parameters
    ----------
    address : str
        Of a scheduler, such as ``tcp://scheduler:8786`` or ``tls://scheduler:8786`` (with keys as
        Dask's configuration names them); or ``local`` for a cluster on this machine, which ends
        with the context.
    jobs : int
        Processes of a local cluster, with one thread each.

    Raises
    ------
    ValueError
        If that is no address.
    ClusterError
        If no scheduler answers, or its workers have another version of this package.
    """
    if address != LOCAL and not _ADDRESS.fullmatch(address):
        example = "tcp://scheduler:8786"
        raise ValueError(f"address must be {LOCAL!r} or one such as {example!r}, got {address!r}")
    distributed = require("distributed", "dask", purpose="a cluster")
    connect = partial(distributed.Client, set_as_default=False)
    if address == LOCAL:
        with _on_this_machine(distributed, jobs) as local, _quiet(), connect(local) as client:
            yield Cluster(client)
        return
    _knock(address)
    with _quiet(), connect(address, timeout=_PATIENCE) as client:
        cluster = Cluster(client)
        cluster.compare_versions()
        yield cluster


def _knock(address: str) -> None:
    """Raise ClusterError where no scheduler answers in time.

    A client waits without end for somebody who listens there and speaks otherwise.
    """
    from distributed.comm.core import connect
    from distributed.security import Security

    async def knock() -> None:
        keys = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
        comm = await asyncio.wait_for(connect(address, _PATIENCE, **keys), _PATIENCE)  # type: ignore[no-untyped-call]
        await comm.close()

    try:
        with ThreadPoolExecutor(1) as aside:  # this thread may have a loop that is running
            aside.submit(asyncio.run, knock()).result()
    # Nobody there, or a scheme or keys that Dask cannot use; or somebody who speaks otherwise, of
    # whose text Dask may make any size of a message
    except (OSError, ValueError, TypeError, RuntimeError, MemoryError) as error:
        why = str(error).splitlines()[0] if str(error) else f"nothing came in {_PATIENCE} seconds"
        raise ClusterError(f"no Dask scheduler answers at {address}: {why}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the client from logging what it lost: calls are done again, or an error says it."""
    logger = logging.getLogger("distributed.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _on_this_machine(distributed: Any, jobs: int) -> Iterator[Any]:
    """A cluster of processes with one thread each; memory is not shared out among them."""
    with distributed.LocalCluster(
        n_workers=jobs,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,
        dashboard_address="127.0.0.1:0",  # a port that is free
        preload=[dask_setup.__module__],
        silence_logs=logging.CRITICAL,  # what is lost and done again is nobody's concern
    ) as local:
        yield local


class Cluster:
    """Workers behind a scheduler.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    @property
    def dashboard(self) -> str | None:
        """The address of the scheduler's dashboard, if it has Bokeh to draw one."""
        scheduler = self.client.get_versions(packages=["bokeh"])["scheduler"]
        return self.client.dashboard_link if scheduler["packages"].get("bokeh") else None

    @property
    def threads(self) -> int:
        """Threads of all workers that are there: so many calls are carried out at a time."""
        return sum(self.client.nthreads().values())

    def compare_versions(self) -> None:
        """Refuse workers that have another version of this package, or lack it."""
        everywhere = self.client.get_versions(packages=[PACKAGE])["workers"]
        for worker, found in sorted(everywhere.items()):
            compare_version(worker, found["packages"].get(PACKAGE), version(PACKAGE))

    def each(
        self,
        function: Callable[..., Any],
        calls: Calls,
        prepare: Callable[[], Any] | None,
        names: Sequence[str],
    ) -> Generator[tuple[int, Any]]:
        """Results of all calls as they come; see `workers.each`.

        Dask gives a call up when several workers were lost that had it, and cannot tell whether it
        was the call that killed them or one beside it. Calls that were given up are therefore done
        again by themselves, unless there is one only.
        """
        suspects: list[int] = []
        numbers = range(len(calls))
        deaths = yield from self._batch(function, calls, prepare, names, numbers, suspects)
        hopeless: list[int] = []
        for number in suspects if len(suspects) > 1 else ():
            again = [f"{name} again" for name in names]
            one = [number]
            deaths = yield from self._batch(function, calls, prepare, again, one, hopeless)
        hopeless = hopeless if len(suspects) > 1 else suspects
        if hopeless:
            raise given_up([names[number] for number in hopeless], deaths)

    def _batch(
        self,
        function: Callable[..., Any],
        calls: Calls,
        prepare: Callable[[], Any] | None,
        names: Sequence[str],
        numbers: Sequence[int],
        lost: list[int],
    ) -> Generator[tuple[int, Any], None, int]:
        """Results of calls with these numbers; those that Dask gave up are added to `lost`."""
        from distributed import KilledWorker, as_completed

        of_key: dict[str, int] = {f"{PACKAGE}-{names[number]}": number for number in numbers}
        pending = {
            key: self.client.submit(
                carry_out, version(PACKAGE), prepare, function, calls[number], key=key, pure=False
            )
            for key, number in of_key.items()
        }
        futures = list(pending.values())
        done: Any = as_completed(futures, loop=self.client.loop)  # type: ignore[no-untyped-call]
        failed: BaseException | None = None
        deaths = 0
        try:
            while pending:
                try:
                    future = next(done)
                    if future.key not in pending:  # it was cancelled
                        continue
                    if future.status in ("lost", "pending"):  # with its worker: it is done again
                        done.add(future)
                        continue
                    result, error = _outcome(future, names[of_key[future.key]])
                except KeyboardInterrupt:  # what is done already is still handed over
                    yield from self._finished(pending, of_key)
                    raise
                del pending[future.key]
                if error is None:
                    yield of_key[future.key], result
                elif isinstance(error, KilledWorker):
                    lost.append(of_key[future.key])
                    deaths = error.allowed_failures + 1
                elif failed is None:
                    failed = error
                    self._begin_no_more(pending)
        finally:
            if (
                self.client.status == "running"
            ):  # else the scheduler is lost, and waited for in vain
                self.client.cancel(list(pending.values()))
        if failed is not None:
            raise failed
        return deaths

    def _begin_no_more(self, pending: dict[str, Any]) -> None:
        """Cancel what no worker has yet."""
        taken = {key for keys in self.client.processing().values() for key in keys}
        free = [key for key in pending if key not in taken and not pending[key].done()]
        self.client.cancel([pending.pop(key) for key in free])

    def _finished(
        self, pending: dict[str, Any], of_key: dict[str, int]
    ) -> Iterator[tuple[int, Any]]:
        """Results that are there already."""
        for key in [key for key, future in pending.items() if future.status == "finished"]:
            yield of_key[key], pending.pop(key).result()


def _outcome(future: Any, name: str) -> tuple[Any, BaseException | None]:
    """The result of a task and None, or None and its error; raises where nobody can tell."""
    try:
        return future.result(), None
    except (asyncio.CancelledError, CancelledError) as error:
        raise ClusterError("the connection to the scheduler was lost") from error
    except Exception as error:
        error.add_note(f"while doing {name}")
        return None, error

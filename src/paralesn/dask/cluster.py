"""The cluster that tasks run on: a client of Dask's scheduler, or threads of this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from dask.base import compute

from paralesn import checks
from paralesn.estimators.passes import Pass


class Engine:
    """What computes tasks."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def compute(self, tasks: list[Any]) -> list[Any]:
        """Results of tasks; Ctrl-C cancels them."""
        if self.client is None:
            return list(compute(*tasks))
        futures = self.client.compute(tasks)
        try:
            return list(self.client.gather(futures))
        except BaseException:
            self.client.cancel(futures)
            raise

    def scattered(self, value: Any) -> Any:
        """A value that all tasks share, sent to workers once."""
        return value if self.client is None else self.client.scatter(value, hash=False)

    def memory(self) -> int | None:
        """Bytes that all workers may hold, where that is known."""
        if self.client is None:
            return None
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return sum(worker["memory_limit"] for worker in workers) or None

    def warm_up(self, step: Pass) -> None:
        """Let one worker of every machine compile what a pass takes; the others load it."""
        if self.client is None:
            return
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        of_host: dict[str, str] = {}
        for address, worker in workers.items():
            of_host.setdefault(worker["host"], address)
        done = [
            self.client.submit(_warm_up, step, workers=[address], allow_other_workers=True,
                               pure=False)
            for address in of_host.values()
        ]  # fmt: skip
        self.client.gather(done)


def _warm_up(step: Pass) -> None:
    step.warm_up()


def engine(client: Any) -> Engine:
    """The engine of a client, of the current one, or of this process."""
    if client is None:
        try:
            from distributed import get_client

            return Engine(get_client())
        except (ImportError, ValueError):  # there is none
            return Engine(None)
    if not hasattr(client, "submit") or not hasattr(client, "scatter"):
        raise checks.fail("client", client, "None or a client of dask.distributed", TypeError)
    return Engine(client)


class Progress:
    """Bars in the terminal, moved by the blocks that workers tell of."""

    def __init__(self, bars: Any, client: Any) -> None:
        self._bars, self._client, self._topics = bars, client, list[str]()

    def begin(self, title: str, blocks: int) -> str:
        """A bar for a pass; what its tasks tell of their blocks by."""
        topic, bar = f"paralesn-{uuid4()}", self._bars.add_task(title, total=blocks)
        if self._client is not None:
            self._client.subscribe_topic(topic, lambda event: self._bars.advance(bar))
            self._topics.append(topic)
        else:
            _here[topic] = lambda: self._bars.advance(bar)
        return topic

    def end(self) -> None:
        """Listen to nothing any more."""
        for topic in self._topics:
            self._client.unsubscribe_topic(topic)
        _here.clear()


_here: dict[str, Any] = {}  # bars of passes that run on threads of this process


@contextmanager
def shown(on: Engine) -> Iterator[Progress]:
    """Show the progress of passes while they last."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TextColumn("blocks"), TimeElapsedColumn())  # fmt: skip
    with Bars(*columns) as bars:
        progress = Progress(bars, on.client)
        try:
            yield progress
        finally:
            progress.end()


def tell(topic: str) -> None:
    """Say that a block was digested."""
    if topic in _here:
        _here[topic]()
        return
    try:
        from distributed import get_worker

        get_worker().log_event(topic, 1)
    except (ImportError, ValueError):  # done where nobody listens
        return

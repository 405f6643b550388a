"""A progress bar that counts epochs, on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    shown: bool | None, epochs: int
) -> Iterator[Callable[[int, float, float | None], None]]:
    """A function to report epochs to; they are shown if asked for, or on a terminal if None."""
    if shown is None:
        shown = sys.stderr is not None and sys.stderr.isatty()
    if not shown:
        yield lambda epoch, loss, held: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("epoch {task.completed}/{task.total}"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=epochs)

        def report(epoch: int, loss: float, held: float | None) -> None:
            text = f"loss {loss:.4g}" + ("" if held is None else f", validation {held:.4g}")
            bar.update(task, completed=epoch, description=text)

        yield report

"""A progress bar for downloads."""

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn


class ProgressBar:
    """A bar with the methods that pooch calls, drawn by rich; silent where there is no terminal."""

    def __init__(self, label: str) -> None:
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._progress.add_task(label, total=None)
        self.total = 0

    def __enter__(self) -> "ProgressBar":
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

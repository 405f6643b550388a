"""Memory tasks as an earlier repository of the paper's group has them, beside the paper's figures.

Where the paper leaves lengths and shifts open, this shows which reading its figures fit. The
configurations are those of the tasks in the paper's tables, unless a search finds others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paralesn.paper import configurations
from paralesn.paper.catalogue import MAIN, Task, tasks, tasks_of
from paralesn.paper.configurations import Tuned
from paralesn.paper.layout import models_by_tasks
from paralesn.paper.protocols.regression import Regression
from paralesn.paper.results import Cells
from paralesn.paper.table import Table


class EarlierReading(Regression):
    """ctXOR and SinMem with 6 000 steps, a washout of 200, and targets due one step earlier."""

    name, title = "earlier", "Memory-based tasks, by an earlier protocol"
    in_paper = False

    def tasks(self) -> dict[str, Task]:
        """Other readings of four memory tasks."""
        return tasks_of("earlier")

    def models(self, task: str) -> list[str]:
        """Those of most tables."""
        return list(MAIN)

    def groups(self) -> Sequence[str]:
        """All of them."""
        return (self.name,)

    def members(self, group: str) -> Sequence[str]:
        """All of them."""
        return list(self.tasks())

    def models_of_tables(self) -> Mapping[str, Sequence[str]]:
        """There is one table."""
        return {}

    def shipped(self, task: str, model: str, space: str) -> Tuned | None:
        """What was chosen for the task that this is another reading of."""
        chosen = configurations.shipped(tasks()[task].like, model, space)
        return None if chosen is None else replace(chosen, task=task)

    def tables(self, cells: Cells) -> list[Table]:
        """One table."""
        table = models_by_tasks(self.name, self.title, list(self.tasks().values()), MAIN, cells)
        return [] if table is None else [table]

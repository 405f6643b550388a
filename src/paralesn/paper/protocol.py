"""What a protocol of the paper is: its tasks, its runs, its search, its tables.

`reproduce`, `search`, the report and the command line know protocols by this interface alone. To
add one, subclass `Protocol` in a file of its own and pass an instance to
`paralesn.paper.protocols.register`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from paralesn import datasets
from paralesn.paper import configurations, results
from paralesn.paper.catalogue import Task, models
from paralesn.paper.configurations import Tuned
from paralesn.paper.fields import OF_RUNS, Field, problem_of
from paralesn.paper.records import Record
from paralesn.paper.results import Cell, Cells, Row
from paralesn.paper.spaces import SPACES, exists
from paralesn.paper.table import Table

Tell = Callable[[str], Any]  # is told how far a long run got
Work = Callable[[Record, Path, Tell | None], Record]  # a planned run, the folder of records, tell


@dataclass(frozen=True)
class Judging:
    """How thoroughly a study judges configurations."""

    seeds: int  # of a configuration, unless it is given up before
    finalists: int  # best configurations, judged again
    final_seeds: int  # by so many seeds in all
    random: int  # trials before the sampler learns from what it saw
    anew: bool = False  # finalists are judged differently, hence again from the first seed on


class Protocol(ABC):
    """A way to run tasks, on which a table of results rests.

    Attributes
    ----------
    name : str
        The `kind` of its runs on record.
    title : str
    seeds : int
        Runs of each configuration, unless another number is asked for.
    spaces : tuple of str
        Search spaces that configurations are from.
    judging : Judging or None
        How its Optuna studies judge configurations; None where it has no studies.
    in_paper : bool
        Whether the paper has its tables. Results of others go to files of their own.
    on_request : bool
        Whether its models are run only when they are named.
    slow : tuple of str
        Models that are taken from the records of the package unless they are named.
    uses_every_core : bool
        Whether each of its runs does, so that none may run beside another.
    measures_energy : bool
    needed : tuple of str
        Fields without which a record of it cannot be reported.
    needed_of_trials : tuple of str
        Fields without which records of its other kinds, trials of a search, cannot be used.
    fields : mapping of str to Field
        What fields of its records must hold.
    failures : tuple of exceptions
        Raised where a configuration cannot be computed.
    nothing : str
        Why none of its tasks can be run here, where that may happen.
    """

    name: str
    title: str
    seeds: int
    spaces: tuple[str, ...] = SPACES
    judging: Judging | None = None
    in_paper: bool = True
    on_request: bool = False
    slow: tuple[str, ...] = ()
    uses_every_core: bool = False
    measures_energy: bool = False
    needed: tuple[str, ...] = (
        "task", "model", "space", "seed", "configuration", "metric", "metrics", "seconds",
    )  # fmt: skip
    needed_of_trials: tuple[str, ...] = ("task", "model", "seed")
    fields: Mapping[str, Field] = OF_RUNS
    failures: tuple[type[Exception], ...] = (LinAlgError, FloatingPointError, ValueError)
    nothing: str = ""

    # -- what there is -------------------------------------------------------------------------

    @abstractmethod
    def tasks(self) -> dict[str, Task]:
        """Its tasks, by name."""

    @abstractmethod
    def models(self, task: str) -> list[str]:
        """Models that have a row in the table of a task."""

    def task(self, name: str) -> Task:
        """One of its tasks, whether or not it can be run here."""
        return self.tasks()[name]

    def every_model(self) -> list[str]:
        """Models of all of its tasks."""
        return list(dict.fromkeys(model for task in self.tasks() for model in self.models(task)))

    def groups(self) -> Sequence[str]:
        """Names that stand for several of its tasks."""
        return (self.name,)

    def members(self, group: str) -> Sequence[str]:
        """Tasks that one of its groups stands for."""
        return list(self.tasks())

    def models_of_tables(self) -> Mapping[str, Sequence[str]]:
        """Models of each table that can be asked for by name and has not all of them."""
        return {}

    def by_name(self) -> bool:
        """Whether its tasks go by their own names, and not only by those of groups."""
        return True

    def missing(self, task: str) -> str | None:
        """Why a task cannot be run here, or None."""
        title = self.task(task).title
        try:
            self.look_for_data(task)
        except datasets.MissingFileError as error:
            return f"{title}: {error}"
        return None

    def look_for_data(self, task: str) -> None:
        """Raise MissingFileError where a task's files are neither here nor to be had."""
        datasets.fetch(task)

    # -- runs ----------------------------------------------------------------------------------

    def shipped(self, task: str, model: str, space: str) -> Tuned | None:
        """The configuration that comes with the package, if there is one."""
        return configurations.shipped(task, model, space)

    def plan(self, tuned: Tuned, seed: int) -> Record:
        """A run of a configuration, without its result."""
        return {
            "kind": self.name,
            "task": tuned.task,
            "model": tuned.model,
            "space": tuned.space,
            "units": models()[tuned.model].units or self.task(tuned.task).units,
            "configuration": tuned.configuration,
            "alpha": tuned.alpha,
            "validation": tuned.validation,  # by which reports tell configurations apart
            "seed": seed,
            **({"transferred": tuned.transferred} if tuned.transferred else {}),
        }

    def kinds(self) -> Mapping[str, Work]:
        """Kinds of runs on record, and how a run of each is done."""
        return {self.name: self.measure}

    @abstractmethod
    def measure(self, run: Record, folder: Path, tell: Tell | None = None) -> Record:
        """Train as planned, and test: metrics, seconds and what else is to be recorded.

        Whatever a long run keeps in the folder to resume from is its own to write, and for
        `clean_up` to remove. The folder need not be the same when the run is done again.
        """

    def clean_up(self, run: Record, folder: Path) -> None:  # noqa: B027  most leave nothing
        """Remove what a run left in the folder, now that it is on record."""

    def problem(self, run: Record) -> str | None:
        """Why a run on record cannot be used, or None; asked once, where records are read."""
        needed = self.needed if run["kind"] == self.name else self.needed_of_trials
        return problem_of(run, needed, self.fields)

    # -- search --------------------------------------------------------------------------------

    def searched(self, model: str) -> list[str]:
        """Spaces in which configurations of a model are searched for."""
        return [space for space in self.spaces if exists(models()[model], space)]

    def validate(
        self,
        task: str,
        model: str,
        configuration: Mapping[str, Any],
        penalties: Sequence[float],
        seed: int,
        final: bool = False,
    ) -> np.ndarray:
        """The metric on validation data, for every penalty; `final` for a finalist of a study."""
        raise NotImplementedError(f"{self.name} is not searched by studies")

    def trials(self, task: str, known: Iterable[Record], model: str | None = None) -> list[Record]:
        """Runs of a search over listed candidates; results among `known` may add to them.

        `model` matters where several have candidates.
        """
        return []

    def choose(self, task: str, known: Iterable[Record], model: str | None = None) -> Tuned | None:
        """What a search over listed candidates chose, once all of its trials are known."""
        return None

    def transfers(self, task: str, model: str, space: str) -> list[Record]:
        """Trials of configurations of other tasks, for a task that none comes with."""
        return []

    def transferred(
        self, task: str, model: str, space: str, known: Iterable[Record]
    ) -> Tuned | None:
        """The best of these, once all of them are known."""
        return None

    # -- results -------------------------------------------------------------------------------

    def knows(self, run: Record) -> bool:
        """Whether a run on record is of a task and a model that have a place in the tables."""
        return run["task"] in self.tasks() and run["model"] in models()

    def cell(self, row: Row, runs: Sequence[Record]) -> Cell:
        """The runs of a row on one task, summed up."""
        return results.cell(self.name, self.task(runs[0]["task"]), row, runs)

    @abstractmethod
    def tables(self, cells: Cells) -> list[Table]:
        """Tables of its results; none where there are no results."""


def lacks_pytorch(title: str) -> str | None:
    """Why a task that is read out or trained by PyTorch cannot be run here, or None."""
    if find_spec("torch") is None:
        return f"{title}: its perceptron needs PyTorch, pip install 'paralesn[torch]'"
    return None

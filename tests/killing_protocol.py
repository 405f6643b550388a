"""A protocol whose runs note that they begin, take as long as they are told, and may kill their worker.

The configuration of a run says so: `log`, a file; `seconds`; `killers`, by seed how many workers a
run kills (itself included) before it is done; `fails`, the seed of a run that raises an error.
"""

import os
import signal
import time
from pathlib import Path

from paralesn import datasets
from paralesn.paper.catalogue import Task
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocol import Protocol

TASK, MODEL = "bell", "ESN"


class Killing(Protocol):
    name, title, seeds = "killing", "Runs that kill", 6
    spaces = ("extended",)
    in_paper = False

    def __init__(self, configuration):
        self.configuration = configuration

    def tasks(self):
        return {TASK: Task(TASK, "Bell", "killing", "lower", 1.0)}

    def models(self, task):
        return [MODEL]

    def missing(self, task):
        return None

    def shipped(self, task, model, space):
        return Tuned(task, model, space, self.configuration, 1.0, 0.1, 1, 1.0, 1)

    def measure(self, run, folder, tell=None):
        told, seed = run["configuration"], run["seed"]
        begun(told["log"], seed)
        kills = told.get("killers", {}).get(str(seed), 0)
        if Path(told["log"]).read_text().split("\n").count(str(seed)) <= kills:
            os.kill(os.getpid(), signal.SIGKILL)
        if told.get("fails") == seed:
            raise ZeroDivisionError("one of the runs fails")
        if told.get("lacks") == seed:
            raise datasets.MissingFileError("bell.csv is missing")
        time.sleep(told.get("seconds", 0.0))
        return {"metric": "off", "metrics": {"off": seed / 7}, "seconds": 0.5}

    def tables(self, cells):
        return []


def begun(log, seed):
    """Note in one write that a run begins."""
    with open(log, "a") as file:
        file.write(f"{seed}\n")

"""Datasets: generators of benchmark series, loaders of files, metrics."""

from paralesn.datasets import metrics
from paralesn.datasets.archives.cifar import load_cifar
from paralesn.datasets.archives.ett import load_ett
from paralesn.datasets.archives.imdb import load_imdb
from paralesn.datasets.archives.mnist import load_mnist
from paralesn.datasets.archives.ucr import load_ucr
from paralesn.datasets.classics import airline_passengers, nile
from paralesn.datasets.dataset import ClassificationDataset, Dataset, Split, stratified_split
from paralesn.datasets.generated.chaotic_systems import (
    ChaoticSystem,
    chaotic_system,
    chaotic_systems,
)
from paralesn.datasets.generated.kuramoto_sivashinsky import kuramoto_sivashinsky
from paralesn.datasets.generated.listops import listops, load_listops
from paralesn.datasets.generated.lorenz import lorenz63, lorenz96
from paralesn.datasets.generated.mackey_glass import mackey_glass
from paralesn.datasets.generated.memory_tasks import ctxor, memcap, sinmem
from paralesn.datasets.generated.narma import narma
from paralesn.datasets.generated.pathfinder import load_pathfinder, pathfinder
from paralesn.datasets.loading import Entry, FileCheck, available, check, fetch, load
from paralesn.datasets.storage.folders import MissingFileError
from paralesn.files import DamagedFileError

__all__ = [
    "ChaoticSystem",
    "ClassificationDataset",
    "DamagedFileError",
    "Dataset",
    "Entry",
    "FileCheck",
    "MissingFileError",
    "Split",
    "airline_passengers",
    "available",
    "chaotic_system",
    "chaotic_systems",
    "check",
    "ctxor",
    "fetch",
    "kuramoto_sivashinsky",
    "listops",
    "load",
    "load_cifar",
    "load_ett",
    "load_imdb",
    "load_listops",
    "load_mnist",
    "load_pathfinder",
    "load_ucr",
    "lorenz63",
    "lorenz96",
    "mackey_glass",
    "memcap",
    "metrics",
    "narma",
    "nile",
    "pathfinder",
    "sinmem",
    "stratified_split",
]

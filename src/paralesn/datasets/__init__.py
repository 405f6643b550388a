"""Datasets: generators of benchmark series, loaders of files, metrics."""

from paralesn.datasets import metrics
from paralesn.datasets.catalogue import Entry, FileCheck, available, check, fetch, load
from paralesn.datasets.cifar import load_cifar
from paralesn.datasets.ett import load_ett
from paralesn.datasets.files import DamagedFileError, MissingFileError
from paralesn.datasets.imdb import load_imdb
from paralesn.datasets.listops import listops, load_listops
from paralesn.datasets.memory import ctxor, memcap, sinmem
from paralesn.datasets.mnist import load_mnist
from paralesn.datasets.narma import narma
from paralesn.datasets.pathfinder import load_pathfinder, pathfinder
from paralesn.datasets.record import ClassificationDataset, Dataset, Split, stratified_split
from paralesn.datasets.synthetic import lorenz63, lorenz96, mackey_glass
from paralesn.datasets.ucr import load_ucr

__all__ = [
    "ClassificationDataset",
    "DamagedFileError",
    "Dataset",
    "Entry",
    "FileCheck",
    "MissingFileError",
    "Split",
    "available",
    "check",
    "ctxor",
    "fetch",
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
    "pathfinder",
    "sinmem",
    "stratified_split",
]

"""Datasets: generators of benchmark series."""

from paralesn.datasets.synthetic import lorenz63, mackey_glass

__all__ = ["lorenz63", "mackey_glass"]

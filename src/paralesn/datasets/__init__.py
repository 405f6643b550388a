"""Datasets: generators of benchmark series."""

from paralesn.datasets.synthetic import mackey_glass

__all__ = ["mackey_glass"]

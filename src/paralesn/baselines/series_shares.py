"""Series of a batch, shared out among threads for kernels that take ranges of them."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from paralesn.runtime import threads
from paralesn.runtime.pytorch import torch


def share_out(work: Callable[[int, int], Any], series: int) -> None:
    """Let threads, no more than PyTorch has, work on ranges of series."""
    workers = min(threads.available(), torch.get_num_threads())
    cuts = np.linspace(0, series, min(series, 4 * workers if workers > 1 else 1) + 1).astype(int)
    threads.for_each(lambda cut: work(*cut), list(pairwise(cuts.tolist())), workers)

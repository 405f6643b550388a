"""Speed of trainable models on a core: their recurrences and maps, forwards and backwards.

Each beside the same by operations of PyTorch, at the size that they have on digits of 14 x 14.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from benchmarks.timing import Report, medians
from paralesn.baselines.causal_convolution import convolved, parts
from paralesn.baselines.diagonal_scan import complex_scan, diagonal_scan
from paralesn.baselines.linear import linear
from paralesn.baselines.selective_scan import chunked_scan, selective_scan

SERIES, STEPS, UNITS, CHANNELS, STATES = 64, 196, 82, 128, 16
ROUNDS = 15


def run() -> Report:
    """Measure every part against the plain one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    report = Report(f"Trainable models, {SERIES} series of {STEPS} steps, a step forth and back")
    rows = SERIES, STEPS
    wide = torch.randn(*rows, CHANNELS)
    maps = torch.randn(*rows, STATES), torch.randn(*rows, STATES)
    selective = [
        wide, torch.rand(*rows, CHANNELS) / 10, -16 * torch.rand(CHANNELS, STATES), *maps,
        torch.randn(CHANNELS),
    ]  # fmt: skip
    taps = [wide, torch.randn(CHANNELS, 1, 4), torch.randn(CHANNELS)]
    ring = [torch.randn(*rows, 2 * UNITS), 0.7 * torch.rand(UNITS), 0.7 * torch.rand(UNITS)]
    products = [wide, torch.randn(2 * CHANNELS, CHANNELS)]
    for claim, ours, rival, tensors in (
        ("Mamba's selective scan, against chunks of it", selective_scan, chunked_scan, selective),
        ("Mamba's convolution and SiLU, against both", convolved, parts, taps),
        ("LRU's recurrence, against the scan for any device", diagonal_scan, complex_scan, ring),
        ("a linear map, against PyTorch's", linear, torch.nn.functional.linear, products),
    ):
        compare(report, claim, ours, rival, tensors)
    torch.set_num_threads(threads)
    return report


def compare(
    report: Report,
    claim: str,
    ours: Callable[..., Any],
    rival: Callable[..., Any],
    tensors: Sequence[torch.Tensor],
) -> None:
    """Time a step of each, after a look at whether they agree."""
    wanted = [tensor.requires_grad_() for tensor in tensors]
    both = [partial(_step, form, wanted) for form in (ours, rival)]
    for one, other in zip(both[0](), both[1](), strict=True):
        if (one - other).abs().max() > 1e-3 * other.abs().max():
            raise AssertionError("the rival computes something else")
    seconds = medians({"ours": both[0], "rival": both[1]}, ROUNDS)
    report.ratio(claim, seconds["ours"], seconds["rival"])


def _step(form: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    y = form(*tensors)
    slopes: tuple[torch.Tensor, ...] = torch.autograd.grad(y.sin().sum(), tensors)
    return (y, *slopes)

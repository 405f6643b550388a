"""Speed of the PyTorch engine on the CPU: its scan, and a whole layer."""

from functools import partial

import numpy as np
import torch

from benchmarks import rivals
from benchmarks.timing import Report, medians
from paralesn import ParalESN
from paralesn.engines.torch.scan import scan_

LENGTHS = (1_000, 3_000, 10_000, 30_000, 100_000)
UNITS = 128


def run() -> Report:
    """Measure the scan and the engine against the recursive associative scan, all in one run."""
    report = Report(f"PyTorch engine on the CPU, one series, N={UNITS}, complex64")
    scans(report)
    layers(report)
    return report


def scans(report: Report) -> None:
    """The recurrence alone, each contestant in memory of its own."""
    for steps in LENGTHS:
        torch.manual_seed(0)
        radii, phases = torch.rand(UNITS) * 0.9, torch.rand(UNITS) * 2 * torch.pi
        eigenvalues = torch.polar(radii, phases)
        u = torch.randn(steps, UNITS, dtype=torch.complex64)
        rival = partial(rivals.associative_scan, eigenvalues, u)
        ours = partial(_ours, eigenvalues, u)
        if (ours() - rival()).abs().max() > 1e-4:
            raise AssertionError("the rival computes something else")
        seconds = medians({"ours": ours, "rival": rival}, _rounds(steps))
        claim = f"scan T={steps}, against the recursive associative scan"
        report.ratio(claim, seconds["ours"], seconds["rival"], 3)


def _ours(eigenvalues: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    copied = u.clone().unsqueeze(0)  # the rival keeps its input, too
    return scan_(eigenvalues, copied, torch.zeros_like(copied[:, 0]))[0]


def layers(report: Report) -> None:
    """Projection, recurrence, mixing and tanh, against the published code."""
    for steps in LENGTHS:
        x = np.random.default_rng(0).uniform(-1, 1, (steps, 1))
        ours = ParalESN(units=UNITS, dtype="float32", engine="torch")
        tensor = torch.tensor(x, dtype=torch.float32)
        states = ours.run(tensor)[0]
        rival = rivals.torch_scan(x, ours.layers_[0])
        if np.abs(np.asarray(rival()).reshape(states.shape) - states.numpy()).max() > 1e-4:
            raise AssertionError("the rival computes something else")
        contestants: dict[str, rivals.States] = {"ours": partial(ours.run, tensor), "rival": rival}
        seconds = medians(contestants, _rounds(steps))
        claim = f"all states T={steps}, against the published PyTorch code"
        report.ratio(claim, seconds["ours"], seconds["rival"], 3)


def _rounds(steps: int) -> int:
    return max(3, min(21, 100_000 // steps))

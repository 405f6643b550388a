"""Models as ONNX files, which run without Python: written whole, and compared with the model."""

import json
import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paralesn import checks, files
from paralesn.runtime.pytorch import torch
from paralesn.torch.block import ParalESNBlock
from paralesn.torch.filter_features import FilterFeatures
from paralesn.torch.fitted_modules import to_module

_TRACED = (3, 70)  # series and steps of the example that the graph is traced with
_COMPARED = ((1, 40), (2, 333), (5, 70))  # others that file and model are compared on
_TOLERANCES = {torch.float32: 1e-4, torch.float64: 1e-9}  # of the largest output
_COUNTING = 0.05  # of decision values: a response may fall on the other side of a threshold


@dataclass(frozen=True)
class OnnxFile:
    """What was written, and how far it is from the model.

    Attributes
    ----------
    path : Path
    inputs, outputs : tuple of str
        Names, in order.
    difference : float
        The largest difference to the model on random series, relative to the largest output.
    """

    path: Path
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    difference: float


def export_onnx(
    model: Any,
    path: str | os.PathLike[str],
    *,
    state: bool = False,
    dtype: torch.dtype | None = None,
    tolerance: float | None = None,
) -> OnnxFile:
    """Write a model as an ONNX file for series of any length, and check that it is the same.

    The file is written completely or not at all, run with onnxruntime on random series of lengths
    and batches that the graph was not traced with, and kept only if the outputs are the model's.
    Needs the extra ``onnx``.

    Parameters
    ----------
    model : ParalESNBlock, torch.nn.Module or fitted estimator
        A module must map (batch, time, features) and hold a `ParalESNBlock`. Estimators are those
        of `to_module`.
    path : str or path
    state : bool
        Make the states of the layers inputs and outputs, so that a long series can be fed in
        pieces. For a block, a `Sequential` that begins with one, a `ParalESN` or a
        `ReservoirRegressor`.
    dtype : torch.float32 or torch.float64, optional
        Of an estimator's file, see `to_module`; a module has its own.
    tolerance : float, optional
        Largest difference to the model, relative to the largest output. Default: 1e-4 in float32
        and 1e-9 in float64; 0.05 where a `FilterBank` counts, whose features are steps.

    Returns
    -------
    written : OnnxFile
        Inputs are ``x`` (batch, time, features) and, with `state`, ``state_1`` and so on, each
        (batch, units, 2) with real and imaginary parts, or (batch, units) where the reservoir is
        real: zeros to begin with. Outputs are ``y`` and ``next_state_1``, ..., of a classifier
        ``label``, ``decision`` and ``probabilities``; its labels are metadata, `classes`, in JSON.

    Examples
    --------
    >>> import paralesn as pe
    >>> from paralesn.torch import ParalESNBlock, export_onnx
    >>> block = ParalESNBlock(pe.ParalESN(units=32), features=3)
    >>> export_onnx(block, "block.onnx")  # doctest: +SKIP
    OnnxFile(path=PosixPath('block.onnx'), inputs=('x',), outputs=('y',), difference=1.3e-06)
    """
    for package in ("onnx", "onnxscript", "onnxruntime"):
        files.require(package, "onnx", "export_onnx")
    target = Path(path)
    if target.is_dir():
        raise checks.fail("path", path, "the name of a file, not a folder")
    checks.flag("state", state)
    if tolerance is not None:
        checks.number("tolerance", tolerance, 0)
    graph = _graph(model, state, dtype)
    with files.replacing(target) as unfinished:
        _write(graph, unfinished)
        difference = _difference(graph, unfinished)
        allowed = graph.tolerance if tolerance is None else tolerance
        if not difference <= allowed:
            raise ArithmeticError(
                f"the ONNX file differs from the model by {difference:.1e} of the largest output, "
                f"expected {allowed:.1e} at most; nothing was written to {target}"
            )
    return OnnxFile(target, graph.inputs, graph.outputs, difference)


class _Graph(torch.nn.Module):
    """What is traced: tensors in, tensors out, none of them complex."""

    def __init__(self, module: torch.nn.Module, with_state: bool) -> None:
        super().__init__()
        block = next((m for m in module.modules() if isinstance(m, ParalESNBlock)), None)
        counting = any(isinstance(m, FilterFeatures) for m in module.modules())
        if block is None and not counting:
            raise checks.fail("model", type(module).__name__, "a module with a ParalESNBlock in it")
        self.module, self.with_state = module, with_state
        self.features = int(getattr(module, "features", 0) or block.features)  # type: ignore[union-attr]
        dtype: Any = torch.float32 if block is None else block.layers[0].log_decay.dtype
        self.dtype = dtype
        self.tolerance: float = _COUNTING if counting else _TOLERANCES[dtype]
        self.head: Any = module
        self.rest: Any = torch.nn.Sequential()
        if isinstance(module, torch.nn.Sequential) and with_state:
            self.head, self.rest = module[0], module[1:]
        if with_state and not hasattr(self.head, "run_pairs"):
            raise checks.fail(
                "state",
                True,
                "False for a model without a state to continue from, such as a classifier",
            )
        shapes = self.head.state_shapes if with_state else ()
        self.shapes: tuple[tuple[int, ...], ...] = shapes
        numbers = range(1, len(shapes) + 1)
        self.inputs = ("x", *(f"state_{k}" for k in numbers))
        own = getattr(module, "output_names", ("y",))
        self.outputs = (*own, *(f"next_state_{k}" for k in numbers))

    def forward(self, x: torch.Tensor, *state: torch.Tensor) -> Any:
        if not self.with_state:
            return self.module(x)
        z, after = self.head.run_pairs(x, state)
        return (self.rest(z), *after)

    def example(self, count: int, steps: int, seed: int) -> tuple[torch.Tensor, ...]:
        """Random inputs."""
        random, dtype = torch.Generator().manual_seed(seed), self.dtype
        shapes = [(count, steps, self.features), *((count, *shape) for shape in self.shapes)]
        return tuple(torch.randn(s, generator=random, dtype=dtype) for s in shapes)


def _graph(model: Any, state: bool, dtype: torch.dtype | None) -> _Graph:
    if isinstance(model, torch.nn.Module):
        if dtype is not None:
            raise checks.fail("dtype", dtype, "None for a module: convert the module itself")
        devices = {tensor.device.type for tensor in (*model.parameters(), *model.buffers())}
        if devices - {"cpu"}:
            raise checks.fail("model", devices, "a module on the CPU; use model.cpu()")
        module = model
    else:
        module = to_module(model, dtype=dtype)
    return _Graph(module, state)


@contextmanager
def _as_traced(graph: _Graph) -> Iterator[None]:
    """In evaluation mode and quietly; the modules are as before afterwards."""
    modes = {module: module.training for module in graph.modules()}
    log = logging.getLogger("torch.onnx")
    level = log.level
    graph.eval()
    log.setLevel(logging.ERROR)  # it names packages that are not installed
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # of the exporter about itself
            yield
    finally:
        log.setLevel(level)
        for module, mode in modes.items():
            module.training = mode


def _write(graph: _Graph, path: Path) -> None:
    batch, time = torch.export.Dim("batch"), torch.export.Dim("time")
    of_states = (tuple({0: batch} for _ in graph.shapes),) if graph.shapes else ()
    with _as_traced(graph):
        program: Any = torch.onnx.export(
            graph,
            graph.example(*_TRACED, seed=0),
            dynamo=True,
            dynamic_shapes=({0: batch, 1: time}, *of_states),
            input_names=list(graph.inputs),
            output_names=list(graph.outputs),
            verbose=False,
        )
    about = program.model.metadata_props
    about.update({"producer": "paralesn", "paralesn": files.versions()["paralesn"]})
    if hasattr(graph.module, "classes"):
        about["classes"] = json.dumps(graph.module.classes)
    program.save(path, external_data=False)


def _difference(graph: _Graph, path: Path) -> float:
    """The largest difference between file and model on series of several sizes."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    worst = 0.0
    for seed, (count, steps) in enumerate(_COMPARED, 1):
        given = graph.example(count, steps, seed)
        arrays = [tensor.numpy() for tensor in given]
        came = session.run(None, dict(zip(graph.inputs, arrays, strict=True)))
        with _as_traced(graph):
            wanted = _tensors(graph(*given))
        for name, a, b in zip(graph.outputs, came, wanted, strict=True):
            if name != "label":  # decision values are compared
                largest = max(1e-30, float(b.abs().max()))
                worst = max(worst, float(np.abs(a - b.numpy()).max()) / largest)
    return worst


def _tensors(outputs: Any) -> Sequence[torch.Tensor]:
    return outputs if isinstance(outputs, tuple) else (outputs,)

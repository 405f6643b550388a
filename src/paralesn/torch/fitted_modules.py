"""Fitted models as modules of PyTorch: scaling, reservoir and linear readout in one graph."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from paralesn import checks
from paralesn.engines.torch.pool import Segment
from paralesn.features.filter_bank import FilterBank
from paralesn.features.pooled_states import PooledStates
from paralesn.reservoirs.paralesn import ParalESN
from paralesn.runtime.pytorch import torch
from paralesn.scaling import Scaling
from paralesn.torch.block import ParalESNBlock
from paralesn.torch.filter_features import FilterFeatures

_STEEP = 6.0  # as in the calibration of probabilities


def to_module(model: Any, *, dtype: torch.dtype | None = None) -> torch.nn.Module:
    """A fitted model as a module: the same numbers, from tensors (batch, time, features).

    Parameters
    ----------
    model : fitted estimator
        `ReservoirRegressor`, `ReservoirClassifier`, `ReservoirSeriesRegressor` or `PooledStates`
        with a `ParalESN`, a `FilterBank`, or a `ParalESN` itself. Readouts must be linear: `Ridge`,
        `DualRidge`, or one of scikit-learn's with `coef_` and `intercept_`.
    dtype : torch.float32 or torch.float64, optional
        Of inputs and outputs. Default: that of the reservoir; float32 for a `FilterBank`.

    Returns
    -------
    module : torch.nn.Module
        In evaluation mode; nothing in it is trainable. A regressor over time takes and returns a
        state as `ParalESNBlock` does. A classifier returns the number of the class, decision values
        and, where the model has them, probabilities; its labels are in `classes`.

    Examples
    --------
    >>> import numpy as np, paralesn as pe, torch
    >>> from paralesn.torch import to_module
    >>> x = np.sin(np.arange(1001) / 5)
    >>> model = pe.ReservoirRegressor().fit(x[:800], x[1:801])
    >>> module = to_module(model)
    >>> predicted = module(torch.tensor(x[None, :800, None]))
    >>> bool(np.abs(predicted[0].numpy() - model.predict(x[:800])).max() < 1e-8)
    True
    """
    if dtype not in (None, torch.float32, torch.float64):
        raise checks.fail("dtype", dtype, "None, torch.float32 or torch.float64")
    if isinstance(model, ParalESN):
        check_is_fitted(model, "layers_")
        return ParalESNBlock(model, dtype=_dtype(model, dtype)).eval()
    if isinstance(model, (FilterBank, PooledStates)):
        check_is_fitted(model, "fitted_")
        return _features(model, dtype).eval()
    fitted: Any = getattr(model, "fitted_", None)
    if fitted is None and hasattr(model, "fit"):
        check_is_fitted(model, "fitted_")
    if fitted is not None and getattr(getattr(fitted, "missing", None), "how", "") == "mask":
        raise ValueError("model must read complete series to be exported, got missing='mask'")
    if hasattr(fitted, "features") and hasattr(fitted, "readout"):
        features = _features(fitted.features, dtype)
        if hasattr(fitted, "classes"):
            return SeriesClassifier(features, model).eval()
        return _series_regressor(features, fitted).eval()
    if hasattr(fitted, "reservoir") and hasattr(fitted, "readout") and hasattr(fitted, "is_flat"):
        return StepRegressor(fitted, dtype).eval()
    raise checks.fail(
        "model",
        model,
        "a fitted ParalESN, FilterBank, PooledStates, regressor or classifier of this package",
        TypeError,
    )


class StepRegressor(torch.nn.Module):
    """A `ReservoirRegressor`: (batch, time, features) to (batch, time[, targets])."""

    def __init__(self, fitted: Any, dtype: torch.dtype | None) -> None:
        super().__init__()
        self.block = _block(fitted.reservoir, dtype)
        self.scaling = _Standardise(fitted.scaling, _dtype(fitted.reservoir, dtype))
        self.readout = _linear(fitted.readout, _dtype(fitted.reservoir, dtype))
        self.is_flat = bool(fitted.is_flat)
        self.features = self.block.features

    def forward(
        self,
        x: torch.Tensor,
        state: Sequence[torch.Tensor] | None = None,
        return_state: bool = False,
    ) -> Any:
        """Predictions of every time step, and the state to continue from where it is wanted."""
        z, after = self.block(self.scaling(x), state, return_state=True)
        y = self._read_out(z)
        return (y, after) if return_state else y

    def run_pairs(
        self, x: torch.Tensor, state: Sequence[torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """The same without complex numbers, see `ParalESNBlock.run_pairs`."""
        z, after = self.block.run_pairs(self.scaling(x), state)
        return self._read_out(z), after

    @property
    def state_shapes(self) -> tuple[tuple[int, ...], ...]:
        """See `ParalESNBlock`."""
        return self.block.state_shapes

    def _read_out(self, z: torch.Tensor) -> torch.Tensor:
        y = self.readout(z)
        return y[..., 0] if self.is_flat else y


class SeriesClassifier(torch.nn.Module):
    """A `ReservoirClassifier`: (batch, time, features) to numbers of classes and decision values.

    Decision values are those of the estimator, (batch, classes), or (batch,) for two classes.
    Probabilities (batch, classes) follow where the estimator calibrates its own.
    """

    def __init__(self, features: torch.nn.Module, model: Any) -> None:
        super().__init__()
        readout = model.fitted_.readout
        if not (is_regressor(readout) or hasattr(readout, "decision_function")):
            raise _not_linear(readout)
        self.describe, self.readout = features, _linear(readout, torch.float64)
        self.classes = model.fitted_.classes.tolist()
        self.features = features.features
        calibration = getattr(model.fitted_, "calibration", None)
        self.calibration = None
        if calibration is not None:
            self.calibration = (float(calibration.power), float(calibration.doubt))

    @property
    def output_names(self) -> tuple[str, ...]:
        """What each of the outputs is."""
        return ("label", "decision", "probabilities")[: 2 if self.calibration is None else 3]

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Numbers of classes (batch,), decision values and, where calibrated, probabilities."""
        rows = self.describe(x)
        decision = self.readout(rows.double())
        is_binary = decision.shape[1] == 1
        label = (decision[:, 0] > 0).long() if is_binary else decision.argmax(1)
        given = decision[:, 0] if is_binary else decision
        outputs = (label, given.to(x.dtype))
        if self.calibration is None:
            return outputs
        both = torch.cat([-decision, decision], 1) if is_binary else decision
        return (*outputs, self._probabilities(both).to(x.dtype))

    def _probabilities(self, decision: torch.Tensor) -> torch.Tensor:
        """Powers of decision values made positive, normalised and mixed with a guess."""
        assert self.calibration is not None
        power, doubt = (decision.new_tensor(value) for value in self.calibration)
        x = decision.new_tensor(_STEEP) * (1 + decision) / 2
        # log(log(1 + e^x)), which is x where e^x is small; runtimes lack a softplus of doubles
        near = x.clamp(min=-15)
        soft = near.clamp(min=0) + torch.log1p(torch.exp(-near.abs()))
        logs = torch.where(x < -15, x, torch.log(soft))
        return (1 - doubt) * torch.softmax(power * logs, 1) + doubt / decision.shape[1]


class _Standardise(torch.nn.Module):
    """Inputs in units of standard deviations, or as they are."""

    mean: torch.Tensor | None
    scale: torch.Tensor

    def __init__(self, scaling: Scaling | None, dtype: torch.dtype) -> None:
        super().__init__()
        for name in ("mean", "scale"):
            values = None if scaling is None else torch.tensor(getattr(scaling, name), dtype=dtype)
            self.register_buffer(name, values)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scaled inputs."""
        return x if self.mean is None else (x - self.mean) / self.scale


class _Pooled(torch.nn.Module):
    """`PooledStates`: (batch, time, features) to (batch, segments * pools * units)."""

    def __init__(self, pooled: PooledStates, dtype: torch.dtype | None) -> None:
        super().__init__()
        fitted = pooled.fitted_
        self.block = _block(fitted.reservoir, dtype)
        self.scaling = _Standardise(fitted.scaling, _dtype(fitted.reservoir, dtype))
        self.pools, self.segments = fitted.pools, fitted.segments
        self.features = self.block.features

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Statistics of the states over each segment."""
        z = self.block(self.scaling(x))
        steps = z.shape[1]
        rows: list[torch.Tensor] = []
        for s in range(self.segments):
            part = z[:, steps * s // self.segments : steps * (s + 1) // self.segments]
            segment = Segment(part)
            segment.digest(part, self.pools)
            rows.extend(segment.statistic(name) for name in self.pools)
        return torch.cat(rows, -1)


def _dtype(reservoir: Any, dtype: torch.dtype | None) -> torch.dtype:
    """The precision asked for, or that of the reservoir."""
    return getattr(torch, np.dtype(reservoir.real_dtype).name) if dtype is None else dtype


def _block(reservoir: Any, dtype: torch.dtype | None) -> ParalESNBlock:
    """The reservoir as a module."""
    if not isinstance(reservoir, ParalESN):
        raise checks.fail(
            "model", reservoir, "a model whose reservoir is a ParalESN: others cannot be exported"
        )
    return ParalESNBlock(reservoir, dtype=_dtype(reservoir, dtype))


def _features(features: Any, dtype: torch.dtype | None) -> torch.nn.Module:
    """Features of whole series as a module."""
    if isinstance(features, FilterBank):
        return FilterFeatures(features)
    if isinstance(features, PooledStates):
        return _Pooled(features, dtype)
    raise checks.fail("model", features, "a model whose features are a FilterBank or PooledStates")


def _series_regressor(features: torch.nn.Module, fitted: Any) -> torch.nn.Module:
    """A number for every series: the scale of the targets becomes part of the readout."""
    readout = _linear(fitted.readout, torch.float64)
    with torch.no_grad():
        scale, mean = (torch.tensor(np.asarray(v, float)) for v in (fitted.scale, fitted.mean))
        readout.weight *= scale.unsqueeze(1)
        readout.bias.copy_(readout.bias * scale + mean)
    return _SeriesRegressor(features, readout, bool(fitted.is_flat))


class _SeriesRegressor(torch.nn.Module):
    """(batch, time, features) to (batch,) or (batch, targets)."""

    def __init__(self, describe: torch.nn.Module, readout: torch.nn.Module, is_flat: bool) -> None:
        super().__init__()
        self.describe, self.readout, self.is_flat = describe, readout, is_flat
        self.features = describe.features

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Predictions."""
        y = self.readout(self.describe(x).double()).to(x.dtype)
        return y[:, 0] if self.is_flat else y


def _not_linear(readout: Any) -> Exception:
    return checks.fail(
        "model", readout, "a model whose readout is linear, with coef_ and intercept_"
    )


def _linear(readout: Any, dtype: torch.dtype) -> torch.nn.Linear:
    """A linear readout as a module that is not trained."""
    coef, intercept = getattr(readout, "coef_", None), getattr(readout, "intercept_", None)
    if coef is None or intercept is None:
        raise _not_linear(readout)
    weights = np.atleast_2d(np.asarray(coef, float))
    linear = torch.nn.Linear(weights.shape[1], weights.shape[0], dtype=dtype)
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(weights))
        linear.bias.copy_(torch.from_numpy(np.broadcast_to(intercept, len(weights)).copy()))
    return linear.requires_grad_(False)

"""Reservoirs with recurrent layers: drawing their inputs, and the stability of linear ones."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from paralesn import checks
from paralesn.layers.operators import Operator
from paralesn.layers.recurrent import RecurrentLayer, check_recurrent_layers, check_stable
from paralesn.layers.spectrum import is_stable
from paralesn.reservoirs.stacked import Stacked


class Recurrent(Stacked):
    """A reservoir whose units see each other; a subclass draws their operators."""

    FLAGS = ("concat", "linear")
    mixing = True  # there is nothing to mix: the output is the states themselves
    check_layers = staticmethod(check_recurrent_layers)

    def __init__(
        self,
        units: int = 128,
        *,
        layers: int = 1,
        input_scale: float = 1.0,
        bias_scale: float = 0.0,
        inter: Mapping[str, Any] | None = None,
        concat: bool = False,
        linear: bool = False,
        dtype: Any = "float64",
        engine: str = "auto",
        device: Any = None,
        n_jobs: int | None = None,
        seed: Any = 0,
    ) -> None:
        super().__init__(
            units, layers=layers, inter=inter, concat=concat, dtype=dtype, engine=engine,
            device=device, n_jobs=n_jobs, seed=seed,
        )  # fmt: skip
        self.input_scale = input_scale
        self.bias_scale = bias_scale
        self.linear = linear

    def draw_layer(
        self,
        rng: np.random.Generator,
        width: int,
        below: int,
        is_first: bool,
        hyper: Mapping[str, Any],
    ) -> RecurrentLayer:
        """Draw a layer's inputs and biases; its operators come from `draw_operators`."""
        # A stream for each array: a change of one hyperparameter does not reshuffle the others.
        entropy = rng.integers(0, 2**32, 4).tolist()
        streams = map(np.random.default_rng, np.random.SeedSequence(entropy).spawn(4))
        inputs, biases, *others = streams
        recurrent, branch, gain = self.draw_operators(others[0], others[1], width, hyper)
        return RecurrentLayer(
            recurrent=recurrent,
            w_in=hyper["input_scale"] * self.draw_inputs(inputs, width, below, is_first),
            bias=hyper["bias_scale"] * biases.uniform(-1.0, 1.0, width),
            branch=branch,
            gain=float(gain),
            linear=bool(self.linear),
        )

    def draw_layers(self, n_features: int, rng: np.random.Generator) -> tuple[Any, ...]:
        """Draw the layers; linear ones must be stable."""
        layers = super().draw_layers(n_features, rng)
        if self._given() is None:  # they were checked when they were given
            check_stable(layers)
        return layers

    def check_precision(self, dtype: np.dtype) -> None:
        """Linear layers must be stable as `dtype` rounds them, too."""
        for depth, layer in enumerate(self.layers_, 1):
            if not layer.linear or dtype == np.float64:
                continue
            _, radius = is_stable(layer.branch, layer.recurrent, layer.gain)
            if radius > 1 - layer.units * float(np.finfo(dtype).eps):
                raise ValueError(
                    f"layer {depth} must stay stable after rounding to {dtype}, got a spectral "
                    f"radius of {radius:.9g}: it is too close to 1, or dtype must be 'float64'"
                )

    @abstractmethod
    def draw_operators(
        self,
        rng: np.random.Generator,
        other: np.random.Generator,
        width: int,
        hyper: Mapping[str, Any],
    ) -> tuple[Operator, Operator, float]:
        """Draw the recurrent operator, the branch and the gain of a layer."""

    def draw_inputs(
        self, rng: np.random.Generator, width: int, below: int, is_first: bool
    ) -> np.ndarray:
        """Input weights before scaling."""
        return rng.uniform(-1.0, 1.0, (width, below))

    def count_parameters(self) -> int:
        """Number of parameters of the drawn recurrence, as the paper counts them."""
        return sum(
            layer.recurrent.n_parameters + layer.branch.n_parameters + layer.w_in.size
            for layer in self.layers_
        )

    @staticmethod
    def implied_parameters(layers: tuple[RecurrentLayer, ...]) -> dict[str, Any]:
        """Parameters that given layers imply."""
        return {"linear": bool(layers[0].linear)}

    @classmethod
    def from_layers(
        cls,
        layers: Sequence[RecurrentLayer],
        *,
        concat: bool = False,
        dtype: Any = "float64",
        engine: str = "auto",
        device: Any = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Build a reservoir from given layers instead of drawing it.

        The first layer's `w_in` is dense, (N, features); a later one's is dense, (N, width below),
        or a ring, (N,). Hyperparameters that describe a draw keep their defaults and mean nothing.

        Examples
        --------
        >>> import paralesn as pe
        >>> unit = pe.RecurrentLayer(recurrent=pe.operators.Dense([[0.5]]), w_in=[[1.0]],
        ...                          bias=[0.0], branch=pe.operators.Identity(1, 0.0), gain=1.0,
        ...                          linear=True)
        >>> pe.ESN.from_layers([unit]).run([1.0, 0.0, 0.0])[0].ravel()
        array([1.  , 0.5 , 0.25])
        """
        parameters = {"dtype": dtype, "engine": engine, "device": device, "n_jobs": n_jobs}
        return cls._from_layers(layers, concat, parameters)


def check_leak(hyper: Mapping[str, Any], prefix: str) -> None:
    """Check the leaky rate."""
    checks.number(f"{prefix}tau", hyper["tau"], 0.0, 1.0, open_left=True)


def check_scales(hyper: Mapping[str, Any], prefix: str) -> None:
    """Check the hyperparameters that all recurrent layers have."""
    for name in ("input_scale", "bias_scale"):
        checks.number(prefix + name, hyper[name], 0.0)

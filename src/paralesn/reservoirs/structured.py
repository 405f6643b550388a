"""Structured reservoirs, whose recurrence needs O(N) numbers: a cycle, Hadamard products."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.layers.operators import Cycle, Identity, Operator
from paralesn.persistence import register
from paralesn.reservoirs.drawing import draw_hadamard
from paralesn.reservoirs.recurrence import Recurrent, check_leak, check_scales


@register
class SCR(Recurrent):
    r"""Simple cycle reservoir: one weight on a ring, input weights of one size and random signs.

    .. math::

        h_t = (1 - \tau) h_{t-1} + \tau \tanh(W h_{t-1} + W_{in} x_t + b), \qquad
        (W h)_i = \rho\, h_{i-1}.

    Parameters
    ----------
    units : int
        Units of each layer; of all layers together with `concat`.
    layers : int
        A unit of a later layer reads one unit of the layer below, as in `ParalESN`.
    rho : float
        Weight of the cycle, which is its spectral radius; at least 0.
    tau : float
        Leaky rate in (0, 1].
    input_scale : float
        Absolute value of the input weights.
    bias_scale : float
        Biases are uniform on [-bias_scale, bias_scale].
    inter : dict, optional
        Hyperparameters of the layers after the first where they differ from the first's: any of
        rho, tau, input_scale, bias_scale.
    concat : bool
        Return the states of all layers side by side, the units divided evenly among the layers
        and the remainder going to the first; otherwise those of the last layer.
    linear : bool
        Drop the tanh. The linear recurrence must then be stable.
    dtype, engine, device, n_jobs, seed
        As in `ParalESN`.

    Attributes
    ----------
    layers_ : tuple of RecurrentLayer
    n_parameters_ : int
        Parameters of the recurrence as the paper counts them: the weight of the cycle
        and the input weights, biases left out.
    n_features_in_ : int

    References
    ----------
    Rodan, Tino. Minimum complexity echo state network. IEEE Transactions on Neural Networks, 2011.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> res = pe.SCR(units=100).fit(np.zeros((10, 1)))
    >>> res.n_parameters_
    101
    """

    LAYER_PARAMETERS = ("rho", "tau", "input_scale", "bias_scale")

    def __init__(
        self,
        units: int = 128,
        *,
        layers: int = 1,
        rho: float = 0.9,
        tau: float = 1.0,
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
            units, layers=layers, input_scale=input_scale, bias_scale=bias_scale, inter=inter,
            concat=concat, linear=linear, dtype=dtype, engine=engine, device=device,
            n_jobs=n_jobs, seed=seed,
        )  # fmt: skip
        self.rho = rho
        self.tau = tau

    def check_layer(self, hyper: Mapping[str, Any], prefix: str) -> None:
        """Check the hyperparameters of a layer."""
        checks.number(f"{prefix}rho", hyper["rho"], 0.0)
        check_leak(hyper, prefix)
        check_scales(hyper, prefix)

    def draw_inputs(
        self, rng: np.random.Generator, width: int, below: int, is_first: bool
    ) -> np.ndarray:
        """Input weights before scaling."""
        shape = (width, below) if is_first else (width,)
        return np.where(rng.random(shape) < 0.5, -1.0, 1.0)

    def draw_operators(
        self,
        rng: np.random.Generator,
        other: np.random.Generator,
        width: int,
        hyper: Mapping[str, Any],
    ) -> tuple[Operator, Operator, float]:
        """Draw the recurrent operator, the branch and the gain of a layer."""
        cycle = Cycle(width, float(hyper["rho"]))
        return cycle, Identity(width, 1.0 - hyper["tau"]), hyper["tau"]


@register
class StructuredRC(Recurrent):
    r"""Structured reservoir: random signs and Hadamard transforms in place of a random matrix.

    .. math::

        h_t = (1 - \tau) h_{t-1} + \tau \tanh(W h_{t-1} + W_{in} x_t + b), \qquad
        W = s\, (H D_1)(H D_2)(H D_3),

    :math:`H` the orthonormal Hadamard matrix and :math:`D_i` diagonals of random signs. The product
    takes O(N log N) time by the fast Walsh-Hadamard transform and O(N) memory. Where `units` is not
    a power of two, states are padded with zeros.

    Parameters
    ----------
    units : int
        Units of each layer; of all layers together with `concat`.
    layers : int
        A unit of a later layer reads one unit of the layer below, as in `ParalESN`.
    scale : float
        The factor s, at least 0. For a power of two W is s times an orthogonal matrix.
    tau : float
        Leaky rate in (0, 1].
    input_scale, bias_scale : float
        Input weights and biases are uniform on [-scale, scale].
    inter : dict, optional
        Hyperparameters of the layers after the first where they differ from the first's: any of
        scale, tau, input_scale, bias_scale.
    concat : bool
        Return the states of all layers side by side, the units divided evenly among the layers
        and the remainder going to the first; otherwise those of the last layer.
    linear : bool
        Drop the tanh. The linear recurrence must then be stable.
    dtype, engine, device, n_jobs, seed
        As in `ParalESN`.

    Attributes
    ----------
    layers_ : tuple of RecurrentLayer
    n_parameters_ : int
        Parameters of the recurrence as the paper counts them: signs, their scale and
        the input weights, biases left out.
    n_features_in_ : int

    References
    ----------
    Dong, Ohana, Rafayelyan, Krzakala. Reservoir computing meets recurrent kernels and structured
    transforms. NeurIPS 2020.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> res = pe.StructuredRC(units=100_000)
    >>> res.last(np.sin(np.arange(20) / 9)).shape
    (100000,)
    """

    LAYER_PARAMETERS = ("scale", "tau", "input_scale", "bias_scale")

    def __init__(
        self,
        units: int = 128,
        *,
        layers: int = 1,
        scale: float = 0.9,
        tau: float = 1.0,
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
            units, layers=layers, input_scale=input_scale, bias_scale=bias_scale, inter=inter,
            concat=concat, linear=linear, dtype=dtype, engine=engine, device=device,
            n_jobs=n_jobs, seed=seed,
        )  # fmt: skip
        self.scale = scale
        self.tau = tau

    def check_layer(self, hyper: Mapping[str, Any], prefix: str) -> None:
        """Check the hyperparameters of a layer."""
        checks.number(f"{prefix}scale", hyper["scale"], 0.0)
        check_leak(hyper, prefix)
        check_scales(hyper, prefix)

    def draw_inputs(
        self, rng: np.random.Generator, width: int, below: int, is_first: bool
    ) -> np.ndarray:
        """Input weights before scaling."""
        return rng.uniform(-1.0, 1.0, (width, below) if is_first else (width,))

    def draw_operators(
        self,
        rng: np.random.Generator,
        other: np.random.Generator,
        width: int,
        hyper: Mapping[str, Any],
    ) -> tuple[Operator, Operator, float]:
        """Draw the recurrent operator, the branch and the gain of a layer."""
        matrix = draw_hadamard(rng, width, float(hyper["scale"]))
        return matrix, Identity(width, 1.0 - hyper["tau"]), hyper["tau"]

"""Reservoirs with a random matrix: the echo state network and its residual variant."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.layers.operators import Identity, Operator
from paralesn.persistence import register
from paralesn.reservoirs.drawing import draw_matrix, draw_orthogonal
from paralesn.reservoirs.recurrence import Recurrent, check_leak, check_scales

ORTHOGONAL = ("random", "cyclic", "identity")


@register
class ESN(Recurrent):
    r"""Echo state network, leaky, shallow or deep.

    Layer by layer, with :math:`h^{(0)}_t = x_t`,

    .. math::

        h_t = (1 - \tau) h_{t-1} + \tau \tanh(W h_{t-1} + W_{in} h^{below}_t + b).

    The entries of :math:`W` are uniform on [-1, 1], then rescaled to the spectral radius `rho`.
    More than one layer is the deep echo state network, with dense matrices between layers.

    Parameters
    ----------
    units : int
        Units of each layer; of all layers together with `concat`.
    layers : int
    rho : float
        Spectral radius of W, at least 0; below 1 with `linear`.
    tau : float
        Leaky rate in (0, 1].
    input_scale, bias_scale : float
        Input weights and biases are uniform on [-scale, scale].
    density : float
        Share of the units that a unit reads, in (0, 1]. Below 1, each reads the same number of
        others, at least one, and the matrix is kept sparse.
    inter : dict, optional
        Hyperparameters of the layers after the first where they differ from the first's: any of
        rho, tau, input_scale, bias_scale, density.
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
        Parameters of the recurrence as the paper counts them: recurrent and input
        weights, biases left out.
    n_features_in_ : int

    References
    ----------
    Jaeger, Lukosevicius, Popovici, Siewert. Optimization and applications of echo state networks
    with leaky-integrator neurons. Neural Networks, 2007.
    Gallicchio, Micheli, Pedrelli. Deep reservoir computing: a critical experimental analysis.
    Neurocomputing, 2017.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> res = pe.ESN(units=100, rho=0.95, tau=0.5)
    >>> states, state = res.run(np.sin(np.arange(500) / 9))
    >>> states.shape
    (500, 100)
    >>> W = res.layers_[0].recurrent.matrix
    >>> round(float(np.abs(np.linalg.eigvals(W)).max()), 12)
    0.95
    """

    LAYER_PARAMETERS = ("rho", "tau", "input_scale", "bias_scale", "density")

    def __init__(
        self,
        units: int = 128,
        *,
        layers: int = 1,
        rho: float = 0.9,
        tau: float = 1.0,
        input_scale: float = 1.0,
        bias_scale: float = 0.0,
        density: float = 1.0,
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
        self.density = density

    def check_layer(self, hyper: Mapping[str, Any], prefix: str) -> None:
        """Check the hyperparameters of a layer."""
        check_matrix(hyper, prefix, self.linear)
        check_leak(hyper, prefix)
        check_scales(hyper, prefix)

    def draw_operators(
        self,
        rng: np.random.Generator,
        other: np.random.Generator,
        width: int,
        hyper: Mapping[str, Any],
    ) -> tuple[Operator, Operator, float]:
        """Draw the recurrent operator, the branch and the gain of a layer."""
        matrix = draw_matrix(rng, width, hyper["rho"], hyper["density"])
        return matrix, Identity(width, 1.0 - hyper["tau"]), hyper["tau"]


@register
class ResESN(Recurrent):
    r"""Residual echo state network: an orthogonal branch carries the state along in time.

    Layer by layer, with :math:`h^{(0)}_t = x_t`,

    .. math::

        h_t = \alpha O h_{t-1} + \beta \tanh(W h_{t-1} + W_{in} h^{below}_t + b),

    :math:`O` orthogonal and :math:`W` as in `ESN`. With the identity for :math:`O`,
    ``alpha=1 - tau`` and ``beta=tau`` it is the leaky echo state network.

    Parameters
    ----------
    units : int
        Units of each layer; of all layers together with `concat`.
    layers : int
    rho : float
        Spectral radius of W, at least 0.
    alpha : float
        Coefficient of the temporal branch, in [0, 1].
    beta : float
        Coefficient of the nonlinear part, in (0, 1].
    orthogonal : "random", "cyclic" or "identity"
        O: drawn from the uniform (Haar) distribution, a cyclic shift, or the identity.
    input_scale, bias_scale, density : float
        As in `ESN`.
    inter : dict, optional
        Hyperparameters of the layers after the first where they differ from the first's: any of
        rho, alpha, beta, orthogonal, input_scale, bias_scale, density.
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
        Parameters of the recurrence as the paper counts them: recurrent and input
        weights, and a random O, biases left out.
    n_features_in_ : int

    References
    ----------
    Ceni, Gallicchio. Residual echo state networks: residual recurrent neural networks with stable
    dynamics and fast learning. Neurocomputing, 2024.
    Pinna, Ceni, Gallicchio. Residual reservoir memory networks. 2025.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> res = pe.ResESN(units=100, alpha=0.9, beta=0.1, orthogonal="cyclic")
    >>> res.run(np.sin(np.arange(500) / 9))[0].shape
    (500, 100)
    """

    LAYER_PARAMETERS = (
        "rho",
        "alpha",
        "beta",
        "orthogonal",
        "input_scale",
        "bias_scale",
        "density",
    )

    def __init__(
        self,
        units: int = 128,
        *,
        layers: int = 1,
        rho: float = 0.9,
        alpha: float = 0.5,
        beta: float = 0.5,
        orthogonal: str = "random",
        input_scale: float = 1.0,
        bias_scale: float = 0.0,
        density: float = 1.0,
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
        self.alpha = alpha
        self.beta = beta
        self.orthogonal = orthogonal
        self.density = density

    def check_layer(self, hyper: Mapping[str, Any], prefix: str) -> None:
        """Check the hyperparameters of a layer."""
        check_matrix(hyper, prefix, False)
        checks.number(f"{prefix}alpha", hyper["alpha"], 0.0, 1.0)
        checks.number(f"{prefix}beta", hyper["beta"], 0.0, 1.0, open_left=True)
        checks.choice(f"{prefix}orthogonal", hyper["orthogonal"], ORTHOGONAL)
        check_scales(hyper, prefix)

    def draw_operators(
        self,
        rng: np.random.Generator,
        other: np.random.Generator,
        width: int,
        hyper: Mapping[str, Any],
    ) -> tuple[Operator, Operator, float]:
        """Draw the recurrent operator, the branch and the gain of a layer."""
        matrix = draw_matrix(rng, width, hyper["rho"], hyper["density"])
        return (
            matrix,
            draw_orthogonal(other, width, hyper["orthogonal"], hyper["alpha"]),
            hyper["beta"],
        )


def check_matrix(hyper: Mapping[str, Any], prefix: str, linear: bool) -> None:
    """Check the hyperparameters of a random matrix."""
    if linear:
        checks.number(f"{prefix}rho", hyper["rho"], 0.0, 1.0, open_right=True)
    checks.number(f"{prefix}rho", hyper["rho"], 0.0)
    checks.number(f"{prefix}density", hyper["density"], 0.0, 1.0, open_left=True)

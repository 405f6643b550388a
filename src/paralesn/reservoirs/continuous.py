"""The echo state network in continuous time, and its steps of a given length."""

from collections.abc import Mapping
from math import exp, expm1
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.layers.operators import Identity, Operator
from paralesn.persistence import register
from paralesn.reservoirs.drawing import draw_matrix
from paralesn.reservoirs.esn import check_matrix
from paralesn.reservoirs.recurrence import Recurrent, check_scales

METHODS = ("exponential", "euler")


@register
class ContinuousESN(Recurrent):
    r"""Leaky-integrator echo state network: a differential equation, sampled every `dt`.

    .. math::

        c\,\dot h = -a\, h + \tanh(W h + W_{in} x + b),

    :math:`c` the time constant and :math:`a` the leak. A step of length `dt` from
    :math:`h_{t-1}` with the input :math:`x_t` is, with :math:`\kappa = \exp(-a\, dt / c)`,

    .. math::

        h_t = \kappa\, h_{t-1} + \frac{1 - \kappa}{a} \tanh(W h_{t-1} + W_{in} x_t + b)
        \qquad \text{("exponential")},

        h_t = \Bigl(1 - \frac{a\, dt}{c}\Bigr) h_{t-1}
        + \frac{dt}{c} \tanh(W h_{t-1} + W_{in} x_t + b) \qquad \text{("euler")}.

    The first integrates the leak exactly and is stable for every `dt`; the second needs
    :math:`a\, dt \le c`. Both converge to the solution of the equation, with an error
    proportional to `dt`. The seed fixes W whatever `dt`, so the same network can read data of
    another sampling rate after ``set_params(dt=...)``. All steps of a series have the same length:
    bring irregular observations to a grid first.

    Parameters
    ----------
    units : int
        Units of each layer; of all layers together with `concat`.
    layers : int
    dt : float
        Time between two rows of the input, in the units of `time_constant`.
    time_constant : float
        c: how slowly the state follows its input.
    leak : float
        a, positive; states stay within :math:`\pm 1 / a`.
    method : "exponential" or "euler"
    rho : float
        Spectral radius of W, at least 0.
    input_scale, bias_scale, density : float
        As in `ESN`.
    inter : dict, optional
        Hyperparameters of the layers after the first where they differ from the first's: any of
        time_constant, leak, rho, input_scale, bias_scale, density.
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
        Recurrent and input weights, biases left out.
    n_features_in_ : int

    References
    ----------
    Jaeger, Lukosevicius, Popovici, Siewert. Optimization and applications of echo state networks
    with leaky-integrator neurons. Neural Networks, 2007.

    Examples
    --------
    The same network on the same signal, sampled at two rates, at time 20:

    >>> import numpy as np, paralesn as pe
    >>> for dt in (0.1, 0.01):
    ...     signal = np.sin(np.arange(dt, 20 + dt / 2, dt))
    ...     print(pe.ContinuousESN(units=50, dt=dt).last(signal)[:3].round(3))
    [-0.275  0.158 -0.272]
    [-0.267  0.137 -0.247]
    """

    LAYER_PARAMETERS = ("time_constant", "leak", "rho", "input_scale", "bias_scale", "density")
    SHARED_PARAMETERS = ("dt", "method")

    def __init__(
        self,
        units: int = 128,
        *,
        layers: int = 1,
        dt: float = 0.1,
        time_constant: float = 1.0,
        leak: float = 1.0,
        method: str = "exponential",
        rho: float = 0.9,
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
        self.dt = dt
        self.time_constant = time_constant
        self.leak = leak
        self.method = method
        self.rho = rho
        self.density = density

    def check_layer(self, hyper: Mapping[str, Any], prefix: str) -> None:
        """Check the hyperparameters of a layer, and that Euler's steps are short enough."""
        dt = checks.number("dt", self.dt, 0.0, open_left=True)
        method = checks.choice("method", self.method, METHODS)
        scale = checks.number(f"{prefix}time_constant", hyper["time_constant"], 0.0, open_left=True)
        leak = checks.number(f"{prefix}leak", hyper["leak"], 0.0, open_left=True)
        if method == "euler" and leak * dt > scale:
            raise ValueError(
                f"dt must be at most {prefix}time_constant / leak ({scale / leak:g}) with "
                f"method='euler', which is unstable beyond, got {self.dt!r}; "
                "method='exponential' takes any"
            )
        check_matrix(hyper, prefix, False)
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
        leak, share = float(hyper["leak"]), self.dt / hyper["time_constant"]
        if self.method == "euler":
            return matrix, Identity(width, 1.0 - leak * share), share
        return matrix, Identity(width, exp(-leak * share)), -expm1(-leak * share) / leak

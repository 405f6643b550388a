"""The edge of stability echo state network."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.layers.operators import Operator
from paralesn.persistence import register
from paralesn.reservoirs.drawing import draw_matrix, draw_orthogonal
from paralesn.reservoirs.esn import ORTHOGONAL, check_matrix
from paralesn.reservoirs.recurrence import Recurrent, check_scales


@register
class ES2N(Recurrent):
    r"""Edge of stability echo state network: a rotation that keeps, a small share of tanh.

    Layer by layer, with :math:`h^{(0)}_t = x_t` and the proximity :math:`\beta`,

    .. math::

        h_t = (1 - \beta) O h_{t-1} + \beta \tanh(W h_{t-1} + W_{in} h^{below}_t + b),

    :math:`O` orthogonal and :math:`W` of spectral radius `rho`. The eigenvalues of every Jacobian
    lie within :math:`\beta \|W\|_2` of the circle of radius :math:`1 - \beta`: the smaller
    :math:`\beta`, the closer to the edge of stability, and the longer the memory.
    `paralesn.theory.edge_of_stability` measures it. With ``proximity=1`` it is the `ESN`; as a
    `ResESN` it has ``alpha=1 - proximity`` and ``beta=proximity``.

    Parameters
    ----------
    units : int
        Units of each layer; of all layers together with `concat`.
    layers : int
    proximity : float
        :math:`\beta` in (0, 1].
    rho : float
        Spectral radius of W, at least 0.
    orthogonal : "random", "cyclic" or "identity"
        O: drawn from the uniform (Haar) distribution, a cyclic shift, or the identity, which makes
        a leaky `ESN` of it.
    input_scale, bias_scale, density : float
        As in `ESN`.
    inter : dict, optional
        Hyperparameters of the layers after the first where they differ from the first's: any of
        proximity, rho, orthogonal, input_scale, bias_scale, density.
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
        Recurrent and input weights, and a random O, biases left out.
    n_features_in_ : int

    References
    ----------
    Ceni, Gallicchio. Edge of stability echo state network. IEEE Transactions on Neural Networks and
    Learning Systems, 2024.

    Examples
    --------
    >>> import paralesn as pe
    >>> esn, es2n = pe.ESN(units=50, rho=0.9), pe.ES2N(units=50, proximity=0.05)
    >>> [round(pe.theory.memory_capacity(res).total) for res in (esn, es2n)]  # of 50 delays
    [11, 49]
    """

    LAYER_PARAMETERS = (
        "proximity",
        "rho",
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
        proximity: float = 0.1,
        rho: float = 0.9,
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
        self.proximity = proximity
        self.rho = rho
        self.orthogonal = orthogonal
        self.density = density

    def check_layer(self, hyper: Mapping[str, Any], prefix: str) -> None:
        """Check the hyperparameters of a layer."""
        checks.number(f"{prefix}proximity", hyper["proximity"], 0.0, 1.0, open_left=True)
        check_matrix(hyper, prefix, False)
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
        kept = 1.0 - hyper["proximity"]
        rotation = draw_orthogonal(other, width, hyper["orthogonal"], kept)
        return matrix, rotation, hyper["proximity"]

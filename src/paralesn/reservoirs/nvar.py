"""Next-generation reservoir computing: delays and products in place of a drawn recurrence."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from paralesn import checks
from paralesn.layers.delays import HIGHEST_ORDER, DelayLayer, check_delay_layers
from paralesn.persistence import register
from paralesn.reservoirs.base import Reservoir
from paralesn.reservoirs.drawable import Drawn
from paralesn.runtime.memory import require_room


@register
class NVAR(Reservoir):
    r"""Nonlinear vector autoregression: delayed inputs and products of them, without randomness.

    With the delayed values :math:`v_t = [x_t, x_{t-s}, \dots, x_{t-(k-1)s}]`, a state holds every
    product of them of each order,

    .. math::

        z_t = \bigl[\, v_{t,i_1} v_{t,i_2} \cdots v_{t,i_p} :\ i_1 \le \dots \le i_p,\
        p = 1, \dots, \text{order} \,\bigr],

    so that a linear readout of :math:`z_t` is a polynomial of the latest inputs. Nothing is drawn:
    no seed, no spectral radius, and :math:`k d` values of d features make
    :math:`\binom{k d + p - 1}{p}` products of order p. Inputs before the first one count as zero,
    so the first :math:`(k - 1) s` steps belong to the washout.

    In closed loop, a tiny penalty of the readout gives the best single steps and often an unstable
    loop, which is an error: take one more order, or a penalty of 1e-6 and more.

    Parameters
    ----------
    delay : int or sequence of int
        Number k of delayed values of each feature; or the lags themselves, rising, such as
        ``(0, 1, 24)``, 0 being the present.
    order : int or sequence of int
        Most factors of a product: 2 for linear and quadratic terms, 3 for cubic ones, too. Or the
        orders themselves, rising, such as ``(1, 3)`` without the quadratic ones.
    stride : int
        Time steps s between delayed values; 1 where `delay` gives the lags.
    bias : bool
        Add the constant 1 as the first column. `Ridge` has an intercept of its own.
    dtype, engine, device, n_jobs
        As in `ParalESN`.

    Attributes
    ----------
    layers_ : tuple of one DelayLayer
    n_parameters_ : int
        Drawn parameters: none.
    n_features_out_ : int
        Number of products.
    n_features_in_ : int

    References
    ----------
    Gauthier, Bollt, Griffith, Barbosa. Next generation reservoir computing. Nature Communications,
    2021.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> states, _ = pe.NVAR(delay=2, order=2).run([2.0, 3.0, 5.0])
    >>> states  # x_t, x_(t-1), and their products
    array([[ 2.,  0.,  4.,  0.,  0.],
           [ 3.,  2.,  9.,  6.,  4.],
           [ 5.,  3., 25., 15.,  9.]])
    >>> from paralesn import datasets
    >>> series = datasets.lorenz63(1000)
    >>> model = pe.ReservoirForecaster(pe.NVAR(order=3), strategy="closed-loop").fit(series[:800])
    >>> bool(np.abs(model.forecast(100) - series[800:900]).max() < 0.01 * series.std())
    True
    """

    concat = False
    mixing = True
    seed = 0  # nothing is drawn

    def __init__(
        self,
        delay: int | Sequence[int] = 2,
        order: int | Sequence[int] = 2,
        *,
        stride: int = 1,
        bias: bool = False,
        dtype: Any = "float64",
        engine: str = "auto",
        device: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.delay = delay
        self.order = order
        self.stride = stride
        self.bias = bias
        self.dtype = dtype
        self.engine = engine
        self.device = device
        self.n_jobs = n_jobs

    def check_hyperparameters(self) -> None:
        """Raise an error that names the first hyperparameter with a wrong value."""
        self._lags()
        self._orders()
        self._check_runner()

    def _lags(self) -> tuple[int, ...]:
        """Delays in time steps."""
        stride = checks.integer("stride", self.stride, 1)
        if isinstance(self.delay, (Integral, bool)):
            require_room("delay", self.delay, 40 * checks.integer("delay", self.delay, 1))
            return tuple(range(0, self.delay * stride, stride))
        if stride != 1:
            raise checks.fail("stride", self.stride, "1 where delay gives the lags themselves")
        return checks.rising("delay", self.delay)

    def _orders(self) -> tuple[int, ...]:
        """Numbers of factors."""
        if isinstance(self.order, (Integral, bool)):
            orders = tuple(range(1, checks.integer("order", self.order, 1, HIGHEST_ORDER) + 1))
        else:
            orders = checks.rising("order", self.order, 1, HIGHEST_ORDER)
        return (0, *orders) if checks.flag("bias", self.bias) else orders

    def draw_layers(self, n_features: int, rng: np.random.Generator) -> tuple[DelayLayer, ...]:
        """The layer for inputs with `n_features` features."""
        lags, orders = self._lags(), self._orders()
        name, given = ("delay", self.delay) if self.stride == 1 else ("stride", self.stride)
        require_room(name, given, 8 * n_features * lags[-1])
        return (DelayLayer(n_features, np.array(lags), np.array(orders)),)

    def count_parameters(self) -> int:
        """Number of drawn parameters: none."""
        return 0

    @property
    def fitted_(self) -> Drawn:
        """The layer with the names of the features: all that a file holds besides parameters."""
        if not hasattr(self, "layers_"):
            raise AttributeError(f"this {type(self).__name__} was not fitted yet")
        return Drawn(self.layers_, getattr(self, "feature_names_in_", None), False)

    @fitted_.setter
    def fitted_(self, drawn: Drawn) -> None:
        """Check the layer of a file against the parameters."""
        self.check_hyperparameters()
        (layer,) = check_delay_layers(drawn.layers)
        (expected,) = self.draw_layers(layer.inputs, checks.generator(self.seed))
        for name in ("lags", "orders"):
            if getattr(layer, name).tolist() != getattr(expected, name).tolist():
                raise ValueError(f"{name} of the layer do not fit the parameters of NVAR")
        self._draw_for(layer.inputs)
        self._restore_names(drawn.feature_names)

    def product_names(self, input_features: Sequence[str] | None = None) -> list[str]:
        """Names of the products, such as ``x[t] y[t-1]``, to read a fitted readout by.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the features. Default: those of the table in `fit`, or x0, x1, ...

        Examples
        --------
        >>> import numpy as np, paralesn as pe
        >>> pe.NVAR(delay=2, order=2).fit(np.zeros((5, 1))).product_names(["x"])
        ['x[t]', 'x[t-1]', 'x[t] x[t]', 'x[t] x[t-1]', 'x[t-1] x[t-1]']
        """
        check_is_fitted(self, "layers_")
        layer: DelayLayer = self.layers_[0]
        if input_features is None:
            default = [f"x{i}" for i in range(layer.inputs)]
            input_features = list(getattr(self, "feature_names_in_", default))
        if len(input_features) != layer.inputs:
            raise checks.fail("input_features", input_features, f"{layer.inputs} names")
        values = [
            f"{name}[t-{lag}]" if lag else f"{name}[t]"
            for lag in layer.lags.tolist()
            for name in input_features
        ]
        return [
            " ".join(values[i] for i in chosen) or "1"
            for order in layer.orders.tolist()
            for chosen in layer.factors(order).tolist()
        ]

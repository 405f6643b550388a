"""Intrinsic plasticity: gains and biases of units that shape the distribution of their outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from paralesn import checks, series
from paralesn.engines.reference import multiply
from paralesn.engines.torch import tensors
from paralesn.layers.operators import Dense, Identity, Sparse
from paralesn.layers.recurrent import RecurrentLayer
from paralesn.persistence import register
from paralesn.reservoirs.esn import ESN
from paralesn.runtime.blas import single_threaded_blas
from paralesn.series import Series

_ROWS = 4096  # steps whose drive exists at a time


class Rule(NamedTuple):
    """The target distribution, and how it is approached."""

    mean: float
    std: float
    rate: float
    epochs: int
    washout: int


@register
class PlasticESN(ESN):
    r"""Echo state network with intrinsic plasticity: `fit` adapts it to its input, unsupervised.

    Every unit has a gain a and a bias b, :math:`y_t = \tanh(a\, r_t + b)` with the net input
    :math:`r_t = W h_{t-1} + W_{in} x_t + b_0`, and follows after every step the gradient that
    brings the distribution of its outputs :math:`y` closest, in Kullback-Leibler divergence, to a
    Gaussian of the given mean :math:`\mu` and standard deviation :math:`\sigma`:

    .. math::

        \Delta b = -\eta \Bigl(-\frac{\mu}{\sigma^2} + \frac{y}{\sigma^2}
        \bigl(2 \sigma^2 + 1 - y^2 + \mu y\bigr)\Bigr), \qquad
        \Delta a = \frac{\eta}{a} + \Delta b\, r .

    The steps are taken in the order of the series given, each series from a zero state. Afterwards
    gains and biases are part of the layers' arrays, :math:`a W`, :math:`a W_{in}` and
    :math:`a b_0 + b`: the reservoir runs like any `ESN`, on every engine. The leak comes after the
    tanh, and is not adapted. Upper layers are adapted to the states of the adapted ones below.

    Estimators show it their training inputs, scaled as it will read them. Plasticity may take the
    network out of the echo state property; `paralesn.theory.echo_state_property` tells.

    Parameters
    ----------
    units, layers, rho, tau, input_scale, bias_scale, density, inter, concat
        As in `ESN`.
    mean, std : float
        Of the target distribution: mean in (-1, 1), standard deviation in (0, 1].
    rate : float
        Learning rate :math:`\eta`, positive.
    epochs : int
        Passes over the input.
    washout : int
        First steps of each series, which are run but not learnt from.
    linear : False
        There is no distribution to shape without tanh.
    dtype, engine, device, n_jobs, seed
        As in `ParalESN`.

    Attributes
    ----------
    layers_ : tuple of RecurrentLayer
        Adapted.
    n_parameters_ : int
        Recurrent and input weights, biases left out.
    n_features_in_ : int

    References
    ----------
    Schrauwen, Wardermann, Verstraeten, Steil, Stroobandt. Improving reservoirs using intrinsic
    plasticity. Neurocomputing, 2008.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> x = np.random.default_rng(0).uniform(-1, 1, 3000)
    >>> before, after = pe.ESN(units=100), pe.PlasticESN(units=100, std=0.2).fit(x)
    >>> [round(float(res.run(x)[0][100:].std()), 2) for res in (before, after)]
    [0.38, 0.2]
    """

    SHARED_PARAMETERS = ("mean", "std", "rate", "epochs", "washout")
    adapts = True

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
        mean: float = 0.0,
        std: float = 0.2,
        rate: float = 1e-3,
        epochs: int = 1,
        washout: int = 0,
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
            units, layers=layers, rho=rho, tau=tau, input_scale=input_scale, bias_scale=bias_scale,
            density=density, inter=inter, concat=concat, linear=linear, dtype=dtype, engine=engine,
            device=device, n_jobs=n_jobs, seed=seed,
        )  # fmt: skip
        self.mean = mean
        self.std = std
        self.rate = rate
        self.epochs = epochs
        self.washout = washout

    def check_hyperparameters(self) -> None:
        """Raise an error that names the first hyperparameter with a wrong value."""
        super().check_hyperparameters()
        if self.linear:
            raise checks.fail("linear", True, "False with plasticity, which shapes tanh's outputs")
        self._rule()

    def _rule(self) -> Rule:
        return Rule(
            checks.number("mean", self.mean, -1.0, 1.0, open_left=True, open_right=True),
            checks.number("std", self.std, 0.0, 1.0, open_left=True),
            checks.number("rate", self.rate, 0.0, open_left=True),
            checks.integer("epochs", self.epochs, 1),
            checks.integer("washout", self.washout, 0),
        )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the reservoir and adapt it to X; one made by `from_layers` stays as it is.

        Parameters
        ----------
        X : array-like (time, features) or (batch, time, features), list of arrays, or Series
        y : ignored
        """
        super().fit(X)
        if self._given() is not None:
            return self
        data, rule = self.parse(X, self.n_features_in_), self._rule()
        if data.lengths.max() <= rule.washout:
            raise ValueError(
                f"X must be longer than the washout ({rule.washout} steps), got "
                f"{data.lengths.max()}"
            )
        given: Any = data.rows
        rows = np.asarray(given.detach().cpu() if tensors.is_tensor(given) else given, float)
        adapted: list[RecurrentLayer] = []
        for layer in self.layers_:
            data = Series(rows, data.lengths, series.RAGGED)
            adapted.append(adapt(layer, data.split(rows), rule))
            if len(adapted) < len(self.layers_):
                states, _ = ESN.from_layers(adapted[-1:], n_jobs=self.n_jobs).run(data)
                rows = np.concatenate(states)
        self.layers_ = tuple(adapted)
        self._settle()
        return self

    def _ensure_drawn(self, n_features: int) -> None:
        if not hasattr(self, "layers_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet: fit adapts it to its input first"
            )


def adapt(layer: RecurrentLayer, inputs: Sequence[np.ndarray], rule: Rule) -> RecurrentLayer:
    """A leaky layer after intrinsic plasticity on series (time, features), one after the other."""
    gains, biases = np.ones(layer.units), np.zeros(layer.units)
    with single_threaded_blas():  # the same bits for any number of threads
        for epoch in range(rule.epochs):
            for x in inputs:
                gains, biases = _follow(layer, x, gains, biases, rule)
            if not (np.isfinite(biases).all() and (gains > 0).all()):
                raise ValueError(
                    f"rate must be smaller, or the inputs scaled, for gains to stay positive: they "
                    f"did not in epoch {epoch + 1} with {rule.rate!r}"
                )
    recurrent = layer.recurrent
    if isinstance(recurrent, Sparse):
        recurrent = Sparse(recurrent.columns, gains[:, None] * recurrent.values)
    else:
        recurrent = Dense(gains[:, None] * recurrent.dense())
    return replace(
        layer, recurrent=recurrent, w_in=gains[:, None] * layer.w_in,
        bias=gains * layer.bias + biases,
    )  # fmt: skip


def _follow(
    layer: RecurrentLayer, x: np.ndarray, gains: np.ndarray, biases: np.ndarray, rule: Rule
) -> tuple[np.ndarray, np.ndarray]:
    """Gains and biases after one series, from a zero state."""
    a, b, h = gains.copy(), biases.copy(), np.zeros(layer.units)
    assert isinstance(layer.branch, Identity)  # the leak
    kept, variance = layer.branch.scale, rule.std**2
    with np.errstate(all="ignore"):  # the caller looks at the result
        for first in range(0, len(x), _ROWS):
            drive = x[first : first + _ROWS] @ layer.w_in.T + layer.bias
            for t, driven in enumerate(drive, first):
                r = multiply(layer.recurrent, h) + driven
                y = np.tanh(a * r + b)
                h = kept * h + layer.gain * y
                if t < rule.washout:
                    continue
                pull = 2.0 * variance + 1.0 - y * y + rule.mean * y
                change = (rule.mean - y * pull) / variance
                a += rule.rate * (1.0 / a + change * r)
                b += rule.rate * change
    return a, b

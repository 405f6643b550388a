"""The echo state property: whether a reservoir forgets where it started."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from paralesn import checks
from paralesn.layers.delays import DelayLayer
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.operators import check_operator
from paralesn.layers.recurrent import RecurrentLayer
from paralesn.reservoirs.base import Reservoir
from paralesn.theory.contraction import Recurrence, contraction, radius

_MARGIN = 1e-9  # a radius this close above 1 may be a rounded 1, which proves nothing
_WORDS = {True: "holds", False: "does not hold", None: "undecided"}


@dataclass(frozen=True)
class EchoStateProperty:
    """What is known of the echo state property of a reservoir; true only where it is certain.

    Attributes
    ----------
    holds : True, False or None
        None where the conditions that are known decide nothing.
    exact : bool
        Whether the test was necessary and sufficient, for every layer.
    radius : tuple of float
        Spectral radius of each layer, linearised at the origin: the necessary side. NaN where the
        layer is so large that it was not computed.
    contraction : tuple of float
        Lipschitz constant of a step of each layer, in the best norm tried: the sufficient side.
    layers : tuple of True, False or None
        Whether each layer has the property; False only if that denies it to the whole.
    """

    holds: bool | None
    exact: bool
    radius: tuple[float, ...]
    contraction: tuple[float, ...]
    layers: tuple[bool | None, ...]

    def __bool__(self) -> bool:
        return self.holds is True

    def __str__(self) -> str:
        reason = {
            True: "a sufficient condition is met",
            False: "a necessary condition is not met",
            None: "no condition decides",
        }[self.holds]
        if self.exact:
            reason = "by a necessary and sufficient condition"
        lines = [f"echo state property: {_WORDS[self.holds]} ({reason})"]
        for depth, (rho, rate, holds) in enumerate(
            zip(self.radius, self.contraction, self.layers, strict=True), 1
        ):
            known = "not computed" if np.isnan(rho) else f"{rho:.6g}"
            lines.append(
                f"  layer {depth}: spectral radius {known}, contraction {rate:.6g}: {_WORDS[holds]}"
            )
        return "\n".join(lines)


def echo_state_property(reservoir: Any) -> EchoStateProperty:
    r"""Whether states forget where they started, whatever the input.

    The property: for every input sequence and any two initial states the distance of the two
    trajectories goes to zero.

    *Diagonal layers, and recurrent ones without tanh.* Differences obey
    :math:`\delta_t = A^t \delta_0`, so the property holds if and only if the spectral radius of A
    is below 1 (for `ParalESN`: every :math:`|\bar\lambda_i| < 1`). The radius of a matrix is known
    up to rounding; where that leaves it open, None.

    *Recurrent layers with tanh*, :math:`h_t = B h_{t-1} + g \tanh(R h_{t-1} + W_{in} x_t + b)`.
    Sufficient: a step contracts in some norm, here :math:`\|S \cdot\|_2` with S diagonal: none,
    balancing, and the one from the Perron vectors of :math:`|B| + |g R|`. With S = I and a leaky
    layer it is at most :math:`1 - \tau + \tau \sigma_{max}(R)`. Necessary: without a bias and with
    zero input the origin is a fixed point, and if the spectral radius of :math:`B + g R` is above
    1, states that start next to it go away. With a bias, in this layer or one below it, the origin
    is no fixed point; the radius is then only indicative, and the property is never denied.
    Between the two, and at a radius of exactly 1, None: undecided.

    *A cascade* has the property if every layer has it: the difference of a layer's inputs, its
    distance below, goes to zero, and a layer with the property forgets those differences, too. It
    lacks the property if one layer lacks it for an input it is given: an unstable linear layer
    keeps its difference whatever drives it, and with zero input and no biases every layer of a
    cascade is driven by zero.

    Parameters
    ----------
    reservoir : fitted reservoir, layer, or sequence of layers
        `DiagonalLayer` or `RecurrentLayer`; unstable ones are welcome.

    Returns
    -------
    EchoStateProperty

    References
    ----------
    Jaeger. The "echo state" approach to analysing and training recurrent neural networks. 2001.
    Buehner, Young. A tighter bound for the echo state property. IEEE Transactions on Neural
    Networks, 2006.
    Yildiz, Jaeger, Kiebel. Re-visiting the echo state property. Neural Networks, 2012.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> from paralesn.theory import echo_state_property
    >>> print(echo_state_property(pe.SCR(units=100, rho=0.9).fit(np.zeros((2, 1)))))
    echo state property: holds (a sufficient condition is met)
      layer 1: spectral radius 0.9, contraction 0.9: holds
    >>> on_the_circle = pe.DiagonalLayer(eigenvalues=[0.5, 1j], w_in=[[1], [1]], bias=[0, 0],
    ...                                  tau=1.0, mix_kernel=[1], mix_bias=0)
    >>> echo_state_property(on_the_circle).holds
    False
    """
    layers = layers_of(reservoir)
    radii, rates, verdicts = [], [], []
    rests_at_origin = True  # whether zero input leaves this layer and all below it at zero
    for layer in layers:
        rests_at_origin = rests_at_origin and not layer.bias.any()
        rho, rate = radius(layer), contraction(layer)[0]
        verdicts.append(_verdict(layer, rho, rate, rests_at_origin))
        radii.append(rho)
        rates.append(rate)
        if isinstance(layer, DiagonalLayer):
            rests_at_origin = rests_at_origin and not np.real(layer.mix_bias)
    holds = False if False in verdicts else None if None in verdicts else True
    exact = holds is not None and all(map(_is_linear, layers)) and not np.isnan(radii).any()
    return EchoStateProperty(holds, exact, tuple(radii), tuple(rates), tuple(verdicts))


def _verdict(layer: Recurrence, rho: float, rate: float, rests_at_origin: bool) -> bool | None:
    """Whether one layer has the property."""
    if isinstance(layer, DiagonalLayer):
        return rho < 1
    if layer.linear and not np.isnan(rho):
        rounding = 8 * layer.units * float(np.finfo(float).eps)
        return None if abs(rho - 1) <= rounding else rho < 1
    if rate < 1:
        return True
    return False if rests_at_origin and rho > 1 + _MARGIN else None


def _is_linear(layer: Recurrence) -> bool:
    return isinstance(layer, DiagonalLayer) or layer.linear


def layers_of(reservoir: Any) -> tuple[Recurrence, ...]:
    """Layers of a fitted reservoir, or given ones, all of one kind, checked."""
    if isinstance(reservoir, Reservoir):
        check_is_fitted(reservoir, "layers_")
        first = reservoir.layers_[0]
        if isinstance(first, DelayLayer):
            raise TypeError(
                "reservoir must have diagonal or recurrent layers, got "
                f"{type(reservoir).__name__}: without recurrence, it forgets an input after "
                f"exactly {first.window} steps"
            )
        return reservoir.layers_
    given = reservoir if isinstance(reservoir, Sequence) else (reservoir,)
    kinds = {type(layer) for layer in given}
    if kinds not in ({DiagonalLayer}, {RecurrentLayer}):
        expected = "a fitted reservoir, a layer, or a sequence of layers of one kind"
        raise checks.fail("reservoir", reservoir, expected, TypeError)
    for depth, layer in enumerate(given, 1):
        here = f"of layer {depth}"
        if isinstance(layer, RecurrentLayer):
            check_operator(f"recurrent {here}", layer.recurrent)
            check_operator(f"branch {here}", layer.branch)
        elif not layer.eigenvalues.size or not np.isfinite(layer.eigenvalues).all():
            raise ValueError(f"eigenvalues {here} must be finite numbers, at least one")
    return tuple(given)

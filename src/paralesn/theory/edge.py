"""The edge of stability: eigenvalues of the Jacobians on the way, and Lyapunov exponents."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from paralesn import checks
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.recurrent import RecurrentLayer
from paralesn.runtime.blas import single_threaded_blas
from paralesn.theory.contraction import Recurrence, norm
from paralesn.theory.forgetting import raw_states
from paralesn.theory.tangent import RecurrentTangent, orthonormalise

_SPECTRA = 20  # steps whose Jacobians are taken apart


@dataclass(frozen=True, eq=False)
class EdgeOfStability:
    """How close to the edge of stability the layers of a reservoir are, driven by some input.

    Attributes
    ----------
    annulus : tuple of (float, float)
        For each layer the radii between which the eigenvalues of every Jacobian lie, whatever the
        input: from the smallest singular value of its branch less the norm of the rest, to the sum
        of both.
    moduli : tuple of (float, float)
        Smallest and largest absolute value of an eigenvalue that was met on the way.
    exponents : tuple of arrays
        The leading Lyapunov exponents of each layer, per time step: 0 is the edge, below it
        differences of states vanish.
    """

    annulus: tuple[tuple[float, float], ...]
    moduli: tuple[tuple[float, float], ...]
    exponents: tuple[np.ndarray, ...]

    def __str__(self) -> str:
        lines = []
        for depth, (bounds, met, exponents) in enumerate(
            zip(self.annulus, self.moduli, self.exponents, strict=True), 1
        ):
            lines.append(
                f"layer {depth}: eigenvalues from {met[0]:.4g} to {met[1]:.4g} (certainly from "
                f"{bounds[0]:.4g} to {bounds[1]:.4g}), Lyapunov exponent {exponents[0]:.4g}"
            )
        return "\n".join(lines)


def edge_of_stability(
    reservoir: Any, X: Any, count: int = 1, washout: int = 100, seed: Any = 0
) -> EdgeOfStability:
    r"""How close to the edge of stability a reservoir works, driven by X.

    A step of a layer takes a small difference of states :math:`\delta` to :math:`J_t \delta` with

    .. math:: J_t = B + g\, D_t R, \qquad D_t = \mathrm{diag}(1 - \tanh^2(\cdot)),

    B being the branch, R the recurrent operator and g the gain. For `ES2N`,
    :math:`B = (1 - \beta) O`, and every eigenvalue of :math:`J_t` lies in the annulus of radii
    :math:`1 - \beta \mp \beta \|W\|_2`. The Lyapunov exponents are the mean logarithms of what the
    Jacobians stretch orthogonal directions by, one step after the other. Below zero, the reservoir
    forgets where it started under this input; at zero it keeps what it reads.

    In a cascade, layers are judged one by one, each driven by what it is given: the Jacobian of the
    whole is block-triangular, so its eigenvalues and exponents are those of the layers together.

    Parameters
    ----------
    reservoir : reservoir with diagonal or recurrent layers
        Drawn for X if it was never fitted.
    X : array-like (time, features)
    count : int
        Leading exponents of each layer.
    washout : int
        First steps, which let the directions turn to where they are stretched most.
    seed : int, None or Generator
        Of the directions to start from.

    Returns
    -------
    EdgeOfStability

    References
    ----------
    Ceni, Gallicchio. Edge of stability echo state network. IEEE Transactions on Neural Networks and
    Learning Systems, 2024.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> x = np.random.default_rng(0).uniform(-1, 1, 500)
    >>> for res in (pe.ESN(units=50), pe.ES2N(units=50, proximity=0.05)):
    ...     edge = pe.theory.edge_of_stability(res, x)
    ...     print(np.round(edge.moduli[0], 2), edge.exponents[0].round(2))
    [0.02 0.87] [-0.26]
    [0.94 0.96] [-0.04]
    """
    count = checks.integer("count", count, 1)
    washout = checks.integer("washout", washout, 0)
    rng = checks.generator(seed)
    layers, states = raw_states(reservoir, X)
    steps = len(states[0])
    if steps <= washout + 1:
        raise ValueError(f"X must be longer than washout + 1 ({washout + 1} steps), got {steps}")
    annuli, moduli, exponents = [], [], []
    with single_threaded_blas():
        for layer, h in zip(layers, states, strict=True):
            annuli.append(annulus(layer))
            if isinstance(layer, DiagonalLayer):
                sizes = np.sort(np.abs(layer.eigenvalues))[::-1]
                moduli.append((float(sizes[-1]), float(sizes[0])))
                with np.errstate(divide="ignore"):
                    exponents.append(np.log(sizes[:count]))
                continue
            moduli.append(_met(layer, h, washout))
            exponents.append(_exponents(layer, h, min(count, layer.units), washout, rng))
    return EdgeOfStability(tuple(annuli), tuple(moduli), tuple(exponents))


def annulus(layer: Recurrence) -> tuple[float, float]:
    """Radii between which the eigenvalues of every Jacobian of a layer lie."""
    if isinstance(layer, DiagonalLayer):
        sizes = np.abs(layer.eigenvalues)
        return float(sizes.min()), float(sizes.max())
    kept = np.linalg.svd(layer.branch.dense(), compute_uv=False)
    reach = abs(layer.gain) * norm(layer.recurrent.dense())
    return max(0.0, float(kept[-1]) - reach), float(kept[0]) + reach


class _Jacobians:
    """Jacobians of a layer along its states (T, N)."""

    def __init__(self, layer: RecurrentLayer, h: np.ndarray) -> None:
        self.branch, self.driven = layer.branch.dense(), layer.gain * layer.recurrent.dense()
        if layer.linear:
            self.slopes = np.ones((len(h) - 1, layer.units))
        else:  # what tanh gave is known from two states in a row
            activation = (h[1:] - h[:-1] @ self.branch.T) / layer.gain if layer.gain else h[1:]
            self.slopes = 1.0 - activation**2

    def __getitem__(self, t: int) -> np.ndarray:
        """Of the step from state t to state t + 1."""
        return self.branch + self.slopes[t][:, None] * self.driven


def _met(layer: RecurrentLayer, h: np.ndarray, washout: int) -> tuple[float, float]:
    """Smallest and largest absolute eigenvalue at steps evenly spaced after the washout."""
    jacobians = _Jacobians(layer, h)
    chosen = np.unique(np.linspace(washout, len(h) - 2, _SPECTRA).astype(int))
    sizes = np.abs([np.linalg.eigvals(jacobians[t]) for t in chosen.tolist()])
    return float(sizes.min()), float(sizes.max())


def _exponents(
    layer: RecurrentLayer, h: np.ndarray, count: int, washout: int, rng: np.random.Generator
) -> np.ndarray:
    """Mean logarithms of the stretching of `count` directions kept orthogonal, (count,)."""
    derivative, slopes = RecurrentTangent(layer), layer.gain * _Jacobians(layer, h).slopes
    directions, _ = orthonormalise(rng.normal(size=(layer.units, count)).T)
    total = np.zeros(count)
    for t, slope in enumerate(slopes):
        directions, stretched = orthonormalise(derivative.push(directions, None, slope)[0])
        if t >= washout:
            total += stretched
    return np.asarray(np.sort(total / (len(h) - 1 - washout))[::-1])

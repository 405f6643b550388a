"""A linear echo state network as a diagonal one: the paper's Proposition, made to work."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from paralesn import checks
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.layers.recurrent import RecurrentLayer
from paralesn.layers.state import State, fingerprint, starts
from paralesn.reservoirs.paralesn import ParalESN
from paralesn.reservoirs.recurrence import Recurrent
from paralesn.theory.contraction import norm
from paralesn.theory.eigen import Eigen, decompose, power_sum, response_sum

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Linear:
    """Linear layers as a single one, ``h = transition h + inputs x + bias``: (N, N), (N, F), (N,).

    The state is that of all layers side by side, the first one first.
    """

    transition: np.ndarray
    inputs: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True, eq=False)
class CarriedReadout:
    """A readout of an echo state network, for the raw states of the diagonal one.

    Attributes
    ----------
    readout : fitted predictor
        What was trained on the echo state network's states.
    mapping : array (columns, 2N)
    """

    readout: Any
    mapping: np.ndarray

    def predict(self, raw: Any) -> Any:
        """Predictions for raw states (n, 2N)."""
        return self.readout.predict(np.asarray(raw) @ self.mapping.T)

    def predict_proba(self, raw: Any) -> Any:
        """Probabilities of the classes for raw states (n, 2N), if the readout gives them."""
        return self.readout.predict_proba(np.asarray(raw) @ self.mapping.T)

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of a linear readout for raw states, (2N,) or (targets, 2N)."""
        return np.asarray(self.readout.coef_) @ self.mapping

    @property
    def intercept_(self) -> Any:
        """Intercepts of a linear readout."""
        return self.readout.intercept_


@dataclass(frozen=True, eq=False)
class Diagonalization:
    r"""A `ParalESN` whose states, mapped linearly, are those of a linear echo state network.

    Attributes
    ----------
    reservoir : ParalESN
        One layer without mixing, in double precision; ``raw, _ = reservoir.run(X)``.
    mapping : array (columns, 2N)
        ``states = raw @ mapping.T``: real parts of the eigenvectors, and imaginary ones with a
        minus.
    condition : float
        Of the eigenvectors. Rounding errors of the states are larger by about this factor.
    perturbation : float
        2-norm of what was deliberately added to the transition matrix; 0 if nothing was.
    error : float
        2-norm of the transition minus what the diagonal network stands for: the perturbation and
        the rounding errors of the decomposition.
    """

    reservoir: ParalESN
    mapping: np.ndarray
    condition: float
    perturbation: float
    error: float
    _eigen: Eigen = field(repr=False)
    _linear: Linear = field(repr=False)
    _layers: tuple[RecurrentLayer, ...] = field(repr=False)

    def states(self, raw: Any) -> np.ndarray:
        """States of the echo state network, (…, columns), from raw ones, (…, 2N)."""
        raw = np.asarray(raw)
        if raw.shape[-1:] != self.mapping.shape[1:]:
            expected = f"(..., {self.mapping.shape[1]})"
            raise ValueError(f"raw must have shape {expected}, got {raw.shape}")
        return raw @ self.mapping.T

    def carry(self, readout: Any) -> CarriedReadout:
        """Make a fitted readout of the echo state network one of the diagonal network.

        Parameters
        ----------
        readout : any fitted predictor
            `Ridge`, `MLP`, or one of scikit-learn's.
        """
        if not hasattr(readout, "predict"):
            raise checks.fail("readout", readout, "a fitted predictor", TypeError)
        check_is_fitted(readout)
        columns = getattr(readout, "n_features_in_", len(self.mapping))
        if columns != len(self.mapping):
            expected = f"one fitted to {len(self.mapping)} columns of states"
            raise ValueError(f"readout must be {expected}, got one of {columns}")
        return CarriedReadout(readout, self.mapping)

    def initial(self, state: Any) -> State:
        r"""Where the diagonal network has to start: :math:`V^{-1} h`.

        Parameters
        ----------
        state : State of the echo state network, or a list of one array per layer
        """
        first = np.asarray(state.layers[0] if isinstance(state, State) else state[0])
        is_single, widths = first.ndim == 1, tuple(layer.units for layer in self._layers)
        count = 1 if is_single else len(first)
        kind = np.dtype(float)
        by_layer = starts(state, fingerprint(self._layers), widths, kind, count, is_single)
        h = np.linalg.solve(self._eigen.vectors, np.concatenate(by_layer, axis=1).T).T
        return State((h[0] if is_single else h,), fingerprint(self.reservoir.layers_))

    # With A' = V diag(lambda) V^-1, B' = V B~ and c' = V c~ as stored, the states h'_t = V h~_t of
    # the diagonal network, and e_t = h_t - h'_t,
    #
    #     e_t = A e_{t-1} + (A - A') h'_{t-1} + (B - B') x_t + (c - c'),    e_0 = 0,
    #
    # so |e_t| <= S(A) (|A - A'| sup|h'| + |B - B'| X + |c - c'|) with S(A) = sum_k |A^k|, and
    # sup|h'| <= sum_k |A'^k B'| X + sum_k |A'^k c'|, where A'^k B' = V diag(lambda)^k B~. This is
    # the paper's lemma with its geometric series summed instead of bounded. All the differences are
    # measured, so they include what the decomposition lost to rounding. Taking the real part of h'
    # can only take from the error.
    #
    # Running the two networks rounds, too: h~_i, at most m_i = sup|B~_i x + c~_i| / (1 - |l_i|), is
    # wrong by a few eps m_i in every step, which adds up to 1 / (1 - |l_i|) times as much and goes
    # through |V|; the product with V is wrong by some eps |V| m; and each step of the echo state
    # network itself by some eps sup|h|, which adds up to S(A) times as much.

    def bound(self, largest_input: float) -> float:
        r"""Bound on the 2-norm of the states' error, at all times, from a zero initial state.

        With :math:`A' = V \Lambda V^{-1}`, :math:`B' = V \tilde B` and :math:`c' = V \tilde c`,
        what the diagonal network stands for, and X the largest input,

        .. math::

            \|h_t - h'_t\| \le \sum_k \|A^k\| \, \Bigl( \|A - A'\| \sum_k
            \bigl( \|A'^k B'\| X + \|A'^k c'\| \bigr) + \|B - B'\| X + \|c - c'\| \Bigr)
            + \text{rounding},

        for all layers' states together. The sums are bounded from above; rounding is estimated from
        the sizes of what is rounded.

        Parameters
        ----------
        largest_input : float
            Largest 2-norm of an input x_t.
        """
        largest = checks.number("largest_input", largest_input, 0.0)
        measured = self._measured
        (layer,) = self.reservoir.layers_
        reach = measured["inputs"] * largest + measured["bias"]  # sup|h'|
        lost = measured["lost_inputs"] * largest + measured["lost_bias"]
        inner = np.linalg.norm(layer.w_in, axis=1) * largest + np.abs(layer.bias)
        slack = 1.0 - np.abs(layer.eigenvalues)
        sizes = np.abs(self._eigen.vectors)
        features = layer.w_in.shape[1]
        ran = (features + 8) * np.linalg.norm(sizes @ (inner / slack**2))
        mapped = np.sqrt(layer.units) * np.linalg.norm(sizes @ (inner / slack))
        other = np.sqrt(layer.units) * 2 * measured["sum"] * reach
        systematic = measured["sum"] * (self.error * reach + lost)
        return float(systematic + _EPS * (ran + mapped + other))

    @cached_property
    def _measured(self) -> dict[str, float]:
        """What the bound consists of, whatever the inputs."""
        (layer,), linear, eigen = self.reservoir.layers_, self._linear, self._eigen
        w_in, bias = layer.w_in, layer.bias[:, None]
        lost = linear.inputs - eigen.vectors @ w_in, linear.bias[:, None] - eigen.vectors @ bias
        return {
            "sum": power_sum(linear.transition),
            "inputs": response_sum(eigen.values, eigen.vectors, w_in),
            "bias": response_sum(eigen.values, eigen.vectors, bias),
            "lost_inputs": norm(lost[0]) + _EPS * norm(eigen.vectors) * norm(w_in),
            "lost_bias": norm(lost[1]) + _EPS * norm(eigen.vectors) * norm(bias),
        }


def diagonalize(
    esn: Any, *, perturb: bool = True, limit: float = 1e8, seed: int = 0
) -> Diagonalization:
    r"""Turn a linear echo state network into an equivalent `ParalESN`.

    With the transition :math:`A = V \Lambda V^{-1}`, leak folded in, and
    :math:`\tilde h = V^{-1} h`, the recurrence :math:`h_t = A h_{t-1} + B x_t + c` becomes

    .. math:: \tilde h_t = \Lambda \tilde h_{t-1} + V^{-1} B x_t + V^{-1} c, \qquad
              h_t = \Re(V \tilde h_t).

    Deep networks are one linear network with a block triangular matrix, and are treated as that.
    Normal matrices, also those with repeated eigenvalues, get unitary eigenvectors. Where the
    eigenvectors' condition is above `limit`, as in defective matrices, which have too few of them,
    a small random matrix is added, of the size for which all errors together are smallest.

    Parameters
    ----------
    esn : fitted reservoir with linear recurrent layers
        ``ESN(linear=True)``, or `ResESN`, `SCR`, `StructuredRC` with it, of any depth, leak, bias.
    perturb : bool
        Whether the transition may be perturbed; if not, an ill-conditioned one is an error.
    limit : float
        Largest condition number of the eigenvectors, at least 1. Rounding may hide a defective
        matrix behind a condition just below the default; 1e6 then gives the smaller errors.
    seed : int
        Of the perturbation.

    Returns
    -------
    Diagonalization

    References
    ----------
    Pinna, Lagomarsini, Ceni, Gallicchio. ParalESN: Enabling parallel information processing in
    reservoir computing. ICML 2026. Its proposition on equivalence and the lemma for its theorem.
    Banks, Kulkarni, Mukherjee, Srivastava. Gaussian regularization of the pseudospectrum and
    Davies' conjecture. Communications on Pure and Applied Mathematics, 2021.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> from paralesn.theory import diagonalize
    >>> x = np.sin(np.arange(300) / 9)
    >>> esn = pe.ESN(units=30, linear=True)
    >>> states, _ = esn.run(x)
    >>> same = diagonalize(esn)
    >>> raw, _ = same.reservoir.run(x)
    >>> error = np.linalg.norm(same.states(raw) - states, axis=1).max()
    >>> bool(error <= same.bound(1.0) < 1e-8)
    True
    >>> readout = pe.Ridge([0.1]).fit(states[50:-1], x[51:])
    >>> bool(np.allclose(same.carry(readout).predict(raw), readout.predict(states)))
    True
    """
    checks.flag("perturb", perturb)
    limit = checks.number("limit", limit, 1.0)
    seed = checks.integer("seed", seed, 0)
    if not isinstance(esn, Recurrent):
        expected = "a reservoir with linear recurrent layers, such as ESN(linear=True)"
        raise checks.fail("esn", esn, expected, TypeError)
    check_is_fitted(esn, "layers_")
    if not all(layer.linear for layer in esn.layers_):
        raise checks.fail("esn", esn, "linear (linear=True): tanh cannot be diagonalised")
    linear = flatten(esn.layers_)
    return _assembled(esn, linear, decompose(linear.transition, limit, perturb, seed))


def _assembled(esn: Any, linear: Linear, eigen: Eigen) -> Diagonalization:
    """The diagonal network that a decomposition of the linear one makes."""
    largest = float(np.abs(eigen.values).max())
    if not largest < 1:
        raise ValueError(f"esn must be stable, got an eigenvalue of absolute value {largest:.17g}")
    both = np.column_stack([linear.inputs, linear.bias])
    inner = np.linalg.solve(eigen.vectors, both)
    if eigen.condition == 1.0:
        inner = eigen.vectors.conj().T @ both
    layer = DiagonalLayer(eigen.values, inner[:, :-1], inner[:, -1], 1.0, np.ones(1), 0.0)
    reservoir = ParalESN.from_layers([layer], mixing=False, engine=esn.engine, n_jobs=esn.n_jobs)
    shown = eigen.vectors if esn.concat else eigen.vectors[-esn.layers_[-1].units :]
    mapping = np.concatenate([shown.real, -shown.imag], axis=1)
    quality = eigen.condition, eigen.perturbation, eigen.error
    return Diagonalization(reservoir, mapping, *quality, eigen, linear, esn.layers_)


def flatten(layers: tuple[RecurrentLayer, ...]) -> Linear:
    """Write linear layers, each reading the one below at the same step, as a single one."""
    rows: list[np.ndarray] = []
    n, start = sum(layer.units for layer in layers), 0
    below = layers[0].w_in.shape[1]
    affine = np.zeros((0, 0))  # what the layer below is, in terms of [h_{t-1}, x_t, 1]
    for layer in layers:
        gain = layer.gain * _dense_inputs(layer, below)
        here = np.zeros((layer.units, n + layers[0].w_in.shape[1] + 1))
        if rows:
            here += gain @ affine
        else:
            here[:, n:-1] = gain
        here[:, start : start + layer.units] += layer.transition()
        here[:, -1] += layer.gain * layer.bias
        rows.append(here)
        affine, below, start = here, layer.units, start + layer.units
    whole = np.concatenate(rows)
    return Linear(whole[:, :n], whole[:, n:-1], whole[:, -1])


def _dense_inputs(layer: RecurrentLayer, below: int) -> np.ndarray:
    """Input weights as a matrix (N, below), also those of a ring."""
    if layer.w_in.ndim == 2:
        return layer.w_in
    matrix, units = np.zeros((layer.units, below)), np.arange(layer.units)
    matrix[units, (units - 1) % below] = layer.w_in
    return matrix

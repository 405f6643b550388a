"""ParalESN: a reservoir with a diagonal linear recurrence, complex or real, shallow or deep."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import pi
from typing import Any, Self

import numpy as np

from paralesn import checks
from paralesn.layers.diagonal import LONGEST_KERNEL, DiagonalLayer, check_diagonal_layers
from paralesn.layers.state import State
from paralesn.persistence import register
from paralesn.reservoirs import tokens
from paralesn.reservoirs.base import Start
from paralesn.reservoirs.drawing import draw_diagonal_layer
from paralesn.reservoirs.stacked import Stacked
from paralesn.series import Series

PHASES = ("random", "even")
# Details of a draw by the name of the draw that they are of.
DRAWS = {
    "paper": {"radii": "uniform", "ring": "random", "kernel": "uniform"},
    "authors": {"radii": "area", "ring": "bare", "kernel": "normalized"},
}


@register
class ParalESN(Stacked):
    r"""Parallel echo state network: untrained, diagonal, linear, then mixed by a convolution.

    Layer by layer, with :math:`z^{(0)}_t = x_t`,

    .. math::

        h_t = \bar\Lambda h_{t-1} + \tau (W_{in} z^{below}_t + b), \qquad
        \bar\Lambda = (1 - \tau) I + \tau\, \mathrm{diag}(\rho_i e^{i\theta_i}),

        z_t = \tanh(\Re(W_{mix} * h_t + b_{mix})).

    The first layer's input weights are dense, those of deeper layers a ring. Every
    :math:`|\bar\lambda_i| < 1`, so the echo state property holds.

    Parameters
    ----------
    units : int
        Units of each layer; of all layers together with `concat`.
    layers : int
    rho : (min, max)
        Radii are uniform on it; 0 <= min <= max < 1.
    theta : (min, max)
        Phases are uniform on it. Without effect when `real`.
    phases : "random" or "even"
        "even" spaces the phases evenly over `theta`, from min on and without max: no two units then
        hear nearly the same frequency, which is what limits the memory of random ones.
    draw : "paper" or "authors"
        How arrays are drawn where the text of the paper and the code that its authors published
        differ: a word for the three parameters that follow, each of which may be set apart.
    radii : "uniform" or "area", optional
        "uniform" (the paper): radii uniform on `rho`. "area" (its authors): uniform in area, so
        that ``radius**2`` is uniform on ``(min**2, max**2)``.
    ring : "random" or "bare", optional
        Ring weights of deeper layers: "random" (the paper), as input weights; "bare" (its authors),
        ``input_scale * sqrt(1 - abs(eigenvalue)**2)`` without a random factor.
    kernel : "uniform" or "normalized", optional
        Mixing kernel: "uniform" (the paper) on [-mix_scale, mix_scale]; "normalized" (its
        authors), the same divided by its norm, so that its norm is `mix_scale`.
    tau : float
        Leaky rate in (0, 1].
    input_scale : float
        Multiplies the input weights, whose real and imaginary parts are uniform on [-1, 1] times
        ``sqrt(1 - abs(eigenvalue)**2)``. 1 is the paper.
    bias_scale, mix_scale, mix_bias_scale : float
        Bias, mixing kernel and mixing bias are uniform on [-scale, scale], in both parts.
    mix_size : int
        Length of the mixing kernel, 1 to 63.
    inter : dict, optional
        Hyperparameters of the layers after the first where they differ from the first's:
        any of rho, theta, phases, radii, ring, kernel, tau, input_scale, bias_scale, mix_scale,
        mix_bias_scale, mix_size.
    concat : bool
        Return the states of all layers side by side, the units divided evenly among the layers
        and the remainder going to the first; otherwise those of the last layer.
    real : bool
        Real-valued variant: eigenvalues are plus or minus the radius, everything else is real.
    mixing : bool
        False returns raw states h, real and imaginary parts side by side. (Layers below the last
        still mix what they hand upwards.)
    vocabulary : int, optional
        Inputs are tokens, whole numbers from 0 to vocabulary - 1, of which a time step holds one.
        They count as the one-hot rows they name, of that many features, which are never made. A
        batch may be filled up with -1 after the end of a series: the series ends there, as it would
        in a list, and `run` returns a list.
    dtype : "float64" or "float32"
    engine : "auto", "cpu", "reference" or "torch"
        "cpu" is compiled and threaded; "reference" is plain NumPy, slow and simple. "torch" runs
        on any device of PyTorch (the extra `torch`): arrays in, arrays out; tensors in, tensors out
        on their device, through which gradients flow.
    device : str or torch.device, optional
        With the engine "torch": where arrays are run (default: the CPU), and where tensors must be
        if it is given. The other engines have no choice.
    n_jobs : int, optional
        Threads; None or -1 uses every core Numba is given. Does not change a bit of the result.
        PyTorch has threads of its own, which this does not set.
    seed : int, None or numpy.random.Generator
        Fixes every drawn array, whatever the engine, dtype and number of threads. A change of one
        hyperparameter does not reshuffle what others draw.

    Attributes
    ----------
    layers_ : tuple of DiagonalLayer
    n_parameters_ : int
        Parameters of the recurrence as the paper counts them: eigenvalues and input weights, a
        complex number counting as one, biases and mixing kernels left out.
    n_features_in_ : int

    References
    ----------
    Pinna, Lagomarsini, Ceni, Gallicchio. ParalESN: Enabling parallel information processing in
    reservoir computing. ICML 2026.

    Examples
    --------
    >>> import numpy as np, paralesn as pe
    >>> states, state = pe.ParalESN(units=128, seed=1).run(np.sin(np.arange(500) / 9))
    >>> states.shape
    (500, 128)
    >>> pe.ParalESN(units=1024, layers=5).fit(np.zeros((10, 1))).n_parameters_
    10240
    """

    LAYER_PARAMETERS = (
        "rho", "theta", "phases", "radii", "ring", "kernel", "tau", "input_scale", "bias_scale",
        "mix_scale", "mix_bias_scale", "mix_size",
    )  # fmt: skip
    SHARED_PARAMETERS = ("draw",)
    FLAGS = ("concat", "real", "mixing")
    check_layers = staticmethod(check_diagonal_layers)

    def __init__(
        self,
        units: int = 128,
        *,
        layers: int = 1,
        rho: tuple[float, float] = (0.0, 0.9),
        theta: tuple[float, float] = (0.0, 2 * pi),
        phases: str = "random",
        draw: str = "paper",
        radii: str | None = None,
        ring: str | None = None,
        kernel: str | None = None,
        tau: float = 1.0,
        input_scale: float = 1.0,
        bias_scale: float = 0.0,
        mix_scale: float = 0.1,
        mix_bias_scale: float = 0.0,
        mix_size: int = 3,
        inter: Mapping[str, Any] | None = None,
        concat: bool = False,
        real: bool = False,
        mixing: bool = True,
        vocabulary: int | None = None,
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
        self.rho = rho
        self.theta = theta
        self.tau = tau
        self.input_scale = input_scale
        self.bias_scale = bias_scale
        self.mix_scale = mix_scale
        self.mix_bias_scale = mix_bias_scale
        self.mix_size = mix_size
        self.real = real
        self.mixing = mixing
        self.phases = phases
        self.draw = draw
        self.radii = radii
        self.ring = ring
        self.kernel = kernel
        self.vocabulary = vocabulary

    def check_hyperparameters(self) -> None:
        """Raise an error that names the first hyperparameter with a wrong value."""
        checks.choice("draw", self.draw, tuple(DRAWS))
        super().check_hyperparameters()
        size, given = tokens.vocabulary(self.vocabulary), self._given()
        if given is not None and size != self.implied_parameters(given)["vocabulary"]:
            expected = self.implied_parameters(given)["vocabulary"]
            raise checks.fail("vocabulary", size, f"{expected}, as given to from_layers")

    def check_layer(self, hyper: Mapping[str, Any], prefix: str) -> None:
        """Check the hyperparameters of a layer."""
        checks.interval(f"{prefix}rho", hyper["rho"], least=0.0, most=1.0, open_right=True)
        checks.interval(f"{prefix}theta", hyper["theta"])
        checks.choice(f"{prefix}phases", hyper["phases"], PHASES)
        for name in DRAWS["paper"]:
            if hyper[name] is not None:
                ways = tuple(details[name] for details in DRAWS.values())
                checks.choice(prefix + name, hyper[name], ways)
        checks.number(f"{prefix}tau", hyper["tau"], 0.0, 1.0, open_left=True)
        for name in ("input_scale", "bias_scale", "mix_scale", "mix_bias_scale"):
            checks.number(prefix + name, hyper[name], 0.0)
        checks.integer(f"{prefix}mix_size", hyper["mix_size"], 1, LONGEST_KERNEL)

    def draw_layer(
        self,
        rng: np.random.Generator,
        width: int,
        below: int,
        is_first: bool,
        hyper: Mapping[str, Any],
    ) -> DiagonalLayer:
        """Draw a layer of `width` units above `below` units or, the first one, features."""
        shape = (width, self.vocabulary or below) if is_first else (width,)
        is_token = is_first and self.vocabulary is not None
        known = {name: value for name, value in hyper.items() if value is not None}
        hyper = DRAWS[self.draw] | known
        return draw_diagonal_layer(rng, width, shape, real=self.real, tokens=is_token, **hyper)

    # -- tokens ----------------------------------------------------------------------------------

    @property
    def n_tokens(self) -> int | None:
        """Number of different tokens that are read, or None where inputs are numbers."""
        if not hasattr(self, "layers_"):
            return tokens.vocabulary(self.vocabulary)
        first = self.layers_[0]
        return first.w_in.shape[1] if first.tokens else None

    def draw_layers(self, n_features: int, rng: np.random.Generator) -> tuple[Any, ...]:
        """Draw the layers for inputs with `n_features` features: of tokens, one."""
        if self.vocabulary is not None and n_features != 1:
            raise ValueError(
                f"X has {n_features} features, but {type(self).__name__} with a vocabulary is "
                "expecting 1 feature as input"
            )
        return super().draw_layers(n_features, rng)

    def parse(
        self, X: Any, n_features: int | None, first_step: int = 0, allow_ended: bool = False
    ) -> Series:
        """X as a Series, of checked tokens without padding where a vocabulary is read."""
        size = self.n_tokens
        if size is None:
            return super().parse(X, n_features, first_step, allow_ended)
        data = super().parse(X, 1, first_step, allow_ended)
        return tokens.read(data, size, first_step, allow_ended)

    def step(self, x: Any, state: Start = None) -> tuple[np.ndarray, State]:
        """One time step, for live data: see `Reservoir.step`; `x` may be a token."""
        if (size := self.n_tokens) is not None:
            tokens.check_step(x, size)
        return super().step(x, state)

    def _step_check(self) -> Callable[[Any], None] | None:
        """Tokens are looked at."""
        size = self.n_tokens
        return None if size is None else partial(tokens.check_step, size=size)

    def check_precision(self, dtype: np.dtype) -> None:
        """Eigenvalues must lie inside the unit circle as `dtype` rounds them, too."""
        for depth, layer in enumerate(self.layers_, 1):
            re, im = layer.eigenvalues.real.astype(dtype), layer.eigenvalues.imag.astype(dtype)
            radius = np.hypot(re, im)
            if not (radius < 1).all():
                raise ValueError(
                    f"eigenvalues of layer {depth} must stay below 1 in absolute value after "
                    f"rounding to {dtype}, got {radius.max()!s}: rho is too close to 1, tau is too "
                    "small, or dtype must be 'float64'"
                )

    def count_parameters(self) -> int:
        """Number of parameters of the drawn recurrence, as the paper counts them."""
        return sum(layer.eigenvalues.size + layer.w_in.size for layer in self.layers_)

    @staticmethod
    def implied_parameters(layers: tuple[DiagonalLayer, ...]) -> dict[str, Any]:
        """Parameters that given layers imply."""
        first = layers[0]
        size = first.w_in.shape[1] if first.tokens else None
        return {"real": not first.is_complex, "vocabulary": size}

    @classmethod
    def from_layers(
        cls,
        layers: Sequence[DiagonalLayer],
        *,
        concat: bool = False,
        mixing: bool = True,
        dtype: Any = "float64",
        engine: str = "auto",
        device: Any = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Build a reservoir from given layers instead of drawing it.

        The first layer's `w_in` is dense, (N, features); a later one's is a ring, (N,), or dense,
        (N, width below). Every eigenvalue must lie inside the unit circle. Hyperparameters that
        describe a draw keep their defaults and mean nothing here.

        Examples
        --------
        >>> import numpy as np, paralesn as pe
        >>> unit = pe.DiagonalLayer(eigenvalues=[0.5], w_in=[[1.0]], bias=[0.0], tau=1.0,
        ...                         mix_kernel=[1.0], mix_bias=0.0)
        >>> res = pe.ParalESN.from_layers([unit], mixing=False)
        >>> res.run([1.0, 0.0, 0.0])[0].ravel()
        array([1.  , 0.5 , 0.25])
        """
        parameters = {
            "mixing": mixing, "dtype": dtype, "engine": engine, "device": device, "n_jobs": n_jobs,
        }  # fmt: skip
        return cls._from_layers(layers, concat, parameters)

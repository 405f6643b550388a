"""A ParalESN as a module of PyTorch, fixed or trained."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, Self

import numpy as np

from paralesn import checks
from paralesn.engines.base import n_columns
from paralesn.engines.torch import advance, matrix_scan
from paralesn.engines.torch.matrix_scan import PlaneLayer, Spectrum
from paralesn.engines.torch.packed_layers import Diagonal
from paralesn.layers.diagonal import DiagonalLayer
from paralesn.reservoirs.paralesn import ParalESN
from paralesn.runtime.pytorch import torch

TRAINABLE = ("eigenvalues", "inputs", "mixing")
_HALVES = (torch.float16, torch.bfloat16)
_SMALLEST = 1e-30  # radius; a decay of infinity would have no derivative
_FASTEST = 1e30  # decay of a step


class ParalESNBlock(torch.nn.Module):
    r"""A ParalESN as a module: (batch, time, features) or (time, features) to mixed states.

    Its tensors are those of a drawn reservoir, as buffers or, where `trainable`, as parameters.
    Eigenvalues are kept as decay and phase,

    .. math:: \lambda = \exp(-e^{\nu} - \epsilon + i \theta), \qquad \epsilon > 0,

    inside the unit circle whatever is learnt: the echo state property holds by construction.

    Parameters
    ----------
    reservoir : ParalESN, optional
        What to draw; one that is drawn already keeps its arrays. Its `concat` and `mixing` hold
        here too, its engine, dtype and device do not.
    features : int
        Input features, for a reservoir that is not drawn yet.
    trainable : bool or names
        Which tensors are parameters: any of "eigenvalues", "inputs" (weights and bias), "mixing"
        (kernel and bias). True is all of them.
    dtype : torch.float32 or torch.float64, optional
        Default: PyTorch's. ``.half()`` and ``.bfloat16()`` leave it alone, since a recurrence in
        half precision would not hold what it has to remember.
    device : optional

    Notes
    -----
    Inputs of half precision are run in float32, and the states rounded to the inputs' precision;
    autocast does not reach inside. ``torch.compile``, ``torch.export`` and ``torch.func`` see plain
    operations on real numbers that are the same for every length and batch, so both may be dynamic;
    elsewhere a faster scan is used, which ``torch.jit`` cannot follow. `export_onnx` writes files.

    Examples
    --------
    >>> import paralesn as pe, torch
    >>> from paralesn.torch import ParalESNBlock
    >>> block = ParalESNBlock(pe.ParalESN(units=32, rho=(0.5, 0.99)), features=3)
    >>> model = torch.nn.Sequential(block, torch.nn.Linear(32, 1))
    >>> model(torch.zeros(8, 100, 3)).shape
    torch.Size([8, 100, 1])
    """

    def __init__(
        self,
        reservoir: ParalESN | None = None,
        features: int = 1,
        *,
        trainable: bool | Sequence[str] = False,
        dtype: torch.dtype | None = None,
        device: Any = None,
    ) -> None:
        super().__init__()
        reservoir = ParalESN() if reservoir is None else reservoir
        if not isinstance(reservoir, ParalESN):
            raise checks.fail("reservoir", reservoir, "a ParalESN", TypeError)
        if reservoir.n_tokens is not None:
            raise checks.fail("reservoir", reservoir, "one that reads numbers, not tokens")
        if not hasattr(reservoir, "layers_"):
            features = checks.integer("features", features, 1)
            reservoir = ParalESN(**reservoir.get_params()).fit(np.zeros((1, features)))
        dtype = torch.get_default_dtype() if dtype is None else dtype
        if dtype not in (torch.float32, torch.float64):
            raise checks.fail("dtype", dtype, "torch.float32 or torch.float64")
        self.features = reservoir.n_features_in_
        self.concat, self.mixing = bool(reservoir.concat), bool(reservoir.mixing)
        self.trainable = _names(trainable)
        below, layers = self.features, []
        for layer in reservoir.layers_:
            layers.append(_Layer(layer, below, self.trainable, dtype, device))
            below = layer.units
        self.layers = torch.nn.ModuleList(layers)
        self.outputs = n_columns(reservoir.layers_, self.concat, self.mixing)

    def forward(
        self,
        x: torch.Tensor,
        state: Sequence[torch.Tensor] | None = None,
        return_state: bool = False,
    ) -> Any:
        """States of every time step.

        Parameters
        ----------
        x : (batch, time, features) or (time, features)
        state : sequence of tensors, optional
            One per layer, (batch, units) or (units,), as an earlier call returned them.
        return_state : bool
            Return the state to continue from as well.
        """
        if torch.jit.is_tracing():  # type: ignore[attr-defined]
            raise NotImplementedError(
                "torch.jit.trace would hold for one length only; use torch.export.export, or "
                "paralesn.torch.export_onnx for ONNX"
            )
        if x.ndim not in (2, 3) or x.shape[-1] != self.features or not x.shape[-2]:
            raise ValueError(
                f"x must be (batch, time, {self.features}) or (time, {self.features}), got "
                f"{tuple(x.shape)}"
            )
        dtype = self._each()[0].log_decay.dtype
        if x.dtype not in (dtype, *_HALVES):
            raise TypeError(f"x must be {dtype} as the block, or of half precision, got {x.dtype}")
        batch = x if x.ndim == 3 else x.unsqueeze(0)
        with _without_autocast(x.device.type):
            z, after = self._run(batch.to(dtype), state)
        z = z.to(x.dtype)
        if x.ndim == 2:
            z, after = z[0], tuple(h[0] for h in after)
        return (z, after) if return_state else z

    def _run(
        self, x: torch.Tensor, state: Sequence[torch.Tensor] | None
    ) -> tuple[torch.Tensor, advance.State]:
        given = None if state is None else self._checked(state, x.shape[0])
        if torch.compiler.is_compiling() or _is_transformed(x, *(given or ()), *self.parameters()):
            pairs = None if given is None else [_as_pairs(h) for h in given]
            z, ends = self.run_pairs(x, pairs)
            layers_of = zip(ends, self._each(), strict=True)
            return z, tuple(_from_pairs(h, layer.is_complex) for h, layer in layers_of)
        layers = [layer() for layer in self._each()]
        before = _zeros(layers, x.shape[0]) if given is None else given
        whole = advance.wants_gradients(x, *before, *self.parameters())
        if whole:
            z, states = advance.advance(layers, x, before, self.concat, self.mixing)
            return z, advance.ends(states, before, None, 0)
        with torch.no_grad():
            z = torch.empty((*x.shape[:2], self.outputs), dtype=x.dtype, device=x.device)
            group = advance.Group(x, None, np.arange(x.shape[0]))
            return z, advance.run(layers, group, before, self.concat, self.mixing, z)

    def run_pairs(
        self, x: torch.Tensor, state: Sequence[torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """States and the state to continue from, without complex numbers, for any length at once.

        Parameters
        ----------
        x : (batch, time, features)
        state : sequence of tensors, optional
            One per layer, (batch, units, 2) with real and imaginary parts, or (batch, units) where
            the reservoir is real. Default: zero.

        Returns
        -------
        states : (batch, time, outputs)
        state : tuple of tensors, as the argument
        """
        layers = [layer.in_planes() for layer in self._each()]
        if state is None:
            state = tuple(
                x.new_zeros((x.shape[0], *shape), dtype=layers[0].taps.dtype)
                for shape in self.state_shapes
            )
        return matrix_scan.advance(layers, x, state, self.concat, self.mixing)

    @property
    def state_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of one series' state in each layer, as `run_pairs` takes it."""
        return tuple(
            (layer.log_decay.shape[0], 2) if layer.is_complex else (layer.log_decay.shape[0],)
            for layer in self._each()
        )

    def __prepare_scriptable__(self) -> Any:  # asked for by torch.jit.script
        """Refuse what cannot be scripted."""
        raise NotImplementedError(
            "torch.jit.script cannot compile a ParalESNBlock; use torch.compile or torch.export"
        )

    def _each(self) -> "list[_Layer]":
        return list(self.layers)  # type: ignore[arg-type]

    def _checked(self, state: Sequence[torch.Tensor], count: int) -> advance.State:
        """States of so many series, (count, units) each."""
        layers = self._each()
        if len(state) != len(layers):
            raise ValueError(f"state must hold {len(layers)} tensors, got {len(state)}")
        batched = [h.unsqueeze(0) if h.ndim == 1 else h for h in state]
        for depth, (h, layer) in enumerate(zip(batched, layers, strict=True), 1):
            units = layer.log_decay.shape[0]
            if h.shape != (count, units):
                raise ValueError(
                    f"state of layer {depth} must be ({count}, {units}), got {tuple(h.shape)}"
                )
        return tuple(batched)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """Move and convert as any module does, but never to half precision."""

        def careful(tensor: torch.Tensor) -> torch.Tensor:
            moved = fn(tensor)
            return tensor.to(moved.device) if moved.dtype in _HALVES else moved

        return super()._apply(careful, recurse)

    def to_reservoir(
        self,
        *,
        dtype: Any = "float64",
        engine: str = "auto",
        device: Any = None,
        n_jobs: int | None = None,
    ) -> ParalESN:
        """A `ParalESN` with the arrays as they are now, to run without PyTorch.

        Parameters are those of `ParalESN.from_layers`.
        """
        return ParalESN.from_layers(
            [layer.drawn() for layer in self._each()], concat=self.concat, mixing=self.mixing,
            dtype=dtype, engine=engine, device=device, n_jobs=n_jobs,
        )  # fmt: skip


def _without_autocast(device: str) -> Any:
    """A context without automatic casting, entered only where there is some."""
    if torch.is_autocast_enabled(device):
        return torch.autocast(device_type=device, enabled=False)
    return nullcontext()


def _is_transformed(*tensors: torch.Tensor) -> bool:
    """Whether ``torch.func`` looks on, whose transforms bear no writing in place."""
    asked = getattr(torch._C._functorch, "is_functorch_wrapped_tensor", None)
    return asked is not None and any(map(asked, tensors))


def _as_pairs(h: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(h) if h.is_complex() else h


def _from_pairs(pairs: torch.Tensor, is_complex: bool) -> torch.Tensor:
    return torch.view_as_complex(pairs.contiguous()) if is_complex else pairs


def _zeros(layers: Sequence[Diagonal], count: int) -> advance.State:
    """States of series that begin."""
    return tuple(
        torch.zeros(
            (count, layer.units), dtype=layer.eigenvalues.dtype, device=layer.eigenvalues.device
        )
        for layer in layers
    )


def _names(trainable: bool | Sequence[str]) -> tuple[str, ...]:
    if isinstance(trainable, bool):
        return TRAINABLE if trainable else ()
    if isinstance(trainable, str) or not isinstance(trainable, Iterable):
        raise checks.fail("trainable", trainable, "True, False or a list of names", TypeError)
    return tuple(checks.choice("trainable", name, TRAINABLE) for name in trainable)


def _margin(dtype: torch.dtype) -> float:
    """What keeps a radius below one after it is rounded and turned."""
    return 2 * float(torch.finfo(dtype).eps)


class _Layer(torch.nn.Module):
    """Tensors of a layer: buffers, or parameters where they are trainable."""

    log_decay: torch.Tensor  # (N,)
    turn: torch.Tensor  # (N,): phase, or the sign of a real eigenvalue
    # p planes: two where complex, real and imaginary parts; otherwise one
    w_in: torch.Tensor  # (F, p N), or (N, p) for a ring
    bias: torch.Tensor  # (p N,), or (N, p) for a ring
    taps: torch.Tensor  # (p, k)
    mix_bias: torch.Tensor  # ()
    ring: torch.Tensor | None

    def __init__(
        self,
        layer: DiagonalLayer,
        below: int,
        trainable: Sequence[str],
        dtype: torch.dtype,
        device: Any,
    ) -> None:
        super().__init__()
        self.is_complex, is_ring = layer.is_complex, layer.w_in.ndim == 1

        def planes(array: Any) -> np.ndarray:
            """Complex numbers as pairs of real ones."""
            array = np.ascontiguousarray(array)
            return array[..., None].view(float) if layer.is_complex else array[..., None]

        decay = -np.log(np.maximum(np.abs(layer.eigenvalues), _SMALLEST)) - _margin(dtype)
        turn = np.angle(layer.eigenvalues) if layer.is_complex else np.sign(layer.eigenvalues)
        w_in, bias = layer.tau * layer.w_in, layer.tau * layer.bias
        taps = (
            planes(layer.mix_kernel).T * np.array([[1.0], [-1.0]])[: 2 if layer.is_complex else 1]
        )
        dense = planes(w_in.T if not is_ring else w_in)
        values = {
            "log_decay": np.log(np.maximum(decay, _SMALLEST)),
            "turn": turn,
            "w_in": dense if is_ring else dense.reshape(below, -1),
            "bias": planes(bias) if is_ring else planes(bias).ravel(),
            "taps": taps,
            "mix_bias": np.real(layer.mix_bias),
        }
        owners = dict(zip(values, ("eigenvalues",) * 2 + ("inputs",) * 2 + ("mixing",) * 2,
                          strict=True))  # fmt: skip
        for name, value in values.items():
            tensor = torch.tensor(np.array(value, order="C"), dtype=dtype, device=device)
            is_sign = name == "turn" and not layer.is_complex
            if owners[name] in trainable and not is_sign:
                self.register_parameter(name, torch.nn.Parameter(tensor))
            else:
                self.register_buffer(name, tensor)
        ring = (np.arange(layer.units) - 1) % below
        indices = torch.from_numpy(ring).to(device) if is_ring else None
        self.register_buffer("ring", indices, persistent=False)

    def forward(self) -> Diagonal:
        """The layer as the engine wants it."""
        radius = torch.exp(-torch.exp(self.log_decay) - _margin(self.log_decay.dtype))
        is_ring = self.ring is not None
        eigenvalues = radius * self.turn
        if self.is_complex:
            eigenvalues = torch.complex(
                radius * torch.cos(self.turn), radius * torch.sin(self.turn)
            )

        def joined(planes: torch.Tensor) -> torch.Tensor:
            return torch.view_as_complex(planes) if self.is_complex else planes[..., 0]

        return Diagonal(
            eigenvalues=eigenvalues,
            w_in=joined(self.w_in) if is_ring else self.w_in,
            bias=joined(self.bias) if is_ring else self.bias,
            ring=self.ring,
            taps=self.taps,
            mix_bias=self.mix_bias,
            left=(self.taps.shape[1] - 1) // 2,
        )

    def in_planes(self) -> PlaneLayer:
        """The layer for a graph of open length."""
        # A decay of infinity times a lag of zero would be no number.
        decay = torch.exp(self.log_decay).clamp(max=_FASTEST) + _margin(self.log_decay.dtype)
        # A real eigenvalue below zero turns by half.
        turns = (
            self.turn / matrix_scan.full_turn(self.turn) if self.is_complex else (1 - self.turn) / 4
        )
        spectrum = Spectrum(-decay, turns - torch.floor(turns), self.is_complex)
        return PlaneLayer(spectrum, self.w_in, self.bias, self.ring, self.taps, self.mix_bias)

    def drawn(self) -> DiagonalLayer:
        """The layer as arrays, tau being part of the weights."""
        with torch.no_grad():
            layer = self()
            eigenvalues = layer.eigenvalues.cpu().numpy()
            taps = self.taps.double().cpu().numpy()
            kernel = taps[0] - 1j * taps[1] if self.is_complex else taps[0]
            w_in, bias = (t.detach().double().cpu().numpy() for t in (self.w_in, self.bias))
        if self.is_complex:
            w_in, bias = (np.ascontiguousarray(planes).view(complex) for planes in (w_in, bias))
        is_ring = self.ring is not None
        return DiagonalLayer(
            eigenvalues=eigenvalues.astype(complex if self.is_complex else float),
            w_in=w_in[:, 0] if is_ring else w_in.T,
            bias=bias[:, 0] if is_ring else bias,
            tau=1.0,
            mix_kernel=kernel,
            mix_bias=kernel.dtype.type(self.mix_bias.item()),
        )

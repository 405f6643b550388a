"""Other people's way of doing the same job, as they would write it."""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from paralesn import DiagonalLayer, RecurrentLayer, operators

States = Callable[[], Any]


def reservoirpy_esn(x: np.ndarray, units: int) -> States:
    """reservoirpy's reservoir of the same size."""
    from reservoirpy.nodes import Reservoir

    reservoir = Reservoir(units=units, lr=1.0, sr=0.9, seed=0)
    return lambda: reservoir.run(x)


def reservoirpy_other(name: str, x: np.ndarray, units: int) -> States:
    """reservoirpy's NVAR (of so many delays), ES2N, or reservoir with intrinsic plasticity."""
    from reservoirpy import nodes

    if name == "NVAR":
        node: Any = nodes.NVAR(delay=units, order=2)
    elif name == "ES2N":
        node = nodes.ES2N(units, proximity=0.1, sr=0.9, rc_connectivity=1.0, seed=0)
    else:
        node = nodes.IPReservoir(units, sr=0.9, sigma=0.2, rc_connectivity=1.0, seed=0)
        node.fit(x)
    return lambda: node.run(x)


def reservoirpy_batch(X: np.ndarray, units: int, density: float) -> States:
    """reservoirpy's reservoir on series X (B, T, F), one after the other as it does."""
    from reservoirpy.nodes import Reservoir

    reservoir = Reservoir(units=units, lr=1.0, sr=0.9, rc_connectivity=density, seed=0)
    return lambda: reservoir.run(X if len(X) > 1 else X[0])


def circular_layer(units: int) -> RecurrentLayer:
    """An echo state layer whose spectral radius is 0.9 by the circular law, without a search."""
    rng = np.random.default_rng(0)
    matrix = rng.uniform(-1, 1, (units, units)) * (0.9 / np.sqrt(units / 3))
    return RecurrentLayer(
        recurrent=operators.Dense(matrix),
        w_in=rng.uniform(-1, 1, (units, 1)),
        bias=np.zeros(units),
        branch=operators.Identity(units, 0.0),
        gain=1.0,
    )


def reservoirpy_fit(x: np.ndarray, y: np.ndarray, units: int, washout: int) -> States:
    """reservoirpy's reservoir and ridge readout, one penalty, fitted to a series."""
    from reservoirpy.nodes import Reservoir, Ridge

    model = Reservoir(units=units, lr=1.0, sr=0.9, seed=0) >> Ridge(ridge=1e-6)
    return lambda: model.fit(x, y, warmup=washout)


def scan_and_ridges(
    scan: States, y: np.ndarray, alphas: tuple[float, ...], washout: int
) -> list[Any]:
    """States from a scan, then scikit-learn's Ridge by SVD for every penalty."""
    from sklearn.linear_model import Ridge

    states = scan().numpy()[washout:].astype(float)
    return [Ridge(alpha, solver="svd").fit(states, y[washout:]) for alpha in alphas]


def numpy_esn(x: np.ndarray, units: int) -> States:
    """A plain NumPy echo state network loop."""
    rng = np.random.default_rng(0)
    w = rng.uniform(-1, 1, (units, units))
    w *= 0.9 / np.abs(np.linalg.eigvals(w)).max()
    w_in = rng.uniform(-1, 1, (units, x.shape[1]))

    def states() -> np.ndarray:
        found = np.empty((len(x), units))
        h = np.zeros(units)
        for t in range(len(x)):
            h = np.tanh(w @ h + w_in @ x[t])
            found[t] = h
        return found

    return states


def associative_scan(eigenvalues: Any, u: Any) -> Any:
    """States (T, N) of a recurrence driven by `u`, by the recursive scan that papers use.

    As published, eigenvalues are tiled over time, both factors are scanned, and halves are
    interleaved by concatenating, padding, stacking and flattening.
    """
    import torch

    def combine(first: Any, second: Any) -> Any:
        return second[0] * first[0], torch.addcmul(second[1], second[0], first[1])

    def interleave(even: Any, odd: Any) -> Any:
        steps = even.shape[0] + odd.shape[0]
        if even.shape[0] > odd.shape[0]:
            odd = torch.nn.functional.pad(odd, (0, 0, 0, 1))
        return torch.stack([even, odd], dim=1).flatten(0, 1)[:steps]

    def scan(elements: Any) -> Any:  # (T, N) each
        steps = elements[0].shape[0]
        if steps < 2:
            return elements
        odd = scan(combine([e[:-1:2] for e in elements], [e[1::2] for e in elements]))
        if steps == 2:
            even = [e[:1] for e in elements]
        else:
            shorter = [e[: (steps - 1) // 2] for e in odd]
            combined = combine(shorter, [e[2::2] for e in elements])
            even = [torch.cat([e[:1], c]) for e, c in zip(elements, combined, strict=True)]
        return [interleave(e, o) for e, o in zip(even, odd, strict=True)]

    return scan([eigenvalues.tile(u.shape[0], 1), u])[1]


def torch_scan(x: np.ndarray, layer: DiagonalLayer) -> States:
    """The published way: recursive scan in complex64 over a batch by vmap, then the convolution."""
    import torch

    def tensor(array: Any) -> Any:
        return torch.tensor(array, dtype=torch.complex64)

    inputs, eigenvalues, w_in = tensor(x[None]), tensor(layer.eigenvalues), tensor(layer.w_in.T)
    bias, kernel = tensor(layer.bias), tensor(layer.mix_kernel)[None, None]
    mix_bias = tensor(layer.mix_bias)[None]

    def states() -> Any:
        with torch.no_grad():
            drive = layer.tau * (inputs @ w_in + bias)
            h = torch.vmap(lambda one: associative_scan(eigenvalues, one))(drive)
            rows = h.view(-1, 1, h.shape[-1])
            mixed = torch.nn.functional.conv1d(rows, kernel, mix_bias, padding="same")
            return torch.tanh(mixed.view(h.shape).real)[0]

    return states


def jax_scan(x: np.ndarray, layer: DiagonalLayer) -> States:
    """JAX's associative scan, compiled, then the mixing convolution."""
    import jax
    import jax.numpy as jnp

    inputs = jnp.asarray(x, jnp.complex64)
    eigenvalues, w_in, bias, kernel = (
        jnp.asarray(array, jnp.complex64)
        for array in (layer.eigenvalues, layer.w_in, layer.bias, layer.mix_kernel)
    )

    def combine(first: Any, second: Any) -> Any:
        return first[0] * second[0], second[0] * first[1] + second[1]

    @jax.jit
    def states() -> Any:
        drive = layer.tau * (inputs @ w_in.T + bias)
        decay = jnp.broadcast_to(eigenvalues, drive.shape)
        _, h = jax.lax.associative_scan(combine, (decay, drive))
        left = (kernel.size - 1) // 2
        padded = jnp.pad(h, ((0, 0), (left, kernel.size - 1 - left)))
        units = h.shape[1]
        mixed = sum(kernel[j] * padded[:, j : j + units] for j in range(kernel.size))
        return jnp.tanh(jnp.real(mixed) + float(layer.mix_bias.real))

    return lambda: states().block_until_ready()


_CPP = """
#include <cmath>
template <class R> static void run(const R* x, long T, long N, long K, const R* lr, const R* li,
    const R* wr, const R* wi, const R* br, const R* bi, const R* kr, const R* ki, R mb, R* z,
    R* hr, R* hi) {
  R* __restrict__ a = hr + (K - 1) / 2;
  R* __restrict__ c = hi + (K - 1) / 2;
  for (long t = 0; t < T; t++) {
    R u = x[t];
    for (long i = 0; i < N; i++) {
      R r = a[i], m = c[i];
      a[i] = lr[i] * r - li[i] * m + wr[i] * u + br[i];
      c[i] = lr[i] * m + li[i] * r + wi[i] * u + bi[i];
    }
    R* __restrict__ o = z + t * N;
    for (long i = 0; i < N; i++) {
      R s = mb;
      for (long j = 0; j < K; j++) s += kr[j] * hr[i + j] - ki[j] * hi[i + j];
      o[i] = std::tanh(s);
    }
  }
}
#define RUN(R, name) extern "C" void name(const R* x, long T, long N, const R* lr, const R* li, \\
    const R* wr, const R* wi, const R* br, const R* bi, const R* kr, const R* ki, R mb, R* z, \\
    R* hr, R* hi) { run<R>(x, T, N, 3, lr, li, wr, wi, br, bi, kr, ki, mb, z, hr, hi); }
RUN(double, run64)
RUN(float, run32)
"""


def cpp_kernel(x: np.ndarray, layer: DiagonalLayer, dtype: str) -> States | None:
    """A straightforward C++ kernel, -Ofast -march=native and vector libm; None without g++."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "kernel.cpp", Path(folder) / "kernel.so"
        source.write_text(_CPP)
        flags = ["-Ofast", "-march=native", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
        function = getattr(ctypes.CDLL(str(library)), "run64" if dtype == "float64" else "run32")
    steps, units = x.shape[0], layer.eigenvalues.size
    eigenvalues, w, bias, kernel = (
        layer.eigenvalues, layer.tau * layer.w_in[:, 0], layer.tau * layer.bias, layer.mix_kernel
    )  # fmt: skip
    arrays = [
        np.ascontiguousarray(part, dtype)
        for values in (eigenvalues, w, bias, kernel)
        for part in (values.real, values.imag)
    ]
    inputs = np.ascontiguousarray(x[:, 0], dtype)
    real = ctypes.c_double if dtype == "float64" else ctypes.c_float

    def states() -> np.ndarray:
        z = np.empty((steps, units), dtype)
        h = np.zeros((2, units + 2), dtype)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        function(
            ctypes.c_void_p(inputs.ctypes.data), ctypes.c_long(steps), ctypes.c_long(units),
            *pointers, real(layer.mix_bias.real), ctypes.c_void_p(z.ctypes.data),
            ctypes.c_void_p(h[0].ctypes.data), ctypes.c_void_p(h[1].ctypes.data),
        )  # fmt: skip
        return z

    return states

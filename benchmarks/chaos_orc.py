"""Contestants of OpenReservoirComputing (ORC, in JAX) for closed-loop forecasts of chaotic series.

What is compiled is kept from one configuration to the next, wherever sizes are the same. By itself
ORC compiles everything anew for each of them, as its models hold the seed, their numbers and the
function of a quadratic readout as constants of the program. Here the parts that differ, with their
numbers as arrays, are put into the first model of that size, as ORC's own `set_embedding` does it.
"""

from functools import cache
from typing import Any, ClassVar

import numpy as np

from benchmarks.chaos_rivals import WASHOUT, Loop, Space, blank_lost, draw_from


class OrcESN:
    """ORC's ESNForecaster, fitted by train_RCForecaster.

    The space holds the defaults and what the notebooks choose. Those leave the series as they are:
    the default embedding of Lorenz-63 is 0.65 in standard deviations of its input.
    """

    name = "ORC ESN"
    space: ClassVar[Space] = {
        "Wr_spectral_radius": (0.1, 0.4, 0.8, 1.0, 1.2, 1.5),
        "leak_rate": (0.1, 0.2, 0.4, 0.6, 0.8, 1.0),
        "embedding_scaling": (0.03, 0.08, 0.2, 0.65, 1.5),
        "bias": (0.0, 0.2, 0.5, 1.0, 1.6, 2.0),
        "Wr_density": (0.02, 0.05, 0.2),
        "quadratic": (False, True),
        "beta": (1e-12, 1e-10, 1e-9, 1e-8, 8e-8, 1e-6),
    }

    def __init__(self) -> None:
        self._first: dict[tuple[Any, ...], Any] = {}

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a random configuration."""
        return draw_from(self.space, rng)

    def fit(self, hyper: dict[str, Any], seed: int, units: int, train: np.ndarray) -> Loop:
        """Fit in float64; the loop compiles once for each number of places, values and steps."""
        orc = _orc()
        hyper = dict(hyper)
        beta, noise = hyper.pop("beta"), hyper.pop("noise", 0.0)
        model = self._model(hyper, seed, units, train.shape[1])
        noisy = train + noise * np.random.default_rng(seed).normal(size=train.shape)
        # Float32 inputs would make everything float32.
        inputs, targets = (np.asarray(x, np.float64) for x in (noisy[:-1], train[1:]))
        if units <= 1024:
            model = _densified(model)
        model, _ = orc.forecaster.train_RCForecaster(
            model, _array(inputs), _array(targets), spinup=WASHOUT, beta=beta
        )
        # Many places at once are a product of matrices, where being sparse saves less.
        if hyper["Wr_density"] >= 0.05:
            model = _densified(model)

        def loop(known: np.ndarray, steps: int) -> np.ndarray:
            forecasts = _forecasts()(model, _array(np.asarray(known, np.float64)), steps)
            return blank_lost(np.asarray(forecasts))

        return loop

    def _model(self, hyper: dict[str, Any], seed: int, units: int, features: int) -> Any:
        """A model that shares the compiled programs of the first one of its size."""
        import equinox as eqx

        # Of small matrices all eigenvalues take no longer than the largest, and compile faster.
        sparse_eigenvalues = units > 256
        model = _orc().forecaster.ESNForecaster(
            features, units, seed=seed, use_sparse_eigs=sparse_eigenvalues, **hyper
        )
        sizes = (features, units, *(hyper.get(k) for k in ("quadratic", "chunks", "locality")))
        first = self._first.setdefault(sizes, model)
        parts = (_traced(model.driver), _traced(model.embedding))
        return eqx.tree_at(lambda m: (m.driver, m.embedding), first, parts)


class OrcParallelESN(OrcESN):
    """ORC's parallel reservoirs for systems on a ring: a chunk of the variables each.

    Every reservoir has `units` units, and sees `locality` neighbours on either side of its chunk.
    The notebook on Kuramoto-Sivashinsky adds noise to what it learns from; here it is added to
    inputs only, which teaches the same and leaves targets true.
    """

    name = "ORC parallel ESN"
    space: ClassVar[Space] = {
        "Wr_spectral_radius": (0.1, 0.4, 0.7, 0.9, 1.2),
        "leak_rate": (0.3, 0.5, 0.6, 0.8, 1.0),
        "embedding_scaling": (0.005, 0.02, 0.08, 0.2, 0.5),
        "bias": (0.5, 1.0, 1.6, 2.0),
        "Wr_density": (0.02, 0.1),
        "quadratic": (False, True),
        "beta": (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4),
        "noise": (0.0, 3e-4, 1e-3, 3e-3, 1e-2),
    }

    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a random configuration, with chunks that share out the variables evenly."""
        sizes = [n for n in (4, 8, 16) if n < self.features and self.features % n == 0]
        if not sizes:
            raise ValueError(f"{self.features} variables cannot be shared out in even chunks")
        size = draw_from({"size": sizes}, rng)["size"]
        reach = draw_from({"locality": (size // 2, size, size + size // 2)}, rng)
        return {**draw_from(self.space, rng), "chunks": self.features // size, **reach}


def _orc() -> Any:
    """ORC in double precision, which it asks to be chosen before it is imported."""
    import jax

    config: Any = jax.config  # its methods are untyped
    config.update("jax_enable_x64", True)
    import orc

    return orc


def _array(values: np.ndarray) -> Any:
    import jax.numpy as jnp

    return jnp.asarray(values)


def _traced(module: Any) -> Any:
    """The same with its numbers as arrays, which are arguments of compiled programs."""
    import jax
    import jax.numpy as jnp

    return jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, float) else leaf, module)


def _densified(model: Any) -> Any:
    """The same with recurrent matrices that are not sparse: faster unless they are very large."""
    import equinox as eqx
    from jax.experimental.sparse import BCOO

    if not isinstance(model.driver.wr, BCOO):
        return model
    dense = model.driver.wr.todense()
    return eqx.tree_at(
        lambda m: m.driver.wr, model, dense, is_leaf=lambda leaf: isinstance(leaf, BCOO)
    )


@cache
def _forecasts() -> Any:
    """The compiled forecasts of a model from the values known before each place."""
    import equinox as eqx

    def forecasts(model: Any, known: Any, steps: int) -> Any:
        return eqx.filter_vmap(lambda one: model.forecast_from_IC(steps, one))(known)

    return eqx.filter_jit(forecasts)

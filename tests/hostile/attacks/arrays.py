"""Odd arrays: whatever holds the numbers, and however they lie in memory, results are the same."""

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import paralesn as pe

CHECK_BOUNDS = True
CASES = 200

RESERVOIRS: dict[str, Callable[..., Any]] = {
    "shallow": lambda **how: pe.ParalESN(9, **how),
    "deep": lambda **how: pe.ParalESN(7, layers=2, **how),
    "real": lambda **how: pe.ParalESN(8, real=True, **how),
    "concat": lambda **how: pe.ParalESN(9, layers=2, concat=True, **how),
    "raw": lambda **how: pe.ParalESN(5, mixing=False, **how),
    "single": lambda **how: pe.ParalESN(8, dtype="float32", **how),
    "esn": lambda **how: pe.ESN(7, **how),
    "single esn": lambda **how: pe.ESN(9, dtype="float32", **how),
    "linear": lambda **how: pe.ESN(6, linear=True, **how),
    "residual": lambda **how: pe.ResESN(6, **how),
    "ring": lambda **how: pe.SCR(8, **how),
    "structured": lambda **how: pe.StructuredRC(8, **how),
    "edge": lambda **how: pe.ES2N(5, **how),
    "delays": lambda **how: pe.NVAR(**how),
}
READOUTS: dict[str, Callable[[], Any]] = {
    "ridge": lambda: pe.Ridge(alphas=[1.0]),
    "dual": lambda: pe.DualRidge(alphas=[1.0]),
}
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "regressor": lambda: pe.ReservoirRegressor(pe.ParalESN(5), washout=0),
    "classifier": lambda: pe.ReservoirClassifier(pe.PooledStates(pe.ParalESN(5))),
}
FLOATS = ("float64", "float32", "float16", "longdouble")
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NO_NUMBERS = ("complex64", "complex128", "text", "objects of text")
SPECIAL = {
    "nan": np.nan, "inf": np.inf, "-inf": -np.inf, "-0": -0.0, "subnormal": 5e-324, "tiny": 1e-40,
    "1e308": 1e308, "-1e308": -1e308, "3e38": 3e38, "1e30": 1e30, "2**53+1": 2**53 + 1,
    "1e5": 1e5,
}  # fmt: skip
LAYOUTS = (
    "C", "Fortran", "reversed", "reversed features", "every second", "every second feature",
    "broadcast", "swapped", "unaligned", "read-only", "memmap", "unmasked", "masked", "subclass",
    "matrix", "lists", "frame",
)  # fmt: skip
HUGE = 1e3  # from here on, rounding is no longer small beside states of size 1

PIECES = st.fixed_dictionaries({
    "times": st.sampled_from((2, 1, 7, 8, 9, 63, 64, 65, 100) * 2 + (0,)),
    "dtype": st.sampled_from(FLOATS * 4 + WHOLE + ("bool", "object", "object") + NO_NUMBERS),
    "layout": st.sampled_from(LAYOUTS),
    "planted": st.one_of(
        st.just([]),
        st.lists(st.tuples(st.integers(0, 300), st.sampled_from(sorted(SPECIAL))), max_size=2),
    ),
})  # fmt: skip
RECIPES = st.fixed_dictionaries({
    "target": st.sampled_from([*RESERVOIRS] * 8 + [*READOUTS] * 8 + [*ESTIMATORS]),
    "way": st.sampled_from(("run", "stream", "last", "pool", "step")),
    "block": st.sampled_from((1, 2, 7, 8, 64, 1000)),
    "features": st.integers(1, 3),
    "flat": st.booleans(),
    "batch": st.sampled_from((None, None, 1, 2, 3, "ragged")),
    "pieces": st.lists(PIECES, min_size=1, max_size=3),  # more than one only if ragged
    "seed": st.integers(0, 2**16),
})  # fmt: skip


class Sub(np.ndarray):
    """An array by another name."""


# -- the arrays ------------------------------------------------------------------------------------


def content(recipe: dict[str, Any], number: int) -> np.ndarray:
    """The values of a piece in its dtype, as a plain array."""
    piece, batch = recipe["pieces"][number], recipe["batch"]
    shape = (piece["times"], recipe["features"])
    shape = (batch, *shape) if isinstance(batch, int) else shape
    draw = np.random.default_rng([recipe["seed"], number])
    values = draw.normal(size=shape)
    for place, name in piece["planted"] if values.size else ():
        values.flat[place % values.size] = SPECIAL[name]
    if piece["layout"] == "broadcast":
        values = np.repeat(values[..., :1, :], piece["times"], axis=-2)
    if recipe["flat"] and recipe["features"] == 1 and not isinstance(batch, int):
        values = values[:, 0]
    with np.errstate(all="ignore"):
        return _as_dtype(values, piece["dtype"], draw)


def _as_dtype(values: np.ndarray, dtype: str, draw: np.random.Generator) -> np.ndarray:
    if dtype == "bool":
        return values > 0
    if dtype in WHOLE:
        limits = np.iinfo(dtype)
        numbers = [
            min(max(int(5 * v if abs(v) < 1e6 else v), limits.min), limits.max)
            for v in np.nan_to_num(values).ravel().tolist()
        ]
        return np.array(numbers, dtype).reshape(values.shape)
    if dtype == "text":
        return np.full(values.shape, "some text")
    if dtype not in ("object", "objects of text"):
        return values.astype(dtype)
    objects = np.empty(values.shape, object)
    missing = (None, pd.NA, np.nan)[int(draw.integers(3))]
    kinds = (float, np.float32, lambda v: int(v) if np.isfinite(v) else float(v))
    for place, value in enumerate(values.ravel().tolist()):
        kind = kinds[int(draw.integers(3))]
        objects.flat[place] = missing if np.isnan(value) else kind(value)
    if dtype == "objects of text" and objects.size:
        objects.flat[int(draw.integers(objects.size))] = "text"
    return objects


def laid_out(base: np.ndarray, layout: str, path: Path) -> Any:
    """The same values, held otherwise."""
    is_stored = base.dtype != object and base.size > 0
    if layout == "Fortran":
        return np.asfortranarray(base)
    if layout.startswith("reversed"):
        back = np.s_[..., ::-1] if layout.endswith("features") else np.s_[::-1]
        return base[back].copy()[back]
    if layout.startswith("every second"):
        axis = -1 if layout.endswith("feature") else 0
        wide = np.repeat(np.flip(base, axis), 2, axis)
        part = wide[..., ::2] if axis else wide[::2]
        part[...] = base
        return part
    if layout == "broadcast" and base.size:
        one = base[:1] if base.ndim == 1 else base[..., :1, :]
        return np.broadcast_to(one.copy(), base.shape)
    if layout == "swapped":
        return base.astype(base.dtype.newbyteorder())
    if layout == "unaligned" and is_stored:
        odd = np.ndarray(base.shape, base.dtype, bytearray(base.nbytes + 1), offset=1)
        odd[...] = base
        return odd
    if layout == "memmap" and is_stored:
        np.memmap(path, base.dtype, "w+", shape=base.shape)[...] = base
        return np.memmap(path, base.dtype, "r", shape=base.shape)
    return _wrapped(base.copy(), layout)


def _wrapped(base: np.ndarray, layout: str) -> Any:
    """The same values in something that is more than an array."""
    if layout == "read-only":
        base.flags.writeable = False
    if layout in ("masked", "unmasked"):
        mask = np.zeros(base.shape, bool)
        mask.flat[base.size // 2 :] = layout == "masked"
        return np.ma.MaskedArray(base, mask)
    if layout == "subclass":
        return base.view(Sub)
    if layout == "matrix" and base.ndim == 2:
        return base.view(np.matrix)
    if layout == "lists":
        return base.tolist()
    if layout == "frame" and base.ndim < 3:
        return pd.Series(base) if base.ndim == 1 else pd.DataFrame(base)
    return base


def bits(X: Any) -> Any:
    """What must not change of what was given."""
    if isinstance(X, np.ma.MaskedArray):
        return bits(X.data), X.mask.tobytes(), X.dtype.str
    if isinstance(X, np.ndarray) and X.dtype != object:
        return X.dtype.str, X.shape, X.strides, X.tobytes(), X.flags.writeable
    if isinstance(X, list):
        return [bits(x) for x in X]
    X = X.to_numpy() if isinstance(X, (pd.DataFrame, pd.Series)) else X
    return repr(X.tolist()) if hasattr(X, "tolist") else repr(X)


def plain(base: np.ndarray, real: str) -> np.ndarray | None:
    """What a model should see in place of an array, a plain one; None for what holds no numbers."""
    if base.dtype.kind in "cUS":
        return None
    with np.errstate(all="ignore"):
        if base.dtype != object:
            return np.array(base, real, order="C")
        values = base.ravel().tolist()
        if any(isinstance(value, str) for value in values):
            return None
        numbers = [np.nan if v is None or v is pd.NA else float(v) for v in values]
        return np.array(numbers, float).reshape(base.shape).astype(real)


# -- what they go through --------------------------------------------------------------------------


@cache
def reservoir(name: str, features: int, engine: str) -> Any:
    """A reservoir, drawn."""
    made = RESERVOIRS[name](engine=engine)
    made.run(np.zeros((2, features)))
    return made


def states(res: Any, way: str, X: Any, block: int) -> list[np.ndarray]:
    """States, array by array: one for each series, or for all of a batch."""
    if way == "run":
        out, state = res.run(X)
        out = out if isinstance(out, list) else [out]
        return [*out, *state.layers]
    if way == "stream":
        stream = res.stream(X, block=block)
        pieces = list(stream)
        if isinstance(pieces[0], list):
            together = [np.concatenate(series) for series in zip(*pieces, strict=True)]
        else:
            together = [np.concatenate(pieces, axis=-2)]
        return [*together, *stream.state.layers]
    if way == "step":
        return _stepped(res, X)
    return [res.last(X) if way == "last" else res.pool(X, ("mean", "std"))]


def _stepped(res: Any, X: Any) -> list[np.ndarray]:
    """States of repeated steps."""
    if isinstance(X, (pd.DataFrame, pd.Series)):
        X = X.to_numpy()
    steps = X if np.ndim(X) < 3 else [[series[t] for series in X] for t in range(len(X[0]))]
    if hasattr(X, "ndim") and X.ndim == 3:
        steps = [X[:, t] for t in range(X.shape[1])]
    state, out = None, []
    for t in range(len(steps)):
        x = steps[t]
        if isinstance(x, np.matrix):
            x = x.A[0]
        z, state = res.step(x, state)
        out.append(z)
    if not out:
        raise ValueError("there is no step to take")
    return [np.stack(out, axis=-2), *state.layers]


def _check_refusal(message: str) -> None:
    assert len(message) > 12, f"it must be said what is wrong, got {message!r}"
    assert "ufunc" not in message, f"said by NumPy's insides: {message}"


def tried(work: Callable[..., list[np.ndarray]], *arguments: Any) -> list[np.ndarray] | None:
    """Results, checked; None if the arrays were refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            results = work(*arguments)
        except (ValueError, TypeError) as error:
            _check_refusal(str(error))
            return None
    assert all(np.isfinite(result).all() for result in results), "a result is not finite"
    return results


def attack(recipe: dict[str, Any], folder: Path) -> str:
    if recipe["target"] in READOUTS and recipe["batch"] != "ragged":
        recipe = recipe | {"batch": None, "flat": False}  # rows of states
    target, is_ragged = recipe["target"], recipe["batch"] == "ragged"
    numbers = range(len(recipe["pieces"]) if is_ragged else 1)
    bases = [content(recipe, number) for number in numbers]
    layouts = [recipe["pieces"][number]["layout"] for number in numbers]
    if is_ragged:  # a list of lists alone is an array
        layouts[0] = "C" if layouts[0] == "lists" else layouts[0]
    odd = [
        laid_out(base, layout, folder / f"{number}")
        for number, (base, layout) in enumerate(zip(bases, layouts, strict=True))
    ]
    before = bits(odd)
    X = odd if is_ragged else odd[0]
    try:
        if target in RESERVOIRS:
            return _try_reservoir(recipe, X, bases, "masked" in layouts)
        return _try_model(recipe, X, bases, "masked" in layouts)
    finally:
        assert bits(odd) == before, "what was given has changed"


def _plain(bases: list[np.ndarray], real: str, is_masked: bool, is_ragged: bool) -> Any:
    """The plain arrays, None if they must be refused."""
    plains = [plain(base, real) for base in bases]
    for values in plains:
        if values is None or not values.size or not np.isfinite(values).all():
            return None
    if is_masked:
        return None
    return plains if is_ragged else plains[0]


def _try_reservoir(recipe: dict[str, Any], X: Any, bases: list[np.ndarray], is_masked: bool) -> str:
    is_ragged, way = recipe["batch"] == "ragged", recipe["way"]
    way = "run" if is_ragged and way == "step" else way
    res = reservoir(recipe["target"], recipe["features"], "cpu")
    results = tried(states, res, way, X, recipe["block"])
    truth = _plain(bases, res.dtype, is_masked, is_ragged)
    if truth is None:
        assert results is None, "what is no finite number was accepted"
        return "refused"
    wanted = tried(states, res, way, truth, recipe["block"])
    largest = max(np.abs(values).max() for values in (truth if is_ragged else [truth]))
    if results is None or wanted is None:
        assert results is wanted, "refused, or not, because of how it is laid out"
        assert largest > HUGE, "small numbers were refused"
        return "refused"
    _check_same(results, wanted)
    _check_own(results, X)
    if way in ("stream", "step"):
        at_once = tried(states, res, "run", truth, 0)
        assert at_once is not None or largest > HUGE
        if at_once is not None:
            _check_same(results, at_once)
    is_single = res.dtype == "float32"
    if largest < (10 if is_single else HUGE):
        reference = reservoir(recipe["target"], recipe["features"], "reference")
        expected = tried(states, reference, way, truth, recipe["block"])
        assert expected is not None
        for one, other in zip(results, expected, strict=True):
            tolerance = (1e-4 if is_single else 1e-10) * max(1.0, np.abs(other).max())
            np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
    return "held"


def _check_same(results: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for one, other in zip(results, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other, strict=True)


def _check_own(results: list[np.ndarray], X: Any) -> None:
    """Results are the caller's to write to, and not memory of what came in."""
    for given in X if isinstance(X, list) else [X]:
        if isinstance(given, np.ndarray):
            assert not any(np.shares_memory(result, given) for result in results)


# -- readouts and whole models ---------------------------------------------------------------------


def fitted(model: Any, X: Any, y: Any) -> list[np.ndarray]:
    """Predictions of a model for what it was fitted to."""
    out = model.fit(X, y).predict(X)
    return list(out) if isinstance(out, list) else [np.asarray(out)]


def _targets(recipe: dict[str, Any], bases: list[np.ndarray]) -> Any:
    """Targets for a model to learn, in a layout of their own."""
    draw = np.random.default_rng(recipe["seed"])
    if recipe["target"] == "classifier":
        count = len(bases) if recipe["batch"] == "ragged" else len(bases[0])
        return np.arange(count) % 2
    if recipe["batch"] == "ragged":
        return [draw.normal(size=len(base)) for base in bases]
    shape = bases[0].shape[: bases[0].ndim - 1] or bases[0].shape
    return np.flip(draw.normal(size=shape))


def _try_model(recipe: dict[str, Any], X: Any, bases: list[np.ndarray], is_masked: bool) -> str:
    is_ragged, is_readout = recipe["batch"] == "ragged", recipe["target"] in READOUTS
    make = READOUTS[recipe["target"]] if is_readout else ESTIMATORS[recipe["target"]]
    y = _targets(recipe, bases)
    results = tried(fitted, make(), X, y)
    dtypes = {str(base.dtype) for base in bases}
    is_single = is_readout and dtypes == {"float32"} and recipe["pieces"][0]["layout"] != "lists"
    truth = _plain(bases, "float32" if is_single else "float64", is_masked, is_ragged)
    if truth is None:
        assert results is None, "what is no finite number was accepted"
        return "refused"
    wanted = tried(fitted, make(), truth, y)
    largest = max(np.abs(values).max() for values in (truth if is_ragged else [truth]))
    if results is None or wanted is None:
        assert results is wanted or largest > HUGE, "refused, or not, because of how it is laid out"
        return "refused"
    if largest < HUGE:  # sums are in the order of the layout
        for one, other in zip(results, wanted, strict=True):
            tolerance = 1e-3 if is_single else 1e-8
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    return "held"

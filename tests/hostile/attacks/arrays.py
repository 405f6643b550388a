"""Odd arrays through reservoirs, readouts and estimators.

What comes out must be that of the same numbers in a plain array, to the bit, in whatever portions
they are run; and that of the reference engine within rounding. Numbers that are too large, or none,
are refused.
"""

import numpy as np
from hypothesis import strategies as st

import paralesn as pe
from paralesn.features.pooled_states import PooledStates
from paralesn.reservoirs.structured import SCR, StructuredRC

CASES = 60
CHECK_BOUNDS = True

RESERVOIRS = {
    "plain": pe.ParalESN,
    "real": lambda **p: pe.ParalESN(real=True, **p),
    "raw": lambda **p: pe.ParalESN(mixing=False, **p),
    "wide mixing": lambda **p: pe.ParalESN(mix_size=9, **p),
    "deep": lambda **p: pe.ParalESN(layers=3, concat=True, **p),
    "deep raw": lambda **p: pe.ParalESN(layers=2, mixing=False, **p),
    "dense": pe.ESN,
    "sparse": lambda **p: pe.ESN(density=0.2, **p),
    "linear": lambda **p: pe.ESN(linear=True, rho=0.5, **p),
    "deep dense": lambda **p: pe.ESN(layers=2, **p),
    "orthogonal": pe.ES2N,
    "ring": SCR,
    "hadamard": StructuredRC,
    "nvar": lambda units, seed, **p: pe.NVAR(delay=3, order=2, **p),
    "local": lambda **p: pe.LocalReservoirs(pe.ParalESN(**p), size=1, overlap=0),
}
DTYPES = ("f8", ">f8", "f4", ">f4", "f2", "g", "i1", "u1", "i2", ">i4", "i8", "u8", "?", "O", "c16",
          "U5", "M8[s]")  # fmt: skip
LAYOUTS = ("plain", "fortran", "reversed", "strided", "broadcast", "unaligned", "read only",
           "memory map", "subclass", "masked", "list", "swapped axes")  # fmt: skip
VALUES = ("usual", "zeros", "negative zeros", "subnormal", "large", "huge", "nan", "inf")
WAYS = ("run", "blocks", "last", "pool", "step", "stepper", "state", "ridge", "classifier",
        "regressor", "forecaster", "features")  # fmt: skip

RECIPES = st.fixed_dictionaries(
    {
        "reservoir": st.sampled_from(sorted(RESERVOIRS)),
        "units": st.sampled_from([3, 4, 63, 64, 65, 128, 130]),
        "dtype": st.sampled_from(["float64", "float32"]),
        "shape": st.sampled_from(
            [[0, 1], [1, 1], [2, 1], [40, 1], [33, 3], [17, 40], [3, 16, 1], [65, 4, 2], [70, 9, 1],
             [0, 5, 1], [2, 0, 1], [5, 0]]
        ),
        "kind": st.sampled_from(DTYPES),
        "layout": st.sampled_from(LAYOUTS),
        "values": st.sampled_from(VALUES),
        "way": st.sampled_from(WAYS),
        "jobs": st.sampled_from([1, 2, 3]),
        "seed": st.integers(0, 1000),
    }
)  # fmt: skip

# Sums of which depend on their order: whether they overflow, and what is left of differences.
IN_DOUBT = ("large", "huge")
REFUSALS = (ValueError, TypeError)
ALIKE = ("run", "last", "pool", "state")  # that the reference engine is asked about, too


class Odd(np.ndarray):
    """A subclass that would spoil arithmetic if anybody relied on it."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(x) if isinstance(x, Odd) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **options)


def attack(recipe, folder):
    """One array through one way."""
    shape = tuple(recipe["shape"])
    if recipe["way"] == "state":
        shape = made(recipe).run(np.zeros((1, 1)))[1].layers[0].shape
    values = numbers(recipe, shape)
    given = laid_out(values, recipe, folder)
    wrong = why_refused(values, given, recipe)
    if recipe["way"] == "forecaster" and wrong in ("NaN", "a masked entry"):
        wrong = None  # a missing value
    plain = None if wrong and wrong.startswith("an array of") else plainly(values, given)
    try:
        got = outcome(recipe, given)
    except REFUSALS as error:
        if not str(error):
            raise AssertionError("an error without a word") from error
        if wrong is None:  # then it is what the numbers are, not how they lie there
            refuses(recipe, plain, type(error), "auto")
            if recipe["way"] in ALIKE and recipe["values"] not in IN_DOUBT:
                refuses(recipe, plain, type(error), "reference")
        return "refused"
    assert wrong is None, f"{wrong} was taken"
    assert all(np.isfinite(part).all() for part in got), "not finite"
    for part, expected in zip(got, outcome(recipe, plain), strict=True):
        np.testing.assert_array_equal(part, expected)
    if recipe["way"] in ALIKE and recipe["values"] not in IN_DOUBT:
        tolerance = 1e-4 if recipe["dtype"] == "float32" else 1e-9
        for part, expected in zip(got, outcome(recipe, plain, "reference"), strict=True):
            size = max(1.0, float(np.abs(expected).max(initial=0.0)))
            np.testing.assert_allclose(part / size, expected / size, atol=tolerance)
    return "held"


def refuses(recipe, plain, error, engine):
    """The same numbers in a plain array must be refused in the same way."""
    try:
        outcome(recipe, plain, engine)
    except error:
        return
    raise AssertionError(f"refused, but not as a plain array by engine {engine}")


def plainly(values, given):
    """The numbers in a plain array of floats, or of complex numbers."""
    kind = complex if values.dtype.kind == "c" else float
    plain = np.array(values, kind, order="C")
    if isinstance(given, np.ma.MaskedArray):
        plain[np.ma.getmaskarray(given)] = np.nan
    return plain


def numbers(recipe, shape):
    """The array whose numbers count, of the dtype asked for."""
    rng, kind = np.random.default_rng(recipe["seed"]), np.dtype(recipe["kind"])
    values = rng.normal(size=shape)
    if kind.kind in "iu?":
        low = 0 if kind.kind in "u?" else -9
        return rng.integers(low, 2 if kind.kind == "?" else 9, shape).astype(kind)
    if kind.kind in "OUM":
        return values.astype("i8").astype(kind) if kind.kind == "M" else values.astype(kind)
    largest = float(np.finfo(np.dtype(recipe["dtype"])).max)
    special = {"zeros": 0.0, "negative zeros": -0.0, "subnormal": 5e-324, "nan": np.nan,
               "inf": np.inf, "large": 1e15, "huge": 0.9 * largest}  # fmt: skip
    if recipe["values"] in special and values.size:
        chosen = rng.random(shape) < 0.3
        chosen.flat[0] = True
        values[chosen] = special[recipe["values"]]
    with np.errstate(over="ignore"):
        return values.astype(kind)


def laid_out(values, recipe, folder):
    """The same numbers laid out oddly."""
    layout = recipe["layout"]
    if layout == "fortran":
        return np.asfortranarray(values)
    if layout == "reversed":
        return np.ascontiguousarray(values[::-1])[::-1]
    if layout == "strided":
        wide = np.zeros((*values.shape[:-1], 3 * max(1, values.shape[-1])), values.dtype)
        wide[..., : 3 * values.shape[-1] : 3] = values
        return wide[..., : 3 * values.shape[-1] : 3]
    if layout == "swapped axes":
        return np.ascontiguousarray(values.T).T
    if layout == "unaligned" and values.dtype.kind != "O":
        memory = np.zeros(values.nbytes + 1, np.uint8)
        shifted = memory[1:].view(values.dtype).reshape(values.shape)
        shifted[...] = values
        return shifted
    if layout == "read only":
        frozen = values.copy()
        frozen.setflags(write=False)
        return frozen
    if layout == "memory map" and values.size and values.dtype.kind != "O":
        np.save(folder / "x.npy", values)
        return np.load(folder / "x.npy", mmap_mode="r")
    if layout == "subclass":
        return values.view(Odd)
    if layout == "masked":
        mask = np.zeros(values.shape, bool)
        if values.size and recipe["seed"] % 2:
            mask.flat[recipe["seed"] % values.size] = True
        return np.ma.masked_array(values, mask)
    if layout == "list" and values.dtype.kind != "M":
        return values.tolist()
    return values


def why_refused(values, given, recipe):
    """What is wrong with the numbers, None where nothing is."""
    takes_complex = recipe["way"] == "state" and np.iscomplexobj(state_of(recipe))
    kinds = {"state": "UMO", "ridge": "M"}  # scikit-learn reads text
    is_odd = values.dtype.kind != "O" or not isinstance(given, list)  # of which NumPy makes floats
    if is_odd and values.dtype.kind in kinds.get(recipe["way"], "UM"):
        return f"an array of {values.dtype}"
    if values.dtype.kind == "c" and not takes_complex:
        return "complex numbers"
    if not values.size:
        return "an array of nothing"
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        return "a masked entry"
    plain = plainly(values, values)
    if np.isnan(plain).any() and not np.isinf(plain).any():
        return "NaN"
    return None if np.isfinite(plain).all() else "infinity"


def state_of(recipe):
    return made(recipe).run(np.zeros((1, 1)))[1].layers[0]


def made(recipe, engine="auto"):
    """The reservoir."""
    parameters = {"units": recipe["units"], "dtype": recipe["dtype"], "seed": recipe["seed"]}
    return RESERVOIRS[recipe["reservoir"]](n_jobs=recipe["jobs"], engine=engine, **parameters)


def outcome(recipe, x, engine="auto"):
    """Arrays that come of an input."""
    return WAY[recipe["way"]](made(recipe, engine), x, recipe)


def run(reservoir, x, recipe):
    states, state = reservoir.run(x)
    return [states, *state.layers]


def blocks(reservoir, x, recipe):
    """In random portions, each from the state of the one before: as in one."""
    rng, array = np.random.default_rng(recipe["seed"] + 1), np.asanyarray(x)
    whole, end = reservoir.run(x)
    steps = array.shape[-2]
    cuts = sorted(rng.integers(0, steps + 1, 3).tolist())
    pieces, state = [], None
    for first, last in zip([0, *cuts], [*cuts, steps], strict=True):
        if last > first:
            states, state = reservoir.run(array[..., first:last, :], state)
            pieces.append(states)
    np.testing.assert_array_equal(np.concatenate(pieces, axis=-2), whole)
    for a, b in zip(state.layers, end.layers, strict=True):
        np.testing.assert_array_equal(a, b)
    streamed = list(reservoir.stream(x, block=7))
    np.testing.assert_array_equal(np.concatenate(streamed, axis=-2), whole)
    return [whole]


def last(reservoir, x, recipe):
    states, state = reservoir.last(x, return_state=True)
    whole, _ = reservoir.run(x)
    np.testing.assert_array_equal(states, whole[..., -1, :])
    direct = reservoir.last(x)  # for many series a product of matrices
    size = max(1.0, float(np.abs(whole).max()))
    tolerance = 1e-4 if recipe["dtype"] == "float32" else 1e-9
    np.testing.assert_allclose(direct / size, states / size, atol=tolerance)
    return [states, *state.layers]


def pool(reservoir, x, recipe):
    return [reservoir.pool(x, ("mean", "std", "max", "min", "ppv", "last"), segments=2)]


def step(reservoir, x, recipe):
    array = np.asanyarray(x)
    if array.ndim == 3:
        x = array = array.reshape(-1, array.shape[2])
    whole, _ = reservoir.run(x)
    state = None
    for t, row in enumerate(array):
        z, state = reservoir.step(row, state)
        np.testing.assert_array_equal(z, whole[t])
    return [whole, *state.layers]


def stepper(reservoir, x, recipe):
    array = np.asanyarray(x)
    array = array[:, None] if array.ndim == 2 else array.swapaxes(0, 1)
    whole, end = reservoir.run(np.ascontiguousarray(array.swapaxes(0, 1)))
    advance = reservoir.stepper(batch=array.shape[1])
    for t, rows in enumerate(array):
        np.testing.assert_array_equal(advance(rows), whole[:, t])
    for a, b in zip(advance.state.layers, end.layers, strict=True):
        np.testing.assert_array_equal(a, b)
    return [whole]


def from_state(reservoir, x, recipe):
    """The array is the state of the first layer to start from."""
    _, zero = reservoir.run(np.zeros((1, 1)))
    states, state = reservoir.run(np.full((5, 1), 0.1), [x, *zero.layers[1:]])
    return [states, *state.layers]


def two_dimensional(x):
    array = np.asanyarray(x)
    return x if array.ndim == 2 else array.reshape(-1, array.shape[-1])


def ridge(reservoir, x, recipe):
    rows = two_dimensional(x)
    y = np.arange(len(rows)) % 5.0
    model = pe.Ridge().fit(rows, y)
    return [model.predict(rows), np.asarray(model.coef_)]


def classifier(reservoir, x, recipe):
    labels = np.arange(len(x)) % 2
    features = PooledStates(reservoir, pool="last", segments=1)
    model = pe.ReservoirClassifier(features, pe.Ridge()).fit(x, labels)
    return [model.decision_function(x)]


def regressor(reservoir, x, recipe):
    rows = two_dimensional(x)
    model = pe.ReservoirRegressor(reservoir, washout=0).fit(rows, np.arange(len(rows)) % 5.0)
    return [np.asarray(model.predict(rows))]


def forecaster(reservoir, x, recipe):
    rows = two_dimensional(x)
    return [pe.SmootherBank(horizon=2).fit(rows).forecast()]


def features(reservoir, x, recipe):
    return [pe.FilterBank(units=64, n_jobs=recipe["jobs"]).fit(x).transform(x)]


WAY = {
    "run": run, "blocks": blocks, "last": last, "pool": pool, "step": step, "stepper": stepper,
    "state": from_state, "ridge": ridge, "classifier": classifier, "regressor": regressor,
    "forecaster": forecaster, "features": features,
}  # fmt: skip

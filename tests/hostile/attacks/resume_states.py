"""States of streams changed or damaged: refused, or continued from as from any other."""

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import paralesn as pe
from hostile.attacks.model_files import GAPS, WAVE, X, Y, check_refusal
from hostile.model_mutations import DAMAGE, MUTATIONS, damaged, mutated
from paralesn.estimators.live import Live, LiveState
from paralesn.estimators.state_forecaster.forecaster import StateForecaster
from paralesn.persistence.model_file import to_bytes
from paralesn.workflows import stream

CHECK_BOUNDS = True
CASES = 200
LINES = 6  # read before the state is saved
FURTHER = 4  # and after it was loaded

MODELS: dict[str, Callable[[], Any]] = {
    "forecaster": lambda: pe.ReservoirForecaster(pe.ParalESN(8), horizon=2).fit(WAVE),
    "smoothers": lambda: pe.SmootherBank(horizon=3).fit(WAVE),
    "panel": lambda: pe.ReservoirForecaster(pe.ParalESN(8), horizon=2).fit(X),
    "loop": lambda: pe.ReservoirForecaster(pe.ParalESN(8), horizon=2, strategy="closed-loop").fit(
        WAVE
    ),
    "states": lambda: StateForecaster(pe.ESN(8), horizon=2, washout=5).fit(X),
    "shared": lambda: StateForecaster(pe.ESN(8), horizon=2, washout=5, shared=True).fit(X),
    "regressor": lambda: pe.ReservoirRegressor(pe.ParalESN(8), washout=5).fit(X, Y),
    "gaps": lambda: pe.ReservoirRegressor(pe.ESN(8), missing="interpolate").fit(GAPS, Y),
    "feedback": lambda: pe.ReservoirRegressor(pe.ESN(8), feedback=True).fit(X, Y),
    "delays": lambda: pe.ReservoirRegressor(pe.NVAR(delay=2), washout=5).fit(X, Y),
}
_LEARNING = sorted(set(MODELS) - {"feedback"})

RECIPES = st.one_of(
    *[st.fixed_dictionaries({"mutations": MUTATIONS})] * 7,
    st.fixed_dictionaries({"damage": DAMAGE}),
).flatmap(
    lambda change: st.one_of(
        st.fixed_dictionaries({"kind": st.sampled_from(sorted(MODELS)), "learn": st.just(False)}),
        st.fixed_dictionaries({"kind": st.sampled_from(_LEARNING), "learn": st.just(True)}),
    ).map(lambda kind: kind | change)
)


@cache
def saved(kind: str, learn: bool) -> tuple[bytes, bytes]:
    """The files of a model and of its state after a few lines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on how little it learnt from
        model = to_bytes(MODELS[kind]())
        path = Path("model")
        live = Live(pe.persistence.model_file.from_bytes(model, path), learn=learn)
        reader = stream.LineReader(live)
        for number in range(1, LINES + 1):
            reader.read(line(live, number), number)
        return model, to_bytes(live.state)


def line(live: Live, number: int) -> bytes:
    """A line of a stream, with targets where they are learnt from."""
    values = np.sin(np.arange(live.width + live.n_targets) + 0.7 * number)
    return ",".join(map(repr, values.tolist())).encode()


def attack(recipe: dict[str, Any], folder: Path) -> str:
    """Resume a stream from a changed state; it must be refused, or go on and be saved again."""
    model, state = saved(recipe["kind"], recipe["learn"])
    path, is_large = folder / "state", False
    if "damage" in recipe:
        path.write_bytes(damaged(state, recipe["damage"]))
        if path.read_bytes() == state:
            return "held"
    else:
        changed, is_large = mutated(state, recipe["mutations"])
        path.write_bytes(changed)
    (folder / "model").write_bytes(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _try(folder / "model", path, recipe, is_large)


def _resumed(model: Path, state: Path, learn: bool) -> Live:
    """A stream from where a state was."""
    live = Live(pe.load(model), learn=learn)
    stream.resume(live, pe.load(state, LiveState), state)
    return live


def _try(model: Path, path: Path, recipe: dict[str, Any], is_large: bool) -> str:
    try:
        live = _resumed(model, path, recipe["learn"])
    except ValueError as error:
        check_refusal(str(error), path)
        return "refused"
    assert "damage" not in recipe, "a damaged file was loaded"
    answers = _read(live, is_large)
    pe.save(live.state, path.with_name("after"))
    again = _read(_resumed(model, path, recipe["learn"]), is_large)
    for one, other in zip(answers, again, strict=True):
        np.testing.assert_array_equal(one, other)
    after = _resumed(model, path.with_name("after"), recipe["learn"])
    assert after.state.lines == live.state.lines
    np.testing.assert_array_equal(_read(after, is_large)[0], _read(live, is_large)[0])
    return "held"


def _read(live: Live, is_large: bool) -> list[Any]:
    """Predictions after a few lines, or why there are none."""
    reader, answers = stream.LineReader(live), []
    for number in range(live.state.lines + 1, live.state.lines + 1 + FURTHER):
        try:
            answer: Any = reader.read(line(live, number), number)
        except ValueError as error:
            if not is_large:
                raise AssertionError("a state that was accepted must be usable") from error
            answer = str(error)
        else:
            assert is_large or np.isfinite(answer).all(), "a prediction is not finite"
        answers.append(answer)
    return answers

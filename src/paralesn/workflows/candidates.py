"""Settings of a forecaster that are worth trying, and forecasters made of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from paralesn import checks
from paralesn.estimators.forecaster.estimator import Forecaster, SmootherBank
from paralesn.estimators.forecaster.fitting import seasons_of_panel
from paralesn.estimators.forecaster.parts import Material
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.paralesn import ParalESN

Settings = dict[str, Any]
GIVEN, NONE = "as given", "none"
POLES, RANDOM, LOOP, SMOOTHERS = "seasonal poles", "random reservoir", "closed loop", "smoothers"
_OF_RESERVOIR = ("units", "mixing", "forgetting", "narrowness", "angle", "input_scale")
_OF_DIRECT = ("season", "calendar", "penalty")
_LEAST_LOOP = 300  # steps that a closed loop is tried on
_MOST_SEASONS = 4
_DIRECT = {"strategy": "auto", "noise": 0.0, "spin_up": None}  # the latter are of closed loops


class Choice(NamedTuple):
    """A setting that is one of several; the first changes nothing."""

    options: tuple[Any, ...]

    @property
    def default(self) -> Any:
        """The first option."""
        return self.options[0]

    def draw(self, rng: np.random.Generator) -> Any:
        """One of the options."""
        return self.options[int(rng.integers(len(self.options)))]


class Range(NamedTuple):
    """A setting that is a positive number in a range, spread evenly by its logarithm."""

    low: float
    high: float

    @property
    def default(self) -> float:
        """The middle."""
        return sqrt(self.low * self.high)

    def draw(self, rng: np.random.Generator) -> float:
        """A number in the range."""
        return float(np.exp(rng.uniform(np.log(self.low), np.log(self.high))))


@dataclass(frozen=True)
class Space:
    """What may be tried for a model and its data.

    Attributes
    ----------
    settings : dict of str to Choice or Range
    given : "direct", "closed loop" or "smoothers"
        What the model is as it was given.
    values : dict of str to dict
        Of parameters named by the caller: the values that options stand for. Empty where the space
        is our own.
    """

    settings: dict[str, Choice | Range]
    given: str
    values: dict[str, dict[Any, Any]] = field(default_factory=dict)

    def matters(self, name: str, chosen: Settings) -> bool:
        """Whether a setting has an effect beside those chosen before it."""
        if name in self.values:
            return True
        member = chosen.get("member", GIVEN)
        kind = self.given if member == GIVEN else member
        if name in _OF_RESERVOIR:
            mixes = member == LOOP or chosen.get("mixing", False)
            return member in (RANDOM, LOOP) and not (
                (name == "mixing" and member == LOOP) or (name == "input_scale" and not mixes)
            )
        if name == "season":
            return kind != LOOP
        return name not in _OF_DIRECT or kind in ("direct", POLES, RANDOM)

    def completed(self, some: Settings) -> Settings:
        """Settings with what was not said as it was given, or in the middle."""
        chosen: Settings = {}
        for name, setting in self.settings.items():
            if self.matters(name, chosen):
                chosen[name] = some.get(name, setting.default)
        return chosen

    def starts(self) -> list[Settings]:
        """What is tried first: the model as it was given, then one of every kind."""
        linear = {"member": RANDOM, "units": 128, "mixing": False, "narrowness": 0.98, "angle": pi}
        known: list[Settings] = [
            {}, {"member": SMOOTHERS}, {"member": POLES}, {"calendar": "auto"},
            {**linear, "forgetting": 1e-3}, {**linear, "forgetting": 1e-2}, {"member": LOOP},
        ]  # fmt: skip
        allowed = [s for s in known if all(
            name in self.settings and value in getattr(self.settings[name], "options", [value])
            for name, value in s.items())]  # fmt: skip
        return [self.completed(s) for s in allowed]


def search_space(model: Forecaster, material: Material) -> Space:
    """What to try for a model on some data."""
    season = Choice((GIVEN, *_seasons(material)))
    if isinstance(model, SmootherBank):
        return Space({"season": season}, SMOOTHERS)
    is_loop = getattr(model, "strategy", "auto") == "closed-loop"
    is_default = not is_loop and getattr(model, "reservoir", None) is None
    members = [GIVEN, *([] if is_default else [POLES]), RANDOM, SMOOTHERS]
    if not is_loop and _can_loop(material):
        members.append(LOOP)
    settings: dict[str, Choice | Range] = {"member": Choice(tuple(members)), "season": season}
    if getattr(model, "calendar", None) is not None:
        settings["calendar"] = Choice((GIVEN, NONE))
    elif _has_dates(material):
        settings["calendar"] = Choice((GIVEN, "auto"))
    settings |= {
        "penalty": Choice((GIVEN, 0.1, 10.0, 1e3, 1e5)),
        "units": Choice((128, 64, 256, 512)), "mixing": Choice((False, True)),
        "forgetting": Range(3e-4, 0.3), "narrowness": Choice((0.98, 0.9, 0.6, 0.0)),
        "angle": Choice((pi, pi / 2, pi / 4)), "input_scale": Range(0.05, 2.0),
    }  # fmt: skip
    return Space(settings, LOOP if is_loop else "direct")


def named_space(model: Forecaster, options: Any) -> Space:
    """The space of a caller: values to try for parameters of the model, by their names."""
    expected = "a dict of names of parameters to sequences of values"
    if not isinstance(options, Mapping) or not options:
        raise checks.fail("space", options, expected, TypeError)
    settings: dict[str, Choice | Range] = {}
    values: dict[str, dict[Any, Any]] = {}
    for name, several in options.items():
        if isinstance(several, str) or not hasattr(several, "__iter__") or not len(list(several)):
            raise checks.fail(f"space[{name!r}]", several, "a sequence of values")
        values[name] = {_label(value): value for value in several}
        for value in values[name].values():  # a name that does not exist is an error here
            clone(model).set_params(**{name: value})
        settings[name] = Choice((GIVEN, *values[name]))
    return Space(settings, "direct", values)


def _label(value: Any) -> Any:
    """What stands for a value in a trial: itself, or how it is written."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def with_values(model: Forecaster, settings: Settings, space: Space) -> Forecaster:
    """An unfitted forecaster: the model but for parameters named by the caller."""
    chosen = {n: space.values[n][label] for n, label in settings.items() if label != GIVEN}
    copy: Forecaster = clone(model).set_params(**clone(chosen, safe=False))
    return copy


def _seasons(material: Material) -> list[str]:
    """None, seasons that the clock suggests or the data show, and all of them together."""
    panel = material.panel
    longest = int(material.counts.max())
    found = {m for seasons in seasons_of_panel(panel, None)[:50] for m in seasons}
    clock = panel.clock
    if clock is not None and clock.kind in ("dates", "months", "workdays"):
        found |= set(clock.seasons(longest))
    periods = sorted(m for m in found if 2 * m <= longest)[:_MOST_SEASONS]
    together = [",".join(map(str, periods))] if len(periods) > 1 else []
    return ["1", *map(str, periods), *together]


def _has_dates(material: Material) -> bool:
    clock = material.panel.clock
    return clock is not None and clock.kind in ("dates", "months", "workdays")


def _can_loop(material: Material) -> bool:
    """Whether a closed loop can read the series: equal lengths, complete, and long enough."""
    counts = material.counts
    return bool(
        material.past is None and material.static is None and material.X is None
        and (counts == counts[0]).all() and counts[0] >= _LEAST_LOOP
        and all(np.isfinite(v).all() for v in material.panel.values)
    )  # fmt: skip


def make_candidate(model: Forecaster, settings: Settings, horizon: int, seed: int) -> Forecaster:
    """An unfitted forecaster: the model but for some settings."""
    member = settings.get("member", GIVEN)
    season = settings.get("season", GIVEN)
    candidate = clone(model)
    if member == SMOOTHERS:
        candidate = SmootherBank(horizon=horizon, season=model.season, frequency=model.frequency,
                                 n_jobs=model.n_jobs)  # fmt: skip
    if season != GIVEN:
        candidate.set_params(season=[int(m) for m in season.split(",")])
    if settings.get("calendar", GIVEN) != GIVEN:
        candidate.set_params(calendar=None if settings["calendar"] == NONE else "auto")
    if settings.get("penalty", GIVEN) != GIVEN:
        candidate.set_params(readout=Ridge(alphas=(settings["penalty"],)))
    if member == POLES:
        candidate.set_params(reservoir=None, **_DIRECT)
    if member == RANDOM:
        candidate.set_params(reservoir=_reservoir(settings, seed), **_DIRECT)
    if member == LOOP:
        candidate.set_params(reservoir=_reservoir(settings, seed), strategy="closed-loop",
                             calendar=None, readout=None, horizon=None)  # fmt: skip
    return candidate


def _reservoir(settings: Settings, seed: int) -> ParalESN:
    """A random reservoir: linear, or with mixing."""
    highest = 1.0 - settings["forgetting"]
    rho = (highest * settings["narrowness"], highest)
    chosen = {"units": settings["units"], "rho": rho, "theta": (0.0, settings["angle"])}
    if settings.get("mixing", True):
        chosen |= {"input_scale": settings["input_scale"], "tau": 0.7, "bias_scale": 0.1}
        return ParalESN(**chosen, mix_scale=2.0, seed=seed)
    return ParalESN(**chosen, mixing=False, phases="even", seed=seed)

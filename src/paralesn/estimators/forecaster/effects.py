"""What inputs that are known in advance add to a series: a regression on changes."""

from dataclasses import dataclass

import numpy as np

from paralesn.persistence import register
from paralesn.persistence.fields import Floats
from paralesn.readouts.ridge import Ridge

_HELD_OUT = 0.25
_PENALTIES = tuple(10.0**k for k in range(-4, 5))


@register
@dataclass(frozen=True, eq=False)
class Effects:
    """Effects of inputs on S series: ``(x - mean) @ coefficients`` is part of each.

    Attributes
    ----------
    mean, coefficients : (S, inputs)
        Coefficients are zero where inputs did not help to predict changes that were held out.
    """

    mean: Floats
    coefficients: Floats

    def __post_init__(self) -> None:
        if self.mean.ndim != 2 or self.mean.shape != self.coefficients.shape:
            raise ValueError("the effects of inputs do not fit together")

    @property
    def helps(self) -> np.ndarray:
        """Whether inputs say anything about each series (S,)."""
        return np.asarray(self.coefficients.any(axis=1))

    def of(self, i: int, x: np.ndarray) -> np.ndarray:
        """Part (n,) of series i that inputs x (n, inputs) explain."""
        return np.asarray((x - self.mean[i]) @ self.coefficients[i])


def measure_effect(y: np.ndarray, x: np.ndarray, season: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and coefficients (inputs,) of the effect of x (n, inputs) on y (n,).

    Changes of y are regressed on changes of x, both without the means of their places in the
    season, so that neither trend nor season is taken for an effect. The effect counts only if it
    predicts the changes in the last quarter of the series better than nothing.
    """
    mean = x.mean(axis=0)
    none = np.zeros(x.shape[1])
    change = np.diff(np.column_stack([y, x]), axis=0)
    if season > 1 and len(change) >= 3 * season:
        places = np.arange(len(change)) % season
        for place in range(season):
            rows = change[places == place]
            seen = np.isfinite(rows[:, 0])
            if seen.any():
                change[places == place] = rows - rows[seen].mean(axis=0)
    change = change[np.isfinite(change[:, 0])]
    if not len(change):
        return mean, none
    cut = len(change) - max(int(_HELD_OUT * len(change)), 2)
    moves = change[:, 1:].std(axis=0) > 0
    if cut < 8 or cut < 2 * moves.sum() or not moves.any():
        return mean, none
    targets, inputs = change[:, 0], change[:, 1:][:, moves]
    scale = inputs.std(axis=0)
    inputs = inputs / scale
    readout = Ridge(_PENALTIES).fit(
        inputs[:cut], targets[:cut], validation=(inputs[cut:], targets[cut:])
    )
    off = targets[cut:] - readout.predict(inputs[cut:])
    if not (off**2).sum() < 0.98 * (targets[cut:] ** 2).sum():
        return mean, none
    final = Ridge([readout.alpha_]).fit(inputs, targets)
    none[moves] = np.asarray(final.coef_) / scale
    return mean, none

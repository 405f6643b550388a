"""Components of estimators that were given none, chosen by experiment.

Classification: what filters hear, how they are summed up and how families of features are weighed
was compared by accuracy on held-out thirds of the training parts of 31 archive datasets, ten
splits and two draws each; weights lie on a plateau, and neither weights chosen for each dataset nor
twice as many filters or thresholds gained more than .0015. For
`PooledStates`, 110 random reservoirs of 512 units, then 12 refined ones of 1 024, were compared on
every other one of these, with several pools each.
Regression of whole series: banks with and without levels, by the R2 of held-out folds of the
training parts of 16 tasks.
Forecasting: 140 random configurations of 256 units were ranked by the closed loop's valid
prediction time on Lorenz-63 and Mackey-Glass and by direct forecasts of two transformer series; the
one with the best mean rank was taken. In closed loop, 54 random configurations were run on up to 27
chaotic systems; four of them, rounded, were taken that together come closest to the best of all on
every system, when the loops into the last fifth of the training series choose among them.
Regression: reservoirs were compared by the mean logarithm of 1 - R2 on 32 tasks (delays, products
and powers of noise, NARMA, the memory tasks of the paper, chaotic series, one sensor from others,
few rows, missing inputs, nothing but noise), all from seeds and training parts that are not
reported. 110 random configurations of 1 to 3 layers and 70 around the best of them led to a layer
that remembers and one that bends; they missed functions of a single delayed input, such as
SinMem's, for which inputs must be bent before they are remembered, as in 78 further configurations.
Smaller penalties than 1e-7 gain on smooth series (Mackey-Glass 84 steps ahead: .98) and are lost on
inputs of a kind that training hardly saw (an R2 of -679 where two missing values met). Penalties
chosen by blocks of time instead of generalised cross-validation were better for one sensor and
worse for two, and for Mackey-Glass. A degree of freedom counts 1.2 (the `gamma` of Ridge): with 40
rows of a linear target and noise, R2 is .53 instead of .39, the mean of twelve seeds.
``benchmarks/defaults.py``, ``benchmarks/regression.py`` and ``benchmarks/chaos.py`` measure what
came out of it, also on data that had no part in the choice.
"""

from math import pi
from typing import Any

from paralesn.features.filter_bank import FilterBank
from paralesn.readouts.dual_ridge import DualRidge
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.paralesn import ParalESN


def classifying_features() -> FilterBank:
    """The features of a classifier that was given none."""
    return FilterBank()


def classifying_readout(features: Any) -> DualRidge | Ridge:
    """The readout of a classifier that was given none, for its features."""
    if isinstance(features, FilterBank):
        return DualRidge()
    return Ridge(alphas=tuple(10.0 ** (k / 2) for k in range(-2, 11)))


def series_regressing_features() -> FilterBank:
    """The features of a regressor of whole series that was given none."""
    return FilterBank(levels=True)


def regressing_reservoir() -> ParalESN:
    """The reservoir of a regressor that was given none: bends, remembers and bends again."""
    return ParalESN(
        units=400,
        layers=3,
        concat=True,
        rho=(0.0, 0.2),
        theta=(0.0, pi),
        phases="even",
        input_scale=0.4,
        bias_scale=1.0,
        mix_scale=0.5,
        mix_size=1,
        inter={
            "rho": (0.0, 0.9),
            "input_scale": 1.7,
            "bias_scale": 0.5,
            "mix_scale": 0.14,
            "mix_bias_scale": 0.3,
            "mix_size": 5,
        },
    )


def regressing_readout() -> Ridge:
    """The readout of a regressor that was given none."""
    return Ridge(alphas=tuple(10.0**k for k in range(-7, 7)), gamma=1.2)


def forecasting_reservoir() -> ParalESN:
    """The reservoir of a forecaster that was given none, where no closed loops can be tried."""
    return ParalESN(
        units=256,
        rho=(0.6, 0.95),
        theta=(0.0, pi / 2),
        tau=0.7,
        input_scale=0.1,
        bias_scale=0.1,
        mix_scale=2.0,
    )


def loop_candidates(given: Any = None) -> tuple[tuple[Any, bool], ...]:
    """Reservoirs that a closed loop is tried with, and whether differences are predicted.

    After the general one come three with hardly any memory, which bend their input gently, more and
    strongly: for systems whose next state follows from the present one. The last one bends its
    input first and then remembers it: for delays, and for variables that were not measured.
    """
    if given is not None:
        return (given, True), (given, False)
    gently = ParalESN(
        units=256, rho=(0.0, 0.1), input_scale=0.1, bias_scale=0.3, mix_scale=2.0,
        mix_bias_scale=1.0,
    )  # fmt: skip
    more = ParalESN(
        units=256, rho=(0.0, 0.3), theta=(0.0, 0.3), input_scale=0.3, bias_scale=1.0, mix_scale=2.0,
        mix_bias_scale=1.0, mix_size=1,
    )  # fmt: skip
    strongly = ParalESN(
        units=256, rho=(0.0, 0.0), bias_scale=0.1, mix_scale=1.0, mix_bias_scale=1.0
    )
    remembers = ParalESN(
        units=256, layers=3, rho=(0.0, 0.2), theta=(0.0, pi / 2), input_scale=2.0, bias_scale=1.0,
        mix_scale=1.0, mix_size=1,
        inter={
            "rho": (0.4, 0.8), "theta": (0.0, pi / 4), "phases": "even", "input_scale": 1.0,
            "bias_scale": 0.3, "mix_scale": 0.3, "mix_bias_scale": 0.3, "mix_size": 3,
        },
    )  # fmt: skip
    general = (forecasting_reservoir(), True)
    return general, (gently, False), (more, False), (strongly, True), (remembers, False)


def direct_reservoir() -> ParalESN:
    """What stands in for the poles of a forecaster where their parameters are named."""
    return ParalESN(units=128, rho=(0.97, 0.99), theta=(0.0, pi), phases="even", mixing=False)


def forecasting_readout() -> Ridge:
    """The readout of a forecaster that was given none."""
    return Ridge(alphas=(1e-8, 1e-6, 1e-4, 1e-2, 1, 100))


def loop_readout() -> Ridge:
    """The readout of a closed loop that was given none, where loops choose the penalty."""
    return Ridge(alphas=tuple(10.0**k for k in range(-12, 3)))


def shared_readout() -> Ridge:
    """The readout of a forecaster's reservoir of changes that was given none."""
    return Ridge(alphas=tuple(10.0**k for k in (-8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6)))

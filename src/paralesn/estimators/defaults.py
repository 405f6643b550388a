"""What estimators use where they are given nothing, chosen by experiment.

Classification: filter banks were compared by their mean accuracy on 31 archive datasets. Of
reservoirs whose states are pooled, 110 random configurations of 512 units, then 12 refined ones of
1 024, were compared on every other one of these, with several pools each.
Forecasting: 140 random configurations of 256 units were ranked by the closed loop's valid
prediction time on Lorenz-63 and Mackey-Glass and by direct forecasts of two transformer series; the
one with the best mean rank was taken. ``benchmarks/defaults.py`` and ``benchmarks/chaos.py``
measure what came out of it, also on data that had no part in the choice.
"""

from math import pi

from paralesn.features.filter_bank import FilterBank
from paralesn.readouts.dual_ridge import DualRidge
from paralesn.readouts.ridge import Ridge
from paralesn.reservoirs.paralesn import ParalESN

POOLS = ("mean", "std", "ppv")
SEGMENTS = 2


def bank() -> FilterBank:
    """What a classifier describes series by where it is told nothing."""
    return FilterBank()


def bank_readout() -> DualRidge:
    """The readout of a classifier with a filter bank that was given none."""
    return DualRidge()


def classifying_reservoir() -> ParalESN:
    """The reservoir of a classifier that was given none but told how to pool."""
    return ParalESN(
        units=1024,
        rho=(0.9, 0.999),
        theta=(0.0, pi / 2),
        input_scale=10.0,
        bias_scale=0.1,
        mix_scale=1.0,
        mix_bias_scale=0.3,
        mix_size=5,
        dtype="float32",
    )


def classifying_readout() -> Ridge:
    """The readout of a classifier with a reservoir that was given none."""
    return Ridge(alphas=tuple(10.0 ** (k / 2) for k in range(-2, 11)))


def forecasting_reservoir() -> ParalESN:
    """The reservoir of a forecaster that was given none."""
    return ParalESN(
        units=256,
        rho=(0.6, 0.95),
        theta=(0.0, pi / 2),
        tau=0.7,
        input_scale=0.1,
        bias_scale=0.1,
        mix_scale=2.0,
    )


def forecasting_readout() -> Ridge:
    """The readout of a forecaster that was given none."""
    return Ridge(alphas=(1e-8, 1e-6, 1e-4, 1e-2, 1, 100))

"""What theory says of a reservoir: what it forgets, what it equals, what it can tell apart."""

from paralesn.theory.climate import ClimateDistance, climate_distance
from paralesn.theory.consistency import Consistency, consistency
from paralesn.theory.diagonalize import CarriedReadout, Diagonalization, diagonalize
from paralesn.theory.echo import EchoStateProperty, echo_state_property
from paralesn.theory.edge import EdgeOfStability, edge_of_stability
from paralesn.theory.forgetting import ForgettingCurve, forgetting_curve
from paralesn.theory.lyapunov import LyapunovExponents, lyapunov_exponents
from paralesn.theory.plots import (
    plot_consistency,
    plot_forgetting,
    plot_lyapunov,
    plot_memory,
    plot_spectrum,
)
from paralesn.theory.quality import (
    KernelQuality,
    MemoryCapacity,
    kernel_quality,
    memory_capacity,
)
from paralesn.theory.valid_time import valid_prediction_time

__all__ = [
    "CarriedReadout",
    "ClimateDistance",
    "Consistency",
    "Diagonalization",
    "EchoStateProperty",
    "EdgeOfStability",
    "ForgettingCurve",
    "KernelQuality",
    "LyapunovExponents",
    "MemoryCapacity",
    "climate_distance",
    "consistency",
    "diagonalize",
    "echo_state_property",
    "edge_of_stability",
    "forgetting_curve",
    "kernel_quality",
    "lyapunov_exponents",
    "memory_capacity",
    "plot_consistency",
    "plot_forgetting",
    "plot_lyapunov",
    "plot_memory",
    "plot_spectrum",
    "valid_prediction_time",
]

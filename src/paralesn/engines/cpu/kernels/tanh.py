"""A hyperbolic tangent that LLVM can vectorise, for float32 and float64.

With 2 abs(x) = n ln 2 + r, n an integer and abs(r) <= ln(2) / 2, and q = tanh(r / 2),

    tanh(abs(x)) = ((2^n - 1) + (2^n + 1) q) / ((2^n + 1) + (2^n - 1) q),

which has no branches and one division. Adding a magic constant rounds 2 abs(x) / ln 2 to an
integer and leaves n in the low mantissa bits, where `two_to_the` picks it up; q / r is a
near-minimax polynomial in r^2. The quotient damps errors for large n, so one constant for ln 2 is
enough. Arguments beyond saturation are clamped, NaN passes through every step, and the sign is put
back at the end, which keeps -0.0. Measured error: below 3 ulp in both precisions (the tests demand
4).
"""

import math
from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from paralesn.runtime.compiler import FASTMATH, inlined

_FORMATS = {  # of a float: bits, mantissa bits, exponent of one
    types.float64: (64, 52, 1023),
    types.float32: (32, 23, 127),
}


@intrinsic
def two_to_the(typing_context: Any, rounded: Any) -> Any:
    """2**n where n sits in the low mantissa bits of `rounded` = n + magic."""
    bits, mantissa, one = _FORMATS[rounded]

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(bits)
        exponent = builder.shl(
            builder.bitcast(arguments[0], integer), ir.Constant(integer, mantissa)
        )
        power = builder.add(exponent, ir.Constant(integer, one << mantissa))
        return builder.bitcast(power, arguments[0].type)

    return rounded(rounded), codegen


def _tanh64() -> Any:
    saturated, magic = np.float64(20.0), np.float64(1.5 * 2**52)
    per_ln2, ln2, one = np.float64(1.0 / math.log(2.0)), np.float64(math.log(2.0)), np.float64(1.0)
    # Chebyshev fit of tanh(r / 2) / r over r^2, relative error 4e-18 before rounding.
    c0, c1, c2, c3, c4, c5, c6 = (
        0.5,
        -0.041666666666665134873,
        0.0041666666664625310481,
        -0.00042162697391893421523,
        0.000042713601483699652132,
        -4.3247692643797896542e-6,
        4.2028438992956541989e-7,
    )

    @inlined
    def tanh64(x):
        a = math.fabs(x)
        a = saturated if a > saturated else a
        t = a + a
        rounded = t * per_ln2 + magic
        r = t - (rounded - magic) * ln2
        u = r * r
        v = u * u
        q = r * ((c0 + u * c1) + v * ((c2 + u * c3) + v * ((c4 + u * c5) + v * c6)))
        power = two_to_the(rounded)
        less, more = power - one, power + one
        return math.copysign((less + more * q) / (more + less * q), x)

    return tanh64


def _tanh32() -> Any:
    saturated, magic = np.float32(10.0), np.float32(1.5 * 2**23)
    per_ln2, ln2, one = np.float32(1.0 / math.log(2.0)), np.float32(math.log(2.0)), np.float32(1.0)
    # The same fit with four coefficients, relative error 1.4e-10 before rounding.
    c0, c1, c2, c3 = (
        np.float32(0.5),
        np.float32(-0.041666648587332207677),
        np.float32(0.0041659126761616862509),
        np.float32(-0.00041153326684177347127),
    )

    @inlined
    def tanh32(x):
        a = math.fabs(x)
        a = saturated if a > saturated else a
        t = a + a
        rounded = t * per_ln2 + magic
        r = t - (rounded - magic) * ln2
        u = r * r
        q = r * ((c0 + u * c1) + (u * u) * (c2 + u * c3))
        power = two_to_the(rounded)
        less, more = power - one, power + one
        return math.copysign((less + more * q) / (more + less * q), x)

    return tanh32


_IMPLEMENTATIONS = {types.float64: _tanh64(), types.float32: _tanh32()}


def tanh(x: Any) -> Any:
    """Hyperbolic tangent of one float, for use inside kernels only."""
    raise RuntimeError("tanh is compiled into kernels; outside them use numpy.tanh")


@overload(tanh, jit_options={"fastmath": FASTMATH, "error_model": "numpy"})
def _compiled_tanh(x):  # Numba compares signatures, annotations included
    implementation = _IMPLEMENTATIONS[x]
    return lambda x: implementation(x)

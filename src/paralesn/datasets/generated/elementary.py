"""Sine and exponential from plain arithmetic: libraries round theirs differently.

Within a few units in the last place of the true values, for the moderate arguments of the systems
and transforms here; and the same on every machine.
"""

import math

from paralesn.datasets.generated.ieee import strict

# The leading 30 bits of pi and ln 2, so that small multiples are exact, and what these lack.
_PI_HIGH, _PI_LOW = 3.141592651605606, 1.984187159361081e-09
_LN2_HIGH, _LN2_LOW = 0.6931471796706319, 8.893134238886677e-10


# Of the sine beyond its first term, (-1)^n / (2n + 1)!, the last first.
_SINE = tuple((-1.0) ** n / math.factorial(2 * n + 1) for n in range(11, 0, -1))


@strict
def sine(x):  # type: ignore[no-untyped-def]
    """Sine of `x`, of size below a million: reduced to half a turn around 0, then its series."""
    turns = math.floor(x / math.pi + 0.5)
    r = (x - turns * _PI_HIGH) - turns * _PI_LOW
    square = r * r
    tail = 0.0
    for coefficient in _SINE:
        tail = square * (coefficient + tail)
    value = r + r * tail
    return value if turns % 2.0 == 0.0 else -value


@strict
def cosine(x):  # type: ignore[no-untyped-def]
    """Cosine of `x`."""
    half = sine(0.5 * x)
    return 1.0 - 2.0 * half * half


@strict
def exponential(x):  # type: ignore[no-untyped-def]
    """Exponential of `x`: a power of two times the series of the rest; 0 below -700."""
    if x < -700.0:
        return 0.0
    doublings = math.floor(x / 0.6931471805599453 + 0.5)
    r = (x - doublings * _LN2_HIGH) - doublings * _LN2_LOW
    value = 1.0
    for n in range(16, 0, -1):
        value = 1.0 + r / n * value
    factor = 2.0 if doublings > 0.0 else 0.5
    for _ in range(int(abs(doublings))):
        value *= factor  # exact
    return value


@strict
def hyperbolic_sine(x):  # type: ignore[no-untyped-def]
    """Hyperbolic sine of `x`, accurate to units of 1e-16 near 0."""
    grown = exponential(x)
    return 0.5 * (grown - 1.0 / grown)

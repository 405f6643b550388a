"""Fourier transform of powers of two in plain arithmetic: libraries round theirs differently."""

import math

import numpy as np

from paralesn.datasets.generated.elementary import cosine, sine
from paralesn.datasets.generated.ieee import strict


@strict
def twiddles(points):  # type: ignore[no-untyped-def]
    """Roots of unity exp(-2 pi i n / points), real and imaginary parts: (2, points / 2)."""
    roots = np.zeros((2, points // 2))
    for n in range(points // 2):
        angle = 2.0 * math.pi * n / points
        roots[0, n] = cosine(angle)
        roots[1, n] = -sine(angle)
    return roots


@strict
def transform(x, spare, roots):  # type: ignore[no-untyped-def]
    """Fourier transform of x (2, points), real and imaginary parts, in place.

    Stockham's order of the butterflies: every pass goes from one array to the other and leaves
    values sorted, so that no bits of indices are reversed. spare (2, points); roots: `twiddles`.
    Exchange the two rows before and after for the inverse, times `points`.
    """
    points = x.shape[1]
    a, b = x, spare
    half, stride, swapped = points // 2, 1, False
    while half > 0:
        for p in range(half):
            real, imag = roots[0, p * stride], roots[1, p * stride]
            near, far, to = stride * p, stride * (p + half), 2 * stride * p
            for q in range(stride):
                fall_real = a[0, near + q] - a[0, far + q]
                fall_imag = a[1, near + q] - a[1, far + q]
                b[0, to + q] = a[0, near + q] + a[0, far + q]
                b[1, to + q] = a[1, near + q] + a[1, far + q]
                b[0, to + stride + q] = fall_real * real - fall_imag * imag
                b[1, to + stride + q] = fall_real * imag + fall_imag * real
        a, b, swapped = b, a, not swapped
        half //= 2
        stride *= 2
    if swapped:
        for n in range(points):
            x[0, n], x[1, n] = spare[0, n], spare[1, n]

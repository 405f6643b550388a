"""Integration of differential equations by the Runge-Kutta method of order four."""

import numpy as np

from paralesn.datasets.generated.ieee import strict


@strict
def integrate(slope, start, out, dt, substeps):  # type: ignore[no-untyped-def]
    """From `start` (N,): out (steps, N) at times dt, 2 dt, ..., each in `substeps` steps.

    slope(u, du): writes the derivative at u (N,) into du (N,); made by `ieee.slope`
    """
    dims = start.size
    u, k, probe = start.copy(), np.zeros((5, dims)), np.zeros(dims)
    h = dt / substeps
    reach = np.array([0.0, 0.5 * h, 0.5 * h, h])
    for n in range(out.shape[0]):
        for _ in range(substeps):
            for stage in range(4):
                for i in range(dims):
                    probe[i] = u[i] + reach[stage] * k[stage, i]  # k[0] is zero
                slope(probe, k[stage + 1])
            for i in range(dims):
                u[i] += h / 6.0 * (k[1, i] + 2.0 * k[2, i] + 2.0 * k[3, i] + k[4, i])
        for i in range(dims):
            out[n, i] = u[i]  # out[n] = u would take seconds to compile

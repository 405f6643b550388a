"""A causal convolution of each channel and its SiLU, y = z sigma(z), fused, and their derivative.

z_t = b + sum_k w_k x_(t-k), where x is zero before the first step.
"""

from paralesn.engines.cpu.kernels.exp import exp
from paralesn.engines.cpu.kernels.room import clear, empty_rows
from paralesn.runtime.compiler import called, kernel


@called
def _convolve(x, t, weights, bias, z):
    """Z = b + sum_k w_k x_(t-k), for x (T, D) and weights (K, D)."""
    for d in range(z.shape[0]):
        z[d] = bias[d]
    for k in range(min(t + 1, weights.shape[0])):
        row, w = x[t - k], weights[k]
        for d in range(z.shape[0]):
            z[d] += w[d] * row[d]


@called
def _squash(z, y, one):
    """Y = z sigma(z)."""
    for d in range(z.shape[0]):
        y[d] = z[d] / (one + exp(-z[d]))


@called
def _slopes(z, gy, one):
    """Slopes by z, in place of z, from those by y."""
    for d in range(z.shape[0]):
        sigma = one / (one + exp(-z[d]))
        z[d] = gy[d] * sigma * (one + z[d] * (one - sigma))


@called
def _spread(g, x, t, weights, by_x, by_weights, by_bias):
    """Add what a step's slopes by z mean for inputs, weights and bias."""
    for d in range(g.shape[0]):
        by_bias[d] += g[d]
    for k in range(min(t + 1, weights.shape[0])):
        row, w, by_row, by_w = x[t - k], weights[k], by_x[t - k], by_weights[k]
        for d in range(g.shape[0]):
            by_row[d] += w[d] * g[d]
            by_w[d] += row[d] * g[d]


@kernel
def convolve_forwards(x, weights, bias, y, one, first, stop):
    """Outputs y (B, T, D) of series first .. stop; x (B, T, D), weights (K, D), one 1."""
    z = empty_rows(x, 1, x.shape[2])[0]
    for s in range(first, stop):
        for t in range(x.shape[1]):
            _convolve(x[s], t, weights, bias, z)
            _squash(z, y[s, t], one)


@kernel
def convolve_backwards(x, weights, bias, gy, by_x, by_weights, by_bias, one, first, stop):
    """Slopes by everything from those by the outputs, for series first .. stop.

    by_weights (B, K, D) and by_bias (B, D) are those of each series, for whoever calls to add up.
    """
    z = empty_rows(x, 1, x.shape[2])[0]
    for s in range(first, stop):
        clear(by_x[s])
        clear(by_weights[s])
        clear(by_bias[s : s + 1])
        for t in range(x.shape[1]):
            _convolve(x[s], t, weights, bias, z)
            _slopes(z, gy[s, t], one)
            _spread(z, x[s], t, weights, by_x[s], by_weights[s], by_bias[s])

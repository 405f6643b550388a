"""The linear recurrence h_t = lambda h_(t-1) + u_t of complex diagonal layers, and its derivative.

Rows hold all real parts, then all imaginary parts, so that loops over units use vectors.
"""

from paralesn.runtime.compiler import called, inlined, kernel


@called
def _advance(u, before, re, im):
    """u += lambda before."""
    units = re.shape[0]
    u_re, u_im, h_re, h_im = u[:units], u[units:], before[:units], before[units:]
    for i in range(units):
        u_re[i] += re[i] * h_re[i] - im[i] * h_im[i]
        u_im[i] += re[i] * h_im[i] + im[i] * h_re[i]


@inlined
def _collect(g, before, by):
    """by += g conj(before)."""
    units = g.shape[0] // 2
    g_re, g_im, h_re, h_im = g[:units], g[units:], before[:units], before[units:]
    by_re, by_im = by[:units], by[units:]
    for i in range(units):
        by_re[i] += g_re[i] * h_re[i] + g_im[i] * h_im[i]
        by_im[i] += g_im[i] * h_re[i] - g_re[i] * h_im[i]


@kernel
def scan_forwards(u, re, im, first, stop):
    """Turn u (B, T, 2 N) into states, in place, for series first .. stop; re, im (N,)."""
    for s in range(first, stop):
        for t in range(1, u.shape[1]):
            _advance(u[s, t], u[s, t - 1], re, im)


@kernel
def scan_backwards(g, h, re, minus_im, by, first, stop):
    """Turn slopes g (B, T, 2 N) by states h into those by what drives them, in place.

    `by` (B, 2 N) are those by the eigenvalues, of each series, for whoever calls to add up.
    """
    steps = g.shape[1]
    for s in range(first, stop):
        for i in range(by.shape[1]):
            by[s, i] = 0
        for t in range(steps - 1, 0, -1):
            _collect(g[s, t], h[s, t - 1], by[s])
            _advance(g[s, t - 1], g[s, t], re, minus_im)

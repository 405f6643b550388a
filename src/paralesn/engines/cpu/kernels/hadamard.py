"""The fast Walsh-Hadamard transform, compiled."""

from paralesn.runtime.compiler import called, inlined


@inlined
def _eight(x, i):
    """Transform x[i : i + 8]: three stages in registers."""
    a0, a1, a2, a3 = x[i], x[i + 1], x[i + 2], x[i + 3]
    a4, a5, a6, a7 = x[i + 4], x[i + 5], x[i + 6], x[i + 7]
    b0, b1, b2, b3 = a0 + a4, a1 + a5, a2 + a6, a3 + a7
    b4, b5, b6, b7 = a0 - a4, a1 - a5, a2 - a6, a3 - a7
    a0, a1, a2, a3 = b0 + b2, b1 + b3, b0 - b2, b1 - b3
    a4, a5, a6, a7 = b4 + b6, b5 + b7, b4 - b6, b5 - b7
    x[i], x[i + 1], x[i + 2], x[i + 3] = a0 + a1, a0 - a1, a2 + a3, a2 - a3
    x[i + 4], x[i + 5], x[i + 6], x[i + 7] = a4 + a5, a4 - a5, a6 + a7, a6 - a7


@inlined
def _four_parts(a, b, c, d):
    """Two stages at once, on four stretches of equal length."""
    for j in range(a.shape[0]):
        p, q, r, s = a[j] + b[j], a[j] - b[j], c[j] + d[j], c[j] - d[j]
        a[j], b[j], c[j], d[j] = p + r, q + s, p - r, q - s


@called
def walsh_hadamard(x):
    """x = H x in place, H the Hadamard matrix of +-1 and x.size a power of two.

    Stages whose stretches are apart go in pairs, which halves the trips through memory.
    """
    size = x.shape[0]
    stretch = 1
    if size >= 8:
        for i in range(0, size, 8):
            _eight(x, i)
        stretch = 8
    while 4 * stretch <= size:
        for i in range(0, size, 4 * stretch):
            part = x[i : i + 4 * stretch]
            _four_parts(
                part[:stretch],
                part[stretch : 2 * stretch],
                part[2 * stretch : 3 * stretch],
                part[3 * stretch :],
            )
        stretch *= 4
    while stretch < size:
        for i in range(0, size, 2 * stretch):
            first, second = x[i : i + stretch], x[i + stretch : i + 2 * stretch]
            for j in range(stretch):
                first[j], second[j] = first[j] + second[j], first[j] - second[j]
        stretch *= 2

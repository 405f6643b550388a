"""The fast engine: fused Numba kernels, shared out over threads."""

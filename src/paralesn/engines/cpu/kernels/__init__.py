"""Compiled kernels: the recurrences, products, tanh, vector instructions and statistics."""

"""The machine: compilation and its cache, threads, BLAS, recycled memory, PyTorch."""

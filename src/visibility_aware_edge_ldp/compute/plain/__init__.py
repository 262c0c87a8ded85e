"""The kernels in NumPy: the fallback without numba, and what the compiled ones are compared with."""

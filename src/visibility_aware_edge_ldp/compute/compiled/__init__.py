"""The kernels compiled by numba, the extra ``fast``: the same names and the same numbers as in ``plain``."""

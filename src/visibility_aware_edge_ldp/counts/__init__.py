"""Subgraph counts as multilinear polynomials of the positions' scores.

One formula, two readers: on true bits it is the oracle, on unbiased scores the unbiased estimator; the same
scores tell its variance.  [COUNTS.0], [COUNTS.7]
"""

"""Small matrix products that one core does by itself.

A matrix product of a few thousand numbers is given to all cores, and waits for those that are busy far longer than it
takes; then they go on spinning for a tenth of a second, in the way of what comes next. A product of a few rows is done
by one core, and gives the same digits however many there are.
"""

from __future__ import annotations

import numpy as np

from visibility_aware_edge_ldp.subgraphs.scores import Floats

_FEW_ROWS = 32


def product(left: Floats, right: Floats) -> Floats:
    """left @ right."""
    return np.asarray((_in_chunks(left) @ right).reshape(-1, right.shape[1])[: len(left)])


def inner(rows: Floats, weights: Floats) -> Floats:
    """rowsᵀ diag(weights) rows."""
    chunks = _in_chunks(rows * np.sqrt(weights)[:, None])
    return np.asarray((chunks.transpose(0, 2, 1) @ chunks).sum(axis=0))


def weighted(weights: Floats, rows: Floats) -> Floats:
    """weights @ rows, for a vector of weights."""
    return np.asarray(np.einsum("i,ij->j", weights, rows))


def _in_chunks(rows: Floats) -> Floats:
    """The same rows, few at a time, filled up with zeros."""
    chunks = -(-len(rows) // _FEW_ROWS)
    filled = np.zeros((chunks * _FEW_ROWS, rows.shape[1]))
    filled[: len(rows)] = rows
    return filled.reshape(chunks, _FEW_ROWS, rows.shape[1])

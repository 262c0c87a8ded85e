"""Planes of bits for tests of scores."""

from __future__ import annotations

import numpy as np

from visibility_aware_edge_ldp.compute.plain.bitset import pack_rows, symmetrise


def planes_of(*layers: np.ndarray) -> np.ndarray:
    """Symmetric packed planes with the bits above the diagonal of these matrices."""
    n = len(layers[0])
    return np.stack([symmetrise(pack_rows(np.triu(layer, 1), n), n) for layer in layers])

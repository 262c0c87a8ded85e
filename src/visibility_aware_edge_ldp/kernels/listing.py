"""Lists of the ones in rows of bits, an octet at a time: what the compiled kernels follow. Need the extra ``fast``.

A table has, for every octet, the places of its ones. All eight entries are written at once, and the next octet's
begin after those that were meant; so lists need room for eight entries more than they have in the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from visibility_aware_edge_ldp.kernels.adders import array_data
from visibility_aware_edge_ldp.kernels.cached import njit

ROOM = 8
ONES = np.bitwise_count(np.arange(256, dtype=np.uint8)).astype(np.int64)


def places_of_ones(unit: int = 1, dtype: Any = np.uint16) -> Any:
    """(256, 8): for each octet the places of its ones, in units; what follows them means nothing.

    Lists that are made with the table have entries of its type.
    """
    table = np.zeros((256, 8), dtype)
    for octet in range(256):
        table[octet, : ONES[octet]] = [bit * unit for bit in range(8) if octet >> bit & 1]
    return table


@intrinsic  # type: ignore[untyped-decorator]
def _put_octet(typing: Any, table: Any, octet: Any, base: Any, places: Any, end: Any) -> Any:
    """Write the eight entries that a table has for an octet, each plus ``base``, to the places from ``end`` on."""
    signature = types.void(table, types.int64, types.int64, places, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        entry, one = ir.IntType(table.dtype.bitwidth), ir.IntType(32)
        eight = ir.VectorType(entry, 8)
        entries, written = (array_data(context, builder, signature, args, i) for i in (0, 3))
        found = builder.load(builder.gep(builder.bitcast(entries, eight.as_pointer()), [args[1]]))
        found.align = 2
        unknown = ir.Constant(eight, ir.Undefined)
        filled = builder.insert_element(unknown, builder.trunc(args[2], entry), ir.Constant(one, 0))
        spread = builder.shuffle_vector(filled, unknown, ir.Constant(ir.VectorType(one, 8), [0] * 8))
        target = builder.bitcast(builder.gep(written, [args[4]]), eight.as_pointer())
        builder.store(builder.add(found, spread), target).align = 2
        return context.get_dummy_value()

    return signature, generate


@njit(inline="always")  # type: ignore[untyped-decorator]
def list_ones(octets: Any, table: Any, ones: Any, step: Any, base: Any, places: Any, end: Any) -> Any:
    """Append the places of the ones of a row of octets, ``step`` from octet to octet; returns where the list ends."""
    for i in range(octets.size):
        octet = octets[i]
        _put_octet(table, octet, base + i * step, places, end)
        end += ones[octet]
    return end

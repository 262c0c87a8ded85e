"""The compiled twins of ``rows``: rows of bits are added as bits, 512 columns at a time. Need the extra ``fast``."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from visibility_aware_edge_ldp.compute.compiled.carry_save import PANEL, WORD, array_data, number
from visibility_aware_edge_ldp.compute.compiled.column_counts import bits_of, count_columns, whole_groups, workspace
from visibility_aware_edge_ldp.compute.jit_cache import njit


@intrinsic  # type: ignore[untyped-decorator]
def _largest(typing: Any, pulls: Any, bits: Any) -> Any:
    """The largest absolute pull of a panel's columns with a one."""
    signature = types.float64(pulls, bits)
    lanes = 8

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pulled, chosen = (array_data(context, builder, signature, args, i) for i in (0, 1))
        real, shorts = ir.VectorType(ir.DoubleType(), lanes), ir.VectorType(ir.IntType(16), lanes)
        size = cgutils.get_or_insert_function(builder.module, ir.FunctionType(real, [real]), f"llvm.fabs.v{lanes}f64")
        zeros = ir.Constant(real, [0.0] * lanes)
        before = builder.block
        loop, done = builder.append_basic_block("columns"), builder.append_basic_block("found")
        builder.branch(loop)
        builder.position_at_end(loop)
        first, best = builder.phi(WORD), builder.phi(real)
        first.add_incoming(number(0), before)
        best.add_incoming(zeros, before)
        pull = builder.load(builder.bitcast(builder.gep(pulled, [first]), real.as_pointer()))
        bit = builder.load(builder.bitcast(builder.gep(chosen, [first]), shorts.as_pointer()))
        pull.align, bit.align = 8, 2
        inside = builder.icmp_unsigned("!=", bit, ir.Constant(shorts, [0] * lanes))
        here = builder.select(inside, builder.call(size, [pull]), zeros)
        better = builder.select(builder.fcmp_ordered(">", here, best), here, best)
        following = builder.add(first, number(lanes))
        first.add_incoming(following, loop)
        best.add_incoming(better, loop)
        builder.cbranch(builder.icmp_signed("<", following, number(PANEL)), loop, done)
        builder.position_at_end(done)
        found = ir.Constant(ir.DoubleType(), 0.0)
        for lane in range(lanes):
            one = builder.extract_element(better, ir.Constant(ir.IntType(32), lane))
            found = builder.select(builder.fcmp_ordered(">", one, found), one, found)
        return found

    return signature, generate


@intrinsic  # type: ignore[untyped-decorator]
def _extremes(typing: Any, counts: Any, bits: Any, found: Any) -> Any:
    """Write the smallest and the largest count of a panel's columns with a one; the smallest is larger if none has."""
    signature = types.void(counts, bits, found)
    lanes, width = 16, counts.dtype.bitwidth

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counted, chosen, target = (array_data(context, builder, signature, args, i) for i in range(3))
        number_type = ir.IntType(width)
        many, shorts = ir.VectorType(number_type, lanes), ir.VectorType(ir.IntType(16), lanes)
        zeros, all_ones = (ir.Constant(many, [value] * lanes) for value in (0, (1 << width) - 1))
        before = builder.block
        loop, done = builder.append_basic_block("columns"), builder.append_basic_block("found")
        builder.branch(loop)
        builder.position_at_end(loop)
        first, least, most = builder.phi(WORD), builder.phi(many), builder.phi(many)
        first.add_incoming(number(0), before)
        least.add_incoming(all_ones, before)
        most.add_incoming(zeros, before)
        count = builder.load(builder.bitcast(builder.gep(counted, [first]), many.as_pointer()))
        bit = builder.load(builder.bitcast(builder.gep(chosen, [first]), shorts.as_pointer()))
        count.align = bit.align = 2
        inside = builder.neg(bit)
        inside = inside if width == 16 else builder.sext(inside, many)
        low, high = builder.or_(count, builder.not_(inside)), builder.and_(count, inside)
        less = builder.select(builder.icmp_unsigned("<", low, least), low, least)
        more = builder.select(builder.icmp_unsigned(">", high, most), high, most)
        following = builder.add(first, number(lanes))
        first.add_incoming(following, loop)
        least.add_incoming(less, loop)
        most.add_incoming(more, loop)
        builder.cbranch(builder.icmp_signed("<", following, number(PANEL)), loop, done)
        builder.position_at_end(done)
        for index, (row, sign) in enumerate(((less, "<"), (more, ">"))):
            best = builder.extract_element(row, ir.Constant(ir.IntType(32), 0))
            for lane in range(1, lanes):
                one = builder.extract_element(row, ir.Constant(ir.IntType(32), lane))
                best = builder.select(builder.icmp_unsigned(sign, one, best), one, best)
            builder.store(builder.zext(best, WORD), builder.gep(target, [number(index)]))
        return context.get_dummy_value()

    return signature, generate


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _columns_here(members: Any, first: Any, columns: Any) -> Any:
    """Which columns of the panel are members', and how many."""
    size = 0
    for member in members:
        if first <= member < first + PANEL:
            columns[size] = member - first
            size += 1
    return size


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add_constant(weight: Any, size: Any, columns: Any, kept: Any, pulls: Any) -> None:
    """Add weight · size to all pulls, and weight · (size - 1) to those of the list's own columns."""
    for k in range(columns.size):
        kept[k] = pulls[columns[k]] + weight * (size - 1)
    more = weight * size
    for x in range(PANEL):
        pulls[x] += more
    for k in range(columns.size):
        pulls[columns[k]] = kept[k]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _pull(complete: Any, weights: Any, size: Any, count: Any) -> Any:
    """The pull at a column that so many listed rows hold in the plane that is not complete."""
    pull = 0.0
    for p in range(complete.size):
        pull += weights[p] * (size if complete[p] else count)
    return pull


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _largest_by_counts(
    complete: Any, weights: Any, size: Any, columns: Any, counts: Any, bits: Any, kept: Any, found: Any
) -> Any:
    """The largest absolute pull where a single plane is counted: it rises or falls with the count, so at its ends."""
    largest = 0.0
    for k in range(columns.size):
        x = columns[k]
        kept[k] = bits[x]
        if bits[x]:
            largest = max(largest, abs(_pull(complete, weights, size - 1, counts[x])))
            bits[x] = 0
    _extremes(counts, bits, found)
    for k in range(columns.size - 1, -1, -1):  # backwards: a column that is listed twice had its bit at first
        bits[columns[k]] = kept[k]
    if found[0] <= found[1]:
        for count in found:
            largest = max(largest, abs(_pull(complete, weights, size, count)))
    return largest


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _list_pulls(
    panels: Any, complete: Any, weights: Any, masks: Any, start: Any, offsets: Any, members: Any, counts: Any, bits: Any
) -> Any:
    planes, number, rows, _ = panels.shape
    lists = offsets.size - 1
    inside, largest = np.zeros((lists, planes), np.int64), np.zeros((len(masks), lists))
    ends, listed = whole_groups(offsets, members, rows - 1)
    work, pulls, found = workspace(), np.empty(PANEL), np.empty(2, np.int64)
    kept, columns = np.empty(members.size), np.empty(members.size, np.int64)
    single = planes - np.sum(complete) == 1
    for panel in range((start + 1) // PANEL, number):
        first = panel * PANEL
        for c in range(len(masks)):
            bits_of(masks[c, panel, 0], bits[c])
        for i in range(min(lists, first + PANEL - 1 - start)):
            mine = members[offsets[i] : offsets[i + 1]]
            if not mine.size:
                continue
            size = _columns_here(mine, first, columns)
            if not single:
                pulls[:] = 0.0
            for p in range(planes):
                if complete[p]:
                    inside[i, p] += size * (mine.size - 1)
                    if not single:
                        _add_constant(weights[p], mine.size, columns[:size], kept, pulls)
                else:
                    count_columns(panels[p, panel], listed, ends[i], ends[i + 1], work, counts)
                    if not single:
                        weight = weights[p]
                        for x in range(PANEL):
                            pulls[x] += weight * counts[x]
                    for x in columns[:size]:
                        inside[i, p] += counts[x]
            for c in range(len(masks)):
                if masks.shape[2] > 1:
                    bits_of(masks[c, panel, i], bits[c])
                bits[c, : max(start + i + 1 - first, 0)] = 0  # before this list's user, and so before those that follow
                if single:
                    here = _largest_by_counts(
                        complete, weights, mine.size, columns[:size], counts, bits[c], kept, found
                    )
                else:
                    here = _largest(pulls, bits[c])
                largest[c, i] = max(largest[c, i], here)
    return inside, largest


def list_pulls(panels: Any, complete: Any, weights: Any, masks: Any, start: int, offsets: Any, members: Any) -> Any:
    """As ``rows.list_pulls``: panel after panel, so that what is read stays near."""
    if members.size and not 0 <= members.min() <= members.max() < panels.shape[2] - 1:
        raise IndexError("A list names users who do not exist.")
    longest = int(np.diff(offsets).max(initial=0))
    counts = np.empty(PANEL, np.uint16 if longest < 1 << 16 else np.uint32)
    bits = np.empty((len(masks), PANEL), np.uint16)
    return _list_pulls(panels, complete, weights, masks, start, offsets, members, counts, bits)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def lists_of(edges: Any, degrees: Any) -> Any:
    """As ``rows.lists_of``: in the order of the edges, every list fills from its smallest friend on."""
    starts = np.zeros(degrees.size + 1, np.int64)
    for u in range(degrees.size):
        starts[u + 1] = starts[u] + degrees[u]
    ends, friends = starts[:-1].copy(), np.empty(2 * len(edges), np.int32)
    for e in range(len(edges)):
        u, v = edges[e, 0], edges[e, 1]
        friends[ends[u]] = v
        friends[ends[v]] = u
        ends[u] += 1
        ends[v] += 1
    return starts, friends

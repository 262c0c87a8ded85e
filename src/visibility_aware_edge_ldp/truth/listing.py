"""Lists of edges with names, and the simple undirected graph that each of them is."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadGraph, TooLarge
from visibility_aware_edge_ldp.truth.graph import Edges, Graph

Integers = npt.NDArray[np.int64]
Names = Sequence[Hashable]

MOST_NODES = 2**31 - 1
_GAPS = "node ids are not 0..n-1"
_BLOCK = 1 << 16


@dataclass(frozen=True)
class Listing:
    """Edges as listed: loops, duplicates and both directions may still be there.

    Parameters
    ----------
    names
        Every node, once.
    pairs
        An (m, 2) array of positions in ``names``, one row for each listed edge.
    notes
        What was already decided while reading.
    kind
        ``"list"``, ``"arcs"`` when the rows are directed by declaration, ``"matrix"`` when a
        symmetric matrix lists every edge twice.
    people
        Where every pair is a person and a place: how many of the names, the first ones, are people.
    """

    names: Names
    pairs: npt.NDArray[Any] = field(repr=False)
    notes: tuple[str, ...] = ()
    kind: str = "list"
    people: int | None = None

    def graph(self, source: str) -> Graph:
        """The simple undirected graph, with a note for each thing that was changed."""
        n = check_size(len(self.names), source)
        keys = _keys(self.pairs, n)
        edges, repeated, both = _simplify(keys, n)
        loops, rows = len(self.pairs) - len(keys), len(keys) - repeated
        notes = [*self.notes, *_changed(loops, "self-loop", "left out")]
        notes += _changed(repeated, "duplicate edge", "merged")
        notes += _direction_note(self.kind, rows, len(edges), both)
        return Graph(self.names, edges, tuple(notes), source, people=self.people)

    def among(self, nodes: int | Iterable[Hashable]) -> "Listing":
        """The same edges among exactly these nodes, in this order, isolated ones included.

        Parameters
        ----------
        nodes
            The names, or a number n for the names 0..n-1.
        """
        chosen = _node_list(nodes)
        place = {name: i for i, name in enumerate(chosen)}
        if len(place) < len(chosen):
            raise BadGraph("`nodes` names a node twice. Give each name once.")
        unknown = [name for name in self.names if name not in place]
        if unknown:
            raise BadGraph(
                f"{_count(len(unknown), 'node')} of the graph, {unknown[0]!r} first, "
                "cannot be found in `nodes`. Add the missing names or leave `nodes` out."
            )
        moved = np.fromiter((place[name] for name in self.names), np.int64, len(self.names))
        notes = tuple(note for note in self.notes if not note.startswith(_GAPS))
        return Listing(chosen, moved[self.pairs], notes, self.kind)


def people_and_places(listing: Listing, nodes: Any = None) -> Listing:
    """The same rows, each a person and a place, with all people before all places; the two may share names.

    ``nodes`` are the people and the places, two lists of names or two numbers, where rows do not name them all. Where
    any name stands on both sides, every place is called "place NAME".
    """
    if listing.people is not None:
        if nodes is not None:
            raise BadGraph("The graph names all its people and places; leave `nodes` out.")
        return listing
    if listing.kind != "list":
        raise BadGraph("People and places come as two columns, a person and a place on each line; give such a list.")
    if nodes is not None and (isinstance(nodes, (str, bytes, int)) or len(nodes) != 2):
        raise BadGraph("`nodes` of people and places are two lists, or two numbers: nodes=(people, places).")
    sides, columns = [], []
    for place, column in enumerate(listing.pairs.T):
        there, moved = np.unique(column, return_inverse=True)
        names: Names = [listing.names[i] for i in there]
        if nodes is not None:
            named = Listing(names, np.stack([moved.ravel()] * 2, axis=1)).among(_node_list(nodes[place], least=1))
            names, moved = named.names, named.pairs[:, 0]
        sides.append(list(names))
        columns.append(moved.ravel())
    people, places = sides
    if not people or not places:
        raise BadGraph("People and places need at least one of each; give a list with a person and a place on a line.")
    notes = tuple(note for note in listing.notes if not note.startswith(_GAPS))
    if both := set(people) & set(places):
        places = [f"place {name}" for name in places]
        alike = f"{_count(len(both), 'name')} {'stands' if len(both) == 1 else 'stand'} on both sides"
        notes = (*notes, f'{alike}, so every place has "place" before its name')
    if len({*people, *places}) < len(people) + len(places):
        raise BadGraph("A person is called as a place is; rename one of them.")
    pairs = np.stack([columns[0], columns[1] + len(people)], axis=1).astype(np.int64)
    return Listing([*people, *places], pairs, notes, people=len(people))


def from_integers(pairs: Integers, notes: Iterable[str] = (), kind: str = "list") -> Listing:
    """Rows of integer ids; the ids that occur are the nodes."""
    if pairs.size == 0:
        return Listing(range(0), pairs.reshape(0, 2), tuple(notes), kind)
    ids, places = _relabel(pairs)
    names, gaps = integer_names(ids)
    return Listing(names, places, (*notes, *gaps), kind)


def from_names(left: Iterable[Hashable], right: Iterable[Hashable], notes: Iterable[str] = ()) -> Listing:
    """Rows of names of any hashable kind, whole numbers among them."""
    index: defaultdict[Hashable, int] = defaultdict(count().__next__)
    pairs = np.stack([places(index, left), places(index, right)], axis=1)
    return sort_nodes(Listing(list(index), pairs, tuple(notes)))


def places(index: defaultdict[Any, int], names: Iterable[Hashable]) -> Integers:
    """Each name's number in an index that counts its names as it meets them."""
    return np.fromiter(map(index.__getitem__, names), np.int64)


def sort_nodes(listing: Listing) -> Listing:
    """Put the nodes in the order of their names; names that cannot be compared stay as they are."""
    names: list[Any] = [_plain(name) for name in listing.names]
    try:
        order = sorted(range(len(names)), key=names.__getitem__)
    except TypeError:
        return Listing(names, listing.pairs, listing.notes, listing.kind)
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    ordered: Names = [names[i] for i in order]
    gaps: tuple[str, ...] = ()
    if all(type(name) is int for name in ordered):
        ordered, gaps = integer_names(ordered)
    return Listing(ordered, place[listing.pairs], (*listing.notes, *gaps), listing.kind)


def integer_names(ids: Sequence[Any] | Integers) -> tuple[Names, tuple[str, ...]]:
    """Sorted distinct ids as names: ``range(n)`` when they are 0..n-1, else a list and a note."""
    n = len(ids)
    if n == 0 or (ids[0] == 0 and ids[-1] == n - 1):
        return range(n), ()
    names = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    return names, (f"{_GAPS}; the {n:,} ids that occur are the nodes",)


def check_size(n: int, source: str) -> int:
    """Refuse fewer than two nodes, and more than an index can hold."""
    if n < 2:
        raise BadGraph(
            f"A graph with at least two nodes is needed; {source} has {_count(n, 'node') if n else 'none'}. "
            "Give a list with at least one edge between two nodes."
        )
    if n > MOST_NODES:
        raise TooLarge(
            f"{source} has {n:,} nodes, more than the {MOST_NODES:,} that can be numbered here. "
            "Take a subgraph, or number only the nodes that occur."
        )
    return n


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _plain(name: Hashable) -> Hashable:
    return name.item() if isinstance(name, np.generic) else name


def _node_list(nodes: int | Iterable[Hashable], least: int = 2) -> Names:
    if isinstance(nodes, (int, np.integer)) and not isinstance(nodes, bool):
        check_size(max(int(nodes), 2 if int(nodes) >= least else 0), "`nodes`")
        return range(int(nodes))
    if isinstance(nodes, (str, bytes)) or not isinstance(nodes, Iterable):
        raise BadGraph("`nodes` must be a number of nodes or a list of their names.")
    names = [_plain(name) for name in nodes]
    return range(len(names)) if names == list(range(len(names))) else names


def _relabel(pairs: Integers) -> tuple[Integers, npt.NDArray[np.integer[Any]]]:
    """Distinct ids, sorted, and each id's place among them."""
    low, high = int(pairs.min()), int(pairs.max())
    # A table over the whole range beats sorting, as long as the range is not mostly gaps.
    if high - low > 4 * pairs.size + 1_000_000:
        ids, places = np.unique(pairs, return_inverse=True)
        return ids, places.reshape(pairs.shape)
    shifted = pairs - low if low else pairs
    seen = np.zeros(high - low + 1, dtype=bool)
    seen[shifted.ravel()] = True
    ids = np.flatnonzero(seen) + low
    if len(ids) == len(seen):
        return ids, shifted
    return ids, (np.cumsum(seen, dtype=np.int64) - 1)[shifted]


def _keys(pairs: npt.NDArray[Any], n: int) -> Integers:
    """Each row but the self-loops as one integer: lower end, upper end, direction, in 63 bits.

    One sort of these is several times faster than a unique over rows. Blocks that fit into the
    processor's cache keep the large arrays down to this one.
    """
    bits, filled = n.bit_length(), 0
    keys = np.empty(len(pairs), np.int64)
    for block in _blocks(pairs):
        left, right = block[:, 0].astype(np.int64), block[:, 1].astype(np.int64)
        key = (np.minimum(left, right) << (bits + 1)) | (np.maximum(left, right) << 1) | (left > right)
        loops = left == right
        key = key[~loops] if loops.any() else key
        keys[filled : filled + len(key)] = key
        filled += len(key)
    return keys[:filled]


def _simplify(keys: Integers, n: int) -> tuple[Edges, int, int]:
    """Sorted distinct rows u < v; how many rows repeated another, how many were another reversed.

    The keys are used up.
    """
    keys.sort()
    repeated = int(np.count_nonzero(keys[1:] == keys[:-1]))
    keys >>= 1
    first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    kept = int(np.count_nonzero(first))
    both = len(keys) - repeated - kept
    return _rows(keys if kept == len(keys) else keys[first], n.bit_length()), repeated, both


def _rows(keys: Integers, bits: int) -> Edges:
    edges = np.empty((len(keys), 2), dtype=np.int32)
    for block, rows in zip(_blocks(keys), _blocks(edges), strict=True):
        rows[:, 0] = block >> bits
        rows[:, 1] = block & ((1 << bits) - 1)
    return edges


def _blocks(array: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    return (array[start : start + _BLOCK] for start in range(0, len(array), _BLOCK))


def _changed(number: int, thing: str, fate: str) -> tuple[str, ...]:
    """A note such as "3 self-loops were left out"; none where there was nothing to change."""
    return (f"{_count(number, thing)} {'was' if number == 1 else 'were'} {fate}",) if number else ()


def _direction_note(kind: str, rows: int, edges: int, both: int) -> tuple[str, ...]:
    """What became of directions; silence where a symmetric matrix is simply symmetric."""
    if kind == "arcs":
        return (
            f"the graph is directed: its {_count(rows, 'arc')} became {_count(edges, 'undirected edge')}, "
            f"{both:,} of them listed in both directions",
        )
    if kind == "matrix":
        one_way = edges - both
        mixed = one_way and both
        text = f"the matrix is not symmetric: {_count(one_way, 'edge')} stored in one direction only"
        return (f"{text}, read as undirected",) if mixed else ()
    return _changed(both, "edge", "listed in both directions and merged")


def near_duplicates(names: Sequence[Hashable]) -> tuple[str, ...]:
    """A note where names differ only in capitals or blanks, and so may be one person twice; else nothing."""
    if isinstance(names, range):
        return ()
    first: dict[str, str] = {}
    alike = []
    for name in names:
        if isinstance(name, str):
            known = first.setdefault(" ".join(name.casefold().split()), name)
            if known != name:
                alike.append((known, name))
    if not alike:
        return ()
    more = f" and {len(alike) - 1:,} more" if len(alike) > 1 else ""
    return (
        f"names that differ only in capitals or blanks are different people here: {alike[0][0]!r} and "
        f"{alike[0][1]!r}{more}",
    )

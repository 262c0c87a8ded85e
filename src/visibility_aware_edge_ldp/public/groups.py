"""Groups: a public attribute that puts every member of the roster into one of a few groups.  [GROUPS.0]"""

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.counts import mixing
from visibility_aware_edge_ldp.errors import BadInput

Ints = npt.NDArray[np.int64]
# Each user reports a number for each group: with more of them, cells are mostly noise.
MOST = 100
REST = "the rest"
EVERYBODY = "everybody"


@dataclass(frozen=True, eq=False)
class Groups:
    """Which group every member of a roster is in, for everybody to know.

    Parameters
    ----------
    attribute
        What the groups go by: "year".
    labels
        The groups' names, in the order of their numbers.
    members
        The number of the group of each node, in the roster's order.
    """

    attribute: str
    labels: tuple[str, ...]
    members: Ints = field(repr=False)

    def __post_init__(self) -> None:
        if not 0 < len(self.labels) <= MOST or len(set(self.labels)) < len(self.labels):
            raise BadInput(f"There are from 1 to {MOST} groups, each with a name of its own; got {len(self.labels)}.")
        if self.members.size and not (self.members.min() >= 0 and self.members.max() < len(self.labels)):
            raise BadInput("A member of the roster is in a group that has no name; every member is in one group.")
        self.members.setflags(write=False)

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.labels)

    @property
    def sizes(self) -> Ints:
        """How many members each group has."""
        return np.bincount(self.members, minlength=self.count)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The names of each two groups, a group with itself too, each pair once."""
        return [(self.labels[a], self.labels[b]) for a in range(self.count) for b in range(a, self.count)]

    def entries_of(self, name: str) -> list[Hashable]:
        """What each entry of a statistic that follows from the mixing matrix is about: two groups, a term, a group."""
        if name == "mixing":
            return [*self.pairs]
        if name == "contacts":
            return [(a, b) for a in self.labels for b in self.labels]
        return [*(mixing.target_names(self.attribute, self.labels) if name == "ergm_targets" else self.labels)]

    @property
    def about(self) -> dict[str, Any]:
        """What the groups go by, their names, and how many members each has, for JSON."""
        return {"attribute": self.attribute, "labels": list(self.labels), "sizes": self.sizes.tolist()}

    def describe(self) -> dict[str, Any]:
        """All that decides who is in which group, as canonical JSON values, for the identity of a survey."""
        members = hashlib.sha256(self.members.astype("<i8").tobytes()).hexdigest()
        return {"attribute": self.attribute, "labels": list(self.labels), "members": members}

    def of(self, nodes: Ints) -> "Groups":
        """The groups of some of the nodes, in this order."""
        return replace(self, members=self.members[nodes])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Groups) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash((self.attribute, self.labels))

    def __str__(self) -> str:
        return f"{self.count} groups by {self.attribute}"


def everybody(nodes: int) -> Groups:
    """One group that all nodes are in."""
    return Groups(EVERYBODY, (EVERYBODY,), np.zeros(nodes, np.int64))


def groups_of(graph: Any) -> Groups:
    """The groups of a graph or of a public view; where it has none, everybody is in one."""
    found: Groups | None = getattr(graph, "groups", None)
    return everybody(graph.n) if found is None else found


def exact_by_groups(name: str, graph: Any) -> Any:
    """The true value of a statistic of groups, by its name."""
    groups = groups_of(graph)
    return mixing.exact(name, mixing.mixing_matrix(groups.members, groups.count, graph.edges), groups.sizes)


def group_by(names: Sequence[Hashable], attribute: str, values: Mapping[Hashable, Hashable], least: int = 1) -> Groups:
    """From a public attribute to groups of equal values, sorted; nodes without a value are in ``REST``.

    Groups of fewer than ``least`` members join the rest. Values of people who are not in the roster are left out.
    """
    given = [values.get(name) for name in names]
    found, sizes = np.unique([str(each) for each in given if each is not None], return_counts=True)
    kept = [str(value) for value, size in zip(found, sizes, strict=True) if size >= least and value != REST]
    if not kept:
        raise BadInput(f"No group by {attribute!r} has {least:,} members; name another attribute, or a smaller least.")
    place = {value: number for number, value in enumerate(kept)}
    members = np.array([place.get(str(each), len(kept)) if each is not None else len(kept) for each in given], np.int64)
    rest = (REST,) if (members == len(kept)).any() else ()
    return Groups(attribute, (*kept, *rest), members)

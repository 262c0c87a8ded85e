"""Friends of lists that a public coin puts into groups: their pairs, and what a pair weighs.  [PARTS.1]"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.compute.reproducible_math import exp, log

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Pairs(NamedTuple):
    """All pairs of one list's friends that are in one group: whose list, both friends, and how many share the group.

    ``loads`` is, of each list, how many friends its largest group has.
    """

    owner: Ints
    u: Ints
    v: Ints
    load: Ints
    loads: Ints


def pairs_in_groups(offsets: Ints, members: npt.NDArray[np.int32], groups: Ints) -> Pairs:
    """From lists of friends, each in rising order, and each friend's group, to the pairs within groups."""
    owner = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    order = np.lexsort((groups, owner))
    owner, friends, groups = owner[order], members[order].astype(np.int64), groups[order]
    begins = np.flatnonzero(np.diff(owner, prepend=-1).astype(np.bool_) | np.diff(groups, prepend=-1).astype(np.bool_))
    sizes = np.diff(np.append(begins, owner.size))
    loads = np.zeros(offsets.size - 1, np.int64)
    np.maximum.at(loads, owner[begins], sizes)
    load, after = np.repeat(sizes, sizes), np.repeat(begins + sizes, sizes) - np.arange(owner.size) - 1
    firsts, seconds = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    here, step = np.flatnonzero(after > 0), 1
    while here.size:
        firsts.append(here)
        seconds.append(here + step)
        step += 1
        here = here[after[here] >= step]
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    return Pairs(owner[first], friends[first], friends[second], load[first], loads)


def short_weights(lengths: Ints, groups: int, last: int) -> Floats:
    """1/(s(1 − s)^(d − 2)): one over the chance that two of d friends are alone in a group; the same from ``last`` on.

    [PARTS.1]
    """
    step = float(log(np.array([1 - 1 / groups]))[0])
    return groups * exp(-step * (np.minimum(lengths, last) - 2.0))

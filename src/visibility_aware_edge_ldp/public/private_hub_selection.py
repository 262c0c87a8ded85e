"""Public hubs that are chosen privately: the highest noisy degrees, bought and billed.  [HUBS.1-3]"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.privacy import Number, Release, parse_epsilon
from visibility_aware_edge_ldp.public.node_rules import AGREED, profile_rule, profile_table
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.rules import BoundRule, Names
from visibility_aware_edge_ldp.public.view import PublicView
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility


@dataclass(frozen=True)
class NoisyHubs:
    """So many hubs are public, which noisy degrees are still to choose: what somebody asks for, before anybody reports.

    ``epsilon`` is what all noisy degrees together cost an edge.  [HUBS.1]
    """

    count: int
    epsilon: Fraction
    rule: str

    def bind(self, names: Names) -> BoundRule:
        raise BadPolicy(
            "The hubs of this policy are chosen by noisy degrees, which `estimate` and `compare` collect and nothing "
            "else does; name public hubs in a policy.toml instead."
        )

    def present(self, names: Names) -> frozenset[Visibility]:
        return frozenset(cell for row in profile_table(self.rule) for cell in row)

    def describe(self) -> dict[str, Any]:
        return {"kind": "noisy hubs", "count": self.count, "epsilon": str(self.epsilon), "rule": self.rule}

    def __str__(self) -> str:
        cost = f"for ε = {float(self.epsilon):g}"
        return f"{self.count:,} public hubs, to be chosen by noisy degree {cost} (rule {self.rule!r})"


def noisy_hubs(count: str | int, epsilon: Number, rule: str = "any") -> VisibilityPolicy:
    """The policy of so many hubs that noisy degrees will choose at this loss per edge."""
    text = str(count)
    if not text.isdecimal() or not int(text):
        raise BadPolicy(f"Hubs that are chosen by noisy degrees are a whole number from 1 on; got {text!r}.")
    profile_table(rule)
    return VisibilityPolicy.of(NoisyHubs(int(text), parse_epsilon(epsilon), rule))


def noisy_top_k(
    noisy_degrees: npt.ArrayLike,
    k: int,
    names: Sequence[Hashable],
    candidates: Iterable[Hashable] | None = None,
) -> frozenset[Hashable]:
    """The k candidates with the highest noisy degrees; of equal ones those that come first in the roster.  [HUBS.1]

    Looks at nothing but what was reported. ``candidates`` are those who agreed to become public, by default everybody;
    who sent no report must not be among them.
    """
    reported, allowed = np.asarray(noisy_degrees), None if candidates is None else frozenset(candidates)
    if reported.shape != (len(names),):
        raise BadPolicy(f"One noisy degree for each of the {len(names):,} nodes is needed; got {reported.size:,}.")
    places = np.arange(len(names))
    if allowed is not None:
        places = np.flatnonzero(np.fromiter((name in allowed for name in names), np.bool_, len(names)))
    if allowed is not None and len(places) != len(allowed):
        raise BadPolicy("Somebody among the candidates is not on the roster; check the names.")
    if not 1 <= k <= len(places):
        raise BadPolicy(f"Between 1 and {len(places):,} hubs can be chosen from these candidates; {k} were asked for.")
    order = np.argsort(-reported[places], kind="stable")[:k]
    return frozenset(names[places[i]] for i in order)


def hub_policy(
    view: PublicView,
    noisy_degrees: npt.ArrayLike,
    k: int,
    releases: Sequence[Release],
    rule: str = "any",
    candidates: Iterable[Hashable] | None = None,
) -> VisibilityPolicy:
    """The policy of a view with k hubs made public, chosen by noisy degrees that these releases paid for.

    ``policy.paid`` keeps the releases, so that every later bill has them.  [HUBS.2]

    Parameters
    ----------
    view
        What everybody knew when the degrees were reported.
    noisy_degrees
        One number for each node, as it was reported: ``DegreeCollection.reported``.
    k
        How many hubs to choose.
    releases
        What the noisy degrees cost: ``DegreeCollection.releases``.
    rule
        "any": a hub's whole list becomes public. "both": as for public profiles, only positions between hubs do.
    candidates
        Those who agreed beforehand to publish their lists if they are chosen; by default everybody did.
    """
    if not releases:
        raise BadPolicy("A private choice of hubs must be paid for: give the releases that the noisy degrees are from.")
    before = view.policy
    chosen = profile_rule(dict.fromkeys(noisy_top_k(noisy_degrees, k, view.names, candidates), "public"), rule)
    words = f"{k:,} public hubs, chosen by noisy degree (rule {rule!r})"
    paid = tuple(_for_any_class(release, view.present) for release in releases)
    hubs = VisibilityPolicy.of(replace(chosen, words=words), (AGREED,), before.multipliers, paid)
    return hubs if view.present == {Visibility.PRIVATE} and not before.paid else before | hubs


def _for_any_class(release: Release, present: frozenset[Visibility]) -> Release:
    """The release priced for the new classes: a position may have had any of the old ones, so the worst holds."""
    asked = [price for kind, price in release.prices if kind in present]
    if not asked:
        return replace(release, prices=())
    worst = reduce(or_, asked)
    return replace(release, prices=tuple((kind, worst) for kind in NON_PUBLIC[::-1]))

"""Answers at size that are made by other code than clients: campaigns' rows, and chains.  [LARGE.3], [CHAIN.1]"""

from fractions import Fraction
from itertools import permutations

import numpy as np

from visibility_aware_edge_ldp.audit.at_size.bits import FIRST, MIXED, first_flips
from visibility_aware_edge_ldp.audit.engine import large_worlds as large
from visibility_aware_edge_ldp.audit.engine.enumerate_randomness import WORDS
from visibility_aware_edge_ldp.audit.engine.findings import Audit, Finding, exact
from visibility_aware_edge_ldp.audit.engine.noise_laws import another_noise
from visibility_aware_edge_ldp.audit.protocols.chain import SPLIT, contexts
from visibility_aware_edge_ldp.campaign.participant.accounts import account_of
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends
from visibility_aware_edge_ldp.campaign.participant.reports import REPORTS, Making
from visibility_aware_edge_ldp.mechanisms.chain import Level, chained
from visibility_aware_edge_ldp.public.layout import unpack
from visibility_aware_edge_ldp.public.surveys import position as layout
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

# ── a participant of campaigns, whose rows are made by code of its own ──


def audit_uploads(name: str, people: int, about: str) -> Finding:
    """Both rounds of a row as the participant's program makes them for the first campaign of an epoch."""
    policy = MIXED.guarded("3", "1")
    (context,) = contexts([f"person {i}" for i in range(people)], policy, [("position, twice", "1")])
    row = slice(context.number + 1, None)
    classes, account = context.classes[row].astype(np.int64), account_of([], context.names)
    losses = {kind: policy.multipliers.of(kind) for kind in NON_PUBLIC}
    shared = [{kind: share * loss for kind, loss in losses.items()} for share in SPLIT]
    for said in FIRST:
        friends = large.coin_bits(people, "friends", said) & (np.arange(people) != context.number)
        own, due, first = friends[row], classes != Visibility.PUBLIC, b""
        for number, (make, prices) in enumerate(zip(REPORTS["position"], shared, strict=True), 1):
            flips = large.coin_bits(own.size, said, number)
            flips = first_flips(said, own, flips) if number == 1 else flips
            octets = _words(prices, classes, flips) if number == 1 else _bytes(prices, classes, due, flips)
            coins = large.Stream(octets)
            report = layout.decode(make(Making(context, account, Friends(friends, ()), coins, first)).report)
            coins.refuse_rest()
            ones = unpack(report.ones, report.count)
            if not np.array_equal(ones, (own ^ flips) & due):
                raise another_noise()
            first, due = layout.encode(report), due & ones
    cases = [
        large.Case(kind, sum(large.bit_loss(large.threshold_of(prices[kind])) for prices in shared), loss, loss)
        for kind, loss in losses.items()
    ]
    return large.finding_of(name, cases, about)


def _bytes(prices: dict[Visibility, Fraction], classes: large.Ints, due: large.Bits, flips: large.Bits) -> bytes:
    """What a round of randomized response draws: class by class, every word at its edge."""
    places = [(large.threshold_of(prices[kind]), due & (classes == kind)) for kind in NON_PUBLIC]
    return b"".join(large.flip_octets(edge, flips[at], np.ones(int(at.sum()), np.bool_)) for edge, at in places)


def _words(prices: dict[Visibility, Fraction], classes: large.Ints, flips: large.Bits) -> bytes:
    """What first chained answers draw: for every threshold, the least first, a word for every position of the row."""
    octets = b""
    for kind in sorted(prices, key=lambda each: large.threshold_of(prices[each])):
        edge, wanted = large.threshold_of(prices[kind]), flips & (classes == kind)
        octets += np.where(wanted, np.uint64(edge - 1), np.uint64(edge)).astype(">u8").tobytes()
    return octets


# ── chained answers of many positions, of which some have answered before ──


def _flip_chance(here: int, better: int, worse: int, agree: bool) -> Fraction:
    """The chance to differ from the better neighbour: a chain of three bits, by Bayes' rule.  [CHAIN.1]"""

    def differs(one: int, other: int) -> Fraction:
        p, q = Fraction(one, WORDS), Fraction(other, WORDS)
        return (q - p) / (1 - 2 * p)

    down = differs(better, here)
    if not worse:
        return down
    further = differs(here, worse)
    both = {
        turned: (down if turned else 1 - down) * (further if turned == agree else 1 - further)
        for turned in (True, False)
    }
    return both[True] / (both[True] + both[False])


def _level(levels: list[Level], place: int, here: int, better: bool) -> Level | None:
    """What this position said at the nearest better, or the nearest worse, threshold."""
    known = [each for each in levels if each.known[place] and (each.threshold < here) == better]
    nearest = max if better else min
    return nearest(known, key=lambda each: each.threshold) if known else None


def audit_chain(name: str, count: int, about: str) -> Finding:
    """Three answers in every order, each from part of the positions; every word beside the place where it turns."""
    cases = list[large.Case]()
    for order in permutations(map(Fraction, ("2", "1", "1/2"))):
        bits, levels = large.coin_bits(count, str(order)), list[Level]()
        for epsilon in order:
            here, asked = large.threshold_of(epsilon), large.coin_bits(count, str(order), str(epsilon), "asked")
            said = _tried_chain(here, bits, levels)
            levels.append(Level(here, asked, said & asked))
        cases.append(
            large.Case(Visibility.PRIVATE, large.bit_loss(large.threshold_of(max(order))), max(order), max(order))
        )
    return large.finding_of(name, cases, about)


def _tried_chain(here: int, bits: large.Bits, levels: list[Level]) -> large.Bits:
    """One chained answer of all positions, each of which must turn at its own word."""
    flips, above, words = large.coin_bits(bits.size, here, len(levels)), bits.copy(), np.zeros(bits.size, np.uint64)
    for place in range(bits.size):
        better, worse = (_level(levels, place, here, side) for side in (True, False))
        if better is not None:
            above[place] = better.ones[place]
        agree = worse is None or bool(worse.ones[place] == above[place])
        chance = _flip_chance(here, better.threshold if better else 0, worse.threshold if worse else 0, agree)
        edge = int(chance * WORDS)
        words[place] = edge - 1 if flips[place] else edge + 1
    coins = large.Stream(words.astype(">u8").tobytes())
    said = chained(here, bits, levels, coins)
    coins.refuse_rest()
    if not np.array_equal(said, above ^ flips):
        raise another_noise()
    return said


# ── what is run ──

AUDITS: dict[str, tuple[Audit, ...]] = {
    "position": (
        exact(
            "campaign rows, at size", audit_uploads, 600, "both rounds of a row of 599, as the participant makes them"
        ),
    ),
    "chain": (exact("chained answers, at size", audit_chain, 700, "700 positions, three answers in all six orders"),),
}

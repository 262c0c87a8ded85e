"""What a participant's answers about one data epoch have cost each of its positions.  [LEDGER.2]

Pure: entries of the ledger in, numbers out. A position is the other person's name; rosters come and go. Kinds of entry:

roster   the names of a roster, in its order; ``names`` is the digest under which others speak of it
list     which names were asked about first now, and which of them are friends: this stays for the epoch
level    which positions answered now at the flip threshold ``key``/2^64, and what they said
charge   positions that a report which is not randomized response has cost ``key`` each
pairs    the same for a hub's report: ``key`` for every position between two others, of the classes that it lists
class    positions that were asked about as being of the class ``key``, whatever they are called later
other    positions that others hold, and may have answered for at the flip threshold ``key``/2^64
noted    what others answer about this participant's positions in one round: that it is charged already
memo     a report that is not randomized response, under what it is an answer to
wave     which positions were told to have changed in a wave of a series, the ``key``
consent  whether the participant consented in the campaign ``key``;  consents  a list of who did that was shown in it
upload   what was sent for a campaign's round;  receipt  what came back
caps     how much a position of each class may lose in an epoch, from now on
epoch    a data epoch that the participant has agreed to be asked about, and its own name there, the ``key``
retired  that the ledger was handed over to the device of the code ``key``;  taken  that it goes on there
amended  how many amendments of the campaign ``key`` were seen, and the last one's digest
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.participant.friend_lists import Aligned, Bits, Names, roster_digest
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Page, UnusableLedger
from visibility_aware_edge_ldp.campaign.signed_documents import Content, decode, encode
from visibility_aware_edge_ldp.errors import BadInput, Refused
from visibility_aware_edge_ldp.mechanisms.chain import DECIMALS, Level, loss
from visibility_aware_edge_ldp.privacy import Number, parse_number
from visibility_aware_edge_ldp.public.layout import pack
from visibility_aware_edge_ldp.public.visibility import NON_PUBLIC, Visibility

Units = npt.NDArray[np.int64]
Caps = Mapping[Visibility, Fraction]
# Losses are added as whole numbers of this many to one, each rounded up, so that sums of arrays are exact.
ONE = 10**DECIMALS
CONSENTS = "consents"
DEFAULT_CAPS: Caps = {Visibility.FRIEND_VISIBLE: Fraction(2), Visibility.PRIVATE: Fraction(1)}
_LARGEST_CAP = 1000


def units(value: Fraction) -> int:
    """A loss in units, rounded up."""
    return -int(-value * ONE // 1)


def written(amount: int) -> str:
    """Units in decimals, all of them."""
    whole, rest = divmod(amount, ONE)
    return f"{whole}.{rest:0{DECIMALS}}".rstrip("0").rstrip(".")


@dataclass(frozen=True, eq=False)
class Request:
    """What a round asks about this participant's positions, of it or of others, from public data alone.

    Parameters
    ----------
    places
        For each non-public class, which names of the roster are asked about.
    thresholds
        The flip threshold of each class, where the round is randomized response that a chain can answer.
    charges
        What any other report costs a position of each class.
    pairs
        What a hub's report costs a position between two others.
    """

    places: Mapping[Visibility, Bits] = field(repr=False)
    thresholds: Mapping[Visibility, int] = field(default_factory=dict)
    charges: Mapping[Visibility, Fraction] = field(default_factory=dict)
    pairs: Mapping[Visibility, Fraction] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Account:
    """One epoch as the ledger knows it, in the order of one roster's names. Private.

    ``known`` says of whom it is kept whether they are ``friends``; ``charged`` what all but chained answers have cost;
    ``others`` at which thresholds other people may have answered for positions that they hold; ``asked`` as what
    classes positions were ever asked about, and ``pair_classes`` the same for positions between two others.
    """

    names: Names = field(repr=False)
    known: Bits = field(repr=False)
    friends: Bits = field(repr=False)
    levels: tuple[Level, ...] = field(repr=False)
    charged: Units = field(repr=False)
    pairs: int
    others: tuple[Level, ...] = field(default=(), repr=False)
    asked: Mapping[Visibility, Bits] = field(default_factory=dict, repr=False)
    pair_classes: frozenset[Visibility] = frozenset()

    @property
    def lost(self) -> Units:
        """What each position has lost so far: its best chained answer, and everything else.  [LEDGER.2]"""
        return self.lost_after([])

    def lost_after(self, requests: Sequence[Request]) -> Units:
        """What each position will have lost when these have been answered too."""
        asked = [
            Level(threshold, request.places[kind], np.zeros_like(request.places[kind]))
            for request in requests
            for kind, threshold in request.thresholds.items()
        ]
        charges = [
            np.where(request.places[kind], units(cost), 0)
            for request in requests
            for kind, cost in request.charges.items()
        ]
        return sum(charges, self.charged) + best_loss([*self.levels, *self.others, *asked], len(self.names))

    def pairs_after(self, requests: Sequence[Request]) -> int:
        """The same for positions between two others; the dearest class stands for all."""
        return self.pairs + sum(units(max(request.pairs.values())) for request in requests if request.pairs)

    def held_as(self, kind: Visibility, requests: Sequence[Request] = ()) -> Bits:
        """Which positions are held to this class's cap: all that were ever asked about as such, or are now."""
        now = [request.places[kind] for request in requests if kind in request.places]
        ever = self.asked.get(kind, np.zeros(len(self.names), np.bool_))
        found: Bits = np.logical_or.reduce([ever, *now])
        return found

    def stricter(self, caps: Caps, kind: Visibility) -> Bits:
        """Which positions are held to a smaller cap than this class's."""
        held = [self.held_as(other) for other in NON_PUBLIC if caps[other] < caps[kind]]
        found: Bits = np.logical_or.reduce([np.zeros(len(self.names), np.bool_), *held])
        return found

    def most_lost(self, kind: Visibility, requests: Sequence[Request]) -> int:
        """What the dearest position that these touch, and that is held to this class's cap, will have lost."""
        costly = [request for request in requests if request.thresholds or request.charges]
        priced = [request.places[each] for request in costly for each in {**request.thresholds, **request.charges}]
        touched = np.logical_or.reduce([np.zeros(len(self.names), np.bool_), *priced])
        most = int(self.lost_after(requests)[touched & self.held_as(kind, costly)].max(initial=0))
        between = [request.pairs for request in requests if request.pairs]
        if between and kind in self.pair_classes.union(*between):
            most = max(most, self.pairs_after(requests))
        return most

    def refuse_beyond(
        self, caps: Caps, requests: Sequence[Request], span: str = "this epoch", option: str = "--cap"
    ) -> None:
        """Declines, from public prices alone, before any bit is looked at.  [LEDGER.2]"""
        for kind in NON_PUBLIC:
            most = self.most_lost(kind, requests)
            if most > caps[kind] * ONE:
                raise Refused(
                    f"A {kind} edge would have lost ε = {written(most)} in {span}, and you allowed "
                    f"{written(units(caps[kind]))}. What others answer about their edges with you counts, and so does "
                    f"that an edge was {kind} before. Nothing was answered or sent. If you agree to it, enrol again "
                    f"with {option} {kind}={written(most)}."
                )

    def list_entries(self, epoch: str, friends: Bits, own: int) -> list[Entry]:
        """Who is a friend, of all names of the roster that were not known before."""
        fresh = ~self.known & (np.arange(len(self.names)) != own)
        entry = Entry("list", epoch, "", roster_digest(self.names), pack(fresh) + pack(fresh & friends))
        return [entry] if fresh.any() else []

    def level_entries(self, epoch: str, answered: Sequence[Level]) -> list[Entry]:
        """What was said at positions that had not answered at this threshold yet."""
        before = {level.threshold: level.known for level in self.levels}
        found = []
        for level in answered:
            fresh = level.known & ~before.get(level.threshold, np.zeros_like(level.known))
            if fresh.any():
                content = pack(fresh) + pack(fresh & level.ones)
                found.append(Entry("level", epoch, str(level.threshold), roster_digest(self.names), content))
        return found

    def charge_entries(self, epoch: str, request: Request) -> list[Entry]:
        """What a report that is not a chained answer costs."""
        costs = [(str(units(cost)), request.places[kind]) for kind, cost in request.charges.items()]
        found = self._bit_entries("charge", epoch, costs)
        if request.pairs:
            classes = " ".join(map(str, request.pairs)).encode()
            found.append(Entry("pairs", epoch, str(units(max(request.pairs.values()))), content=classes))
        return found

    def other_entries(self, epoch: str, request: Request) -> list[Entry]:
        """At which positions others may now have answered at a threshold, where that was not known before."""
        before = {level.threshold: level.known for level in self.others}
        wanted: dict[int, Bits] = {}
        for kind, threshold in request.thresholds.items():
            wanted[threshold] = wanted.get(threshold, np.zeros(len(self.names), np.bool_)) | request.places[kind]
        fresh = [(str(each), places & ~before.get(each, ~places)) for each, places in wanted.items()]
        return self._bit_entries("other", epoch, fresh)

    def class_entries(self, epoch: str, requests: Sequence[Request]) -> list[Entry]:
        """As what positions are asked about now, where they were not before."""
        fresh = [(str(kind), self.held_as(kind, requests) & ~self.held_as(kind)) for kind in NON_PUBLIC]
        return self._bit_entries("class", epoch, fresh)

    def _bit_entries(self, kind: str, epoch: str, bits: Sequence[tuple[str, Bits]]) -> list[Entry]:
        names = roster_digest(self.names)
        return [Entry(kind, epoch, key, names, pack(places)) for key, places in bits if places.any()]


def best_loss(levels: Sequence[Level], count: int) -> Units:
    """What chained answers have cost each position: the loss of the best.  [CHAIN.3]"""
    losses = [np.where(level.known, units(loss(level.threshold)), 0) for level in levels]
    found: Units = np.maximum.reduce([np.zeros(count, np.int64), *losses])
    return found


def account_of(entries: Sequence[Entry], names: Names) -> Account:
    """The account of an epoch, given its entries and all rosters'."""
    aligned = Aligned(entries, names)
    known, friends = aligned.merged(entry for entry in entries if entry.kind == "list")
    levels = [Level(int(key), *aligned.merged(said)) for key, said in _by_key(entries, "level").items()]
    others = [Level(int(key), aligned.any(said), aligned.none) for key, said in _by_key(entries, "other").items()]
    charges = [np.where(aligned.one(entry), int(entry.key), 0) for entry in entries if entry.kind == "charge"]
    between = [entry for entry in entries if entry.kind == "pairs"]
    return Account(
        names,
        known,
        friends,
        tuple(levels),
        sum(charges, np.zeros(len(names), np.int64)),
        sum(int(entry.key) for entry in between),
        tuple(others),
        {Visibility[key]: aligned.any(said) for key, said in _by_key(entries, "class").items()},
        frozenset(Visibility[kind] for entry in between for kind in entry.content.decode().split()),
    )


def _by_key(entries: Sequence[Entry], kind: str) -> dict[str, list[Entry]]:
    """The entries of a kind, gathered by their key."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind == kind:
            found.setdefault(entry.key, []).append(entry)
    return found


def caps_entry(caps: Mapping[Visibility, Number], before: Caps = DEFAULT_CAPS) -> Entry:
    """The entry that sets the caps; classes that are left out keep theirs."""
    chosen = checked_caps(caps, before)
    said: dict[str, Content] = {str(kind): str(chosen[kind]) for kind in NON_PUBLIC}
    return Entry("caps", content=encode(said))


def caps_in(page: Page) -> dict[Visibility, Fraction]:
    """The caps that hold now."""
    content = page.one("caps")
    if content is None:
        raise UnusableLedger("The ledger holds no caps; bring back the newest copy.")
    written = decode(content)
    if not isinstance(written, dict):
        raise UnusableLedger("The ledger's caps cannot be read; bring back the newest copy.")
    return {kind: Fraction(str(written[str(kind)])) for kind in NON_PUBLIC}


def checked_caps(caps: Mapping[Visibility, Number], before: Caps = DEFAULT_CAPS) -> dict[Visibility, Fraction]:
    """A cap for each class, exact, with at most twelve decimals; classes that are left out keep theirs."""
    found = dict(before)
    for kind, value in caps.items():
        cap = parse_number(value, f"the cap for {kind} edges")
        if kind not in NON_PUBLIC or not 0 <= cap <= _LARGEST_CAP or (cap * ONE).denominator != 1:
            raise BadInput(
                f"A cap is a number from 0 to {_LARGEST_CAP} with at most {DECIMALS} decimals, for FRIEND_VISIBLE or "
                f"PRIVATE edges; got {value} for {kind}."
            )
        found[kind] = cap
    return found


def number(value: Fraction) -> str:
    """A loss as people write it, rounded up in the sixth decimal: never less than it is."""
    millionths = -int(-value * 10**6 // 1)
    return written(millionths * 10 ** (DECIMALS - 6))


def cap(value: Fraction) -> str:
    """A cap, with all its decimals: never more than it is."""
    return written(units(value))


def dearer(times: Fraction, epsilon: Fraction) -> str:
    """That an edge costs another number than the epsilon that its campaign is called by; empty where it is that."""
    return "" if times == 1 else f": {number(times)} times its ε = {epsilon}, by its policy"

"""Golden vectors of what participants draw and send: noise, chains, policies, scopes, groups, both rounds."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from support import campaign_vectors as good
from visibility_aware_edge_ldp.campaign import signed_documents as signing
from visibility_aware_edge_ldp.campaign.charter import Round, SignedCharter
from visibility_aware_edge_ldp.campaign.directory import charter_of
from visibility_aware_edge_ldp.campaign.documents import Documents, drafted
from visibility_aware_edge_ldp.campaign.participant.accounts import Account, account_of
from visibility_aware_edge_ldp.campaign.participant.friend_lists import Friends, SeenEdges
from visibility_aware_edge_ldp.campaign.participant.reports import REPORTS, Making, ParticipantContext
from visibility_aware_edge_ldp.campaign.server.question_estimates import broadcast_of
from visibility_aware_edge_ldp.mechanisms.chain import Level, chained
from visibility_aware_edge_ldp.mechanisms.discrete_laplace import DiscreteLaplace
from visibility_aware_edge_ldp.mechanisms.power_noise import SmoothPower
from visibility_aware_edge_ldp.mechanisms.randomized_response import RESOLUTION, RandomizedResponse
from visibility_aware_edge_ldp.mechanisms.randomness import RandomBytes, keyed_random_bytes
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.scope_words import ScopeWords
from visibility_aware_edge_ldp.public.visibility import Visibility

Vector = dict[str, Any]
NAMES = good.NAMES
HUBS = ("Ada", "Дора")
CLOSES = (2_000_000_000, 2_000_086_400)


class Counted:
    """Coins that are counted: a key's stream, or these octets and no more."""

    def __init__(self, coins: Vector) -> None:
        self.taken, self._octets = 0, bytes.fromhex(coins.get("octets", ""))
        self._stream = keyed_random_bytes(bytes.fromhex(coins["key"])) if "key" in coins else None

    def __call__(self, count: int) -> bytes:
        start, self.taken = self.taken, self.taken + count
        if self._stream is not None:
            return self._stream(count)
        assert self.taken <= len(self._octets), "more coins were taken than there are"
        return self._octets[start : self.taken]


def key(*words: object) -> Vector:
    return {"key": signing.digest(repr(words).encode())}


def _octets(*words: int, size: int = 8) -> Vector:
    return {"octets": b"".join(word.to_bytes(size) for word in words).hex()}


def bit_text(bits: Any) -> str:
    return "".join(str(int(bit)) for bit in bits)


def from_bits(text: str) -> np.ndarray:
    return np.array([each == "1" for each in text], np.bool_)


# ── noise ──


def noise() -> list[Vector]:
    """Thresholds, flips, chained answers, and integers of two laws, with the coins that they are drawn from."""
    return [*_thresholds(), *_flips(), *_chains(), *_laplace(), *_power()]


def _thresholds() -> Iterator[Vector]:
    for loss in ("1", "1/2", "2", "27/50", "29/25", "1/1000", "1/1000000000000", "99", "100", "101", "1000"):
        yield {"what": "threshold", "loss": loss, "threshold": str(RandomizedResponse(Fraction(loss)).threshold)}


def _flips() -> Iterator[Vector]:
    usual = RandomizedResponse(Fraction(1)).threshold
    head, tail = divmod(usual, 1 << 56)
    tied = bytes([head, 255, head, 0, head]) + b"".join(each.to_bytes(7) for each in (tail - 1, tail, tail + 1))
    cases: list[tuple[str, int, int, Vector]] = [
        ("a stream", 40, usual, key("flips", 1)),
        ("no bits", 0, usual, {"octets": ""}),
        ("three ties, settled after all first octets", 5, usual, {"octets": tied.hex()}),
        ("a threshold of one", 3, 1, {"octets": "000100" + "00" * 14}),
        ("many, with ties", 3000, RandomizedResponse(Fraction(1, 10)).threshold, key("flips", 2)),
    ]
    for name, count, threshold, coins in cases:
        drawn, mechanism = Counted(coins), RandomizedResponse(Fraction(1))
        mechanism.__dict__["threshold"] = threshold
        said = bit_text(mechanism.flips(count, drawn))
        yield {"what": "flips", "name": name, "count": count, "threshold": str(threshold), **_drawn(coins, drawn, said)}


def _drawn(coins: Vector, counted: Counted, result: Any) -> Vector:
    return {"coins": coins, "taken": counted.taken, "result": result}


def _chains() -> Iterator[Vector]:
    mild, usual, strong = (RandomizedResponse(Fraction(each)).threshold for each in ("2", "1", "1/2"))
    bits = "0101" * 8
    known = ["1" * 32, "00001111" * 4, "0011" * 8]
    said = ["01" * 16, "00001010" * 4, "0001" * 8]
    tie = int(Fraction(usual, RESOLUTION) * RESOLUTION)
    cases: list[tuple[str, int, str, list[tuple[int, str, str]], Vector]] = [
        ("an empty ledger", usual, bits, [], key("chain", 1)),
        ("after a better answer", strong, bits, [(mild, known[0], said[0])], key("chain", 2)),
        ("after a worse answer", mild, bits, [(strong, known[0], said[0])], key("chain", 3)),
        ("between two", usual, bits, [(mild, known[0], said[0]), (strong, known[0], bits)], key("chain", 4)),
        ("the same threshold again, in part", usual, bits, [(usual, known[1], said[1])], key("chain", 5)),
        ("each position its own", usual, bits, [(mild, known[1], said[1]), (strong, known[2], said[2])], key(6)),
        ("ties", usual, "00", [], _octets(tie, tie - 1)),
    ]
    worse = Fraction(strong, RESOLUTION)
    down = (worse - Fraction(mild, RESOLUTION)) / (1 - 2 * Fraction(mild, RESOLUTION))
    first = int(down * RESOLUTION)
    second = int(down * RESOLUTION % 1 * RESOLUTION)
    tied = _octets(first, 0, first, first, second + 1, second - 1, second, 0)
    cases.append(("ties that take more words", strong, "0000", [(mild, "1111", "0000")], tied))
    for name, threshold, given, levels, coins in cases:
        drawn, before = Counted(coins), [Level(t, from_bits(k), from_bits(s)) for t, k, s in levels]
        result = bit_text(chained(threshold, from_bits(given), before, drawn))
        listed = [{"threshold": str(t), "known": k, "ones": s} for t, k, s in levels]
        about = {"name": name, "threshold": str(threshold), "bits": given, "levels": listed}
        yield {"what": "chained answers", **about, **_drawn(coins, drawn, result)}


_EDGES = ("0" * 16, "0" * 15 + "1", "7" + "f" * 15, "8" + "0" * 15, "f" * 15 + "e", "f" * 16)


def _laplace() -> Iterator[Vector]:
    for rate, count in (("1", 12), ("1/2", 12), ("1/40", 12), ("2/3", 4), ("10", 4), ("1/1000000", 4)):
        law = DiscreteLaplace(Fraction(rate))
        edges = [{"octets": word + "5a" * 64} for word in _EDGES]
        ties = [{"octets": (_tie(law, k) + more).hex()} for k in (0, 3) for more in (bytes(8), b"\xff" * 8)]
        for coins in (key("laplace", rate), *edges, *(ties if rate != "10" else [])):
            drawn, many = Counted(coins), count if "key" in coins else 1
            result = [str(law.sample(drawn)) for _ in range(many)]
            yield {"what": "discrete Laplace", "rate": rate, **_drawn(coins, drawn, result)}


def _tie(law: DiscreteLaplace, k: int) -> bytes:
    """The word that the distribution function itself has at k."""
    return int(law.cdf(k, 60) * RESOLUTION).to_bytes(8)


def _power() -> Iterator[Vector]:
    for loss, share, scale in (("79/200", "200/1353", 1234.5678), ("1/10", "1/5", 2.0), ("3", "1/46", 1e9 + 0.125)):
        law = SmoothPower(Fraction(loss), Fraction(share))
        about = {"loss": loss, "share": share, "scale": scale.hex()}
        for coins in (key("power", loss), *({"octets": word + "a5" * 64} for word in _EDGES)):
            drawn, many = Counted(coins), 12 if "key" in coins else 1
            result = [str(int(law.sample_each(np.array([scale]), drawn)[0])) for _ in range(many)]
            yield {"what": "power noise", **about, **_drawn(coins, drawn, result)}


# ── reports ──

_PEOPLE: dict[Any, dict[str, Any]] = {
    name: {"ward": place % 3, "club": ("chess", "go")[place % 2], "shoe": 40.5 + place // 4}
    for place, name in enumerate(NAMES[:10])
}
_LINES = (
    {"both": "club", "value": "chess", "class": "public"},
    {"same": "ward", "class": "friend_visible"},
    {"any": "shoe", "value": 42.5, "class": "friend_visible"},
    {"differ": "shoe", "class": "private"},
)
_PAIRS = [("Ada", "Bea"), (9, "11"), ("Ivo", "Eve"), ("Finn", "Ada")]
POLICIES: dict[str, VisibilityPolicy] = {
    "nothing": VisibilityPolicy.nothing(),
    "hash": good.SPREAD,
    "hash, guarded": good.SPREAD.guarded(3, "3/2"),
    "drawn profiles": VisibilityPolicy.public_profiles("2/5", "both", salt="vectors"),
    "types": VisibilityPolicy.from_types(
        {"Ada": "a", 9: "b", "11": "b", "Ivo": "c"},
        {(x, y): ("public", "private", "friend_visible")[(ord(x) + ord(y)) % 3] for x in "abc" for y in "abc"},
        "c",
    ),
    "listed": VisibilityPolicy.from_positions(_PAIRS[:2], _PAIRS[2:]),
    "attributes": VisibilityPolicy.from_attributes(_PEOPLE, _LINES),
    "most open": VisibilityPolicy.from_positions(_PAIRS) | good.SPREAD,
    "hubs": VisibilityPolicy.from_profiles(dict.fromkeys(HUBS, "public"), rule="any"),
}
POLICIES["many hubs"] = VisibilityPolicy.public_profiles("1/2", "any", salt="hubs")
POLICIES["hubs, guarded"] = (POLICIES["hubs"] | POLICIES["listed"]).guarded("5/2", "1/2")
_COLUMN = {name: row["club"] for name, row in _PEOPLE.items()}
SCOPES: dict[str, ScopeWords] = {
    "lists": ScopeWords("lists"),
    "group": ScopeWords("group:club | public", {"club": _COLUMN}),
    "group, missing": ScopeWords("group:club,missing=go", {"club,missing=go": {**_COLUMN, "11": "go", "Ivo": "go"}}),
    "file": ScopeWords("file:pairs & public|file:more", files={"pairs": _PAIRS, "more": [*_PAIRS[1:], (10, "Gül")]}),
    "lists and group": ScopeWords("lists & group:club", {"club": _COLUMN}),
}
GROUPS = Groups("club", ("chess", "go", "the rest"), np.array([*[0, 1] * 5, 2, 2], np.int64))
# question, statistics, policy, scope, epsilon
CASES: dict[str, tuple[str, str, str, str, str]] = {
    **{f"position, {name}": ("position", "edges", name, "", "1") for name in POLICIES},
    **{f"position, scope {name}": ("position", "edges", "hubs", name, "1/2") for name in SCOPES},
    "position, two rounds": ("position 2", "edges", "hash", "", "2"),
    "position, two rounds, guarded": ("position 2", "edges", "hash, guarded", "", "1/3"),
    "degrees": ("degrees", "edges", "hash", "", "1"),
    "degrees, guarded": ("degrees", "edges", "hash, guarded", "", "1/10"),
    "degrees, one class": ("degrees", "edges", "nothing", "", "1"),
    "degrees, scope": ("degrees", "edges", "attributes", "file", "2"),
    "groups": ("groups", "mixing", "hash", "", "1"),
    "groups, scope": ("groups", "mixing", "hubs", "lists", "1"),
    "triangles": ("triangles", "triangles", "nothing", "", "1"),
    "triangles, three classes": ("triangles", "triangles", "hash", "", "1/2"),
    "triangles, guarded": ("triangles", "triangles", "hash, guarded", "", "3"),
    "triangles, scope": ("triangles", "triangles", "hubs", "lists", "2"),
    "triangles, types": ("triangles", "triangles", "types", "", "1"),
    "hubs": ("hubs", "triangles", "hubs", "", "1"),
    "hubs, guarded": ("hubs", "triangles", "hubs, guarded", "", "1/2"),
    "hubs, many": ("hubs", "triangles", "many hubs", "", "30"),
    "triangles, everybody a friend": ("triangles", "triangles", "nothing", "", "20"),
}


def documents_of(case: str) -> Documents:
    question, _, name, scope, _ = CASES[case]
    policy = POLICIES[name]
    if "everybody" in case:  # so many that a row's reach is beyond what the smooth bound begins with
        return drafted([f"p{number}" for number in range(40)], policy, (), good.EPOCH)
    if "many" in case:
        names = [f"p{number}" for number in range(30)]
        first, second = np.triu_indices(30, 1)
        drawn = random.Random("many")
        held = (policy.bind(names).of(first, second) == Visibility.PUBLIC) & [drawn.random() < 0.3 for _ in first]
        return drafted(names, policy, np.stack([first, second], axis=1)[held], good.EPOCH)
    edges = good.every_other_public_edge(policy)
    groups = GROUPS if question == "groups" else None
    return drafted(NAMES, policy, edges, good.EPOCH, SCOPES[scope] if scope else None, groups)


def answers() -> list[Vector]:
    """Campaigns, and for some people of each what they answer in each round, from which list, levels and coins."""
    return [_case(case) for case in CASES]


def _case(case: str) -> Vector:
    kind, statistic, _, _, epsilon = CASES[case]
    question, documents = kind.removesuffix(" 2"), documents_of(case)
    count = 2 if kind in ("position 2", "triangles") else 1
    rounds = tuple(Round(when, 2) for when in CLOSES[:count])
    split = (Fraction(1, 3), Fraction(2, 3))[:count] if count == 2 else (Fraction(1),)
    issuer = signing.fingerprint(good.KEY)
    shares = split if question == "position" else ()
    charter = charter_of(documents, issuer, question, epsilon, (statistic,), rounds, case, good.EPOCH, 0, shares)
    about = {"case": case, "charter": charter.data.decode(), "pinned": issuer}
    about |= {"signature": SignedCharter.of(charter, good.KEY).signature.hex()}
    about |= {name: data.decode() for name, data in documents.data.items()}
    people = [ParticipantContext(charter, documents, person) for person in range(charter.nodes)]
    asked = [each for each in people if each.terms.asks(each.number, 1)]
    first = {each.number: _answer(each, 1) for each in asked}
    shown, transcript = [vector for vector, _ in list(first.values())[:12]], ""
    if question == "triangles":
        sent = {number: bytes(32) + report for number, (_, report) in first.items() if number != asked[1].number}
        transcript = broadcast_of(asked[0].terms, sent.values()).octets.hex()
        about |= {"transcript": transcript}
    if count == 2:
        again = [each for each in asked if question == "position" or each is not asked[1]]
        shown += [_answer(each, 2, first[each.number][1], bytes.fromhex(transcript))[0] for each in again[:5]]
    return about | {"asked": [each.number for each in asked], "answers": shown}


def _answer(
    context: ParticipantContext, number: int, first: bytes = b"", transcript: bytes = b""
) -> tuple[Vector, bytes]:
    person, n = context.number, context.view.n
    bits = from_bits("".join("1" if (person * other + person + other) % 3 == 1 else "0" for other in range(n)))
    bits |= "everybody" in context.charter.title
    bits[person] = False
    levels = _levels(context, person) if number == 1 and context.question.name == "position" and person % 3 == 1 else []
    account, coins = account_with(context, levels), key(context.charter.title, person, number)
    drawn = Counted(coins)
    making = Making(context, account, given_by(context, bits), drawn, first, transcript)
    with _scales() as scales:
        report = REPORTS[context.question.name][number - 1](making).report
    names = [name for name, bit in zip(context.names, bits, strict=True) if bit]
    pairs = making.given.pairs.tolist() if isinstance(making.given, SeenEdges) else []
    edges = {"edges": [[context.names[end] for end in pair] for pair in pairs]} if pairs else {}
    said = [
        {"threshold": str(level.threshold), "known": bit_text(level.known), "ones": bit_text(level.ones)}
        for level in levels
    ]
    before = ({"first": first.hex()} if first else {}) | ({"scale": scales[0]} if scales else {})
    about = {"participant": person, "round": number, "friends": names, "levels": said, **before, **edges}
    return about | _drawn(coins, drawn, report.hex()), report


def given_by(context: ParticipantContext, bits: np.ndarray) -> Friends | SeenEdges:
    """What a participant gives: its friends; a hub gives edges, here two thirds of all positions."""
    if not context.question.sees_edges:
        return Friends(bits, ())
    first, second = np.triu_indices(context.view.n, 1)
    kept = (first * 7 + second * 5 + context.number) % 3 > 0
    return SeenEdges(np.stack([first[kept], second[kept]], axis=1).astype(np.int32), ())


@contextmanager
def _scales() -> Iterator[list[str]]:
    """The scales of power noise that are used inside: doubles, all of their bits."""
    found, drawn = list[str](), SmoothPower.sample_each

    def noted(noise: SmoothPower, bounds: np.ndarray, random_bytes: RandomBytes) -> Any:
        found.extend(float(each).hex() for each in bounds)
        return drawn(noise, bounds, random_bytes)

    with mock.patch.object(SmoothPower, "sample_each", noted):
        yield found


def _levels(context: ParticipantContext, person: int) -> list[Level]:
    """Earlier answers in the epoch, in the roster's order: some better ones, some worse ones, some the same."""
    own = min(context.request(1).thresholds.values())
    places = np.arange(context.view.n)
    later, found = places > person, []
    for place, threshold in enumerate((own // 2, own, (own + RESOLUTION // 2) // 2)):
        known = later & (places % 3 != place)
        found.append(Level(threshold, known, known & (places % 2 == place % 2)))
    return found


def account_with(context: ParticipantContext, levels: Sequence[Level]) -> Account:
    empty = account_of([], context.names)
    return Account(empty.names, empty.known, empty.friends, tuple(levels), empty.charged, 0)


FILES: dict[str, Callable[[], list[Vector]]] = {"campaign_noise.json": noise, "campaign_answers.json": answers}

if __name__ == "__main__":
    for _file, _make in FILES.items():
        good.store(_file, json.loads(json.dumps(_make())))

"""What the manifest is about: every protocol, campaign, command and audit, with the data that is hashed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import visibility_aware_edge_ldp as va
from golden.manifest import DIGITS, plain
from support import golden_subjects as subjects
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.statistic import GROUPED, TRIANGLES_BY_GROUP

Contents = dict[str, Any]
SEEDS = (7, 8, 2026)
# None: every float of an estimate exactly. Some of them come from BLAS, whose last digits follow the processor.
ESTIMATE_DIGITS: int | None = None


@dataclass(frozen=True)
class Group:
    """Entries that are made together; ``prefixes`` are what their names begin with.

    What is ``at_hand`` is read from a file that another command has made, and is checked by ``record.py --check``.
    """

    name: str
    prefixes: tuple[str, ...]
    make: Callable[[], Contents]
    long: bool = False
    at_hand: bool = False

    def concerns(self, prefix: str) -> bool:
        """Whether an entry that begins so may be among them."""
        return any(f"{own}/".startswith(prefix) or prefix.startswith(f"{own}/") for own in self.prefixes)


# Worlds: a ring in which near people are often friends


def _pairs(people: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(people) for b in range(a + 1, people) if _are_friends(a, b, people)]


def _are_friends(first: int, second: int, people: int) -> bool:
    apart = min(second - first, people - second + first)
    likely = 1.0 if apart == 1 else 0.5 if apart <= 7 else 0.06 if first % 9 else 0.3
    return hashlib.sha256(f"{first} {second}".encode()).digest()[0] < 256 * likely


@cache
def _graph(people: int) -> va.Graph:
    return va.read_graph(_pairs(people))


@cache
def _town() -> va.Graph:
    return va.read_graph([(f"person {a:02}", f"person {b:02}") for a, b in _pairs(24)])


def _open(people: list[Any], rule: str = "any") -> va.VisibilityPolicy:
    return va.VisibilityPolicy.from_profiles(dict.fromkeys(people, "public"), rule=rule)


POLICIES: dict[str, Callable[[], Any]] = {
    "nothing public": lambda: va.VisibilityPolicy.nothing(),
    "profiles": lambda: va.VisibilityPolicy.public_profiles(0.25),
    "fractions": lambda: va.VisibilityPolicy(0.15, 0.35, 0.5),
}
HUB_POLICIES: dict[str, Callable[[], Any]] = {
    "profiles": lambda: va.VisibilityPolicy.public_profiles(0.25),
    "public hubs": lambda: va.VisibilityPolicy.public_hubs(0.1),
    "guarded profiles": lambda: va.VisibilityPolicy.public_profiles(0.15).guarded(3, "3/2"),
}
# Less than all of the work needs classes that go by kinds of nodes.
KIND_POLICIES: dict[str, Callable[[], Any]] = {
    "nothing public": lambda: va.VisibilityPolicy.nothing(),
    "profiles": lambda: va.VisibilityPolicy.public_profiles(0.25),
    "profiles of both": lambda: va.VisibilityPolicy.public_profiles(0.6, "both"),
}


# Protocols: reports, surveys, answers and their words

Ask = Callable[[Any, int], Any]
KINDS = ("reports", "surveys", "answers", "words")


def _estimate(world: Any, seed: int, **options: Any) -> Any:
    return va.estimate(world, seed=seed, **options)


def _central(world: Any, seed: int, noise: str) -> Any:
    return subjects.central(world, noise, "0", seed)


def _by_group(world: Any, seed: int, **options: Any) -> Any:
    groups = Groups("number", ("a", "b", "c"), np.arange(world.graph.n) % 7 // 3)
    chosen = {"trust": "user", "statistics": list(GROUPED), **options}
    return va.estimate(world.grouped(groups), seed=seed, **chosen)


def _of_places(world: Any, seed: int, **options: Any) -> Any:
    """The last quarter of the nodes are places, and ties between two of one side are left out."""
    people = 3 * world.graph.n // 4
    edges = world.whole.edges[(world.whole.edges < people).sum(axis=1) == 1]
    visits = replace(world.whole, edges=edges.copy(), people=people)
    return va.estimate(va.VisibilityAwareGraph(visits, world.policy), seed=seed, **options)


DEGREES = ["edges", "degrees", "max_degree", "degree_histogram", "stars:2", "stars:3", "tail:3"]
BY_POSITIONS = [*GROUPED, TRIANGLES_BY_GROUP.name]
PROTOCOLS: dict[str, tuple[Ask, dict[str, Any]]] = {
    "position, one round": (_estimate, {"statistics": "all"}),
    "position, two rounds": (_estimate, {"statistics": "all", "rounds": 2}),
    "position, two rounds, capped": (_estimate, {"statistics": ["triangles"], "rounds": 2, "estimator": "ipw_capped"}),
    "position, some away": (_estimate, {"dropout": 0.2}),
    "position, half of the work": (_estimate, {"statistics": ["triangles", "four_cycles"], "work": 0.5}),
    "sampled positions, half": (_estimate, {"sample_positions": "1/2"}),
    "sampled positions, a tenth": (_estimate, {"sample_positions": "1/10", "statistics": ["edges", "triangles"]}),
    "positions by group": (_by_group, {"trust": "position", "statistics": BY_POSITIONS}),
    "positions by group, some away": (
        _by_group,
        {"trust": "position", "statistics": BY_POSITIONS, "dropout": 0.2},
    ),
    "degrees": (_estimate, {"trust": "user", "statistics": DEGREES}),
    "groups": (_by_group, {}),
    "groups, some away": (_by_group, {"dropout": 0.3}),
    "people and places, position": (_of_places, {"statistics": "all"}),
    "people and places, user": (_of_places, {"trust": "user", "epsilon": 2}),
    "people and places, some away": (_of_places, {"trust": "user", "epsilon": 2, "dropout": 0.2}),
    "whole degrees": (_estimate, {"trust": "user", "hide": "degree"}),
    "rows, triangles": (_estimate, {"trust": "user", "statistics": ["triangles", "transitivity"]}),
    "rows, four_cycles": (_estimate, {"trust": "user", "statistics": ["four_cycles"]}),
    "rows, some away": (_estimate, {"trust": "user", "statistics": "all", "dropout": 0.1}),
    "owned triangles, weighted": (_estimate, {"trust": "neighbourhood", "reporters": "users"}),
    "owned triangles, believed": (_estimate, {"trust": "neighbourhood", "reporters": "users", "delta": "1/1000000"}),
    "owned triangles, clipped": (_estimate, {"trust": "neighbourhood", "reporters": "cap:5"}),
    "hubs, shared": (_estimate, {"trust": "neighbourhood", "reporters": "hubs"}),
    "hubs, plain": (_estimate, {"trust": "neighbourhood", "reporters": "plain hubs"}),
    "curator, power": (_estimate, {"trust": "curator"}),
    "curator, laplace": (_estimate, {"trust": "curator", "delta": "1/1000000"}),
    "curator, student_t": (_central, {"noise": "student_t"}),
    "curator, cauchy": (_central, {"noise": "cauchy"}),
}
LARGE = (
    "position, one round",
    "position, two rounds",
    "rows, triangles",
    "rows, four_cycles",
    "owned triangles, weighted",
)
SMALL_SIZE, LARGE_SIZE = 48, 200


def _policies(protocol: str) -> dict[str, Callable[[], Any]]:
    if protocol.startswith("hubs"):
        return HUB_POLICIES
    return KIND_POLICIES if protocol.endswith("of the work") else POLICIES


def _protocol(name: str) -> Contents:
    found: Contents = {}
    for policy, made in _policies(name).items():
        for seed in SEEDS:
            found |= _one_run(name, f"{name}/{policy}/seed {seed}", SMALL_SIZE, made(), seed)
        if name in LARGE:
            found |= _one_run(name, f"{name}/{policy}/{LARGE_SIZE} nodes", LARGE_SIZE, made(), SEEDS[0])
    return found


def _one_run(protocol: str, entry: str, people: int, policy: Any, seed: int) -> Contents:
    ask, options = PROTOCOLS[protocol]
    with subjects.reports_heard() as heard:
        answers = ask(va.VisibilityAwareGraph(_graph(people), policy), seed, **options)
    found = {
        f"reports/{entry}": sorted(data.hex() for data, _ in heard),
        f"surveys/{entry}": sorted({name for _, names in heard for name in names}),
        f"answers/{entry}": plain(answers if isinstance(answers, dict) else answers.as_dict(), ESTIMATE_DIGITS),
    }
    words = {f"words/{entry}": str(answers).splitlines()} if seed == SEEDS[0] and not isinstance(answers, dict) else {}
    return found | words


# Campaigns: charters, uploads and what the server answers

CAMPAIGN_KINDS = ("charters", "uploads", "estimates")
CLOSES = (4_000_000_000, 4_000_086_400)
_TOWN_STATISTICS = ("edges", "triangles", "stars:2", "transitivity", "four_cycles")
_TOWN_DEGREES = ("edges", "max_degree", "degree_histogram", "stars:2", "tail:3", "degrees")
# name -> question, statistics, rounds
CAMPAIGNS: dict[str, tuple[str, tuple[str, ...], int]] = {
    "position, one round": ("position", _TOWN_STATISTICS, 1),
    "position, two rounds": ("position", _TOWN_STATISTICS, 2),
    "degrees": ("degrees", _TOWN_DEGREES, 1),
    "rows, triangles": ("triangles", ("triangles",), 2),
    "rows, four_cycles": ("triangles", ("four_cycles",), 2),
    "hubs": ("hubs", ("triangles",), 1),
}
_PEOPLE = [f"person {number:02}" for number in range(0, 24, 5)]
TOWN_POLICIES: dict[str, Callable[[], Any]] = {
    "nothing public": lambda: va.VisibilityPolicy.nothing(),
    "profiles": lambda: _open(_PEOPLE, "both"),
    "fractions": lambda: va.VisibilityPolicy("0.15", "0.35", salt="town"),
}
TOWN_HUB_POLICIES: dict[str, Callable[[], Any]] = {
    "profiles": lambda: _open(_PEOPLE),
    "fewer profiles": lambda: _open(_PEOPLE[:2]),
    "guarded profiles": lambda: _open(_PEOPLE).guarded(3, "3/2"),
}


def _campaign(name: str) -> Contents:
    found: Contents = {}
    for policy, made in (TOWN_HUB_POLICIES if name == "hubs" else TOWN_POLICIES).items():
        for seed in SEEDS:
            with tempfile.TemporaryDirectory() as place:
                held = _held(Path(place) / "town", name, made(), seed)
                found[f"charters/{name}/{policy}"] = _public_files(Path(place) / "town")
            entry = f"{name}/{policy}/seed {seed}"
            found[f"uploads/{entry}"] = plain(held.uploads)
            found[f"estimates/{entry}"] = held.estimate.decode()
    return found


def _held(directory: Path, name: str, policy: Any, seed: int) -> subjects.Collected:
    question, statistics, rounds = CAMPAIGNS[name]
    return subjects.collected(
        directory,
        va.VisibilityAwareGraph(_town(), policy),
        partial(_coins, seed),
        question=question,
        epsilon=2,
        statistics=statistics,
        closes=CLOSES[:rounds],
        fewest=2,
        title="Friendships in our town",
        epoch="spring",
        key=bytes(range(32)),
    )


def _coins(seed: int, participant: int, number: int) -> Callable[[int], bytes]:
    """Coins that can be tossed again, whatever the package does with seeds."""
    times = count()
    return lambda size: hashlib.shake_256(f"{seed} {participant} {number} {next(times)}".encode()).digest(size)


def _public_files(directory: Path) -> dict[str, str]:
    """What everybody may fetch; tokens are new each time."""
    names = ("charter.json", "charter.sig", "roster.json", "policy.json", "edges.json")
    return {name: (directory / name).read_text(encoding="utf-8") for name in names}


# Commands: what they print as JSON

_GRAPH = "powerlaw:48,300,2"
_SPREAD = "fractions:0.15,0.35,0.5"
COMMANDS: dict[str, str] = {
    "estimate, position": f"estimate {_GRAPH} --seed 7 --policy {_SPREAD} --bounds --json",
    "estimate, position, two rounds": f"estimate {_GRAPH} --seed 7 --rounds 2 --policy profiles:0.25 --json",
    "estimate, sampled positions": f"estimate {_GRAPH} --seed 7 --sample-positions 0.5 --json",
    "estimate, user": f"estimate {_GRAPH} --seed 7 --trust user --policy profiles:0.25 --bounds --json",
    "estimate, whole degrees": f"estimate {_GRAPH} --seed 7 --trust user --hide degree --json",
    "estimate, neighbourhood": f"estimate {_GRAPH} --seed 7 --trust neighbourhood --policy hubs:0.1 --json",
    "estimate, curator": f"estimate {_GRAPH} --seed 7 --trust curator --delta 0.000001 --policy {_SPREAD} --json",
    "compare": "compare random:40,200 --trials 2 --epsilons 1,2 --seed 1 --cores 1 --json",
    "compare, two rounds": "compare random:30,120 --trials 2 --epsilons 1 --seed 2 --rounds 2 --trust position --json",
    "plan": "plan --nodes 60 --edges 300 --epsilons 1,4 --json",
    "plan, more public": "plan --nodes 60 --edges 300 --clustering 0.3 --statistic triangles --epsilons 1 "
    "--policy profiles:0.25 --more-public --json",
    "datasets list": "datasets list --json",
    "reproduce, 003": "reproduce --table 003 --trials 1 --json",
    "audit of a policy": "audit --graph random:80,500 --policy profiles:0.5 --json",
}
LONG_COMMANDS = {"reproduce, 001": "reproduce --table 001 --trials 1 --json"}
AUDITS: dict[str, str] = {
    "Hadamard": "audit --mechanism Hadamard --way exact --json",
    "discrete Laplace": "audit --mechanism Laplace --way exact --no-twins --json",
    "hub": "audit --mechanism hub --way exact --no-twins --json",
}
# Of all audits, what was found in these ways; times and what timing found are of the machine.
AUDITED_WAYS = ("exact", "statistical")
AUDITED = Path(__file__).parents[2] / "out" / "audit.json"


@contextmanager
def _on_an_empty_machine() -> Iterator[Path]:
    """A working folder without graphs, ledgers or settings of whoever runs this."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        homes = {"XDG_CACHE_HOME": f"{place}/cache", "VA_EDGE_LDP_HOME": f"{place}/nobody", "COLUMNS": "100"}
        stack.enter_context(mock.patch.dict(os.environ, homes))
        os.environ.pop("VA_EDGE_LDP_DATA", None)
        os.chdir(place)
        try:
            yield Path(place)
        finally:
            os.chdir(before)


def _said(*words: str) -> Any:
    """What ``va-edge-ldp`` with these words prints as JSON."""
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.object(sys, "argv", ["va-edge-ldp", *words]), redirect_stdout(out), redirect_stderr(err):
        try:
            subjects.main()
        except SystemExit as leaving:
            if leaving.code:
                raise RuntimeError(f"va-edge-ldp {' '.join(words)}: {err.getvalue()}") from leaving
    return json.loads(out.getvalue())


def _command(entry: str, words: str) -> Contents:
    with _on_an_empty_machine():
        return {entry: plain(_said(*words.split()), ESTIMATE_DIGITS if words.startswith("estimate") else DIGITS)}


def audited() -> Contents:
    """What the last ``make audit`` found, by way; it is not made anew, because that takes minutes."""
    if not AUDITED.exists():
        raise SystemExit(f"There is no {AUDITED}; run make audit first.")
    found = json.loads(AUDITED.read_text(encoding="utf-8"))
    return {
        f"audit/all, {way}/json": plain(
            {kind: [each for each in found[kind] if each["way"] == way] for kind in ("findings", "broken_twins")},
            DIGITS,
        )
        for way in AUDITED_WAYS
    }


def _campaign_commands() -> Contents:
    """A campaign as its operator types it; people's uploads are sent to the server as they are."""
    with _on_an_empty_machine() as place:
        said = {"new": _typed_new(place)}
        held = _held(place / "held", "degrees", TOWN_POLICIES["fractions"](), SEEDS[0])
        with _served(place / "held") as address:
            _send(address, place / "held", held.uploads[1])
            said["close"] = _said("campaign", "close", "held", "--round", "1", "--json")
            said["estimate"] = _said("campaign", "estimate", "held", "--json")
            said["status"] = _said("campaign", "status", "held", "--json")
    return {f"commands/campaign/{name}": plain(content) for name, content in said.items()}


def _typed_new(place: Path) -> Any:
    (place / "roster.txt").write_text("\n".join(f"person {number}" for number in range(6)) + "\n")
    (place / "issuer.key").write_text(bytes(range(32)).hex())
    asked = "--question degrees --statistics edges --epoch spring --closes 2096-10-02 --issuer-key issuer.key --json"
    return _said("campaign", "new", "typed", "--roster", "roster.txt", "--title", "Friends in town", *asked.split())


@contextmanager
def _served(directory: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "visibility_aware_edge_ldp.cli", "campaign", "serve", str(directory)]
    with subprocess.Popen(
        [*command, "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["address"]
        finally:
            process.terminate()


def _send(address: str, directory: Path, uploads: dict[int, bytes]) -> None:
    tokens = [line.rpartition(",")[2] for line in (directory / "tokens.csv").read_text().splitlines()[1:]]
    for participant, body in uploads.items():
        url = f"{address}/v1/rounds/1/reports/{participant}"
        head = {"Authorization": f"Bearer {tokens[participant]}", "Content-Type": "application/octet-stream"}
        with urllib.request.urlopen(urllib.request.Request(url, body, head, method="PUT"), timeout=30):
            pass


# All of them


def _commands(kind: str, commands: dict[str, str], long: bool) -> list[Group]:
    return [
        Group(f"{kind}: {name}", (f"{kind}/{name}",), partial(_command, f"{kind}/{name}/json", words), long)
        for name, words in commands.items()
    ]


GROUPS: tuple[Group, ...] = (
    *(Group(name, tuple(f"{kind}/{name}" for kind in KINDS), partial(_protocol, name)) for name in PROTOCOLS),
    *(
        Group(f"campaign: {name}", tuple(f"{kind}/{name}" for kind in CAMPAIGN_KINDS), partial(_campaign, name))
        for name in CAMPAIGNS
    ),
    Group("commands: campaign", ("commands/campaign",), _campaign_commands),
    *_commands("commands", COMMANDS, long=False),
    *_commands("audit", AUDITS, long=False),
    *_commands("commands", LONG_COMMANDS, long=True),
    Group("audit: all", tuple(f"audit/all, {way}" for way in AUDITED_WAYS), audited, at_hand=True),
)

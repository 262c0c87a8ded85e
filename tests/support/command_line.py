"""Bad input of the command line, and commands to try."""

from __future__ import annotations

import re

from support.command import Said

TINY = "0 1\n1 2\n0 2\n2 3\n"


TOURS = [
    ["estimate", "random:30,60", "--statistics", "edges"],
    ["estimate", "tiny.txt", "--policy", "good.toml", "--trust", "user", "--statistics", "edges", "--epsilon", "2"],
    ["compare", "random:30,60", "--epsilons", "1", "--trials", "1", "--statistics", "edges"],
    ["compare", "tiny.txt", "--epsilons", "1", "--trials", "1", "--statistics", "edges", "--output", "a folder"],
    ["datasets", "list"],
    ["audit", "--mechanism", "position, one round", "--way", "exact", "--no-twins"],
    ["audit", "--graph", "random:30,60", "--policy", "profiles:0.5"],
]


BAD: dict[str, tuple[list[str], str]] = {
    "epsilon 0": (["tiny.txt", "--epsilon", "0"], "epsilon must be above 0"),
    "epsilon -1": (["tiny.txt", "--epsilon", "-1"], "epsilon must be above 0"),
    "epsilon nan": (["tiny.txt", "--epsilon", "nan"], "finite number"),
    "epsilon inf": (["tiny.txt", "--epsilon", "inf"], "finite number"),
    "epsilon words": (["tiny.txt", "--epsilon", "much"], "finite number"),
    "epsilon empty": (["tiny.txt", "--epsilon", ""], "finite number"),
    "epsilon 1e-30": (["tiny.txt", "--epsilon", "1e-30"], "too small to be sampled"),
    "delta 1": (["tiny.txt", "--delta", "1"], "delta must be at least 0 and below 1"),
    "delta -0.1": (["tiny.txt", "--delta", "-0.1"], "delta must be at least 0 and below 1"),
    "delta nan": (["tiny.txt", "--delta", "nan"], "finite number"),
    "k > n": (["tiny.txt", "--statistics", "stars:9"], "impossible on 4 nodes"),
    "k = n": (["tiny.txt", "--statistics", "stars:4"], "impossible on 4 nodes"),
    "k = 1": (["tiny.txt", "--statistics", "stars:1"], "A 1-star is an edge"),
    "unknown statistic": (["tiny.txt", "--statistics", "edges,beauty"], "'beauty' is not a statistic"),
    "no statistic": (["tiny.txt", "--statistics", ""], "is not a statistic"),
    "unknown policy": (["tiny.txt", "--policy", "openness"], "neither a file nor a policy's name"),
    "policy sum": (["tiny.txt", "--policy", "fractions:0.5,0.6,0.1"], "must sum to 1"),
    "policy sum in a file": (["tiny.txt", "--policy", "sum.toml"], "must sum to 1"),
    "policy of strangers": (["tiny.txt", "--policy", "unknown.toml"], "not in the graph, such as 'nobody'"),
    "policy file that is no TOML": (["tiny.txt", "--policy", "tiny.txt"], "cannot be read"),
    "hubs 2": (["tiny.txt", "--policy", "hubs:2"], "between 0 and 1"),
    "missing file": (["gone.txt"], "There is no file 'gone.txt'"),
    "folder": (["."], "is a folder"),
    "truncated gzip": (["cut.gz"], "truncated gzip"),
    "damaged gzip": (["damaged.gz"], "damaged gzip|no edges"),
    "empty file": (["empty.txt"], "holds no edges"),
    "comments only": (["comments.txt"], "holds no edges"),
    "one node": (["one.txt"], "at least two nodes"),
    "one name on a line": (["ragged.txt"], "Line 2 of ragged.txt"),
    "binary file": (["binary.txt"], "not a text file|does not name two nodes"),
    "synthetic nonsense": (["random:x"], "no synthetic graph"),
    "too many edges": (["random:30,6000"], "from 0 to 435 edges"),
    "too large for memory": (["random:3000000,5"], "GB of memory"),
    "known dataset that is not here": (["facebook"], "is not on this machine"),
    "rounds 3": (["tiny.txt", "--rounds", "3"], "1 or 2 rounds"),
    "rounds 0": (["tiny.txt", "--rounds", "0"], "1 or 2 rounds"),
    "dropout 1": (["tiny.txt", "--dropout", "1"], "nobody answers"),
    "dropout -1": (["tiny.txt", "--dropout", "-1"], "between 0 and 1"),
    "dropout nan": (["tiny.txt", "--dropout", "nan"], "finite number"),
    "ipw_capped in one round": (["tiny.txt", "--estimator", "ipw_capped"], "two rounds"),
    "ipw_capped without": (
        ["tiny.txt", "--estimator", "ipw_capped", "--rounds", "2", "--statistics", "four_cycles"],
        "has no four_cycles",
    ),
    "unknown estimator": (["tiny.txt", "--estimator", "best"], "'best' is not an estimator"),
    "unknown trust": (["tiny.txt", "--trust", "nobody"], "is not a trust model"),
    "top 1": (["tiny.txt", "--top", "1"], "--top must be between 2 and"),
    "top > n": (["tiny.txt", "--top", "5"], "--top must be between 2 and"),
}


def assert_one_sentence(done: Said, hint: str) -> None:
    assert done.code == 2
    assert done.out == ""
    lines = done.err.rstrip("\n").split("\n")
    assert len(lines) == 1, done.err
    assert lines[0].startswith("Error: ")
    assert re.search(hint, lines[0])
    assert "Traceback" not in done.err

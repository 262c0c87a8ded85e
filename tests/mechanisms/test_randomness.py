"""Coins: repeatable under a key, unrepeatable without one, and never shared with a child."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, secure_coins, seeded_key

FIXED = settings(derandomize=True, deadline=None, max_examples=50)
KEY = seeded_key(7, "test")


def test_the_same_key_gives_the_same_coins() -> None:
    assert keyed_coins(KEY)(1000) == keyed_coins(KEY)(1000)


@FIXED
@given(st.lists(st.integers(0, 200), max_size=12))
def test_coins_are_one_stream_however_they_are_drawn(counts: list[int]) -> None:
    coins = keyed_coins(KEY)
    drawn = [coins(count) for count in counts]
    assert [len(part) for part in drawn] == counts
    assert b"".join(drawn) == keyed_coins(KEY)(sum(counts))


@pytest.mark.parametrize("count", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, (5 << 19) + 3])
def test_long_draws_are_the_same_stream(count: int) -> None:
    """Longer ones are made in parts."""
    coins, others = keyed_coins(KEY), keyed_coins(KEY)
    whole, parts = coins(count), [others(size) for size in (5, 1000, count - 1005)]
    assert len(whole) == count
    assert whole == b"".join(parts)
    assert coins(16) == others(16)


def test_one_stream_does_not_repeat_itself() -> None:
    coins = keyed_coins(KEY)
    blocks = [coins(16) for _ in range(4096)]
    assert len(set(blocks)) == 4096


def test_the_keystream_is_aes_256_in_counter_mode() -> None:
    assert keyed_coins(bytes(32))(16).hex() == "dc95c078a2408989ad48a21492842087"


@pytest.mark.parametrize("length", [0, 16, 24, 31, 33])
def test_a_key_has_32_bytes(length: int) -> None:
    with pytest.raises(ValueError, match="key"):
        keyed_coins(bytes(length))


def test_seeds_and_labels_name_different_streams() -> None:
    names = [(1,), (2,), (11,), (1, "a"), (1, "b"), (1, "a", "b"), (1, "ab"), (1, "a", 1), (1, 1, "a"), ("1 a",)]
    keys = [seeded_key(*name) for name in names]
    assert all(len(key) == 32 for key in keys)
    assert all(a != b for a, b in combinations(keys, 2))
    assert seeded_key(1, "a", "b") == seeded_key(1, "a", "b")


def test_the_seed_of_a_published_run_means_the_same_for_ever() -> None:
    assert seeded_key(7, "round 1", 0).hex() == ("77485696bd1cb9a87fd2a6e3ef1493502fec5239d5f44141175565ce624f493a")


def test_secure_coins_differ() -> None:
    drawn = [secure_coins()(32) for _ in range(8)]
    assert len(set(drawn)) == 8


def test_secure_coins_have_the_length_asked_for() -> None:
    coins = secure_coins()
    assert [len(coins(count)) for count in (0, 1, 7, 4096)] == [0, 1, 7, 4096]


FORK = """
import os, sys
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_coins, secure_coins
coins = secure_coins() if sys.argv[1] == "secure" else keyed_coins(bytes(32))
coins(5)
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, coins(32))
    os._exit(0)
os.wait()
print(coins(32) == os.read(read, 32))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(("kind", "shared"), [("secure", "False"), ("keyed", "True")])
def test_a_child_gets_coins_of_its_own(kind: str, shared: str) -> None:
    """The twin, a plain keystream, is what a child would otherwise share with its parent."""
    done = subprocess.run([sys.executable, "-c", FORK, kind], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == shared

"""Policies by name and from files: every kind, and one sentence for every bad file."""

from __future__ import annotations

from pathlib import Path

import pytest

from visibility_aware_edge_ldp.errors import BadPolicy
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.private_hub_selection import noisy_hubs
from visibility_aware_edge_ldp.public.visibility import Visibility
from visibility_aware_edge_ldp.truth.policy_file import NAMED, open_policy, read_policy

PUBLIC, FRIEND_VISIBLE, PRIVATE = Visibility
PEOPLE = "id,school,work,score\n0,x,1,0.5\n1,x,0,\n2,y,1,0.5\n3,,0,\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "open.txt").write_text("0 1\n1 2\n", encoding="utf-8")
    (tmp_path / "friends.txt").write_text("2 3\n", encoding="utf-8")
    return tmp_path


def policy(folder: Path, text: str) -> VisibilityPolicy:
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    return read_policy(folder / "policy.toml")


def classes(held: VisibilityPolicy) -> str:
    """The classes of 01, 02, 03, 12, 13, 23 as digits."""
    return "".join(map(str, held.bind(range(4)).range(0, 6)))


# ── names ──


def test_names() -> None:
    assert open_policy("nothing") == VisibilityPolicy.nothing()
    assert open_policy("document-001") == VisibilityPolicy(0.15, 0.35, 0.5)
    assert open_policy("document-003") == VisibilityPolicy(0.331)
    assert open_policy("fractions:0.2,0.3,0.5") == VisibilityPolicy(0.2, 0.3, 0.5)
    assert open_policy("fractions:0.2") == VisibilityPolicy(0.2)
    assert open_policy("profiles:0.5") == VisibilityPolicy.public_profiles(0.5)
    assert open_policy("profiles:0.5,both") == VisibilityPolicy.public_profiles(0.5, "both")
    assert open_policy("hubs:0.1") == VisibilityPolicy.public_hubs(0.1)
    assert open_policy("hubs:0.1").is_oracle
    assert open_policy("hubs:12,epsilon=0.1") == noisy_hubs(12, "0.1")
    assert open_policy("hubs:12,epsilon=0.1,both") == noisy_hubs(12, "0.1", "both")
    assert not open_policy("hubs:12,epsilon=0.1").is_oracle
    assert set(NAMED) == {"nothing", "document-001", "document-003"}


def test_a_path_is_a_name_too(folder: Path) -> None:
    policy(folder, 'kind = "nothing"')
    assert open_policy(str(folder / "policy.toml")) == VisibilityPolicy.nothing()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("no-such", "neither a file nor a policy's name"),
        ("", "cannot be read|neither a file"),
        ("fractions:", "neither a file"),
        ("fractions:a,b", "finite number"),
        ("fractions:0.5,0.6,0.1", r"sum to 1; these sum to 1\.2"),
        ("fractions:0.5,0.1,0.1", r"sum to 1; these sum to 0\.7"),
        ("profiles:0.5,some", "use 'both' or 'any'"),
        ("profiles:2", "between 0 and 1"),
        ("hubs:2", "between 0 and 1"),
        ("hubs:x", "finite number"),
        ("hubs:0.1,epsilon=1", "whole number"),
        ("hubs:3,epsilon=1,all", "not a rule"),
    ],
)
def test_bad_names_are_refused(text: str, hint: str) -> None:
    with pytest.raises(BadPolicy, match=hint):
        open_policy(text)


# ── files of every kind ──


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('kind = "nothing"', "222222"),
        ('kind = "fractions"\npublic = 1', "000000"),
        ('kind = "fractions"\nfriend_visible = 1\nprivate = 0', "111111"),
        ('kind = "profiles"\nprofiles = { 0 = "public", 1 = "public", 2 = "private" }', "011112"),
        ('kind = "profiles"\nrule = "any"\n[profiles]\n0 = "public"\n1 = true', "000002"),
        ('kind = "profiles"\nfile = "people.csv"\npublic_when = "work > 0"', "101121"),
        ('kind = "profiles"\nfile = "people.csv"\npublic_when = "school == \'x\'"\nrule = "any"', "000002"),
        ('kind = "attributes"\nfile = "people.csv"\nrules = [{ same = "school", class = "public" }]', "022222"),
        ('kind = "attributes"\nfile = "people.csv"\nrules = [{ differ = "school", class = "public" }]', "202022"),
        (
            'kind = "attributes"\nfile = "people.csv"\nmissing = "y"\notherwise = "friend-visible"\n'
            'rules = [{ differ = "school", class = "public" }]',
            "110101",
        ),
        (
            'kind = "attributes"\nfile = "people.csv"\n[[rules]]\nboth = "work"\nvalue = 1\nclass = "public"\n'
            '[[rules]]\nany = "school"\nvalue = "y"\nclass = "friend_visible"',
            "202121",
        ),
        ('kind = "positions"\npublic = "open.txt"\nfriend_visible = "friends.txt"', "022021"),
        ('kind = "positions"\npublic = "open.txt"\notherwise = "friend_visible"', "011011"),
        ('kind = "positions"', "222222"),
    ],
)
def test_every_kind(folder: Path, text: str, expected: str) -> None:
    assert classes(policy(folder, text)) == expected


def test_salts_and_fractions_are_kept(folder: Path) -> None:
    text = 'kind = "fractions"\npublic = 0.15\nfriend_visible = 0.35\nprivate = 0.5\nsalt = "mine"'
    assert policy(folder, text) == VisibilityPolicy(0.15, 0.35, 0.5, salt="mine")
    assert policy(folder, text) != VisibilityPolicy(0.15, 0.35, 0.5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('kind = "nothing"\nloss = { private = 0.5 }', VisibilityPolicy.nothing().guarded(private="0.5")),
        (
            'kind = "fractions"\npublic = 0.2\nfriend_visible = 0.3\nloss = { friend_visible = 3 }',
            VisibilityPolicy(0.2, 0.3).guarded(3),
        ),
        (
            'kind = "hubs"\nfraction = 0.2\nrule = "both"\n[loss]\nfriend_visible = "5/2"\nprivate = 2',
            VisibilityPolicy.public_hubs("0.2", rule="both").guarded("5/2", 2),
        ),
    ],
    ids=["nothing", "fractions", "hubs"],
)
def test_a_file_states_how_well_each_class_is_guarded(folder: Path, text: str, expected: VisibilityPolicy) -> None:
    held = policy(folder, text)
    assert held == expected
    assert held.multipliers == expected.multipliers
    assert not held.multipliers.is_default


def test_rules_of_a_file_state_their_loss(folder: Path) -> None:
    rules = (
        'kind = "attributes"\nfile = "people.csv"\nrules = [{ same = "school", class = "friend_visible", loss = 3 }]'
    )
    held = policy(folder, rules)
    assert held.multiplier(FRIEND_VISIBLE) == 3
    with pytest.raises(BadPolicy, match="both in its rules and under 'loss'"):
        policy(folder, f"{rules}\nloss = {{ friend_visible = 3 }}")


@pytest.mark.parametrize(
    ("loss", "hint"),
    [
        ("{ public = 1 }", "'public'"),
        ("3", "wrong type"),
        ("{ private = 0 }", "above 0"),
        ("{ private = [1] }", "must be a number"),
    ],
)
def test_losses_that_make_no_sense(folder: Path, loss: str, hint: str) -> None:
    with pytest.raises(BadPolicy, match=hint):
        policy(folder, f'kind = "nothing"\nloss = {loss}')


def test_hubs_that_are_bought(folder: Path) -> None:
    held = policy(folder, 'kind = "hubs"\ncount = 5\nepsilon = "0.1"\nrule = "both"')
    assert held == noisy_hubs(5, "0.1", "both")
    with pytest.raises(BadPolicy, match="no 'epsilon'"):
        policy(folder, 'kind = "hubs"\ncount = 5')


def test_hubs_stay_an_oracle(folder: Path) -> None:
    held = policy(folder, 'kind = "hubs"\nfraction = 0.2\nrule = "both"')
    assert held == VisibilityPolicy.public_hubs("0.2", rule="both")
    assert held.is_oracle


def test_names_may_be_text(folder: Path) -> None:
    held = policy(folder, 'kind = "profiles"\nrule = "any"\nprofiles = { ann = "public", 7 = "public" }')
    bound = held.bind(["ann", "bob", 7, "cem"])
    assert bound.range(0, 6).tolist() == [0, 0, 0, 0, 2, 0]


# ── bad files ──


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "no 'kind'"),
        ("kind = ", "cannot be read"),
        ('kind = "magic"', "kind is one of .* says 'magic'"),
        ('kind = "fractions"\npublic = 0.5\nprivate = 0.6', r"sum to 1\.1"),
        ('kind = "fractions"\npublic = "x"', "finite number"),
        ('kind = "fractions"\npublic = true', "must be a number"),
        ('kind = "fractions"\npublic = nan', "finite number"),
        ('kind = "fractions"\npublic = [1]', "must be a number"),
        ('kind = "profiles"', "no 'file'"),
        ('kind = "profiles"\nfile = "people.csv"', "no 'public_when'"),
        ('kind = "profiles"\nfile = "people.csv"\npublic_when = "age > 3"', "no column 'age'"),
        ('kind = "profiles"\nfile = "people.csv"\npublic_when = "work"', "cannot be read"),
        ('kind = "profiles"\nprofiles = { 0 = "open" }', "must be 'public' or 'private'"),
        ('kind = "profiles"\nrule = "some"\nprofiles = { 0 = "public" }', "use 'both' or 'any'"),
        ('kind = "attributes"\nfile = "people.csv"', "no 'rules'"),
        ('kind = "attributes"\nfile = "people.csv"\nrules = []', "at least one rule"),
        ('kind = "attributes"\nfile = "people.csv"\nrules = [{ same = "school" }]', "and a class"),
        ('kind = "attributes"\nfile = "gone.csv"\nrules = []', r"In policy\.toml: There is no file"),
        ('kind = "attributes"\nfile = "people.csv"\nnode = "who"\nrules = []', r"In policy\.toml: .*no column 'who'"),
        ('kind = "positions"\npublic = "gone.txt"', r"In policy\.toml: There is no file"),
        ('kind = "positions"\notherwise = "x"', "not a visibility class"),
        ('kind = "hubs"', "no 'fraction'"),
        ('kind = "hubs"\nfraction = 3', "between 0 and 1"),
    ],
)
def test_bad_files_are_refused_in_a_sentence(folder: Path, text: str, hint: str) -> None:
    with pytest.raises(BadPolicy, match=hint):
        policy(folder, text)


def test_a_column_that_no_node_has_is_refused_when_it_is_used(folder: Path) -> None:
    held = policy(folder, 'kind = "attributes"\nfile = "people.csv"\nrules = [{ same = "age", class = "public" }]')
    with pytest.raises(BadPolicy, match="column 'age'"):
        held.bind(range(4))


def test_nodes_that_are_not_in_the_graph_are_refused(folder: Path) -> None:
    held = policy(folder, 'kind = "profiles"\nprofiles = { nobody = "public" }')
    with pytest.raises(BadPolicy, match="'nobody'"):
        held.bind(range(4))


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b'kind = "\xff"'])
def test_what_is_not_text_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.toml").write_bytes(content)
    with pytest.raises(BadPolicy, match="cannot be read"):
        read_policy(tmp_path / "p.toml")


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "gone.toml"):
        with pytest.raises(BadPolicy, match="cannot be read"):
            read_policy(path)


@pytest.mark.parametrize(
    "text",
    [
        'kind = ["a"]',
        'kind = "profiles"\nprofiles = "abc"',
        'kind = "profiles"\nrule = ["both"]\nprofiles = { 0 = "public" }',
        'kind = "profiles"\nfile = "people.csv"\npublic_when = 5',
        'kind = "profiles"\nfile = 5\npublic_when = "work > 0"',
        'kind = "attributes"\nfile = "people.csv"\nrules = "x"',
        'kind = "attributes"\nfile = "people.csv"\nrules = [5]',
        'kind = "attributes"\nfile = "people.csv"\nrules = [{ same = "school", class = 9 }]',
        'kind = "attributes"\nfile = "people.csv"\nrules = [{ both = "school", value = [1], class = "public" }]',
        'kind = "positions"\npublic = 5',
        'kind = "positions"\notherwise = 5',
        'kind = "fractions"\npublic = 0.5\nsalt = 5',
    ],
)
def test_values_of_the_wrong_type_are_refused_in_a_sentence(folder: Path, text: str) -> None:
    with pytest.raises(BadPolicy):
        policy(folder, text).bind(range(4)).range(0, 6)


def test_a_misspelt_key_is_refused(folder: Path) -> None:
    with pytest.raises(BadPolicy, match="pubic"):
        policy(folder, 'kind = "fractions"\npubic = 0.9')


@pytest.mark.parametrize("text", ["fractions:0.2,0.3,0.5,0.9", "profiles:0.5,any,0.9", "hubs:0.1,0.9"])
def test_numbers_too_many_are_refused(text: str) -> None:
    with pytest.raises(BadPolicy):
        open_policy(text)


def test_a_very_long_name_is_refused_in_a_sentence() -> None:
    with pytest.raises(BadPolicy, match="neither a file"):
        open_policy("x" * 300)


def test_a_gap_in_a_column_of_numbers_never_matches(folder: Path) -> None:
    text = 'kind = "attributes"\nfile = "people.csv"\nrules = [{ differ = "score", class = "public" }]'
    assert classes(policy(folder, text)) == "222222"

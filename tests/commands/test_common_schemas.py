"""Every JSON document that a command prints or writes keeps its published schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from commands.conftest import Served
from support.command import Run
from visibility_aware_edge_ldp import dataset
from visibility_aware_edge_ldp.presentation.files import SCHEMAS, schema

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference" / "schemas"
PAGE = ROOT / "docs" / "reference" / "schemas.md"
GRAPH = "random:30,60"
QUICK = {
    "estimate": [
        f"estimate {GRAPH} --statistics all --policy fractions:0.3,0.3,0.4 --bounds",
        f"estimate {GRAPH} --trust user --statistics all --dropout 0.1",
        f"estimate {GRAPH} --trust user --hide degree --truth",
        f"estimate {GRAPH} --trust neighbourhood --policy hubs:0.2",
        f"estimate {GRAPH} --trust curator --delta 1e-6",
        f"estimate {GRAPH} --trust position --policy hubs:3,epsilon=0.1 --scope lists",
    ],
    "publish": [
        f"publish {GRAPH} --budget budget.ledger --release release.json --total 2 --statistics edges,triangles"
    ],
    "compare": [f"compare {GRAPH} --epsilons 1 --trials 1 --trust user,curator --statistics edges,max_degree"],
    "plan": ["plan --nodes 30 --edges 60 --epsilons 1 --statistic edges,triangles --trust user,curator"],
    "audit": [
        "audit --mechanism Hadamard --way exact",
        "audit --mechanism Hadamard --way statistical --runs 400",
    ],
    "policy-check": [
        f"audit --graph {GRAPH} --policy profiles:0.5",
        f"audit --graph {GRAPH} --policy profiles:0.1 --scope public",
    ],
    "datasets": ["datasets list"],
}
SLOW = {
    "compare": [f"compare {GRAPH} --epsilons 1,4 --trials 2 --policy fractions:1"],
    "plan": ["plan --nodes 30 --edges 60 --more-public"],
    "audit": ["audit --mechanism Hadamard --runs 400"],
    "reproduce": ["reproduce --table all --trials 1"],
    "campaign-rehearse": ["campaign rehearse random:8,12 --question degrees --processes 1"],
}
WRITTEN = {
    "estimate.json": f"estimate {GRAPH} --statistics edges,degrees --truth",
    "results.json": f"compare {GRAPH} --epsilons 1 --trials 2 --trust user --statistics edges",
    "plan.json": "plan --nodes 30 --edges 60 --epsilons 1 --trust user",
    "audit.json": "audit --mechanism Hadamard --way exact",
    "reproduction.json": "reproduce --table 003 --trials 1",
}
# Where a command's schema is not called after the command, or there is more than one.
OTHER_NAMES = {"datasets list": ["datasets"], "audit": ["audit", "policy-check"], "compare": ["compare", "results"]} | {
    "campaign answer": ["campaign-answer", "campaign-answer-dry-run"],
    "estimate": ["estimate", "contact-matrix", "target-statistics"],
    "estimate-streamed": [],  # it prints what estimate does
    "campaign status": ["campaign-status", "campaign-own-status"],
}


def published(name: str) -> dict[str, Any]:
    """The schema of this name, as it is published."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}-{SCHEMAS[name]}.schema.json").read_text(encoding="utf-8"))
    return found


def refused(name: str, document: Any) -> bool:
    return not Draft202012Validator(published(name)).is_valid(document)


def keeps(name: str, document: Any) -> None:
    """The document begins with its schema and keeps it, and would not without any of its fields."""
    Draft202012Validator(published(name)).validate(document)
    assert next(iter(document)) == "schema"
    assert document["schema"] == schema(name)
    for key in published(name)["required"]:
        assert refused(name, {each: value for each, value in document.items() if each != key}), key
        assert refused(name, document | {key: [{"other": 0.5}] if isinstance(document[key], dict) else {}}), key
    assert not refused(name, document | {"more": 1}), "fields may be added"


def typed(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, words) for name, commands in table.items() for words in commands]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small graph in place of Facebook."""
    from visibility_aware_edge_ldp.truth.synthetic import powerlaw

    monkeypatch.setattr(dataset, "default_graph", lambda: (powerlaw(60, 500, seed=2), False))


@pytest.mark.parametrize(("name", "words"), typed(QUICK))
def test_what_is_printed_keeps_its_schema(run: Run, name: str, words: str) -> None:
    keeps(name, run(*words.split(), "--json").json)


@pytest.mark.long
@pytest.mark.parametrize(("name", "words"), typed(SLOW))
def test_what_takes_longer_keeps_its_schema(run: Run, small: None, name: str, words: str) -> None:
    keeps(name, run(*words.split(), "--json").json)


@pytest.mark.parametrize(
    ("file", "words"),
    [pytest.param(*each, marks=[] if "estimate" in each[0] else pytest.mark.long) for each in WRITTEN.items()],
)
def test_what_is_written_keeps_its_schema(run: Run, folder: Path, small: None, file: str, words: str) -> None:
    said = run(*words.split(), "--output", "out", "--json").json
    name = "results" if file == "results.json" else words.split()[0]
    found = json.loads((folder / "out" / file).read_text(encoding="utf-8"))
    keeps(name, found)
    assert {key: value for key, value in found.items() if key in said and key != "schema"} == {
        key: value for key, value in said.items() if key != "schema"
    }


def test_results_keep_their_schema() -> None:
    from visibility_aware_edge_ldp import VisibilityPolicy, compare
    from visibility_aware_edge_ldp.presentation.result_files import as_json
    from visibility_aware_edge_ldp.truth.synthetic import erdos_renyi

    made = compare(erdos_renyi(12, 20), VisibilityPolicy("0.5"), [1], 2, ["edges", "degrees"], seed=1)
    keeps("results", json.loads(as_json(made, "va-edge-ldp compare")))


def test_a_fetched_graph_keeps_its_schema(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "fetch", lambda name: Path("somewhere") / name)
    keeps("datasets-fetch", run("datasets", "fetch", "facebook", "--json").json)


def test_a_new_campaign_and_flagged_reports_keep_their_schemas(
    town: Path, campaign: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from visibility_aware_edge_ldp.aggregator.report_screening import Flag
    from visibility_aware_edge_ldp.campaign.server import question_estimates

    asked = [
        "--question",
        "triangles",
        "--title",
        "T",
        "--epoch",
        "e",
        "--epsilon",
        "1/2",
        "--policy",
        "fractions:0,0.5,0.5",
    ]
    keeps("campaign-new", campaign("new", "other", "--roster", "roster.txt", *asked, "--json").json)
    flags = [Flag(0, 1, "degree", 50.0, -10.0, float("inf"))]
    for found in (flags, []):
        monkeypatch.setattr(question_estimates, "flagged_in", lambda store, terms, found=found: found)
        keeps("campaign-flagged", campaign("flagged", "town", "--store", "sqlite:///flagged.db", "--json").json)


def test_a_whole_campaign_keeps_its_schemas(served: Served, campaign: Run, quick: None) -> None:
    issuer, person = str(served.charter["issuer"]), ("--home", "home", "--json")
    Path("friends.txt").write_text("person 3\n")
    for name, place in (("person 1", "other"), ("person 4", "third"), ("person 0", "home")):
        token, home = str(served.token(name)), ("--home", place, "--json")
        enrolled = campaign("enroll", served.url, "--name", name, "--token-file", token, "--issuer", issuer, *home)
        keeps("campaign-enroll", enrolled.json)
        keeps("campaign-answer-dry-run", campaign("answer", "--friends", "friends.txt", "--dry-run", *home).json)
        keeps("campaign-own-status", campaign("status", *home).json)
        keeps("campaign-answer", campaign("answer", "--friends", "friends.txt", "--yes", *home).json)
    keeps("campaign-own-status", campaign("status", *person).json)
    keeps("campaign-check", campaign("check", *person).json)
    keeps("campaign-status", campaign("status", "town", "--json").json)
    keeps("campaign-amend", campaign("amend", "town", "--withdraw", "person 1", "--json").json)
    keeps("campaign-amend", campaign("amend", "town", "--replace-token", "person 2", "--json").json)
    for number in (1, 2):
        keeps("campaign-submit", campaign("submit", "town", f"town/amendments/000{number}.json", "--json").json)
    keeps("campaign-unanswered", campaign("unanswered", "town", "--json").json)
    keeps("campaign-log", campaign("log", "town", "--json").json)
    keeps("campaign-status", campaign("status", "town", "--json").json)
    keeps("campaign-close", campaign("close", "town", "--round", "1", "--json").json)
    keeps("campaign-backup", campaign("backup", "town", "copies", "--json").json)
    keeps("campaign-estimate", campaign("estimate", "town", "--json").json)
    keeps("campaign-status", campaign("status", "town", "--json").json)
    keeps("campaign-check", campaign("check", *person).json)
    withdrawn = campaign("check", "--home", "other", "--json").json
    keeps("campaign-check", withdrawn)
    assert withdrawn["reports"][0]["standing"] == "withdrawn"
    code = campaign("device-code", "--home", "new", "--json").json
    keeps("campaign-device-code", code)
    keeps("campaign-hand-over", campaign("hand-over", "sealed", "--to", code["code"], *person).json)
    keeps("campaign-take-over", campaign("take-over", "sealed", "--home", "new", "--json").json)


def test_what_a_server_prints_keeps_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    from visibility_aware_edge_ldp.commands.common import print_json

    print_json("campaign-serve", {"address": "http://127.0.0.1:8000", "campaign": "0" * 64}, line=True)
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    keeps("campaign-serve", json.loads(said))
    print_json("campaign-console", {"address": "http://127.0.0.1:8640", "setup_code": "abcdefghijkl"}, line=True)
    keeps("campaign-console", json.loads(capsys.readouterr().out))


def test_a_campaign_of_another_version_keeps_its_schema() -> None:
    known = {"schema": schema("campaign-own-status"), "campaigns": [{"campaign": "0" * 64, "other_version": True}]}
    keeps("campaign-own-status", known)
    assert refused("campaign-own-status", known | {"campaigns": [{"campaign": "0" * 64}]})


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_and_explains_every_field(name: str) -> None:
    Draft202012Validator.check_schema(published(name))
    assert published(name)["properties"]["schema"]["const"] == schema(name)
    for path, field in fields(published(name), name):
        assert field.get("description") or "$ref" in field, path
        assert field.get("additionalProperties", True) is not False, path


def fields(part: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """All properties of a schema, with where they stand."""
    if isinstance(part, list):
        for each in part:
            yield from fields(each, path)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key == "properties":
                yield from ((f"{path}.{each}", field) for each, field in value.items())
            yield from fields(value, f"{path}.{key}")


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("wrong", [None, [], {}, "schema alone", "another name", "another version"])
def test_a_wrong_document_is_refused(name: str, wrong: Any) -> None:
    said = {"another name": f"va-edge-ldp/x{name}/1", "another version": f"va-edge-ldp/{name}/{SCHEMAS[name] + 1}"}
    assert refused(name, {"schema": said.get(wrong, schema(name))} if isinstance(wrong, str) else wrong)


def commands_with_json() -> list[str]:
    from typer.main import get_command

    from visibility_aware_edge_ldp.cli import app

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[str]:
        for name, each in getattr(command, "commands", {}).items():
            yield from walk(each, (*path, name))
        if any("--json" in option.opts for option in command.params):
            yield " ".join(path)

    return list(walk(get_command(app), ()))


def test_every_command_with_json_has_a_schema_and_no_schema_is_left_over() -> None:
    commands = commands_with_json()
    assert len(commands) == 32
    named = [name for each in commands for name in OTHER_NAMES.get(each, [each.replace(" ", "-")])]
    assert sorted(named) == sorted(SCHEMAS)
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    assert set(re.findall(r"(?:print_json|json_text)\(\s*[\"']([\w-]+)[\"']", source)) == set(SCHEMAS)


def test_every_schema_is_published_and_listed() -> None:
    files = {f"{name}-{version}.schema.json" for name, version in SCHEMAS.items()}
    assert {path.name for path in FOLDER.iterdir()} >= files
    listed = re.findall(r"\]\(schemas/([\w.-]+)\)", PAGE.read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in FOLDER.iterdir())

"""The published description of a campaign's server: which reply it allows where, and what of it was seen."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PROBLEM = "application/problem+json"
Seen = tuple[str, str, int, str]  # path, method, status, and the problem's name


def schema_file(name: str) -> Any:
    return json.loads((REFERENCE / "schemas" / name).read_text(encoding="utf-8"))


@dataclass
class Description:
    """docs/reference/openapi.json, and the replies that were compared with it."""

    content: dict[str, Any] = field(default_factory=lambda: json.loads((REFERENCE / "openapi.json").read_text("utf-8")))
    seen: set[Seen] = field(default_factory=set)

    @cached_property
    def registry(self) -> Registry[Any]:
        files = [path.name for path in (REFERENCE / "schemas").iterdir()]
        kept = [(f"schemas/{name}", Resource.from_contents(schema_file(name))) for name in files]
        return Registry().with_resources(kept)

    @property
    def operations(self) -> set[tuple[str, str]]:
        return {(path, method) for path, item in self.content["paths"].items() for method in item}

    def responses(self, path: str, method: str) -> dict[str, Any]:
        """The replies of an operation, by status."""
        listed = self.content["paths"][path][method]["responses"]
        common = self.content["components"]["responses"]
        return {
            status: common[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
            for status, each in listed.items()
        }

    @property
    def problems(self) -> set[Seen]:
        """Every refusal that is listed for one operation by itself, and every other reply that is listed."""
        found: set[Seen] = set()
        for path, method in self.operations:
            for status, each in self.content["paths"][path][method]["responses"].items():
                if "$ref" not in each:
                    found |= {(path, method, int(status), name) for name in problem_names(each) or [""]}
        return found

    @property
    def common(self) -> set[str]:
        """The problems that any request may meet."""
        return {name for each in self.content["components"]["responses"].values() for name in problem_names(each)}

    def path_of(self, path: str) -> str:
        """The template that a path is one of."""
        for template in self.content["paths"]:
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
                return str(template)
        return ""

    def check(self, method: str, path: str, status: int, headers: dict[str, str], body: bytes) -> None:
        """Compare a reply with what is published for its request."""
        template, kind = self.path_of(path), headers.get("content-type", "").split(";")[0]
        word = "get" if method == "HEAD" else method.lower()
        if (template, word) in self.operations:
            listed = self.responses(template, word)
        else:  # another method of a known path, or another path
            only = {"405": self.content["components"]["responses"]["MethodNotAllowed"]}
            listed = only if template else {"404": self.responses("/v1/rounds/{round}", "get")["404"]}
        assert str(status) in listed, (method, path, status, body)
        said = listed[str(status)]
        always = {name.lower() for name, each in said.get("headers", {}).items() if each.get("required", True)}
        assert always <= headers.keys(), (method, path, status)
        name = json.loads(body)["type"].rpartition(":")[2] if kind == PROBLEM and body else ""
        if "content" in said and method != "HEAD":
            assert list(said["content"]) == [kind], (method, path, status, kind)
            schema = said["content"][kind]["schema"]
            if kind.endswith("json"):
                Draft202012Validator(schema, registry=self.registry).validate(json.loads(body))
        elif method != "HEAD":
            assert body == b"", (method, path, status)
        self.seen.add((template, word, status, name))


def problem_names(response: dict[str, Any]) -> list[str]:
    if PROBLEM not in response.get("content", {}):
        return []
    listed = response["content"][PROBLEM]["schema"]["allOf"][1]["properties"]["type"]["enum"]
    return [str(each).rpartition(":")[2] for each in listed]

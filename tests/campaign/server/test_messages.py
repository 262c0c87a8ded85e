"""The OpenAPI description, and a stranger who follows it: no answer is a failure of ours."""

from __future__ import annotations

import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.campaign_lab import FAR, Running, new_lab, running, sqlite_url
from visibility_aware_edge_ldp.campaign.server.messages import described

# Loaded before any server runs: pytest rewrites its modules when they are first imported, at which CPython 3.11 fails
# now and then if that happens deep inside a test (SystemError: AST constructor recursion depth mismatch).
with contextlib.suppress(ImportError):
    import schemathesis.specs.openapi.schemas  # noqa: F401


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("described")
    lab = new_lab(folder / "lab", 12, "triangles", (FAR, FAR + 100), fewest=11)
    with running(lab, sqlite_url(folder)) as found:
        yield found


def test_every_path_of_the_description_is_served(server: Running) -> None:
    paths = json.loads(described(2, 12))["paths"]
    for path, operations in paths.items():
        for method in operations:
            url = path.replace("{round}", "1").replace("{participant}", "3").replace("{part}", "0")
            status, kind = _ask(server, method.upper(), url)
            said = operations[method]["responses"]
            assert str(status) in said or (400 <= status < 500 and kind == "application/problem+json"), (path, status)
            elsewhere = any(word in path for word in ("transcript", "parts", "consents"))  # not asked for here
            assert status not in (404, 405) or elsewhere, path


def _ask(server: Running, method: str, path: str) -> tuple[int, str]:
    request = urllib.request.Request(f"http://{server.host}:{server.port}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers["content-type"]
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.headers["content-type"]


def test_a_stranger_who_follows_it_breaks_nothing(server: Running) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    schema = schemathesis.openapi.from_dict(json.loads(described(2, 12)))
    schema.config.update(base_url=f"http://{server.host}:{server.port}")
    strategies = [found.ok().as_strategy() for found in schema.get_all_operations()]
    assert len(strategies) == 29
    seen = set()

    @settings(
        max_examples=250,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def follow(data: st.DataObject) -> None:
        case = data.draw(st.sampled_from(strategies).flatmap(lambda strategy: strategy))
        token = data.draw(st.sampled_from(["", server.lab.operator, *server.lab.tokens[:3]]))
        answer = case.call(headers={"Authorization": f"Bearer {token}"} if token else {})
        seen.add((case.operation.label, answer.status_code))
        assert answer.status_code < 500, (case, answer.status_code)
        if answer.status_code >= 400:
            assert answer.headers["content-type"][0] == "application/problem+json"

    follow()
    assert len(seen) > 15

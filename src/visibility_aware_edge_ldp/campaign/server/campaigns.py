"""Several campaigns in one server: each below a path of its own, ``/c/CAMPAIGN/``, as if it were alone there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from visibility_aware_edge_ldp.campaign.directory import CHARTER
from visibility_aware_edge_ldp.campaign.server import messages
from visibility_aware_edge_ldp.campaign.server.app import App, lifespan
from visibility_aware_edge_ldp.campaign.server.uploads import Expected
from visibility_aware_edge_ldp.errors import BadInput, VaEdgeLdpError


class Asgi(Protocol):
    """An application, and which uploads it takes as they come."""

    async def __call__(self, scope: messages.Message, receive: messages.Receive, send: messages.Send) -> None: ...

    def expects(self, scope: messages.Message) -> Expected | None: ...


PREFIX = "/c/"


def directories_in(places: list[Path]) -> list[Path]:
    """The campaigns' directories that are named, and those in a folder that is none itself."""
    found = [each for place in places for each in ([place] if _is_campaign(place) else _inside(place))]
    if len(set(found)) < len(found):
        raise BadInput("A campaign's directory is named twice. Name each once.")
    return found


def _inside(place: Path) -> list[Path]:
    return sorted(filter(_is_campaign, place.iterdir()) if place.is_dir() else ()) or [place]


def _is_campaign(place: Path) -> bool:
    return (place / CHARTER).is_file()


class Campaigns:
    """What requests go to, by the campaign in their path; the only campaign is also found without (ASGI)."""

    def __init__(self, apps: Mapping[str, App], wrapped: Callable[[App], Asgi]) -> None:
        self._apps, self._wrapped = apps, {identity: wrapped(app) for identity, app in apps.items()}
        self._only = next(iter(self._wrapped.values())) if len(apps) == 1 else None
        self.failure: VaEdgeLdpError | None = None

    async def start(self) -> None:
        """Start all campaigns; where one fails, stop those that were started."""
        begun = list[App]()
        try:
            for app in self._apps.values():
                await app.start()
                begun.append(app)
        except BaseException:
            for app in begun:
                with suppress(Exception):  # the first failure is the one to tell
                    await app.stop()
            raise

    def end_estimates(self) -> None:
        """Stop making answers in all campaigns, because the server ends."""
        for app in self._apps.values():
            app.rounds.end_estimate()

    async def stop(self) -> None:
        """Stop all campaigns, also where stopping one fails; the first failure is raised afterwards."""
        ended = await asyncio.gather(*(app.stop() for app in self._apps.values()), return_exceptions=True)
        for failure in ended:
            if failure is not None:
                raise failure

    def expects(self, scope: messages.Message) -> Expected | None:
        """The upload that this head announces to one of the campaigns, if that takes it as it comes."""
        path = scope["path"]
        if not path.startswith(PREFIX):
            return None if self._only is None else self._only.expects(scope)
        identity, _, rest = path.removeprefix(PREFIX).partition("/")
        found = self._wrapped.get(identity)
        return None if found is None else found.expects({**scope, "path": f"/{rest}"})

    async def __call__(self, scope: messages.Message, receive: messages.Receive, send: messages.Send) -> None:
        if scope["type"] == "lifespan":
            return await lifespan(self, receive, send)
        path = scope.get("path", "")
        if path.startswith(PREFIX):
            identity, slash, rest = path.removeprefix(PREFIX).partition("/")
            if found := self._wrapped.get(identity):
                if not slash:  # the page's links are relative
                    return await messages.sent(_moved(identity), send, scope["method"] == "HEAD")
                return await found({**scope, "path": f"/{rest}"}, receive, send)
        elif self._only is not None:
            return await self._only(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close"})
        return await messages.sent(await self._reply(path), send, scope["method"] == "HEAD")

    async def _reply(self, path: str) -> messages.Reply:
        """The reply to a path of no campaign: for ``/healthz``, whether all campaigns are well."""
        if path != "/healthz":
            return messages.Refusal("not-found", f"Name the campaign: {PREFIX}CAMPAIGN/…").reply
        try:
            replies = [await app.health() for app in self._apps.values()]
        except Exception as failure:
            return messages.refused(failure)
        return replies[0]


def _moved(identity: str) -> messages.Reply:
    return messages.Reply(308, b"", messages.HTML, ((b"location", f"{PREFIX}{identity}/".encode()),))

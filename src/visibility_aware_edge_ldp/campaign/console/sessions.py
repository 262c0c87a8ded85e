"""Who is signed in, and how often a passphrase may be tried; all of it in memory, and gone when the console stops."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from visibility_aware_edge_ldp.campaign.console.vault import Key

COOKIE = "va-console"
# Seconds without a request, and in all, after which one signs in again.
IDLE, LONGEST = 1_800.0, 43_200.0
# So many wrong passphrases are free; then each next one has to wait, twice as long each time, up to so many seconds.
FREE, MOST_WAIT = 5, 900.0


@dataclass
class Session:
    """One sign-in: the everyday key, and what is to be said on the next page."""

    key: Key = field(repr=False)
    secret: bytes = field(repr=False)
    begun: float
    seen: float
    said: list[tuple[str, str]] = field(default_factory=list)

    @property
    def form_token(self) -> str:
        """What every form of this session carries; other sites cannot know it."""
        return hmac.new(self.secret, b"form", hashlib.sha256).hexdigest()

    def knows(self, shown: str) -> bool:
        return hmac.compare_digest(shown.encode(), self.form_token.encode())

    def say(self, text: str, kind: str = "good") -> None:
        """Something for the next page; ``kind`` is "good" or "bad"."""
        self.said.append((kind, text))

    def heard(self) -> list[tuple[str, str]]:
        """What was to be said, once."""
        said, self.said = self.said, []
        return said


class Sessions:
    """All sessions, by the hash of their cookies."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._open = clock, dict[bytes, Session]()

    def begin(self, key: Key) -> str:
        """Sign somebody in: the cookie's value."""
        now, value = self._clock(), secrets.token_urlsafe(32)
        self._open = {each: session for each, session in self._open.items() if self._is_fresh(session, now)}
        self._open[_hashed(value)] = Session(key, secrets.token_bytes(32), now, now)
        return value

    def of(self, value: str) -> Session | None:
        """The session of a cookie, if it has not run out."""
        now, session = self._clock(), self._open.get(_hashed(value))
        if session is None or not self._is_fresh(session, now):
            self._open.pop(_hashed(value), None)
            return None
        session.seen = now
        return session

    def end(self, value: str) -> None:
        """Sign out."""
        self._open.pop(_hashed(value), None)

    @staticmethod
    def _is_fresh(session: Session, now: float) -> bool:
        return now - session.seen < IDLE and now - session.begun < LONGEST


class Attempts:
    """How long to wait before a passphrase is tried again: one count for everybody, as it guards one passphrase."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._wrong, self._until = clock, 0, 0.0

    @property
    def wait(self) -> float:
        """Seconds until the next try is looked at; 0 for now."""
        return max(0.0, self._until - self._clock())

    def failed(self) -> None:
        self._wrong += 1
        if self._wrong >= FREE:
            self._until = self._clock() + min(2.0 ** (self._wrong - FREE), MOST_WAIT)

    def succeeded(self) -> None:
        self._wrong, self._until = 0, 0.0


def _hashed(value: str) -> bytes:
    return hashlib.sha256(value.encode(errors="surrogatepass")).digest()

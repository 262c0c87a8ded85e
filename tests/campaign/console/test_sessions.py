"""Sessions run out, forms are known by their token, and wrong passphrases have to wait."""

from __future__ import annotations

from visibility_aware_edge_ldp.campaign.console.sessions import FREE, IDLE, LONGEST, MOST_WAIT, Attempts, Sessions
from visibility_aware_edge_ldp.campaign.console.vault import Key

KEY = Key(bytes(32))


class Hand:
    """A clock that is moved by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_session_is_known_by_its_cookie_until_it_is_ended() -> None:
    sessions = Sessions()
    one, two = sessions.begin(KEY), sessions.begin(KEY)
    assert one != two
    assert sessions.of(one) is not sessions.of(two)
    assert sessions.of("") is None
    assert sessions.of(one[:-1]) is None
    sessions.end(one)
    assert sessions.of(one) is None
    assert sessions.of(two) is not None


def test_a_session_runs_out_when_nobody_does_anything_and_after_half_a_day() -> None:
    clock = Hand()
    sessions = Sessions(clock)
    idle, busy = sessions.begin(KEY), sessions.begin(KEY)
    until = clock.now + LONGEST
    while clock.now + IDLE / 2 < until:
        clock.now += IDLE / 2
        assert sessions.of(busy) is not None
    assert sessions.of(idle) is None
    clock.now = until
    assert sessions.of(busy) is None


def test_a_forms_token_is_of_one_session() -> None:
    sessions = Sessions()
    found = [sessions.of(sessions.begin(KEY)) for _ in range(2)]
    one, two = (each for each in found if each is not None)
    assert one.knows(one.form_token)
    assert not one.knows(two.form_token)
    assert not one.knows("")
    assert not one.knows("ä")


def test_what_is_said_is_said_once() -> None:
    sessions = Sessions()
    session = sessions.of(sessions.begin(KEY))
    assert session is not None
    session.say("done")
    session.say("not done", "bad")
    assert session.heard() == [("good", "done"), ("bad", "not done")]
    assert session.heard() == []


def test_wrong_passphrases_wait_longer_and_longer() -> None:
    clock = Hand()
    attempts = Attempts(clock)
    waits = []
    for _ in range(FREE + 14):
        attempts.failed()
        waits.append(attempts.wait)
        clock.now += attempts.wait
    assert waits[: FREE - 1] == [0.0] * (FREE - 1)
    assert waits[FREE - 1 : FREE + 4] == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert waits[-1] == MOST_WAIT
    attempts.succeeded()
    attempts.failed()
    assert attempts.wait == 0

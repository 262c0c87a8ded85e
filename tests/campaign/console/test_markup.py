"""Forms that are labelled, carry their session's token, and hold what strangers wrote as text."""

from __future__ import annotations

import re

from visibility_aware_edge_ldp.campaign.console import markup
from visibility_aware_edge_ldp.campaign.console.sessions import Sessions
from visibility_aware_edge_ldp.campaign.console.vault import Key

HOSTILE = "\"><script>alert('x')</script>"


def session() -> markup.Session:
    sessions = Sessions()
    found = sessions.of(sessions.begin(Key(bytes(32))))
    assert found is not None
    return found


def test_everything_that_is_filled_in_is_escaped() -> None:
    parts = (
        markup.field(HOSTILE, "a", HOSTILE, hint=HOSTILE),
        markup.area(HOSTILE, "b", HOSTILE, HOSTILE),
        markup.choice(HOSTILE, "c", [(HOSTILE, HOSTILE)], HOSTILE, HOSTILE),
        markup.hidden("d", HOSTILE),
        markup.button(HOSTILE, value=HOSTILE),
        markup.link(HOSTILE, HOSTILE),
        markup.crumbs((HOSTILE, HOSTILE)),
    )
    for each in parts:
        assert "<script" not in each
        assert "&lt;script&gt;" in each


def test_every_field_has_its_label() -> None:
    whole = markup.field("One", "one", hint="so") + markup.area("Two", "two") + markup.choice("Three", "three", [])
    whole += markup.passphrase("four") + markup.field("Five", "one", id_="five")
    for name in ("one", "two", "three", "four", "five"):
        assert f'for="{name}"' in whole
        assert len(re.findall(f' id="{name}"', whole)) == 1
    assert 'aria-describedby="one-hint"' in whole
    assert '<small id="one-hint">so</small>' in whole


def test_elements_without_content_are_not_closed() -> None:
    assert markup.void("input", required=True, hidden=False, value=None, name="x") == '<input required="" name="x">'


def test_what_was_chosen_is_selected() -> None:
    found = markup.choice("One", "one", [("a", "A"), ("b", "B")], "b")
    assert '<option value="b" selected="">B</option>' in found
    assert found.count("selected") == 1


def test_a_form_has_the_token_of_its_session() -> None:
    own = session()
    assert f'value="{own.form_token}"' in markup.form(own, "/x")
    assert "form_token" not in markup.form(None, "/x")


def test_a_page_says_what_is_to_be_said_once_and_needs_no_script() -> None:
    own = session()
    own.say(HOSTILE, "bad")
    first = markup.page(HOSTILE, session=own).decode()
    assert first.startswith("<!doctype html>\n<html")
    assert 'data-kind="bad"' in first
    assert "<script" not in first
    assert "data-kind" not in markup.page("x", session=own).decode()
    assert "Sign out" not in markup.page("x").decode()

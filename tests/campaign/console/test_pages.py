"""The pages that are of no one study."""

from __future__ import annotations

from support.console_visitor import Visitor
from visibility_aware_edge_ldp.campaign.console.pages import home_page, log_page, new_page, set_up_page, sign_in_page
from visibility_aware_edge_ldp.campaign.console.sessions import Session, Sessions
from visibility_aware_edge_ldp.campaign.console.vault import Key

ISSUER = "0123456789abcdef" * 4


def session() -> Session:
    sessions = Sessions()
    found = sessions.of(sessions.begin(Key(bytes(32))))
    assert found is not None
    return found


def test_the_first_page_says_what_the_passphrase_is_for() -> None:
    page = set_up_page("code").decode()
    assert "nobody can bring it back" in page
    assert 'value="code"' in page
    assert page.count('autocomplete="new-password"') == 2
    assert "alert" not in page
    assert 'role="alert"' in set_up_page("", "No.").decode()


def test_signing_in_asks_for_one_thing() -> None:
    page = sign_in_page("No.").decode()
    assert page.count('type="password"') == 1
    assert "No." in page
    assert Visitor.__name__ not in page


def test_all_studies_are_listed_with_how_they_stand() -> None:
    page = home_page(session(), ISSUER, [("one", "A & B", "3 people; a draft")]).decode()
    assert '<a href="/studies/one">A &amp; B</a>' in page
    assert "3 people; a draft" in page
    assert page.count("<span>01234567</span><span>89abcdef</span>") == 4
    assert "There is no study yet." in home_page(session(), ISSUER, []).decode()


def test_what_was_typed_comes_back_with_the_problem() -> None:
    page = new_page(session(), {"title": "T", "people": "ann\nbob", "by": "codes"}, "Why.").decode()
    assert 'value="T"' in page
    assert "\nann\nbob</textarea>" in page
    assert '<option value="codes" selected="">' in page
    assert 'enctype="multipart/form-data"' in page


def test_the_newest_line_of_a_log_comes_first() -> None:
    lines = [{"number": n, "made": 60 * n, "what": f"did {n}", "head": f"{n}" * 64} for n in (1, 2)]
    page = log_page(session(), [("Here", lines), ("There", [])]).decode()
    assert page.index("did 2") < page.index("did 1")
    assert "<span>22222222</span>" in page
    assert "Nothing was done yet." in page

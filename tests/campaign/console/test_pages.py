"""The pages that are of no one study; what is printed, and who is away."""

from __future__ import annotations

import re

import pytest

from support.campaign_lab import FAR, new_lab
from support.console_visitor import Visitor
from visibility_aware_edge_ldp.campaign.console.choices import Choices
from visibility_aware_edge_ldp.campaign.console.letters import Invitation, page_fingerprint
from visibility_aware_edge_ldp.campaign.console.pages import (
    away_page,
    codes_page,
    flagged_page,
    home_page,
    letters_page,
    log_page,
    new_page,
    set_up_page,
    sign_in_page,
)
from visibility_aware_edge_ldp.campaign.console.people import CODES, Person, read_people
from visibility_aware_edge_ldp.campaign.console.sessions import Session, Sessions
from visibility_aware_edge_ldp.campaign.console.studies import Settings
from visibility_aware_edge_ldp.campaign.console.study_pages import Shown
from visibility_aware_edge_ldp.campaign.console.vault import Key

ISSUER = "0123456789abcdef" * 4
PEOPLE = read_people("name,code,contact\nann,R-1,Main Street 7\nbob,R-2,\n", CODES)
CHOICES = Choices("T", "E", address="https://s.org", meaning="Tick whom you <like>.", sender="Ask room 7.")


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


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    charter = new_lab(tmp_path_factory.mktemp("handouts") / "lab", 6, "triangles", [FAR, FAR + 9]).served.charter
    return Shown(session(), "one", charter, CHOICES, PEOPLE, Settings(), True)


def text(page: bytes) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.decode()).split())


def test_a_letter_says_all_that_a_person_needs(shown: Shown) -> None:
    letter = Invitation.of(
        shown.charter, "https://s.org", "https://s.org/take-part/", PEOPLE.listed[0], "R-1", "t" * 43
    )
    page = letters_page(shown, [letter], "Beware.")
    said = text(page)
    for part in (
        "ann Main Street 7",
        "you are called R-1",
        "Tick whom you &lt;like&gt;.",
        "Ask room 7.",
        "Come back with this letter",
        "Round 2 until",
        f"at most ε = {shown.charter.epsilon}",
        shown.charter.issuer[:8],
        page_fingerprint(shown.charter)[:8],
        "token=" + "t" * 43,
        "Beware.",
    ):
        assert part in said, part
    assert page.count(b"<article") == page.count(b"<svg") == 1


def test_somebody_who_is_called_by_name_is_told_no_code(shown: Shown) -> None:
    letter = Invitation.of(shown.charter, "https://s.org", "https://s.org/take-part/", Person("ann"), "ann", "t")
    assert "you are called" not in text(letters_page(shown, [letter]))


def test_codes_are_listed_by_name(shown: Shown) -> None:
    assert "ann R-1 bob R-2" in text(codes_page(shown))


def test_who_is_away_is_named_and_many_are_counted(shown: Shown) -> None:
    away = [(f"R-{at}", Person(f"p{at}")) for at in range(600)]
    said = text(away_page(shown, 2, away))
    assert "600 have not answered round 2" in said
    assert "R-499 (p499)" in said
    assert "And 100 more" in said
    assert "R-500 (" not in said
    assert "Reminders" not in text(away_page(shown, 2, []))


def test_flagged_reports_stand_in_a_table(shown: Shown) -> None:
    assert "ann 1 ones 9 2 5" in text(flagged_page(shown, [("ann", "1", "ones", "9", "2", "5")]))
    assert "None." in text(flagged_page(shown, []))

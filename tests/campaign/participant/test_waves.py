"""Twelve waves through the participant's program: the lifetime total is shown, charged once, and capped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from campaign.conftest import KEY, LATER, TOWN
from support.campaign_people import Ask, join, reply, who
from support.campaign_stub import Served, Stub
from visibility_aware_edge_ldp.campaign.participant import program
from visibility_aware_edge_ldp.campaign.participant.accounts import CONSENTS
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger
from visibility_aware_edge_ldp.campaign.participant.program import LEDGER
from visibility_aware_edge_ldp.campaign.participant.server_checks import status
from visibility_aware_edge_ldp.campaign.series import new_wave
from visibility_aware_edge_ldp.campaign.waves import LAYOUT
from visibility_aware_edge_ldp.campaign.wire_format import report_in
from visibility_aware_edge_ldp.errors import Refused
from visibility_aware_edge_ldp.public.visibility import Visibility

PRIVATE = Visibility.PRIVATE


class Waves:
    """A series that is served: wave after wave, of the town."""

    def __init__(self, stub: Stub, ask: Ask, folder: Path, epsilon: str = "1/2", changes: int = 1) -> None:
        self.stub, self.folder, self.rule = stub, folder, {"epsilon": epsilon, "changes": changes}
        self.served = [ask(epsilon="1/2")]
        self.last = folder / "campaign 0"

    def next(self) -> Served:
        number = len(self.served) + 1
        place = self.folder / f"wave {number}"
        rule = self.rule if number == 2 else {}
        new_wave(
            place,
            self.last,
            title=f"Wave {number}",
            closes=LATER,
            fewest=1,
            key=KEY,
            key_file=self.folder / "issuer.key",
            **rule,
        )  # type: ignore[arg-type]
        self.last = place
        self.served.append(self.stub.add(place))
        return self.served[-1]

    def fork(self, epsilon: str) -> Served:
        """One more second wave of the same first one, at any price."""
        place, key_file = self.folder / f"fork at {epsilon.replace('/', ' of ')}", self.folder / "issuer.key"
        rule = {"epsilon": epsilon, "changes": self.rule["changes"], "key": KEY, "key_file": key_file}
        new_wave(place, self.folder / "campaign 0", title="A fork", closes=LATER, fewest=1, **rule)  # type: ignore[arg-type]
        return self.stub.add(place)


def shown(served: Served, home: Path, friends: object = (), say: object = print) -> list[str]:
    lines = list[str]()
    reply(served, home, friends, consent=lambda said: not lines.extend(said), say=say)
    return lines


def test_twelve_waves_show_charge_and_cap_one_lifetime(stub: Stub, ask: Ask, tmp_path: Path) -> None:
    series, home = Waves(stub, ask, tmp_path), tmp_path / "home"
    name = join(series.served[0], home) and who(series.served[0])
    shown(series.served[0], home, TOWN[1:3])
    for number in range(2, 13):
        served = series.next()
        join(served, home, name)
        lines = shown(served, home, TOWN[1 : 1 + number % 5])
        before = "0.5" if number == 2 else "1"
        now = "0.5" if number == 2 else "0"
        (cost,) = [line for line in lines if line.startswith("Costs")]
        assert f"ε = {now} now" in cost
        assert f"in this epoch {before} so far, 1 after, 1 allowed" in cost
        (ever,) = [line for line in lines if line.startswith("Lifetime")]
        assert ever.endswith("loses at most ε = 1 for a PRIVATE edge")
        (told,) = [line for line in lines if line.startswith("Wave ")]
        assert told.startswith(
            f"Wave       {number} of a series that began with {series.served[0].campaign.charter.identity[:12]}"
        )
    assert {each.lost[PRIVATE] for each in status(home)} == {1}
    with Ledger(home / LEDGER).reading() as page:
        assert [int(each.key.split(" ")[1]) for each in page.entries("wave")] == list(range(2, 13))
        assert len(page.entries("charge")) == 1


def test_a_series_that_costs_too_much_is_declined_before_a_list_is_read(stub: Stub, ask: Ask, tmp_path: Path) -> None:
    series, home = Waves(stub, ask, tmp_path, epsilon="3/5"), tmp_path / "home"
    join(series.served[0], home)
    shown(series.served[0], home)
    served = series.next()
    join(served, home)
    with pytest.raises(Refused, match=r"ε = 1\.1 in this epoch, and you allowed 1\."):
        reply(served, home, lambda: 1 / 0)
    assert not served.heard
    join(served, home, lifetime_caps={PRIVATE: "1"}, caps={PRIVATE: "2"})
    with pytest.raises(Refused, match=r"ε = 1\.1 in all epochs together, and you allowed 1\..*--lifetime-cap"):
        reply(served, home, lambda: 1 / 0)
    join(served, home, lifetime_caps={PRIVATE: "2"})
    shown(served, home)
    assert len(served.heard) == 1


def test_without_the_first_wave_and_out_of_turn_nothing_is_answered(stub: Stub, ask: Ask, tmp_path: Path) -> None:
    series, home = Waves(stub, ask, tmp_path), tmp_path / "home"
    second, third = series.next(), series.next()
    join(second, home)
    with pytest.raises(Refused, match="which was not answered from here"):
        reply(second, home, lambda: 1 / 0)
    join(series.served[0], home)
    shown(series.served[0], home)
    join(third, home)
    shown(third, home)
    assert LAYOUT.decode(report_in(third.kept[1, 0])).since == 1
    with pytest.raises(Refused, match="wave 2 does not come after it"):
        reply(second, home, lambda: 1 / 0)
    assert not second.heard


def test_a_fork_of_a_wave_is_declined_and_one_at_another_price_is_charged_anew(
    stub: Stub, ask: Ask, tmp_path: Path
) -> None:
    series, home = Waves(stub, ask, tmp_path), tmp_path / "home"
    for served in (series.served[0], series.next()):
        join(served, home)
        shown(served, home, TOWN[1:3])
    same, cheaper = series.fork("1/2"), series.fork("1/4")
    join(same, home)
    with pytest.raises(Refused, match="wave 2 does not come after it"):
        reply(same, home, lambda: 1 / 0)
    join(cheaper, home)
    with pytest.raises(Refused, match=r"ε = 1\.25 in this epoch, and you allowed 1\."):
        reply(cheaper, home, lambda: 1 / 0)
    assert not same.heard
    assert not cheaper.heard
    join(cheaper, home, caps={PRIVATE: "2"})
    (cost,) = [line for line in shown(cheaper, home, TOWN[1:4]) if line.startswith("Costs")]
    assert "ε = 0.25 now" in cost
    assert "in this epoch 1 so far, 1.25 after" in cost
    assert LAYOUT.decode(report_in(cheaper.kept[1, 0])).since == 1, "what another series was told is not told here"


def test_no_wave_follows_where_both_ends_were_asked_for_consent(stub: Stub, ask: Ask, tmp_path: Path) -> None:
    series, home = Waves(stub, ask, tmp_path), tmp_path / "home"
    first = join(series.served[0], home)
    shown(series.served[0], home)
    with Ledger(home / LEDGER).writing() as page:
        page.append(Entry(CONSENTS, series.served[0].campaign.charter.epoch, first, content=b"a list that was shown"))
    served = series.next()
    join(served, home)
    with pytest.raises(Refused, match="asked only about two people who both consented"):
        reply(served, home, lambda: 1 / 0)
    assert not served.heard


def test_an_answer_that_was_given_is_sent_again_as_it_was(stub: Stub, ask: Ask, tmp_path: Path) -> None:
    series, home = Waves(stub, ask, tmp_path), tmp_path / "home"
    join(series.served[0], home)
    shown(series.served[0], home)
    served = series.next()
    join(served, home)
    shown(served, home, TOWN[1:4])
    outcome = reply(served, home, lambda: 1 / 0)
    assert isinstance(outcome, program.Outcome)
    assert outcome.again
    assert len({body for _, _, body in served.heard}) == 1


def test_its_owner_alone_hears_what_was_told(stub: Stub, ask: Ask, tmp_path: Path) -> None:
    series, home = Waves(stub, ask, tmp_path), tmp_path / "home"
    join(series.served[0], home)
    roster = [str(name) for name in series.served[0].campaign.documents.roster]
    shown(series.served[0], home, roster[1:3])
    heard = []
    for friends in (roster[1:2], roster[1:4], roster[1:2]):
        served, said = series.next(), list[str]()
        join(served, home)
        shown(served, home, friends, said.append)
        heard.append([re.sub(r" of yours.*since", " since", line) for line in said])
    # Somebody left, came back, another came and both went again: one change of each is told.
    assert heard[0] == ["1 tie changed since wave 1; told with noise."] or heard[0][0].startswith("1 tie since wave 1")
    assert heard[1][0].startswith("1 tie since wave 2")
    assert heard[1][1].startswith("1 tie changed once more than may be told")
    assert heard[2][0].startswith("0 ties since wave 3")
    assert heard[2][1].startswith("1 tie changed once more than may be told")

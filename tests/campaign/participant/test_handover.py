"""A ledger goes to another device: one of both answers, wherever either of them stops.  [LEDGER.5]"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from campaign.conftest import QUICK, TOWN, Ask
from support.campaign_stub import Served
from visibility_aware_edge_ldp.campaign.participant import handover, program
from visibility_aware_edge_ldp.campaign.participant import ledger as ledgers
from visibility_aware_edge_ldp.campaign.participant.enrolment import LEDGER
from visibility_aware_edge_ldp.campaign.participant.handover import KEY, hand_over, new_device, take_over
from visibility_aware_edge_ldp.campaign.participant.ledger import Ledger
from visibility_aware_edge_ldp.campaign.participant.server_checks import status
from visibility_aware_edge_ldp.errors import BadInput, Refused
from visibility_aware_edge_ldp.public.visibility import Visibility

NAME = TOWN[3]


class Killed(BaseException):
    """What stands for the end of the process."""


def enrol(served: Served, home: Path) -> None:
    program.enroll(served.url, NAME, served.tokens[NAME], served.issuer, home, surroundings=QUICK)


def answer(home: Path) -> program.Outcome:
    return program.answer([TOWN[1], TOWN[2]], home, lambda lines: True, say=lambda line: None, surroundings=QUICK)


def entries(home: Path) -> list[ledgers.Entry]:
    with Ledger(home / LEDGER).reading() as page:
        return page.entries()


@pytest.fixture
def homes(ask: Ask, tmp_path: Path) -> tuple[Path, Path, Served]:
    """An old device that has answered, a new one, and the campaign."""
    served = ask("position")
    old, new = tmp_path / "old", tmp_path / "new"
    enrol(served, old)
    answer(old)
    return old, new, served


def test_the_new_device_goes_on_and_the_old_one_does_not(homes: tuple[Path, Path, Served], tmp_path: Path) -> None:
    old, new, served = homes
    file = tmp_path / "sealed"
    sent, head = served.heard[-1], hand_over(old, new_device(new), file)
    before = entries(old)
    assert take_over(new, file) == head
    assert entries(new)[:-1] == before
    assert not (new / KEY).exists()
    enrol(served, new)
    assert answer(new).again, "the same answer again, from the ledger"
    assert served.heard[-1] == sent
    with pytest.raises(Refused, match="handed over"):
        answer(old)
    with pytest.raises(Refused, match="handed over"):
        enrol(served, old)
    assert len(status(old)) == 1, "its owner may still look at it"


def test_a_new_question_is_answered_by_the_new_device_alone(
    homes: tuple[Path, Path, Served], ask: Ask, tmp_path: Path
) -> None:
    """Both know the campaign, and both try."""
    old, new, _ = homes
    second = ask("position", title="Another survey")
    enrol(second, old)
    campaign = second.campaign.charter.identity
    hand_over(old, new_device(new), tmp_path / "sealed")
    with pytest.raises(Refused, match="handed over"):
        program.answer([], old, lambda lines: True, campaign, surroundings=QUICK)
    assert second.heard == []
    take_over(new, tmp_path / "sealed")
    enrol(second, new)
    assert answer(new).receipt is not None
    assert len(second.heard) == 1
    first_bits = {entry.content for entry in entries(old) if entry.kind == "level"}
    assert first_bits == {entry.content for entry in entries(new) if entry.kind == "level"}, "the memoised bits"


def test_the_file_is_read_by_one_device_only(homes: tuple[Path, Path, Served], tmp_path: Path) -> None:
    old, new, _ = homes
    other, file = tmp_path / "other", tmp_path / "sealed"
    hand_over(old, new_device(new), file)
    new_device(other)
    with pytest.raises(Refused, match="another device, or is damaged"):
        take_over(other, file)
    assert not (other / LEDGER).exists()
    octets = (old / LEDGER).read_bytes()
    assert octets[:16] not in file.read_bytes()
    assert file.stat().st_mode & 0o077 == 0
    with pytest.raises(Refused, match="handed over"):
        hand_over(old, new_device(other), tmp_path / "sealed again")
    assert not (tmp_path / "sealed again").exists()


@pytest.mark.parametrize("place", [0, 30, 60, -1])
def test_a_damaged_file_is_refused(homes: tuple[Path, Path, Served], tmp_path: Path, place: int) -> None:
    old, new, _ = homes
    file = tmp_path / "sealed"
    hand_over(old, new_device(new), file)
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises((Refused, BadInput)):
        take_over(new, file)
    assert not (new / LEDGER).exists()
    assert (new / KEY).exists()


def test_a_device_that_waits_begins_no_ledger(homes: tuple[Path, Path, Served]) -> None:
    _, new, served = homes
    code = new_device(new)
    with pytest.raises(Refused, match="waits for the ledger"):
        enrol(served, new)
    assert new_device(new) == code


def test_two_ledgers_do_not_become_one(homes: tuple[Path, Path, Served], ask: Ask, tmp_path: Path) -> None:
    old, new, served = homes
    with pytest.raises(BadInput, match="two ledgers"):
        new_device(old)
    hand_over(old, new_device(new), tmp_path / "sealed")
    key = (new / KEY).read_bytes()
    (new / KEY).unlink()
    enrol(served, new)
    (new / KEY).write_bytes(key)
    with pytest.raises(BadInput, match="two ledgers"):
        take_over(new, tmp_path / "sealed")


def test_a_ledger_is_not_retired_by_a_slip(homes: tuple[Path, Path, Served], tmp_path: Path) -> None:
    old, new, _ = homes
    code = new_device(new)
    one_digit_off = code[:5] + ("0" if code[5] != "0" else "1") + code[6:]
    nobody = bytes(32).hex() + hashlib.sha256(handover.FORMAT + bytes(32)).hexdigest()[:8]
    for wrong, why in (
        (one_digit_off, "copy it whole"),
        (code[:-1], "copy it whole"),
        ("ab", "copy it"),
        (nobody, "No device"),
    ):
        with pytest.raises(BadInput, match=why):
            hand_over(old, wrong, tmp_path / "sealed")
    with pytest.raises(BadInput, match="no folder"):
        hand_over(old, code, tmp_path / "here" / "sealed")
    assert answer(old).again


def test_a_file_is_never_written_over(homes: tuple[Path, Path, Served], tmp_path: Path) -> None:
    (tmp_path / "sealed").write_text("mine")
    with pytest.raises(BadInput, match="exists already"):
        hand_over(homes[0], new_device(homes[1]), tmp_path / "sealed")
    assert answer(homes[0]).again, "and the ledger is not retired"
    with pytest.raises(BadInput, match="No device waits"):
        take_over(homes[0], tmp_path / "sealed")


def killed_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, after: bool, work: Callable[[], object]) -> None:
    """The process ends before or after a call of this function, the first time."""
    honest = getattr(owner, name)

    def stops(*args: Any, **kwargs: Any) -> None:
        if after:
            honest(*args, **kwargs)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, stops)
        with pytest.raises(Killed):
            work()


OLD = [(ledgers.Page, "append"), (ledgers, "write_mark"), (handover, "_sealed"), (handover, "write_new")]
NEW = [
    (handover, "_opened"),
    (handover, "write_over"),
    (handover, "check_chain"),
    (ledgers.Page, "append"),
    (handover, "write_mark"),
    (handover.os, "link"),
    (handover, "sync"),
    (Path, "unlink"),
]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("owner", "name"), OLD)
def test_the_old_device_may_stop_anywhere(
    homes: tuple[Path, Path, Served],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    after: bool,
) -> None:
    old, new, _ = homes
    code, file = new_device(new), tmp_path / "sealed"
    killed_at(monkeypatch, owner, name, after, lambda: hand_over(old, code, file))
    file.unlink(missing_ok=True)
    head = hand_over(old, code, file)
    assert take_over(new, file) == head
    assert [entry.kind for entry in entries(new)].count("retired") == 1
    with pytest.raises(Refused, match="handed over"):
        answer(old)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("owner", "name"), NEW)
def test_the_new_device_may_stop_anywhere(
    homes: tuple[Path, Path, Served],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    after: bool,
) -> None:
    old, new, served = homes
    file = tmp_path / "sealed"
    head = hand_over(old, new_device(new), file)
    killed_at(monkeypatch, owner, name, after, lambda: take_over(new, file))
    if (new / KEY).exists():
        assert take_over(new, file) == head
    assert [entry.kind for entry in entries(new)][-2:] == ["retired", "taken"]
    enrol(served, new)
    assert answer(new).again


def test_a_twin_that_writes_the_file_first_answers_twice(
    homes: tuple[Path, Path, Served], ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the ledger sealed before it is retired, a stop between the two would leave two devices that answer."""
    old, new, _ = homes
    copied = tmp_path / "copied"
    shutil.copytree(old, copied)
    hand_over(copied, new_device(new), tmp_path / "sealed")
    take_over(new, tmp_path / "sealed")
    second = ask("degrees", title="Another survey", epoch="spring", epsilon="1/2")
    for home in (old, new):
        program.enroll(
            second.url, NAME, second.tokens[NAME], second.issuer, home, {Visibility.PRIVATE: 3}, surroundings=QUICK
        )
    context = second.campaign.charter.identity
    made = set()
    for home in (old, new):
        program.answer([], home, lambda lines: True, context, say=lambda line: None, surroundings=QUICK)
        made.add(second.heard[-1][2])
        second.kept.clear()
    assert len(made) == 2, "which is why the order is retired first"


def test_a_ledger_may_go_on_and_on(homes: tuple[Path, Path, Served], tmp_path: Path) -> None:
    first, second, _ = homes
    third = tmp_path / "third"
    hand_over(first, new_device(second), tmp_path / "one")
    take_over(second, tmp_path / "one")
    head = hand_over(second, new_device(third), tmp_path / "two")
    assert take_over(third, tmp_path / "two") == head
    with Ledger(third / LEDGER).reading() as page:
        assert (page.retired_for, len(page.heads("retired"))) == ("", 2)

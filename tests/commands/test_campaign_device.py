"""How a participant goes on from another device, as it is typed; test_campaign_operator has the whole way."""

from __future__ import annotations

from support.command import Run


def test_a_code_is_shown_again_and_says_what_to_do(campaign: Run) -> None:
    first = campaign("device-code", "--home", "new").out
    code = first.splitlines()[0]
    assert campaign("device-code", "--home", "new").out == first
    assert first.splitlines()[1] == f"On your old device: va-edge-ldp campaign hand-over FILE --to {code}"


def test_who_is_not_enrolled_has_nothing_to_hand_over(campaign: Run) -> None:
    said = campaign("hand-over", "sealed", "--to", "ab" * 36, "--home", "nowhere")
    assert (said.code, "not enrolled in anything" in said.err) == (2, True)
    assert "No device waits" in campaign("take-over", "sealed", "--home", "nowhere").err

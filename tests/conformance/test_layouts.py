"""Every protocol's reports: their bytes are read back exactly, have the declared size, and nothing else is read."""

from __future__ import annotations

from typing import Any

import pytest

from support.protocol_subjects import ENOUGH, SUBJECTS
from visibility_aware_edge_ldp.errors import ProtocolViolation
from visibility_aware_edge_ldp.mechanisms.randomness import keyed_random_bytes
from visibility_aware_edge_ldp.public.layout import Layout, Report
from visibility_aware_edge_ldp.public.protocol import PROTOCOLS

LAYOUTS = {layout.magic: layout for protocol in PROTOCOLS.values() for layout in protocol.layouts}


def sent(name: str) -> list[tuple[Layout[Any], Report]]:
    """A report of each round, with the layout that the protocol names for it."""
    subject, found = SUBJECTS[name], list[tuple[Layout[Any], Report]]()
    client = subject.client(name, ENOUGH)
    for place, number in enumerate(subject.asked):
        layouts = PROTOCOLS[name].layouts
        report = subject.ask(client, subject.survey, number, keyed_random_bytes(bytes(32)))
        found.append((layouts[min(place, len(layouts) - 1)], report))
    return found


@pytest.mark.parametrize("name", PROTOCOLS)
def test_reports_are_read_back(name: str) -> None:
    for layout, report in sent(name):
        data = layout.encode(report)
        assert type(report).layout is layout
        assert layout.decode(data) == report
        assert layout.encode(layout.decode(data)) == data
        assert layout.decode(data).digest == report.digest


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_size_follows_from_the_head(name: str) -> None:
    for layout, report in sent(name):
        data = layout.encode(report)
        head, _ = layout.read(data)
        assert layout.size(**{key: value for key, value in head.items() if isinstance(value, int)}) == len(data)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_report_names_its_survey(name: str) -> None:
    subject = SUBJECTS[name]
    known = {subject.survey.identity, getattr(getattr(subject.survey, "first", None), "identity", "")}
    for layout, report in sent(name):
        assert layout.read(layout.encode(report))[0]["survey"] in known


@pytest.mark.parametrize("name", PROTOCOLS)
def test_other_bytes_are_refused(name: str) -> None:
    for layout, report in sent(name):
        data = layout.encode(report)
        others = [data[:length] for length in range(len(data))] + [data + b"\0", data[:4] + b"\xff" + data[5:]]
        others += [magic + data[4:] for magic in LAYOUTS if magic != layout.magic]
        for other in others:
            with pytest.raises(ProtocolViolation):
                layout.decode(other)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_private_parts_are_not_printed(name: str) -> None:
    for _, report in sent(name):
        assert not {"answered", "ones", "totals"} & set(repr(report).replace("=", " ").replace("(", " ").split())


def test_every_kind_of_report_has_letters_of_its_own() -> None:
    kinds = {id(layout) for protocol in PROTOCOLS.values() for layout in protocol.layouts}
    assert len(kinds) == len(LAYOUTS)
    assert all(len(magic) == 4 for magic in LAYOUTS)

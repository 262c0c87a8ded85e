"""A series of waves: the directory of its next campaign, and what its published answers say together.  [WAVES.3]"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.aggregator.estimate import Estimate
from visibility_aware_edge_ldp.aggregator.nonresponse.waves import ENDED, FORMED, NET, Changed, between_waves, level
from visibility_aware_edge_ldp.campaign.charter import Charter, Round
from visibility_aware_edge_ldp.campaign.directory import charter_of, new_files, read_campaign, write
from visibility_aware_edge_ldp.campaign.signed_documents import fingerprint
from visibility_aware_edge_ldp.campaign.waves import STATISTICS, Wave
from visibility_aware_edge_ldp.errors import BadInput, ProtocolViolation
from visibility_aware_edge_ldp.privacy import Number, parse_epsilon


def new_wave(
    directory: Path | str,
    after: Path | str,
    *,
    title: str,
    closes: int,
    fewest: int,
    epsilon: Number | None = None,
    changes: int | None = None,
    retention: int | None = None,
    key: bytes,
    key_file: Path | None = None,
) -> Charter:
    """Write the directory of the campaign that asks what has changed since another one, of the same people.  [WAVES.1]

    Parameters
    ----------
    after
        The directory of the wave before: the first, which is any campaign of positions in one round, or a later one.
    epsilon, changes
        What the whole history of a PRIVATE edge loses by all waves after the first together, and how many changes of
        it are told. The second wave chooses them for the series, 1 change by default; later ones have the same.
    """
    before = read_campaign(after)
    was, documents = before.charter, before.documents
    if fingerprint(key) != was.issuer:
        raise BadInput("The waves of a series have one issuer; give the issuer.key of the wave before.")
    if was.question != "position" or len(was.rounds) != 1:
        raise BadInput("Waves follow a campaign that asked positions in one round; other questions are asked anew.")
    if was.consent:
        raise BadInput("Waves follow a campaign that asked about everybody; this one asked where both ends consented.")
    if was.wave is None:
        if epsilon is None:
            raise BadInput("The second wave says what all waves after the first may cost together: give an epsilon.")
        cost, wave = parse_epsilon(epsilon), Wave(was.identity, 2, 1 if changes is None else changes)
    else:
        if epsilon not in (None, was.epsilon) or changes not in (None, was.wave.changes):
            raise BadInput(
                "The second wave chose epsilon and the number of changes for the whole series; leave them out."
            )
        cost, wave = was.epsilon, replace(was.wave, number=was.wave.number + 1)
    if 0 < closes <= time.time():
        raise BadInput("A round cannot close in the past; participants would refuse it. Choose a later deadline.")
    kept, due = was.retention if retention is None else retention, (Round(closes, fewest),)
    charter = charter_of(documents, was.issuer, was.question, cost, STATISTICS, due, title, was.epoch, kept, wave=wave)
    write(Path(directory), new_files(charter, documents, key, key_file))
    return charter


@dataclass(frozen=True, eq=False)
class Series:
    """The published answers of a first wave and of those that follow it, without a gap.  [CHANGED.3]"""

    first: Estimate
    waves: Sequence[Mapping[str, Changed]]

    @classmethod
    def of(cls, answers: Sequence[Mapping[str, Any]]) -> "Series":
        """From the answers of each wave, in any order; refuses another series' and a missing one."""
        starts = [each for each in answers if "wave" not in each]
        waves = sorted((each for each in answers if "wave" in each), key=lambda each: int(each["wave"]["number"]))
        if len(starts) != 1 or not waves:
            raise BadInput("Give the answers of the first wave and of one or more that follow it.")
        for place, each in enumerate(waves, 2):
            if each["wave"]["first"] != starts[0].get("campaign"):
                raise BadInput("These are waves of another series: they follow another first campaign.")
            if each["wave"]["number"] != place:
                raise BadInput(f"The answers of wave {place} are missing, or stand here twice; all waves are needed.")
        try:
            edges = starts[0]["estimates"]["edges"]
            first = Estimate("edges", float(edges["value"]), float(edges["standard_error"]) ** 2)
            return cls(first, [_changed(each) for each in waves])
        except (LookupError, TypeError, ValueError) as error:
            raise ProtocolViolation("The answers of a wave lack the number of edges, or what changed.") from error

    @property
    def levels(self) -> list[Estimate]:
        """An estimate of the number of edges at each wave, the first one included."""
        nets = [each[NET] for each in self.waves]
        return [self.first, *(level(self.first, nets[: number + 1]) for number in range(len(nets)))]

    def between(self, start: int, end: int) -> dict[str, Estimate]:
        """What formed, what ended, and the net change, from one wave to a later one."""
        if not 1 <= start < end <= len(self.waves) + 1:
            raise BadInput(f"Changes are from one wave to a later one, of 1 to {len(self.waves) + 1}.")
        part = self.waves[start - 1 : end - 1]
        return {name: between_waves(name, [each[name] for each in part]) for name in (FORMED, ENDED, NET)}


def _changed(answers: Mapping[str, Any]) -> dict[str, Changed]:
    about, away = answers["wave"], answers["wave"]["counted"] < answers["rounds"][0]["asked"]
    found = {}
    for name in (FORMED, ENDED, NET):
        said = answers["estimates"][name]
        freedom = float(max(about["counted"] - 1, 1)) if away else float("inf")
        variance = float(said["standard_error"]) ** 2
        estimate = Estimate(name, float(said["value"]), variance, unbiased=not away, freedom=freedom)
        found[name] = Changed(estimate, float(about["noise"][name]))
    return found

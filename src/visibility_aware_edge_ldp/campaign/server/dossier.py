"""Everything that a server serves and never changes: the charter, the documents, and who may upload."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from visibility_aware_edge_ldp.campaign.charter import Charter
from visibility_aware_edge_ldp.campaign.new import Campaign, read_campaign
from visibility_aware_edge_ldp.campaign.questions import Questions
from visibility_aware_edge_ldp.campaign.server.credentials import Credentials
from visibility_aware_edge_ldp.public.view import PublicView


@dataclass(frozen=True, eq=False)
class Dossier:
    """A campaign's directory, read and checked once."""

    campaign: Campaign
    questions: Questions = field(repr=False)
    credentials: Credentials = field(repr=False)

    @classmethod
    def of(cls, campaign: Campaign) -> Dossier:
        view = campaign.documents.view
        view.class_bits  # noqa: B018 - needed for every upload, so it is made before the first
        questions = Questions(campaign.charter, view)
        questions.asked(1)
        return cls(campaign, questions, Credentials.of(campaign.operator, campaign.participants))

    @classmethod
    def read(cls, directory: Path | str) -> Dossier:
        return cls.of(read_campaign(directory))

    @property
    def charter(self) -> Charter:
        return self.campaign.charter

    @property
    def view(self) -> PublicView:
        return self.questions.view

    @cached_property
    def documents(self) -> dict[str, tuple[bytes, str]]:
        """The bytes that everybody may fetch, with their digests."""
        charter, documents = self.charter, self.campaign.documents
        return {
            "charter": (charter.data, charter.identity),
            "roster": (documents.roster_bytes, charter.roster),
            "policy": (documents.policy_bytes, charter.policy),
            "edges": (documents.edges_bytes, charter.edges),
        }

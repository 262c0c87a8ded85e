"""Studies in a console's folder: drafts, signed campaigns, what is sealed of them, and their servers.

What a campaign's server needs lies in the folder ``served``, and nothing else of a study does: no issuer's key, no
token, nobody's contact. Those are sealed beside it.
"""

import csv
import io
import json
import re
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from visibility_aware_edge_ldp.campaign import directory
from visibility_aware_edge_ldp.campaign.amendments import DEVICE, Amended, Person, SignedAmendment
from visibility_aware_edge_ldp.campaign.charter import DAY, Charter, Round
from visibility_aware_edge_ldp.campaign.console.choices import (
    Choices,
    Prepared,
    deadlines_of,
    groups_of,
    policy_of,
    public_pairs,
    whole_number,
)
from visibility_aware_edge_ldp.campaign.console.people import People
from visibility_aware_edge_ldp.campaign.console.vault import ISSUER, Key, Vault
from visibility_aware_edge_ldp.campaign.documents import drafted
from visibility_aware_edge_ldp.campaign.http_client import Operator, checked_url
from visibility_aware_edge_ldp.campaign.invitations import LETTERS, Invitations
from visibility_aware_edge_ldp.campaign.questions import question_named
from visibility_aware_edge_ldp.campaign.signed_documents import new_token, token_hash
from visibility_aware_edge_ldp.campaign.terms import Terms
from visibility_aware_edge_ldp.errors import BadInput

STUDIES, SERVED, SETTINGS = "studies", "served", "settings.json"
_STUDY, _OPERATOR, _TOKENS, _AMENDMENTS = "study.sealed", "operator.sealed", "tokens.sealed", "amendments"
_NAME = re.compile("[a-z0-9][a-z0-9-]{0,39}")
# What a server's folder holds before it is served.
_SERVED = frozenset({".json", ".sig", ".key", ".html", ".js", ".css"})
# Seconds that a look at a server may take, and what it is asked to do.
STATUS_SECONDS, LONGEST_SECONDS = 10.0, 3_600.0


@dataclass(frozen=True)
class Settings:
    """Where a study's server is: in this console's hands, at a port of this machine, or somewhere else."""

    here: bool = True
    running: bool = False
    port: int = 8000


@dataclass(frozen=True)
class Study:
    """One study; ``campaign`` is there once its charter is signed."""

    vault: Vault
    name: str

    @property
    def folder(self) -> Path:
        return self.vault.folder / STUDIES / self.name

    @property
    def served(self) -> Path:
        return self.folder / SERVED

    @property
    def is_signed(self) -> bool:
        return self.served.is_dir()

    @cached_property
    def campaign(self) -> directory.Campaign:
        return directory.read_campaign(self.served)

    @property
    def charter(self) -> Charter:
        return self.campaign.charter

    @property
    def settings(self) -> Settings:
        path = self.folder / SETTINGS
        return Settings(**json.loads(path.read_text("utf-8"))) if path.exists() else Settings()

    def set(self, **changed: Any) -> Settings:
        found = replace(self.settings, **changed)
        (self.folder / SETTINGS).write_text(json.dumps(vars(found)), "utf-8")
        return found

    # ── drafts ──

    def draft(self, key: Key) -> tuple[Choices, People]:
        """What was chosen, and who is asked; of a signed study too."""
        content = json.loads(key.read(self.folder / _STUDY, self._named(_STUDY)))
        return Choices.from_content(content["choices"]), People.from_content(content["people"])

    def keep_draft(self, key: Key, choices: Choices, people: People) -> None:
        content = {"choices": choices.content, "people": people.content}
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key.write(self.folder / _STUDY, self._named(_STUDY), json.dumps(content).encode())

    def prepared(self, key: Key) -> Prepared:
        """The charter as it would be signed."""
        return drafted_charter(*self.draft(key), self.vault.issuer)

    def sign(self, everyday: Key, signing: Key, port: int) -> Charter:
        """Make the campaign; its secrets are sealed before its directory is there."""
        found = self.prepared(everyday)

        def keep(place: Path, files: Mapping[str, bytes]) -> None:
            rows = list(csv.reader(io.StringIO(files[directory.TOKENS].decode())))[1:]
            tokens = json.dumps(dict(rows)).encode()
            signing.write(self.folder / _TOKENS, self._named(_TOKENS), tokens)
            everyday.write(self.folder / _OPERATOR, self._named(_OPERATOR), files[directory.OPERATOR])
            directory.write(
                place,
                {
                    name: data
                    for name, data in files.items()
                    if name not in (directory.KEY, directory.TOKENS, LETTERS, directory.OPERATOR)
                },
            )

        self.set(port=port)
        issuer = self.vault.issuer_key(signing)
        key_file = self.vault.folder / ISSUER
        return directory.new_campaign(self.served, **found.arguments, key=issuer, key_file=key_file, written=keep)

    def discard(self) -> None:
        """Remove a draft; a study that was signed stays."""
        if self.is_signed:
            raise BadInput("A study that was signed is not removed here.")
        shutil.rmtree(self.folder)

    # ── participants' tokens ──

    @property
    def has_tokens(self) -> bool:
        return (self.folder / _TOKENS).exists()

    def tokens(self, signing: Key) -> dict[str, str]:
        """Everybody's token as it is now, by what the roster calls them; refuses if they were deleted."""
        if not self.has_tokens:
            raise BadInput("The letters of this study were deleted. Replace a person's token to make one anew.")
        found: dict[str, str] = json.loads(signing.read(self.folder / _TOKENS, self._named(_TOKENS)))
        for path in sorted((self.folder / _AMENDMENTS).glob("*.token")):
            if path.with_suffix(".sealed").exists():
                found |= json.loads(signing.read(path, self._named(path.name)))
        return found

    def forget_tokens(self) -> None:
        """Delete all tokens: the server knows their hashes, and nobody can print letters any more."""
        for path in (self.folder / _TOKENS, *(self.folder / _AMENDMENTS).glob("*.token")):
            path.unlink(missing_ok=True)

    # ── amendments ──

    def amended(self, key: Key) -> Amended:
        """All that was amended here, handed in or not."""
        found = Amended(self.charter)
        for path in sorted((self.folder / _AMENDMENTS).glob("*.sealed")):
            found = found.after(SignedAmendment.from_bytes(key.read(path, self._named(path.name))))
        return found

    def amend(self, everyday: Key, signing: Key, kind: str, label: str = "", **says: Any) -> tuple[int, str]:
        """Sign an amendment: its number, and the new token where there is one."""
        before, token, person = self.amended(everyday), "", None
        if label:
            names = [str(each) for each in self.campaign.documents.roster]
            if label not in names:
                raise BadInput(f"{label!r} is not in the roster; write it as it stands there.")
            person = Person(names.index(label))
            says["person"] = person.hidden(self.charter.identity)
        if kind in ("token", DEVICE):
            token = new_token()
            says["token"] = token_hash(token)
        draft = before.next(kind, **says)
        signed = SignedAmendment.of(draft, self.vault.issuer_key(signing), person)
        before.after(signed)
        folder, stem = self.folder / _AMENDMENTS, f"{draft.number:04}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if token and self.has_tokens:  # first: an amendment without its token would shut somebody out
            name = f"{stem}.token"
            signing.write(folder / name, self._named(name), json.dumps({label: token}).encode())
        everyday.write(folder / f"{stem}.sealed", self._named(f"{stem}.sealed"), signed.data)
        return draft.number, token

    def hand_in(self, key: Key) -> int:
        """Hand the server all amendments that it does not have: how many these were."""
        operator, own = self.operator(key), self.amended(key)
        there = Amended.from_bytes(self.charter, operator.ask("GET", "/v1/amendments").body)
        if len(there.signed) > len(own.signed) or there.head not in self._heads(own):
            raise BadInput("The server has amendments that were not made here; go on where they were made.")
        for signed in own.signed[len(there.signed) :]:
            operator.ask("POST", "/v1/amendments", signed.data)
        return len(own.signed) - len(there.signed)

    @staticmethod
    def _heads(amended: Amended) -> list[str]:
        return [amended.charter.identity, *(each.digest for each in amended.amendments)]

    # ── the server ──

    def operator(self, key: Key, seconds: float = LONGEST_SECONDS) -> Operator:
        """The study's server, as its operator."""
        choices, _ = self.draft(key)
        address = f"http://127.0.0.1:{self.settings.port}" if self.settings.here else choices.address
        token = key.read(self.folder / _OPERATOR, self._named(_OPERATOR)).decode()
        checked_url(address)
        return Operator(address, token, seconds)

    def server_part(self) -> bytes:
        """The folder that a server elsewhere serves, as a zip."""
        found = io.BytesIO()
        with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(self.served.rglob("*")):
                if path.suffix in _SERVED:
                    archive.write(path, f"{self.name}/{path.relative_to(self.served)}")
        return found.getvalue()

    def _named(self, name: str) -> str:
        return f"{self.name}/{name}"


def drafted_charter(choices: Choices, people: People, issuer: str) -> Prepared:
    """The charter that would be signed; refuses what participants would refuse."""
    checked_url(choices.address), checked_url(choices.page)
    invitations = Invitations(choices.address, choices.page)
    question, deadlines = question_named(choices.question), deadlines_of(choices)
    fewest = whole_number(choices.fewest, "The least number of answers")
    if not 0 < fewest <= len(people.listed):
        raise BadInput(f"The least number of answers is from 1 to the {len(people.listed):,} who are asked.")
    statistics = [name.strip() for name in choices.statistics.split(",") if name.strip()]
    arguments: dict[str, Any] = {
        "names": people.roster,
        "policy": policy_of(choices, people),
        "edges": public_pairs(choices.edges, people),
        "question": choices.question,
        "epsilon": choices.epsilon,
        "statistics": statistics or list(question.default_statistics),
        "closes": deadlines,
        "fewest": fewest,
        "title": choices.title,
        "epoch": choices.epoch,
        "retention": whole_number(choices.retention, "How many days reports are kept") * DAY,
        "groups": groups_of(people) if question.by_groups else None,
        "invitations": invitations,
    }
    documents = drafted(
        people.roster, arguments["policy"], arguments["edges"], choices.epoch, None, arguments["groups"]
    )
    rounds = tuple(Round(closes, fewest) for closes in deadlines)
    split = (Fraction(1, len(rounds)),) * len(rounds) if question.splits else ()
    charter = directory.charter_of(
        documents, issuer, choices.question, choices.epsilon, arguments["statistics"], rounds, choices.title,
        choices.epoch, arguments["retention"], split, page=invitations.named,
    )  # fmt: skip
    found = Terms(charter, documents.view).losses
    return Prepared(arguments, charter, {each: loss for each, loss in found.items() if each in documents.view.present})


def studies_of(vault: Vault) -> list[Study]:
    """All studies, by their names."""
    found = (vault.folder / STUDIES).glob(f"*/{_STUDY}")
    return [Study(vault, path.parent.name) for path in sorted(found)]


def study_of(vault: Vault, name: str) -> Study | None:
    """The study of this name, if there is one."""
    study = Study(vault, name)
    return study if _NAME.fullmatch(name) and (study.folder / _STUDY).is_file() else None


def new_study(vault: Vault, title: str) -> Study:
    """A study whose name follows from its title, and is nobody else's."""
    words = re.sub("[^a-z0-9]+", "-", title.lower().encode("ascii", "ignore").decode()).strip("-")[:30].strip("-")
    stem, number = words or "study", 1
    while (vault.folder / STUDIES / (name := stem if number == 1 else f"{stem}-{number}")).exists():
        number += 1
    return Study(vault, name)


def free_port(vault: Vault, first: int) -> int:
    """The first port that no study of this console has."""
    taken = {study.settings.port for study in studies_of(vault) if study.is_signed}
    return next(port for port in range(first, 65_536) if port not in taken)

"""A campaign's directory: charter, documents, keys and tokens, written whole or not at all, and read for serving."""

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy.typing as npt

from visibility_aware_edge_ldp.campaign.charter import Charter, Round, SignedCharter
from visibility_aware_edge_ldp.campaign.charter_log import LOG, SERVER_KEY, CharterLog, continued, read_signing
from visibility_aware_edge_ldp.campaign.consents import Consents
from visibility_aware_edge_ldp.campaign.documents import Documents, drafted
from visibility_aware_edge_ldp.campaign.invitations import LETTERS, Invitations, NamedPage, refuse_formulas, token_table
from visibility_aware_edge_ldp.campaign.question import Question
from visibility_aware_edge_ldp.campaign.questions import TRIANGLES, question_named, question_of
from visibility_aware_edge_ldp.campaign.signed_documents import (
    Credentials,
    decode,
    digest,
    encode,
    fingerprint,
    is_fingerprint,
    new_key,
    new_token,
    sync,
    token_hash,
    write_new,
)
from visibility_aware_edge_ldp.campaign.terms import Terms, refuse_too_few, refuse_unfit
from visibility_aware_edge_ldp.campaign.waves import Wave
from visibility_aware_edge_ldp.errors import BadInput, BadStatistic, ProtocolViolation
from visibility_aware_edge_ldp.privacy import Number, parse_epsilon
from visibility_aware_edge_ldp.public.groups import Groups
from visibility_aware_edge_ldp.public.policy import VisibilityPolicy
from visibility_aware_edge_ldp.public.scope_words import ScopeWords
from visibility_aware_edge_ldp.public.statistic import check_statistics
from visibility_aware_edge_ldp.public.surveys.row_parts import PartRule, groups_for, part_survey
from visibility_aware_edge_ldp.public.view import PublicView

CHARTER, SIGNATURE, ROSTER, POLICY, EDGES = "charter.json", "charter.sig", "roster.json", "policy.json", "edges.json"
KEY, OPERATOR, TOKENS, HASHES, AMENDMENTS = "issuer.key", "operator.token", "tokens.csv", "hashes.json", "amendments"
PRIVATE = frozenset({KEY, OPERATOR, TOKENS, LETTERS, HASHES, SERVER_KEY})


@dataclass(frozen=True, eq=False)
class Campaign:
    """What a server needs: charter, documents, hashes of all tokens; the issuer's log and a key to sign, if any."""

    signed: SignedCharter
    charter: Charter
    documents: Documents
    operator: str = field(repr=False)
    participants: tuple[str, ...] = field(repr=False)
    log: CharterLog | None = None
    key: bytes = field(default=b"", repr=False)


def new_campaign(
    directory: Path | str,
    *,
    names: Iterable[Hashable],
    policy: VisibilityPolicy,
    edges: npt.ArrayLike = (),
    question: str,
    epsilon: Number,
    statistics: Sequence[str],
    closes: Sequence[int],
    fewest: int | Sequence[int],
    title: str,
    epoch: str,
    retention: int = 0,
    split: Sequence[Fraction] = (),
    key: bytes | None = None,
    scope: ScopeWords | None = None,
    groups: Groups | None = None,
    key_file: Path | None = None,
    consent: int = 0,
    invitations: Invitations | None = None,
    written: Callable[[Path, Mapping[str, bytes]], None] | None = None,
    share: Number = 1,
    download: str | None = None,
) -> Charter:
    """Write the directory of a new campaign; refuses one that exists, and leaves nothing behind when it fails.

    Parameters
    ----------
    names, edges
        Everybody who is asked; and the public edges, as pairs of places in ``names``.
    closes
        When each round closes, in seconds of Unix time: one or two.
    fewest
        Below how many responders nothing is estimated, for all rounds or for each.
    epoch
        The name of the data that is asked about. What people answer about one epoch adds up, whatever the campaign.
    split
        The rounds' shares of epsilon, for two rounds of the question "position"; half each by default.
    key
        The issuer's private key; a new one by default.
    scope
        Where positions are asked about; everywhere by default.
    groups
        Everybody's public group, in the order of ``names``, for the question "groups".
    key_file
        Where the issuer keeps ``key``; the log of its charters beside it is continued.  [WITNESS.4]
    consent
        Until when people may consent, where only positions are asked whose both ends did.  [CONSENT.1]
    invitations
        Where people take part with a browser: the charter then names the page, which is copied into the directory,
        and there is a table of everybody's letters.  [CHARTER.10]
    written
        Writes the files, by their names, in place of :func:`write`: a console keeps secrets under a passphrase.
    share, download
        Of triangles: the share of the first answers that everybody downloads, or about how much everybody downloads,
        such as "10MB"; a coin that is thrown now chooses which.  [PARTS.0]
    """
    place, names = Path(directory), list(names)
    _refuse_existing(place)
    refuse_formulas(names)
    documents, secret = drafted(names, policy, edges, epoch, scope, groups), new_key() if key is None else key
    least = [fewest] * len(closes) if isinstance(fewest, int) else list(fewest)
    if len(least) != len(closes):
        raise BadInput(f"{len(closes)} rounds need as many least numbers of responders; got {len(least)}.")
    if any(0 < each <= time.time() for each in (consent, *closes)):
        raise BadInput("A round cannot close in the past; participants would refuse it. Choose later deadlines.")
    rounds = tuple(map(Round, closes, least))
    chosen = _checked_split(question, split, len(rounds))
    charter = charter_of(
        documents,
        fingerprint(secret),
        question,
        epsilon,
        statistics,
        rounds,
        title,
        epoch,
        retention,
        chosen,
        consent,
        invitations.named if invitations else None,
        parts=new_parts(question, documents.view, epsilon, share, download),
    )
    (written or write)(place, new_files(charter, documents, secret, key_file, invitations))
    return charter


def charter_of(
    documents: Documents,
    issuer: str,
    question: str,
    epsilon: Number,
    statistics: Sequence[str],
    rounds: tuple[Round, ...],
    title: str,
    epoch: str,
    retention: int = 0,
    split: tuple[Fraction, ...] = (),
    consent: int = 0,
    page: NamedPage | None = None,
    wave: Wave | None = None,
    parts: PartRule | None = None,
) -> Charter:
    """The charter of these documents, with the integers that its question has; bad input is the caller's fault."""
    kind, exact = question_of(question_named(question).name, wave, parts), parse_epsilon(epsilon)
    asked = _checked_statistics(kind, statistics, len(documents.roster))
    try:
        refuse_unfit(kind, documents.view)
        survey = kind.survey(documents.view, exact, asked, split)
        charter = Charter(
            title=title,
            issuer=issuer,
            epoch=epoch,
            nodes=len(documents.roster),
            **{name: digest(data) for name, data in documents.data.items()},
            question=question,
            statistics=asked,
            epsilon=exact,
            shares=kind.shares(survey),
            mechanisms=kind.stated(survey),
            survey=survey.identity,
            rounds=rounds,
            retention=retention,
            consent=consent,
            page=page,
            wave=wave,
            parts=parts,
        )
        refuse_too_few(Terms(charter, Documents.from_bytes(charter, **documents.data).view))
    except ProtocolViolation as error:
        raise BadInput(f"Participants would refuse this campaign: {error}") from error
    return charter


def new_parts(question: str, view: PublicView, epsilon: Number, share: Number, download: str | None) -> PartRule | None:
    """How first answers are cut, by a new coin; None where everybody downloads all of them."""
    if share in (1, "1") and download is None:
        return None
    if question != TRIANGLES.name:
        raise BadInput(f"Only the question {TRIANGLES.name!r} has first answers to download; leave the share out.")
    if share not in (1, "1") and download is not None:
        raise BadInput("Say once how much everybody downloads: as a share or as a size.")
    groups = groups_for(view, epsilon, share, download)
    if groups is None:
        return None
    part_survey(view, epsilon, groups)  # refuses, with the largest share, what is too much for this epsilon
    try:
        return PartRule(groups, secrets.token_hex(32))
    except ProtocolViolation as error:
        raise BadInput(f"{error} With this share or size there would be {groups:,}.") from error


def write(place: Path, files: Mapping[str, bytes]) -> None:
    """Write a directory as a whole: under another name first, renamed when everything is on the disk."""
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        for name, data in files.items():
            (draft / name).parent.mkdir(exist_ok=True)
            write_new(draft / name, data, 0o600 if name in PRIVATE else 0o644)
        for folder in {(draft / name).parent for name in files}:
            sync(folder)
        _refuse_existing(place)
        draft.rename(place)
        sync(place.parent)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def read_campaign(directory: Path | str) -> Campaign:
    """What a server needs of a campaign's directory; refuses documents that the charter does not pin."""
    place = Path(directory)
    try:
        texts = {name: (place / name).read_bytes() for name in (CHARTER, SIGNATURE, ROSTER, POLICY, EDGES, HASHES)}
    except OSError as error:
        raise BadInput(f"{place} is not the directory of a campaign: {error.strerror} for {error.filename}.") from error
    signed = SignedCharter.from_hex(texts[CHARTER], texts[SIGNATURE].decode(errors="replace").strip())
    charter = signed.opened(Charter.from_bytes(texts[CHARTER]).issuer)
    documents = Documents.from_bytes(charter, texts[ROSTER], texts[POLICY], texts[EDGES])
    hashes = _read_hashes(texts[HASHES], charter.nodes)
    return Campaign(signed, charter, documents, *hashes, *read_signing(place, charter))


def _checked_statistics(kind: Question, statistics: Sequence[str], nodes: int) -> tuple[str, ...]:
    asked = check_statistics(statistics, nodes)
    other = [name for name in asked if not kind.answers(name)]
    if other or (len(asked) > 1 and not kind.several):
        words, own = other[0] if other else "more than one statistic", ", ".join(kind.answered)
        raise BadStatistic(f"The question {kind.name!r} does not answer {words}; it answers {own}.")
    return asked


def _checked_split(question: str, split: Sequence[Fraction], rounds: int) -> tuple[Fraction, ...]:
    """The shares of the rounds where they can be chosen."""
    kind = question_named(question)
    if rounds not in kind.rounds:
        allowed = " or ".join(map(str, kind.rounds))
        raise BadInput(f"The question {question!r} is asked in {allowed} rounds; {rounds} deadlines were given.")
    if kind.splits:
        return tuple(split) or (Fraction(1, rounds),) * rounds
    if split:
        raise BadInput(f"The question {question!r} splits epsilon by itself; leave the shares out.")
    return ()


def new_files(
    charter: Charter, documents: Documents, key: bytes, key_file: Path | None, invitations: Invitations | None = None
) -> dict[str, bytes]:
    """All that stands in a new campaign's directory: new tokens, and the issuer's log continued."""
    return {**_files(charter, documents, key, invitations), **_signing(charter, key, key_file)}


def _files(charter: Charter, documents: Documents, key: bytes, invitations: Invitations | None) -> dict[str, bytes]:
    operator, tokens = new_token(), [new_token() for _ in documents.roster]
    people = list(zip(documents.roster, tokens, strict=True))
    return {
        CHARTER: charter.data,
        SIGNATURE: SignedCharter.of(charter, key).signature.hex().encode(),
        **{f"{name}.json": data for name, data in documents.data.items()},
        KEY: key.hex().encode(),
        OPERATOR: operator.encode(),
        TOKENS: token_table(people),
        HASHES: encode({"operator": token_hash(operator), "participants": [token_hash(token) for token in tokens]}),
        **(invitations.files(people, charter) if invitations else {}),
    }


def _signing(charter: Charter, issuer_key: bytes, key_file: Path | None) -> dict[str, bytes]:
    server = new_key()
    log = continued(key_file, charter, fingerprint(server), issuer_key)
    return {LOG: log.data, SERVER_KEY: server.hex().encode()}


def _read_hashes(data: bytes, nodes: int) -> tuple[str, tuple[str, ...]]:
    content = decode(data)
    if not isinstance(content, dict) or content.keys() != {"operator", "participants"}:
        raise BadInput(f"{HASHES} holds the hashes of the operator's and the participants' tokens.")
    operator, listed = content["operator"], content["participants"]
    hashes = tuple(listed) if isinstance(listed, list) else ()
    if len(hashes) != nodes or not all(is_fingerprint(each) for each in (operator, *hashes)):
        raise BadInput(f"{HASHES} must hold one hash for each of the {nodes:,} participants.")
    return str(operator), tuple(str(each) for each in hashes)


def _refuse_existing(place: Path) -> None:
    if place.exists() or place.is_symlink():
        raise BadInput(f"{place} exists already; a campaign is never overwritten. Choose another directory.")


@dataclass(frozen=True, eq=False)
class ServedCampaign:
    """A campaign's directory, read and checked once."""

    campaign: Campaign
    terms: Terms = field(repr=False)
    credentials: Credentials = field(repr=False)
    consents: Consents | None = field(default=None, repr=False)

    def among(self, consents: Consents) -> "ServedCampaign":
        """The same, once it is known who consented."""
        return replace(self, terms=self.terms.among(consents).prepared(), consents=consents)

    @classmethod
    def of(cls, campaign: Campaign) -> "ServedCampaign":
        # What every upload is checked with is made before the first one.
        terms = Terms(campaign.charter, campaign.documents.view).prepared()
        return cls(campaign, terms, Credentials.of(campaign.operator, campaign.participants))

    @classmethod
    def read(cls, directory: Path | str) -> "ServedCampaign":
        return cls.of(read_campaign(directory))

    @property
    def charter(self) -> Charter:
        return self.campaign.charter

    @property
    def view(self) -> PublicView:
        return self.terms.view

    @cached_property
    def documents(self) -> dict[str, tuple[bytes, str]]:
        """The bytes that everybody may fetch, with their digests."""
        pinned = self.campaign.documents.data.items()
        documents = {name: (data, getattr(self.charter, name)) for name, data in pinned}
        return {"charter": (self.charter.data, self.charter.identity), **documents}

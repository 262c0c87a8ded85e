"""What a console keeps under the operator's passphrase: two keys, and the files that are sealed with them.

The passphrase is stored nowhere. scrypt makes a key of it, and AES-256-GCM keeps two random keys under that one:
EVERYDAY, which a session holds in memory (the operator's tokens, and who is who), and SIGNING, which is opened for the
moment in which something is signed or letters are shown (the issuer's key, participants' tokens).
"""

import json
import os
import threading
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from visibility_aware_edge_ldp.campaign.signed_documents import fingerprint, new_key, sync, write_new, write_over
from visibility_aware_edge_ldp.errors import BadInput

VAULT, ISSUER = "vault.json", "issuer.sealed"
EVERYDAY, SIGNING = "everyday", "signing"
FORMAT = "va-edge-ldp console 1"
SHORTEST = 12
_NONCE, _KEY = 12, 32
# scrypt with these takes 64 MiB and a third of a second; what a vault was made with stands in it.
SCRYPT_COST = 1 << 16
_BLOCK = 8
_ONE_AT_A_TIME = threading.Lock()


class WrongPassphrase(BadInput):
    """The passphrase does not open the vault."""


@dataclass(frozen=True)
class Key:
    """A key that seals files, each for its own name: one cannot be put in another's place."""

    octets: bytes = field(repr=False)

    def seal(self, name: str, data: bytes) -> bytes:
        """The data, readable only with this key and under this name."""
        nonce = os.urandom(_NONCE)
        return nonce + AESGCM(self.octets).encrypt(nonce, data, name.encode())

    def open(self, name: str, sealed: bytes) -> bytes:
        """What was sealed under this name; refuses anything else."""
        try:
            return AESGCM(self.octets).decrypt(sealed[:_NONCE], sealed[_NONCE:], name.encode())
        except (InvalidTag, ValueError) as error:
            raise BadInput(f"{name} was changed, or is not of this console; bring back a copy of it.") from error

    def write(self, path: Path, name: str, data: bytes) -> None:
        """Seal the data into a file, over what was there."""
        write_over(path, self.seal(name, data))

    def read(self, path: Path, name: str) -> bytes:
        """What a sealed file holds."""
        return self.open(name, path.read_bytes())


@dataclass(frozen=True)
class Vault:
    """A console's folder, with the passphrase's salt and the two sealed keys."""

    folder: Path
    issuer: str
    work: int
    salt: bytes = field(repr=False)
    sealed: dict[str, bytes] = field(repr=False)

    @classmethod
    def new(cls, folder: Path, passphrase: str, work: int = SCRYPT_COST) -> "Vault":
        """Make the vault and the issuer's key; refuses a short passphrase and a folder that has a vault."""
        refuse_short(passphrase)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (folder / VAULT).exists():
            raise BadInput("This console is set up already; sign in.")
        salt, issuer = os.urandom(16), new_key()
        keys = {name: Key(os.urandom(_KEY)) for name in (EVERYDAY, SIGNING)}
        outer = _stretched(passphrase, salt, work)
        vault = cls(folder, fingerprint(issuer), work, salt, {n: outer.seal(n, key.octets) for n, key in keys.items()})
        (folder / ISSUER).unlink(missing_ok=True)  # of a setup that ended half-way: nothing was signed with it
        write_new(folder / ISSUER, keys[SIGNING].seal(ISSUER, issuer), 0o600)
        write_over(folder / VAULT, vault.data)
        sync(folder)
        return vault

    @classmethod
    def read(cls, folder: Path) -> "Vault | None":
        """The vault of a folder; none where the console is not set up yet."""
        try:
            said = json.loads((folder / VAULT).read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise BadInput(f"{folder / VAULT} cannot be read: {error}. Bring back a copy of the folder.") from error
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            raise BadInput(f"{folder / VAULT} is not a console's of this version.")
        sealed = {name: bytes.fromhex(said[name]) for name in (EVERYDAY, SIGNING)}
        return cls(folder, said["issuer"], int(said["work"]), bytes.fromhex(said["salt"]), sealed)

    @property
    def data(self) -> bytes:
        """The vault's file: nothing in it opens anything without the passphrase."""
        sealed = {name: each.hex() for name, each in self.sealed.items()}
        said = {"format": FORMAT, "issuer": self.issuer, "work": self.work, "salt": self.salt.hex(), **sealed}
        return (json.dumps(said, indent=1) + "\n").encode()

    def unlock(self, passphrase: str, name: str) -> Key:
        """One of the two keys; refuses another passphrase."""
        try:
            return Key(_stretched(passphrase, self.salt, self.work).open(name, self.sealed[name]))
        except BadInput as error:
            raise WrongPassphrase("This is not the passphrase.") from error

    def issuer_key(self, signing: Key) -> bytes:
        """The issuer's private key, which signs charters and amendments."""
        return signing.read(self.folder / ISSUER, ISSUER)


def refuse_short(passphrase: str) -> None:
    """A passphrase guards the issuer's key against whoever has a copy of the folder."""
    if len(passphrase) < SHORTEST or len(set(passphrase)) < 5:
        raise BadInput(f"A passphrase has at least {SHORTEST} characters, some of them different: four words, say.")


def _stretched(passphrase: str, salt: bytes, work: int) -> Key:
    """scrypt of the passphrase; one at a time, as each takes its memory."""
    text = unicodedata.normalize("NFKC", passphrase).encode(errors="surrogatepass")
    with _ONE_AT_A_TIME:
        return Key(Scrypt(salt, _KEY, work, _BLOCK, 1).derive(text))

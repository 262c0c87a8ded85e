"""A ledger goes to another device: retired on the old one, sealed for the new one, taken over there.  [LEDGER.5]

The new device makes a key, and shows its public half, the *code*. The old device retires its ledger for that code, and
only then writes it into a file that nobody but the holder of the key can read. The file holds a friend list: it is
sealed so that whoever carries it, or finds it, has nothing of it, and so that one device alone can go on with it.
"""

import os
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from visibility_aware_edge_ldp.campaign.participant.enrolment import LEDGER
from visibility_aware_edge_ldp.campaign.participant.ledger import Entry, Ledger, Page, check_chain, connect, write_mark
from visibility_aware_edge_ldp.campaign.signed_documents import is_fingerprint, sync, write_new, write_over
from visibility_aware_edge_ldp.errors import BadInput, Refused

KEY = "device.key"
FORMAT = b"va-edge-ldp handover 1\n"
_KEY_OCTETS = 32
# One message is sealed with each key, so that its counter may begin at 0.
_NONCE = bytes(12)


def new_device(home: Path) -> str:
    """The code of a device that waits for a ledger; asked again, the same."""
    if (home / LEDGER).exists():
        raise BadInput(f"There is a ledger at {home} already; two ledgers do not become one. Name another --home.")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (home / KEY).exists():
        write_over(home / KEY, X25519PrivateKey.generate().private_bytes_raw().hex().encode())
    return _code(_key(home))


def hand_over(home: Path, code: str, target: Path) -> str:
    """Retire the ledger of this device for the one with this code, and write it to a file; its last hash.

    Whoever is stopped on the way asks again, for the same code: the ledger stays retired, the file is written anew.
    """
    _sealed(b"", code)  # a ledger is never retired for a device that cannot be
    if target.exists():
        raise BadInput(f"{target} exists already; name a new file.")
    if not target.parent.is_dir():
        raise BadInput(f"There is no folder {target.parent} for the file.")
    octets, head = Ledger(home / LEDGER).retire(code)
    try:
        write_new(target, _sealed(octets, code), 0o600)
    except OSError as error:
        raise BadInput(
            f"The ledger is retired, and {target} cannot be written ({error.strerror}). Say the same again with "
            "another file."
        ) from error
    return head


def take_over(home: Path, source: Path) -> str:
    """Go on with the ledger in a file that was handed over to this device; its last hash before that.

    Whoever is stopped on the way asks again; the key that opens the file goes last.
    """
    path, key = home / LEDGER, _key(home)
    code = _code(key)
    if not path.exists():
        try:
            octets = _opened(source.read_bytes(), key, code)
        except OSError as error:
            raise BadInput(f"{source} cannot be read: {error.strerror}.") from error
        _adopt(path, octets, code)
    with Ledger(path).reading() as page:
        if not page.entries("taken", key=code):
            raise BadInput(f"There is another ledger at {home} already; two ledgers do not become one.")
        head = page.heads("retired")[-1]
    (home / KEY).unlink()
    return head


def refuse_waiting(home: Path) -> None:
    """A device that waits for a ledger begins none of its own."""
    if (home / KEY).exists():
        raise Refused(
            "This device waits for the ledger of another one. Take it with `va-edge-ldp campaign take-over FILE`, or "
            f"remove {home / KEY} if there is none to come."
        )


def _adopt(path: Path, octets: bytes, code: str) -> None:
    """The ledger under its name, with one more entry: that this device goes on with it."""
    draft = path.with_name(f"{path.name}.taking")
    write_over(draft, octets)
    try:
        with closing(connect(draft)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            page = Page(connection)
            check_chain(page)
            if page.retired_for != code:
                raise Refused("The file's ledger was not handed over to this device.")
            page.append(Entry("taken", key=code))
            last = page.last
            connection.execute("COMMIT")
        # The mark first: a mark without its ledger begins nothing, and is written again by whoever asks again.
        write_mark(path.with_suffix(".mark"), *last)
        with suppress(FileExistsError):  # another process was quicker; whose ledger it is is looked at next
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    sync(path.parent)


def _key(home: Path) -> X25519PrivateKey:
    try:
        return X25519PrivateKey.from_private_bytes(bytes.fromhex((home / KEY).read_text("ascii")))
    except FileNotFoundError as error:
        raise BadInput(
            f"No device waits for a ledger at {home}; begin with `va-edge-ldp campaign device-code`."
        ) from error
    except (OSError, ValueError) as error:
        raise BadInput(f"{home / KEY} cannot be read; remove it, and begin anew with a new code.") from error


def _code(key: X25519PrivateKey) -> str:
    public = key.public_key().public_bytes_raw()
    return public.hex() + _check_digits(public)


def _check_digits(public: bytes) -> str:
    """What shows that a code was copied right: whoever retired a ledger for a wrong one would have lost it."""
    return sha256(FORMAT + public).hexdigest()[:8]


def _public(code: str) -> bytes:
    """The public key in a code."""
    if not is_fingerprint(code[:64]) or code[64:] != _check_digits(bytes.fromhex(code[:64])):
        raise BadInput("A device's code is 72 digits and letters as the new device shows it; copy it whole.")
    return bytes.fromhex(code[:64])


def _cipher(shared: bytes, bound: bytes) -> ChaCha20Poly1305:
    """A cipher whose key follows from the shared secret, the file's opening and the recipient."""
    return ChaCha20Poly1305(HKDF(SHA256(), 32, salt=None, info=bound).derive(shared))


def _sealed(octets: bytes, code: str) -> bytes:
    """Format, a public key that is used once, and the octets, which only the code's private key opens."""
    once, recipient = X25519PrivateKey.generate(), _public(code)
    opening = FORMAT + once.public_key().public_bytes_raw()
    try:
        shared = once.exchange(X25519PublicKey.from_public_bytes(recipient))
    except ValueError as error:
        raise BadInput("No device has this code; copy it whole from the new device.") from error
    return opening + _cipher(shared, opening + recipient).encrypt(_NONCE, octets, opening + recipient)


def _opened(data: bytes, key: X25519PrivateKey, code: str) -> bytes:
    end = len(FORMAT) + _KEY_OCTETS
    opening, sealed = data[:end], data[end:]
    if not opening.startswith(FORMAT) or len(opening) < end:
        raise BadInput("This is not a file that a ledger was handed over in.")
    try:
        shared = key.exchange(X25519PublicKey.from_public_bytes(opening[len(FORMAT) :]))
        bound = opening + _public(code)
        return _cipher(shared, bound).decrypt(_NONCE, sealed, bound)
    except (InvalidTag, ValueError) as error:
        raise Refused("The file was handed over to another device, or is damaged; nothing was taken.") from error

"""Random bytes.

Randomness is an argument of the humblest type: a function from a number of bytes to that many
bytes. Where real people's bits are answered it is AES-256 in counter mode under a fresh key from
the operating system; in a simulation the key comes from a seed; in the exact audit it is an
enumerator. The mechanisms cannot tell which.
"""

import hashlib
import os
from collections.abc import Callable

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from visibility_aware_edge_ldp.errors import ProtocolViolation

RandomBytes = Callable[[int], bytes]
"""From a number of bytes to that many bytes, each drawn anew."""
# What is encrypted; kept, because fresh zeros from the operating system cost more than the encryption.
_ZEROS = memoryview(bytes(1 << 20))


def all_random_bytes(random_bytes: RandomBytes, count: int) -> bytes:
    """So many random bytes and no fewer: where some are missing, a bit would be sent as it is, or with less noise."""
    found = random_bytes(count)
    if len(found) != count:
        raise ProtocolViolation(f"{count} bytes of coins were asked for and {len(found)} came; nothing was drawn.")
    return found


def keyed_random_bytes(key: bytes) -> RandomBytes:
    """The AES-256-CTR keystream of a 32-byte key: the same key gives the same bytes."""
    stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    def draw(count: int) -> bytes:
        if count <= len(_ZEROS):
            return stream.update(_ZEROS[:count])
        return b"".join(stream.update(_ZEROS[: count - start]) for start in range(0, count, len(_ZEROS)))

    return draw


def secure_random_bytes() -> RandomBytes:
    """Random bytes that nobody can repeat: a fresh key from the operating system, and a new one after a fork.

    A forked child inherits its parent's keystream; two processes answering with the same bytes
    would undo each other's noise, so the key belongs to one process identity.
    """
    owner, stream = os.getpid(), keyed_random_bytes(os.urandom(32))

    def draw(count: int) -> bytes:
        nonlocal owner, stream
        if os.getpid() != owner:
            owner, stream = os.getpid(), keyed_random_bytes(os.urandom(32))
        return stream(count)

    return draw


def seeded_key(seed: int | str, *labels: int | str) -> bytes:
    """A key for a simulation, one per (seed, labels): experiments repeat, streams never overlap."""
    text = "\x1f".join(["va-edge-ldp simulation", str(seed), *map(str, labels)])
    return hashlib.sha256(text.encode()).digest()


Coins = RandomBytes
keyed_coins, secure_coins = keyed_random_bytes, secure_random_bytes

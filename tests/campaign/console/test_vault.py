"""What is kept under a passphrase is opened by it alone, and each file only under its own name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.console_visitor import PASSPHRASE, SCRYPT_COST
from visibility_aware_edge_ldp.campaign.console.vault import (
    EVERYDAY,
    ISSUER,
    SIGNING,
    VAULT,
    Key,
    Vault,
    WrongPassphrase,
    refuse_short,
)
from visibility_aware_edge_ldp.campaign.signed_documents import fingerprint
from visibility_aware_edge_ldp.errors import BadInput


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault.new(tmp_path / "console", PASSPHRASE, SCRYPT_COST)


def test_the_issuers_key_is_sealed_and_comes_back_with_the_passphrase(vault: Vault) -> None:
    read = Vault.read(vault.folder)
    assert read == vault
    key = read.issuer_key(read.unlock(PASSPHRASE, SIGNING))
    assert fingerprint(key) == vault.issuer
    for path in vault.folder.iterdir():
        assert key not in path.read_bytes()
        assert key.hex().encode() not in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0
    assert vault.folder.stat().st_mode & 0o077 == 0


def test_the_everyday_key_does_not_open_what_signs(vault: Vault) -> None:
    everyday = vault.unlock(PASSPHRASE, EVERYDAY)
    with pytest.raises(BadInput, match=r"issuer.sealed was changed"):
        vault.issuer_key(everyday)
    assert everyday != vault.unlock(PASSPHRASE, SIGNING)
    assert everyday.octets.hex() not in repr(everyday)


@pytest.mark.parametrize("wrong", ["", PASSPHRASE[:-1], PASSPHRASE.upper(), PASSPHRASE + " "])
def test_another_passphrase_opens_nothing(vault: Vault, wrong: str) -> None:
    with pytest.raises(WrongPassphrase):
        vault.unlock(wrong, EVERYDAY)


def test_letters_may_be_composed_or_not(tmp_path: Path) -> None:
    vault = Vault.new(tmp_path, "café au lait, deux", SCRYPT_COST)
    assert vault.unlock("cafe\u0301 au lait, deux", EVERYDAY)


def test_a_sealed_file_cannot_stand_in_anothers_place() -> None:
    key = Key(bytes(range(32)))
    sealed = key.seal("one", b"secret")
    assert key.open("one", sealed) == b"secret"
    assert sealed != key.seal("one", b"secret")
    for name, data in (("two", sealed), ("one", sealed[:-1]), ("one", sealed[:5]), ("one", b"")):
        with pytest.raises(BadInput):
            key.open(name, data)
    changed = bytearray(sealed)
    changed[-1] ^= 1
    with pytest.raises(BadInput):
        key.open("one", bytes(changed))


def test_a_vault_is_never_made_twice(vault: Vault) -> None:
    with pytest.raises(BadInput, match="set up already"):
        Vault.new(vault.folder, PASSPHRASE, SCRYPT_COST)


def test_a_set_up_that_ended_half_way_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / ISSUER).write_bytes(b"half")
    vault = Vault.new(tmp_path, PASSPHRASE, SCRYPT_COST)
    assert vault.issuer_key(vault.unlock(PASSPHRASE, SIGNING))


def test_what_is_no_vault_is_refused(tmp_path: Path) -> None:
    assert Vault.read(tmp_path) is None
    for text in ("nonsense", json.dumps({"format": "another"}), "[]"):
        (tmp_path / VAULT).write_text(text)
        with pytest.raises(BadInput):
            Vault.read(tmp_path)


@pytest.mark.parametrize("short", ["", "a" * 40, "eleven char", "abababababab"])
def test_short_passphrases_are_refused(short: str) -> None:
    with pytest.raises(BadInput, match="at least 12"):
        refuse_short(short)

"""Keys that follow from the site's own, one for each purpose; digests, seals and codes by them."""

from __future__ import annotations

import hmac
import json
from base64 import b32encode, urlsafe_b64encode
from functools import cache
from hashlib import sha256
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

CODE = 10
"""Letters and digits of a completion code: 50 bits."""


@cache
def _derived(secret: str, purpose: str) -> bytes:
    """Return a key of 32 bytes (HKDF, RFC 5869, with SHA-256); `purpose` is its info."""
    kdf = HKDF(hashes.SHA256(), 32, salt=None, info=f"winosmith market: {purpose}".encode())
    return kdf.derive(secret.encode())


def _key(purpose: str) -> bytes:
    return _derived(settings.SECRET_KEY, purpose)


def _fernet(purpose: str) -> Fernet:
    return Fernet(urlsafe_b64encode(_key(purpose)))


def _keyed(purpose: str, *parts: object) -> bytes:
    message = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return hmac.new(_key(purpose), message, sha256).digest()


def digest_of(provider: str, kind: str, text: str) -> str:
    """Return the digest by which a market's id is found again; 64 hex digits.

    It says nothing to who has not the site's key.
    """
    return _keyed("lookup", provider, kind, text).hex()


def seal(text: str) -> str:
    """Return a market's id encrypted, for its one column."""
    return _fernet("ids").encrypt(text.encode()).decode("ascii")


def unseal(sealed: str) -> str:
    """Return what `seal` encrypted.

    Raises:
        cryptography.fernet.InvalidToken: another key made it, or it was changed.
    """
    return _fernet("ids").decrypt(sealed.encode("ascii")).decode()


def carry(said: dict[str, Any]) -> str:
    """Return what a worker's own browser keeps for the site, encrypted and signed."""
    return _fernet("browser").encrypt(json.dumps(said).encode()).decode("ascii")


def carried(text: str, seconds: int) -> dict[str, Any] | None:
    """Return what a browser kept; None where it is none of ours, or older than `seconds`."""
    try:
        told = json.loads(_fernet("browser").decrypt(text.encode("ascii"), ttl=seconds))
    except (InvalidToken, UnicodeEncodeError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def own_code(participation: int) -> str:
    """Return the completion code of one participation, which nobody else has."""
    return b32encode(_keyed("code", participation)).decode("ascii")[:CODE]

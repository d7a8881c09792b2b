"""Pseudonyms: what stands for a person in everything that leaves the site."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


def keyed(purpose: str, text: str) -> str:
    """Return a digest that only the holder of the site's key can make; 64 hex digits."""
    message = f"{purpose}\0{text}".encode("utf-8", "surrogatepass")
    return hmac.new(settings.SECRET_KEY.encode(), message, sha256).hexdigest()


def pseudonym(person: Person) -> str:
    """Return the person's name in the data: "p-" and 12 hex digits.

    It hangs on the site's key and on a salt that an erasure throws away.
    """
    return f"p-{keyed('pseudonym', f'{person.pk}:{person.salt}')[:12]}"

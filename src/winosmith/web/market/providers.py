"""The markets: how their links name a worker, where one returns to, and how ids are kept.

Ids are digested and sealed by keys that follow from the site's own, one for each purpose.
"""

from __future__ import annotations

import hmac
import json
import re
from base64 import b32encode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import Any, TextIO
from urllib.parse import urlencode

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.translation import gettext as _

from winosmith.errors import InputError


def find_separator(table: TextIO) -> str:
    """Return the separator of a table's cells by its first line: comma, semicolon or tab."""
    first = table.readline()
    table.seek(0)
    return max(",;\t", key=first.count)


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
    """Return what a browser kept; None if it is none of ours, or older than `seconds`."""
    try:
        told = json.loads(_fernet("browser").decrypt(text.encode("ascii"), ttl=seconds))
    except (InvalidToken, UnicodeEncodeError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def own_code(participation: int) -> str:
    """Return the completion code of one participation, which nobody else has."""
    return b32encode(_keyed("code", participation)).decode("ascii")[:CODE]


@dataclass(frozen=True, slots=True)
class Claim:
    """Whom a link says to bring. Nothing proves it: a market does not sign its links.

    Attributes:
        worker: the market's id of a person; `submission`: of their part in the study, or "".
    """

    worker: str = field(repr=False)
    submission: str = field(repr=False)


class Unfilled(InputError):  # noqa: N818 - it reads as what happened
    """A link that came as it was given to the market, its placeholders still in it."""

    def __init__(self, name: str, text: str):
        self.name, self.text = name, text[:60]
        super().__init__(
            _("The link contains “%(text)s” in place of your id on the market.")
            % {"text": self.text}
        )


_MARKS = re.compile(r"[{}$%<>\[\]]")
"""Signs of placeholders, as {{%PROLIFIC_PID%}}, ${workerId}, [ID]: no market's ids have them."""

_WORDS = {
    "worker", "workerid", "submission", "submissionid", "participant", "participantid", "subject",
    "subjectid", "user", "userid", "prolificpid", "prolificid", "sessionid", "youridhere",
    "yourid", "none", "null", "undefined", "test",
}  # fmt: skip
"""Placeholders that are words, as our own link has them ("WORKER"), without what is no letter."""


def _stands_for_an_id(text: str) -> bool:
    """Return whether a text is a placeholder that nobody filled in.

    >>> [_stands_for_an_id(text) for text in ("${workerId}", "WORKER", "a1b2", "worker-17")]
    [True, True, False, False]
    """
    return bool(_MARKS.search(text)) or "".join(filter(str.isalnum, text)).lower() in _WORDS


@dataclass(frozen=True, slots=True)
class Provider:
    """A market.

    Attributes:
        title: its name.
        worker, submission, study: what its links call these ids; the study may be "".
        needs_submission: its links always name one.
        form: what an id looks like.
        query: what stands behind the link when it is given to the market.
        back: where a worker returns with a code ("{code}" in it); empty if they enter it.
        own_codes: each worker has a code of their own, where the study has none.
    """

    title: str
    worker: str
    submission: str
    study: str
    needs_submission: bool
    form: re.Pattern[str]
    query: str
    back: str
    own_codes: bool

    def read(self, query: Mapping[str, str], market_study: str = "") -> Claim:
        """Return the claim of a link.

        Raises:
            Unfilled: in place of an id stands what the market should have put one for.
            InputError: an id is missing or looks like none, or the link is another study's.
        """
        worker, submission = query.get(self.worker, ""), query.get(self.submission, "")
        for name, text in ((self.worker, worker), (self.submission, submission)):
            if _stands_for_an_id(text):
                raise Unfilled(name, text)
        if not self.form.fullmatch(worker):
            raise InputError(_("Your id on the market is missing from the link, or not valid."))
        if (submission or self.needs_submission) and not self.form.fullmatch(submission):
            raise InputError(_("Your submission is missing from the link, or not valid."))
        if market_study and query.get(self.study, "") != market_study:
            raise InputError(_("The link belongs to another study of the market."))
        return Claim(worker, submission)

    def names(self) -> tuple[str, ...]:
        """Return the parameters that may name somebody."""
        return tuple(filter(None, (self.worker, self.submission, self.study)))

    def way_back(self, code: str) -> str:
        """Return the address to which a worker returns with a code; "" if there is none."""
        return self.back + urlencode({"cc": code}) if self.back else ""


PROVIDERS = {
    "prolific": Provider(
        "Prolific",
        "PROLIFIC_PID",
        "SESSION_ID",
        "STUDY_ID",
        True,
        re.compile("[0-9a-f]{24}"),
        "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
        "https://app.prolific.com/submissions/complete?",
        False,
    ),
    "generic": Provider(
        "generic",
        "worker",
        "submission",
        "study",
        False,
        re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{3,63}"),
        "worker=WORKER&submission=SUBMISSION",
        "",
        True,
    ),
}
"""The markets that a study may be on: Prolific's parameters and completion address as of its API
documentation ("The study object")."""


def study_link(provider: str, token: str, address: str) -> str:
    """Return the link that the market gets.

    Args:
        provider: the market.
        token: the secret part.
        address: of the site.

    >>> study_link("generic", "s3cret", "https://twins.example.org/")
    'https://twins.example.org/study/s3cret/?worker=WORKER&submission=SUBMISSION'
    """
    return f"{address.rstrip('/')}/study/{token}/?{PROVIDERS[provider].query}"

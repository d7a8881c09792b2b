"""Crowd markets: the ids in their links, their return links, and digests of ids."""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from winosmith.data import Delimited, Row, Source
from winosmith.errors import FormatError, InputError
from winosmith.web.people.models import make_digest


def read_table(path: Path) -> Delimited:
    """Return the table in a market's file; compressed files are rejected."""
    try:
        return Delimited(Source(path, path.read_bytes()))
    except FormatError as error:
        fault = _("this is not a CSV table in UTF-8")
        raise InputError(f"{path}: {fault} ({error.fact})") from None


def read_cells(row: Row[Mapping[str, str]]) -> dict[str, str]:
    if row.values is None:
        raise InputError(row.reason or "")
    return {name: cell.strip() for name, cell in row.values.items()}


CODE_LENGTH = 10
"""Number of letters and digits in a completion code, which contain 50 bits."""


def digest_id(provider: str, kind: str, text: str) -> str:
    """Return the digest of a market's id, for look-ups, as 64 hex digits.

    Only the holder of the site's key can compute the digest.
    """
    return make_digest("market id", "\0".join((provider, kind, text)))


def make_individual_code(participation: int) -> str:
    digest = bytes.fromhex(make_digest("market code", str(participation)))
    return b32encode(digest).decode("ascii")[:CODE_LENGTH]


class UnfilledLinkError(InputError):
    """The market did not replace the placeholders in a link with ids."""

    def __init__(self, name: str, text: str):
        self.name, self.text = name, text[:60]
        super().__init__(
            _("The link contains “%(text)s” in place of your id on the marketplace.")
            % {"text": self.text}
        )


_MARKERS = re.compile(r"[{}$%<>\[\]]")
"""Characters in placeholders such as {{%PROFILE_PID%}}, ${workerId} and [ID], but not in ids."""

_MARKER_WORDS = {
    "worker", "workerid", "submission", "submissionid", "participant", "participantid", "subject",
    "subjectid", "user", "userid", "prolificpid", "prolificid", "sessionid", "youridhere",
    "yourid", "none", "null", "undefined", "test",
}  # fmt: skip
"""Placeholder words, such as "WORKER" in our own link, in lower case and without punctuation."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A crowd market.

    Attributes:
        worker, submission, study: The parameter names of these ids in the market's links; `study`
            may be "".
        needs_submission: Whether the market's links always contain a submission's id.
        query: The query string of the study link that the market gets.
        return_url: The URL to which a worker returns with a code; empty if they type the code.
        individual_codes: Whether each worker gets an individual code if the study has none.
    """

    title: str
    worker: str
    submission: str
    study: str
    needs_submission: bool
    id_pattern: re.Pattern[str]
    query: str
    return_url: str
    individual_codes: bool

    def read_link_ids(self, query: Mapping[str, str], market_study: str = "") -> tuple[str, str]:
        """Return the worker's id and the submission's id ("" if none) from a study link's query.

        The ids are unverified, because markets don't sign their links.

        Raises:
            UnfilledLinkError: The link has a placeholder instead of an id.
        """
        worker, submission = query.get(self.worker, ""), query.get(self.submission, "")
        for name, text in ((self.worker, worker), (self.submission, submission)):
            letters = "".join(filter(str.isalnum, text)).lower()
            if _MARKERS.search(text) or letters in _MARKER_WORDS:
                raise UnfilledLinkError(name, text)
        if not self.id_pattern.fullmatch(worker):
            raise InputError(_("Your marketplace id in the link is missing or not valid."))
        if (submission or self.needs_submission) and not self.id_pattern.fullmatch(submission):
            raise InputError(_("The submission id in the link is missing or not valid."))
        if market_study and query.get(self.study, "") != market_study:
            raise InputError(_("The link belongs to another study on the marketplace."))
        return worker, submission

    def make_return_url(self, code: str) -> str:
        return self.return_url + urlencode({"cc": code}) if self.return_url else ""


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
"""The supported markets. Prolific's parameters and return URL follow its API documentation ("The
study object")."""


def make_study_link(provider: str, token: str, address: str) -> str:
    """Return the study link to be entered on the market.

    >>> make_study_link("generic", "s3cret", "https://twins.example.org/")
    'https://twins.example.org/study/s3cret/?worker=WORKER&submission=SUBMISSION'
    """
    return f"{address.rstrip('/')}/study/{token}/?{PROVIDERS[provider].query}"

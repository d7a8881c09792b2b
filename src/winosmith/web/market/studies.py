"""Studies on crowd markets: the markets' links and ids, and a study's creation and progress.

Files list the ids of admitted or excluded workers; the site stores only digests of the ids.
"""

from __future__ import annotations

import hmac
import re
import secrets
from base64 import b32encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.db import IntegrityError
from django.db.models import Value
from django.db.models.functions import Concat
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.data import Delimited, Row, Source
from winosmith.errors import FormatError, InputError
from winosmith.web._lock import writing
from winosmith.web.judge.models import Slot
from winosmith.web.market.models import WORKER, Participation, Screen, Study
from winosmith.web.people.models import digest_token, make_digest


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


ID_COLUMNS = ("worker", "worker id", "workerid", "participant id", "prolific_pid", "id")
"""Accepted names of the id column, in lower case."""


def read_ids(path: Path, provider: str) -> list[str]:
    """Return the ids in a file: one per line, or a CSV table with a column of ids."""
    table, ids = read_table(path), []
    header = [name.lower() for name in table.header]
    worker = next((name for name in ID_COLUMNS if name in header), "")
    if not worker and len(header) > 1:
        fault = _("there is no column named %s") % ", ".join(ID_COLUMNS)
        raise InputError(f"{path}:1: {fault}")
    for row in table.rows() if worker else table.rows([worker]):
        try:
            cells = {name.lower(): cell for name, cell in read_cells(row).items()}
            if not PROVIDERS[provider].id_pattern.fullmatch(cells[worker]):
                raise InputError(_("this is not an id of %s") % PROVIDERS[provider].title)
            ids.append(cells[worker])
        except InputError as error:
            raise InputError(f"{row.place}: {error}") from None
    if not ids:
        raise InputError(_("%s: there are no ids") % path)
    return list(dict.fromkeys(ids))


def screen_workers(study: Study, ids: Sequence[str], *, allowed: bool) -> int:
    """Admit only the listed workers, or exclude them; return how many the study now lists."""
    digests = (digest_id(study.provider, WORKER, worker) for worker in ids)
    with writing():
        Screen.objects.bulk_create(
            (Screen(study=study, digest=digest, allowed=allowed) for digest in digests),
            ignore_conflicts=True,
        )
        if allowed:
            Study.objects.filter(pk=study.pk).update(invited_only=True)
            study.invited_only = True
    return study.screens.filter(allowed=allowed).count()


def is_admitted(study: Study, digest: str) -> bool:
    decisions = set(study.screens.filter(digest=digest).values_list("allowed", flat=True))
    return False not in decisions and (True in decisions or not study.invited_only)


TOKEN_BYTES = 24
"""Number of random bytes in a study link (192 bits)."""


def create_study(
    name: str,
    provider: str,
    kind: str,
    amount: int,
    **values: Any,
) -> tuple[Study, str]:
    """Create a study; return the study and the secret part of its link, which is not stored.

    The other arguments are fields of `Study`, which the form has validated; `reward`, `currency`,
    `minutes` and `places` are required.
    """
    study = Study(name=name, provider=provider, kind=kind, amount=amount, **values)
    study.currency = study.currency.upper()
    token = secrets.token_urlsafe(TOKEN_BYTES)
    study.digest = digest_token(token)
    try:
        with writing():
            study.save(force_insert=True)
    except IntegrityError:
        raise InputError(_("a study named %r already exists; choose another name") % name) from None
    return study, token


def find_study(token: str) -> Study | None:
    """Return the study whose link has this secret part."""
    digest = digest_token(token)
    study = Study.objects.filter(digest=digest).first()
    return study if study and hmac.compare_digest(study.digest, digest) else None


def is_link_replaced(token: str) -> bool:
    return Study.objects.filter(replaced__contains=digest_token(token)).exists()


def replace_link(study: Study) -> str:
    """Replace a study's link; return the secret part of the new link."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with writing():
        Study.objects.filter(pk=study.pk).update(
            digest=digest_token(token), replaced=Concat("replaced", "digest", Value("\n"))
        )
    return token


def set_places(study: Study, places: int) -> None:
    """Change how many people a study admits; those who have already started can finish."""
    with writing():
        study.places = places
        study.save(update_fields=["places"])


def close_study(study: Study) -> None:
    """Close a study to new people; those who have started can finish."""
    with writing():
        if not Study.objects.filter(pk=study.pk, closed=None).update(closed=timezone.now()):
            raise InputError(_("the study %r is already closed") % study.name)


def measure_progress(study: Study) -> dict[str, Any]:
    """Return a study with its numbers of participations in each state and with each verdict.

    `started_count` is the number of all participations, and `provisional` the number of votes that
    wait for the market.
    """
    rows = list(study.participations.values_list("pk", "state", "verdict"))
    states, verdicts = (Counter(row[at] for row in rows) for at in (1, 2))
    return {
        "study": study,
        "started_count": len(rows),
        "states": {name: states[name] for name in Participation.State.values},
        "verdicts": {name: verdicts[name] for name in Participation.Verdict.values},
        "provisional": Slot.objects.filter(job__in=[pk for pk, _, _ in rows]).pending().count(),
    }

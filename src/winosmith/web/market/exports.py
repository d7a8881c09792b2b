"""Read a crowd market's exports of submissions, preview their effects, and apply them.

The market's decisions determine which votes are included.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db.models import Sum
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.exclusion import exclude_paid_votes, include_paid_votes
from winosmith.web.judge.models import Slot
from winosmith.web.judge.submissions import may_withdraw, withdraw_twin
from winosmith.web.market import models, workers
from winosmith.web.market.models import Identity, Participation, Study
from winosmith.web.market.studies import PROVIDERS, digest_id, read_cells, read_table
from winosmith.web.people.models import get_pseudonym

MAX_ERRORS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Row:
    """A submission in an export.

    Attributes:
        worker, submission: The market's ids; the submission may be "".
        verdict: The `Participation.Verdict` of the status.
        is_partial: Whether only part of the work is paid.
        code: The code entered by the worker, or "".
        seconds: The duration measured by the market; None if the export has none.
        paid: The reward without bonuses; None if the export has none.
    """

    line: int
    worker: str = field(repr=False)
    submission: str = field(repr=False)
    status: str
    verdict: str
    is_partial: bool
    code: str
    seconds: int | None
    paid: Decimal | None


@dataclass(frozen=True, slots=True)
class Format:
    """The columns and statuses of an export.

    Attributes:
        verdicts: The verdict for each status.
        partial: The statuses of partly paid submissions.
        worker, submission, status: The required columns. The column `submission` is required only
            if the market's links contain a submission's id.
        code, seconds, paid: The optional columns.
    """

    verdicts: Mapping[str, str]
    partial: tuple[str, ...] = ()
    worker: str = "worker"
    submission: str = "submission"
    status: str = "status"
    code: str = "code"
    seconds: str = "seconds"
    paid: str = "paid"


FORMATS = {
    "prolific": Format(
        {
            "RESERVED": models.WAITING,
            "ACTIVE": models.WAITING,
            "AWAITING REVIEW": models.WAITING,
            "APPROVED": models.APPROVED,
            "PARTIALLY APPROVED": models.APPROVED,
            "SCREENED OUT": models.APPROVED,
            "REJECTED": models.REJECTED,
            "RETURNED": models.RETURNED,
            "TIMED-OUT": models.RETURNED,
        },
        ("PARTIALLY APPROVED", "SCREENED OUT"),
        "Participant id",
        "Submission id",
        "Status",
        "Completion code",
        "Time taken",
        "",
    ),
    "generic": Format(
        {
            "WAITING": models.WAITING,
            "APPROVED": models.APPROVED,
            "REJECTED": models.REJECTED,
            "RETURNED": models.RETURNED,
        },
    ),
}
"""Each market's format. Prolific's columns are those of its demographic export, whose header starts
with "Submission id,Participant id,Status"; its statuses are those of its API."""


def read_export(path: Path, provider: str, currency: str = "") -> list[Row]:
    """Return the rows of a market's export file; amounts in another currency are errors.

    Raises:
        InputError: The file is not an export of this market; the message lists the errors by line.
    """
    table, format_ = read_table(path), FORMATS[provider]
    needed = [format_.worker, format_.status]
    if PROVIDERS[provider].needs_submission:
        needed.append(format_.submission)
    if absent := [name for name in needed if name not in table.header]:
        fault = _(
            "the column %(column)r is missing; export all submissions of the study from "
            "%(market)s, without changing the columns"
        ) % {"column": absent[0], "market": PROVIDERS[provider].title}
        raise InputError(f"{path}:1: {fault}")
    rows: list[Row] = []
    faults, lines = [], dict[str, int]()
    for line in table.rows():
        try:
            row = _parse_row(line.place.number, read_cells(line), format_, provider, currency)
            rows.append(row)
            key = row.submission or f"of {row.worker}"
            if key in lines:
                raise InputError(_("repeats the submission on line %d") % lines[key])
            lines[key] = line.place.number
        except InputError as error:
            faults.append(f"{line.place}: {error}")
    if faults:
        more = len(faults) - MAX_ERRORS_SHOWN
        shown = [*faults[:MAX_ERRORS_SHOWN], _("and %d more") % more] if more > 0 else faults
        raise InputError("\n".join(shown))
    return rows


def _parse_row(
    line: int, cells: Mapping[str, str], format_: Format, provider: str, currency: str
) -> Row:
    pattern, needs_submission = PROVIDERS[provider].id_pattern, PROVIDERS[provider].needs_submission
    worker, submission = cells[format_.worker], cells.get(format_.submission, "")
    if not pattern.fullmatch(worker):
        raise InputError(_("the column %r has no valid id") % format_.worker)
    if (submission or needs_submission) and not pattern.fullmatch(submission):
        raise InputError(_("the column %r has no valid id") % format_.submission)
    status = re.sub(r"[ _]+", " ", cells[format_.status]).upper().replace("TIMED OUT", "TIMED-OUT")
    if status not in format_.verdicts:
        cell = {"column": format_.status, "cell": cells[format_.status]}
        values = {**cell, "known": ", ".join(format_.verdicts)}
        raise InputError(_("%(column)r is %(cell)r; it must be one of %(known)s") % values)
    paid = cells.get(format_.paid, "")
    try:
        amount = parse_amount(paid, currency) if paid else None
    except InputError as error:
        raise InputError(f"{format_.paid!r}: {error}") from None
    return Row(
        line,
        worker,
        submission,
        status,
        format_.verdicts[status],
        status in format_.partial,
        cells.get(format_.code, ""),
        _parse_seconds(format_.seconds, cells.get(format_.seconds, "")),
        amount,
    )


_SUM = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,2})?)(?: ([A-Z]{3}))?")


def parse_amount(text: str, currency: str = "") -> Decimal:
    """Return the amount, with at most two decimals, in a text such as "2.50" or "2.50 GBP".

    An amount in a currency other than `currency` is an error.
    """
    match = _SUM.fullmatch(text.strip())
    if match is None:
        raise InputError(_("%r is not an amount of money; use one such as 2.50") % text)
    if currency and match[2] not in (None, currency):
        raise InputError(
            _("%(sum)r is in a currency other than %(currency)s")
            % {"sum": text, "currency": currency}
        )
    return Decimal(match[1]).quantize(Decimal("0.01"))


def _parse_seconds(name: str, text: str) -> int | None:
    if not text:
        return None
    values = {"column": name, "cell": text}
    try:
        value = int(float(text))
    except (ValueError, OverflowError):
        raise InputError(_("%(column)r is %(cell)r, which is not a number") % values) from None
    if not 0 <= value < 10**7:
        raise InputError(_("%(column)r is %(cell)r, which is out of range") % values)
    return value


REASONS: dict[str, str] = {
    models.APPROVED: "the market confirmed the submission",
    models.REJECTED: "the market rejected the submission",
    models.RETURNED: "the submission was returned or timed out",
}


@dataclass(frozen=True, slots=True)
class Change:
    """The effect of an export on one participation.

    Attributes:
        part: The participation before the change; the other values are those after it.
        market_status: The status in the export.
        seconds: The duration measured by the market.
        votes: The number of votes that wait for the verdict.
    """

    part: Participation
    verdict: str
    market_status: str
    paid: Decimal
    seconds: int | None
    votes: int

    def make_record(self) -> dict[str, Any]:
        return {
            "worker": get_pseudonym(self.part.person),
            "before": str(self.part.verdict),
            "verdict": str(self.verdict),
            "said": self.market_status,
            "paid": f"{self.paid:.2f}",
            "votes": self.votes,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """The effects of an export, and its unmatched lines.

    Attributes:
        unchanged: The number of participations that stay the same.
        unknown: The line numbers of submissions that were never started on this site.
        missing: The participations that are not in the export.
        doubts: The lines without effect that a person must check, each with the reason.
        notes: The lines that take effect but should be checked, each with the reason.
        unmatched: The payments for unknown submissions, minus the ledger's sum for erased workers.
    """

    changes: list[Change]
    unchanged: int
    unknown: list[int]
    missing: list[Participation]
    doubts: list[tuple[int, str]]
    notes: list[tuple[int, str]]
    unmatched: Decimal


CENTS_FACTOR = 10
"""Multiple of the reward above which an amount is assumed to be in cents."""


def plan_changes(study: Study, rows: Sequence[Row], *, final: bool, sent: datetime) -> Plan:
    """Return the changes that an export would make, without writing to the database.

    A submission belongs to a participation if both of its ids match the participation's link. A
    worker who returned it because the site asked for this is approved without a reward. If the
    export is `final`, missing participations are rejected, except those of people who started
    after the export was `sent`.
    """
    submissions = Counter(row.worker for row in rows)
    unknown: list[int] = []
    doubts: list[tuple[int, str]] = []
    notes: list[tuple[int, str]] = []
    unmatched = Decimal(0)
    changes: dict[int, Change] = {}
    ids = Identity.objects.filter(study=study)
    ids = ids.select_related("participation__person", "participation__study")
    by_digest = {(row.kind, row.digest): row.participation for row in ids}
    matched: set[int] = set()
    for row in rows:
        worker, submission = (
            by_digest.get((kind, digest_id(study.provider, kind, text))) if text else None
            for kind, text in ((models.WORKER, row.worker), (models.SUBMISSION, row.submission))
        )
        matched |= {part.pk for part in (worker, submission) if part is not None}
        part, doubt = _match_participation(row, worker, submission, submissions[row.worker])
        if study.reward and (row.paid or 0) > CENTS_FACTOR * study.reward:
            values = {"paid": row.paid, "reward": study.reward, "currency": study.currency}
            part, doubt = None, _(
                "paid is %(paid)s, far above the reward of %(reward)s %(currency)s; give amounts "
                "in %(currency)s, not in cents"
            ) % values  # fmt: skip
        elif worker is None and submission is None:
            unknown.append(row.line)
            unmatched += _find_paid_amount(row, study)
        if doubt:
            doubts.append((row.line, doubt))
        if part is not None:
            notes.extend((row.line, note) for note in _iter_notes(row, part))
            paid, waiting = _find_paid_amount(row, study), _count_pending_votes(part)
            on_request = part.state == models.SHORT and not part.study.short_code
            accepted = on_request and row.verdict == models.RETURNED
            verdict = models.APPROVED if accepted else row.verdict
            changes[part.pk] = Change(part, verdict, row.status, paid, row.seconds, waiting)
    others = study.participations.select_related("person", "study").exclude(pk__in=matched)
    missing = list(others.filter(began__lte=sent))
    for part in missing:
        if final and part.verdict == models.WAITING:
            status, waiting = "not in the export", _count_pending_votes(part)
            changes[part.pk] = Change(part, models.REJECTED, status, Decimal(0), None, waiting)
    made = list(filter(_has_effect, changes.values()))
    erased = study.participations.filter(identities=None).aggregate(paid=Sum("paid"))["paid"]
    unmatched = max(Decimal(0), unmatched - (erased or 0))
    return Plan(made, len(changes) - len(made), unknown, missing, doubts, notes, unmatched)


def _match_participation(
    row: Row, worker: Participation | None, submission: Participation | None, count: int
) -> tuple[Participation | None, str]:
    """Return the row's participation, or None and the reason if the match is doubtful.

    `count` is the number of the worker's submissions in the export.
    """
    if submission is not None:
        if worker is not None and worker.pk == submission.pk:
            return worker, ""
        return None, _("this submission was started on the site under another worker’s id")
    if worker is not None:
        if row.submission and worker.identities.filter(kind=models.SUBMISSION).exists():
            return None, _("this worker started on the site with another submission")
        if count > 1:
            fault = _("one of %d submissions of this worker; remove the lines of the others")
            return None, fault % count
    return worker, ""


def _find_paid_amount(row: Row, study: Study) -> Decimal:
    if row.verdict != models.APPROVED:
        return Decimal(0)
    if row.paid is not None:
        return row.paid
    in_part = row.is_partial or (study.short_code and row.code == study.short_code)
    return study.reward if not in_part else study.short_reward or Decimal(0)


def _iter_notes(row: Row, part: Participation) -> Iterator[str]:
    if row.verdict in models.UNUSED_VERDICTS:
        return
    expected = workers.get_completion_code(part)
    if row.code and row.code != "NOCODE":
        if part.state not in (models.COMPLETE, models.SHORT):
            yield _("a code was entered, although the site did not issue one")
        elif expected and row.code != expected:
            yield _("the code differs from the code that the site issued")
    if workers.is_on_hold(part):
        yield _("the votes are on hold: a moderator must check them first")
    if note := workers.describe_training(part):
        yield note
    if row.verdict == models.APPROVED and part.state != models.COMPLETE and not row.is_partial:
        yield _("approved, although the stored work is incomplete")
    if note := workers.describe_missing_work(part, workers.count_finished_work(part)):
        yield note


def _count_pending_votes(part: Participation) -> int:
    return Slot.objects.filter(job=part.pk).pending().count()


def _has_effect(change: Change) -> bool:
    part = change.part
    return (part.verdict, part.said, part.paid, part.market_seconds) != (
        change.verdict, change.market_status, change.paid, change.seconds,
    ) or bool(change.votes and change.verdict != models.WAITING)  # fmt: skip


def apply_plan(study: Study, plan: Plan) -> int:
    """Apply a plan; return the number of votes whose status changed.

    Each participation has its own transaction, so that another call can resume interrupted work.
    """
    with writing():
        Study.objects.filter(pk=study.pk).update(unmatched=plan.unmatched)
    votes = 0
    for change in plan.changes:
        part = Participation.objects.select_related("study", "person").get(pk=change.part.pk)
        reason = REASONS.get(change.verdict, "")
        unused = change.verdict in models.UNUSED_VERDICTS
        if change.verdict == models.APPROVED:
            votes += include_paid_votes(part.pk, reason)
        elif unused:
            if part.state == models.WORKING:
                workers.end_participation(part, models.LEFT)
            votes += exclude_paid_votes(part.pk, reason)
        with writing():  # the verdict is written last, so that an interrupted call is repeated
            for twin in part.person.twins.all() if unused else ():
                if may_withdraw(part.person, twin):
                    withdraw_twin(part.person, twin, reason)
            part.verdict, part.said = change.verdict, change.market_status
            part.paid, part.market_seconds = change.paid, change.seconds
            part.save(update_fields=["verdict", "said", "paid", "market_seconds"])
    return votes

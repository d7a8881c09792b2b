"""What a market says of its submissions becomes what the site holds: votes count, or do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from winosmith.web._lock import writing
from winosmith.web.judge.confirming import confirm, refuse
from winosmith.web.judge.models import Slot
from winosmith.web.market.exports import Row
from winosmith.web.market.keys import digest_of
from winosmith.web.market.models import (
    APPROVED,
    COMPLETE,
    LEFT,
    REJECTED,
    RETURNED,
    SHORT,
    SUBMISSION,
    TURNED_AWAY,
    WAITING,
    WORKER,
    WORKING,
    Identity,
    Participation,
    Study,
)
from winosmith.web.market.working import code_of, end, is_held, twins_of
from winosmith.web.people.pseudonyms import pseudonym
from winosmith.web.write.rules import may_withdraw, withdraw

__all__ = ["Change", "Plan", "apply", "plan"]


REASONS: dict[str, str] = {
    APPROVED: "the market approved the submission",
    REJECTED: "the market rejected the submission",
    RETURNED: "the submission was returned or timed out",
}


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one participation.

    Attributes:
        part: as it is.
        verdict, said, paid, seconds: as they will be; `seconds` by the market's clock.
        votes: that await the verdict.
    """

    part: Participation
    verdict: str
    said: str
    paid: Decimal
    seconds: int | None
    votes: int

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it; the worker is a pseudonym."""
        return {
            "worker": pseudonym(self.part.person),
            "before": str(self.part.verdict),
            "verdict": str(self.verdict),
            "said": self.said,
            "paid": f"{self.paid:.2f}",
            "votes": self.votes,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """What an export changes, and what in it fits nothing.

    Attributes:
        changes: those alone that change something.
        same: how many participations it leaves as they are.
        unknown: lines of submissions that never began here.
        missing: participations that are not in the export.
        doubts: lines that need a person's look, each with why; they change nothing.
        notes: lines that do, and are worth a look.
    """

    changes: list[Change]
    same: int
    unknown: list[int]
    missing: list[Participation]
    doubts: list[tuple[int, str]]
    notes: list[tuple[int, str]]

    def record(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it; workers are pseudonyms."""
        return {
            "changes": [change.record() for change in self.changes],
            "same": self.same,
            "unknown": self.unknown,
            "missing": [pseudonym(part.person) for part in self.missing],
            "doubts": [list(doubt) for doubt in self.doubts],
            "notes": [list(note) for note in self.notes],
        }


def plan(study: Study, rows: Sequence[Row], *, final: bool = False) -> Plan:
    """Return what an export changes; nothing is written.

    A submission is a participation's where worker and submission are both what its link named.

    Args:
        study: whose export it is.
        rows: the export's.
        final: the export holds every submission there will be; participations that are not in it
            were begun by nobody of the market, and are rejected.
    """
    made = Plan([], 0, [], [], [], [])
    changes: dict[int, Change] = {}
    by_digest = _by_digest(study)
    met: set[int] = set()
    for row in rows:
        worker, submission = (
            by_digest.get((kind, digest_of(study.provider, kind, text))) if text else None
            for kind, text in (
                (WORKER, row.worker),
                (SUBMISSION, row.submission),
            )
        )
        if worker is None and submission is None:
            made.unknown.append(row.line)
            continue
        met |= {one.pk for one in (worker, submission) if one is not None}
        part, doubt = _matched(row, worker, submission)
        if doubt:
            made.doubts.append((row.line, doubt))
        if part is not None:
            made.notes.extend(_notes(row, part))
            changes[part.pk] = _change(row, part)
    for part in study.participations.select_related("person", "study").exclude(pk__in=met):
        made.missing.append(part)
        if final and part.verdict == WAITING:
            changes[part.pk] = Change(
                part, REJECTED, "not in the export", Decimal(0), None, _awaiting(part)
            )
    for change in changes.values():
        if _differs(change):
            made.changes.append(change)
    return Plan(
        made.changes, len(changes) - len(made.changes), made.unknown, made.missing, made.doubts,
        made.notes,
    )  # fmt: skip


def _by_digest(study: Study) -> dict[tuple[str, str], Participation]:
    rows = Identity.objects.filter(study=study)
    rows = rows.select_related("participation__person", "participation__study")
    return {(row.kind, row.digest): row.participation for row in rows}


def _matched(
    row: Row, worker: Participation | None, submission: Participation | None
) -> tuple[Participation | None, str]:
    """Return the participation that a row is about, and why it may be none."""
    if not row.submission:
        return worker, ""
    if worker is not None and submission is not None and worker.pk == submission.pk:
        return worker, ""
    if submission is not None:
        return None, "here this submission was begun under another worker's id"
    if worker is None or not worker.identities.filter(kind=SUBMISSION).exists():
        return worker, ""
    return None, "here this worker came under another submission"


def _change(row: Row, part: Participation) -> Change:
    paid = Decimal(0)
    if row.verdict == APPROVED:
        paid = _paid(row, part.study)
    return Change(part, row.verdict, row.said, paid, row.seconds, _awaiting(part))


def _paid(row: Row, study: Study) -> Decimal:
    if row.paid is not None:
        return row.paid
    in_part = row.part or (study.short_code and row.code == study.short_code)
    return study.reward if not in_part else study.short_reward or Decimal(0)


def _notes(row: Row, part: Participation) -> list[tuple[int, str]]:
    found = []
    given = code_of(part)
    if row.code and row.code != "NOCODE" and row.verdict not in TURNED_AWAY:
        if part.state not in (COMPLETE, SHORT):
            found.append((row.line, "a code was entered, but the site gave none"))
        elif given and row.code != given:
            found.append((row.line, "the code is not the one that the site gave"))
    if is_held(part) and row.verdict not in TURNED_AWAY:
        found.append((row.line, "the votes are held: a moderator has to look at them first"))
    if row.verdict == APPROVED and part.state != COMPLETE and not row.part:
        found.append((row.line, "approved, but not all of the work is stored"))
    return found


def _awaiting(part: Participation) -> int:
    rows = Slot.objects.filter(job=part.pk, provisional=True, excluded=False, gold=False)
    return rows.exclude(answered_at=None).count()


def _differs(change: Change) -> bool:
    part = change.part
    return (part.verdict, part.said, part.paid, part.market_seconds) != (
        change.verdict, change.said, change.paid, change.seconds,
    ) or bool(change.votes and change.verdict != WAITING)  # fmt: skip


def apply(changes: Sequence[Change]) -> int:
    """Write what a plan says; return how many votes came to count, or to count no more.

    Each participation is written before the next: called again, it goes on where it was left.
    """
    return sum(map(_apply, changes))


def _apply(change: Change) -> int:
    """End the work, then change the votes, and the verdict last: an interrupt leaves it to do."""
    part = Participation.objects.select_related("study", "person").get(pk=change.part.pk)
    reason = REASONS.get(change.verdict, "")
    votes = 0
    if change.verdict == APPROVED:
        votes = confirm(part.pk, reason, refused=part.verdict in TURNED_AWAY)
    elif change.verdict in TURNED_AWAY:
        if part.state == WORKING:
            end(part, LEFT)
        votes = refuse(part.pk, reason)
    with writing():
        if change.verdict in TURNED_AWAY:
            for twin in twins_of(part):
                if may_withdraw(part.person, twin):
                    withdraw(part.person, twin, reason)
        part.verdict, part.said = change.verdict, change.said
        part.paid, part.market_seconds = change.paid, change.seconds
        part.save(update_fields=["verdict", "said", "paid", "market_seconds"])
    return votes

"""Database models for judging: slots, answers, and the problems that each person has read.

Unless `SiteRules.both_halves` is set, nobody who knows one half of a twin judges the other half.
Judges see the local context first. If their lease expires at that point, they may get the same
problem again, but not its other half.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from winosmith.web._lock import writing
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, State, Twin

MARKET = "market"
"""`Slot.excluded_by` of votes that a crowd market rejected; they count if the market approves."""


class Slots(models.QuerySet["Slot"]):
    """Queries that define which answers are votes and which votes count."""

    def votes(self) -> Slots:
        """Return the answers, without those to gold questions."""
        return self.answers().filter(gold=False, open=False)

    def included(self) -> Slots:
        """Return the votes that are not excluded, including pending votes."""
        return self.votes().filter(excluded=False)

    def counted(self) -> Slots:
        return self.included().filter(provisional=False)

    def pending(self) -> Slots:
        """Return the votes that wait for a moderator or a crowd market."""
        return self.included().filter(provisional=True)

    def answers(self, since: datetime | None = None) -> Slots:
        """Return the answers given after `since`, including those to gold questions."""
        answers = self.filter(answered_at__isnull=False)
        return answers if since is None else answers.filter(answered_at__gt=since)

    def gold_answers(self, since: datetime | None = None) -> Slots:
        """Return the answers given after `since` to gold questions that are not retired."""
        return self.answers(since).filter(gold=True, open=False, problem__as_gold__retired=False)


class Slot(models.Model):
    """One judge's slot on a problem, with their answer.

    A problem for k judges has k slots, so it can't get more than k votes. A slot is *open* until it
    is answered or its problem leaves judging. An open slot is *fresh* (never leased), *held* (under
    lease), or *returned* (its lease has expired).

    Attributes:
        n: The slot's number on its problem, from 1; for a gold question, the judge's key.
        place: The position in the queue; a problem's slots have adjacent positions.
        twin, contributor: Copies of the problem's values, so that an index covers the queue.
        holder: The judge who leased or answered the slot.
        lease_until: The end of the lease. If the slot was returned, this is a time in the past.
        ref: The problem's random reference on the judge's pages, which changes with each lease.
        shown: The 0-based indices of the options, in their order on the judge's page.
        local_choice, choice: 0-based indices of options; None if unanswered, or for "neither".
        right: Whether the answer to a gold question is correct.
        excluded: Whether the vote is excluded, because a moderator excluded it, a market did not
            confirm it, or its address already had as many votes as allowed (`trust.apply_limits`).
        job: The key of the paid `Participation`; None for unpaid answers.
        provisional: Whether the vote waits for a market, or for a moderator to check the judge.
        excluded_by: MARKET, `trust.ADDRESS`, or "" if a moderator excluded the vote.
        extra: Whether a moderator asked for the vote by reopening the problem.
        origin: A digest of the client's address, stored for up to two hours; "" afterwards.
    """

    problem = models.ForeignKey(
        "problems.Problem", models.PROTECT, related_name="slots", db_index=False
    )
    n = models.PositiveIntegerField()
    place = models.BigIntegerField()
    twin = models.ForeignKey(
        "problems.Twin", models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    contributor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+", db_index=False
    )
    gold = models.BooleanField(default=False)
    open = models.BooleanField(default=True)
    holder = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="slots", db_index=False
    )
    taken_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    ref = models.CharField(max_length=16, null=True)
    shown = models.JSONField(default=list)
    local_choice = models.PositiveSmallIntegerField(null=True)
    local_at = models.DateTimeField(null=True)
    local_seconds = models.FloatField(null=True)
    choice = models.PositiveSmallIntegerField(null=True)
    ambiguous = models.BooleanField(default=False)
    associative = models.BooleanField(default=False)
    comment = models.TextField(blank=True)
    seconds = models.FloatField(null=True)
    answered_at = models.DateTimeField(null=True)
    right = models.BooleanField(null=True)
    excluded = models.BooleanField(default=False)
    job = models.PositiveBigIntegerField(null=True)
    provisional = models.BooleanField(default=False)
    excluded_by = models.CharField(max_length=10, blank=True, default="")
    extra = models.BooleanField(default=False)
    origin = models.CharField(max_length=64, blank=True, default="")

    objects = Slots.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["problem", "gold", "n"], name="slot_n"),
            models.UniqueConstraint(fields=["problem", "holder"], name="slot_holder"),
            models.UniqueConstraint(
                fields=["ref"], condition=models.Q(ref__isnull=False), name="slot_ref"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["place", "twin", "contributor"],
                condition=models.Q(open=True, lease_until__isnull=True),
                name="slot_fresh",
            ),
            models.Index(
                fields=["lease_until", "twin", "contributor"],
                condition=models.Q(open=True, lease_until__isnull=False),
                name="slot_leased",
            ),
            # For a queue that nobody has used yet, SQLite's statistics would show one holder (none)
            # for all slots, and it would scan all of them to find a person's slots.
            models.Index(
                fields=["holder", "answered_at"],
                condition=models.Q(holder__isnull=False),
                name="slot_of_judge",
            ),
            models.Index(
                fields=["job", "problem"],
                condition=models.Q(job__isnull=False),
                name="slot_of_job",
            ),
            models.Index(
                fields=["answered_at"], condition=~models.Q(origin=""), name="slot_with_origin"
            ),
            models.Index(
                fields=["holder"],
                condition=models.Q(provisional=True, excluded=False),
                name="slot_provisional",
            ),
        ]

    def __str__(self) -> str:
        return f"slot {self.n} of problem {self.problem_id}"


class Seen(models.Model):
    """A problem that a person has read, at least in part, as a judge or in a human test.

    Attributes:
        block: The key of the twin. If the site lets one person judge both halves, this is the
            negated key of the problem instead. A person may read each block once.
        spent: Whether the person has read the whole problem or skipped it, and so never gets it
            again. Otherwise, they know only its local context; they may get this half, but not the
            other.
    """

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="seen", db_index=False
    )
    block = models.BigIntegerField()
    twin = models.ForeignKey(
        "problems.Twin", models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    problem = models.ForeignKey(
        "problems.Problem", models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    spent = models.BooleanField(default=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "block"], name="seen_block")
        ]
        indexes: ClassVar = [
            models.Index(fields=["person", "twin", "problem", "spent"], name="seen_twin")
        ]

    def __str__(self) -> str:
        part = "" if self.spent else "in part "
        return f"problem {self.problem_id} was read {part}at {self.at:%Y-%m-%d %H:%M}"


class Skip(models.Model):
    class Reason(models.TextChoices):
        KNOWN = "known", _("I know this sentence")
        UNSURE = "unsure", _("I don’t understand the question")
        BROKEN = "broken", _("Something is wrong with the text")
        UPSETTING = "upsetting", _("It upsets me, or I’d rather not judge it")
        OTHER = "other", _("Another reason")

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="skips")
    problem = models.ForeignKey("problems.Problem", models.PROTECT, related_name="skips")
    reason = models.CharField(max_length=10, choices=Reason)
    comment = models.TextField(blank=True)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"problem {self.problem_id}: {self.get_reason_display()}"


class Judge(models.Model):
    """A person's state as a judge.

    Attributes:
        cursor: The queue position of the last fresh slot that the judge took.
        next_gold: The judge's next gold question; None until it is drawn.
        since: The start of measuring pace and gold questions; earlier answers are ignored.
        qualified: The time when the judge passed the training; None before, or without training.
        held: The time at which the judge's votes were put on hold, or None.
        cause: The reason for the hold.
        measured: The numbers that led to the hold.
        together: A label shared by judges who were put on hold as a group, or "".
        cleared: Whether a moderator ended a hold because of the judge's address, or counted their
            votes again. Afterwards, no vote waits or is excluded because of the address.
        job: The key of the judge's paid `Participation`.
        quota: The number of answers that the paid work needs; 0 when the work is over.
        provisional: Whether answers become votes only when a market confirms the judge's identity.
    """

    class Cause(models.TextChoices):
        PACE = "pace", _("answers faster than people can read")
        GOLD = "gold", _("gold questions answered incorrectly")
        ADDRESS = "address", _("several accounts at one address judged the same problem")
        TRAINING = "training", _("the training was not passed")
        MODERATOR = "moderator", _("a moderator decided so")

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="judging"
    )
    cursor = models.BigIntegerField(default=0)
    next_gold = models.ForeignKey(
        "problems.Problem", models.SET_NULL, null=True, related_name="+", db_index=False
    )
    since = models.DateTimeField(null=True)
    qualified = models.DateTimeField(null=True)
    held = models.DateTimeField(null=True, db_index=True)
    cause = models.CharField(max_length=10, choices=Cause, blank=True, default="")
    measured = models.JSONField(default=dict)
    together = models.CharField(max_length=16, blank=True, default="")
    cleared = models.BooleanField(default=False)
    job = models.PositiveBigIntegerField(null=True)
    quota = models.PositiveIntegerField(default=0)
    provisional = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"judge {self.pk}{', on hold' if self.held else ''}"


class Gold(models.Model):
    """A problem with a gold answer, which shows whether judges read carefully.

    Attributes:
        explanation: The reason for the answer, shown to judges who have answered.
        retired: Whether the question is no longer used; earlier answers to it are ignored.
    """

    problem = models.OneToOneField(
        "problems.Problem", models.PROTECT, primary_key=True, related_name="as_gold"
    )
    explanation = models.TextField()
    retired = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"gold question {self.pk}{', retired' if self.retired else ''}"


class Contest(models.Model):
    """A judge's objection to a gold question's answer, which a moderator settles.

    Attributes:
        upheld: Whether the judge was right; None until a moderator has decided.
    """

    slot = models.OneToOneField(Slot, models.PROTECT, related_name="contest")
    text = models.TextField()
    at = models.DateTimeField(default=timezone.now)
    upheld = models.BooleanField(null=True)
    settled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )
    settled_at = models.DateTimeField(null=True)
    answer = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.text[:60]}"


class Verdict(models.Model):
    """The result of the votes on a problem.

    Attributes:
        counts: The number of judges for each choice, in descending order, such as "2,1".
    """

    problem = models.OneToOneField(
        "problems.Problem", models.PROTECT, primary_key=True, related_name="verdict"
    )
    counts = models.CharField(max_length=60, db_index=True)
    valid = models.BooleanField()
    at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return f"{'valid' if self.valid else 'not valid'}, {self.counts}"


def lock_reading_record(person: Person) -> None:
    """Lock the record of the problems that a person has read, until the transaction ends.

    A judge's next problem, a test sheet or a page with one half is issued under this lock, so that
    two browser windows never show both halves of a twin.
    """
    Judge.objects.select_for_update().get_or_create(person=person)


def get_block_key(problem: Problem) -> int:
    """Return the value of `Seen.block` for a problem."""
    return -problem.pk if settings.RULES.both_halves else problem.twin_id


def mark_seen(person: Person, problems: Iterable[Problem], *, spent: bool = True) -> None:
    """Record that a person has read problems; only the first of each block is stored.

    `spent` is False if they have read only the local contexts.
    """
    rows = {}
    for problem in reversed(list(problems)):
        row = Seen(person=person, twin_id=problem.twin_id, problem=problem, spent=spent)
        row.block = get_block_key(problem)
        rows[row.block] = row
    if spent:  # a half read in full replaces a half whose local context was read
        parts = list(Seen.objects.filter(person=person, block__in=rows, spent=False))
        for part in parts:
            new = rows[part.block]
            part.spent, part.problem_id, part.at = True, new.problem_id, new.at
        Seen.objects.bulk_update(parts, ["spent", "problem", "at"])
    Seen.objects.bulk_create(rows.values(), ignore_conflicts=True)


def mark_spent(person: Person, slot: Slot) -> None:
    """Record that a judge was shown the whole problem assigned to them, or skipped it."""
    known = Seen.objects.filter(person=person, twin=slot.twin_id, problem=slot.problem_id)
    known.filter(spent=False).update(spent=True)


def mark_revision_seen(old: Twin, new: Twin) -> None:
    """Record everyone who has read a twin as a reader of its revision, whose halves must exist.

    Even if one person may judge both halves, readers of either old half get neither new half,
    because a revision may swap the halves. The same applies to readers of a local context.
    """
    people = set(Seen.objects.filter(twin=old).values_list("person", flat=True))
    halves = list(new.problems.order_by("pk"))
    known = {get_block_key(half): half for half in halves}
    Seen.objects.bulk_create(
        Seen(person_id=person, block=block, twin=new, problem=half)
        for person in people
        for block, half in known.items()
    )


def unseen_by(person: Person) -> models.Q:
    """Return a condition for slots whose twin a person has neither read nor written.

    A problem of which the person knows only the local context meets the condition, unless they have
    another slot on it. Its other half does not.

    The condition looks up twins and problems, not blocks, so that it stays correct if the site's
    rule on both halves changes. It is raw SQL because each vote needs it twice, and building it
    from `Exists` and `OuterRef` takes Django 1 ms more each time.
    """
    values = [person.pk, person.pk, not settings.RULES.both_halves]
    return models.Q(RawSQL(_UNSEEN, values, models.BooleanField()))  # noqa: S611 - a constant


_UNSEEN = """
    (judge_slot.contributor_id IS NULL OR judge_slot.contributor_id <> %s) AND NOT EXISTS (
        SELECT 1 FROM judge_seen seen
        WHERE seen.person_id = %s AND seen.twin_id = judge_slot.twin_id
        AND (%s OR seen.problem_id = judge_slot.problem_id)
        AND (seen.spent OR seen.problem_id <> judge_slot.problem_id OR EXISTS (
            SELECT 1 FROM judge_slot theirs
            WHERE theirs.holder_id = seen.person_id AND theirs.problem_id = judge_slot.problem_id
        ))
    )
"""


def mark_unpublished_seen(person: Person | None, shown: Iterable[Problem]) -> None:
    """Record that a person has read these problems, if a half of their twin is not yet public.

    They must not judge it, or take a human test with it. Rejected and withdrawn halves don't count.
    Nothing is recorded about anonymous visitors, because they never judge.
    """
    if person is None or person.anonymous:
        return
    problems = list(shown)
    twins = {problem.twin_id for problem in problems}
    # With a condition on the states, SQLite would scan all problems that are being judged.
    rows = Problem.objects.filter(twin__in=twins).values_list("twin", "state", "public", "gold")
    states = (State.HELD, State.JUDGING, State.VALID)
    twins = {twin for twin, state, public, gold in rows if gold or (state in states and not public)}
    blocks = {get_block_key(one): one for one in reversed(problems) if one.twin_id in twins}
    known = Seen.objects.filter(person=person, block__in=blocks, spent=True)
    if blocks and known.count() < len(blocks):
        with writing():
            lock_reading_record(person)
            mark_seen(person, blocks.values())

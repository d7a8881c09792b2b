"""Judging: who takes which problem, what they answered, and what they have read.

Nobody who knows one half of a twin judges the other. A judge reads the local context first. Who
lost the problem before they saw more (their lease ran out) knows that much and no more: the same
problem may come to them again, its other half never.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from winosmith.web._lock import writing
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, State, Twin


class Slots(models.QuerySet["Slot"]):
    """Slots, and which hold votes: the one place that says which votes count."""

    def votes(self) -> Slots:
        """Keep what was answered about problems that are judged; gold questions are none."""
        return self.filter(gold=False, open=False).exclude(answered_at=None)

    def counting(self) -> Slots:
        """Keep the votes that count."""
        return self.votes().filter(excluded=False, provisional=False)

    def waiting(self) -> Slots:
        """Keep the votes that wait for a moderator, or for a market."""
        return self.votes().filter(excluded=False, provisional=True)


class Slot(models.Model):
    """One place for one judge on one problem, with the answer that they gave there.

    A problem that k people shall judge has k slots; that is what keeps it from getting more votes.
    A slot is *open* until it is answered or its problem leaves judging. An open slot is *fresh*
    (never taken, no lease), *held* (its lease runs), or *returned* (its lease ran out).

    Attributes:
        n: 1, 2, … on each problem; of an answer to a gold question the number of the person.
        place: where it is in the queue: all slots of a problem next to each other.
        twin, contributor: the problem's, repeated so that the queue is read from its index alone.
        gold: its answer is known and is no vote.
        holder: who took it, or answered it.
        lease_until: until when nobody else gets it; long past where it was given back.
        ref: stands for the problem in the pages of who took it; drawn again each time
            that somebody takes it, so that it tells nothing of the problem, whatever that is.
        shown: the order in which the options stand for this judge.
        local_choice, choice: 0-based indices of options; None while unanswered, or for "neither".
        right: whether the answer to a gold question is the known one.
        excluded: a moderator took the vote out of the count, a market did not confirm it, or its
            address had as many votes on the problem as one may have (`trust._minority`).
        job: the number of the paid work that it is a part of; None if nobody is paid.
        provisional: answered, and it keeps its place, but it is no vote before a market confirms
            who gave it, or a moderator has looked at a judge who is held.
        origin: a digest of the address that it came from, for an hour or two; "" afterwards.
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
            # Of a queue that nobody has touched, SQLite's statistics would say that all slots have
            # one holder (none), and it would walk them all to find what somebody holds.
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
    """That a person has read a problem, or a part of it: to judge it, or in a human test.

    Attributes:
        block: what they may read once: the twin's number; where the site lets one person judge
            both halves, minus the problem's.
        spent: they had the problem before them whole, or passed it on, and never get it again.
            Until then they know its local context alone, and may be given this problem again,
            never its other half.
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
    """That a judge passed a problem on, and why."""

    class Reason(models.TextChoices):
        """Why somebody does not judge a problem."""

        KNOWN = "known", _("I know this sentence")
        UNSURE = "unsure", _("I can’t tell what is asked")
        BROKEN = "broken", _("Something is wrong with the text")
        UPSETTING = "upsetting", _("I don’t want to judge this one")
        OTHER = "other", _("Another reason")

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="skips")
    problem = models.ForeignKey("problems.Problem", models.PROTECT, related_name="skips")
    reason = models.CharField(max_length=10, choices=Reason)
    comment = models.TextField(blank=True)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"problem {self.problem_id}: {self.get_reason_display()}"


class Judge(models.Model):
    """Where a person is in the queue, and how far their votes are trusted.

    Attributes:
        cursor: the place of the last fresh slot that they took.
        next_gold: the gold question that comes next, whenever that is; None: to be drawn.
        since: pace and gold questions are measured over what was answered after this.
        qualified: when they passed the training; None before, or if none was asked.
        held: since when their votes wait for a moderator; None if they count at once.
        cause: why; `measured` has the numbers, `together` marks who is held with them.
        cleared: a moderator released them from a hold for their address, or let their votes count
            again; no vote of theirs waits or is omitted for their address from then on.
        job: the number of the paid work that they do, and of which their answers are a part.
        quota: how many answers that work asks for; 0 once it is over. They get no more.
        provisional: their answers are no votes before a market confirms who they are.
    """

    class Cause(models.TextChoices):
        """Why votes wait."""

        PACE = "pace", _("answers faster than people read")
        GOLD = "gold", _("gold questions answered incorrectly")
        ADDRESS = "address", _("several accounts of one address on the same problem")
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
        return f"judge {self.pk}{', held' if self.held else ''}"


class Gold(models.Model):
    """That a problem's answer is known: it is asked to see whether judges read with care.

    Attributes:
        explanation: why the answer is right; shown to each judge who answered.
        attention: the sentence itself says what to choose.
        retired: it is asked no more, and what was answered no longer counts.
    """

    problem = models.OneToOneField(
        "problems.Problem", models.PROTECT, primary_key=True, related_name="as_gold"
    )
    explanation = models.TextField()
    attention = models.BooleanField(default=False)
    retired = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"gold question {self.pk}{', retired' if self.retired else ''}"


class Contest(models.Model):
    """That a judge finds the known answer of a gold question wrong; a moderator settles it.

    Attributes:
        upheld: True if the judge was right; None until a moderator has looked.
        settled_at: when one had; None before, and of those settled before that was kept.
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
    """What the votes on a problem came to, when the last one was given.

    Attributes:
        counts: how many chose each option, and none of them, the most chosen first: "2,1".
    """

    problem = models.OneToOneField(
        "problems.Problem", models.PROTECT, primary_key=True, related_name="verdict"
    )
    counts = models.CharField(max_length=60, db_index=True)
    valid = models.BooleanField()
    at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return f"{'valid' if self.valid else 'not valid'}, {self.counts}"


def lock_reader(person: Person) -> None:
    """Let nobody give a person something else to read until the transaction ends.

    A judge's next problem, a sheet, and a page with one half are given under the same lock, so
    that two windows never bring the two halves of a twin.
    """
    Judge.objects.select_for_update().get_or_create(person=person)


def block_of(problem: Problem | Slot) -> int:
    """Return what a person may read once: the twin, or the problem where both halves are one's.

    Takes a problem, or a slot on it.
    """
    key = problem.problem_id if isinstance(problem, Slot) else problem.pk
    return -key if settings.RULES.both_halves else problem.twin_id


def note_seen(person: Person, problem: Problem | Slot, *, spent: bool = True) -> bool:
    """Write down that a person reads a problem; tell whether its block is new to them.

    Args:
        person: who reads.
        problem: a problem, or a slot on it.
        spent: they read it whole; otherwise its local context alone.
    """
    key = problem.problem_id if isinstance(problem, Slot) else problem.pk
    known, new = Seen.objects.get_or_create(
        person=person,
        block=block_of(problem),
        defaults={"twin_id": problem.twin_id, "problem_id": key, "spent": spent},
    )
    if spent and not known.spent:
        # A half whose local context they know gives way to what they read whole.
        known.spent, known.problem_id, known.at = True, key, timezone.now()
        known.save(update_fields=["spent", "problem", "at"])
    return new


def note_all(person: Person, problems: Iterable[Problem]) -> None:
    """Write down that a person reads many problems whole; of a block, the first one counts."""
    first: dict[int, Problem] = {}
    for problem in problems:
        first.setdefault(block_of(problem), problem)
    known = Seen.objects.filter(person=person, block__in=first, spent=False)
    parts = list(known.values_list("block", flat=True))
    Seen.objects.bulk_create(
        (
            Seen(person=person, block=block, twin_id=problem.twin_id, problem=problem)
            for block, problem in first.items()
        ),
        ignore_conflicts=True,
    )
    for block in parts:
        note_seen(person, first[block])


def note_whole(person: Person, slot: Slot) -> None:
    """Write down that a judge gets to see all of what they hold, or never wants to see it."""
    known = Seen.objects.filter(person=person, twin=slot.twin_id, problem=slot.problem_id)
    known.filter(spent=False).update(spent=True)


def inherit_seen(old: Twin, new: Twin) -> None:
    """Write down that who has read a twin knows its revision; call it once both halves are there.

    Where one person may judge both halves, they get neither of the new ones: which of the old
    halves they read, a revision may have turned round. So it is with who read a part.
    """
    people = set(Seen.objects.filter(twin=old).values_list("person", flat=True))
    halves = list(new.problems.order_by("pk"))
    known = {block_of(half): half for half in halves}
    Seen.objects.bulk_create(
        Seen(person_id=person, block=block, twin=new, problem=half)
        for person in people
        for block, half in known.items()
    )


def has_seen(person: Person, problem: Problem) -> bool:
    """Return whether a person has read the problem whole, or a half that gives it away."""
    rows = Seen.objects.filter(person=person, twin_id=problem.twin_id, spent=True)
    return (rows.filter(problem=problem) if settings.RULES.both_halves else rows).exists()


def unseen(person: Person) -> models.Q:
    """Return the condition that a slot is new to a person: neither read nor theirs.

    A problem of which they know the local context alone is new, unless they stand on another slot
    of it; its other half is not.

    It looks into the index of what they read, by twin and problem, so that the answer stays right
    when the site changes its mind about both halves. It is SQL because each vote needs it twice,
    and each time Django needs 1 ms more to build it from `Exists` and `OuterRef`.
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


def note_read(person: Person | None, shown: Iterable[Problem]) -> None:
    """Write down what somebody with an account reads of twins that still have a half to judge.

    Anonymous people never judge, so nothing is kept about them.
    """
    if person is None or person.anonymous:
        return
    halves = {half.twin_id: half for half in shown}
    # Asked for the states as well, SQLite would walk everything that is being judged.
    states = Problem.objects.filter(twin__in=halves).values_list("twin", "state")
    for twin in {twin for twin, state in states if state in (State.JUDGING, State.HELD)}:
        if not has_seen(person, halves[twin]):
            with writing():
                lock_reader(person)
                note_seen(person, halves[twin])

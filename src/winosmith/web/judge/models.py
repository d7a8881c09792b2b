"""Judging: the slots of a problem, the answers in them, and what each person has read.

Nobody who knows one half of a twin judges the other half. A judge reads the local context first. A
judge whose lease ran out at that point may get the same problem again, but never its other half.
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
    """Queries on slots; only these methods decide what is a vote, and which votes count."""

    def votes(self) -> Slots:
        """Return the answers on judged problems; answers to gold questions are not votes."""
        return self.filter(gold=False, open=False).exclude(answered_at=None)

    def counting(self) -> Slots:
        """Return the votes that count."""
        return self.votes().filter(excluded=False, provisional=False)

    def waiting(self) -> Slots:
        """Return the votes that wait for a moderator or a market."""
        return self.votes().filter(excluded=False, provisional=True)


class Slot(models.Model):
    """A place for one judge on one problem, with their answer.

    A problem that k people judge has k slots, so it can't get more votes. A slot is *open* until it
    is answered or its problem leaves judging. An open slot is *fresh* (never taken, no lease),
    *held* (its lease runs), or *returned* (its lease ran out).

    Attributes:
        n: 1, 2, … on each problem; the person's number for an answer to a gold question.
        place: the place in the queue; a problem's slots are next to each other.
        twin, contributor: copied from the problem, so that the queue is read from its index only.
        gold: the answer is known, and is not a vote.
        holder: the judge who took or answered it.
        lease_until: nobody else gets it before; long past if it was given back.
        ref: names the problem on the judge's pages; drawn at random each time that a judge takes
            the slot, so that it reveals nothing about the problem.
        shown: the order of the options on this judge's page.
        local_choice, choice: 0-based indices of options; None if unanswered, or for "neither".
        right: whether the answer to a gold question is correct.
        excluded: a moderator excluded the vote, a market did not confirm it, or its address had the
            most votes that one address may have on the problem (`trust._minority`).
        job: the number of the paid work that it belongs to; None if it is unpaid.
        provisional: it keeps its place but is not a vote before a market confirms the worker, or a
            moderator has checked a judge who is on hold.
        origin: a digest of the client's address, kept for up to two hours; "" afterwards.
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
    """That a person has read a problem, or a part of it, to judge it or in a human test.

    Attributes:
        block: what the person may read once: the twin's number, or minus the problem's number if
            the site lets one person judge both halves.
        spent: they read the whole problem, or skipped it, and never get it again. Otherwise they
            know only its local context: they may get this problem again, but never its other half.
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
    """That a judge skipped a problem, and why."""

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
    """A person's place in the queue, and whether their votes count.

    Attributes:
        cursor: the place of the last fresh slot that they took.
        next_gold: the gold question that they get next; None before it is drawn.
        since: answers before this time don't count for pace and gold questions.
        qualified: when they passed the training; None before, or without training.
        held: since when their votes wait for a moderator; None if votes count at once.
        cause: why; `measured` has the numbers, and `together` marks the judges held with them.
        cleared: a moderator ended a hold for their address, or counted their votes again; from then
            on no vote waits or is omitted for their address.
        job: the number of their paid work, to which their answers belong.
        quota: the number of answers that the work needs; 0 once it is over, and they get no more.
        provisional: their answers are not votes before a market confirms who they are.
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
    """A gold question: a problem with a known answer, which shows whether judges read carefully.

    Attributes:
        explanation: why the answer is correct; shown to each judge who answered.
        attention: the sentence itself names the option to choose.
        retired: no judge gets it any longer, and earlier answers to it don't count.
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
    """A judge's objection to the known answer of a gold question; a moderator settles it.

    Attributes:
        upheld: whether the judge was right; None until a moderator has decided.
        settled_at: when a moderator decided; None before, and for the oldest contests.
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
        counts: how many judges chose each option or neither, the largest number first: "2,1".
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
    """Lock a person's reading until the transaction ends.

    A judge's next problem, a sheet, and a page with one half are given under this lock, so that two
    windows never show both halves of a twin.
    """
    Judge.objects.select_for_update().get_or_create(person=person)


def block_of(problem: Problem | Slot) -> int:
    """Return what a person may read once: the twin, or the problem if one may judge both halves."""
    key = problem.problem_id if isinstance(problem, Slot) else problem.pk
    return -key if settings.RULES.both_halves else problem.twin_id


def note_seen(person: Person, problem: Problem | Slot, *, spent: bool = True) -> bool:
    """Record that a person reads a problem; return whether its block is new to them.

    Args:
        person: the reader.
        problem: a problem, or a slot on it.
        spent: they read the whole problem; otherwise only its local context.
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
    """Record that a person reads many whole problems; of a block, the first one counts."""
    first = {block_of(problem): problem for problem in reversed(list(problems))}
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
    """Record that a judge sees the whole problem of their slot, or skips it."""
    known = Seen.objects.filter(person=person, twin=slot.twin_id, problem=slot.problem_id)
    known.filter(spent=False).update(spent=True)


def inherit_seen(old: Twin, new: Twin) -> None:
    """Record that readers of a twin know its revision; call it once both new halves exist.

    If one person may judge both halves, readers of either old half get neither new half, because a
    revision may swap the halves. The same holds for readers of a local context.
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
    """Return the condition that a slot is new to a person: neither read nor written by them.

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
    """Record which twins with a half that is not judged yet a person with an account reads.

    Anonymous people never judge, so nothing is stored about them.
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

"""Judging: who takes which problem, what they answered, and what they have read."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Slots(models.QuerySet["Slot"]):
    """Slots, and which of them hold votes: the one place that says which votes count."""

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
        place: where it stands in the queue: all slots of a problem beside each other.
        twin, contributor: the problem's, repeated so that the queue is read from its index alone.
        gold: its answer is known and is no vote.
        holder: who took it, or answered it.
        lease_until: until when nobody else gets it; long past where it was given back.
        ref: stands for the problem in the pages of who took it; drawn anew each time
            that somebody takes it, so that it tells nothing of the problem, whatever that is.
        shown: the order in which the options stand for this judge.
        local_choice, choice: 0-based indices of options; None while unanswered, or for "neither".
        right: whether the answer to a gold question is the known one.
        excluded: a moderator took the vote out of the count, a market did not confirm it, or its
            address had as many votes on the problem as one may have (`trust._minority`).
        job: the number of the paid work that it is a part of; None where nobody is paid.
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
            Until then they know its local context alone, and may be given this problem once more,
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
    """Where a person stands in the queue, and how far their votes are trusted.

    Attributes:
        cursor: the place of the last fresh slot that they took.
        next_gold: the gold question that comes next, whenever that is; None: to be drawn.
        since: pace and gold questions are measured over what was answered after this.
        qualified: when they passed the training; None before, or where none was asked.
        held: since when their votes wait for a moderator; None where they count at once.
        cause: why; `measured` has the figures, `together` marks who is held with them.
        cleared: a moderator released them from a hold for their address, or let their votes count
            again; no vote of theirs waits or is left out for their address from then on.
        job: the number of the paid work that they do, and of which their answers are a part.
        quota: how many answers that work asks for; 0 once it is over. They get no more.
        provisional: their answers are no votes before a market confirms who they are.
    """

    class Cause(models.TextChoices):
        """Why votes wait."""

        PACE = "pace", _("answers faster than sentences are read")
        GOLD = "gold", _("questions with a known answer went wrong")
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
        upheld: True where the judge was right; None until a moderator has looked.
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

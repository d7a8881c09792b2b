"""Database models for studies on crowd markets; only `Identity` contains the markets' ids."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

SPARE_FRACTION, MIN_SPARE = 0.5, 5
"""Maximum number of extra people who may start a study: a fraction of its places, and a minimum.
Markets replace people who return the submission or run out of time. Ids in links are not signed, so
without a limit anyone with a link could start any number of times with invented ids."""


MAX_PLACES = 100_000

_IS_AMOUNT = MinValueValidator(0)
_IS_CURRENCY = RegexValidator(r"^[A-Za-z]{3}\Z", _("Use a currency code, such as GBP."))
_IS_CODE = RegexValidator(r"^[A-Za-z0-9-]+\Z", _("Use only letters, digits and -."))

ID_PURPOSE = "market ids"
"""Encryption purpose of `Identity.sealed`."""


class Study(models.Model):
    """A paid study, whose workers come from a crowd market through a secret link.

    Attributes:
        name: The name for admins; workers never see it.
        provider: The market; one of `studies.PROVIDERS`.
        amount: The number of problems to judge, or twins to write.
        places: The number of people that the market recruits.
        reward: The reward for all of the work, in `currency`.
        minutes: The expected time in minutes.
        least_wage: The hourly pay below which the ledger warns; None for no warning.
        code: The completion code for completed work; empty if codes are individual.
        short_code: The code if the work ran out early, or "".
        short_reward: The market's reward for that code; None if the market pays nothing.
        market_study: The market's id of the study, which links must contain; empty for any.
        digest: The digest of the link's secret part, from which nobody can recover the link.
        unmatched: The payments in the market's last export to people who never started on the site.
        replaced: The digests of earlier links, one per line.
        trust: Whether votes are included immediately, without the market's confirmation.
        invited_only: Whether only people whose ids are listed are admitted.
    """

    class Kind(models.TextChoices):
        JUDGE = "judge", _("judging problems")
        WRITE = "write", _("writing twins")

    name = models.SlugField(max_length=40, unique=True)
    provider = models.CharField(max_length=10)
    kind = models.CharField(max_length=10, choices=Kind)
    amount = models.PositiveIntegerField()
    places = models.PositiveIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(MAX_PLACES)]
    )
    reward = models.DecimalField(max_digits=8, decimal_places=2, validators=[_IS_AMOUNT])
    currency = models.CharField(max_length=3, validators=[_IS_CURRENCY])
    minutes = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    least_wage = models.DecimalField(
        max_digits=8, decimal_places=2, null=True, blank=True, validators=[_IS_AMOUNT]
    )
    code = models.CharField(max_length=40, blank=True, validators=[_IS_CODE])
    short_code = models.CharField(max_length=40, blank=True, validators=[_IS_CODE])
    short_reward = models.DecimalField(
        max_digits=8, decimal_places=2, null=True, blank=True, validators=[_IS_AMOUNT]
    )
    market_study = models.CharField(max_length=64, blank=True)
    digest = models.CharField(max_length=64, unique=True)
    replaced = models.TextField(blank=True)
    trust = models.BooleanField(default=False)
    invited_only = models.BooleanField(default=False)
    created = models.DateTimeField(default=timezone.now)
    closed = models.DateTimeField(null=True)
    unmatched = models.DecimalField(max_digits=10, decimal_places=2, default=0)

    def __str__(self) -> str:
        return self.name

    @property
    def max_starts(self) -> int:
        """Return the maximum number of people who may start, including those who leave."""
        return self.places + max(MIN_SPARE, math.ceil(SPARE_FRACTION * self.places))


class Screen(models.Model):
    """An entry of a study's list of admitted or excluded workers."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="screens", db_index=False)
    digest = models.CharField(max_length=64)
    allowed = models.BooleanField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "digest", "allowed"], name="screened_once")
        ]

    def __str__(self) -> str:
        return "admitted" if self.allowed else "excluded"


class Participation(models.Model):
    """A worker's participation in a study; its key is the `job` of the worker's answers.

    Attributes:
        person: The person created for this study. Texts that the worker read in earlier studies
            count as read.
        browser: A digest of an identifier in the worker's browser; only that browser can continue.
        verdict: The market's decision in its last export.
        said: The market's status in that export.
        seconds: The duration of the work, set when the work ends.
        market_seconds: The duration of the work, as measured by the market.
        paid: The market's reward, without bonuses, in the study's currency.
    """

    class State(models.TextChoices):
        WORKING = "working", _("at work")
        COMPLETE = "complete", _("all done")
        SHORT = "short", _("ended early, because no work was left")
        LEFT = "left", _("left the study")

    class Verdict(models.TextChoices):
        WAITING = "waiting", _("not confirmed yet")
        APPROVED = "approved", _("approved")
        REJECTED = "rejected", _("rejected")
        RETURNED = "returned", _("returned or timed out")

    study = models.ForeignKey(Study, models.PROTECT, related_name="participations")
    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="participation"
    )
    browser = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.WORKING)
    verdict = models.CharField(max_length=10, choices=Verdict, default=Verdict.WAITING)
    said = models.CharField(max_length=30, blank=True)
    seconds = models.PositiveIntegerField(null=True)
    market_seconds = models.PositiveIntegerField(null=True)
    paid = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    began = models.DateTimeField(default=timezone.now)
    ended = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["browser"], name="participation_browser")]

    def __str__(self) -> str:
        return f"participation {self.pk}, {self.get_state_display()}"

    @property
    def total_bonus(self) -> Decimal:
        return sum((payment.amount for payment in self.payments.all()), Decimal("0.00"))


class Payment(models.Model):
    """A bonus in the ledger; payments are added but never changed.

    Attributes:
        key: The payment's id; the same id in another file is the same payment.
        amount: The amount in the study's currency, above 0.
    """

    study = models.ForeignKey(Study, models.PROTECT, related_name="payments", db_index=False)
    participation = models.ForeignKey(Participation, models.PROTECT, related_name="payments")
    key = models.CharField(max_length=64)
    amount = models.DecimalField(max_digits=8, decimal_places=2)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "key"], name="payment_once")
        ]

    def __str__(self) -> str:
        return f"payment {self.key}: {self.amount}"


class Identity(models.Model):
    """The encrypted id of a worker or a submission on a market; no other table has these ids.

    Attributes:
        digest: The keyed digest of the provider, the kind and the id, for look-ups.
        sealed: The encrypted id; empty after the retention time.
        at_work: Whether the worker is active; they can be active in only one study.
    """

    class Kind(models.TextChoices):
        WORKER = "worker", _("worker")
        SUBMISSION = "submission", _("submission")

    study = models.ForeignKey(Study, models.CASCADE, related_name="+", db_index=False)
    participation = models.ForeignKey(Participation, models.CASCADE, related_name="identities")
    kind = models.CharField(max_length=10, choices=Kind)
    digest = models.CharField(max_length=64, db_index=True)
    sealed = models.TextField()
    at_work = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "kind", "digest"], name="identity_once"),
            models.UniqueConstraint(
                fields=["digest"], condition=models.Q(at_work=True), name="identity_at_work"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of participation {self.participation_id}"


JUDGE, WRITE = map(Study.Kind, ("judge", "write"))
WORKING, COMPLETE, SHORT, LEFT = map(Participation.State, ("working", "complete", "short", "left"))
WAITING, APPROVED, REJECTED, RETURNED = map(
    Participation.Verdict, ("waiting", "approved", "rejected", "returned")
)
WORKER, SUBMISSION = map(Identity.Kind, ("worker", "submission"))

UNUSED_VERDICTS = (REJECTED, RETURNED)
"""Verdicts of submissions whose votes are not used."""

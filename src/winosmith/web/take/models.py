"""Human tests online: rounds with their sheets, respondents, and answers."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from winosmith.web.people.models import split_paragraphs


class Round(models.Model):
    """A human test of a data set.

    Attributes:
        title: The title at the top of each sheet.
        data: The digest of the problems, without their answers.
        seed: Random seed for the halves, the orders, and the assignment of sheets.
        consent: The text that people agree to before they get a sheet; it never changes.
        figures: Results of `humans.compute_results`; None before closing, or if nobody answered.
    """

    class State(models.TextChoices):
        OPEN = "open", _("open")
        CLOSED = "closed", _("closed")

    name = models.SlugField(max_length=40, unique=True)
    title = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    data = models.CharField(max_length=64)
    seed = models.BigIntegerField(default=0)
    consent = models.TextField()
    figures = models.JSONField(null=True)
    created = models.DateTimeField(default=timezone.now)
    closed = models.DateTimeField(null=True)
    published = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name}, {self.get_state_display()}"

    def get_consent_paragraphs(self) -> list[tuple[bool, str]]:
        """Return the consent text's paragraphs, each with a flag that marks headings."""
        return split_paragraphs(self.consent)


class Material(models.Model):
    """A problem in a round's data, at position `place`. Some of these problems are on no sheet."""

    round = models.ForeignKey(Round, models.PROTECT, related_name="materials", db_index=False)
    problem = models.ForeignKey("problems.Problem", models.PROTECT, related_name="+")
    place = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["round", "place"], name="material_place"),
            models.UniqueConstraint(fields=["round", "problem"], name="material_problem"),
        ]


class Sheet(models.Model):
    """A sheet of questions: a round's test in one of its orders.

    Attributes:
        code: The code made by `humans.Sheet` from the items and their order.
        test: "a" or "b" (a half of each schema), or "common".
        record: The record from `humans.make_sheet_record`.
    """

    round = models.ForeignKey(Round, models.PROTECT, related_name="sheets", db_index=False)
    code = models.CharField(max_length=40)
    test = models.CharField(max_length=10)
    order = models.PositiveIntegerField()
    record = models.JSONField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["round", "code"], name="sheet_code"),
            models.UniqueConstraint(fields=["round", "test", "order"], name="sheet_order"),
        ]

    @property
    def question_count(self) -> int:
        return len(self.record["items"])


class Subject(models.Model):
    """A respondent. Only this table links the respondent's code to the person.

    Attributes:
        person: The person; None once they are erased. The answers are kept anonymously.
        code: A random code for the results, unrelated to the person's other names.
        agreed: The time when the person agreed to the round's consent text.
        native: Whether English is the person's first language; None if they did not say.
    """

    round = models.ForeignKey(Round, models.PROTECT, related_name="subjects", db_index=False)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="subject_of"
    )
    code = models.CharField(max_length=16, unique=True)
    agreed = models.DateTimeField(default=timezone.now)
    native = models.BooleanField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["round", "person"], name="subject_once")
        ]


class Sitting(models.Model):
    """The assignment of a sheet to a respondent, and their progress.

    Attributes:
        ref: A random reference for URLs.
        state: The state, as in `humans.Assignment`; in every state, the person has seen the sheet.
        at: The number of the next question; at the end, the number of questions plus 1.
        given: The time of the assignment; None after the retention period.
        ended: The time of submission or abandonment; None before, or after the retention period.
        pace: The median number of seconds between answers; None before submission, or after the
            retention period.
        held: Whether the sheet was filled in faster than people read, and is excluded from results
            until a moderator (`looked_by`) approves it.
    """

    class State(models.TextChoices):
        GIVEN = "given", _("in progress")
        DONE = "done", _("submitted")
        DROPPED = "dropped", _("abandoned")

    ref = models.CharField(max_length=32, unique=True)
    subject = models.ForeignKey(Subject, models.PROTECT, related_name="sittings")
    sheet = models.ForeignKey(Sheet, models.PROTECT, related_name="sittings")
    state = models.CharField(max_length=10, choices=State, default=State.GIVEN)
    at = models.PositiveIntegerField(default=1)
    given = models.DateTimeField(null=True, default=timezone.now)
    ended = models.DateTimeField(null=True)
    pace = models.FloatField(null=True)
    held = models.BooleanField(default=False)
    looked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["subject", "sheet"], name="sitting_once"),
            models.UniqueConstraint(
                fields=["subject"], condition=models.Q(state="given"), name="sitting_out"
            ),
        ]


class Answer(models.Model):
    """An answer to a question, and the time for which the question was shown.

    Attributes:
        letter: The letter of an option, or "X"; empty if the question was only shown.
        seconds: The number of seconds for which the question was shown; None after the retention
            period.
    """

    sitting = models.ForeignKey(Sitting, models.CASCADE, related_name="answers", db_index=False)
    number = models.PositiveIntegerField()
    letter = models.CharField(max_length=1, blank=True)
    seconds = models.FloatField(null=True, default=0.0)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["sitting", "number"], name="answer_number")
        ]


class Remark(models.Model):
    """A respondent's note: a text that they know, or a word that they looked up.

    Attributes:
        number: The number of the question; None if the note names no question.
    """

    class Kind(models.TextChoices):
        RECOGNISED = "recognised", _("a text that you know")
        WORD = "word", _("a word that you looked up")

    sitting = models.ForeignKey(Sitting, models.CASCADE, related_name="remarks")
    kind = models.CharField(max_length=10, choices=Kind)
    number = models.PositiveIntegerField(null=True)
    text = models.CharField(max_length=200)

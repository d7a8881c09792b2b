"""Sheets of human tests: assignment, answers, submission, and the respondent's data.

A person knows a round's problems if they read, judged, wrote or answered them earlier. Answers are
stored one by one, with their times. The times are deleted after the retention period.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core import signing
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from winosmith import humans
from winosmith.errors import DataError, InputError
from winosmith.problem import BLANK
from winosmith.web._lock import writing
from winosmith.web.judge.models import Seen, lock_reading_record, mark_seen
from winosmith.web.judge.turns import get_current_slot
from winosmith.web.judge.votes import return_slot
from winosmith.web.pages import is_number
from winosmith.web.people.news import MAX_ITEMS, Item, Work
from winosmith.web.problems.models import Problem, Twin
from winosmith.web.take.models import Answer, Material, Remark, Round, Sheet, Sitting, Subject

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


SECONDS_PER_QUESTION = 18.3
"""Mean number of seconds per question. See Davis, Morgenstern & Ortiz (2016, section 4)."""


def estimate_minutes(question_count: int) -> int:
    """Estimate the minutes needed for a number of questions; at least 1.

    >>> estimate_minutes(89)
    27
    """
    return max(1, round(question_count * SECONDS_PER_QUESTION / 60))


def read_sheet(row: Sheet) -> humans.Sheet:
    return humans.parse_sheet(row.record)


def get_problem_ids(sheets: Iterable[Sheet]) -> set[str]:
    return {item["problem"] for sheet in sheets for item in sheet.record["items"]}


def get_instructions(sheet: humans.Sheet) -> dict[str, Any]:
    kind = humans.get_text_kind(sheet)
    return humans.make_instructions(kind, (), on_paper=False, unsupervised=True)


def _annotate_family(rows: QuerySet[Problem]) -> QuerySet[Problem]:
    """Annotate problems with `kin`: the twin of the root if perturbed, otherwise their own twin."""
    return rows.annotate(kin=Coalesce(F("version__root__twin"), F("twin")))


def find_known_problems(person: Person, round_: Round) -> set[str]:
    """Find the ids of a round's problems that a person has seen or whose answer they may know.

    The person knows all problems of a twin or family if they wrote or read one of these problems
    (`judge.models.Seen`), even if they read only its local context.
    """
    asked = Problem.objects.filter(pk__in=Material.objects.filter(round=round_).values("problem"))
    family_of = dict(_annotate_family(asked).values_list("ref", "kin"))
    read = Seen.objects.filter(person=person).values("twin")
    own = Twin.objects.filter(contributor=person).values("pk")
    met = _annotate_family(Problem.objects.filter(Q(twin__in=read) | Q(twin__in=own)))
    families = set(met.values_list("kin", flat=True))
    return {ref for ref, family in family_of.items() if family in families}


def record_reading(person: Person, sheet: Sheet) -> None:
    """Record that a person reads a sheet, so that they won't judge its twins.

    The other halves are also recorded, even if the site lets one person judge both halves, because
    a test reveals more than a judgement does.
    """
    asked = get_problem_ids([sheet])
    twins = set(Problem.objects.filter(ref__in=asked).values_list("twin", flat=True))
    halves = sorted(Problem.objects.filter(twin__in=twins), key=lambda row: row.ref not in asked)
    mark_seen(person, halves)


CODE_CHARACTERS = "23456789BCDFGHJKLMNPQRSTVWXZ"
"""Characters of respondents' codes, chosen so that they don't look alike or form words."""

MAX_NOTE_LENGTH = 200
"""Maximum number of characters of a note."""


def may_take_tests(person: Person | None) -> bool:
    return person is not None and not person.anonymous and person.is_active and not person.erased


def get_unfinished_sitting(person: Person) -> Sitting | None:
    """Return the sheet, from any round, that a person is filling in, or None.

    Until the person submits or abandons it, they get no other sheet and no problem to judge.
    """
    rows = Sitting.objects.filter(subject__person=person, state=Sitting.State.GIVEN)
    return rows.select_related("subject__round", "sheet").first()


def assign_sheet(person: Person, round_: Round, *, native: bool | None = None) -> Sitting:
    """Assign a sheet of a round to a person, or return the one that they are filling in.

    The person thereby agrees to the round's consent text, and the time is stored. A problem that
    the person was given but has not judged yet goes back to the queue. `native` is whether
    English is the person's first language; None if they don't say.
    """
    if not may_take_tests(person):
        raise InputError(_("You need an account to take a test; log in first."))
    with writing():
        lock_reading_record(person)
        out = get_unfinished_sitting(person)
        if out is not None and out.subject.round_id == round_.pk:
            return out
        if out is not None:
            raise InputError(
                _("You have an unfinished sheet from another test; finish or leave it first.")
            )
        round_ = Round.objects.select_for_update(no_key=True).get(pk=round_.pk)
        sheet = choose_sheet(person, round_)
        slot = get_current_slot(person)
        if slot is not None:
            return_slot(slot)
        subject = Subject.objects.filter(round=round_, person=person).first()
        while subject is None:
            code = "S" + "".join(secrets.choice(CODE_CHARACTERS) for _ in range(6))
            if not Subject.objects.filter(code=code).exists():
                subject = Subject.objects.create(round=round_, person=person, code=code)
        if native is not None:
            subject.native = native
            subject.save(update_fields=["native"])
        record_reading(person, sheet)
        return Sitting.objects.create(ref=secrets.token_hex(8), subject=subject, sheet=sheet)


def choose_sheet(person: Person, round_: Round) -> Sheet:
    """Choose the next sheet for a person with `humans.assign`, given all earlier assignments.

    Raises an InputError if the round is closed, or if the person knows part of each of its tests.
    """
    if round_.state != Round.State.OPEN:
        raise InputError(_("This test is closed."))
    rows = {sheet.code: sheet for sheet in round_.sheets.order_by("pk")}
    met = find_known_problems(person, round_)
    spoilt = {sheet.test for sheet in rows.values() if get_problem_ids([sheet]) & met}
    free = [read_sheet(sheet) for sheet in rows.values() if sheet.test not in spoilt]
    assigned = Sitting.objects.order_by("pk").values_list(
        "subject__person", "subject", "sheet__code", "state"
    )
    own = Sheet.objects.filter(sittings__subject__person=person)
    ledger = humans.Ledger(
        tuple(
            humans.Assignment(_make_ledger_name(who, row), code, state)
            for who, row, code, state in assigned
        ),
        {sheet.code: read_sheet(sheet) for sheet in (*rows.values(), *own)},
    )
    mark = _make_ledger_name(person.pk, 0)
    try:
        assignment = humans.assign(ledger, free, mark, new_sheet=True, seed=round_.seed)
    except DataError:
        raise InputError(
            _(
                "You can’t take this test: you have already taken part of it, or have read or "
                "written some of its texts on this site."
            )
        ) from None
    return rows[assignment[1].code]


def _make_ledger_name(person_id: int | None, subject_id: int) -> str:
    """Return a person's internal name in the ledger, which is the same in all rounds."""
    return f"x{subject_id}" if person_id is None else f"p{person_id}"


MIN_ANSWERS = 5
"""Minimum number of answers for which a sheet's pace is measured."""

MAX_UNSEEN_SECONDS = 600.0
"""Maximum number of seconds recorded for a page view if no script reports its visible time."""

_SALT = "take.shown"


def sign_time_shown(sitting: Sitting, number: int) -> str:
    """Return a signed token that contains the current time, at which the question is shown."""
    return signing.dumps([sitting.pk, number, time.time()], salt=_SALT)


def measure_time_shown(token: str, visible_seconds: str, sitting: Sitting, number: int) -> float:
    """Return the number of seconds for which a question was visible before its form was submitted.

    `token` is from `sign_time_shown`. If it is invalid or belongs to another question, the result
    is 0. The page's script reports `visible_seconds`. Without a script, it is "", and the result is
    the whole time, up to `MAX_UNSEEN_SECONDS`.
    """
    try:
        of, at, shown = signing.loads(token, salt=_SALT)
        visible = float(visible_seconds or MAX_UNSEEN_SECONDS)
    except (signing.BadSignature, ValueError, TypeError):
        return 0.0
    if [of, at] != [sitting.pk, number] or not math.isfinite(visible):
        return 0.0
    return max(0.0, min(visible, time.time() - shown))


def measure_pace(sitting: Sitting) -> float | None:
    """Return the median number of seconds between a sheet's answers, by the server's clock.

    The first interval starts when the sheet was assigned. The result is None for fewer than
    `MIN_ANSWERS` answers.
    """
    times = sorted(sitting.answers.exclude(letter="").values_list("at", flat=True))
    if sitting.given is None or len(times) < MIN_ANSWERS:
        return None
    gaps = pairwise([min(sitting.given, times[0]), *times])
    return round(median((later - earlier).total_seconds() for earlier, later in gaps), 1)


MAX_REMARKS = 200
"""Maximum number of notes on a sheet."""


class SheetClosedError(InputError):
    """The sheet was submitted or abandoned, or the round was closed."""


def _lock_sitting(person: Person, ref: str) -> Sitting:
    rows = Sitting.objects.select_for_update(of=("self",)).select_related("sheet", "subject__round")
    sitting = rows.filter(ref=ref, subject__person=person).first()
    if sitting is None or sitting.state != Sitting.State.GIVEN:
        raise SheetClosedError(
            _(
                "You can no longer fill in this sheet: it was submitted or abandoned, or the "
                "test is over."
            )
        )
    return sitting


def store_answer(
    person: Person, ref: str, number: int, letter: str, seconds: float, *, to: int | None = None
) -> Sitting:
    """Store or replace an answer, and add the seconds for which the question was shown.

    The letter is "A", "B", … or "X"; "" keeps the earlier answer. `to` is the number of the next
    question; None to stay. Raises a SheetClosedError if the sheet is closed, or an InputError if
    there is no such question or answer.
    """
    with writing():
        sitting = _lock_sitting(person, ref)
        sheet = read_sheet(sitting.sheet)
        letter = letter.strip().upper()
        if letter:
            sheet[number].get_option_index(letter)
        row, _new = Answer.objects.get_or_create(sitting=sitting, number=sheet[number].number)
        if letter and letter != row.letter:
            row.letter, row.at = letter, timezone.now()
        row.seconds = (row.seconds or 0.0) + seconds
        row.save(update_fields=["letter", "at", "seconds"])
        sitting.at = number if to is None else min(max(1, to), len(sheet) + 1)
        sitting.save(update_fields=["at"])
        return sitting


def store_question_note(person: Person, ref: str, number: int, kind: str, text: str) -> None:
    """Store a note on a question's page, like `add_note`; an empty text deletes the note."""
    with writing():
        sitting, text = _lock_and_clean_text(person, ref, number, text)
        rows = Remark.objects.filter(sitting=sitting, kind=kind, number=number)
        if not text:
            rows.delete()
        elif not rows.update(text=text):
            _add_remark(sitting, kind, number, text)


def add_note(person: Person, ref: str, kind: str, number: str, text: str) -> None:
    """Add a note (`Remark`) at the end of a sheet.

    `number` is a question's number as typed, or "". Raises a SheetClosedError if the sheet is
    closed.
    """
    number = number.strip()
    if number and not is_number(number, 4):
        raise InputError(_("Write the number of the question, or leave it empty."))
    question = int(number) if number else None
    with writing():
        sitting, text = _lock_and_clean_text(person, ref, question, text)
        if not text:
            raise InputError(_("Fill in both fields, or leave both empty."))
        _add_remark(sitting, kind, question, text)


def _lock_and_clean_text(
    person: Person, ref: str, number: int | None, text: str
) -> tuple[Sitting, str]:
    sitting = _lock_sitting(person, ref)
    if number is not None:
        read_sheet(sitting.sheet)[number]
    text = " ".join(text.split())
    if len(text) > MAX_NOTE_LENGTH or not text.isprintable():
        raise InputError(_("Write at most %d characters.") % MAX_NOTE_LENGTH)
    return sitting, text


def _add_remark(sitting: Sitting, kind: str, number: int | None, text: str) -> None:
    if kind not in Remark.Kind.values:
        raise InputError(_("This kind of note is not supported."))
    if sitting.remarks.count() >= MAX_REMARKS:
        raise InputError(_("You already have %d notes.") % MAX_REMARKS)
    Remark.objects.create(sitting=sitting, kind=kind, number=number, text=text)


def remove_note(person: Person, ref: str, key: str) -> None:
    with writing():
        sitting = _lock_sitting(person, ref)
        if is_number(key):
            sitting.remarks.filter(pk=int(key)).delete()


def submit_sheet(person: Person, ref: str) -> Sitting:
    """Submit a sheet; after that, it can't be changed, even if questions are unanswered.

    A sheet with a median of less than `SiteRules.hold_pace_seconds` per question is put on hold. It
    is excluded from results until a moderator approves it.
    """
    with writing():
        sitting = _lock_sitting(person, ref)
        sitting.state, sitting.ended = Sitting.State.DONE, timezone.now()
        sitting.pace = measure_pace(sitting)
        least = settings.RULES.hold_pace_seconds
        sitting.held = sitting.pace is not None and sitting.pace < least
        sitting.save(update_fields=["state", "ended", "pace", "held"])
        return sitting


def give_up_sheet(person: Person, ref: str) -> Sitting:
    """Abandon an open sheet, so that others can take it; its problems still count as read."""
    with writing():
        sitting = _lock_sitting(person, ref)
        sitting.state, sitting.ended = Sitting.State.DROPPED, timezone.now()
        sitting.save(update_fields=["state", "ended"])
        return sitting


def iter_test_news(person: Person, after: datetime) -> Iterator[Item]:
    if not may_take_tests(person):
        return
    rows = Round.objects.filter(state=Round.State.OPEN, created__gt=after)
    for round_ in rows.exclude(subjects__person=person).order_by("-created")[:MAX_ITEMS]:
        to = reverse("take:about", args=[round_.name])
        yield Item(round_.created, _("A new test: %s") % round_.title, to)


def iter_test_reminders(person: Person) -> Iterator[Work]:
    out = get_unfinished_sitting(person)
    if out is not None:
        left = out.sheet.question_count - out.answers.exclude(letter="").count()
        text = ngettext(
            "You started a test: %d question remains",
            "You started a test: %d questions remain",
            left,
        )
        yield Work(text % left, reverse("take:sheet", args=[out.ref]))


def erase_subject(person: Person, texts: bool) -> None:
    """Unlink an erased person from their codes; the answers are kept anonymously.

    The person's times and notes are deleted. A sheet that they are filling in is abandoned. If
    `texts`, their unreleased sentences are also blanked on all sheets.
    """
    subjects = Subject.objects.filter(person=person).select_related("round")
    sittings = Sitting.objects.filter(subject__in=subjects)
    sittings.filter(state=Sitting.State.GIVEN).update(state=Sitting.State.DROPPED)
    sittings.update(given=None, ended=None, pace=None)
    Answer.objects.filter(sitting__in=sittings).update(seconds=None)
    Remark.objects.filter(sitting__in=sittings).delete()
    for subject in subjects:
        subject.person = None
        subject.save(update_fields=["person"])
        if figures := subject.round.figures:
            for part in ("recognised", "words", "pace"):
                figures[part] = [e for e in figures.get(part, ()) if e["subject"] != subject.code]
            subject.round.save(update_fields=["figures"])
    if not texts:
        return
    erased = Problem.objects.filter(twin__contributor=person, released=False)
    gone = set(erased.values_list("ref", flat=True))
    rounds = Round.objects.filter(materials__problem__ref__in=gone).distinct()
    for sheet in Sheet.objects.filter(round__in=rounds):
        for item in sheet.record["items"]:
            if item["problem"] in gone:
                item["text"] = item["snippet"] = ["", BLANK, ""]
                for at, option in enumerate(item["options"], start=1):
                    option["text"] = str(at)
        sheet.save(update_fields=["record"])  # its code stays the same, because it ignores texts
    for round_ in rounds.filter(figures__isnull=False):
        for item in (item for test in round_.figures.get("tests", ()) for item in test["items"]):
            if item["problem"] in gone:
                item["reading"] = ""
        round_.save(update_fields=["figures"])


def delete_old_times(_now: datetime, cutoff: datetime) -> int:
    with writing():
        changed = Answer.objects.filter(at__lt=cutoff, seconds__isnull=False).update(seconds=None)
        Sitting.objects.filter(ended__lt=cutoff).update(given=None, ended=None, pace=None)
        for round_ in Round.objects.filter(closed__lt=cutoff, figures__isnull=False):
            if round_.figures.get("pace"):
                round_.figures["pace"] = []
                round_.save(update_fields=["figures"])
        return changed


def is_taking_test(person: Person) -> bool:
    return Sitting.objects.filter(subject__person=person, state=Sitting.State.GIVEN).exists()


def export_tests(person: Person) -> list[dict[str, Any]]:
    rows = Sitting.objects.filter(subject__person=person).order_by("pk")
    return [
        {
            "round": row.subject.round.name,
            "code": row.subject.code,
            "agreed": row.subject.agreed,
            "native": row.subject.native,
            "sheet": row.sheet.code,
            "state": row.state,
            "given": row.given,
            "ended": row.ended,
            "seconds_a_question": row.pace,
            "held_for_its_pace": row.held,
            "answers": [
                {"question": a.number, "letter": a.letter, "seconds": a.seconds, "at": a.at}
                for a in row.answers.order_by("number")
            ],
            "noted": [
                {"kind": r.kind, "question": r.number, "text": r.text}
                for r in row.remarks.order_by("pk")
            ],
        }
        for row in rows.select_related("subject__round", "sheet")
    ]

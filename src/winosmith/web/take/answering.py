"""Answers are stored one by one, with their times; a sheet is handed in, or given up."""

from __future__ import annotations

import math
import time
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from django.conf import settings
from django.core import signing
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.take.models import Answer, Remark, Sitting
from winosmith.web.take.sheets import LONGEST, sheet_of

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


FEWEST = 5
"""Answers that a sheet must have before its pace says anything."""

LONGEST_UNSEEN = 600.0
"""Seconds that count at most where no script tells when the page was hidden or left open."""

_SALT = "take.shown"


def mark_shown(sitting: Sitting, number: int) -> str:
    """Return what a question's page carries: when it was shown; nobody else can make it."""
    return signing.dumps([sitting.pk, number, time.time()], salt=_SALT)


def seconds_seen(mark: str, told: str, sitting: Sitting, number: int) -> float:
    """Return the seconds that are to be counted for one look at a question.

    Args:
        mark: from `mark_shown`.
        told: the seconds in which the page was visible, by its script; "" without one, and then
            all that passed counts, up to `LONGEST_UNSEEN`.
        sitting: where the form was sent to.
        number: of the question there; a mark of another one counts nothing.
    """
    try:
        of, at, shown = signing.loads(mark, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        return 0.0
    if [of, at] != [sitting.pk, number]:
        return 0.0
    passed = max(0.0, time.time() - shown)
    if not told:
        return min(passed, LONGEST_UNSEEN)
    try:
        visible = float(told)
    except ValueError:
        return 0.0
    return min(max(0.0, visible), passed) if math.isfinite(visible) else 0.0


def pace_of(sitting: Sitting) -> float | None:
    """Return the median seconds between the answers of a sheet, by the server's clock.

    The first one's run from when the sheet was given. None for fewer than `FEWEST` answers.
    """
    if sitting.given is None:
        return None
    times = sorted(sitting.answers.exclude(letter="").values_list("at", flat=True))
    if len(times) < FEWEST:
        return None
    gaps = pairwise([min(sitting.given, times[0]), *times])
    return round(median((later - earlier).total_seconds() for earlier, later in gaps), 1)


MOST_REMARKS = 200
"""Of one sheet; more is no longer noting."""


class Over(InputError):  # noqa: N818 - it reads as what happened
    """The sheet is no longer out: it was handed in or given up, or the round was closed."""


def _out(person: Person, ref: str) -> Sitting:
    """Return a sheet that a person has out; it is locked until the transaction ends.

    Raises:
        Over: it is not, or is none of theirs.
    """
    rows = Sitting.objects.select_for_update(of=("self",)).select_related("sheet", "subject__round")
    sitting = rows.filter(ref=ref, subject__person=person).first()
    if sitting is None or sitting.state != Sitting.State.GIVEN:
        raise Over(
            _(
                "This sheet is no longer yours to fill in: it was handed in or given up, or the "
                "test is over."
            )
        )
    return sitting


def answer(
    person: Person, ref: str, number: int, letter: str, seconds: float, *, to: int | None = None
) -> Sitting:
    """Store an answer, in place of an earlier one, and the time that the question was seen.

    Args:
        person: whose sheet it is.
        ref: of the sitting.
        number: of the question.
        letter: "A", "B", … or "X"; "" leaves what was answered.
        seconds: in which it was seen now; they are added up.
        to: the number of the question that comes next; None to stay.

    Raises:
        Over: the sheet is no longer out.
        InputError: it has no such question, or the question no such answer.
    """
    with writing():
        sitting = _out(person, ref)
        sheet = sheet_of(sitting.sheet)
        letter = letter.strip().upper()
        if letter:
            sheet[number].option(letter)
        row, _new = Answer.objects.get_or_create(sitting=sitting, number=sheet[number].number)
        if letter and letter != row.letter:
            row.letter, row.at = letter, timezone.now()
        row.seconds = (row.seconds or 0.0) + seconds
        row.save(update_fields=["letter", "at", "seconds"])
        sitting.at = number if to is None else min(max(1, to), len(sheet) + 1)
        sitting.save(update_fields=["at"])
        return sitting


def note(person: Person, ref: str, number: int, kind: str, text: str) -> None:
    """Keep what somebody notes about a question on its page; an empty text takes it away.

    Raises:
        Over, InputError: as `remark`.
    """
    with writing():
        sitting, text = _checked(person, ref, number, text)
        rows = Remark.objects.filter(sitting=sitting, kind=kind, number=number)
        if not text:
            rows.delete()
        elif not rows.update(text=text):
            _add(sitting, kind, number, text)


def remark(person: Person, ref: str, kind: str, number: str, text: str) -> None:
    """Add something that somebody notes at the end of their sheet.

    Args:
        person: whose sheet it is.
        ref: of the sitting.
        kind: of `Remark.Kind`.
        number: of the question as it was typed; "" for none.
        text: what they recognised, or the word.

    Raises:
        Over: the sheet is no longer out.
        InputError: there is no such question, or the text is empty or too long.
    """
    number = number.strip()
    if number and not (number.isascii() and number.isdigit() and len(number) < 5):
        raise InputError(_("Write the number of the question, or leave it empty."))
    with writing():
        sitting, text = _checked(person, ref, int(number) if number else None, text)
        if not text:
            raise InputError(_("Write what it is, or leave both fields empty."))
        _add(sitting, kind, int(number) if number else None, text)


def _checked(person: Person, ref: str, number: int | None, text: str) -> tuple[Sitting, str]:
    sitting = _out(person, ref)
    if number is not None:
        sheet_of(sitting.sheet)[number]
    text = " ".join(text.split())
    if len(text) > LONGEST or not text.isprintable():
        raise InputError(_("Write %d characters at most.") % LONGEST)
    return sitting, text


def _add(sitting: Sitting, kind: str, number: int | None, text: str) -> None:
    if kind not in Remark.Kind.values:
        raise InputError(_("Nothing else is noted here."))
    if sitting.remarks.count() >= MOST_REMARKS:
        raise InputError(_("You have noted %d things already.") % MOST_REMARKS)
    Remark.objects.create(sitting=sitting, kind=kind, number=number, text=text)


def take_back(person: Person, ref: str, key: str) -> None:
    """Take away something that was noted; nothing happens where it is gone.

    Raises:
        Over: the sheet is no longer out.
    """
    with writing():
        sitting = _out(person, ref)
        if key.isascii() and key.isdigit() and len(key) < 19:
            sitting.remarks.filter(pk=int(key)).delete()


def finish(person: Person, ref: str) -> Sitting:
    """Hand a sheet in; what was left empty stays so, and nothing can be changed any more.

    One that was filled in with a median of less than `SiteRules.hold_pace_seconds` a question is
    held: in no figures until a moderator lets it count.

    Raises:
        Over: the sheet is no longer out.
    """
    return _end(person, ref, "done")


def give_up(person: Person, ref: str) -> Sitting:
    """Give a sheet up: somebody else takes it. What it showed counts as seen all the same.

    Raises:
        Over: the sheet is no longer out.
    """
    return _end(person, ref, "dropped")


def _end(person: Person, ref: str, state: str) -> Sitting:
    with writing():
        sitting = _out(person, ref)
        sitting.state, sitting.ended = state, timezone.now()
        if state == "done":
            sitting.pace = pace_of(sitting)
            least = settings.RULES.hold_pace_seconds
            sitting.held = sitting.pace is not None and sitting.pace < least
        sitting.save(update_fields=["state", "ended", "pace", "held"])
        return sitting

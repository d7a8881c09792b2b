"""What the site holds of a person's tests: told to them, and forgotten in its time."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any

from winosmith.problem import BLANK
from winosmith.web._lock import writing
from winosmith.web.problems.models import Problem
from winosmith.web.take.models import Answer, Remark, Round, Sheet, Sitting, Subject

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


def forget_subject(person: Person, texts: bool) -> None:
    """Cut the link between an erased person and their codes; their answers stay, as nobody's.

    Gone are the times, what they noted, and what they told of themselves in words of their own; a
    sheet that they have out is given up. With `texts`, unreleased sentences that they wrote are
    blanked on all sheets, too.
    """
    subjects = Subject.objects.filter(person=person).select_related("round")
    sittings = Sitting.objects.filter(subject__in=subjects)
    sittings.filter(state=Sitting.State.GIVEN).update(state=Sitting.State.DROPPED)
    sittings.update(given=None, ended=None, pace=None)
    Answer.objects.filter(sitting__in=sittings).update(seconds=None)
    Remark.objects.filter(sitting__in=sittings).delete()
    for subject in subjects:
        chosen = {each["name"] for each in subject.round.declared if each["choices"]}
        subject.declared = {k: v for k, v in subject.declared.items() if k in chosen}
        subject.person = None
        subject.save(update_fields=["declared", "person"])
        _forget_in_figures(subject)
    if texts:
        _blank_sheets(person)


def _forget_in_figures(subject: Subject) -> None:
    figures = subject.round.figures
    if figures:
        for part in ("recognised", "words", "pace"):
            figures[part] = [e for e in figures.get(part, ()) if e["subject"] != subject.code]
        subject.round.save(update_fields=["figures"])


def _blank_sheets(person: Person) -> None:
    """Take unreleased sentences of somebody out of the sheets that asked them."""
    gone = set(
        Problem.objects.filter(twin__contributor=person, released=False).values_list(
            "ref", flat=True
        )
    )
    rounds = Round.objects.filter(materials__problem__ref__in=gone).distinct()
    for sheet in Sheet.objects.filter(round__in=rounds):
        _blank_items(sheet, gone)
    for round_ in rounds.filter(figures__isnull=False):
        for item in (item for test in round_.figures.get("tests", ()) for item in test["items"]):
            if item["problem"] in gone:
                item["reading"] = ""
        round_.save(update_fields=["figures"])


def _blank_items(sheet: Sheet, gone: Collection[str]) -> None:
    """Blank items of a sheet; its code, which hangs on ids and orders, stays what it was."""
    for item in sheet.record["items"]:
        if item["problem"] in gone:
            item["text"] = item["snippet"] = ["", BLANK, ""]
            for at, option in enumerate(item["options"], start=1):
                option["text"] = str(at)
    sheet.save(update_fields=["record"])


def forget_times(_now: datetime, before: datetime) -> int:
    """Forget how long answers took that were given before the site's retention began."""
    with writing():
        timed = Answer.objects.filter(at__lt=before).exclude(seconds=None)
        changed = timed.update(seconds=None)
        Sitting.objects.filter(ended__lt=before).update(given=None, ended=None, pace=None)
        for round_ in Round.objects.filter(closed__lt=before, figures__isnull=False):
            if round_.figures.get("pace"):
                round_.figures["pace"] = []
                round_.save(update_fields=["figures"])
        return changed


def in_a_test(person: Person) -> bool:
    """Tell whether a person has a sheet out."""
    rows = Sitting.objects.filter(subject__person=person, state=Sitting.State.GIVEN)
    return bool(rows.exists())


def tests_of(person: Person) -> list[dict[str, Any]]:
    """Return the sheets that a person was given with their answers, as JSON can hold them."""
    rows = Sitting.objects.filter(subject__person=person).order_by("pk")
    return [
        {
            "round": row.subject.round.name,
            "code": row.subject.code,
            "agreed": row.subject.agreed,
            "told": row.subject.declared,
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

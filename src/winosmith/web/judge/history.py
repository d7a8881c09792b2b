"""What a person judged, and what they hear of it.

A question with a known answer stands among the others as they do: nothing here, neither a
reference nor an order, a time or a word, tells which it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from winosmith.web.judge.models import Contest, Judge, Slot
from winosmith.web.judge.turns import MOST_COUNTED, ahead, current, fresh
from winosmith.web.people.gates import may_judge
from winosmith.web.people.models import Person
from winosmith.web.people.news import MOST, Item, Work
from winosmith.web.problems.models import Event, State
from winosmith.web.problems.states import GONE

SIZE = 20
"""Answers on a page."""


def answers_of(person: Person) -> QuerySet[Slot]:
    """Return a person's answers, the last first, with their problems."""
    rows = Slot.objects.filter(holder=person, answered_at__isnull=False, open=False)
    return rows.select_related("problem").order_by("-answered_at", "-pk")


def told(slot: Slot) -> dict[str, Any]:
    """Return what the page of one's history tells of an answer; no sentence that was withdrawn."""
    problem = slot.problem
    shown = problem.state not in GONE and all(at < len(problem.options) for at in slot.shown)
    return {
        "sentence": problem.sentence if shown else "",
        "options": [(problem.options[at], at == slot.choice) for at in slot.shown if shown],
        "at": slot.answered_at,
        "neither": slot.choice is None,
        "ambiguous": slot.ambiguous,
        "associative": slot.associative,
        "comment": slot.comment,
    }


def heard(person: Person, after: datetime) -> Iterator[Item]:
    """Tell what became of what a judge contested, and that there are new problems for them."""
    if not may_judge(person):
        return
    settled = Contest.objects.filter(slot__holder=person, settled_at__gt=after)
    for contest in settled.select_related("slot__problem").order_by("-settled_at")[:MOST]:
        text = (
            _("A moderator agreed with what you contested")
            if contest.upheld
            else _("A moderator looked at what you contested: the known answer stands")
        )
        to = reverse("judge:checked", args=[contest.slot.ref]) if contest.slot.ref else ""
        problem = contest.slot.problem
        sentence = "" if problem.state in GONE else problem.sentence
        yield Item(contest.settled_at, text, to or reverse("judge:turn"), sentence, contest.answer)
    new = Event.objects.filter(after=State.JUDGING, at__gt=after, problem__gold=False)
    newest = new.exclude(problem__twin__contributor=person).order_by("-at").first()
    # While they hold a problem, whether it is the last would tell that it is no gold question.
    if newest is not None and current(person) is None and _is_left(person):
        yield Item(newest.at, _("There are new problems to judge"), reverse("judge:turn"))


def _is_left(person: Person) -> bool:
    return ahead(person, Judge.objects.filter(person=person).first()).left


def waiting(person: Person) -> Iterator[Work]:
    """Tell how many problems a judge can judge now."""
    if not may_judge(person):
        return
    to = reverse("judge:turn")
    if current(person) is not None:
        yield Work(_("You hold a problem that you have not answered"), to)
    elif _is_left(person):
        rows = fresh(person, 0).order_by().values("problem").distinct()
        n = rows[:MOST_COUNTED].count() or 1
        text = ngettext(
            "%d problem is left for you to judge", "%d problems are left for you to judge", n
        )
        yield Work(text % n, to)

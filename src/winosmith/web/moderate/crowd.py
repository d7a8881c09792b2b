"""People as moderators see them: a pseudonym, what they wrote, how they judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext_lazy as _

from winosmith.web.moderate.contributors import Written, written_by_each
from winosmith.web.moderate.votes import Judged, judged_by_each, paused_people
from winosmith.web.people.models import Person
from winosmith.web.people.pseudonyms import pseudonym
from winosmith.web.problems.models import Twin

__all__ = ["ONLY", "Member", "Page", "member", "page"]

SIZE = 30
"""People on a page."""

ONLY = {
    "judges": _("judges"),
    "held": _("judges whose votes wait"),
    "moderators": _("moderators"),
    "contributors": _("who wrote something"),
}


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody, without their name.

    Attributes:
        name: the pseudonym.
        written: what became of what they wrote.
        judged: how many they judged, how fast, and how well they agree with others and with gold.
    """

    person: Person
    name: str
    written: Written
    judged: Judged


@dataclass(frozen=True, slots=True)
class Page:
    """People on one page, the newest first; `older` is where the next page begins, or 0."""

    members: list[Member]
    older: int


def member(person: Person) -> Member:
    """Return what moderators see of a person."""
    return _members([person])[0]


def page(*, only: str = "", before: str = "") -> Page:
    """Return a page of people who were not erased."""
    query = _only(Person.objects.filter(erased=None).order_by("-pk"), only)
    if before.isascii() and before.isdigit() and len(before) <= 18:
        query = query.filter(pk__lt=int(before))
    found = list(query[: SIZE + 1])
    older = found[SIZE - 1].pk if len(found) > SIZE else 0
    return Page(_members(found[:SIZE]), older)


def _members(people: Sequence[Person]) -> list[Member]:
    written, judged = written_by_each(people), judged_by_each(people)
    return [Member(one, pseudonym(one), written[one.pk], judged[one.pk]) for one in people]


def _only(query: QuerySet[Person], only: str) -> QuerySet[Person]:
    if only == "judges":
        return query.filter(is_judge=True)
    if only == "moderators":
        return query.filter(is_moderator=True)
    if only == "held":
        return query.filter(pk__in=paused_people())
    if only == "contributors":
        return query.filter(Exists(Twin.objects.filter(contributor=OuterRef("pk"))))
    return query

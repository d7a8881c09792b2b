"""What a person knows of a round's problems: read, judged, written or asked before, anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from winosmith.web.judge.models import Judge, Seen
from winosmith.web.judge.seen import block_of
from winosmith.web.problems.models import Problem, Twin
from winosmith.web.take.models import Material, Round, Sheet
from winosmith.web.take.sheets import refs

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from winosmith.web.people.models import Person

__all__ = ["known", "lock_reader", "note_sheet"]


def lock_reader(person: Person) -> None:
    """Let nobody give a person something else to read until the transaction ends.

    A judge's next problem and a sheet are given under the same lock, so that two windows never
    bring the two halves of a twin.
    """
    Judge.objects.bulk_create([Judge(person=person)], ignore_conflicts=True)
    Judge.objects.select_for_update(of=("self",)).get(person=person)


def _by_family(rows: QuerySet[Problem]) -> QuerySet[Problem]:
    """Add `kin`: the twin from whose half a problem was perturbed; its own where from none."""
    return rows.annotate(kin=Coalesce(F("version__root__twin"), F("twin")))


def known(person: Person, round_: Round) -> set[str]:
    """Return the ids of a round's problems that give away, or are, what a person has read.

    That is a problem of a twin, or of a family of perturbations, of which they have read any
    (`judge.models.Seen`), or of which they wrote any.
    """
    asked = Problem.objects.filter(pk__in=Material.objects.filter(round=round_).values("problem"))
    family_of = dict(_by_family(asked).values_list("ref", "kin"))
    read = Seen.objects.filter(person=person).values("twin")
    own = Twin.objects.filter(contributor=person).values("pk")
    met = _by_family(Problem.objects.filter(Q(twin__in=read) | Q(twin__in=own)))
    families = set(met.values_list("kin", flat=True))
    return {ref for ref, family in family_of.items() if family in families}


def note_sheet(person: Person, sheet: Sheet) -> None:
    """Write down that a person reads all of a sheet: they judge none of its twins from now on.

    Where the site lets one person judge both halves of a twin, the other halves count as read,
    too: what a test asks gives more away than one judgement does.
    """
    asked = refs([sheet])
    twins = set(Problem.objects.filter(ref__in=asked).values_list("twin", flat=True))
    halves = sorted(Problem.objects.filter(twin__in=twins), key=lambda row: row.ref not in asked)
    Seen.objects.bulk_create(_notes(person, halves), ignore_conflicts=True)


def _notes(person: Person, halves: Iterable[Problem]) -> list[Seen]:
    """Return a note for each twin, or for each half where the site counts halves."""
    first: dict[int, Problem] = {}
    for half in halves:
        first.setdefault(half.pk if settings.RULES.both_halves else half.twin_id, half)
    return [
        Seen(person=person, block=block_of(half), twin_id=half.twin_id, problem=half)
        for half in first.values()
    ]

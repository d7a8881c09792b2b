"""What a person knows of a round's problems: read, judged, written or asked before, anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import F, Q
from django.db.models.functions import Coalesce

from winosmith.web.judge.models import Seen
from winosmith.web.judge.seen import note_all
from winosmith.web.problems.models import Problem, Twin
from winosmith.web.take.models import Material, Round, Sheet
from winosmith.web.take.sheets import refs

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from winosmith.web.people.models import Person

__all__ = ["known", "note_sheet"]


def _by_family(rows: QuerySet[Problem]) -> QuerySet[Problem]:
    """Add `kin`: the twin from whose half a problem was perturbed; its own where from none."""
    return rows.annotate(kin=Coalesce(F("version__root__twin"), F("twin")))


def known(person: Person, round_: Round) -> set[str]:
    """Return the ids of a round's problems that give away, or are, what a person has read.

    That is a problem of a twin, or of a family of perturbations, of which they have read any
    (`judge.models.Seen`), be it the local context alone, or of which they wrote any.
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
    note_all(person, halves)

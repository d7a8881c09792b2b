"""A round is closed, and what it used is published; the rest stays under embargo."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from winosmith import humans
from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.problems.embargoes import lift
from winosmith.web.problems.models import Problem
from winosmith.web.problems.states import stay
from winosmith.web.take.gathering import dataset_of, figures_of
from winosmith.web.take.models import Round, Sheet, Sitting
from winosmith.web.take.sheets import refs

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = ["Released", "close_round", "let_count", "publish_round", "round_named"]


@dataclass(frozen=True, slots=True)
class Released:
    """What became of a round's problems.

    Attributes:
        used: how many the round asked.
        alternates: their other halves that it did not ask, released with them.
        withheld: how many stay under embargo.
        canary: the line that all of them carry.
    """

    used: int
    alternates: int
    withheld: int
    canary: str


def round_named(name: str) -> Round:
    """Return a round; raises InputError with the names that there are."""
    found = Round.objects.filter(name=name).first()
    if found is None:
        known = ", ".join(Round.objects.order_by("name").values_list("name", flat=True))
        raise InputError(f"there is no round {name!r}; there are: {known or 'none yet'}")
    return found


def close_round(name: str, *, drop: bool = False) -> Round:
    """Let nobody take a round any more, and find its results.

    Args:
        name: of the round.
        drop: sheets that are still out count as given up.

    Raises:
        InputError: there is no such round, it is closed, or sheets are out.
    """
    with writing():
        locked = Round.objects.select_for_update(no_key=True).get(pk=round_named(name).pk)
        if locked.state == Round.State.CLOSED:
            raise InputError(_("the round %r is closed already") % name)
        out = Sitting.objects.filter(subject__round=locked, state=Sitting.State.GIVEN)
        if (count := out.count()) and not drop:
            told = ngettext("%d sheet is still out", "%d sheets are still out", count) % count
            raise InputError(_("%s; wait, or count them as given up with --drop") % told)
        now = timezone.now()
        out.update(state=Sitting.State.DROPPED, ended=now)
        locked.state, locked.closed = Round.State.CLOSED, now
        locked.save(update_fields=["state", "closed"])
    locked.figures = figures_of(locked)
    with writing():
        locked.save(update_fields=["figures"])
    return locked


def let_count(round_: Round, ref: str, by: Person) -> None:
    """Let a sheet count that was held for its pace; a closed round's figures are taken anew.

    Raises:
        InputError: it is not held.
    """
    with writing():
        rows = Sitting.objects.filter(subject__round=round_, ref=ref, held=True)
        if not rows.update(held=False, looked_by=by):
            raise InputError(_("This sheet is not held; open the page again."))
    if round_.state == Round.State.CLOSED:
        round_.figures = figures_of(round_)
        with writing():
            round_.save(update_fields=["figures"])


def publish_round(name: str) -> Released:
    """Make public what a closed round asked, with the other halves; the rest stays as it is.

    That is the policy of Davis et al. (2016, section 6). All of the round's problems carry a
    canary from now on.

    Raises:
        InputError: the round is open, or was published; or another open round asks some of this.
        DataError: nobody was given a sheet.
    """
    with writing():
        locked = Round.objects.select_for_update(no_key=True).get(pk=round_named(name).pk)
        if locked.state != Round.State.CLOSED:
            raise InputError(f"the round {name!r} is open; close it first")
        if locked.published:
            raise InputError(f"the round {name!r} was published {locked.published:%Y-%m-%d}")
        dataset = dataset_of(locked)
        given = Sheet.objects.filter(round=locked, sittings__isnull=False).distinct()
        used = refs(given) & set(dataset.ids)
        after = humans.publish(dataset, used)
        _check_free(locked, after.released.ids)
        for row in _rows(after.withheld.ids):
            _mark(row, after.canary)
        for row in _rows(after.released.ids):
            lift(row)
            row.released = True
            _mark(row, after.canary)
            stay(row, by=None, kind="publish", reason=_("the human test %r is over") % name)
        locked.published = timezone.now()
        locked.save(update_fields=["published"])
    return Released(len(used), after.alternates, len(after.withheld), after.canary)


def _rows(ids: Iterable[str]) -> list[Problem]:
    return list(Problem.objects.filter(ref__in=list(ids)).select_for_update(no_key=True))


def _mark(row: Problem, canary: str) -> None:
    extra = {**(row.record.get("extra") or {}), humans.CANARY: canary}
    row.record = {**row.record, "extra": extra}
    row.save(update_fields=["released", "record"])


def _check_free(closed: Round, ids: Iterable[str]) -> None:
    others = Round.objects.filter(
        state=Round.State.OPEN, materials__problem__ref__in=list(ids)
    ).exclude(pk=closed.pk)
    if other := others.first():
        raise InputError(
            f"the round {other.name!r} is open and has some of these problems; close it first"
        )

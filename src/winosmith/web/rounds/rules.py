"""What may be done with a round: it is begun, cancelled, let go on; then published."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.problems.public import public_problems
from winosmith.web.rounds import recipes
from winosmith.web.rounds.models import Round

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


LEAST = 20
"""Public problems; of fewer nothing can be learnt, held out and measured."""

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class BusyError(InputError):
    """Another round waits or runs."""


def round_named(name: str) -> Round:
    """Return a round; raises InputError with the names that there are."""
    found = Round.objects.filter(name=name).first()
    if found is None:
        known = ", ".join(Round.objects.order_by("pk").values_list("name", flat=True))
        raise InputError(f"there is no round {name!r}; there are: {known or 'none yet'}")
    return found


def next_name() -> str:
    """Return the name of a round that is given none: "round-3" where two came before it."""
    number = Round.objects.count() + 1
    while Round.objects.filter(name=f"round-{number}").exists():
        number += 1
    return f"round-{number}"


def start(name: str, table: Mapping[str, Any], base: str = "") -> Round:
    """Return a new round, to be carried out; it is compared with the one published last.

    Args:
        name: of the round: small letters, digits and dashes.
        table: its recipe, as `recipes.complete` fills it.
        base: from where relative paths of the recipe are seen; "" for the site's folder.

    Raises:
        BusyError: another round waits or runs.
        InputError: a name or a recipe that can't be used; too small a pool.
    """
    if not NAME.fullmatch(name):
        raise InputError(_("The name is up to 40 small letters, digits and dashes."))
    filled = recipes.complete(table, name)
    recipes.checked(filled)
    with writing():
        round_ = Round(name=name, recipe=filled, base=base)
        if Round.objects.filter(name=name).exists() or round_.folder.exists():
            raise InputError(_("There is a round of this name already; choose another one."))
        count = public_problems().count()
        if count < LEAST:
            raise InputError(
                _("A round needs %(least)d public problems; there are %(count)d.")
                % {"least": LEAST, "count": count}
            )
        _only_one()
        round_.last = Round.objects.exclude(published=None).order_by("-published").first()
        _saved(round_)
    return round_


def cancel(round_: Round) -> None:
    """Give up a round that waits or runs; what it has done so far stays for another try.

    A process that is at it stops before its next step.

    Raises:
        InputError: it has ended already.
    """
    with writing():
        locked = _locked(round_)
        if not locked.busy:
            raise InputError(_("The round has ended already."))
        locked.state, locked.busy = Round.State.CANCELLED, False
        locked.ended = timezone.now()
        locked.save(update_fields=["state", "busy", "ended"])


def again(round_: Round) -> None:
    """Let a round that failed or was cancelled go on where it was, with the pool that it had.

    Raises:
        BusyError: another round waits or runs.
        InputError: it neither failed nor was cancelled.
    """
    with writing():
        locked = _locked(round_)
        if locked.state not in (Round.State.FAILED, Round.State.CANCELLED):
            raise InputError(_("The round neither failed nor was cancelled."))
        _only_one()
        locked.state, locked.busy = Round.State.WAITING, True
        locked.error, locked.ended = "", None
        _saved(locked)


def publish(by: Person | None, round_: Round) -> None:
    """Let everyone see what came of a round, and contributors what it left out of theirs.

    Args:
        by: an admin; None for whoever has a terminal.
        round_: one that is done.

    Raises:
        InputError: nobody who may, it is not done, or it was published.
    """
    if by is not None and not (by.is_active and by.is_superuser):
        raise InputError(_("Rounds are for admins to publish."))
    with writing():
        locked = _locked(round_)
        if locked.state != Round.State.DONE:
            raise InputError(_("The round is not done; there is nothing to publish yet."))
        if locked.published:
            raise InputError(_("The round was published already."))
        locked.published, locked.published_by = timezone.now(), by
        locked.save(update_fields=["published", "published_by"])


def _only_one() -> None:
    busy = Round.objects.filter(busy=True).first()
    if busy is not None:
        raise _busy(busy.name)


def _busy(name: str) -> BusyError:
    return BusyError(_("The round %s is not over; wait for it, or cancel it first.") % name)


def _saved(round_: Round) -> None:
    """Write a round that waits."""
    try:
        with transaction.atomic():
            round_.save()
    except IntegrityError:  # somebody was quicker by a moment, on a server without turns
        raise BusyError(_("Another round, or one of this name, has just been started.")) from None


def _locked(round_: Round) -> Round:
    return Round.objects.select_for_update(no_key=True).get(pk=round_.pk)

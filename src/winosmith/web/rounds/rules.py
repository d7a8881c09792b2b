"""What may be done with a round: it is begun, cancelled, let go on; then published.

Its recipe is the site's own settings, or a file of `winosmith round`, such as one in `recipes/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.records import read_toml
from winosmith.rounds import RoundRecipe, round_of
from winosmith.web._lock import writing
from winosmith.web._site import RECIPE_NAME, RECIPES
from winosmith.web.judge.votes import vote_rules
from winosmith.web.problems.states import public_problems
from winosmith.web.rounds.models import Round

PROBLEMS, VOTES = "problems.jsonl", "votes.jsonl"
"""The files of a pool; the votes are empty where there are none."""

OWN = ("name", "data", "format", "votes_file")
"""Keys of a recipe that the site fills in itself."""

LEARNER = {"name": "taught-words", "solver": "association", "learn": True}
"""A solver beside the site's models: word association, taught each round's train_xl anew."""


def solvers() -> list[dict[str, Any]]:
    """Return the tables of the solvers that a round asks unless its recipe names others.

    The models of the site, and `LEARNER`. A chat server may cost money: a recipe must name it.
    """
    models = [
        {"name": rule.name, "solver": rule.solver, **rule.options}
        for rule in settings.RULES.models
        if rule.solver != "chat"
    ]
    if any(table["name"] == LEARNER["name"] for table in models):
        return models
    return [*models, dict(LEARNER)]


def named_recipes() -> list[str]:
    """Return the names of the recipes in the site's folder, in order."""
    folder = Path(settings.SITE.folder, RECIPES)
    return sorted(path.stem for path in folder.glob("*.toml") if RECIPE_NAME.fullmatch(path.stem))


def read_recipe(path: str | Path) -> tuple[dict[str, Any], str]:
    """Return the table of a file, or of one out of `named_recipes`, and where its paths begin.

    Raises:
        RecipeError: there is none, or it is no TOML.
    """
    path = (
        Path(settings.SITE.folder, RECIPES, f"{path}.toml")
        if path in named_recipes()
        else Path(path)
    )
    return read_toml(path), str(path.resolve().parent)


def complete(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a table with the round's name and what a site takes for granted.

    What the site found valid is valid, by its own judges and moderators: the votes are handed over
    for what they tell of agreement, and drop nothing, unless the recipe has rules of its own.
    """
    filled = {key: value for key, value in table.items() if key not in OWN}
    rules = vote_rules()
    off = dict.fromkeys(("correct", "unambiguous", "unassociated", "local"), "off")
    filled.setdefault(
        "votes",
        {"judges": rules.judges, "both_halves": rules.both_halves, "undecided": "keep", **off},
    )
    filled.setdefault("solvers", solvers())
    return {"name": name, **filled}


def checked_recipe(table: Mapping[str, Any]) -> RoundRecipe:
    """Return the recipe of a complete table, before there is a pool.

    Raises:
        RecipeError: a key or a value that can't be used.
    """
    return round_of({**table, "data": PROBLEMS, "votes_file": VOTES})


def recipe_for(round_: Round, pool: Path) -> RoundRecipe:
    """Return the recipe of a round whose pool is there.

    Raises:
        RecipeError: a file that the recipe names is gone.
    """
    files = {"data": str(pool / PROBLEMS)}
    if (pool / VOTES).stat().st_size:
        files["votes_file"] = str(pool / VOTES)
    return round_of({**round_.recipe, **files}, folder=base_of(round_))


def base_of(round_: Round) -> Path:
    """Return from where the relative paths of a round's recipe are seen."""
    return Path(round_.base or settings.SITE.folder)


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
        table: its recipe, as `complete` fills it.
        base: from where relative paths of the recipe are seen; "" for the site's folder.

    Raises:
        BusyError: another round waits or runs.
        InputError: a name or a recipe that can't be used; too small a pool.
    """
    if not NAME.fullmatch(name):
        raise InputError(_("The name is up to 40 small letters, digits and dashes."))
    filled = complete(table, name)
    checked_recipe(filled)
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

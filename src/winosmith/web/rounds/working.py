"""A round is carried out: pool, build, solvers, figures, database."""

from __future__ import annotations

import logging

from django.utils import timezone

from winosmith.errors import InputError, OutputError
from winosmith.rounds import run_round
from winosmith.study import made_solver, trained_on
from winosmith.web._lock import writing
from winosmith.web.rounds import recipes
from winosmith.web.rounds.holding import Hold
from winosmith.web.rounds.models import Round
from winosmith.web.rounds.pool import handed_over
from winosmith.web.rounds.storing import store
from winosmith.web.rounds.telling import POOL, STORING, Cancelled, Teller

__all__ = ["carry_out", "fail"]

_LOG = logging.getLogger("winosmith.web.rounds")


def carry_out(round_: Round, hold: Hold) -> None:
    """Bring a round that waits or runs to its end: done, failed with the reason, or cancelled.

    What an earlier try finished is not done again.

    Args:
        round_: the row.
        hold: the lock of the site's rounds.
    """
    try:
        _begun(round_)
        _worked(round_, hold)
    except Cancelled:
        return
    except (InputError, OutputError) as error:
        fail(round_, str(error))
    except Exception as error:  # noqa: BLE001 - the round ends, and an admin learns why
        _LOG.exception("the round %s failed", round_.name)
        fail(round_, f"{type(error).__name__}: {error}")


def fail(round_: Round, reason: str) -> None:
    """Write down that a round failed, and why, unless it is over already."""
    with writing():
        Round.objects.filter(pk=round_.pk, busy=True).update(
            state=Round.State.FAILED, busy=False, ended=timezone.now(), error=reason[:2000]
        )


def _begun(round_: Round) -> None:
    with writing():
        locked = Round.objects.select_for_update(no_key=True).get(pk=round_.pk)
        if not locked.busy:
            raise Cancelled
        locked.state = Round.State.RUNNING
        locked.began = locked.began or timezone.now()
        locked.save(update_fields=["state", "began"])


def _worked(round_: Round, hold: Hold) -> None:
    show = Teller(round_, hold, recipes.checked(round_.recipe))
    with show(POOL, None) as advance:
        pool = handed_over(round_, lambda done: advance(done, ""))
    recipe = recipes.recipe_for(round_, pool)
    for rule in recipe.solvers:
        if not rule.learn:
            trained_on(rule, recipe.folder)
            made_solver(rule, recipe.folder)  # what is not there is told now, not in an hour
    found = run_round(recipe, round_.folder / "results", last=_last(round_), step=show)
    count = found.record["build"]["funnel"]["collected"]["problems"]
    with show(STORING, count) as advance:
        if not store(round_, found, show.timings, lambda done: advance(done, "")):
            raise Cancelled


def _last(round_: Round) -> str | None:
    """Return the folder of the round that this one is compared with, if it is still there."""
    if round_.last is None:
        return None
    folder = round_.last.folder / "results"
    return str(folder) if (folder / "round.json").exists() else None

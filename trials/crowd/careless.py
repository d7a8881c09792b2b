"""`winosmith serve` with an injected fault, because a trial that never fails proves nothing.

    python -m crowd.careless FAULT serve DIR …

`none` serves the site as it is.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable
from typing import Any


def inject_nothing() -> None:
    """Inject no fault."""


def disable_sync() -> None:
    """Let SQLite confirm a commit before it is on disk (PRAGMA synchronous=OFF)."""
    _set_synchronous("OFF")


def use_normal_sync() -> None:
    """Let SQLite sync only at checkpoints (PRAGMA synchronous=NORMAL)."""
    _set_synchronous("NORMAL")


def _set_synchronous(level: str) -> None:
    from django.db import connections

    options = connections.settings["default"]["OPTIONS"]
    careful = options["init_command"]
    options["init_command"] = careful.replace("synchronous=FULL", f"synchronous={level}")
    assert options["init_command"] != careful
    connections["default"].close()
    del connections["default"]


def unlock_votes() -> None:
    """Count votes before inserting them, as popular annotation tools do."""
    from winosmith.web.judge import turns

    _replace_everywhere(turns.lease_next_problem, take_unlocked)
    _replace_everywhere(turns.store_answer, answer_unlocked)
    _replace_everywhere(turns.store_local_answer, lambda person, ref, choice: None)


def forget_forms() -> None:
    """Look up a form’s key first and store it last, so that two simultaneous clicks both act."""
    from winosmith.web.people import gates

    _replace_everywhere(gates.process_once, once_unlocked)


def store_clear_sessions() -> None:
    """Store session keys unprotected."""
    from winosmith.web.people import gates

    vars(gates)["digest_token"] = str


FAULTS: dict[str, Callable[[], None]] = {
    "none": inject_nothing,
    "unsynced": disable_sync,
    "normal-sync": use_normal_sync,
    "unlocked-votes": unlock_votes,
    "forgetful-forms": forget_forms,
    "clear-sessions": store_clear_sessions,
}


def take_unlocked(person: Any) -> Any:
    """Return a slot on the first problem with fewer than k votes that the person has not judged."""
    from django.conf import settings
    from django.db.models import Count, Q

    from winosmith.web.judge.models import Slot
    from winosmith.web.problems.models import Problem, State

    given = Count("slots", filter=~Q(slots__answered_at=None))
    rows = Problem.objects.filter(state=State.JUDGING).exclude(twin__contributor=person)
    rows = rows.exclude(slots__in=Slot.objects.filter(holder=person, open=False))
    problem = rows.annotate(given=given).filter(given__lt=settings.RULES.judges).first()
    if problem is None:
        return None
    return Slot(
        problem=problem,
        ref=problem.ref,
        twin_id=problem.twin_id,
        holder=person,
        shown=[0, 1],
        n=1,
    )


def answer_unlocked(person: Any, ref: str, choice: int | None, **marks: Any) -> Any:
    """Count the votes, then insert one, without a lock."""
    from django.conf import settings
    from django.utils import timezone

    from winosmith.errors import InputError
    from winosmith.web.judge.models import Slot
    from winosmith.web.problems.models import Problem

    problem = Problem.objects.get(ref=ref)
    votes = Slot.objects.filter(problem=problem, gold=False).exclude(answered_at=None)
    if votes.count() >= settings.RULES.judges or votes.filter(holder=person).exists():
        raise InputError("enough people have judged this")
    time.sleep(0.02)  # a delay, as on a busy machine
    return Slot.objects.create(
        problem=problem,
        n=1000 + secrets.randbelow(1_000_000),
        place=0,
        twin_id=problem.twin_id,
        holder=person,
        open=False,
        taken_at=timezone.now(),
        shown=[0, 1],
        choice=choice,
        answered_at=timezone.now(),
    )


def once_unlocked(person: Any, key: str, form: str, act: Callable[[], object]) -> Any:
    """Look a key up, act, then store it."""
    from winosmith.web.people.models import Done

    if done := Done.objects.filter(person=person, key=key).first():
        return done.result, False
    made = act()
    result = {**(made if isinstance(made, dict) else {}), "form": form}
    Done.objects.get_or_create(person=person, key=key, defaults={"result": result})
    return result, True


def _replace_everywhere(original: Any, other: Any) -> None:
    """Replace a function in every module of the platform that imports it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("winosmith.web"):
            for key, value in list(vars(module).items()):
                if value is original:
                    setattr(module, key, other)


def main() -> None:
    """Inject the fault as soon as Django is set up, and run the command line."""
    fault = FAULTS[sys.argv.pop(1)]
    from winosmith.web import Site

    activate = Site.activate

    def activate_carelessly(site: Site) -> None:
        activate(site)
        if fault is not inject_nothing and not vars(fault).get("done"):
            from django.urls import get_resolver

            get_resolver().url_patterns  # noqa: B018 - every view is there to be replaced in
            fault()
            vars(fault)["done"] = True

    Site.activate = activate_carelessly  # type: ignore[method-assign]
    from winosmith.cli import main as command

    sys.exit(command())


if __name__ == "__main__":
    main()

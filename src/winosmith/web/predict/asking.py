"""Asking models: about new problems at once, older ones by and by, failed ones again.

A prediction is written down as waiting, with the problem; processes of the models answer it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.predict.models import Model, Prediction, Stand
from winosmith.web.predict.process import ring
from winosmith.web.problems.models import Problem, State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from winosmith.web.people.models import Person


def ask(problem: Problem, urgent: bool = True) -> None:
    """Ask every current model about a problem, in the caller's transaction.

    A prediction waits for each of them from then on; after the commit their processes are woken.
    Asked again, only the urgency changes. What is under embargo, and attention questions, are
    shown to no model.

    Args:
        problem: stored already.
        urgent: somebody waits for it; it goes before whatever is scored in the background.
    """
    if problem.embargo or problem.gold:
        return
    models = Model.objects.filter(current=True).values_list("id", flat=True)
    ask_about([problem.pk], models, urgent=urgent)
    transaction.on_commit(wake)


def ask_about(problems: Iterable[int], models: Iterable[int], *, urgent: bool) -> int:
    """Let a prediction wait for each pair of problem and model; return how many pairs there are."""
    models = list(models)
    rows = [
        Prediction(problem_id=problem, model_id=model, urgent=urgent)
        for problem in problems
        for model in models
    ]
    if urgent:
        Prediction.objects.bulk_create(
            rows,
            update_conflicts=True,
            update_fields=["urgent"],
            unique_fields=["problem", "model"],
        )
    else:
        Prediction.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def of(problem: Problem) -> list[Prediction]:
    """Return what the current models make of a problem, in the order of `site.toml`.

    Each prediction's `model` is there already. A model that has not been asked is left out.
    """
    found = Prediction.objects.filter(problem=problem, model__current=True)
    order = {rule.name: at for at, rule in enumerate(settings.RULES.models)}
    return sorted(
        found.select_related("model"),
        key=lambda prediction: (order.get(prediction.model.name, len(order)), prediction.model_id),
    )


def current_models() -> list[Model]:
    """Return the models that are configured now, in the order of `site.toml`."""
    order = {rule.name: at for at, rule in enumerate(settings.RULES.models)}
    return sorted(
        Model.objects.filter(current=True),
        key=lambda model: (order.get(model.name, len(order)), model.pk),
    )


def wake() -> None:
    """Wake the processes of the models: there is something to predict."""
    ring(settings.SITE.folder)


def forget_texts(person: Person, texts: bool) -> None:
    """Forget what models made of unreleased texts of somebody who is erased with them."""
    if texts:
        rows = Prediction.objects.filter(problem__twin__contributor=person)
        rows.filter(problem__released=False).delete()


def retry_by(person: Person, model: Model) -> int:
    """Let a model try again, for a moderator; return how many predictions wait for it then.

    Raises:
        InputError: the person moderates nothing.
    """
    if not person.moderates:
        raise InputError(_("Only moderators let a model try again."))
    return retry(model)


def retry(model: Model) -> int:
    """Let what a model was late with or failed over wait for it again; return how many."""
    with writing():
        transaction.on_commit(wake)
        return model.predictions.filter(stand__in=[Stand.LATE, Stand.FAILED]).update(
            stand=Stand.WAITING,
            urgent=False,
            tries=0,
            error="",
            leased_until=None,
            answered_at=None,
            seconds=None,
            asked_at=timezone.now(),
        )


CHUNK = 500
"""Rows that are added at once: some tens of milliseconds of the one who writes."""

FRESH = timedelta(minutes=10)
"""Of a version that came in while a model was not there yet: somebody may still look for it."""


def predictable() -> QuerySet[Problem]:
    """Return what models predict by themselves: all that is public, and every version.

    A version is predicted whether judges have found it valid or not, for its contributor; never
    what is withdrawn, replaced, or under embargo.
    """
    version = Q(version__isnull=False) & ~Q(state__in=[State.WITHDRAWN, State.REVISED])
    return Problem.objects.filter(Q(public=True) | version, embargo=False, gold=False)


def fill(model: Model) -> int:
    """Let a chunk of what a model has not seen wait for it, the newest first; return how many."""
    seen = Prediction.objects.filter(problem=OuterRef("pk"), model=model)
    found = list(
        predictable()
        .filter(~Exists(seen))
        .order_by("-pk")
        .values_list("pk", "created", "version__pk")[:CHUNK]
    )
    if not found:
        return 0
    since = timezone.now() - FRESH
    fresh = [pk for pk, created, version in found if version and created > since]
    others = [pk for pk, *_ in found if pk not in set(fresh)]
    with writing():
        for problems, urgent in ((fresh, True), (others, False)):
            if problems:
                ask_about(problems, [model.pk], urgent=urgent)
    return len(found)

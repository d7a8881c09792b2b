"""Asking models about a problem: written down with it, answered by processes of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction

from winosmith.web.predict.bell import ring
from winosmith.web.predict.models import Model, Prediction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from winosmith.web.problems.models import Problem

__all__ = ["ask", "ask_about", "current_models", "of", "wake"]


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

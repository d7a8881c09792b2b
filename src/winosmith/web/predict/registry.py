"""The register of models: what is configured, which revision is current, what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.translation import gettext_noop

from winosmith.web._lock import writing
from winosmith.web.predict.models import Model, Prediction, Stand

if TYPE_CHECKING:
    from winosmith.solver_rule import SolverRule
    from winosmith.study import MadeSolver

__all__ = ["NOT_LOADED", "announce", "blame", "register"]

NOT_LOADED = gettext_noop("The model can't be loaded; the site's log says why. It is tried again.")
"""Why a model can't predict, for people: neither a path nor a key."""


def announce(rules: Sequence[SolverRule]) -> None:
    """Make what `site.toml` names the current models; others keep their predictions.

    A model that was never loaded has a row without a digest until its process registers it, so
    that whatever is sent from the first moment on waits for it.
    """
    with writing():
        names = [rule.name for rule in rules]
        Model.objects.filter(current=True).exclude(name__in=names).update(current=False)
        for rule in rules:
            known = Model.objects.filter(name=rule.name)
            if known.filter(current=True).exists():
                continue
            latest = known.order_by("-since", "-pk").first()
            latest = latest or Model(name=rule.name, solver=rule.solver, revision="", digest="")
            latest.current = True
            latest.save()


def register(rule: SolverRule, made: MadeSolver) -> Model:
    """Make what was loaded the current revision of a model, and return it.

    A revision is known again by its digest. Of a former one the predictions stay, and what was
    still waiting for it goes: it waits for the new one.
    """
    with writing():
        now = Model.objects.filter(name=rule.name, current=True).first()
        known = Model.objects.filter(name=rule.name, digest=made.digest).first()
        model = known or (now if now is not None and not now.digest else None)
        if model is None:
            model = Model(name=rule.name, digest=made.digest)
        elif not model.digest:
            model.digest, model.since = made.digest, timezone.now()
        if now is not None and now.pk != model.pk:
            Model.objects.filter(pk=now.pk).update(current=False)
            Prediction.objects.filter(model=now, stand=Stand.WAITING).delete()
        model.solver, model.revision, model.about = rule.solver, made.revision, made.about
        model.current, model.fault, model.seen = True, "", timezone.now()
        model.save()
        # Leases of a process that is gone: this one has the model's lock.
        Prediction.objects.filter(model=model, stand=Stand.WAITING).update(leased_until=None)
        return model


def blame(name: str, fault: str) -> None:
    """Write down why a model can't predict at the moment, in words for people."""
    with writing():
        Model.objects.filter(name=name, current=True).update(fault=fault, seen=timezone.now())

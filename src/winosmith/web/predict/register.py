"""The register of models: which revision is current, what is wrong with it, its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from winosmith.web._lock import writing
from winosmith.web.predict.asking import current_models, predictable
from winosmith.web.predict.models import Model, Prediction, Stand
from winosmith.web.predict.process import is_held, look

if TYPE_CHECKING:
    from winosmith.solver_rule import SolverRule
    from winosmith.study import MadeSolver


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


LATEST = 100
"""Predictions whose seconds are looked at."""

MOST_FAILURES = 20


@dataclass(frozen=True)
class Figures:
    """How one model stands.

    Attributes:
        model: its current revision.
        state: what its process does, in words for people.
        alive: it predicts, or will in a moment.
        done, late, failed, waiting: predictions, by how they stand.
        total: how many it will have made when it has seen everything.
        seconds: what it takes for one problem, the median of the last ones; None without any.
    """

    model: Model
    state: str
    alive: bool
    done: int
    late: int
    failed: int
    waiting: int
    total: int
    seconds: float | None

    @property
    def trouble(self) -> int:
        """How many a moderator may let it try again."""
        return self.late + self.failed


def standing() -> list[Figures]:
    """Return how the current models stand, in the order of `site.toml`."""
    models = current_models()
    counted = Prediction.objects.filter(model__in=models).values_list("model", "stand")
    counts = {(model, stand): n for model, stand, n in counted.annotate(n=Count("pk"))}
    target = predictable().count() if models else 0
    return [_figures(model, counts, target) for model in models]


def figures(model: Model) -> Figures:
    """Return how one model stands."""
    counted = model.predictions.values_list("model", "stand").annotate(n=Count("pk"))
    counts = {(number, stand): n for number, stand, n in counted}
    return _figures(model, counts, predictable().count())


def revisions(model: Model) -> list[tuple[Model, int]]:
    """Return the former revisions of a model with the number of their predictions, newest first."""
    former = Model.objects.filter(name=model.name).exclude(digest="").exclude(pk=model.pk)
    counted = former.annotate(n=Count("predictions")).order_by("-since", "-pk")
    return [(one, one.n) for one in counted]


def failures(model: Model) -> QuerySet[Prediction]:
    """Return what the model was late with or failed over, the latest first; for moderators."""
    found = model.predictions.filter(stand__in=[Stand.LATE, Stand.FAILED])
    return found.select_related("problem").order_by("-pk")[:MOST_FAILURES]


def _figures(model: Model, counts: dict[tuple[int, str], int], target: int) -> Figures:
    by = {stand: counts.get((model.pk, stand), 0) for stand in Stand.values}
    alive, state = state_of(model)
    return Figures(
        model,
        state,
        alive,
        by[Stand.DONE],
        by[Stand.LATE],
        by[Stand.FAILED],
        by[Stand.WAITING],
        max(target, sum(by.values())),
        _median(model),
    )


LOADING = gettext_noop("The model is being loaded.")
READY = gettext_noop("The model predicts.")
STARTING = gettext_noop("The model starts again in a moment.")


def state_of(model: Model) -> tuple[bool, str]:
    """Return whether a model predicts, or will in a moment, and what it does, for people."""
    folder = settings.SITE.folder
    if model.fault:
        return False, _(model.fault)
    if not is_held(folder, model.name):
        return False, _(STARTING)
    doing = look(folder, model.name)
    loading = not doing.process or (doing.until is not None and not doing.rows)
    return True, _(LOADING if loading else READY)


def _median(model: Model) -> float | None:
    done = model.predictions.filter(stand=Stand.DONE, seconds__isnull=False)
    found = list(done.order_by("-pk").values_list("seconds", flat=True)[:LATEST])
    return median(found) if found else None

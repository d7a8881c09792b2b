"""The models of the site: which are current, what they are asked, and how each stands.

A prediction is written down as waiting, with the problem; processes of the models answer it: about
new problems at once, about older ones by and by, and again where they failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_noop

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.jobs import worker_is_gone
from winosmith.web.people.models import Person
from winosmith.web.predict.models import Model, Prediction, Stand
from winosmith.web.problems.models import Problem, State

if TYPE_CHECKING:
    from winosmith.solver_rule import SolverRule
    from winosmith.study import MadeSolver


CHUNK = 500
"""Rows that are added at once: some tens of milliseconds of the one who writes."""

FRESH = timedelta(minutes=10)
"""Of a version that came in while a model was not there yet: somebody may still look for it."""

TOO_LATE = gettext_noop("The model took too long.")


def ask(problem: Problem, urgent: bool = True) -> None:
    """Ask every current model about a problem, in the caller's transaction.

    A prediction waits for each of them from then on. Asked again, only the urgency changes. Models
    are shown nothing under embargo and no attention questions.

    Args:
        problem: stored already.
        urgent: somebody waits for it; it goes before whatever is scored in the background.
    """
    if problem.embargo or problem.gold:
        return
    models = Model.objects.filter(current=True).values_list("id", flat=True)
    ask_about([problem.pk], models, urgent=urgent)


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

    Each prediction's `model` is there already. A model that has not been asked is omitted.
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
        raise InputError(_("Only moderators can retry predictions."))
    return retry(model)


def retry(model: Model) -> int:
    """Let what a model was late with or failed over wait for it again; return how many."""
    with writing():
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


def left_behind(name: str, late: bool) -> None:
    """Settle what the process of a model was at when it ended.

    What it was late with, and alone, is late. Of several rows any may have been the cause: they
    are taken up again, one by one.
    """
    leased = Prediction.objects.filter(model__name=name, leased_until__isnull=False)
    with writing():
        rows = list(leased.filter(stand=Stand.WAITING).values_list("pk", flat=True))
        if late and len(rows) == 1:
            waiting(rows).update(
                stand=Stand.LATE, error=TOO_LATE, leased_until=None, answered_at=timezone.now()
            )
        else:
            waiting(rows).update(leased_until=None)


def note_process(name: str, process: Any) -> None:
    """Write down what the process of a model does."""
    with writing():
        Model.objects.filter(name=name, current=True).update(process=process)


def waiting(rows: Sequence[int]) -> QuerySet[Prediction]:
    """Return those of some predictions that are still to be made."""
    return Prediction.objects.filter(pk__in=rows, stand=Stand.WAITING)


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
        model.process = Model.Process.READY
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


def all_figures() -> list[Figures]:
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
    if model.fault:
        return False, _(model.fault)
    if worker_is_gone() or model.process == Model.Process.STARTING:
        return False, _(STARTING)
    return True, _(LOADING if model.process == Model.Process.LOADING else READY)


def _median(model: Model) -> float | None:
    done = model.predictions.filter(stand=Stand.DONE, seconds__isnull=False)
    found = list(done.order_by("-pk").values_list("seconds", flat=True)[:LATEST])
    return median(found) if found else None

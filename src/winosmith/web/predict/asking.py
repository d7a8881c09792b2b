"""The models of the site: which are current, their pending predictions, and their status.

Each prediction is stored together with its problem, with the status "waiting". The models'
processes complete it: immediately for new problems, in the background for older ones, and again
after failures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import product
from statistics import median
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_noop

from winosmith.web._lock import writing
from winosmith.web.jobs import is_worker_missing
from winosmith.web.people.models import Person
from winosmith.web.predict.models import Model, Prediction, Status
from winosmith.web.problems.models import Problem, State

if TYPE_CHECKING:
    from winosmith.solver_rule import SolverRule
    from winosmith.study import MadeSolver


CHUNK = 500
"""Number of rows added per transaction; a transaction takes tens of milliseconds."""

FRESH_AGE = timedelta(minutes=10)
"""Maximum age of a version whose contributor may still wait for an unavailable model."""

TOO_LATE = gettext_noop("The model took too long.")


def request_predictions(problem: Problem) -> None:
    """Request a prediction from every current model, within the caller's transaction.

    A person waits for these predictions, so they precede background predictions. Repeated calls
    change only the urgency. Models see no gold questions and no problems under embargo.
    """
    if problem.embargo or problem.gold:
        return
    models = Model.objects.filter(current=True).values_list("id", flat=True)
    request_many([problem.pk], models, urgent=True)


def request_many(problem_ids: Iterable[int], model_ids: Iterable[int], *, urgent: bool) -> None:
    rows = [
        Prediction(problem_id=problem, model_id=model, urgent=urgent)
        for problem, model in product(problem_ids, model_ids)
    ]
    on_conflict: dict[str, Any] = {"ignore_conflicts": True}
    if urgent:
        on_conflict = {
            "update_conflicts": True,
            "update_fields": ["urgent"],
            "unique_fields": ["problem", "model"],
        }
    Prediction.objects.bulk_create(rows, **on_conflict)


def get_current_predictions(problem: Problem) -> list[Prediction]:
    """Return the current models' predictions for a problem, in the order of `site.toml`.

    Models from which no prediction was requested are omitted.
    """
    found = Prediction.objects.filter(problem=problem, model__current=True)
    return sorted(found.select_related("model"), key=lambda row: _get_sort_key(row.model))


def get_current_models() -> list[Model]:
    return sorted(Model.objects.filter(current=True), key=_get_sort_key)


def _get_sort_key(model: Model) -> tuple[int, int]:
    names = [rule.name for rule in settings.RULES.models]
    return names.index(model.name) if model.name in names else len(names), model.pk


def erase_predictions(person: Person, texts: bool) -> None:
    if texts:
        rows = Prediction.objects.filter(problem__twin__contributor=person)
        rows.filter(problem__released=False).delete()


def retry_failed_predictions(model: Model) -> int:
    with writing():
        return model.predictions.filter(stand__in=[Status.LATE, Status.FAILED]).update(
            stand=Status.WAITING,
            urgent=False,
            tries=0,
            error="",
            leased_until=None,
            answered_at=None,
            seconds=None,
            asked_at=timezone.now(),
        )


def release_tasks(model_name: str, timed_out: bool) -> None:
    """Release the tasks that are still leased by a model's process that has ended.

    A single task that timed out is marked as late. If there were several tasks, any of them may be
    the cause, so they are retried one at a time.
    """
    leased = Prediction.objects.filter(model__name=model_name, leased_until__isnull=False)
    with writing():
        rows = list(leased.filter(stand=Status.WAITING).values_list("pk", flat=True))
        if timed_out and len(rows) == 1:
            get_waiting_predictions(rows).update(
                stand=Status.LATE, error=TOO_LATE, leased_until=None, answered_at=timezone.now()
            )
        else:
            get_waiting_predictions(rows).update(leased_until=None)


def update_model(name: str, **columns: Any) -> None:
    """Change columns of a model's current revision."""
    with writing():
        Model.objects.filter(name=name, current=True).update(**columns)


def get_waiting_predictions(keys: Sequence[int]) -> QuerySet[Prediction]:
    return Prediction.objects.filter(pk__in=keys, stand=Status.WAITING)


def get_predictable_problems() -> QuerySet[Problem]:
    """Return the problems that models predict in the background: public problems and versions.

    A version is predicted for its contributor even if judges have not found it valid, unless it is
    withdrawn, replaced, or under embargo.
    """
    version = Q(version__isnull=False) & ~Q(state__in=[State.WITHDRAWN, State.REVISED])
    return Problem.objects.filter(Q(public=True) | version, embargo=False, gold=False)


def queue_unseen_problems(model: Model) -> int:
    seen = Prediction.objects.filter(problem=OuterRef("pk"), model=model)
    unseen = get_predictable_problems().filter(~Exists(seen)).order_by("-pk")
    found = list(unseen.values_list("pk", "created", "version__pk")[:CHUNK])
    if not found:
        return 0
    since = timezone.now() - FRESH_AGE
    fresh = [pk for pk, created, version in found if version and created > since]
    others = [pk for pk, *_ in found if pk not in set(fresh)]
    with writing():
        request_many(fresh, [model.pk], urgent=True)
        request_many(others, [model.pk], urgent=False)
    return len(found)


NOT_LOADED = gettext_noop("The model can't be loaded; see the site's log. Loading will be retried.")
"""Message for users if a model can't predict; it contains no path and no key."""


def set_current_models(rules: Sequence[SolverRule]) -> None:
    """Make the models in `site.toml` current; other models keep their predictions.

    A model that was never loaded has a row without a digest until its process registers it, so that
    predictions can be requested from the start.
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


def register_revision(rule: SolverRule, loaded: MadeSolver) -> Model:
    """Make a loaded model the current revision of its name, and return its row.

    A revision is identified by its digest. The previous revision keeps its predictions, but its
    waiting predictions are deleted.
    """
    with writing():
        now = Model.objects.filter(name=rule.name, current=True).first()
        known = Model.objects.filter(name=rule.name, digest=loaded.digest).first()
        model = known or (now if now is not None and not now.digest else None)
        if model is None:
            model = Model(name=rule.name, digest=loaded.digest)
        elif not model.digest:
            model.digest, model.since = loaded.digest, timezone.now()
        if now is not None and now.pk != model.pk:
            Model.objects.filter(pk=now.pk).update(current=False)
            Prediction.objects.filter(model=now, stand=Status.WAITING).delete()
        model.solver, model.revision, model.about = (rule.solver, loaded.revision, loaded.about)
        model.current, model.fault, model.process = True, "", Model.Process.READY
        model.save()
        # These leases are from an ended process, because this process holds the model's lock.
        Prediction.objects.filter(model=model, stand=Status.WAITING).update(leased_until=None)
        return model


MEDIAN_OVER = 100
"""Number of recent predictions whose median time is shown."""

MAX_FAILURES = 20


def list_model_statuses(models: Sequence[Model]) -> list[dict[str, Any]]:
    """Return the status of each model, with the counts of its predictions.

    A status contains a message for users on the model's process (`state`), whether the model
    predicts or soon will (`alive`), and the numbers of predictions by status (`done`, `late`,
    `failed`, `waiting`). `total` is the number of predictions when the model has seen all problems;
    `seconds` is the median time per problem over the last predictions, or None.
    """
    counted = Prediction.objects.filter(model__in=models).values_list("model", "stand")
    counts = {(model, stand): n for model, stand, n in counted.annotate(n=Count("pk"))}
    total = get_predictable_problems().count() if models else 0
    found = []
    for model in models:
        alive, state = check_model(model)
        by = {stand: counts.get((model.pk, stand), 0) for stand in Status.values}
        done = model.predictions.filter(stand=Status.DONE, seconds__isnull=False)
        times = list(done.order_by("-pk").values_list("seconds", flat=True)[:MEDIAN_OVER])
        found.append(
            {
                "model": model,
                "state": state,
                "alive": alive,
                **by,
                "total": max(total, sum(by.values())),
                "seconds": median(times) if times else None,
            }
        )
    return found


def list_previous_revisions(model: Model) -> list[tuple[Model, int]]:
    former = Model.objects.filter(name=model.name).exclude(digest="").exclude(pk=model.pk)
    counted = former.annotate(n=Count("predictions")).order_by("-since", "-pk")
    return [(one, one.n) for one in counted]


def list_failed_predictions(model: Model) -> QuerySet[Prediction]:
    found = model.predictions.filter(stand__in=[Status.LATE, Status.FAILED])
    return found.select_related("problem").order_by("-pk")[:MAX_FAILURES]


LOADING = gettext_noop("The model is being loaded.")
READY = gettext_noop("The model is ready.")
STARTING = gettext_noop("The model will restart in a moment.")


def check_model(model: Model) -> tuple[bool, str]:
    """Return whether a model is available now or soon, and its state as a message for users."""
    if model.fault:
        return False, _(model.fault)
    if is_worker_missing() or model.process == Model.Process.STARTING:
        return False, _(STARTING)
    return True, _(LOADING if model.process == Model.Process.LOADING else READY)

"""The list of families with their sizes and errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Max, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from winosmith.metrics import round_count
from winosmith.web._cache import RefreshedValue
from winosmith.web.families.figures import compute_tie_credit
from winosmith.web.judge.models import mark_unpublished_seen
from winosmith.web.people.gates import get_current_writer
from winosmith.web.predict.asking import get_current_models
from winosmith.web.predict.models import Model, Prediction
from winosmith.web.problems.models import Problem, Version
from winosmith.web.problems.search import Term, filter_by_terms, parse_terms
from winosmith.web.problems.states import get_public_problems

FAMILIES = 20
"""Number of families on a page."""

MAX_FOUND = 5_000
"""Maximum number of versions that a search considers, newest first."""

SORTS: dict[str, tuple[Any, Callable[[Family], Any]]] = {
    "size": (_("largest first"), lambda family: (-family.versions, family.root)),
    "newest": (_("newest first"), lambda family: -family.newest),
    "fooling": (
        _("most model errors first"),
        lambda family: (-family.error_count, -family.versions, family.root),
    ),
}
"""The orders of the list: the label, and the sort key."""


@dataclass(slots=True)
class Family:
    """A family in the list; its numbers include only public versions.

    Attributes:
        root: The key of the root.
        deepest: The maximum number of steps between a version and the root.
        newest: The key of the newest version.
        results: For each model's key, the numbers of its errors (`wrong`; a tie counts as 1 minus
            its credit), of its answers (`answered`, including ties), and of its `ties`.
        error_count: The number of incorrect answers by all current models, without ties.
        problem: The root, if the family is on the page.
    """

    root: int
    versions: int
    deepest: int
    newest: int
    results: dict[int, dict[str, float]] = field(default_factory=dict)
    error_count: int = 0
    problem: Problem | None = None

    def get_model_counts(self, model: Model) -> dict[str, Any]:
        none = {"wrong": 0, "answered": 0, "ties": 0}
        return {"model": model.name, **self.results.get(model.pk, none)}


def _get_versions() -> QuerySet[Version]:
    return Version.objects.filter(step__gt=0, problem__public=True).order_by()


def _get_predictions() -> QuerySet[Prediction]:
    rows = Prediction.objects.filter(model__current=True, problem__version__in=_get_versions())
    return rows.annotate(root=F("problem__version__root")).order_by()


def list_families() -> list[Family]:
    counts = _get_versions().values_list("root")
    counts = counts.annotate(Count("pk"), Max("step"), Max("problem_id"))
    found = {row[0]: Family(*row) for row in counts}
    wrong, tie = Q(tie=False, right=False), Q(tie=True)
    answers = _get_predictions().filter(tie | Q(right__isnull=False)).values_list("root", "model")
    for root, model, answered, errors, ties in answers.annotate(
        n=Count("pk"), errors=Count("pk", filter=wrong), ties=Count("pk", filter=tie)
    ):
        if root in found:
            numbers = {"wrong": errors, "answered": answered, "ties": ties}
            found[root].results[model] = numbers
            found[root].error_count += errors
    tied = _get_predictions().filter(tie)
    tied = tied.values_list("root", "model", "choice", "scores", "problem__answer")
    for root, model, choice, scores, answer, n in tied.annotate(n=Count("pk")):
        if root in found and (counted := found[root].results.get(model)):
            missed = n * (1 - compute_tie_credit(choice, scores, answer))
            counted["wrong"] = round_count(counted["wrong"] + missed)
    return list(found.values())


_FAMILIES = RefreshedValue(list_families)


def get_families_page(terms: list[Term], sort: str, page: object) -> Page:
    """Return a page of the families with a public root; pages are numbered from 1.

    The root or a public version must contain the search terms.
    """
    public = get_public_problems().select_related(None)
    rows = public.filter(pk__in=Version.objects.values("root")).order_by()
    if terms:
        matches = filter_by_terms(public.filter(version__isnull=False), terms).order_by("-place")
        keys = matches.values_list("version__root", flat=True)[:MAX_FOUND]
        rows = rows.filter(pk__in=set(keys))
    roots = set(rows.values_list("pk", flat=True))
    found = [family for family in _FAMILIES.get() if family.root in roots]
    found.sort(key=SORTS[sort][1])
    shown = Paginator(found, FAMILIES).get_page(page)
    problems = get_public_problems().in_bulk([family.root for family in shown])
    shown.object_list = [
        replace(family, problem=problems[family.root])
        for family in shown
        if family.root in problems
    ]
    return shown


MAX_QUERY_LENGTH = 200


@require_safe
def show_families(request: HttpRequest) -> HttpResponse:
    words = request.GET.get("q", "")[:MAX_QUERY_LENGTH]
    sort = request.GET.get("sort", "")
    sort = sort if sort in SORTS else "size"
    terms = parse_terms(words)
    shown = get_families_page(terms, sort, request.GET.get("page"))
    models = get_current_models()
    mark_unpublished_seen(get_current_writer(request), [family.problem for family in shown])
    context = {
        "rows": [(family, map(family.get_model_counts, models)) for family in shown],
        "shown": shown,
        "terms": terms,
        "words": words,
        "sort": sort,
        "sorts": {name: label for name, (label, _key) in SORTS.items()},
        "kept": urlencode({"q": words, "sort": sort}),
    }
    return render(request, "families/index.html", context)

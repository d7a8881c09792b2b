"""The pages and files of families, and the page that compares models over all families."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from winosmith.web.families import figures, page as pages, trees
from winosmith.web.families.lists import SORTS, get_families_page
from winosmith.web.families.trees import load_tree
from winosmith.web.judge.models import mark_unpublished_seen
from winosmith.web.people.gates import get_current_writer, rate_limit_reading
from winosmith.web.predict.asking import get_current_models
from winosmith.web.predict.models import Model
from winosmith.web.problems.search import parse_terms
from winosmith.web.problems.states import is_visible_to
from winosmith.web.read import downloads

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


@require_safe
def show_family(request: HttpRequest, ref: str) -> HttpResponseBase:
    person = get_current_writer(request)
    root = pages.load_family_problem(ref, person)
    version = getattr(root, "version", None)
    if version is not None and version.root_id != root.pk:
        pages.load_family_problem(version.root.ref, person)  # the reader must be allowed to see it
        query = request.GET.copy()
        if root.pk in load_tree(version.root, person).numbers:
            query["version"] = ref
        return redirect(
            f"{reverse('families:family', args=[version.root.ref])}?{query.urlencode()}"
        )
    tree = load_tree(root, person)
    look = pages.read_options(request, tree)
    wanted = request.GET.get("version", "")
    focus = pages.get_version_number(tree, wanted) if wanted else 0
    answers = [(model, figures.load_answers(root, tree, model)) for model in look.chosen]
    top = trees.build_tree_around(tree, focus, look.after)
    seen = tree.with_all_public()
    figured = [(model, replace(of, tree=seen)) for model, of in answers]
    rows = [(model, figures.compute_error_depths(of), of.unanswered_count) for model, of in figured]
    chance = tree.chance[tree.public] if tree.public.any() else tree.chance
    drawn = []
    for model, of in figured:
        by = figures.measure_accuracy(of, look.kind)
        chart = figures.draw_chart(model.name, by, float(chance.mean()))
        drawn.append((model, by, chart))
    context = {
        "root": root,
        "hidden": not is_visible_to(person, root),
        "public": root.public,
        "tree": tree,
        "seen": seen,
        "look": look,
        "focus": focus,
        "whole": look.make_query(),
        "node": pages.build_nodes(person, root, tree, top, look, answers, focus),
        "tabs": _make_model_tabs(look, wanted),
        "kinds": [
            (label, look.make_query(depth=kind, version=wanted), kind == look.kind)
            for kind, label in pages.DEPTH_NAMES.items()
        ],
        "kind": pages.DEPTH_NAMES[look.kind],
        "depths": rows,
        "drawn": drawn,
    }
    return render(request, "families/family.html", context)


@require_safe
def show_subtree(request: HttpRequest, ref: str, version: str) -> HttpResponseBase:
    person = get_current_writer(request)
    root = pages.load_family_problem(ref, person)
    tree = load_tree(root, person)
    look = pages.read_options(request, tree)
    number = pages.get_version_number(tree, version)
    if not request.htmx:
        query = look.make_query(version=version, after=look.after)
        return redirect(f"{reverse('families:family', args=[ref])}?{query}")
    top = trees.build_tree_below(tree, number, look.after, trees.MAX_ADDED)
    answers = [
        (model, figures.load_answers(root, tree, model) if len(look.chosen) == 1 else None)
        for model in look.chosen
    ]
    node = pages.build_nodes(person, root, tree, top, look, answers)
    context = {"look": look, "node": node, "more": look.after > 0}
    return render(request, "families/below.html", context)


def _make_model_tabs(options: pages.ViewOptions, version: str) -> list[tuple[str, str, bool]]:
    names = [(model.name, model.name) for model in options.models]
    if len(names) > 1:
        names.append(("all", _("all models")))
    return [
        (label, options.make_query(model=name, version=version), name == options.name)
        for name, label in names
    ]


PROBLEMS = "problems.jsonl"


@require_safe
def show_models(request: HttpRequest) -> HttpResponse:
    context = {
        "models": [
            (model, figures.get_answered_problems(model).count()) for model in get_current_models()
        ],
        "problems": figures.get_family_problems().count(),
        "against": [f"{name} ({n})" for name, n in figures.count_versions_by_target_model()],
        "files": " ".join(f"{model.name}.jsonl" for model in get_current_models()),
    }
    return render(request, "families/models.html", context)


@require_safe
def download_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """Send the problems of families, or a model's predictions for them.

    `problems.jsonl` contains all problems or, with `?model=NAME`, those that the model answered.
    `NAME.jsonl` contains the model's predictions. With `?of=all`, both files include other public
    problems.
    """
    families = request.GET.get("of", "") != "all"
    if name == PROBLEMS:
        wanted = request.GET.get("model", "")
        query = figures.get_family_problems()
        if wanted:
            query = figures.get_answered_problems(_get_current_model(wanted), families=families)
        rate_limit_reading(request, "download", downloads.MAX_DOWNLOADS_PER_HOUR)
        found = downloads.make_content(query, downloads.FILES[PROBLEMS])
        digest = found.digest
        source: downloads.HeadedFile | Generator[bytes, None, None] = downloads.iter_file(found)
    else:
        if not name.endswith(".jsonl"):
            raise Http404
        model = _get_current_model(name.removesuffix(".jsonl"))
        rate_limit_reading(request, "download", downloads.MAX_DOWNLOADS_PER_HOUR)
        digest, source = figures.write_predictions_file(model, families=families)
    return downloads.send_file(request, name, digest, source)


def _get_current_model(name: str) -> Model:
    return get_object_or_404(Model, name=name, current=True)

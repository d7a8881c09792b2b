"""The pages and files of families: view options, nodes of the tree, views, and template tags."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from django import template
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from winosmith.metrics import DepthKind
from winosmith.text import diff_text
from winosmith.web.families import figures, trees
from winosmith.web.families.figures import Answers
from winosmith.web.families.trees import DEPTHS, Tree, VisibleNode, load_tree
from winosmith.web.judge.models import mark_unpublished_seen
from winosmith.web.pages import is_number
from winosmith.web.people.gates import get_current_writer, rate_limit_reading
from winosmith.web.people.models import Person
from winosmith.web.predict.asking import get_current_models
from winosmith.web.predict.models import Model, Prediction, Status
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.states import get_public_problems, is_visible_to
from winosmith.web.read import downloads

ALL = "all"
"""Value of the URL parameter `model` that selects all models."""


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """The view options in a page's URL.

    Attributes:
        models: The current models, in the order of `site.toml`.
        chosen: The models whose answers are shown: one model, or all.
        name: The name of the chosen model; "all" for all models, "" without models.
        kind: The kind of depth for accuracies.
        after: The number of the version's children that are already visible.
    """

    models: Sequence[Model]
    chosen: Sequence[Model]
    name: str
    kind: DepthKind
    after: int

    @property
    def shows_several_models(self) -> bool:
        return len(self.chosen) > 1

    def make_query(self, **changes: str | int) -> str:
        values = {"model": self.name, "depth": self.kind} | changes
        return urlencode({key: value for key, value in values.items() if value not in ("", 0)})


def read_options(request: HttpRequest, tree: Tree) -> ViewOptions:
    models = get_current_models()
    name = request.GET.get("model", models[0].name if models else "")
    chosen = models if name == ALL else [model for model in models if model.name == name]
    kind = next((k for k in DEPTHS if k == request.GET.get("depth", tree.main_depth_kind)), None)
    if kind is None or (name and not chosen):
        raise Http404
    after = request.GET.get("after", "")
    return ViewOptions(models, chosen, name, kind, int(after) if is_number(after, 8) else 0)


def load_family_problem(ref: str, person: Person | None) -> Problem:
    """Return the problem with an id, or raise Http404 if the person may not see its family.

    A hidden root with a public version has a page, which shows only the root's id.
    """
    found = Problem.objects.select_related("twin", "version__root__twin").filter(ref=ref).first()
    if found is None:
        raise Http404
    versions = get_public_problems().filter(version__root=found).exclude(pk=found.pk)
    if not (is_visible_to(person, found) or versions.exists()):
        raise Http404
    return found


def get_version_number(tree: Tree, ref: str) -> int:
    row = Problem.objects.filter(ref=ref).values_list("pk", flat=True).first()
    if row not in tree.numbers:
        raise Http404
    return tree.numbers[row]


DEPTH_NAMES = {"declared": _("declared"), "lineage": _("lineage"), "edit": _("edit")}

Text = Any
"""A lazily translated text."""


Verdict = tuple[str, str, str, Text]
"""A model's name, and its result on a version: the kind of result, its sign, and its text."""

OWN_STATE_NOTES: Mapping[Any, Text] = {
    State.REJECTED: _("yours, rejected"),
    State.VALID: _("yours, not published yet"),
}
NOT_JUDGED = _("yours, not judged yet")


def build_nodes(
    person: Person | None,
    root: Problem,
    tree: Tree,
    top: VisibleNode,
    options: ViewOptions,
    answers: Sequence[tuple[Model, Answers | None]],
    focus: int | None = None,
) -> dict[str, Any]:
    """Return the template context of a page's nodes, from the top down, each with its `children`.

    The shown versions are recorded as read. A hidden root is shown without text, and its children
    are shown without their changes. `answers` contains the chosen models and, if one model is
    chosen, its answers, for folded branches. `focus` is the number of the version at the centre of
    the page.

    In a node, `options` is empty if the parent has the same options. `note` is the reason that a
    version is not public, and `wrong` is the number of incorrect answers in a folded branch. `page`
    and `fragment` are the URLs of the tree around and below the version; `more` has both URLs for
    its next children.
    """
    hidden_root = not is_visible_to(person, root)
    problems = _load_problems(tree, top)
    read = [
        problems[int(tree.rows[shown.number])]
        for shown in top.walk()
        if tree.public[shown.number] or (shown.number == 0 and not hidden_root)
    ]
    mark_unpublished_seen(person, read)
    verdicts = _load_verdicts(problems, [model for model, _all in answers])
    whole = answers[0][1] if len(answers) == 1 else None
    family, home = reverse("families:family", args=[root.ref]), reverse("read:home")
    query = options.make_query()

    def make_urls(ref: str, after: int = 0) -> tuple[str, str]:
        rest = f"&after={after}" if after else ""
        version = "" if ref == root.ref else f"&version={quote(ref, safe='')}"
        return (
            f"{family}?{query}{version}{rest}#tree",
            f"{family}below/{quote(ref, safe='')}/?{query}{rest}",
        )

    def build_node(shown: VisibleNode) -> dict[str, Any]:
        number = shown.number
        problem, above = problems[int(tree.rows[number])], int(tree.parents[number])
        shows_parent = above > 0 or (above == 0 and not hidden_root)
        parent = problems.get(int(tree.rows[above])) if shows_parent else None
        hidden = hidden_root and not number
        if hidden:
            problem = Problem(ref=problem.ref, options=[])
        note = OWN_STATE_NOTES.get(problem.state, NOT_JUDGED)
        depths = [(DEPTH_NAMES[kind], tree.get_depth(kind, number)) for kind in DEPTHS]
        page, fragment = make_urls(problem.ref)
        quoted = quote(problem.ref, safe="")
        return {
            "problem": problem,
            "hidden": hidden,
            "pieces": diff_text(parent.sentence if parent else problem.sentence, problem.sentence),
            "answer": "" if problem.answer is None else str(problem.options[problem.answer]),
            "options": [] if parent and parent.options == problem.options else problem.options,
            "depths": depths if number else [],
            "verdicts": verdicts.get(problem.pk, []),
            "note": "" if tree.public[number] else note,
            "shown": shown,
            "wrong": whole.incorrect_counts_below[number] if whole and shown.folded_count else None,
            "focus": number == focus,
            "page": page,
            "fragment": fragment,
            "perturb": f"{home}perturb/{quoted}/",
            "details": f"{home}problems/{quoted}/",
            "more": make_urls(problem.ref, shown.next_index),
            "children": [build_node(child) for child in shown.children],
        }

    return build_node(top)


def _load_problems(tree: Tree, top: VisibleNode) -> dict[int, Problem]:
    numbers = {shown.number for shown in top.walk()}
    numbers |= {int(tree.parents[number]) for number in numbers if number}
    fields = "ref", "sentence", "options", "answer", "state", "embargo", "twin"
    return Problem.objects.only(*fields).in_bulk([int(tree.rows[number]) for number in numbers])


def _load_verdicts(problems: Iterable[int], models: Sequence[Model]) -> dict[int, list[Verdict]]:
    columns = "problem", "model", "stand", "right", "tie"
    rows = Prediction.objects.filter(problem__in=list(problems), model__in=models)
    kinds = {
        (problem, model): _get_result(stand, right, tie)
        for problem, model, stand, right, tie in rows.values_list(*columns)
    }
    return {
        problem: [(model.name, *_RESULTS[kinds.get((problem, model.pk), "")]) for model in models]
        for problem in problems
    }


def _get_result(status: Any, right: bool | None, tie: bool) -> Any:
    if status != Status.DONE or (right is None and not tie):
        return status
    return "tie" if tie else "right" if right else "wrong"


_RESULTS: Mapping[Any, tuple[str, str, Text]] = {
    "right": ("right", "✓", _("correct")),
    "wrong": ("wrong", "✗", _("incorrect")),
    "tie": ("stuck", "=", _("undecided")),
    Status.WAITING: ("waiting", "…", _("waits for the model")),
    Status.LATE: ("stuck", "!", _("the model timed out")),
    Status.FAILED: ("stuck", "!", _("the model failed")),
    Status.DONE: ("stuck", "?", _("the answer is withheld")),
    "": ("waiting", "–", _("not asked yet")),
}


@require_safe
def show_family(request: HttpRequest, ref: str) -> HttpResponseBase:
    person = get_current_writer(request)
    root = load_family_problem(ref, person)
    version = getattr(root, "version", None)
    if version is not None and version.root_id != root.pk:
        load_family_problem(version.root.ref, person)  # the reader must be allowed to see it
        query = request.GET.copy()
        if root.pk in load_tree(version.root, person).numbers:
            query["version"] = ref
        return redirect(
            f"{reverse('families:family', args=[version.root.ref])}?{query.urlencode()}"
        )
    tree = load_tree(root, person)
    look = read_options(request, tree)
    wanted = request.GET.get("version", "")
    focus = get_version_number(tree, wanted) if wanted else 0
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
        "node": build_nodes(person, root, tree, top, look, answers, focus),
        "tabs": _make_model_tabs(look, wanted),
        "kinds": [
            (label, look.make_query(depth=kind, version=wanted), kind == look.kind)
            for kind, label in DEPTH_NAMES.items()
        ],
        "kind": DEPTH_NAMES[look.kind],
        "depths": rows,
        "drawn": drawn,
    }
    return render(request, "families/family.html", context)


@require_safe
def show_subtree(request: HttpRequest, ref: str, version: str) -> HttpResponseBase:
    person = get_current_writer(request)
    root = load_family_problem(ref, person)
    tree = load_tree(root, person)
    look = read_options(request, tree)
    number = get_version_number(tree, version)
    if not request.htmx:
        query = look.make_query(version=version, after=look.after)
        return redirect(f"{reverse('families:family', args=[ref])}?{query}")
    top = trees.build_tree_below(tree, number, look.after, trees.MAX_ADDED)
    answers = [
        (model, figures.load_answers(root, tree, model) if len(look.chosen) == 1 else None)
        for model in look.chosen
    ]
    node = build_nodes(person, root, tree, top, look, answers)
    context = {"look": look, "node": node, "more": look.after > 0}
    return render(request, "families/below.html", context)


def _make_model_tabs(options: ViewOptions, version: str) -> list[tuple[str, str, bool]]:
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


register = template.Library()


@register.filter("verdicts")
def format_verdicts(verdicts: Sequence[Verdict], with_names: bool) -> SafeString:
    """Format models' results on a version as HTML.

    This and `format_depths` build HTML in Python, because templates take ten times as long.
    """
    shown = []
    for model, kind, sign, words in verdicts:
        name = f"{escape(model)}: " if with_names else ""
        shown.append(
            f'<span class="verdict {kind}">{name}<span aria-hidden="true">{sign} </span>'
            f"{escape(words)}</span>"
        )
    return mark_safe("".join(shown))  # noqa: S308 - escaped


@register.filter("depths")
def format_depths(depths: Iterable[tuple[Any, int | None]]) -> SafeString:
    texts = (f"{escape(name)} {'–' if depth is None else depth}" for name, depth in depths)
    return mark_safe(" · ".join(texts))  # noqa: S308 - all escaped


@register.simple_tag(name="depth_name")
def get_depth_name(kind: str) -> Any:
    return DEPTH_NAMES[kind]

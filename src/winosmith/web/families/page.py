"""The page of a family: view options, nodes of the tree, and template tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from django import template
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from winosmith.metrics import DepthKind
from winosmith.text import diff_text
from winosmith.web.families.figures import Answers
from winosmith.web.families.trees import DEPTHS, Tree, VisibleNode
from winosmith.web.judge.models import mark_unpublished_seen
from winosmith.web.pages import is_number
from winosmith.web.people.models import Person
from winosmith.web.predict.asking import get_current_models
from winosmith.web.predict.models import Model, Prediction, Status
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.states import get_public_problems, is_visible_to

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

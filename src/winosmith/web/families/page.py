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
from winosmith.report import MIN_P_VALUE
from winosmith.text import diff_text
from winosmith.web.families.figures import Answers
from winosmith.web.families.trees import DEPTHS, Tree, VisibleNode
from winosmith.web.pages import is_number, to_fixed, to_percent
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
        kind: The kind of depth for accuracies and first errors.
        after: The number of the version's children that are already visible.
    """

    models: Sequence[Model]
    chosen: Sequence[Model]
    name: str
    kind: DepthKind
    after: int

    @property
    def several(self) -> bool:
        """Whether several models are shown."""
        return len(self.chosen) > 1

    def query(self, **changes: str | int) -> str:
        """Return the query string with these options, updated with the changes."""
        values = {"model": self.name, "depth": self.kind} | changes
        return urlencode({key: value for key, value in values.items() if value not in ("", 0)})


def read_options(request: HttpRequest, tree: Tree) -> ViewOptions:
    """Return the view options of a request; defaults are the first model and the tree's main depth.

    Raises:
        Http404: There is no such model or depth.
    """
    models = get_current_models()
    name = request.GET.get("model", models[0].name if models else "")
    chosen = models if name == ALL else [model for model in models if model.name == name]
    kind = next((k for k in DEPTHS if k == request.GET.get("depth", tree.kind)), None)
    if kind is None or (name and not chosen):
        raise Http404
    after = request.GET.get("after", "")
    return ViewOptions(models, chosen, name, kind, int(after) if is_number(after, 8) else 0)


def get_root(ref: str, person: Person | None) -> Problem:
    """Return the problem with an id, if the person may see the problem's family.

    A hidden root with a public version has a page, which shows only the root's id.

    Raises:
        Http404: The problem does not exist, or is hidden and has no public version.
    """
    found = Problem.objects.select_related("twin", "version__root__twin").filter(ref=ref).first()
    if found is None:
        raise Http404
    versions = get_public_problems().filter(version__root=found).exclude(pk=found.pk)
    if not (is_visible_to(person, found) or versions.exists()):
        raise Http404
    return found


def get_version_number(tree: Tree, ref: str) -> int:
    """Return the number of a version in a tree.

    Raises:
        Http404: The tree has no such version, or the visitor may not see it.
    """
    row = Problem.objects.filter(ref=ref).values_list("pk", flat=True).first()
    if row not in tree.numbers:
        raise Http404
    return tree.numbers[row]


class Links:
    """The URLs of a family's versions.

    Args:
        root: The id of the root.
        look: The view options to include in the URLs.
    """

    def __init__(self, root: str, look: ViewOptions):
        self.family = reverse("families:family", args=[root])
        self._root = root
        self._home = reverse("read:home")
        self._kept = look.query()

    def get_page_url(self, ref: str, after: int = 0) -> str:
        """Return the URL of the tree around a version."""
        version = "" if ref == self._root else f"&version={quote(ref, safe='')}"
        return f"{self.family}?{self._kept}{version}{_format_after(after)}#tree"

    def get_fragment_url(self, ref: str, after: int = 0) -> str:
        """Return the URL of the tree below a version, which an open page loads."""
        return f"{self.family}below/{quote(ref, safe='')}/?{self._kept}{_format_after(after)}"

    def get_perturb_url(self, ref: str) -> str:
        """Return the URL of the form that perturbs a version."""
        return f"{self._home}perturb/{quote(ref, safe='')}/"

    def get_details_url(self, ref: str) -> str:
        """Return the URL of the problem's page."""
        return f"{self._home}problems/{quote(ref, safe='')}/"


def _format_after(after: int) -> str:
    return f"&after={after}" if after else ""


DEPTH_NAMES = {"declared": _("declared"), "lineage": _("lineage"), "edit": _("edit")}

Text = Any
"""A lazily translated text."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A model's result on a version, shown as a sign and in words, not only as a colour."""

    model: str
    kind: str
    sign: str
    words: Text


NOTES: Mapping[Any, Text] = {
    State.REJECTED: _("yours, not found valid"),
    State.VALID: _("yours, not published yet"),
}
NOT_JUDGED = _("yours, not judged yet")


def load_problems(tree: Tree, top: VisibleNode) -> dict[int, Problem]:
    """Load the problems of a page's nodes and their parents, by key."""
    numbers = {shown.number for shown in top.walk()}
    numbers |= {int(tree.parents[number]) for number in numbers if number}
    fields = "ref", "sentence", "options", "answer", "state", "embargo", "twin"
    return Problem.objects.only(*fields).in_bulk([int(tree.rows[number]) for number in numbers])


def build_nodes(
    tree: Tree,
    top: VisibleNode,
    problems: Mapping[int, Problem],
    answers: Sequence[tuple[Model, Answers | None]],
    links: Links,
    focus: int | None = None,
    *,
    hidden_root: bool = False,
) -> dict[str, Any]:
    """Return the template context of a page's nodes, from the top down, each with its `children`.

    `options` are empty if they equal the parent's options. `note` is the reason that a version is
    not public, and `wrong` is the number of incorrect answers in a folded branch. `page` and
    `fragment` are the URLs of the tree around and below it; `more` has both for its next children.

    Args:
        tree: The family.
        top: The top node, from `trees.build_tree_around` or `trees.build_tree_below`.
        problems: The problems, from `load_problems`.
        answers: The chosen models; if there is only one, with its answers, for folded branches.
        links: The URLs of the versions.
        focus: The number of the version at the centre of the page.
        hidden_root: Whether to hide the root and the changes from it.
    """
    verdicts = _load_verdicts(problems, [model for model, _all in answers])
    whole = answers[0][1] if len(answers) == 1 else None

    def build_node(shown: VisibleNode) -> dict[str, Any]:
        problem = problems[int(tree.rows[shown.number])]
        above = int(tree.parents[shown.number])
        parent = (
            None
            if above < 0 or (hidden_root and not above)
            else problems.get(int(tree.rows[above]))
        )
        if hidden_root and not shown.number:
            problem = Problem(ref=problem.ref, options=[])
        return {
            "problem": problem,
            "hidden": hidden_root and not shown.number,
            "pieces": diff_text(parent.sentence if parent else problem.sentence, problem.sentence),
            "answer": "" if problem.answer is None else str(problem.options[problem.answer]),
            "options": [] if parent and parent.options == problem.options else problem.options,
            "depths": _list_version_depths(tree, shown.number),
            "verdicts": verdicts.get(problem.pk, []),
            "note": "" if tree.public[shown.number] else NOTES.get(problem.state, NOT_JUDGED),
            "shown": shown,
            "wrong": whole.incorrect_below[shown.number] if whole and shown.folded else None,
            "focus": shown.number == focus,
            "page": links.get_page_url(problem.ref),
            "fragment": links.get_fragment_url(problem.ref),
            "perturb": links.get_perturb_url(problem.ref),
            "details": links.get_details_url(problem.ref),
            "more": (
                links.get_page_url(problem.ref, shown.after),
                links.get_fragment_url(problem.ref, shown.after),
            ),
            "children": [build_node(child) for child in shown.children],
        }

    return build_node(top)


def _list_version_depths(tree: Tree, number: int) -> list[tuple[Text, int | None]]:
    if not number:
        return []
    found = [(DEPTH_NAMES[kind], int(tree.depths[kind][number])) for kind in DEPTHS]
    return [(name, None if depth < 0 else depth) for name, depth in found]


def _load_verdicts(
    problems: Mapping[int, Problem], models: Sequence[Model]
) -> dict[int, list[Verdict]]:
    if not models:
        return {}
    found = {
        (row["problem"], row["model"]): row
        for row in Prediction.objects.filter(
            problem__in=list(problems), model__in=[model.pk for model in models]
        ).values("problem", "model", "stand", "right", "tie")
    }
    return {
        number: [
            _make_verdict(model.name, **found.get((number, model.pk), _NO_ANSWER))
            for model in models
        ]
        for number in problems
    }


_NO_ANSWER = {"stand": "", "right": None, "tie": False}


def _make_verdict(name: str, stand: Any, right: bool | None, tie: bool, **_rest: int) -> Verdict:
    if stand == Status.DONE:
        stand = "tie" if tie else {True: "right", False: "wrong", None: stand}[right]
    return Verdict(name, *_RESULTS[stand])


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

Ends = Sequence[float] | None


@register.filter("verdicts")
def format_verdicts(verdicts: Sequence[Verdict], with_names: bool) -> SafeString:
    """Format models' results on a version as HTML, with the models' names if `with_names`.

    This and `format_depths` build HTML in Python, because templates take ten times as long.
    """
    return mark_safe("".join(_format_verdict(one, with_names) for one in verdicts))  # noqa: S308 - escaped


def _format_verdict(verdict: Verdict, with_name: bool) -> str:
    name = f"{escape(verdict.model)}: " if with_name else ""
    return (
        f'<span class="verdict {verdict.kind}">{name}'
        f'<span aria-hidden="true">{verdict.sign} </span>'
        f"{escape(verdict.words)}</span>"
    )


@register.filter("depths")
def format_depths(depths: Iterable[tuple[Any, int | None]]) -> SafeString:
    """Format a version's depths with their names, as HTML."""
    texts = (f"{escape(name)} {'–' if depth is None else depth}" for name, depth in depths)
    return mark_safe(" · ".join(texts))  # noqa: S308 - all escaped


@register.simple_tag(name="depth_name")
def get_depth_name(kind: str) -> Any:
    """Return the name of a kind of depth."""
    return DEPTH_NAMES[kind]


@register.simple_tag(name="number")
def format_number(value: float | None, digits: int = 2) -> str:
    """Format a number; None becomes a dash."""
    return "–" if value is None else to_fixed(value, digits)


@register.filter("points")
def format_count(value: float) -> Any:
    """Format a count, with decimals if ties make it fractional."""
    if isinstance(value, int):
        return value
    return to_fixed(value, 1 if value == round(value, 1) else 2)


@register.simple_tag(name="interval")
def format_interval(ends: Ends) -> str:
    """Format an interval of depths; None becomes a dash."""
    return "–" if not ends else f"{to_fixed(ends[0], 2)}–{to_fixed(ends[1], 2)}"


@register.simple_tag(name="share")
def format_percentage(value: float | str | None) -> str:
    """Format a fraction as a percentage; None becomes a dash."""
    return to_percent(value) if isinstance(value, int | float) else "–"


@register.simple_tag(name="shares")
def format_percentage_interval(ends: Ends | str) -> str:
    """Format an interval of fractions as percentages; None becomes a dash."""
    if not ends or isinstance(ends, str):
        return "–"
    return f"{to_fixed(100 * ends[0], 1)}–{to_fixed(100 * ends[1], 1)}"


@register.simple_tag(name="p_value")
def format_p_value(value: float | None) -> str:
    """Format a p-value as in reports (`report.probability`); None becomes a dash."""
    if value is None:
        return "–"
    return f"<{to_fixed(MIN_P_VALUE, 4)}" if value < MIN_P_VALUE else to_fixed(value, 4)


@register.simple_tag(name="error_depths")
def list_error_depths(stability: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the three error depths with their names."""
    return [
        (_("errors"), stability["mean"]),
        (_("families"), stability["family_mean"]),
        (_("first errors"), stability["first"]),
    ]


@register.simple_tag(name="curve")
def list_curve_rows(survival: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return a survival curve's rows: depth, at risk, errors, censored, fraction without error."""
    columns = ("depths", "at_risk", "errors", "censored", "share")
    return list(zip(*(survival[name] for name in columns), strict=True))


@register.simple_tag(name="drawn")
def mark_chart_safe(markup: str) -> SafeString:
    """Mark a chart as safe HTML; the site has drawn it and escaped its text."""
    return mark_safe(markup)  # noqa: S308 - made by `winosmith.report`, not by people

"""The pages for readers, and template tags that render sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django import template
from django.conf import settings
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext as _
from django.views.decorators.http import require_safe

from winosmith import __version__
from winosmith.escape import escape_markdown
from winosmith.problem import BLANK
from winosmith.text import Change
from winosmith.validate import StructureRules
from winosmith.web.judge.models import mark_unpublished_seen
from winosmith.web.judge.votes import list_votes
from winosmith.web.pages import mark_as_download
from winosmith.web.people.gates import get_current_page, get_current_writer
from winosmith.web.people.models import Person, get_pseudonym
from winosmith.web.problems.family import fold_steps, get_path, get_visible_steps, may_perturb
from winosmith.web.problems.models import Problem, State, Twin
from winosmith.web.problems.search import Term, parse_terms
from winosmith.web.problems.states import get_public_time, is_visible_to
from winosmith.web.read import public


@require_safe
def show_home(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        "read/home.html",
        {"figures": public.get_stats(), "example": public.get_example_twin()},
    )


@require_safe
def browse_problems(request: HttpRequest) -> HttpResponse:
    filters = public.Filters(request.GET)
    query = filters.apply()
    shown = public.get_page(query, request.GET)
    mark_unpublished_seen(get_current_writer(request), shown.problems)
    groups = [list(halves) for _, halves in groupby(shown.problems, key=lambda row: row.twin_id)]
    count, more = public.count_rows(query)
    context = {
        "filters": filters,
        "page": shown,
        "groups": [(own[0].twin, _get_credited_name(own[0].twin), own[::-1]) for own in groups],
        "terms": parse_terms(filters.cleaned_data.get("q", "")),
        "count": count,
        "more": more,
        "kept": filters.get_params().urlencode(),
    }
    template = "read/results.html" if request.htmx.target == "results" else "read/browse.html"
    return render(request, template, context, status=200 if filters.is_valid() else 422)


@require_safe
def show_problem(request: HttpRequest, ref: str) -> HttpResponse:
    person = get_current_writer(request)
    found, halves, family = load_problem(person, ref)
    context = {
        "problem": found,
        "halves": [
            (half, count_votes(half), get_public_time(half), may_perturb(person, half))
            for half in halves
        ],
        "family": family,
        "public": found.public,
        "credit": _get_credited_name(found.twin),
        "address": request.build_absolute_uri(request.path),
    }
    return render(request, "read/problem.html", context)


def load_problem(
    person: Person | None, ref: str
) -> tuple[Problem, list[Problem], dict[str, Any] | None]:
    """Load a problem for a reader, and record the reading; raise Http404 if it is hidden.

    Returns the problem, the halves of its twin that the reader may see, and its family
    (`_make_family_context`).
    """
    found = Problem.objects.select_related("twin__contributor").filter(ref=ref).first()
    if found is None or not is_visible_to(person, found):
        raise Http404
    rows = found.twin.problems.select_related("twin__contributor").order_by("id")
    halves = [half for half in rows if is_visible_to(person, half)]
    family = _make_family_context(person, found)
    mark_unpublished_seen(person, [*halves, *(family["seen"] if family else ())])
    return found, halves, family


@require_safe
def show_guidelines(request: HttpRequest) -> HttpResponse:
    rules = StructureRules()
    least, most = rules.length or (0, 0)
    context = {
        "least": least,
        "most": most,
        "overlap": round(100 * (rules.overlap or 0)),
        "good": [
            [
                (text.format(word), options, option)
                for word, option in zip(words, options, strict=True)
            ]
            for text, words, options in GOOD
        ],
        "bad": _list_bad_examples(),
    }
    return render(request, "read/guidelines.html", context)


@require_safe
def show_card(request: HttpRequest) -> HttpResponse:
    return render(request, "read/card.html", {"card": public.make_card_context()})


@require_safe
def download_card(request: HttpRequest) -> HttpResponse:
    """Send the data card as Markdown, always in the site's default language."""
    address = request.build_absolute_uri("/")
    context = {"card": public.make_card_context(), "address": address, "version": __version__}
    with translation.override(settings.LANGUAGE_CODE):
        text = render_to_string("read/card.md", context)
    response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    return mark_as_download(response, "data-card.md")


def show_csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Reject a form that was not sent from a page of this site, and link to the form."""
    return render(request, "forgery.html", {"form": get_current_page(request)}, status=403)


def _get_credited_name(twin: Twin) -> str:
    return get_pseudonym(twin.contributor) if twin.contributor else ""


GOOD = (
    (
        "Ingrid borrowed Freya's boots for a long hike in the hills, and on the day after it _ "
        "{} them back with a bar of chocolate.", ("gave", "got"), ("Ingrid", "Freya"),
    ),
    (
        "Walter came late to three rehearsals and Rudolf to none, so in front of the whole choir _ "
        "was {} by the strict conductor.", ("scolded", "praised"), ("Walter", "Rudolf"),
    ),
    (
        "The suitcase slid off the roof of the car in the first bend but the ladder stayed there, "
        "because the _ had been tied {}.", ("loosely", "tightly"), ("suitcase", "ladder"),
    ),
    (
        "After an hour, the soup in the blue pot was cold while the soup in the red pot was still "
        "hot, because the _ had {} lid.", ("no", "a"), ("blue pot", "red pot"),
    ),
)  # fmt: skip
"""The guidelines' good twins: the text, the triggers of both halves, and their answers.

None of them is in the practice corpus, which sites import for judging.
"""


PREDATORS = "The lions ate the zebras because the _ are {}."
TREE = "The tree fell down and crashed through the roof of my house. Now, I have to get the _ {}."
CUP = "Mia put the cup beside the jug on the wobbly shelf in the kitchen, and then the _ {}."
LOAN = "Paula lent Nadia her good umbrella on the way to the station, because _ was {}."


def _list_bad_examples() -> list[dict[str, Any]]:
    lions, tree = ("lions", "zebras"), ("tree", "roof")
    return [
        {
            "halves": [
                (PREDATORS.format("predators"), lions, "lions"),
                (PREDATORS.format("meaty"), lions, "zebras"),
            ],
            "why": _(
                "Word association answers it: predators goes with lions, "
                "whatever the sentence says. A judge who sees only the words "
                "around the blank already answers correctly."
            ),
            "source": "Rahman and Ng (2012), as printed in Sakaguchi et al. (2020), table 1",
        },
        {
            "halves": [
                (TREE.format("removed"), tree, "tree"),
                (TREE.format("repaired"), tree, "roof"),
            ],
            "why": _(
                "One removes trees and repairs roofs in any story. The sentence before the blank "
                "is not needed."
            ),
            "source": "Levesque et al. (2011), as printed in Sakaguchi et al. (2020), table 1",
        },
        {
            "halves": [
                (CUP.format("broke"), ("cup", "jug"), "cup"),
                (CUP.format("stood still"), ("cup", "jug"), "jug"),
            ],
            "why": _(
                "Both options fit both halves: nothing in the sentence indicates which of the two "
                "it was."
            ),
        },
        {
            "halves": [
                (LOAN.format("kind"), ("Paula", "Nadia"), "Paula"),
                (LOAN.format("generous"), ("Paula", "Nadia"), "Paula"),
            ],
            "why": _(
                "The answer does not flip: both halves are about Paula. The trigger must flip it."
            ),
        },
    ]


@dataclass(frozen=True, slots=True)
class JudgeVotes:
    """The judges' votes on a problem.

    Attributes:
        right: The number of votes for the contributor's answer.
        ambiguous: The number of judges who found more than one option plausible.
        associative: The number of judges who found that single words give the answer away.
        local: The number of votes for the answer from the local context.
    """

    votes: int
    right: int
    ambiguous: int
    associative: int
    local: int


def count_votes(problem: Problem) -> JudgeVotes | None:
    if problem.state not in (State.VALID, State.REJECTED):
        return None
    votes = list_votes(problem)
    if not votes:
        return None
    local = [vote.local_choice for vote in votes if vote.local_choice is not None]
    return JudgeVotes(
        votes=len(votes),
        right=sum(bool(vote.right) for vote in votes),
        ambiguous=sum(vote.ambiguous for vote in votes),
        associative=sum(vote.associative for vote in votes),
        local=local.count(problem.answer),
    )


def _make_family_context(person: Person | None, problem: Problem) -> dict[str, Any] | None:
    """Return the family context for a problem's page, or None if there is no family.

    Versions that the person may not see have neither text nor URL, and edits that would reveal them
    are omitted. An original has no path; its family is included only if one of its versions is
    visible. `tree` is the id of the family's page.
    """
    path = get_path(problem)
    version = getattr(path[-1], "version", None)
    if version is None:
        return None
    seen = [row for row in path if is_visible_to(person, row)]
    if len(path) == 1:
        versions = Problem.objects.filter(version__root=problem).exclude(pk=problem.pk)
        if person is None or not person.can_moderate:
            own = Q(twin__contributor=person, gold=False) if person else Q(pk=None)
            versions = versions.filter(Q(public=True) | own)
        if not versions.exists():
            return None
    root, parent = path[0], path[-2] if len(path) > 1 else None
    return {
        "version": version,
        "seen": seen,
        "perturbed": parent is not None,
        "root": root if root in seen else None,
        "tree": root.ref if root in seen or is_visible_to(None, problem) else "",
        "parent": parent if parent in seen else None,
        "way": fold_steps(get_visible_steps(path, person)) if parent is not None else None,
    }


register = template.Library()

_BLANK = format_html('<span class="blank">{}</span>', BLANK)


@register.simple_tag(name="sentence")
def render_sentence(text: str, terms: Iterable[Term] = ()) -> SafeString:
    wanted = [
        r"[\W_]+".join(map(re.escape, term.words)) for term in terms or () if term.is_required
    ]
    if not wanted:
        return mark_safe(_escape_sentence(text))  # noqa: S308 - escaped
    found = re.compile(rf"(?<![^\W_])({'|'.join(wanted)})(?![^\W_])", re.I)

    def highlight(part: str) -> str:
        plain_or_found = enumerate(map(escape, found.split(part)))
        return "".join(f"<mark>{piece}</mark>" if at % 2 else piece for at, piece in plain_or_found)

    return mark_safe(_escape_sentence(text, highlight))  # noqa: S308 - all escaped


def _escape_sentence(text: str, escape_part: Callable[[str], str] = escape) -> str:
    return _BLANK.join(map(escape_part, text.split(BLANK)))


@register.filter("edited")
def render_edits(pieces: Iterable[Change]) -> SafeString:
    spoken = {"del": escape(_("[deleted:")), "ins": escape(_("[inserted:"))}
    language, shown = get_language(), []
    for text, tag in pieces:
        part = _escape_sentence(text)
        if tag:
            # The hidden label is in the page's language, and keeps the sentence's direction.
            label = f'<bdi class="hidden" lang="{language}">{spoken[tag]} </bdi>'
            part = f'<{tag}>{label}{part}<span class="hidden">]</span></{tag}>'
        shown.append(part)
    return mark_safe("".join(shown))  # noqa: S308 - all escaped


@register.filter("marked")
def highlight_differences(pieces: Iterable[Change]) -> SafeString:
    shown = ((_escape_sentence(text), kind) for text, kind in pieces)
    return mark_safe("".join(f"<mark>{text}</mark>" if kind else text for text, kind in shown))  # noqa: S308


@register.filter("cell")
def escape_cell(text: str) -> str:
    return escape_markdown(text)

"""The pages of reading."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from winosmith import practice
from winosmith.validate import StructureRules
from winosmith.web.judge.seen import note_read
from winosmith.web.people.gates import existing_writer
from winosmith.web.people.models import pseudonym
from winosmith.web.problems.family import may_perturb
from winosmith.web.problems.models import Problem, Twin
from winosmith.web.problems.search import parse
from winosmith.web.problems.states import public_problems, visible_to, waits_until
from winosmith.web.read.figures import card_markdown, card_of, figures, showpiece
from winosmith.web.read.filters import Filters, capped_count, page
from winosmith.web.read.problem import family_of, judged


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show what the site is for, where its data stand, and how to take part."""
    return render(request, "read/home.html", {"figures": figures(), "example": showpiece()})


@require_safe
def browse(request: HttpRequest) -> HttpResponse:
    """Show the public problems, searched and filtered, a page at a time."""
    filters = Filters(request.GET)
    query = filters.apply()
    shown = page(query, request.GET)
    note_read(existing_writer(request), shown.problems)
    count, more = capped_count(query)
    context = {
        "filters": filters,
        "page": shown,
        "groups": _by_twin(shown.problems),
        "terms": parse(filters.cleaned_data.get("q", "")),
        "count": count,
        "more": more,
        "kept": filters.kept().urlencode(),
    }
    template = "read/results.html" if request.htmx.target == "results" else "read/browse.html"
    return render(request, template, context, status=200 if filters.is_valid() else 422)


@require_safe
def problem(request: HttpRequest, ref: str) -> HttpResponse:
    """Show a problem and its other half; to everyone else than may see it, it does not exist."""
    person = existing_writer(request)
    found = Problem.objects.select_related("twin__contributor").filter(ref=ref).first()
    if found is None or not visible_to(person, found):
        raise Http404
    halves = [half for half in found.twin.problems.order_by("id") if visible_to(person, half)]
    family = family_of(person, found)
    note_read(person, [*halves[:1], *(family["seen"] if family else ())])
    public = public_problems().filter(pk__in=[half.pk for half in halves])
    context = {
        "problem": found,
        "halves": [(half, judged(half), waits_until(half)) for half in halves],
        "others": len(halves) - 1,
        "family": family,
        "may_perturb": may_perturb(person, found),
        "public": found.pk in set(public.values_list("pk", flat=True)),
        "credit": _credit(found.twin),
        "address": request.build_absolute_uri(request.path),
    }
    return render(request, "read/problem.html", context)


@require_safe
def guidelines(request: HttpRequest) -> HttpResponse:
    """Show how twins are written and judged, with good and bad examples."""
    return render(request, "read/guidelines.html", guides())


@require_safe
def card(request: HttpRequest) -> HttpResponse:
    """Show what the data are, how they were made, and what they are not."""
    return render(request, "read/card.html", {"card": card_of()})


@require_safe
def card_text(request: HttpRequest) -> HttpResponse:
    """Send the data card as Markdown."""
    text = card_markdown(card_of(), request.build_absolute_uri("/"))
    response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    response.headers["Content-Disposition"] = 'attachment; filename="data-card.md"'
    return response


def forgery_suspected(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Tell that a form did not come from a page of this site, and keep nothing of it."""
    return render(request, "forgery.html", status=403)


def _credit(twin: Twin) -> str:
    return pseudonym(twin.contributor) if twin.contributor else ""


def _by_twin(problems: list[Problem]) -> list[tuple[Twin, str, list[Problem]]]:
    """Return neighbours of one twin together, with who wrote them, the older half first."""
    groups = [list(halves) for _, halves in groupby(problems, key=lambda found: found.twin_id)]
    return [(halves[0].twin, _credit(halves[0].twin), halves[::-1]) for halves in groups]


GOOD = ("a6ed7e2a3673", "a24f68d1337b", "0258b8f13fd4", "12255c3853b9")
"""The twins of `winosmith.practice.handwritten` that are shown: two social, two physical."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A twin that breaks a rule.

    Attributes:
        halves: each a sentence, its options, and the right one.
        why: what is wrong with it.
        source: where it is printed; "" for one of ours.
    """

    halves: tuple[tuple[str, tuple[str, str], str], ...]
    why: str
    source: str = ""


PREDATORS = "The lions ate the zebras because the _ are {}."
TREE = "The tree fell down and crashed through the roof of my house. Now, I have to get the _ {}."
CUP = "Mia put the cup beside the jug on the wobbly shelf in the kitchen, and then the _ {}."
LOAN = "Paula lent Nadia her good umbrella on the way to the station, because _ was {}."


def guides() -> dict[str, Any]:
    """Return the rules and the examples for the page."""
    rules = StructureRules()
    handwritten = practice.handwritten()
    least, most = rules.length or (0, 0)
    return {
        "least": least,
        "most": most,
        "overlap": round(100 * (rules.overlap or 0)),
        "good": [
            [
                (half.sentence, half.options, half.options[half.answer or 0])
                for half in handwritten
                if half.twin_id == twin
            ]
            for twin in GOOD
        ],
        "bad": _bad(),
    }


def _bad() -> list[Bad]:
    lions, tree = ("lions", "zebras"), ("tree", "roof")
    return [
        Bad(
            (
                (PREDATORS.format("predators"), lions, "lions"),
                (PREDATORS.format("meaty"), lions, "zebras"),
            ),
            _(
                "Word association answers it: predators goes with lions, whatever the sentence "
                "says. A judge who sees only the words around the blank is right already."
            ),
            "Rahman and Ng (2012), as printed in Sakaguchi et al. (2020), table 1",
        ),
        Bad(
            (
                (TREE.format("removed"), tree, "tree"),
                (TREE.format("repaired"), tree, "roof"),
            ),
            _(
                "One removes trees and repairs roofs in any story. The sentence before the blank "
                "is not needed."
            ),
            "Levesque et al. (2011), as printed in Sakaguchi et al. (2020), table 1",
        ),
        Bad(
            (
                (CUP.format("broke"), ("cup", "jug"), "cup"),
                (CUP.format("stood still"), ("cup", "jug"), "jug"),
            ),
            _(
                "Both options fit both halves: nothing in the sentence says which of the two "
                "it was."
            ),
        ),
        Bad(
            (
                (LOAN.format("kind"), ("Paula", "Nadia"), "Paula"),
                (LOAN.format("generous"), ("Paula", "Nadia"), "Paula"),
            ),
            _(
                "The answer does not flip: both halves are about Paula. The trigger has to turn "
                "it round."
            ),
        ),
    ]

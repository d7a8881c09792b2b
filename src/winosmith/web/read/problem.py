"""What the page of a problem tells: its sentence on any page, what judges said, its family."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import template
from django.db.models import Q
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from winosmith.problem import BLANK
from winosmith.text import Change
from winosmith.web.judge.votes import votes_of
from winosmith.web.people.models import Person
from winosmith.web.problems.family import folded, path_to, steps
from winosmith.web.problems.models import Problem, State, Version
from winosmith.web.problems.search import Term
from winosmith.web.problems.states import visible_to


@dataclass(frozen=True, slots=True)
class Judged:
    """The judges' answers about a problem.

    Attributes:
        votes: how many judged it.
        right: how many of them chose the contributor's answer.
        ambiguous: how many found more than one option plausible.
        associative: how many found the answer given away by single words.
        local: how many chose that answer from the words around the blank alone.
    """

    votes: int
    right: int
    ambiguous: int
    associative: int
    local: int


def judged(problem: Problem) -> Judged | None:
    """Return what judges said; None while they have not decided, or where nobody was asked."""
    if problem.state not in (State.VALID, State.REJECTED):
        return None
    votes = votes_of(problem)
    if not votes:
        return None
    return Judged(
        votes=len(votes),
        right=sum(bool(vote.right) for vote in votes),
        ambiguous=sum(vote.ambiguous for vote in votes),
        associative=sum(vote.associative for vote in votes),
        local=sum(
            vote.local_choice is not None and vote.local_choice == problem.answer for vote in votes
        ),
    )


def family_of(person: Person | None, problem: Problem) -> dict[str, Any] | None:
    """Return what a page tells of a problem's family; None where nobody perturbed it or it others.

    Of a version that the person may not see there is neither text nor address, nor an edit that
    would spell it. An original has no way to show, and its family is told of once a version of it
    can be seen. `tree` is the id by which the family has a page.
    """
    path = path_to(problem)
    rows = {row.problem_id: row for row in Version.objects.filter(problem__in=path)}
    version = rows.get(problem.pk)
    if version is None:
        return None
    seen = [row for row in path if visible_to(person, row)]
    if len(path) == 1 and not _has_children(person, problem):
        return None
    root, parent = path[0], path[-2] if len(path) > 1 else None
    return {
        "version": version,
        "seen": seen,
        "perturbed": parent is not None,
        "root": root if root in seen else None,
        "tree": root.ref if root in seen or visible_to(None, problem) else "",
        "parent": parent if parent in seen else None,
        "way": folded(steps(path, person)) if parent is not None else None,
    }


def _has_children(person: Person | None, root: Problem) -> bool:
    """Tell whether there is a version of an original that the person may see."""
    family = Problem.objects.filter(version__root=root).exclude(pk=root.pk)
    own = Q(twin__contributor=person, gold=False) if person else Q(pk=None)
    everything = person is not None and person.moderates
    return (family if everything else family.filter(Q(public=True) | own)).exists()


register = template.Library()

_BLANK = format_html('<span class="blank">{}</span>', BLANK)


@register.simple_tag
def sentence(text: str, terms: Iterable[Term] = ()) -> SafeString:
    """Return a sentence as HTML, everything in it escaped: its blank, and the words found."""
    wanted = [r"[\W_]+".join(map(re.escape, term.words)) for term in terms or () if term.wanted]
    found = re.compile(rf"(?<![^\W_])(?:{'|'.join(wanted)})(?![^\W_])", re.I) if wanted else None
    pieces = [_marked(piece, found) for piece in text.split(BLANK)]
    return mark_safe(_BLANK.join(pieces))  # noqa: S308 - all escaped


def _marked(text: str, found: re.Pattern[str] | None) -> SafeString:
    if found is None:
        return format_html("{}", text)
    parts, at = [], 0
    for match in found.finditer(text):
        parts.append(format_html("{}<mark>{}</mark>", text[at : match.start()], match[0]))
        at = match.end()
    return mark_safe("".join([*parts, format_html("{}", text[at:])]))  # noqa: S308 - all escaped


@register.filter
def edited(pieces: Iterable[Change]) -> SafeString:
    """Return a sentence as HTML: what was taken out and put in, for the eye and for the ear."""
    spoken = {"del": _("[taken out:"), "ins": _("[put in:")}
    return mark_safe("".join(_piece(text, kind, spoken) for text, kind in pieces))  # noqa: S308


@register.filter
def marked(pieces: Iterable[Change]) -> SafeString:
    """Return a sentence as HTML: what another one does not hold is marked."""
    shown = ((_BLANK.join(map(escape, text.split(BLANK))), kind) for text, kind in pieces)
    return mark_safe("".join(f"<mark>{text}</mark>" if kind else text for text, kind in shown))  # noqa: S308


def _piece(text: str, kind: str, spoken: Mapping[str, str]) -> str:
    shown = _BLANK.join(escape(part) for part in text.split(BLANK))
    if not kind:
        return shown
    # What is said beside the words is in the page's language, and does not turn the sentence.
    said = f'<bdi class="hidden" lang="{get_language()}">{escape(spoken[kind])} </bdi>'
    return f'<{kind}>{said}{shown}<span class="hidden">]</span></{kind}>'


@register.filter
def cell(text: str) -> str:
    """Return a text for one cell of a Markdown table: nothing in it is markup."""
    return re.sub(r"([\\`*_\[\]<>|&#])", r"\\\1", " ".join(str(text).split()))

"""Versions on a page: their sentences with what was changed, and where their links lead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from winosmith.problem import BLANK
from winosmith.web.families.changes import Change
from winosmith.web.families.look import Look
from winosmith.web.families.nodes import DEPTH_NAMES, Node
from winosmith.web.problems.models import Problem

__all__ = ["address", "changed", "depth_name", "folded", "more", "number", "query", "register"]

register = template.Library()

_BLANK = format_html('<span class="blank">{}</span>', BLANK)
_TAGS = {"added": "ins", "removed": "del"}


@register.simple_tag
def changed(runs: Iterable[Change]) -> SafeString:
    """Return a sentence as HTML, everything in it escaped: what was put in, and what was lost."""
    return format_html_join("", "{}", ((_run(run),) for run in runs))


def _run(run: Change) -> SafeString:
    text = _BLANK if run.blank and run.mark != "removed" else format_html("{}", run.text)
    tag = _TAGS.get(run.mark)
    return format_html("<{}>{}</{}>", tag, text, tag) if tag else text


@register.simple_tag
def address(look: Look, root: Problem, problem: Problem) -> str:
    """Return the address of the tree from a version on."""
    return _page(look, root, problem)


@register.simple_tag
def query(look: Look) -> str:
    """Return the query that keeps what is looked at, without a version."""
    return look.query()


@register.simple_tag
def depth_name(kind: str) -> Any:
    """Return the name of a way of counting depths."""
    return DEPTH_NAMES[kind]


@register.simple_tag
def number(value: float | None, digits: int = 2) -> str:
    """Return a figure; a dash for none."""
    return "–" if value is None else f"{value:.{digits}f}"


@register.inclusion_tag("families/parts/version.html")
def version(node: Node, look: Look, root: Problem) -> dict[str, Any]:
    """Show what is told about one version."""
    about = format_html('<span class="hidden"> {} {}</span>', _("for"), node.problem.ref)
    return {
        "node": node,
        "look": look,
        "about": about,
        "home": reverse("read:home"),
        "page": _page(look, root, node.problem),
    }


@register.inclusion_tag("families/parts/folded.html")
def folded(node: Node, look: Look, root: Problem) -> dict[str, Any]:
    """Show how much is under a version, to be opened."""
    return {"node": node, **_both(look, root, node.problem, 0)}


@register.simple_tag
def more(node: Node, look: Look, root: Problem) -> SafeString | str:
    """Show that a version has more children than are shown, to be loaded."""
    if not node.shown.left:
        return ""
    context = _both(look, root, node.problem, node.shown.after)
    found: SafeString = render_to_string(
        "families/parts/more.html", {"left": node.shown.left, **context}
    )
    return found


def _both(look: Look, root: Problem, problem: Problem, after: int) -> dict[str, str]:
    """Return where a part of the tree is: as a page of its own, and as a part of one."""
    fragment = reverse("families:below", args=[root.ref, problem.ref])
    return {
        "page": _page(look, root, problem, after),
        "fragment": f"{fragment}?{look.query(after=after)}",
    }


def _page(look: Look, root: Problem, problem: Problem, after: int = 0) -> str:
    asked = {} if problem.pk == root.pk else {"version": problem.ref}
    path = reverse("families:family", args=[root.ref])
    return f"{path}?{look.query(**asked, after=after)}#tree"

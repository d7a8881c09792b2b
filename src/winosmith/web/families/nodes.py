"""The versions that are on a page, with all that is told about each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_lazy as _

from winosmith.web.families.answers import Answers
from winosmith.web.families.links import Links
from winosmith.web.families.plan import Shown
from winosmith.web.families.tree import DEPTHS, Tree
from winosmith.web.perturb.edits import Piece, pieces
from winosmith.web.predict.models import Model, Prediction, Stand
from winosmith.web.problems.models import Problem, State

__all__ = ["Node", "Verdict", "nodes", "problems_on"]

DEPTH_NAMES = {"declared": _("declared"), "lineage": _("lineage"), "edit": _("edit")}

Text = Any
"""Words in the language of whoever looks; translated when they are shown."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a model makes of a version, in a sign and in words; never by colour alone."""

    model: str
    kind: str
    sign: str
    words: Text


@dataclass(slots=True)
class Node:
    """One version on a page.

    Attributes:
        problem: the row.
        hidden: it is a root that who looks may not see: nothing is told but that there is one.
        pieces: its sentence beside its parent's.
        answer: the right option; "" where it is withheld.
        options: all of them, where they are others than the parent's; else none.
        depths: (name, depth or None).
        verdicts: of the models that are looked at.
        note: why it is not public; "" where it is.
        children: the versions under it that are shown.
        wrong: how many versions under it are answered wrongly; None with several models.
        shown: its place on the page: what is folded, left and skipped.
        focus: it is the one that is looked at.
        page: the address of the tree around it; `perturb` and `details` lead on from it.
        fragment: the address of what is under it, for an open page.
        more: the addresses of its next children: a page, and what is put into an open one.
    """

    problem: Problem
    hidden: bool
    pieces: list[Piece]
    answer: str
    options: list[str]
    depths: list[tuple[Text, int | None]]
    verdicts: list[Verdict]
    note: Text
    shown: Shown
    wrong: int | None
    focus: bool
    page: str
    fragment: str
    perturb: str
    details: str
    more: tuple[str, str]
    children: list[Node] = field(default_factory=list)


NOTES: Mapping[Any, Text] = {
    State.REJECTED: _("yours, not found valid"),
    State.VALID: _("yours, not published yet"),
}
NOT_JUDGED = _("yours, not judged yet")


def problems_on(tree: Tree, top: Shown) -> dict[int, Problem]:
    """Return the problems on a page, and those that they came from, by their rows."""
    numbers = {shown.number for shown in _walk(top)}
    numbers |= {int(tree.parents[number]) for number in numbers if number}
    fields = "ref", "sentence", "options", "answer", "state", "embargo", "twin"
    return Problem.objects.only(*fields).in_bulk([int(tree.rows[number]) for number in numbers])


def nodes(
    tree: Tree,
    top: Shown,
    problems: Mapping[int, Problem],
    answers: Sequence[tuple[Model, Answers | None]],
    links: Links,
    focus: int | None = None,
    *,
    hidden_root: bool = False,
) -> Node:
    """Return what is shown of the top of a page, and under it.

    Args:
        tree: the family.
        top: from `plan`.
        problems: from `problems_on`.
        answers: the models that are looked at; one alone with all its answers, to count what is
            wrong in branches that are folded.
        links: where the links of versions lead.
        focus: the number of the version that is looked at.
        hidden_root: nothing of the root is shown, nor what was changed of it.
    """
    verdicts = _verdicts(problems, [model for model, _all in answers])
    whole = answers[0][1] if len(answers) == 1 else None

    def made(shown: Shown) -> Node:
        problem = problems[int(tree.rows[shown.number])]
        above = int(tree.parents[shown.number])
        parent = (
            None
            if above < 0 or (hidden_root and not above)
            else problems.get(int(tree.rows[above]))
        )
        if hidden_root and not shown.number:
            problem = Problem(ref=problem.ref, options=[])
        return Node(
            problem,
            hidden_root and not shown.number,
            pieces(parent.sentence if parent else problem.sentence, problem.sentence),
            "" if problem.answer is None else str(problem.options[problem.answer]),
            [] if parent and parent.options == problem.options else problem.options,
            _depths(tree, shown.number),
            verdicts.get(problem.pk, []),
            "" if tree.public[shown.number] else NOTES.get(problem.state, NOT_JUDGED),
            shown,
            whole.wrong_below[shown.number] if whole and shown.folded else None,
            shown.number == focus,
            links.page(problem.ref),
            links.fragment(problem.ref),
            links.perturb(problem.ref),
            links.details(problem.ref),
            (links.page(problem.ref, shown.after), links.fragment(problem.ref, shown.after)),
            [made(child) for child in shown.children],
        )

    return made(top)


def _walk(top: Shown) -> Iterator[Shown]:
    yield top
    for child in top.children:
        yield from _walk(child)


def _depths(tree: Tree, number: int) -> list[tuple[Text, int | None]]:
    if not number:
        return []
    found = [(DEPTH_NAMES[kind], int(tree.depths[kind][number])) for kind in DEPTHS]
    return [(name, None if depth < 0 else depth) for name, depth in found]


def _verdicts(problems: Mapping[int, Problem], models: Sequence[Model]) -> dict[int, list[Verdict]]:
    """Return what each of the models makes of each problem, in the order of the models."""
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
            _verdict(model.name, **found.get((number, model.pk), _UNASKED)) for model in models
        ]
        for number in problems
    }


_UNASKED = {"stand": "", "right": None, "tie": False}


def _verdict(name: str, stand: Any, right: bool | None, tie: bool, **_rest: int) -> Verdict:
    if stand == Stand.DONE and tie:
        return Verdict(name, "stuck", "=", _("undecided"))
    if stand == Stand.DONE and right is not None:
        return (
            Verdict(name, "right", "✓", _("right"))
            if right
            else Verdict(name, "wrong", "✗", _("wrong"))
        )
    return Verdict(name, *_UNDECIDED.get(stand, _UNDECIDED[""]))


_UNDECIDED: Mapping[Any, tuple[str, str, Text]] = {
    Stand.WAITING: ("waiting", "…", _("waits for the model")),
    Stand.LATE: ("stuck", "!", _("the model took too long")),
    Stand.FAILED: ("stuck", "!", _("the model failed")),
    Stand.DONE: ("stuck", "?", _("the answer is withheld")),
    "": ("waiting", "–", _("not asked yet")),
}
